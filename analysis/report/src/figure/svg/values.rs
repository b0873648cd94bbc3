//! Drawings of single values: in run order with violins, and by host.

use std::fmt::Write as _;

use maud::{Markup, html};
use speedup_analysis::study::CellFigures;

use super::frame::{BOTTOM, LEFT, RIGHT, TOP, frame, line, title};
use super::{class, shape, short};
use crate::figure::{Panel, Panels, axis::Axis, axis::Spacing, panel::distribution_steps};

/// Where the violins begin, and how far they go to each side at most.
const VIOLINS: f64 = 262.0;
const WIDEST: f64 = 16.0;
/// How many times the shortest time the longest is where one outlier would flatten all others on a linear axis.
const FLATTENED: f64 = 4.0;

fn time_axis(panels: &Panels) -> Axis {
    let least = panels.wall_times().fold(f64::INFINITY, f64::min);
    let most = panels.wall_times().fold(0.0, f64::max);
    let is_flat = least > 0.0 && most > FLATTENED * least;
    let spacing = if is_flat { Spacing::Logarithmic } else { Spacing::Linear };
    // Below the shortest time a density reaches towards zero, where a logarithmic axis has no end.
    let grid = panels.figures.grid_ns.iter().copied().filter(|time| !is_flat || *time >= least);
    Axis::over(spacing, panels.wall_times().chain(grid), 0.0).across(BOTTOM, TOP)
}

/// One path of all points of a cell.
fn points(cell: &CellFigures, version: usize, place: impl Fn(usize) -> f64, y: &Axis) -> Markup {
    let mut d = String::new();
    for (at, value) in cell.values_ns.iter().enumerate() {
        // Writing into a text does not fail.
        let _ = write!(d, "M{} {}{}", short(place(at)), short(y.at(*value)), shape(version));
    }
    html! { path class={ "dot " (class(version)) } d=(d) {} }
}

pub(super) fn in_run_order(panels: &Panels, panel: &Panel) -> Markup {
    let cells = &panels.figures.cells;
    let y = time_axis(panels);
    let end = if panels.has_violins() { VIOLINS - 12.0 } else { RIGHT };
    let x = panels.run_axis().across(LEFT + 2.0, end);
    let each = (RIGHT - VIOLINS) / cells.len().max(1) as f64;
    let drawn = html! {
        @for (version, cell) in cells.iter().enumerate() {
            (points(cell, version, |at| x.at(f64::from(cell.runs[at]) + 1.0), &y))
            @if panels.has_violins() {
                (violin(panels, cell, version, (version as f64 + 0.5).mul_add(each, VIOLINS), WIDEST.min(each / 2.0 - 1.0), &y))
            }
        }
    };
    let times = panels.time_labels(&y);
    frame(&title(panels, panel), &panel.description, &panels.run_labels(&x), &times, &drawn)
}

/// The density to both sides of its axis, with the quartiles.
fn violin(panels: &Panels, cell: &CellFigures, version: usize, middle: f64, widest: f64, y: &Axis) -> Markup {
    let outline = panels.violin(cell, middle, widest, y);
    if outline.is_empty() {
        return html! {};
    }
    let steps = distribution_steps(cell);
    let quartiles =
        [0.25, 0.5, 0.75].map(|share| steps.iter().find(|step| step.1 >= share).map(|step| y.at(step.0)));
    html! {
        path class={ "area line " (class(version)) } d={ (line(outline.into_iter())) "Z" } {}
        @if let [Some(lower), Some(median), Some(upper)] = quartiles {
            line class={ "line " (class(version)) } x1=(short(middle)) x2=(short(middle)) y1=(short(lower)) y2=(short(upper)) {}
            path class={ "dot " (class(version)) } d={ "M" (short(middle)) " " (short(median)) (shape(version)) } {}
        }
    }
}

pub(super) fn by_host(panels: &Panels, panel: &Panel) -> Markup {
    let y = time_axis(panels);
    let columns = panels.host_columns();
    let x = columns.axis().across(LEFT, RIGHT);
    let drawn = html! {
        @for (version, cell) in panels.figures.cells.iter().enumerate() {
            (points(cell, version, |at| x.at(columns.place(cell.hosts[at], version)), &y))
        }
    };
    let times = panels.time_labels(&y);
    frame(&title(panels, panel), &panel.description, &columns.labels(&x), &times, &drawn)
}
