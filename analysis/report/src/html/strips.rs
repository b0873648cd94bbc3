//! The table of the benchmarks with their intervals drawn in it: a row a benchmark, the largest speedup first. What did not
//! change can be left out, without a script.

use maud::{Markup, html};

use super::{cell, heading, legend};
use crate::document::{Table, TableRow};
use crate::figure::{Forest, ForestRow, Mark, svg};

/// The column before which the intervals stand: names first, and the numbers beside their drawing.
const SPEEDUP: &str = "speedup";

/// The table of the rows that a forest has; `id` is that of the section.
pub(super) fn table(table: &Table, forest: &Forest, id: &str, about: &str) -> Markup {
    let strips = svg::Strips::of(forest);
    let drawn = table.columns.iter().position(|column| column.heading == SPEEDUP).unwrap_or(1);
    let rows = forest.by_effect().into_iter().map(|at| (&table.rows[at], &forest.rows[at]));
    let has = |changed: bool| forest.rows.iter().any(|row| (row.mark != Mark::Neither) == changed);
    html! {
        @if has(true) && has(false) {
            input type="checkbox" class="only" id={ (id) "-only" };
            label for={ (id) "-only" } { " Only what changed" }
        }
        section class="scroll" tabindex="0" aria-label=(about) {
            table class="strips" {
                thead {
                    tr {
                        @for (at, column) in table.columns.iter().enumerate() {
                            @if at == drawn { td class="strip" { (strips.scale()) } }
                            (heading(column))
                        }
                    }
                }
                tbody { @for (row, of) in rows { (drawn_row(table, row, of, &strips, drawn)) } }
            }
        }
        (legend(table, "Sorted by speedup."))
    }
}

fn drawn_row(table: &Table, row: &TableRow, of: &ForestRow, strips: &svg::Strips, drawn: usize) -> Markup {
    html! {
        tr class=[(of.mark == Mark::Neither).then_some("unchanged")] {
            @for (at, (field, column)) in row.fields.iter().zip(&table.columns).enumerate() {
                @if at == drawn { td class="strip" { (strips.row(of)) } }
                (cell(field, column, at == 0))
            }
        }
    }
}
