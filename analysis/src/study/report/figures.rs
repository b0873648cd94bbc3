//! What plots need beyond the numbers of the report: single values in run order, and the curves beside them.
//!
//! Made only when asked for, and bounded: of many benchmarks those with the largest effects, of many values those at evenly
//! spaced ranks. Everything that is drawn is computed here, so that all drawings of a report show the same.

mod curve;

use self::curve::{Grid, picked_ranks};
use crate::count::{counted, grouped};
use crate::study::compare::comparison::{BenchmarkReport, ComparisonReport};
use crate::study::compare::mixture::{ComponentReport, FEWEST_RUNS_OF_A_MIXTURE, MixtureReport};
use crate::study::{gather::evidence::Evidence, sampled::BenchmarkSamples};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use speedup_statistics::mixture::{Component, FitMethod, Mixture, MixtureFit};
use speedup_statistics::sample::Sample;
use std::collections::BTreeMap;

/// Benchmarks with figures of their own: more than fifty nobody looks through.
pub const MOST_BENCHMARKS_DRAWN: usize = 50;
/// Cells with figures of their own: with [`MOST_POINTS_DRAWN`] the section stays within a few megabytes.
pub const MOST_CELLS_DRAWN: usize = 100;
/// Values of a cell that are drawn: a plot is a few hundred points wide.
pub const MOST_POINTS_DRAWN: usize = 300;
/// Values of a cell to which a mixture is fitted for its curve alone: seconds on one processor.
const MOST_VALUES_FITTED: usize = 10_000;
/// Steps of the precision's curve on each side of the runs that there are, two for a doubling: a sixteenth to sixteen times.
const PRECISION_STEPS: i32 = 8;

/// What plots are drawn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FiguresReport {
    /// What is shown of what there is, in sentences.
    pub sentence: String,
    /// The hosts of the values.
    pub hosts: Vec<String>,
    /// The benchmarks, in plan order.
    pub benchmarks: Vec<BenchmarkFigures>,
    /// Benchmarks of the report that are not among them.
    pub left_out: u64,
}

/// One benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkFigures {
    /// Its name.
    pub benchmark: String,
    /// The times at which the curves of all cells are given, in nanoseconds.
    pub grid_ns: Vec<f64>,
    /// Its cells, in the order of the versions.
    pub cells: Vec<CellFigures>,
    /// What precision further runs would buy, in the order of the candidates.
    pub precision: Vec<Option<PrecisionFigure>>,
}

/// The values of one cell; the lists are as long as each other, in run order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellFigures {
    /// The version.
    pub version: String,
    /// The measured runs.
    pub n: u64,
    /// The place of each shown run in the plan.
    pub runs: Vec<u32>,
    /// Its wall time, in nanoseconds.
    pub values_ns: Vec<f64>,
    /// Its host, a place in [`FiguresReport::hosts`].
    pub hosts: Vec<u32>,
    /// The share of the measured runs that took no longer: the steps of the empirical distribution function.
    pub shares: Vec<f64>,
    /// The kernel's estimate of the density over the grid, per nanosecond; empty where the values do not vary.
    pub density: Vec<f64>,
    /// The kernel's standard deviation, in nanoseconds (Silverman 1986, eq. 3.31), at most by the spread within the components
    /// of the mixture: between them the kernel would only blur.
    pub bandwidth_ns: Option<f64>,
    /// The mixture, of enough runs.
    pub fit: Option<FitFigure>,
}

/// A mixture over the grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitFigure {
    /// How it was fitted.
    pub method: String,
    /// Its components, the fastest first.
    pub components: Vec<ComponentReport>,
    /// Its density, per nanosecond.
    pub density: Vec<f64>,
    /// Its distribution function.
    pub distribution: Vec<f64>,
}

/// Half the width of the interval of the ratio of means, by the runs of each version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrecisionFigure {
    /// The candidate.
    pub candidate: String,
    /// The full name of the method.
    pub method: String,
    /// The runs of each version that there are.
    pub runs_now: u64,
    /// Runs of each version.
    pub runs: Vec<u64>,
    /// Half the width, as a share of the ratio.
    pub relative_half_width: Vec<f64>,
    /// What the runs of both versions take of hosts, in nanoseconds of wall time alone.
    pub cost_ns: Vec<f64>,
}

