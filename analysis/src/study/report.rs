//! The report: plain data with stable names, the same bytes for the same attempts.

pub(super) mod assembly;
pub(super) mod figures;
mod gates;
pub(super) mod head;
pub(super) mod method;

use super::{Study, rule::RuleReport};
use crate::conclusion::{Warning, WarningCode, listed};
use crate::gate::Conclusion;
use crate::study::{
    compare::comparison::BenchmarkReport, compare::endpoint::EndpointReport, compare::metric::MetricReport,
    compare::suite::SuiteReport, ranks::RanksReport, report::figures::FiguresReport, report::head::Head,
    report::method::MethodReport, scaling::ScalingReport, validity::canary::CanaryReport,
    validity::controls::ControlsReport, validity::diagnostics::DiagnosticsSummary,
    validity::exclusion::ExclusionsReport, validity::independence::IndependenceReport,
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
    pub mishaps: MishapTotals,
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
        let all = self.benchmarks.len();
        self.gates.retain(|gate| gate.benchmark.as_deref().is_none_or(&takes));
        self.benchmarks.retain(|benchmark| takes(&benchmark.name));
        self.metrics.iter_mut().for_each(|metric| metric.rows.retain(|row| takes(&row.benchmark)));
        self.endpoints.iter_mut().for_each(|endpoint| endpoint.rows.retain(|row| takes(&row.benchmark)));
        let is_taken = |of: &ScalingReport| {
            of.versions.iter().flat_map(|one| &one.rows).any(|row| takes(&row.benchmark))
        };
        self.scaling.retain(is_taken);
        if let Some(controls) = &mut self.controls {
            controls.rows.retain(|row| takes(&row.benchmark));
        }
        if let Some(rule) = &mut self.rule {
            rule.rows.retain(|row| takes(&row.benchmark));
        }
        if let Some(figures) = &mut self.figures {
            figures.benchmarks.retain(|benchmark| takes(&benchmark.benchmark));
        }
        // A caveat of others alone is none of what is shown.
        self.warnings.retain_mut(|warning| {
            let is_of_all = warning.concerns.is_empty();
            warning.concerns.retain(|name| takes(name));
            is_of_all || !warning.concerns.is_empty()
        });
        let sentence = format!(
            "Only {} of {all} benchmarks are shown, those that match {words}: the verdicts over all benchmarks and the adjustment \
             for the number of comparisons are of all that were planned; leave --only out to see them.",
            self.benchmarks.len()
        );
        self.warnings.insert(0, Warning::new(WarningCode::Only, sentence));
        self
    }
}

/// What was not measured, over all cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MishapTotals {
    /// Runs in which the benchmark failed.
    pub failed_runs: u64,
    /// Those of them that did not end in time.
    pub timeouts: u64,
    /// Attempts that the infrastructure lost.
    pub lost_attempts: u64,
    /// Runs that lost all their attempts.
    pub abandoned_runs: u64,
    /// Reports that came too late.
    pub late_reports: u64,
    /// Attempts of runs that the plan did not have yet when it was read.
    pub beyond_plan: u64,
}

impl MishapTotals {
    pub(super) fn of(study: &Study) -> Self {
        let mut totals = Self { beyond_plan: study.beyond_plan, ..Self::default() };
        for cell in &study.cells {
            totals.failed_runs += cell.mishaps.failed_runs();
            totals.timeouts += cell.mishaps.timeouts();
            totals.lost_attempts += cell.mishaps.lost_attempts();
            totals.abandoned_runs += cell.mishaps.abandoned_runs;
            totals.late_reports += cell.mishaps.late_reports;
        }
        totals
    }
}
