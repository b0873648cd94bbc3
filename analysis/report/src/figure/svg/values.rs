//! Drawings of single values: in run order with violins, and by host.

use std::fmt::Write as _;

use maud::{Markup, html};
use speedup_analysis::study::CellFigures;

use super::frame::{BOTTOM, LEFT, Labels, RIGHT, TOP, frame, line, times, title};
use super::{class, shape, short};
use crate::{figure::Panel, figure::Panels, figure::axis::Axis, figure::axis::Spacing};

/// Where the violins begin, and how far they go to each side at most.
const VIOLINS: f64 = 262.0;
const WIDEST: f64 = 16.0;
/// The part of its largest width below which a violin ends.
const THINNEST: f64 = 0.005;
/// Hosts that are numbered at the axis.
const MOST_NUMBERED: usize = 12;
/// The part of a host's column in which its points stand.
const COLUMN: f64 = 0.6;

/// How many times the shortest time the longest is where one outlier would flatten all others on a linear axis.
const FLATTENED: f64 = 4.0;

fn time_axis(panels: &Panels) -> Axis {
    let values = || panels.figures.cells.iter().flat_map(|cell| cell.values_ns.iter().copied());
    let (least, most) =
        values().fold((f64::INFINITY, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
    let is_flat = least > 0.0 && most > FLATTENED * least;
    let spacing = if is_flat { Spacing::Logarithmic } else { Spacing::Linear };
    // Below the shortest time a density reaches towards zero, where a logarithmic axis has no end.
    let grid = panels.figures.grid_ns.iter().copied().filter(|time| !is_flat || *time >= least);
    Axis::over(spacing, values().chain(grid), 0.0).across(BOTTOM, TOP)
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
    let figures = &panels.figures;
    let y = time_axis(panels);
    let runs = figures.cells.iter().flat_map(|cell| &cell.runs).map(|run| f64::from(*run) + 1.0);
    let has_violins = !figures.grid_ns.is_empty();
    let end = if has_violins { VIOLINS - 12.0 } else { RIGHT };
    let x = Axis::over(Spacing::Linear, runs, 0.02).across(LEFT + 2.0, end);
    let each = (RIGHT - VIOLINS) / figures.cells.len().max(1) as f64;
    let drawn = html! {
        @for (version, cell) in figures.cells.iter().enumerate() {
            (points(cell, version, |at| x.at(f64::from(cell.runs[at]) + 1.0), &y))
            @if has_violins {
                (violin(panels, cell, version, (version as f64 + 0.5).mul_add(each, VIOLINS), WIDEST.min(each / 2.0 - 1.0), &y))
            }
        }
    };
    let (ticks, name) = times(panels, y);
    let y = Labels { axis: &y, name: &name, ticks };
    let x = Labels::round(
        &x,
        if has_violins { "run in the plan's order · density" } else { "run in the plan's order" },
    );
    frame(&title(panels, panel), &panel.description, &x, &y, &drawn)
}

/// The density to both sides of its axis, with the quartiles.
fn violin(panels: &Panels, cell: &CellFigures, version: usize, middle: f64, widest: f64, y: &Axis) -> Markup {
    let most = cell.density.iter().copied().fold(0.0, f64::max);
    if most <= 0.0 {
        return html! {};
    }
    let side = |sign: f64| {
        let points =
            panels.figures.grid_ns.iter().zip(&cell.density).filter(|(_, height)| **height > THINNEST * most);
        let points = points.map(move |(time, height)| ((sign * widest * height / most) + middle, *time));
        points.collect::<Vec<_>>()
    };
    let outline = side(-1.0).into_iter().chain(side(1.0).into_iter().rev());
    let d = line(outline.map(|(x, time)| (x, y.at(time))));
    let mut steps: Vec<(f64, f64)> =
        cell.values_ns.iter().copied().zip(cell.shares.iter().copied()).collect();
    steps.sort_by(|a, b| a.0.total_cmp(&b.0));
    let quartiles =
        [0.25, 0.5, 0.75].map(|share| steps.iter().find(|step| step.1 >= share).map(|step| y.at(step.0)));
    html! {
        path class={ "area line " (class(version)) } d={ (d) "Z" } {}
        @if let [Some(lower), Some(median), Some(upper)] = quartiles {
            line class={ "line " (class(version)) } x1=(short(middle)) x2=(short(middle)) y1=(short(lower)) y2=(short(upper)) {}
            path class={ "dot " (class(version)) } d={ "M" (short(middle)) " " (short(median)) (shape(version)) } {}
        }
    }
}

pub(super) fn by_host(panels: &Panels, panel: &Panel) -> Markup {
    let figures = &panels.figures;
    let y = time_axis(panels);
    let mut used: Vec<u32> = figures.cells.iter().flat_map(|cell| cell.hosts.iter().copied()).collect();
    used.sort_unstable();
    used.dedup();
    let x = Axis::between(Spacing::Linear, 0.0, used.len() as f64).across(LEFT, RIGHT);
    let versions = figures.cells.len().max(1) as f64;
    let column = |host: u32| used.binary_search(&host).unwrap_or(0) as f64;
    let drawn = html! {
        @for (version, cell) in figures.cells.iter().enumerate() {
            @let beside = (1.0 - COLUMN) / 2.0 + COLUMN * (version as f64 + 0.5) / versions;
            (points(cell, version, |at| x.at(column(cell.hosts[at]) + beside), &y))
        }
    };
    let every = used.len().div_ceil(MOST_NUMBERED).max(1);
    let numbers = used.iter().enumerate().step_by(every);
    let numbers = numbers.map(|(at, host)| (at as f64 + 0.5, (host + 1).to_string())).collect();
    let (ticks, name) = times(panels, y);
    let y = Labels { axis: &y, name: &name, ticks };
    let hosts = format!("host, by name (of {})", used.len());
    let x = Labels { axis: &x, name: &hosts, ticks: numbers };
    frame(&title(panels, panel), &panel.description, &x, &y, &drawn)
}
