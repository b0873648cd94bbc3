//! Coverage of the intervals after a pilot, as the rule of repetition makes them.

use super::{Coverage, CoverageSection};
use crate::{LawShape, law::draws::Draws, row::Cell, row::StudyRow, row::Unanswered};
use speedup_statistics::planning::two_stage::{TwoStage, TwoStageError};
use speedup_statistics::{ratio::TrimShare, sample::Sample};

/// Of each centre: whether the interval contains the truth, whether the rule says that it is as asked for, and whether it contains
/// the truth where the rule says so.
const METHODS: [&str; 6] =
    ["trimmed", "trimmed_kept", "trimmed_kept_covers", "mean", "mean_kept", "mean_kept_covers"];
/// The mean of the candidate's runs, and of the baseline's.
const MEANS: [f64; 2] = [100.0, 125.0];
/// The most runs of each version.
const MOST_RUNS: u64 = 2_000;

/// What an experiment in two stages ended with.
struct Ended {
    covers: bool,
    is_kept: bool,
}

impl Coverage {
    pub(super) fn of_two_stages(&self) -> Vec<StudyRow> {
        let mut rows = Vec::new();
        for shape in &self.distributions {
            for runs in &self.runs {
                rows.extend(self.of_pilot(*shape, *runs));
            }
        }
        rows
    }

    fn of_pilot(&self, shape: LawShape, runs: u64) -> Vec<StudyRow> {
        let section = CoverageSection::TwoStages.code();
        let cell = Cell { section, distribution: Some(shape), size: runs };
        let tallies = self.replication.tally(&cell.stream(), METHODS.len(), |draws| {
            let mut answers = Vec::new();
            for ended in [self.of_trimmed(shape, runs, draws), self.of_means(shape, runs, draws)] {
                answers.push(ended.as_ref().map(|ended| ended.covers));
                answers.push(ended.as_ref().map(|ended| ended.is_kept));
                answers.push(ended.filter(|ended| ended.is_kept).map(|ended| ended.covers));
            }
            answers
        });
        let mut rows = Vec::new();
        for (method, tally) in METHODS.iter().zip(tallies) {
            let promised = self.replication.promised_coverage().filter(|_| !method.ends_with("_kept"));
            rows.push(cell.row(method, tally, Unanswered::LeftOut, [Some(self.precision), promised]));
        }
        rows
    }

    /// The ratio of the trimmed means, of versions that differ by a factor.
    fn of_trimmed(&self, shape: LawShape, runs: u64, draws: &mut Draws) -> Option<Ended> {
        let level = self.replication.confidence;
        let logarithms =
            |times: Sample| Sample::new(times.in_run_order().iter().map(|time| time.ln()).collect()).ok();
        let mut stage = |runs: u64| -> Option<[Sample; 2]> {
            let candidate = draws.times(shape, runs, MEANS[0], MEANS[0] * self.variation)?;
            let baseline = draws.times(shape, runs, MEANS[1], MEANS[1] * self.variation)?;
            Some([logarithms(baseline)?, logarithms(candidate)?])
        };
        let pilot = stage(runs)?;
        let half_width = self.precision.ln_1p();
        let plan = TwoStage::new(&[&pilot[0], &pilot[1]], TrimShare::USUAL, half_width, level);
        Some(end(plan, &pilot, &mut stage, (MEANS[1] / MEANS[0]).ln()))
    }

    /// The difference of the means, of versions that differ by a shift.
    fn of_means(&self, shape: LawShape, runs: u64, draws: &mut Draws) -> Option<Ended> {
        let level = self.replication.confidence;
        let sd = MEANS[0] * self.variation;
        let mut stage = |runs: u64| -> Option<[Sample; 2]> {
            let candidate = draws.times(shape, runs, MEANS[0], sd)?;
            let baseline = draws.times(shape, runs, MEANS[1], sd)?;
            Some([baseline, candidate])
        };
        let pilot = stage(runs)?;
        let half_width = self.precision * pilot[0].mean();
        let plan = TwoStage::new(&[&pilot[0], &pilot[1]], TrimShare::NONE, half_width, level);
        Some(end(plan, &pilot, &mut stage, MEANS[1] - MEANS[0]))
    }
}

/// Makes the second stage of a pilot, as far as [`MOST_RUNS`] allow.
fn end(
    plan: Result<TwoStage, TwoStageError>,
    pilot: &[Sample; 2],
    stage: &mut dyn FnMut(u64) -> Option<[Sample; 2]>,
    truth: f64,
) -> Ended {
    // A pilot without an answer keeps no promise, and its experiment misses.
    let Ok(plan) = plan else { return Ended { covers: false, is_kept: false } };
    let further = plan.further_runs().min(MOST_RUNS.saturating_sub(pilot[0].len() as u64));
    let mut all = pilot.clone();
    if let Some(second) = stage(further) {
        for (sample, second) in all.iter_mut().zip(second) {
            let runs = [sample.in_run_order(), second.in_run_order()].concat();
            if let Ok(longer) = Sample::new(runs) {
                *sample = longer;
            }
        }
    }
    let interval = plan.interval(&[&all[0], &all[1]]);
    let is_whole = all[0].len() as u64 >= plan.runs();
    Ended {
        covers: (interval.lower..=interval.upper).contains(&truth),
        is_kept: is_whole && !plan.is_unsteady(&[&all[0], &all[1]]),
    }
}