impl FiguresReport {
    /// The figures of the benchmarks with the largest effects.
    pub(crate) fn new(
        sampled: &[BenchmarkSamples<'_>],
        benchmarks: &[BenchmarkReport],
        evidence: &Evidence,
    ) -> Self {
        let names: Vec<&_> = evidence.hosts.names().collect();
        let chosen = chosen(benchmarks);
        let drawn = chosen.par_iter().map(|at| BenchmarkFigures::new(&sampled[*at], &benchmarks[*at]));
        let mut drawn: Vec<BenchmarkFigures> = drawn.collect();
        let hosts = renumbered(&mut drawn).into_iter().map(|place| names[place as usize].to_string());
        let left_out = benchmarks.len() - drawn.len();
        Self {
            sentence: sentence(&drawn, left_out),
            hosts: hosts.collect(),
            benchmarks: drawn,
            left_out: left_out as u64,
        }
    }
}

/// The places of the benchmarks with figures, in plan order: those of the largest effects, where there are too many.
fn chosen(benchmarks: &[BenchmarkReport]) -> Vec<usize> {
    let versions = benchmarks.first().map_or(1, |benchmark| benchmark.cells.len());
    let most = MOST_BENCHMARKS_DRAWN.min(MOST_CELLS_DRAWN / versions.max(1)).max(1);
    let mut places: Vec<usize> = (0..benchmarks.len()).collect();
    // A stable sort: of equal effects the first in the plan.
    places.sort_by(|a, b| effect(&benchmarks[*b]).total_cmp(&effect(&benchmarks[*a])));
    places.truncate(most);
    places.sort_unstable();
    places
}

/// The largest effect of a candidate, whichever its direction.
fn effect(benchmark: &BenchmarkReport) -> f64 {
    let speedup = |comparison: &ComparisonReport| {
        let headline = comparison.headline().map(|headline| headline.speedup);
        headline.or_else(|| comparison.observed.map(|observed| observed.median))
    };
    let effects = benchmark.comparisons.iter().filter_map(speedup).map(|speedup| speedup.ln().abs());
    effects.filter(|effect| effect.is_finite()).fold(-1.0, f64::max)
}

/// Numbers the hosts of the values from 0, and gives their former numbers.
fn renumbered(drawn: &mut [BenchmarkFigures]) -> Vec<u32> {
    let cells = || drawn.iter().flat_map(|one| &one.cells).flat_map(|cell| &cell.hosts);
    let mut numbers: BTreeMap<u32, u32> = cells().map(|host| (*host, 0)).collect();
    for (number, new) in numbers.values_mut().zip(0..) {
        *number = new;
    }
    let hosts = drawn.iter_mut().flat_map(|one| &mut one.cells).flat_map(|cell| &mut cell.hosts);
    hosts.for_each(|host| *host = numbers[host]);
    numbers.into_keys().collect()
}

fn sentence(drawn: &[BenchmarkFigures], left_out: usize) -> String {
    let of_benchmarks = match left_out {
        0 => "The figures show all benchmarks.".to_owned(),
        more => format!(
            "The figures show the {} with the largest effects; {} more are in the tables.",
            counted(drawn.len() as u64, "benchmark"),
            grouped(more as u64)
        ),
    };
    let is_thinned = drawn.iter().flat_map(|one| &one.cells).any(|cell| cell.n > cell.values_ns.len() as u64);
    let of_points = if is_thinned {
        format!(
            " For a cell with more than {MOST_POINTS_DRAWN} runs, the points are its values at \
                {MOST_POINTS_DRAWN} evenly spaced ranks, including the minimum and the maximum."
        )
    } else {
        String::new()
    };
    of_benchmarks + &of_points
}

impl BenchmarkFigures {
    fn new(sampled: &BenchmarkSamples<'_>, report: &BenchmarkReport) -> Self {
        let grid = Grid::over(sampled.samples.iter().flatten());
        let cells = sampled.samples.iter().zip(&report.cells).enumerate();
        let cells = cells.map(|(version, (sample, cell))| {
            let empty = CellFigures::empty(&cell.version);
            sample.as_ref().map_or(empty, |sample| {
                let locations = sampled.locations(version).iter();
                let locations: Vec<(u32, u32)> =
                    locations.map(|location| (location.run.0, location.host)).collect();
                CellFigures::new(&cell.version, sample, &locations, &grid, cell.mixture.as_ref())
            })
        });
        let precision = report.comparisons.iter().zip(&sampled.samples[1..]);
        let precision = precision.map(|(comparison, candidate)| {
            // Only of independent runs is their number the price of precision.
            let is_of_runs = comparison.design.is_none() && comparison.look.is_none();
            let (baseline, candidate) = sampled.samples[0].as_ref().zip(candidate.as_ref())?;
            is_of_runs.then(|| PrecisionFigure::new(comparison, baseline, candidate))?
        });
        Self {
            benchmark: report.name.clone(),
            cells: cells.collect(),
            precision: precision.collect(),
            grid_ns: grid.points(),
        }
    }
}

impl CellFigures {
    /// A cell without measured runs.
    fn empty(version: &str) -> Self {
        Self {
            version: version.to_owned(),
            n: 0,
            runs: Vec::new(),
            values_ns: Vec::new(),
            hosts: Vec::new(),
            shares: Vec::new(),
            density: Vec::new(),
            bandwidth_ns: None,
            fit: None,
        }
    }

