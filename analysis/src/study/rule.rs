//! The plan's rule of repetition, applied to the runs that are settled: how many visits of each cell are to follow, and
//! what the rule concludes at its own level.
//!
//! A rule is looked at only when all runs that were given out are settled: an evaluation in between would be a look that
//! the plan does not have. The answer depends on the plan and the attempts alone, so whoever asks, and however often,
//! is told the same.
//!
//! In reading order: [`RuleReport`]; `units` (what counts as one observation), `look` (what a look at them sees), `pilot`, `sequential`, `budget` (the rules),
//! `bisection` (at which commit), `costs` (what attempts took of the hosts).

mod bisection;
mod budget;
mod costs;
mod look;
mod pilot;
mod sequential;
#[cfg(test)]
mod tests;
mod units;

pub use bisection::{
    BisectionReport, BisectionVerdict, CommitSetReport, LineCommit, LineCommitState, NextProbes,
    PathWeightReport, SeveralStepsReport, StepSizeReport,
};
pub use sequential::first_decisive_look;

pub(super) use self::costs::Costs;
use super::{Study, head::Head};
use crate::conclusion::{ReportWord, Verdict, WarningCode, Warnings, Word};
use crate::count::counted;
use serde::{Deserialize, Serialize};
use speedup_core::experiment::{Center, MAX_RUNS, Rule};
use speedup_core::machine::{StatusPhase, event::Tally};
use speedup_core::{plan::Extension, plan::Plan, plan::Shape, value::time::Span};
use speedup_statistics::inference::ConfidenceLevel;

/// What the plan's rule of repetition says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleReport {
    /// Which rule.
    pub rule: Word<RuleKind>,
    /// The method, with its source.
    pub method: String,
    /// How far it has come.
    pub state: RuleState,
    /// The runs that the plan had when this was computed.
    pub from: u32,
    /// What was computed, from what.
    pub words: String,
    /// Each benchmark and candidate, in plan order; empty while runs are outstanding.
    pub rows: Vec<RuleRow>,
    /// What is to be appended to the plan; nothing when the rule has enough.
    pub further: Option<Further>,
    /// What a bisection found, and what it probes next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bisection: Option<BisectionReport>,
}

speedup_core::words! {
    /// What sets the number of runs.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RuleKind {
        /// The variances of a pilot.
        Pilot = "pilot",
        /// Looks at growing data.
        Sequential = "sequential",
        /// A budget of time.
        Budget = "budget",
        /// What is known of a step.
        Bisection = "bisection",
    }
    impl ReportWord::name;
}

/// How far a rule has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleState {
    /// Runs that were planned are outstanding.
    Pending,
    /// It asks for further runs.
    Further,
    /// It asks for none, and each comparison has what the plan asks for.
    Enough,
    /// It asks for none, but a comparison lacks what the plan asks for: see [`RuleRow::promise`] and [`LookReport::concluded`].
    Exhausted,
    /// The experiment was cancelled before its runs were settled, so the rule concludes nothing.
    BrokenOff,
}

/// Whether a comparison has the interval that two stages are to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Promise {
    /// All runs that the pilot asked for are there, and the interval is as narrow as the plan wants it.
    Kept,
    /// There are fewer runs than the pilot asked for, or their number cannot be computed.
    Short,
    /// All runs vary more than the pilot did, so that the interval does not keep its level.
    Unsteady,
}

/// What a rule asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Further {
    /// Further visits of each cell, by the cell's number in the plan.
    pub visits: Vec<u32>,
    /// Boots of each visit.
    pub boots: u32,
    /// Runs of a cell on each boot.
    pub runs: u32,
}

