//! Axes, labels and outlines of the small drawings, which SVG and TikZ share. Each lays the axes out in its own frame.

use speedup_analysis::study::{CellFigures, PrecisionFigure};

use super::axis::{Axis, Labels, Spacing, TICKS, label};
use super::panel::{Panels, as_percent, costs};

/// The part of its largest width below which a violin ends.
const THINNEST: f64 = 0.005;
/// Hosts that are numbered at the axis.
const MOST_NUMBERED: usize = 12;
/// The part of a host's column in which its points stand.
const COLUMN: f64 = 0.6;

/// The hosts of a benchmark, each with a column of its own.
pub(crate) struct HostColumns {
    used: Vec<u32>,
    versions: f64,
}

impl Panels {
    /// The versions that have runs, each with its number.
    pub(crate) fn cells_with_runs(&self) -> impl Iterator<Item = (usize, &CellFigures)> {
        self.figures.cells.iter().enumerate().filter(|(_, cell)| cell.n > 0)
    }

    pub(crate) fn wall_times(&self) -> impl Iterator<Item = f64> {
        self.figures.cells.iter().flat_map(|cell| cell.values_ns.iter().copied())
    }

    /// The axis of times, with labels in the unit of the benchmark.
    pub(crate) fn time_labels<'a>(&self, axis: &'a Axis) -> Labels<'a> {
        let ns = 1.0 / self.unit.convert(1.0);
        let (ticks, decimals) = axis.ticks_in(ns, TICKS);
        let ticks = ticks.into_iter().map(|tick| (tick * ns, label(tick, decimals))).collect();
        Labels { axis, name: format!("wall time, {}", self.unit.name), ticks }
    }

    /// Runs by their place in the plan.
    pub(crate) fn run_axis(&self) -> Axis {
        let runs = self.figures.cells.iter().flat_map(|cell| &cell.runs).map(|run| f64::from(*run) + 1.0);
        Axis::over(Spacing::Linear, runs, 0.02)
    }

    pub(crate) fn has_violins(&self) -> bool {
        !self.figures.grid_ns.is_empty()
    }

    pub(crate) fn run_labels<'a>(&self, axis: &'a Axis) -> Labels<'a> {
        let violins = if self.has_violins() { " · density" } else { "" };
        Labels::round(axis, format!("run in the plan's order{violins}"))
    }

    /// The outline of a version's density around `middle`, at most `widest` to each side; empty without a density.
    pub(crate) fn violin(&self, cell: &CellFigures, middle: f64, widest: f64, y: &Axis) -> Vec<(f64, f64)> {
        let most = cell.density.iter().copied().fold(0.0, f64::max);
        let mut outline = Vec::new();
        if most <= 0.0 {
            return outline;
        }
        let heights = self.figures.grid_ns.iter().zip(&cell.density);
        let seen: Vec<(&f64, &f64)> = heights.filter(|(_, height)| **height > THINNEST * most).collect();
        for (time, height) in &seen {
            outline.push(((-widest * *height / most) + middle, y.at(**time)));
        }
        // Back along the other side.
        for (time, height) in seen.iter().rev() {
            outline.push(((widest * *height / most) + middle, y.at(**time)));
        }
        outline
    }

    /// The times over which densities are known.
    pub(crate) fn grid_axis(&self) -> Axis {
        Axis::over(Spacing::Linear, self.figures.grid_ns.iter().copied(), 0.0)
    }

    /// Densities, also those of the fitted mixtures.
    pub(crate) fn density_axis(&self) -> Axis {
        let cells = &self.figures.cells;
        let fits = cells.iter().filter_map(|cell| cell.fit.as_ref()).flat_map(|fit| &fit.density);
        let heights = cells.iter().flat_map(|cell| &cell.density).chain(fits).copied();
        let most = heights.filter(|height| height.is_finite()).fold(0.0, f64::max);
        Axis::between(Spacing::Linear, 0.0, most.max(f64::MIN_POSITIVE) * 1.05)
    }

    /// The points of a curve over the grid of times.
    pub(crate) fn curve(&self, heights: &[f64], x: &Axis, y: &Axis) -> impl Iterator<Item = (f64, f64)> {
        self.figures.grid_ns.iter().zip(heights).map(|(time, height)| (x.at(*time), y.at(*height)))
    }

    pub(crate) fn host_columns(&self) -> HostColumns {
        let cells = &self.figures.cells;
        let mut used: Vec<u32> = cells.iter().flat_map(|cell| cell.hosts.iter().copied()).collect();
        used.sort_unstable();
        used.dedup();
        HostColumns { used, versions: cells.len().max(1) as f64 }
    }

    /// The curves of precision, each with the number of its candidate.
    pub(crate) fn precision_curves(&self) -> impl Iterator<Item = (&PrecisionFigure, usize)> {
        let numbered = self.figures.precision.iter().zip(1..);
        numbered.filter_map(|(curve, version)| Some((curve.as_ref()?, version)))
    }

    /// The axes of costs and of half-widths.
    pub(crate) fn precision_axes(&self) -> (Axis, Axis) {
        let costs = self.precision_curves().flat_map(|(curve, _)| curve.cost_ns.iter().copied());
        let widths = self.precision_curves().flat_map(|(curve, _)| curve.relative_half_width.iter().copied());
        (Axis::over(Spacing::Logarithmic, costs, 0.03), Axis::over(Spacing::Logarithmic, widths, 0.06))
    }
}

impl HostColumns {
    pub(crate) fn axis(&self) -> Axis {
        Axis::between(Spacing::Linear, 0.0, self.used.len().max(1) as f64)
    }

    /// Where the points of a version stand in the column of a host: versions are beside each other.
    pub(crate) fn place(&self, host: u32, version: usize) -> f64 {
        let beside = (1.0 - COLUMN) / 2.0 + COLUMN * (version as f64 + 0.5) / self.versions;
        self.used.binary_search(&host).unwrap_or(0) as f64 + beside
    }

    pub(crate) fn labels<'a>(&self, axis: &'a Axis) -> Labels<'a> {
        let every = self.used.len().div_ceil(MOST_NUMBERED).max(1);
        let numbered = self.used.iter().enumerate().step_by(every);
        let ticks = numbered.map(|(at, host)| (at as f64 + 0.5, (host + 1).to_string())).collect();
        Labels { axis, name: format!("host, by name (of {})", self.used.len()), ticks }
    }
}

/// The labels of costs and of half-widths.
pub(crate) fn precision_labels<'a>(x: &'a Axis, y: &'a Axis) -> (Labels<'a>, Labels<'a>) {
    let ticks = y.ticks(TICKS).0.into_iter().map(|tick| (tick, as_percent(tick))).collect();
    let costs =
        Labels { axis: x, name: "wall time of the runs of both versions".to_owned(), ticks: costs(x) };
    (costs, Labels { axis: y, name: "half-width of the speedup's interval".to_owned(), ticks })
}