    /// `locations` are the place in the plan and the host of each value, hosts by the order of their names.
    fn new(
        version: &str,
        sample: &Sample,
        locations: &[(u32, u32)],
        grid: &Grid,
        mixture: Option<&MixtureReport>,
    ) -> Self {
        let values = sample.in_run_order();
        let n = values.len();
        let mut by_rank: Vec<usize> = (0..n).collect();
        by_rank.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
        let mut shown: Vec<(usize, usize)> =
            picked_ranks(n, MOST_POINTS_DRAWN).map(|rank| (by_rank[rank], rank)).collect();
        let of_ranks: Vec<f64> = shown.iter().map(|(at, _)| values[*at]).collect();
        let fit = FitFigure::new(sample, grid, mixture);
        let bandwidth = curve::bandwidth(sample, fit.as_ref().map(FitFigure::spread_within));
        shown.sort_unstable();
        let share = |(_, rank): &(usize, usize)| curve::significant((rank + 1) as f64 / n as f64);
        Self {
            version: version.to_owned(),
            n: n as u64,
            runs: shown.iter().map(|(at, _)| locations[*at].0).collect(),
            values_ns: shown.iter().map(|(at, _)| values[*at]).collect(),
            hosts: shown.iter().map(|(at, _)| locations[*at].1).collect(),
            shares: shown.iter().map(share).collect(),
            density: bandwidth.map_or_else(Vec::new, |bandwidth| grid.density(&of_ranks, bandwidth)),
            bandwidth_ns: bandwidth.map(curve::significant),
            fit,
        }
    }
}

impl FitFigure {
    /// The standard deviation within the components.
    fn spread_within(&self) -> f64 {
        self.components.iter().map(|one| one.weight * one.sd_ns * one.sd_ns).sum::<f64>().sqrt()
    }

    /// The mixture that the report describes, or one for its curve alone.
    fn new(sample: &Sample, grid: &Grid, described: Option<&MixtureReport>) -> Option<Self> {
        let (mixture, method) = match described {
            Some(MixtureReport::Fitted { components, method, .. }) => {
                let components = components.iter();
                let components =
                    components.map(|one| Component { weight: one.weight, mean: one.mean_ns, sd: one.sd_ns });
                (Mixture::new(components.collect()).ok()?, method.clone())
            }
            Some(MixtureReport::NotFitted { .. }) => return None,
            None => {
                let is_fit = (FEWEST_RUNS_OF_A_MIXTURE..=MOST_VALUES_FITTED).contains(&sample.len());
                let fit = is_fit.then(|| MixtureFit::with_method(sample, FitMethod::Mclust).ok())??;
                (fit.mixture, FitMethod::Mclust.name().to_owned())
            }
        };
        let components = mixture.components().iter();
        let components =
            components.map(|one| ComponentReport { weight: one.weight, mean_ns: one.mean, sd_ns: one.sd });
        Some(Self {
            method,
            components: components.collect(),
            density: grid.map(|x| mixture.density(x)),
            distribution: grid.map(|x| mixture.cdf(x)),
        })
    }
}

impl PrecisionFigure {
    /// The method's full name.
    const NAME: &'static str = "the report's own interval, each end of which comes nearer to the estimate with the root of the number of runs, on \
                                the logarithmic scale";

    /// From the interval that the report has of these runs; none where it has no ends, or one at zero.
    fn new(comparison: &ComparisonReport, baseline: &Sample, candidate: &Sample) -> Option<Self> {
        let headline = comparison.headline()?;
        let (lower, upper) = headline.interval.ends().filter(|(lower, _)| *lower > 0.0)?;
        let runs_now = baseline.len().min(candidate.len()) as u64;
        let steps = -PRECISION_STEPS..=PRECISION_STEPS;
        let runs = steps.map(|step| (runs_now as f64 * 2_f64.powf(f64::from(step) / 2.0)).round() as u64);
        let mut runs: Vec<u64> = runs.filter(|runs| *runs >= 2).collect();
        runs.dedup();
        let mut relative_half_width = Vec::new();
        let mut cost_ns = Vec::new();
        for runs in &runs {
            let nearer = (runs_now as f64 / *runs as f64).sqrt();
            let [lower, upper] = [lower, upper].map(|end| (end / headline.speedup).powf(nearer));
            relative_half_width.push(curve::significant((upper - lower) / 2.0));
            cost_ns.push(curve::significant(*runs as f64 * (baseline.mean() + candidate.mean())));
        }
        let candidate = comparison.candidate.clone();
        let method = Self::NAME.to_owned();
        (upper > lower).then_some(Self { candidate, method, runs_now, runs, relative_half_width, cost_ns })
    }
}
