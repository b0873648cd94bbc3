//! Stein's two stages: from the pilot's spread, the visits that bring the interval of the difference of means to within
//! the precision; after the second stage, that interval.

use super::{Finding, RuleRow, units, units::Comparison, units::Units};
use crate::{conclusion::Verdict, count::counted, count::grouped, count::percent, study::Study};
use speedup_statistics::inference::{ConfidenceLevel, Interval};
use speedup_statistics::planning::two_stage::{TwoStage, TwoStageError};

/// One benchmark's answer, and the observations of each version that are still to come.
struct Asked {
    row: RuleRow,
    lacking: u64,
}

/// What the pilot asks for, or what both stages show.
pub(super) fn find(study: &Study, level: ConfidenceLevel, precision: f64, maximum: u32) -> Finding {
    let plan = &study.plan;
    let (planned, shape) = (units::planned(study), plan.visit());
    let pilot = units::end_of_pilot(study);
    let is_first = plan.runs() <= pilot;
    let mut visits = vec![0; plan.benchmarks.len()];
    let mut rows = Vec::new();
    for comparison in units::comparisons(study) {
        let Asked { row, lacking } = ask(study, &comparison, level, precision, &planned);
        if is_first {
            let left = maximum.saturating_sub(comparison.planned(&planned)) / shape.size().max(1);
            let more = u32::try_from(lacking).unwrap_or(u32::MAX).min(left);
            visits[comparison.place] = more.max(visits[comparison.place]);
        }
        rows.push(row);
    }
    let what = format!(
        "the difference of the means to within {} of the baseline's mean at {}, each benchmark by itself, not adjusted for \
         their number",
        percent(precision),
        percent(level.get())
    );
    let words = if is_first {
        format!(
            "From the spread of the pilot, {} of each cell: {what}; at most {} of each cell; all versions of a benchmark \
             get as many.",
            counted(plan.experiment.runs_of_a_cell(), "run"),
            counted(maximum.into(), "run")
        )
    } else {
        format!("Both stages are over: {what}, with the pilot's variance and the means of all runs.")
    };
    Finding { rows, visits, shape, words }
}

fn ask(
    study: &Study,
    comparison: &Comparison<'_>,
    level: ConfidenceLevel,
    precision: f64,
    planned: &[u32],
) -> Asked {
    let mut row = RuleRow::of(comparison, study, planned);
    let about = format!("{}, {}", comparison.benchmark, comparison.candidate);
    let pilot = comparison.units(study, units::end_of_pilot(study));
    let (Some(pilot), Some(all)) = (pilot, comparison.units(study, study.plan.runs())) else {
        row.sentence =
            format!("{about}: no number of runs, because a version has no measured run in the pilot.");
        return Asked { row, lacking: 0 };
    };
    row.observations = all.counts();
    row.saved_ns = Some(all.saved());
    let half_width = precision * pilot.baseline_mean();
    row.half_width_ns = Some(half_width);
    let have = row.observations[0].min(row.observations[1]);
    match two_stage(&pilot, half_width, level) {
        Ok(stages) => {
            row.required = Some(stages.runs());
            let interval = at_hand(&stages, &all);
            row.verdict = verdict(&interval);
            row.interval_ns = Some([interval.lower, interval.upper]);
            row.sentence = format!("{about}: {}", in_words(stages.runs(), have, all.unit(study), &row));
            Asked { row, lacking: stages.runs().saturating_sub(have) }
        }
        // As many as the plan allows; the words say why no number stands there.
        Err(error @ TwoStageError::TooMany { .. }) => {
            row.sentence = format!("{about}: {error}");
            Asked { row, lacking: u64::MAX }
        }
        Err(error) => {
            row.sentence = format!("{about}: no number of runs, because {error}.");
            Asked { row, lacking: 0 }
        }
    }
}

fn two_stage(pilot: &Units, half_width: f64, level: ConfidenceLevel) -> Result<TwoStage, TwoStageError> {
    match pilot {
        Units::Apart([baseline, candidate]) => {
            TwoStage::of_difference_with_losses(baseline, candidate, half_width, level)
        }
        Units::Paired { differences, .. } => TwoStage::of_mean(differences, half_width, level),
    }
}

fn at_hand(stages: &TwoStage, all: &Units) -> Interval {
    match all {
        Units::Apart([baseline, candidate]) => stages.interval_of_difference_at_hand(baseline, candidate),
        Units::Paired { differences, .. } => stages.interval_at_hand(differences),
    }
}

/// What an interval of what the candidate saves says.
pub(super) fn verdict(interval: &Interval) -> Verdict {
    if interval.lower > 0.0 {
        Verdict::Faster
    } else if interval.upper < 0.0 {
        Verdict::Slower
    } else {
        Verdict::Undecided
    }
}

fn in_words(required: u64, have: u64, unit: &str, row: &RuleRow) -> String {
    let [lower, upper] = row.interval_ns.unwrap_or_default();
    let stands = format!(
        "{} saved, interval [{}, {}]",
        milliseconds(row.saved_ns.unwrap_or_default()),
        milliseconds(lower),
        milliseconds(upper)
    );
    let required = counted(required, unit);
    match have {
        have if row.required.is_some_and(|required| have >= required) => {
            format!("{required} of each version asked for, {} there: {stands}.", grouped(have))
        }
        have => format!("{required} of each version asked for, {} there; so far {stands}.", grouped(have)),
    }
}

/// Nanoseconds as milliseconds with four digits that count.
pub(super) fn milliseconds(ns: f64) -> String {
    let value = ns / 1e6;
    let digits = if value == 0.0 { 0 } else { (3.0 - value.abs().log10().floor()).clamp(0.0, 9.0) as usize };
    format!("{value:.digits$}\u{a0}ms").replace('-', "−")
}
