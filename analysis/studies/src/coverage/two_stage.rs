//! Coverage of the intervals after a pilot, as the rule of repetition makes them.

use super::{Coverage, CoverageSection, by_levels::covers};
use crate::{LawShape, headline::logarithms, law::draws::Draws};
use crate::{row::Cell, row::StudyRow, row::Unanswered};
use speedup_statistics::{planning::two_stage::TwoStage, ratio::TrimShare, sample::Sample};

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
    pub(super) fn two_stage_rows(&self) -> Vec<StudyRow> {
        let mut rows = Vec::new();
        for shape in &self.distributions {
            for runs in &self.runs {
                rows.extend(self.rows_for_pilot(*shape, *runs));
            }
        }
        rows
    }

    fn rows_for_pilot(&self, shape: LawShape, runs: u64) -> Vec<StudyRow> {
        let section = CoverageSection::TwoStages.code();
        let cell = Cell { section, distribution: Some(shape), size: runs };
        let tallies = self.replication.tally(&cell.stream(), METHODS.len(), |draws| {
            let mut answers = Vec::new();
            for trim in [TrimShare::USUAL, TrimShare::NONE] {
                let ended = self.ended(trim, shape, runs, draws);
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

    /// By trimmed means the ratio of versions that differ by a factor, and by means the difference of versions that differ by a shift.
    fn ended(&self, trim: TrimShare, shape: LawShape, runs: u64, draws: &mut Draws) -> Option<Ended> {
        let is_ratio = trim != TrimShare::NONE;
        let [candidate_sd, by_factor] = MEANS.map(|mean| mean * self.variation);
        let baseline_sd = if is_ratio { by_factor } else { candidate_sd };
        let mut stage = |runs: u64| -> Option<[Sample; 2]> {
            let candidate = draws.times(shape, runs, MEANS[0], candidate_sd)?;
            let baseline = draws.times(shape, runs, MEANS[1], baseline_sd)?;
            if is_ratio {
                Some([logarithms(&baseline)?, logarithms(&candidate)?])
            } else {
                Some([baseline, candidate])
            }
        };
        let pilot = stage(runs)?;
        let mut half_width = self.precision * pilot[0].mean();
        let mut truth = MEANS[1] - MEANS[0];
        if is_ratio {
            half_width = self.precision.ln_1p();
            truth = (MEANS[1] / MEANS[0]).ln();
        }
        let level = self.replication.confidence;
        let Ok(plan) = TwoStage::new(&[&pilot[0], &pilot[1]], trim, half_width, level) else {
            // A pilot without an answer keeps no promise, and its experiment misses.
            return Some(Ended { covers: false, is_kept: false });
        };
        let further = plan.further_runs().min(MOST_RUNS.saturating_sub(runs));
        let mut all = pilot;
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
        Some(Ended {
            covers: covers(&interval, truth),
            is_kept: is_whole && !plan.is_unsteady(&[&all[0], &all[1]]),
        })
    }
}