/// What a rule says of one candidate on one benchmark.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RuleRow {
    /// The benchmark.
    pub benchmark: String,
    /// The candidate.
    pub candidate: String,
    /// Observations of the baseline and of the candidate: means of visits, or pairs where the design made them.
    pub observations: [u64; 2],
    /// Runs of both cells that are settled without a value.
    pub missing: u64,
    /// Observations of each version that the rule asks for in all; none where it cannot be computed.
    pub required: Option<u64>,
    /// Further visits of each of the two cells.
    pub further: u32,
    /// The baseline's mean less the candidate's in nanoseconds: what the candidate saves. Under looks, and of trimmed means, it is of the
    /// declared centre.
    pub saved_ns: Option<f64>,
    /// The rule's own interval of it in nanoseconds, at the level of the plan; under looks of means alone.
    pub interval_ns: Option<[f64; 2]>,
    /// The speedup of the verdict, baseline over candidate: under the sequential rule the observed one of the declared centre, after a
    /// pilot that of the trimmed means.
    #[serde(default)]
    pub speedup: Option<f64>,
    /// Its interval: under the sequential rule the repeated one, at the look's risk, so that all looks together keep the
    /// level of the plan.
    #[serde(default)]
    pub speedup_interval: Option<[f64; 2]>,
    /// The full name of the test that the verdict is by; none where there was none.
    #[serde(default)]
    pub test: Option<String>,
    /// Half the width that the plan asks for, in nanoseconds; of means.
    pub half_width_ns: Option<f64>,
    /// Whether the interval after a pilot is what the plan asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promise: Option<Promise>,
    /// The look that was taken, under the sequential rule.
    pub look: Option<LookReport>,
    /// What the rule concludes at its own level, which is what counts under a rule.
    pub verdict: Verdict,
    /// All of it in a sentence.
    pub sentence: String,
}

impl RuleRow {
    /// Of a comparison of which nothing is said yet.
    fn of(comparison: &units::Comparison<'_>, study: &Study, planned: &[u32]) -> Self {
        Self {
            benchmark: comparison.benchmark.to_owned(),
            candidate: comparison.candidate.to_owned(),
            missing: comparison.missing(study, planned),
            ..Self::default()
        }
    }

    /// Whether it has what the plan asks for, as far as its rule knows.
    fn has_enough(&self) -> bool {
        match (self.promise, self.look) {
            (Some(promise), _) => promise == Promise::Kept,
            (None, Some(look)) => look.concluded,
            (None, None) => true,
        }
    }
}

/// A look at growing data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LookReport {
    /// Its number, from 1.
    pub number: u32,
    /// Looks of the plan.
    pub of: u32,
    /// The two-sided p-value of its test; none where there was no test.
    pub p: Option<f64>,
    /// The risk that the look may take by itself.
    pub nominal_risk: f64,
    /// Whether the comparison is concluded.
    pub concluded: bool,
    /// The median-unbiased estimate of the speedup, which allows for the looks that could have ended the comparison before
    /// (stagewise ordering: Jennison and Turnbull 2000, §8.4–8.5); none with several candidates or a margin, and where so few
    /// runs make it a poor one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unbiased: Option<f64>,
}

impl RuleReport {
    /// Whether the number of runs depends on what looks showed, so that only the rule's verdicts keep the stated risk.
    pub fn is_by_looks(&self) -> bool {
        self.rule == RuleKind::Sequential
    }

    /// The runs to be appended to `plan`, from which this was computed.
    pub fn extension(&self, plan: &Plan) -> Option<Extension> {
        if let Some(bisection) = &self.bisection {
            return Some(bisection.next.as_ref()?.extension(plan));
        }
        let Further { visits, boots, runs } = self.further.as_ref()?;
        Some(plan.draw_extension(visits, Shape { boots: *boots, runs: *runs }))
    }
}

/// What a rule found, before the plan's bounds.
struct Finding {
    rows: Vec<RuleRow>,
    /// Further visits of each benchmark, all its versions alike.
    visits: Vec<u32>,
    shape: Shape,
    words: String,
}

