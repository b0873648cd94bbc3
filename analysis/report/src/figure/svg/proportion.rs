//! Proportions between none and all of the benchmarks.

use maud::{Markup, html};

use super::{mark, percentage};
use crate::figure::axis::{Axis, Spacing};
use crate::figure::{ProportionFigure, ProportionRow};

/// Between the tops of two rows.
const ROW: usize = 42;
/// Below the last, where the labels stand.
const BOTTOM: usize = 22;
/// Where the axis begins and ends, in percent of the width.
const ENDS: (f64, f64) = (5.0, 95.0);

pub(super) fn height(figure: &ProportionFigure) -> usize {
    ROW * figure.rows.len() + 4 + BOTTOM
}

pub(super) fn drawn(figure: &ProportionFigure) -> Markup {
    let axis = Axis::between(Spacing::Linear, 0.0, 1.0).across(ENDS.0, ENDS.1);
    let base = height(figure) - BOTTOM;
    html! {
        svg class="forest" role="img" width="100%" height=(height(figure)) {
            title { (figure.title) }
            desc { (figure.description) }
            @for quarter in 0..=4_u32 {
                @let x = percentage(axis.at(f64::from(quarter) / 4.0));
                line class="grid" x1=(x) x2=(x) y1="0" y2=(base) {}
                text class="tick" x=(x) y=(base + 14) text-anchor="middle" { (quarter * 25) "\u{a0}%" }
            }
            @for (row, y) in figure.rows.iter().zip((0..).step_by(ROW)) { (drawn_row(row, &axis, y)) }
        }
    }
}

fn drawn_row(row: &ProportionRow, axis: &Axis, y: usize) -> Markup {
    let middle = y + 24;
    html! {
        text class="name" x="0" y=(y + 14) { (row.name) }
        text class="value" x="100%" y=(y + 14) text-anchor="end" { (row.label) }
        @if let Some((lower, upper)) = row.interval {
            @let ends = [lower, upper].map(|end| percentage(axis.at(end)));
            line class="interval" x1=(ends[0]) x2=(ends[1]) y1=(middle) y2=(middle) {}
            @for x in &ends {
                line class="interval" x1=(x) x2=(x) y1=(middle - 5) y2=(middle + 5) {}
            }
        }
        svg x=(percentage(axis.at(row.share))) y=(middle) overflow="visible" { (mark(row.mark)) }
    }
}
