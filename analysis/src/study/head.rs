//! The head of a report: what the experiment is, and how far it has come.

use super::{Study, StudyStanding, gather::cell::ConditionCounts};
use crate::conclusion::{ReportWord, Word};
use serde::{Deserialize, Serialize};
use speedup_core::machine::{StatusPhase, event::Tally};
use speedup_core::{experiment::Version, value::time::Timestamp};
use speedup_statistics::inference::{ConfidenceLevel, Threshold};

/// What the experiment is, and how far it has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Its id.
    pub experiment: String,
    /// What people call it.
    pub name: String,
    /// What it is about.
    pub description: String,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// By which options its benchmarks were chosen from those of its plan; empty where all were taken.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub selection: String,
    /// All randomness came from here.
    pub seed: u64,
    /// The versions, the baseline first.
    pub versions: Vec<String>,
    /// The commits that versions were built from, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<CommitReport>,
    /// The baseline.
    pub baseline: String,
    /// The confidence level of the report.
    pub confidence: f64,
    /// The slowdown that gates ignore, which the report was asked for; left out where any slowdown counts.
    #[serde(default, skip_serializing_if = "Threshold::is_none")]
    pub noise_threshold: Threshold,
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
    /// Whether its runs are still given out.
    pub phase: Word<ReportPhase>,
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
    /// The conditions of all measured runs, those of controls among them; `None` in reports from before this was told.
    #[serde(default)]
    pub conditions: Option<ConditionCounts>,
}

/// The commit that a version was built from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitReport {
    /// The version.
    pub version: String,
    /// The full id of the commit.
    pub id: String,
    /// What the plan called it.
    pub revision: String,
    /// The first line of its message; may be empty.
    pub subject: String,
    /// All that in words.
    pub sentence: String,
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

speedup_core::words! {
    /// Whether the runs of an experiment are still given out.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ReportPhase {
        /// They are.
        Running = "running",
        /// They would be, and no connected host can take any of them.
        #[serde(rename = "waiting for hosts")]
        WaitingForHosts = "waiting for hosts",
        /// Not until someone resumes it.
        Paused = "paused",
        /// All are settled, and the plan's rule has to say whether they are enough.
        Deciding = "deciding",
        /// It was cancelled; runs under way end.
        Cancelling = "cancelling",
        /// It was cancelled, and no run is under way.
        Cancelled = "cancelled",
        /// All runs are settled.
        Finished = "finished",
    }
    impl ReportWord::name;
}

impl CommitReport {
    /// That of a version, if it has one.
    fn of(version: &Version) -> Option<Self> {
        let commit = version.commit.as_ref()?;
        Some(Self {
            version: version.name.clone(),
            id: commit.id.clone(),
            revision: commit.revision.clone(),
            subject: commit.subject.clone(),
            sentence: format!("{}: {}", version.name, commit.in_words()),
        })
    }
}

impl Head {
    /// The head of the report of `study` at `level`.
    pub(crate) fn new(study: &Study, level: ConfidenceLevel, noise: Threshold) -> Self {
        let experiment = &study.plan.experiment;
        let StudyStanding { experiment: id, submitted, submitted_by, phase, tally } = &study.standing;
        let versions: Vec<String> =
            experiment.compared().iter().map(|version| version.name.clone()).collect();
        let measured_runs: u64 = study.cells.iter().map(|cell| cell.runs() as u64).sum();
        let planned_runs = u64::from(study.plan.runs() - study.plan.builds());
        let (finished, phase) = match phase {
            StatusPhase::Running => (None, ReportPhase::Running),
            StatusPhase::WaitingForHosts => (None, ReportPhase::WaitingForHosts),
            StatusPhase::Paused { .. } => (None, ReportPhase::Paused),
            StatusPhase::Deciding => (None, ReportPhase::Deciding),
            StatusPhase::Cancelling => (None, ReportPhase::Cancelling),
            StatusPhase::Finished { at, cancelled: true } => (Some(*at), ReportPhase::Cancelled),
            StatusPhase::Finished { at, cancelled: false } => (Some(*at), ReportPhase::Finished),
        };
        let state = match (measured_runs, phase) {
            (0, _) => State::Empty,
            (_, ReportPhase::Finished) => State::Complete,
            (_, _) => State::Partial,
        };
        Self {
            experiment: id.to_string(),
            name: experiment.name.clone(),
            description: experiment.description.clone(),
            tags: experiment.tags.clone(),
            selection: experiment.selection.clone(),
            seed: experiment.seed.0,
            commits: experiment.compared().iter().filter_map(CommitReport::of).collect(),
            baseline: versions.first().cloned().unwrap_or_default(),
            versions,
            confidence: level.get(),
            noise_threshold: noise,
            submitted_unix_ns: submitted.0,
            submitted: calendar(*submitted),
            submitted_by: submitted_by.clone(),
            finished_unix_ns: finished.map(|at| at.0),
            finished: finished.map(calendar),
            state,
            phase: phase.into(),
            planned_runs,
            runs_per_cell: planned_runs / u64::from(study.plan.cells()).max(1),
            planned_runs_per_cell: Some(experiment.runs_of_a_cell()),
            measured_runs,
            tally: *tally,
            conditions: Some(ConditionCounts::sum(study.cells.iter().map(|cell| &cell.conditions))),
        }
    }

    /// Whether runs of the plan are still to come, before which there is no verdict.
    pub fn awaits_runs(&self) -> bool {
        let Tally { waiting, leased, running, .. } = self.tally;
        self.may_be_extended() && waiting + leased + running > 0
    }

    /// Whether the coordinator would still append runs to the plan.
    pub(crate) fn may_be_extended(&self) -> bool {
        use ReportPhase::{Deciding, Paused, Running, WaitingForHosts};
        matches!(self.phase, Word::Known(Running | WaitingForHosts | Paused | Deciding))
    }
}

/// A moment as RFC 3339 in UTC, to the second.
pub(crate) fn calendar(at: Timestamp) -> String {
    let seconds = i64::try_from(at.0 / 1_000_000_000).unwrap_or(i64::MAX);
    jiff::Timestamp::from_second(seconds).map_or_else(|_| format!("{seconds} s"), |at| at.to_string())
}
