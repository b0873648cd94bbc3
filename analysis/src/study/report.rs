//! The report: plain data with stable names, the same bytes for the same attempts.

pub(super) mod assembly;
pub(super) mod figures;
mod gates;
pub(super) mod method;

use crate::conclusion::{Verdict, Warning, WarningCode, Word, listed};
use crate::gate::Conclusion;
use crate::study::{
    compare::comparison::BenchmarkReport, compare::controls::ControlsReport,
    compare::endpoint::EndpointReport, compare::metric::MetricReport, compare::suite::SuiteReport,
    design::RunUnit, gather::mishap::FailureTotals, head::Head, ranks::RanksReport,
    report::figures::FiguresReport, report::method::MethodReport, rule::RuleReport, scaling::ScalingReport,
    two_sample::advice::ReachReport, validity::canary::CanaryReport,
    validity::diagnostics::DiagnosticsSummary, validity::exclusion::ExclusionsReport,
    validity::independence::IndependenceReport,
};
use serde::{Deserialize, Serialize};

/// The version of the report's shape.
pub const SCHEMA_VERSION: u32 = 1;

/// What an experiment has shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// What the experiment is, and how far it has come.
    pub head: Head,
    /// What gates, tests of JUnit and annotations go by: each candidate over all benchmarks, on each, and on its endpoints; empty in
    /// reports from before this was told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Conclusion>,
    /// Each candidate over all benchmarks: the verdicts in words.
    pub suites: Vec<SuiteReport>,
    /// What the evidence says of independence.
    pub independence: IndependenceReport,
    /// Each benchmark, in plan order.
    pub benchmarks: Vec<BenchmarkReport>,
    /// Whether the runs were what the methods take them for, over all cells.
    #[serde(default)]
    pub diagnostics: Option<DiagnosticsSummary>,
    /// The hosts that were taken out of service while the experiment ran; absent where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclusions: Option<ExclusionsReport>,
    /// What the canary says of the hosts; absent where the plan has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<CanaryReport>,
    /// What the experiment says where nothing differs; absent where it has no control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controls: Option<ControlsReport>,
    /// The verdicts that the plan declares beside the headlines: on quantiles of the wall times, and on other metrics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointReport>,
    /// What more hosts bring, where the plan has one program on several numbers of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scaling: Vec<ScalingReport>,
    /// What the ranks of runs on several hosts took, where the plan has them timed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RanksReport>,
    /// The other metrics.
    pub metrics: Vec<MetricReport>,
    /// What was not measured, over all cells.
    pub mishaps: FailureTotals,
    /// What the reader must know, each code once.
    #[serde(serialize_with = "listed")]
    pub warnings: Vec<Warning>,
    /// What the plan's rule of repetition asked for and concludes; absent where the plan gives the number of runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleReport>,
    /// What plots are drawn from, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<FiguresReport>,
    /// How the report was made.
    pub method: MethodReport,
}

impl Report {
    /// The rows of the benchmarks that `takes` takes, which are those that match `words`. What is said over all benchmarks, and of how
    /// many comparisons there were, stays as it was planned.
    #[must_use]
    pub fn only(mut self, words: &str, takes: impl Fn(&str) -> bool) -> Self {
        // Without `..`, so that whoever adds a section decides here whether it has rows of benchmarks.
        let Self {
            gates,
            benchmarks,
            controls,
            endpoints,
            scaling,
            metrics,
            warnings,
            rule,
            figures,
            schema_version: _,
            head: _,
            suites: _,
            independence: _,
            diagnostics: _,
            exclusions: _,
            canary: _,
            ranks: _,
            mishaps: _,
            method: _,
        } = &mut self;
        let all = benchmarks.len();
        gates.retain(|gate| gate.benchmark.as_deref().is_none_or(&takes));
        benchmarks.retain(|benchmark| takes(&benchmark.name));
        for metric in metrics {
            metric.rows.retain(|row| takes(&row.benchmark));
        }
        for endpoint in endpoints {
            endpoint.rows.retain(|row| takes(&row.benchmark));
        }
        scaling.retain(|series| {
            series.versions.iter().flat_map(|version| &version.rows).any(|row| takes(&row.benchmark))
        });
        if let Some(controls) = controls {
            controls.rows.retain(|row| takes(&row.benchmark));
        }
        if let Some(rule) = rule {
            rule.rows.retain(|row| takes(&row.benchmark));
        }
        if let Some(figures) = figures {
            figures.benchmarks.retain(|benchmark| takes(&benchmark.benchmark));
        }
        // A caveat about other benchmarks alone says nothing about those that are shown.
        warnings.retain_mut(|warning| {
            let is_of_all = warning.concerns.is_empty();
            warning.concerns.retain(|name| takes(name));
            is_of_all || !warning.concerns.is_empty()
        });
        let sentence = format!(
            "Only {} of {all} benchmarks are shown, those that match {words}: the verdicts over all benchmarks and the adjustment \
             for the number of comparisons are of all that were planned; leave --only out to see them.",
            benchmarks.len()
        );
        warnings.insert(0, Warning::new(WarningCode::Only, sentence));
        self
    }
}

/// What the undecided comparisons of a report take together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndecidedAdvice<'r> {
    /// How many comparisons are undecided.
    pub undecided: u64,
    /// What is counted where it is not runs.
    pub unit: Option<&'r Word<RunUnit>>,
    /// The fewest runs of a version that there are.
    pub now: u64,
    /// Runs of each version with which the half of them have the precision `RELATIVE_HALF_WIDTH`; absent where no practical number gives it.
    pub typical: Option<u64>,
    /// The same for all of them.
    pub noisiest: Option<u64>,
    /// Whether all of them have that precision.
    pub is_precise: bool,
}

impl<'r> UndecidedAdvice<'r> {
    /// Of all comparisons with advice; `None` where there are none.
    pub fn new(report: &'r Report) -> Option<Self> {
        let mut undecided = 0;
        let mut needed = Vec::new();
        let mut unit = None;
        let mut now = u64::MAX;
        let mut is_precise = true;
        for comparison in report.benchmarks.iter().flat_map(|benchmark| &benchmark.comparisons) {
            undecided += u64::from(comparison.verdict == Verdict::Undecided);
            let Some(advice) = &comparison.advice else { continue };
            unit = unit.or(advice.unit.as_ref());
            now = now.min(comparison.baseline_n).min(comparison.candidate_n);
            is_precise &= matches!(advice.precision.reach, ReachReport::Reached { .. });
            needed.push(advice.precision.reach.needed().unwrap_or(u64::MAX));
        }
        needed.sort_unstable();
        let practical = |needed: u64| (needed < u64::MAX).then_some(needed);
        let typical = practical(*needed.get(needed.len().checked_sub(1)? / 2)?);
        let noisiest = practical(*needed.last()?);
        Some(Self { undecided, unit, now, typical, noisiest, is_precise })
    }
}
