//! Coverage of what is said of a suite: the typical speedup, a further benchmark's, and the total.

use super::{Coverage, CoverageSection, by_levels::covers};
use crate::row::{Cell, StudyRow, Unanswered};
use crate::{LawShape, law::draws::Draws, replication::Tally};
use speedup_statistics::ratio::{
    BenchmarkWeights, LogEffect, MeanRatio, QuantileRatio, RandomEffectsMean, SuiteMember, SuiteRatio,
    TrimShare, TrimmedRatio,
};
use speedup_statistics::{distribution::normal, sample::Sample};

/// By what a suite is described, and how its benchmarks' spreads differ: by these factors in turn.
struct Description {
    /// The log speedup of a benchmark, by the centre.
    effect: fn(&Sample, &Sample) -> Option<LogEffect>,
    spreads: &'static [f64],
    /// Coverage of the typical speedup and of a further one, and their widths beside the oracle's.
    names: [&'static str; 4],
}

const DESCRIPTIONS: [Description; 4] = [
    Description {
        effect: trimmed_effect,
        spreads: &[1.0],
        names: ["typical_trimmed", "further_trimmed", "typical_trimmed_width", "further_trimmed_width"],
    },
    Description {
        effect: trimmed_effect,
        spreads: &[0.25, 0.5, 1.0],
        names: ["typical_unequal", "further_unequal", "typical_unequal_width", "further_unequal_width"],
    },
    Description {
        effect: |x, y| Some(MeanRatio::new(x, y).ok()?.log_effect()),
        spreads: &[1.0],
        names: ["typical_mean", "further_mean", "typical_mean_width", "further_mean_width"],
    },
    Description {
        effect: |x, y| Some(QuantileRatio::median(x, y).ok()?.log_effect()),
        spreads: &[1.0],
        names: ["typical_median", "further_median", "typical_median_width", "further_median_width"],
    },
];

/// What one suite showed.
struct SuiteOutcome {
    covers: [bool; 2],
    widths: [f64; 2],
    /// The mean square of what the estimates are off, each in its factor.
    squared_error: f64,
}

/// The candidate's mean.
const MEAN: f64 = 100.0;
/// Runs of the baseline and of the candidate, for totals.
const TOTALS: [(u64, u64, &str); 4] =
    [(5, 5, "total_5_5"), (10, 10, "total_10_10"), (6, 60, "total_6_60"), (20, 200, "total_20_200")];
/// The candidate's means of a total's benchmarks in turn, and the true speedups.
pub(super) const MEMBERS: [(f64, f64); 3] = [(100.0, 1.25), (600.0, 1.1), (900.0, 0.9)];

impl Coverage {
    /// Suites whose log speedups are normal, for each number of runs in turn.
    pub(super) fn suite_rows(&self) -> Vec<StudyRow> {
        let mut rows = Vec::new();
        for shape in &self.distributions {
            for runs in &self.runs {
                for size in &self.benchmarks {
                    for scatter in &self.scatters {
                        rows.extend(self.scattered_rows(*shape, *runs, *size, *scatter));
                    }
                }
            }
        }
        rows
    }

    fn scattered_rows(&self, shape: LawShape, runs: u64, size: u64, scatter: f64) -> Vec<StudyRow> {
        let cell = Cell { section: CoverageSection::Suites.code(), distribution: Some(shape), size };
        let tau = scatter * self.variation * (2.0 / runs as f64).sqrt();
        let stream = format!("{} {runs} {scatter}", cell.stream());
        let mut rows = Vec::new();
        for description in &DESCRIPTIONS {
            let outcome = |draws: &mut Draws| self.outcome(description, (shape, runs), (size, tau), draws);
            let outcomes: Vec<SuiteOutcome> =
                self.replication.each(&stream, outcome).into_iter().flatten().collect();
            let squares: f64 = outcomes.iter().map(|outcome| outcome.squared_error).sum();
            let square = squares / outcomes.len() as f64;
            let weights = description.spreads.iter().cycle().take(size as usize);
            let precision: f64 = weights.map(|spread| 1.0 / (spread * spread * square + tau * tau)).sum();
            for (what, own) in [0.0, tau * tau].into_iter().enumerate() {
                let answers = outcomes.iter().map(|outcome| Some(outcome.covers[what]));
                let expected = [Some(scatter), self.replication.promised_coverage()];
                let [name, name_of_width] = [description.names[what], description.names[2 + what]];
                let row = cell.row(name, Tally::new(answers), Unanswered::LeftOut, expected);
                // An oracle that misses as often; of no misses half of one counts.
                let missed = (1.0 - row.share).max(0.5 / outcomes.len() as f64);
                let oracle = 2.0 * normal::two_sided_critical(missed) * (1.0 / precision + own).sqrt();
                let widths = Sample::new(outcomes.iter().map(|outcome| outcome.widths[what]).collect());
                let width = widths.map_or(f64::NAN, |widths| widths.median());
                rows.push(row);
                rows.push(cell.exact(name_of_width, width / oracle, Some(scatter)));
            }
        }
        rows
    }

