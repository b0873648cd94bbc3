//! The runs of a benchmark: small drawings beside each other.

use speedup_analysis::study::CellFigures;

use super::{BOTTOM, LEFT, RIGHT, TOP, colour, escaped, frame, line, marks, points, stroke, words};
use crate::figure::axis::{Axis, Labels, Spacing};
use crate::figure::layout::precision_labels;
use crate::figure::panel::{distribution_steps, half_width, now};
use crate::figure::{Panel, PanelKind, Panels};

/// Where the violins begin, and how far they go to each side at most.
const VIOLINS: f64 = 64.0;
const WIDEST: f64 = 4.5;

pub(super) fn all(panels: &Panels) -> String {
    let verdict = if panels.verdict.is_empty() { String::new() } else { format!(": {}", panels.verdict) };
    let mut text = format!("\\textbf{{{}}}", escaped(&format!("{}{verdict}", panels.benchmark)));
    text += &keys(&panels.versions);
    // The name stands with its drawings, and these go on in the next line where there is no room.
    text += "\\par\\nopagebreak\n{\\raggedright\n";
    for panel in &panels.panels {
        text += &drawn(panels, panel);
        text += "\\hspace{3mm}%\n";
    }
    text += "\\par}\n";
    for panel in &panels.panels {
        text +=
            &format!("{{\\footnotesize {}. {}\\par}}\n", escaped(panel.title), escaped(&panel.description));
    }
    text
}

/// What the marks of versions stand for.
pub(super) fn keys(versions: &[impl AsRef<str>]) -> String {
    let mut text = String::new();
    for (version, name) in versions.iter().enumerate() {
        text += &format!("\\quad\\tikz[x=1mm,y=1mm]{{{}}}~{}", key(version), escaped(name.as_ref()));
    }
    text
}

/// The stroke and the mark of a version.
fn key(version: usize) -> String {
    let of = colour(version);
    format!(
        "\\draw[{of},{}] (0,0.8)--(8,0.8);\\draw[{of}] {}",
        stroke(version),
        marks(version, [(4.0, 0.8)].into_iter())
    )
}

fn drawn(panels: &Panels, panel: &Panel) -> String {
    match panel.kind {
        PanelKind::RunOrder => in_run_order(panels, panel),
        PanelKind::Hosts => by_host(panels, panel),
        PanelKind::Density => density(panels, panel),
        PanelKind::Distribution => distribution(panels, panel),
        PanelKind::Precision => precision(panels, panel),
    }
}

fn time_axis(panels: &Panels) -> Axis {
    let times = panels.wall_times().chain(panels.figures.grid_ns.iter().copied());
    Axis::over(Spacing::Linear, times, 0.0).across(BOTTOM, TOP)
}

fn in_run_order(panels: &Panels, panel: &Panel) -> String {
    let y = time_axis(panels);
    let end = if panels.has_violins() { VIOLINS - 3.0 } else { RIGHT };
    let x = panels.run_axis().across(LEFT + 0.5, end);
    let each = (RIGHT - VIOLINS) / panels.figures.cells.len().max(1) as f64;
    let mut drawn = String::new();
    for (version, cell) in panels.cells_with_runs() {
        let places = cell.runs.iter().zip(&cell.values_ns);
        drawn += &points(version, places.map(|(run, time)| (x.at(f64::from(*run) + 1.0), y.at(*time))));
        if panels.has_violins() {
            let middle = (version as f64 + 0.5).mul_add(each, VIOLINS);
            let outline = panels.violin(cell, middle, WIDEST.min(each / 2.0 - 0.3), &y);
            let colour = colour(version);
            let options = format!("{colour},{},fill={colour},fill opacity=0.15", stroke(version));
            drawn += &line(&options, outline.into_iter());
        }
    }
    frame(panel.title, &panels.run_labels(&x), &panels.time_labels(&y), &drawn)
}

