//! The runs of a benchmark in a few lines: where its times lie, how they went on from run to run, and how they are by host.

use speedup_analysis::study::CellFigures;

use super::{Glyphs, columns_beside, labels, led};
use crate::figure::{PanelKind, Panels, axis::Axis, axis::Spacing};
use crate::{document::Tone, duration::span, terminal::page::Page};

/// The part of the largest density below which nothing is drawn.
const THINNEST: f64 = 0.01;

pub(super) fn draw(page: &mut Page, of: &Panels, glyphs: &Glyphs) {
    let longest = of.versions.iter().map(|version| version.chars().count()).max().unwrap_or(0);
    let names = longest.min(page.width() / 5).max("by host".len());
    let Some(columns) = columns_beside(page, names) else { return };
    let verdict = if of.verdict.is_empty() { String::new() } else { format!(": {}", of.verdict) };
    page.paragraph(&format!("{}{verdict}", of.benchmark), Tone::Plain);
    for panel in &of.panels {
        match panel.kind {
            PanelKind::Density => density(page, of, names, columns, glyphs),
            PanelKind::RunOrder => {
                let rows = cells(of, |cell| in_columns(&cell.values_ns, columns));
                heights(page, of, "Wall time in run order", &rows, names, glyphs);
            }
            PanelKind::Hosts => {
                let rows = cells(of, |cell| in_columns(&by_host(cell), columns));
                heights(page, of, "Median wall time of each host, by name", &rows, names, glyphs);
            }
            // The table has them as numbers.
            PanelKind::Distribution | PanelKind::Precision => {}
        }
    }
    page.lines(&[String::new()]);
}

/// A row for each version that has runs.
fn cells(of: &Panels, row: impl Fn(&CellFigures) -> Vec<f64>) -> Vec<(usize, Vec<f64>)> {
    let cells = of.figures.cells.iter().enumerate().filter(|(_, cell)| cell.n > 0);
    cells.map(|(version, cell)| (version, row(cell))).collect()
}

/// Where the times lie, over one axis, with the modes in words.
fn density(page: &mut Page, of: &Panels, names: usize, columns: usize, glyphs: &Glyphs) {
    let grid = &of.figures.grid_ns;
    let axis = Axis::over(Spacing::Linear, grid.iter().copied(), 0.0).across(0.0, (columns - 1) as f64);
    page.lines(&["Density of the wall times".to_owned()]);
    for (version, heights) in cells(of, |cell| highest(cell, grid, &axis, columns)) {
        let most = heights.iter().copied().fold(0.0, f64::max);
        let mut drawn = String::new();
        for height in heights {
            let share = if most > 0.0 { height / most } else { 0.0 };
            drawn.push(glyphs.height(if share < THINNEST { 0.0 } else { share }));
        }
        page.lines(&[led(&of.versions[version], names) + &drawn]);
    }
    let lead = " ".repeat(names + 2);
    let unit = format!("\u{a0}{}", of.unit.name);
    page.lines(
        &labels(&axis, columns, glyphs, (&unit, of.unit.convert(1.0))).map(|line| format!("{lead}{line}")),
    );
    for (version, cell) in of.figures.cells.iter().enumerate() {
        let Some(fit) = cell.fit.as_ref().filter(|fit| fit.components.len() > 1) else { continue };
        let modes = fit
            .components
            .iter()
            .map(|one| format!("{:.0}\u{a0}% about {}", 100.0 * one.weight, span(one.mean_ns)));
        let text =
            format!("{}: mixture of {}", of.versions[version], modes.collect::<Vec<_>>().join(" and "));
        page.paragraph(&text, Tone::Plain);
    }
}

/// The largest density in each column; where all times are equal, their column alone.
fn highest(cell: &CellFigures, grid: &[f64], axis: &Axis, columns: usize) -> Vec<f64> {
    let mut highest = vec![0.0_f64; columns];
    let mut raise = |time: f64, height: f64| {
        let at = &mut highest[axis.at(time).round() as usize];
        *at = at.max(height);
    };
    if cell.density.is_empty() {
        cell.values_ns.iter().take(1).for_each(|time| raise(*time, 1.0));
    }
    grid.iter().zip(&cell.density).for_each(|(time, height)| raise(*time, *height));
    highest
}

/// The values of all versions as heights between the least and the largest.
fn heights(
    page: &mut Page,
    of: &Panels,
    title: &str,
    rows: &[(usize, Vec<f64>)],
    names: usize,
    glyphs: &Glyphs,
) {
    let all: Vec<f64> = rows.iter().flat_map(|(_, values)| values.iter().copied()).collect();
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let most = all.iter().copied().fold(0.0, f64::max);
    if least >= most {
        if least == most {
            page.lines(&[format!("{title}: all {}", span(least))]);
        }
        return;
    }
    let low = glyphs.levels[0];
    let high = glyphs.levels[glyphs.levels.len() - 1];
    page.lines(&[format!("{title}: {low} {} to {high} {}", span(least), span(most))]);
    for (version, values) in rows {
        let drawn: String =
            values.iter().map(|value| glyphs.level((value - least) / (most - least))).collect();
        page.lines(&[led(&of.versions[*version], names) + &drawn]);
    }
}

/// Values in so many columns at most, each the mean of those that follow one another.
fn in_columns(values: &[f64], columns: usize) -> Vec<f64> {
    let each = values.len().div_ceil(columns).max(1);
    values.chunks(each).map(|some| some.iter().sum::<f64>() / some.len() as f64).collect()
}

/// The median of each host that has values, in the order of the names.
fn by_host(cell: &CellFigures) -> Vec<f64> {
    let mut values: Vec<(u32, f64)> =
        cell.hosts.iter().copied().zip(cell.values_ns.iter().copied()).collect();
    values.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let median = |of: &[(u32, f64)]| (of[(of.len() - 1) / 2].1 + of[of.len() / 2].1) / 2.0;
    values.chunk_by(|a, b| a.0 == b.0).map(median).collect()
}
