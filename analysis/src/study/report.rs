//! The report: plain data with stable names, the same bytes for the same attempts.

use super::comparison::BenchmarkReport;
use super::diagnostics::DiagnosticsSummary;
use super::independence::IndependenceReport;
use super::method::MethodReport;
use super::metric::MetricReport;
use super::rule::RuleReport;
use super::suite::SuiteReport;
use super::warning::Warning;
use serde::{Deserialize, Serialize};
use speedup_core::event::Tally;

/// The version of the report's shape.
pub const SCHEMA_VERSION: u32 = 1;

/// What an experiment has shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// What the experiment is, and how far it has come.
    pub head: Head,
    /// Each candidate over all benchmarks: the verdicts in words.
    pub suites: Vec<SuiteReport>,
    /// What the evidence says of independence.
    pub independence: IndependenceReport,
    /// Each benchmark, in plan order.
    pub benchmarks: Vec<BenchmarkReport>,
    /// Whether the runs were what the methods take them for, over all cells.
    #[serde(default)]
    pub diagnostics: Option<DiagnosticsSummary>,
    /// The other metrics.
    pub metrics: Vec<MetricReport>,
    /// What was not measured, over all cells.
    pub mishaps: MishapTotals,
    /// What the reader must know, each code once.
    pub warnings: Vec<Warning>,
    /// What the plan's rule of repetition asked for and concludes; absent where the plan gives the number of runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleReport>,
    /// How the report was made.
    pub method: MethodReport,
}

/// What the experiment is, and how far it has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Its id.
    pub experiment: String,
    /// What people call it.
    pub name: String,
    /// What it is about.
    pub description: String,
    /// All randomness came from here.
    pub seed: u64,
    /// The versions, the baseline first.
    pub versions: Vec<String>,
    /// The baseline.
    pub baseline: String,
    /// The confidence level of the report.
    pub confidence: f64,
    /// When it was submitted, nanoseconds since the Unix epoch.
    pub submitted_unix_ns: u64,
    /// The same, as RFC 3339 in UTC.
    pub submitted: String,
    /// Who submitted it.
    pub submitted_by: String,
    /// When it finished, nanoseconds since the Unix epoch.
    pub finished_unix_ns: Option<u64>,
    /// The same, as RFC 3339 in UTC.
    pub finished: Option<String>,
    /// Whether all its runs are settled as planned.
    pub state: State,
    /// `running`, `paused`, `deciding`, `cancelling`, `cancelled` or `finished`.
    pub phase: String,
    /// The runs that the plan has.
    pub planned_runs: u64,
    /// The runs of each cell that the plan has.
    pub runs_per_cell: u64,
    /// The runs of each cell that it had when it was submitted; `None` in reports from before this was told.
    #[serde(default)]
    pub planned_runs_per_cell: Option<u64>,
    /// The measured runs that this report is from.
    pub measured_runs: u64,
    /// How all runs stand, by the coordinator.
    pub tally: Tally,
}

impl Head {
    /// Whether the coordinator would still append runs to the plan.
    pub(super) fn may_be_extended(&self) -> bool {
        matches!(self.phase.as_str(), "running" | "paused" | "deciding")
    }
}

/// How complete a report is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// All runs are settled, none was cancelled.
    Complete,
    /// Runs are outstanding or were cancelled.
    Partial,
    /// Nothing is measured.
    Empty,
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