fn by_host(panels: &Panels, panel: &Panel) -> String {
    let y = time_axis(panels);
    let columns = panels.host_columns();
    let x = columns.axis().across(LEFT, RIGHT);
    let mut drawn = String::new();
    for (version, cell) in panels.cells_with_runs() {
        let places = cell.hosts.iter().zip(&cell.values_ns);
        drawn +=
            &points(version, places.map(|(host, time)| (x.at(columns.place(*host, version)), y.at(*time))));
    }
    frame(panel.title, &columns.labels(&x), &panels.time_labels(&y), &drawn)
}

fn density(panels: &Panels, panel: &Panel) -> String {
    let x = panels.grid_axis().across(LEFT, RIGHT);
    let y = panels.density_axis().across(BOTTOM, TOP);
    let mut drawn = String::new();
    for (version, cell) in panels.cells_with_runs() {
        let stroked = format!("{},{}", colour(version), stroke(version));
        if cell.density.is_empty()
            && let Some(only) = cell.values_ns.first()
        {
            // All times are equal.
            let at = x.at(*only);
            drawn += &line(&stroked, [(at, BOTTOM), (at, TOP)].into_iter());
        }
        drawn += &line(&stroked, panels.curve(&cell.density, &x, &y));
        if let Some(fit) = &cell.fit {
            let dotted = format!("{},dotted,thick", colour(version));
            drawn += &line(&dotted, panels.curve(&fit.density, &x, &y));
        }
    }
    let y = Labels { axis: &y, name: "density".to_owned(), ticks: Vec::new() };
    frame(panel.title, &panels.time_labels(&x), &y, &drawn)
}

fn distribution(panels: &Panels, panel: &Panel) -> String {
    let x = panels.grid_axis().across(LEFT, RIGHT);
    let y = Axis::between(Spacing::Linear, 0.0, 1.0).across(BOTTOM, TOP);
    let mut drawn = String::new();
    for (version, cell) in panels.cells_with_runs() {
        let stroked = format!("{},{}", colour(version), stroke(version));
        drawn += &line(&stroked, corners(cell, &x, &y).into_iter());
        if let Some(fit) = &cell.fit {
            let dotted = format!("{},dotted,thick", colour(version));
            drawn += &line(&dotted, panels.curve(&fit.distribution, &x, &y));
        }
    }
    frame(panel.title, &panels.time_labels(&x), &Labels::round(&y, "share of runs"), &drawn)
}

/// The corners of an empirical distribution function.
fn corners(cell: &CellFigures, x: &Axis, y: &Axis) -> Vec<(f64, f64)> {
    let mut corners = vec![(LEFT, BOTTOM)];
    let mut height = BOTTOM;
    for (time, share) in distribution_steps(cell) {
        corners.push((x.at(time), height));
        height = y.at(share);
        corners.push((x.at(time), height));
    }
    corners.push((RIGHT, height));
    corners
}

fn precision(panels: &Panels, panel: &Panel) -> String {
    let (x, y) = panels.precision_axes();
    let x = x.across(LEFT, RIGHT);
    let y = y.across(BOTTOM, TOP);
    let mut drawn = String::new();
    for (curve, version) in panels.precision_curves() {
        let place = |at: usize| (x.at(curve.cost_ns[at]), y.at(curve.relative_half_width[at]));
        drawn += &line(&format!("{},{}", colour(version), stroke(version)), (0..curve.runs.len()).map(place));
        if let Some(at) = now(curve) {
            let (left, height) = place(at);
            drawn += &points(version, [(left, height)].into_iter());
            let text =
                format!("now: {} runs, ±{}", curve.runs_now, half_width(curve.relative_half_width[at]));
            drawn += &words("above right,inner sep=2pt", left, height, &text);
        }
    }
    let (costs, widths) = precision_labels(&x, &y);
    frame(panel.title, &costs, &widths, &drawn)
}
