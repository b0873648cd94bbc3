//! Which small drawing is made how.

use maud::{Markup, html};

use super::frame::{BOTTOM, LEFT, Labels, RIGHT, TOP, frame, line, times, title};
use super::{class, precision, short, stroke, values};
use crate::{figure::Panel, figure::PanelKind, figure::Panels, figure::axis::Axis, figure::axis::Spacing};
use speedup_analysis::study::CellFigures;

pub(super) fn drawn(panels: &Panels, panel: &Panel) -> Markup {
    match panel.kind {
        PanelKind::RunOrder => values::in_run_order(panels, panel),
        PanelKind::Hosts => values::by_host(panels, panel),
        PanelKind::Density => density(panels, panel),
        PanelKind::Distribution => distribution(panels, panel),
        PanelKind::Precision => precision::drawn(panels, panel),
    }
}

fn grid_axis(panels: &Panels) -> Axis {
    Axis::over(Spacing::Linear, panels.figures.grid_ns.iter().copied(), 0.0).across(LEFT, RIGHT)
}

fn density(panels: &Panels, panel: &Panel) -> Markup {
    let figures = &panels.figures;
    let x = grid_axis(panels);
    let fits = figures.cells.iter().filter_map(|cell| cell.fit.as_ref()).flat_map(|fit| &fit.density);
    let heights = figures.cells.iter().flat_map(|cell| &cell.density).chain(fits).copied();
    let most = heights.filter(|height| height.is_finite()).fold(0.0, f64::max);
    let y = Axis::between(Spacing::Linear, 0.0, most.max(f64::MIN_POSITIVE) * 1.05).across(BOTTOM, TOP);
    let curve = |heights: &[f64]| {
        line(figures.grid_ns.iter().zip(heights).map(|(time, height)| (x.at(*time), y.at(*height))))
    };
    let drawn = html! {
        @for (version, cell) in figures.cells.iter().enumerate().filter(|(_, cell)| !cell.density.is_empty()) {
            @let d = curve(&cell.density);
            path class={ "area " (class(version)) } d={ (d) "V" (BOTTOM) "H" (LEFT) "Z" } {}
            path class={ "line " (class(version)) } d=(d) stroke-dasharray=[stroke(version)] {}
            @if let Some(fit) = &cell.fit {
                path class={ "fit " (class(version)) } d=(curve(&fit.density)) {}
            }
            (equal(cell, version, &x))
        }
        @for (version, cell) in figures.cells.iter().enumerate().filter(|(_, cell)| cell.density.is_empty()) {
            (equal(cell, version, &x))
        }
    };
    let (ticks, name) = times(panels, x);
    let x = Labels { axis: &x, name: &name, ticks };
    let y = Labels { axis: &y, name: "density", ticks: Vec::new() };
    frame(&title(panels, panel), &panel.description, &x, &y, &drawn)
}

/// Where all times of a cell are equal there is no density but a line.
fn equal(cell: &CellFigures, version: usize, x: &Axis) -> Markup {
    let only = cell.values_ns.first().filter(|_| cell.density.is_empty());
    html! {
        @if let Some(time) = only {
            path class={ "line " (class(version)) } d={ "M" (short(x.at(*time))) " " (BOTTOM) "V" (TOP) }
                stroke-dasharray=[stroke(version)] {}
        }
    }
}

fn distribution(panels: &Panels, panel: &Panel) -> Markup {
    let figures = &panels.figures;
    let x = grid_axis(panels);
    let y = Axis::between(Spacing::Linear, 0.0, 1.0).across(BOTTOM, TOP);
    let drawn = html! {
        @for (version, cell) in figures.cells.iter().enumerate().filter(|(_, cell)| cell.n > 0) {
            path class={ "line " (class(version)) } d=(steps(cell, &x, &y)) stroke-dasharray=[stroke(version)] {}
            @if let Some(fit) = &cell.fit {
                @let points = figures.grid_ns.iter().zip(&fit.distribution);
                path class={ "fit " (class(version)) } d=(line(points.map(|(time, share)| (x.at(*time), y.at(*share))))) {}
            }
        }
    };
    let (ticks, name) = times(panels, x);
    let x = Labels { axis: &x, name: &name, ticks };
    frame(&title(panels, panel), &panel.description, &x, &Labels::round(&y, "share of runs"), &drawn)
}

/// The steps of an empirical distribution function.
fn steps(cell: &CellFigures, x: &Axis, y: &Axis) -> String {
    let mut steps: Vec<(f64, f64)> =
        cell.values_ns.iter().copied().zip(cell.shares.iter().copied()).collect();
    steps.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut d = format!("M{LEFT} {BOTTOM}");
    for (time, share) in steps {
        d += &format!("H{}V{}", short(x.at(time)), short(y.at(share)));
    }
    d + &format!("H{RIGHT}")
}
