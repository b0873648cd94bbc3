//! The runs of a benchmark: small drawings beside each other.

use speedup_analysis::study::CellFigures;

use super::{BOTTOM, LEFT, RIGHT, TOP, colour, escaped, frame, line, marks, points, stroke, words};
use crate::figure::axis::{Axis, Labels, Spacing, TICKS, label};
use crate::figure::{
    Panel, PanelKind, Panels, panel::as_percent, panel::costs, panel::half_width, panel::now,
};

/// Where the violins begin, and how far they go to each side at most.
const VIOLINS: f64 = 64.0;
const WIDEST: f64 = 4.5;
/// The part of its largest width below which a violin ends.
const THINNEST: f64 = 0.005;
/// Hosts that are numbered at the axis.
const MOST_NUMBERED: usize = 12;
/// The part of a host's column in which its points stand.
const COLUMN: f64 = 0.6;

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
    let of = |(version, name): (usize, &_)| {
        let name: &str = AsRef::as_ref(name);
        format!("\\quad\\tikz[x=1mm,y=1mm]{{{}}}~{}", key(version), escaped(name))
    };
    versions.iter().enumerate().map(of).collect()
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

/// The axis of times, with labels in the unit of the benchmark.
fn times(panels: &Panels, axis: &Axis) -> (Vec<(f64, String)>, String) {
    let ns = 1.0 / panels.unit.of_ns(1.0);
    let (ticks, decimals) = axis.ticks_in(ns, TICKS);
    let labels = ticks.into_iter().map(|tick| (tick * ns, label(tick, decimals))).collect();
    (labels, format!("wall time, {}", panels.unit.name))
}

fn with_runs(panels: &Panels) -> impl Iterator<Item = (usize, &CellFigures)> {
    panels.figures.cells.iter().enumerate().filter(|(_, cell)| cell.n > 0)
}

fn time_axis(panels: &Panels) -> Axis {
    let values = panels.figures.cells.iter().flat_map(|cell| cell.values_ns.iter().copied());
    Axis::over(Spacing::Linear, values.chain(panels.figures.grid_ns.iter().copied()), 0.0).across(BOTTOM, TOP)
}

fn in_run_order(panels: &Panels, panel: &Panel) -> String {
    let y = time_axis(panels);
    let runs = panels.figures.cells.iter().flat_map(|cell| &cell.runs).map(|run| f64::from(*run) + 1.0);
    let has_violins = !panels.figures.grid_ns.is_empty();
    let end = if has_violins { VIOLINS - 3.0 } else { RIGHT };
    let x = Axis::over(Spacing::Linear, runs, 0.02).across(LEFT + 0.5, end);
    let each = (RIGHT - VIOLINS) / panels.figures.cells.len().max(1) as f64;
    let mut drawn = String::new();
    for (version, cell) in with_runs(panels) {
        let places = cell.runs.iter().zip(&cell.values_ns);
        drawn += &points(version, places.map(|(run, time)| (x.at(f64::from(*run) + 1.0), y.at(*time))));
        if has_violins {
            let middle = (version as f64 + 0.5).mul_add(each, VIOLINS);
            drawn += &violin(panels, cell, version, middle, WIDEST.min(each / 2.0 - 0.3), &y);
        }
    }
    let (ticks, name) = times(panels, &y);
    let of_runs = if has_violins { "run in the plan's order · density" } else { "run in the plan's order" };
    frame(panel.title, &Labels::round(&x, of_runs), &Labels { axis: &y, name: &name, ticks }, &drawn)
}

/// The density to both sides of its axis.
fn violin(panels: &Panels, cell: &CellFigures, version: usize, middle: f64, widest: f64, y: &Axis) -> String {
    let most = cell.density.iter().copied().fold(0.0, f64::max);
    if most <= 0.0 {
        return String::new();
    }
    let side = |sign: f64| -> Vec<(f64, f64)> {
        let heights = panels.figures.grid_ns.iter().zip(&cell.density);
        let seen = heights.filter(|(_, height)| **height > THINNEST * most);
        seen.map(|(time, height)| ((sign * widest * height / most) + middle, y.at(*time))).collect()
    };
    let outline = side(-1.0).into_iter().chain(side(1.0).into_iter().rev());
    let of = colour(version);
    line(&format!("{of},{},fill={of},fill opacity=0.15", stroke(version)), outline)
}

fn by_host(panels: &Panels, panel: &Panel) -> String {
    let y = time_axis(panels);
    let mut used: Vec<u32> =
        panels.figures.cells.iter().flat_map(|cell| cell.hosts.iter().copied()).collect();
    used.sort_unstable();
    used.dedup();
    let x = Axis::between(Spacing::Linear, 0.0, used.len().max(1) as f64).across(LEFT, RIGHT);
    let versions = panels.figures.cells.len().max(1) as f64;
    let column = |host: u32| used.binary_search(&host).unwrap_or(0) as f64;
    let mut drawn = String::new();
    for (version, cell) in with_runs(panels) {
        let beside = (1.0 - COLUMN) / 2.0 + COLUMN * (version as f64 + 0.5) / versions;
        let places = cell.hosts.iter().zip(&cell.values_ns);
        drawn += &points(version, places.map(|(host, time)| (x.at(column(*host) + beside), y.at(*time))));
    }
    let every = used.len().div_ceil(MOST_NUMBERED).max(1);
    let numbers = used.iter().enumerate().step_by(every);
    let numbers = numbers.map(|(at, host)| (at as f64 + 0.5, (host + 1).to_string())).collect();
    let (ticks, name) = times(panels, &y);
    let hosts = format!("host, by name (of {})", used.len());
    let x = Labels { axis: &x, name: &hosts, ticks: numbers };
    frame(panel.title, &x, &Labels { axis: &y, name: &name, ticks }, &drawn)
}

