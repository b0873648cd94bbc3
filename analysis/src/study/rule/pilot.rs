//! Stein's two stages: from the pilot's spread, the visits that bring an interval to within the precision; after the second stage, that
//! interval. Where the plan declares trimmed means it is of their ratio, else of the difference of the means.

use super::units::{Comparison, Units};
use super::{Finding, Promise, RuleRow, units};
use crate::count::{counted, grouped, percent};
use crate::study::{Study, two_sample::headline::trim_share};
use crate::{conclusion::Verdict, count};
use speedup_core::experiment::Center;
use speedup_statistics::inference::{ConfidenceLevel, Interval};
use speedup_statistics::planning::two_stage::{TwoStage, TwoStageError};
use speedup_statistics::ratio::TrimShare;

/// What the plan asks for.
#[derive(Clone, Copy)]
struct Goal {
    level: ConfidenceLevel,
    precision: f64,
    /// The share that the trimmed means of log times leave out; none where means of times are compared.
    trim: Option<TrimShare>,
}

/// One benchmark's answer, and the observations of each version that are still to come.
struct PilotAnswer {
    row: RuleRow,
    lacking: u64,
}

/// What the pilot asks for, or what both stages show.
pub(super) fn find(study: &Study, level: ConfidenceLevel, precision: f64, maximum: u32) -> Finding {
    let plan = &study.plan;
    let trim = match plan.experiment.center() {
        Center::Trimmed => Some(trim_share(plan.experiment.analysis.trim)),
        Center::Mean | Center::Median => None,
    };
    let goal = Goal { level, precision, trim };
    let (planned, shape) = (units::planned(study), plan.visit());
    let pilot = units::end_of_pilot(study);
    let is_first = plan.runs() <= pilot;
    let mut visits = vec![0; plan.benchmarks.len()];
    let mut rows = Vec::new();
    for comparison in units::comparisons(study) {
        let PilotAnswer { row, lacking } = ask(study, &comparison, goal, &planned);
        if is_first {
            let left = maximum.saturating_sub(comparison.planned(&planned)) / shape.size().max(1);
            let more = u32::try_from(lacking).unwrap_or(u32::MAX).min(left);
            visits[comparison.place] = more.max(visits[comparison.place]);
        }
        rows.push(row);
    }
    let what = goal.in_words();
    let words = if is_first {
        format!(
            "From the spread of the pilot, {} of each cell: {what}; at most {} of each cell; all versions of a benchmark \
             get as many.",
            counted(plan.experiment.runs_of_a_cell(), "run"),
            counted(maximum.into(), "run")
        )
    } else {
        let kept = rows.iter().filter(|row| row.promise == Some(Promise::Kept)).count() as u64;
        let all = counted(rows.len() as u64, "comparison");
        format!("Both stages are over. Asked for was {what}; {} of {all} got it.", grouped(kept))
    };
    Finding { rows, visits, shape, words }
}

impl Goal {
    fn in_words(self) -> String {
        let [precision, level] = [self.precision, self.level.get()].map(percent);
        let what = match self.trim {
            Some(_) => format!("the ratio of the trimmed means to within {precision} at {level}"),
            None => format!(
                "the difference of the means to within {precision} of the baseline's mean at {level}, supposing normal times \
                 without rare stalls"
            ),
        };
        format!("{what}, each benchmark by itself, not adjusted for their number")
    }

    /// Fills in what the interval of all runs says, and returns it in words.
    fn conclude(self, row: &mut RuleRow, interval: &Interval) -> String {
        let ends = [interval.lower, interval.upper];
        row.verdict = verdict(interval);
        if self.trim.is_some() {
            let speedup = interval.lower.midpoint(interval.upper).exp();
            let [lower, upper] = ends.map(f64::exp);
            row.speedup = Some(speedup);
            row.speedup_interval = Some([lower, upper]);
            row.test = Some(TwoStage::NAME.to_owned());
            return count::ratio(speedup, Some((lower, upper)));
        }
        row.interval_ns = Some(ends);
        let saved = saved_in_words(row.saved_ns.unwrap_or_default());
        let [lower, upper] = ends.map(milliseconds);
        format!("{saved}, interval [{lower}, {upper}]")
    }
}

fn ask(study: &Study, comparison: &Comparison<'_>, goal: Goal, planned: &[u32]) -> PilotAnswer {
    let mut row = RuleRow::of(comparison, study, planned);
    let about = format!("{}, {}", comparison.benchmark, comparison.candidate);
    let times = comparison.units(study, study.plan.runs());
    row.saved_ns = times.as_ref().map(|times| times.saved_by(goal.trim));
    row.promise = Some(Promise::Short);
    // The observations on the scale that is compared.
    let scaled = |units: Option<Units>| if goal.trim.is_some() { units?.logarithms() } else { units };
    let pilot = scaled(comparison.units(study, units::end_of_pilot(study)));
    let (Some(pilot), Some(all)) = (pilot, scaled(times)) else {
        row.sentence =
            format!("{about}: no number of runs, because a version has no measured run in the pilot.");
        return PilotAnswer { row, lacking: 0 };
    };
    row.observations = all.counts();
    let half_width = match goal.trim {
        Some(_) => goal.precision.ln_1p(),
        None => goal.precision * pilot.baseline_mean(),
    };
    row.half_width_ns = goal.trim.is_none().then_some(half_width);
    let have = row.observations[0].min(row.observations[1]);
    let trim = goal.trim.unwrap_or(TrimShare::NONE);
    match TwoStage::new(&pilot.samples(), trim, half_width, goal.level) {
        Ok(stages) => {
            row.required = Some(stages.runs());
            let stands = goal.conclude(&mut row, &stages.interval(&all.samples()));
            let required = counted(stages.runs(), all.unit(study));
            let asked = format!("{about}: {required} of each version asked for, {} there", grouped(have));
            (row.promise, row.sentence) = if have < stages.runs() {
                (Some(Promise::Short), format!("{asked}, so the interval is wider than asked for: {stands}."))
            } else if stages.is_unsteady(&all.samples()) {
                let unsteady = "All runs vary more than the pilot did, by stalls or a drift, so this interval does not keep its \
                    level: go by the report's.";
                (Some(Promise::Unsteady), format!("{asked}: {stands}. {unsteady}"))
            } else {
                (Some(Promise::Kept), format!("{asked}: {stands}."))
            };
            PilotAnswer { row, lacking: stages.runs().saturating_sub(have) }
        }
        // As many as the plan allows; the words say why no number stands there.
        Err(error @ TwoStageError::TooMany { .. }) => {
            row.sentence = format!("{about}: {error}");
            PilotAnswer { row, lacking: u64::MAX }
        }
        Err(error) => {
            row.sentence = format!("{about}: no number of runs, because {error}.");
            PilotAnswer { row, lacking: 0 }
        }
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

/// What a candidate saves, as in "1.224 ms saved", or takes more.
pub(super) fn saved_in_words(ns: f64) -> String {
    let words = if ns < 0.0 { "more taken" } else { "saved" };
    format!("{} {words}", milliseconds(ns.abs()))
}

/// Nanoseconds as milliseconds with four digits that count.
pub(super) fn milliseconds(ns: f64) -> String {
    let value = ns / 1e6;
    let digits = if value == 0.0 { 0 } else { (3.0 - value.abs().log10().floor()).clamp(0.0, 9.0) as usize };
    format!("{value:.digits$}\u{a0}ms").replace('-', "−")
}