    fn outcome(
        &self,
        description: &Description,
        (shape, runs): (LawShape, u64),
        (size, tau): (u64, f64),
        draws: &mut Draws,
    ) -> Option<SuiteOutcome> {
        let mut effects = Vec::with_capacity(size as usize);
        let mut squares = 0.0;
        for spread in description.spreads.iter().cycle().take(size as usize) {
            let own = tau * draws.normal();
            let sd = spread * self.variation * MEAN;
            let factor = libm::exp(own);
            let baseline = draws.times(shape, runs, MEAN * factor, sd * factor)?;
            let candidate = draws.times(shape, runs, MEAN, sd)?;
            let effect = (description.effect)(&baseline, &candidate)?;
            squares += ((effect.estimate - own) / spread).powi(2);
            effects.push(effect);
        }
        let typical = RandomEffectsMean::new(&effects).ok()?;
        let level = self.replication.confidence;
        let intervals = [typical.interval(level), typical.prediction(level)];
        Some(SuiteOutcome {
            covers: [covers(&intervals[0], 0.0), covers(&intervals[1], tau * draws.normal())],
            widths: intervals.map(|interval| interval.upper - interval.lower),
            squared_error: squares / size as f64,
        })
    }

    /// Totals of suites, with as many runs of both versions and with unequal ones.
    pub(super) fn total_rows(&self) -> Vec<StudyRow> {
        let mut rows = Vec::new();
        for shape in &self.distributions {
            for size in &self.benchmarks {
                let cell =
                    Cell { section: CoverageSection::Totals.code(), distribution: Some(*shape), size: *size };
                let tallies = self.replication.tally(&cell.stream(), TOTALS.len(), |draws| {
                    TOTALS.iter().map(|(n, m, _)| self.covers_total(*shape, [*n, *m], *size, draws)).collect()
                });
                let promised = self.replication.promised_coverage();
                for ((_, _, name), tally) in TOTALS.iter().zip(tallies) {
                    rows.push(cell.row(name, tally, Unanswered::LeftOut, [None, promised]));
                }
            }
        }
        rows
    }

    /// Whether the interval of the total of `size` benchmarks contains it, with `n` runs of the baseline and `m` of the candidate.
    pub(super) fn covers_total(
        &self,
        shape: LawShape,
        [n, m]: [u64; 2],
        size: u64,
        draws: &mut Draws,
    ) -> Option<bool> {
        let mut samples = Vec::with_capacity(size as usize);
        let mut sums = [0.0; 2];
        for (mean, speedup) in MEMBERS.iter().cycle().take(size as usize) {
            let baseline = draws.times(shape, n, speedup * mean, speedup * mean * self.variation)?;
            let candidate = draws.times(shape, m, *mean, mean * self.variation)?;
            samples.push((baseline, candidate));
            sums[0] += speedup * mean;
            sums[1] += mean;
        }
        let members: Vec<SuiteMember<'_>> =
            samples.iter().map(|(baseline, candidate)| SuiteMember { baseline, candidate }).collect();
        let ratio = SuiteRatio::new(&members, &BenchmarkWeights::Equal).ok()?.by_smaller_side();
        let interval = ratio.interval(self.replication.confidence);
        interval.bounded().map(|interval| covers(interval, sums[0] / sums[1]))
    }
}

fn trimmed_effect(baseline: &Sample, candidate: &Sample) -> Option<LogEffect> {
    Some(TrimmedRatio::new(baseline, candidate, TrimShare::USUAL).ok()?.log_effect())
}