fn grid_axis(panels: &Panels) -> Axis {
    Axis::over(Spacing::Linear, panels.figures.grid_ns.iter().copied(), 0.0).across(LEFT, RIGHT)
}

fn density(panels: &Panels, panel: &Panel) -> String {
    let x = grid_axis(panels);
    let fits = panels.figures.cells.iter().filter_map(|cell| cell.fit.as_ref()).flat_map(|fit| &fit.density);
    let heights = panels.figures.cells.iter().flat_map(|cell| &cell.density).chain(fits).copied();
    let most = heights.filter(|height| height.is_finite()).fold(0.0, f64::max);
    let y = Axis::between(Spacing::Linear, 0.0, most.max(f64::MIN_POSITIVE) * 1.05).across(BOTTOM, TOP);
    let curve = |heights: &[f64]| -> Vec<(f64, f64)> {
        panels
            .figures
            .grid_ns
            .iter()
            .zip(heights)
            .map(|(time, height)| (x.at(*time), y.at(*height)))
            .collect()
    };
    let mut drawn = String::new();
    for (version, cell) in with_runs(panels) {
        let of = colour(version);
        if let Some(only) = cell.values_ns.first().filter(|_| cell.density.is_empty()) {
            let at = x.at(*only);
            drawn += &line(&format!("{of},{}", stroke(version)), [(at, BOTTOM), (at, TOP)].into_iter());
        }
        drawn += &line(&format!("{of},{}", stroke(version)), curve(&cell.density).into_iter());
        if let Some(fit) = &cell.fit {
            drawn += &line(&format!("{of},dotted,thick"), curve(&fit.density).into_iter());
        }
    }
    let (ticks, name) = times(panels, &x);
    let y = Labels { axis: &y, name: "density", ticks: Vec::new() };
    frame(panel.title, &Labels { axis: &x, name: &name, ticks }, &y, &drawn)
}

fn distribution(panels: &Panels, panel: &Panel) -> String {
    let x = grid_axis(panels);
    let y = Axis::between(Spacing::Linear, 0.0, 1.0).across(BOTTOM, TOP);
    let mut drawn = String::new();
    for (version, cell) in with_runs(panels) {
        let of = colour(version);
        drawn += &line(&format!("{of},{}", stroke(version)), steps(cell, &x, &y).into_iter());
        if let Some(fit) = &cell.fit {
            let fitted = panels.figures.grid_ns.iter().zip(&fit.distribution);
            let fitted = fitted.map(|(time, share)| (x.at(*time), y.at(*share)));
            drawn += &line(&format!("{of},dotted,thick"), fitted);
        }
    }
    let (ticks, name) = times(panels, &x);
    let x = Labels { axis: &x, name: &name, ticks };
    frame(panel.title, &x, &Labels::round(&y, "share of runs"), &drawn)
}

/// The corners of an empirical distribution function.
fn steps(cell: &CellFigures, x: &Axis, y: &Axis) -> Vec<(f64, f64)> {
    let mut steps: Vec<(f64, f64)> =
        cell.values_ns.iter().copied().zip(cell.shares.iter().copied()).collect();
    steps.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut corners = vec![(LEFT, BOTTOM)];
    for (time, share) in steps {
        let before = corners.last().map_or(BOTTOM, |corner| corner.1);
        corners.extend([(x.at(time), before), (x.at(time), y.at(share))]);
    }
    let last = corners.last().map_or(BOTTOM, |corner| corner.1);
    corners.push((RIGHT, last));
    corners
}

fn precision(panels: &Panels, panel: &Panel) -> String {
    let curves = || {
        let of_versions = panels.figures.precision.iter().zip(1..);
        of_versions.filter_map(|(curve, version)| Some((curve.as_ref()?, version)))
    };
    let x = curves().flat_map(|(curve, _)| curve.cost_ns.iter().copied());
    let x = Axis::over(Spacing::Logarithmic, x, 0.03).across(LEFT, RIGHT);
    let y = curves().flat_map(|(curve, _)| curve.relative_half_width.iter().copied());
    let y = Axis::over(Spacing::Logarithmic, y, 0.06).across(BOTTOM, TOP);
    let mut drawn = String::new();
    for (curve, version) in curves() {
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
    let ticks = y.ticks(TICKS).0.into_iter().map(|tick| (tick, as_percent(tick))).collect();
    let y = Labels { axis: &y, name: "half-width of the speedup's interval", ticks };
    let x = Labels { axis: &x, name: "wall time of the runs of both versions", ticks: costs(&x) };
    frame(panel.title, &x, &y, &drawn)
}