/// What the rule says of `study`; none under the rule that the plan says the number.
pub(super) fn report(study: &Study, level: ConfidenceLevel) -> Option<RuleReport> {
    let rule = study.plan.experiment.rule;
    if let Rule::Bisection(bisection) = rule {
        return Some(bisection::report(study, level, bisection));
    }
    let (kind, method) = named(rule, study.plan.experiment.center())?;
    let report = |state, words| RuleReport {
        rule: kind.into(),
        method: method.to_owned(),
        state,
        from: study.plan.runs(),
        words,
        rows: Vec::new(),
        further: None,
        bisection: None,
    };
    if let Some((state, words)) = unsettled(study) {
        return Some(report(state, words));
    }
    let mut finding = match rule {
        Rule::Fixed | Rule::Bisection(_) => return None,
        Rule::Pilot { precision, maximum } => pilot::find(study, level, precision, maximum),
        Rule::Sequential { looks, maximum: _, spending } => sequential::find(study, level, looks, spending),
        Rule::Budget { time, maximum } => budget::find(study, time, maximum),
    };
    let held = hold_within_bounds(study, &mut finding);
    let versions = study.plan.experiment.versions.len();
    let visits: Vec<u32> = finding.visits.iter().flat_map(|v| std::iter::repeat_n(*v, versions)).collect();
    let further = visits.iter().any(|visits| *visits > 0).then_some(Further {
        visits,
        boots: finding.shape.boots,
        runs: finding.shape.runs,
    });
    let state = match further {
        Some(_) => RuleState::Further,
        None if finding.rows.iter().all(RuleRow::has_enough) => RuleState::Enough,
        None => RuleState::Exhausted,
    };
    let mut words = finding.words;
    words += &missing_in_words(&finding.rows);
    words += &held.map(|held| format!(" {held}")).unwrap_or_default();
    for row in &mut finding.rows {
        // The pilot alone gives no verdict.
        if kind == RuleKind::Pilot && state == RuleState::Further {
            row.verdict = Verdict::NotEnoughData;
        }
        let benchmark = study.benchmark_number(&row.benchmark);
        row.further = benchmark.map_or(0, |at| finding.visits[at]);
    }
    Some(RuleReport { rows: finding.rows, further, ..report(state, words) })
}

/// Which rule it is, and its method; none where the plan says the number.
fn named(rule: Rule, center: Center) -> Option<(RuleKind, &'static str)> {
    match rule {
        Rule::Fixed | Rule::Bisection(_) => None,
        Rule::Pilot { .. } => Some((
            RuleKind::Pilot,
            match center {
                Center::Mean | Center::Median => {
                    "Stein's two-stage interval of the difference of means (Annals of Mathematical Statistics 16, 1945)"
                }
                Center::Trimmed => {
                    "Stein's two-stage interval of the ratio of trimmed means (Annals of Mathematical Statistics 16, 1945; winsorised \
                     variances: Yuen, Biometrika 61, 1974)"
                }
            },
        )),
        Rule::Sequential { .. } => Some((
            RuleKind::Sequential,
            match center {
                Center::Mean => {
                    "group-sequential two-sided t test with risk spending (Lan and DeMets, Biometrika 70, 1983; Jennison and \
                     Turnbull 2000, §3.3)"
                }
                Center::Median => {
                    "group-sequential comparison of medians with risk spending (Lan and DeMets, Biometrika 70, 1983; Jennison \
                     and Turnbull 2000, §3.3)"
                }
                Center::Trimmed => {
                    "group-sequential comparison of trimmed means with risk spending (Lan and DeMets, Biometrika 70, 1983; \
                     Jennison and Turnbull 2000, §3.3)"
                }
            },
        )),
        Rule::Budget { .. } => Some((
            RuleKind::Budget,
            "optimal repetitions of each level from the pilot's variances and costs (Kalibera and Jones 2012, §7.4)",
        )),
    }
}

/// Why nothing is computed yet.
fn unsettled(study: &Study) -> Option<(RuleState, String)> {
    let Tally { waiting, leased, running, measured, failed, cancelled, .. } = study.standing.tally;
    let was_cancelled = matches!(
        study.standing.phase,
        StatusPhase::Cancelling | StatusPhase::Finished { cancelled: true, .. }
    );
    if was_cancelled || cancelled > 0 {
        let words = "The experiment was cancelled, so its rule concludes nothing.".to_owned();
        return Some((RuleState::BrokenOff, words));
    }
    // Attempts that were not told yet are outstanding as well.
    let told = study.reported.iter().filter(|told| **told).count() as u64;
    let outstanding = u64::from(waiting) + u64::from(leased) + u64::from(running);
    let outstanding = outstanding.max((u64::from(measured) + u64::from(failed)).saturating_sub(told));
    (outstanding > 0).then(|| {
        let words = format!(
            "{} of the plan outstanding: the rule is applied when they are settled, and not looked at before.",
            are(outstanding)
        );
        (RuleState::Pending, words)
    })
}

