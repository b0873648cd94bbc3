//! Which small drawing is made how.

use maud::{Markup, html};

use speedup_analysis::study::CellFigures;

use super::frame::{BOTTOM, LEFT, Labels, RIGHT, TOP, frame, line, title};
use super::{class, precision, short, stroke, values};
use crate::figure::panel::distribution_steps;
use crate::{figure::Panel, figure::PanelKind, figure::Panels, figure::axis::Axis, figure::axis::Spacing};

pub(crate) fn drawn(panels: &Panels, panel: &Panel) -> Markup {
    match panel.kind {
        PanelKind::RunOrder => values::in_run_order(panels, panel),
        PanelKind::Hosts => values::by_host(panels, panel),
        PanelKind::Density => density(panels, panel),
        PanelKind::Distribution => distribution(panels, panel),
        PanelKind::Precision => precision::drawn(panels, panel),
    }
}

fn density(panels: &Panels, panel: &Panel) -> Markup {
    let cells = || panels.figures.cells.iter().enumerate();
    let x = panels.grid_axis().across(LEFT, RIGHT);
    let y = panels.density_axis().across(BOTTOM, TOP);
    let drawn = html! {
        @for (version, cell) in cells().filter(|(_, cell)| !cell.density.is_empty()) {
            @let d = line(panels.curve(&cell.density, &x, &y));
            path class={ "area " (class(version)) } d={ (d) "V" (BOTTOM) "H" (LEFT) "Z" } {}
            path class={ "line " (class(version)) } d=(d) stroke-dasharray=[stroke(version)] {}
            @if let Some(fit) = &cell.fit {
                path class={ "fit " (class(version)) } d=(line(panels.curve(&fit.density, &x, &y))) {}
            }
        }
        // Lines of equal times stand above the areas.
        @for (version, cell) in cells().filter(|(_, cell)| cell.density.is_empty()) {
            (equal(cell, version, &x))
        }
    };
    let y = Labels { axis: &y, name: "density".to_owned(), ticks: Vec::new() };
    frame(&title(panels, panel), &panel.description, &panels.time_labels(&x), &y, &drawn)
}

/// Where all times of a cell are equal there is no density but a line.
fn equal(cell: &CellFigures, version: usize, x: &Axis) -> Markup {
    html! {
        @if let Some(time) = cell.values_ns.first() {
            path class={ "line " (class(version)) } d={ "M" (short(x.at(*time))) " " (BOTTOM) "V" (TOP) }
                stroke-dasharray=[stroke(version)] {}
        }
    }
}

fn distribution(panels: &Panels, panel: &Panel) -> Markup {
    let x = panels.grid_axis().across(LEFT, RIGHT);
    let y = Axis::between(Spacing::Linear, 0.0, 1.0).across(BOTTOM, TOP);
    let drawn = html! {
        @for (version, cell) in panels.cells_with_runs() {
            path class={ "line " (class(version)) } d=(steps(cell, &x, &y)) stroke-dasharray=[stroke(version)] {}
            @if let Some(fit) = &cell.fit {
                path class={ "fit " (class(version)) } d=(line(panels.curve(&fit.distribution, &x, &y))) {}
            }
        }
    };
    let shares = Labels::round(&y, "share of runs");
    frame(&title(panels, panel), &panel.description, &panels.time_labels(&x), &shares, &drawn)
}

/// The steps of an empirical distribution function.
fn steps(cell: &CellFigures, x: &Axis, y: &Axis) -> String {
    let mut d = format!("M{LEFT} {BOTTOM}");
    for (time, share) in distribution_steps(cell) {
        d += &format!("H{}V{}", short(x.at(time)), short(y.at(share)));
    }
    d + &format!("H{RIGHT}")
}