fn are(runs: u64) -> String {
    format!("{} {}", counted(runs, "run"), if runs == 1 { "is" } else { "are" })
}

fn missing_in_words(rows: &[RuleRow]) -> String {
    let missing: u64 = rows.iter().map(|row| row.missing).sum();
    match missing {
        0 => String::new(),
        _ => format!(
            " Comparisons lack {} that failed or lost all attempts; they are not replaced by a guess, and if slow runs are \
             lost more often than fast ones, means and spreads come out too small.",
            counted(missing, "run")
        ),
    }
}

/// What a reader of the other sections must know.
pub(super) fn warn(rule: Rule, head: &Head, warnings: &mut Warnings) {
    let grown = head.planned_runs_per_cell.is_none_or(|before| before < head.runs_per_cell);
    let (code, sentence) = match rule {
        Rule::Sequential { .. } => (
            WarningCode::LookedSequentially,
            "The number of runs depends on what the looks showed, so the verdicts and intervals are the rule's, which keep the \
             stated risk over all looks of a comparison, approximately for few runs; the Speedup-Test has no verdict here. A \
             speedup at which a look stopped is on average too large: quote its interval.",
        ),
        Rule::Pilot { .. } if grown => (
            WarningCode::SizedByPilot,
            "The number of runs was computed from the pilot's spread: the rule's own intervals keep the confidence level for normal \
             times, and for others approximately; where stalls come after the pilot, the rule says that they do not.",
        ),
        Rule::Pilot { .. } | Rule::Budget { .. } | Rule::Fixed | Rule::Bisection(_) => return,
    };
    warnings.raise(code, sentence);
}

impl Study {
    /// The place of a benchmark among those that take part.
    fn benchmark_number(&self, name: &str) -> Option<usize> {
        let experiment = &self.plan.experiment;
        let of = |index| experiment.benchmark(index).is_some_and(|benchmark| benchmark.name == name);
        self.plan.benchmarks.iter().position(|index| of(*index))
    }
}

/// Holds a finding within the bounds: all benchmarks give up the same share. Says which bound it was, if one was met.
fn hold_within_bounds(study: &Study, finding: &mut Finding) -> Option<String> {
    let versions = study.plan.experiment.versions.len() as u64;
    let of_a_visit = u64::from(finding.shape.size()) * versions;
    let asked =
        finding.visits.iter().map(|visits| u64::from(*visits)).sum::<u64>().saturating_mul(of_a_visit);
    let (left, bound) = bounds(study).into_iter().min_by_key(|(left, _)| *left)?;
    if asked <= left {
        return None;
    }
    for visits in &mut finding.visits {
        // The product of two numbers below 2³² fits; the quotient is not above `visits`.
        *visits = (u128::from(*visits) * u128::from(left) / u128::from(asked)) as u32;
    }
    Some(format!(
        "The rule asks for {}, and {bound} leaves {left}: all benchmarks get the same share.",
        counted(asked, "run")
    ))
}

/// The runs that each bound leaves.
fn bounds(study: &Study) -> Vec<(u64, &'static str)> {
    let (limits, costs) = (study.plan.experiment.limits, &study.costs);
    let mut bounds = vec![(MAX_RUNS.saturating_sub(u64::from(study.plan.runs())), "the size of plans")];
    if let Some(all) = limits.all_attempts {
        bounds.push((all.saturating_sub(costs.attempts()), "all_attempts in [limits]"));
    }
    if let Some(Span(all)) = limits.host_time {
        let Span(spent) = costs.spent();
        let left = all.saturating_sub(spent);
        // By the mean of the attempts so far, as nothing better is known of those to come.
        let each = spent / costs.attempts().max(1);
        bounds.push((left.checked_div(each).unwrap_or(u64::MAX), "host_time in [limits]"));
    }
    bounds
}
