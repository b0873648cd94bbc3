//! The status of an experiment, active or finished: what users are told and the store keeps.

use speedup_core::machine::Phase;
use speedup_core::machine::event::Tally;
use speedup_core::value::id::ExperimentId;
use speedup_core::value::time::Timestamp;

use super::experiment::tags;
use super::field::{chosen, reason, required};
use super::id::{experiment_id, id_bytes};
use super::malformed::{Malformed, Why};
use crate::v1;
use v1::experiment_status::{Cancelling, Deciding, Finished, Paused, Phase as WirePhase, Running};

/// The status of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExperimentStatus {
    /// Which.
    pub experiment: ExperimentId,
    /// What people call it.
    pub name: String,
    /// When it was submitted.
    pub submitted: Timestamp,
    /// Who submitted it.
    pub submitted_by: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// What may happen to it.
    pub phase: StatusPhase,
    /// How its runs stand.
    pub tally: Tally,
    /// How many cells it has.
    pub cells: u32,
    /// Hosts connected when it was asked for, in all.
    pub hosts_here: u32,
    /// The latest words of its rule, or why it was cancelled; empty before.
    pub words: String,
}

/// What may happen to an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusPhase {
    /// Its runs are given out.
    Running,
    /// They would be, and no connected host can take any of them.
    WaitingForHosts,
    /// None is given out until it is resumed.
    Paused {
        /// Why.
        reason: String,
    },
    /// All its runs are settled; its rule has to say whether they are enough.
    Deciding,
    /// It was cancelled; runs under way end.
    Cancelling,
    /// All its runs are settled.
    Finished {
        /// When.
        at: Timestamp,
        /// Whether it was cancelled.
        cancelled: bool,
    },
}

impl From<&Phase> for StatusPhase {
    fn from(phase: &Phase) -> Self {
        match phase {
            // Its rule has decided: it finishes at once.
            Phase::Running | Phase::Decided => Self::Running,
            Phase::Deciding => Self::Deciding,
            Phase::Paused { reason } => Self::Paused { reason: reason.clone() },
            Phase::Cancelled => Self::Cancelling,
        }
    }
}

impl From<&ExperimentStatus> for v1::ExperimentStatus {
    fn from(status: &ExperimentStatus) -> Self {
        let (phase, finished_ns) = match &status.phase {
            StatusPhase::Running => (WirePhase::Running(Running { waiting_for_hosts: false }), None),
            StatusPhase::WaitingForHosts => (WirePhase::Running(Running { waiting_for_hosts: true }), None),
            StatusPhase::Paused { reason } => (WirePhase::Paused(Paused { reason: reason.clone() }), None),
            StatusPhase::Deciding => (WirePhase::Deciding(Deciding {}), None),
            StatusPhase::Cancelling => (WirePhase::Cancelling(Cancelling {}), None),
            StatusPhase::Finished { at, cancelled } => {
                (WirePhase::Finished(Finished { cancelled: *cancelled }), Some(at.0))
            }
        };
        Self {
            experiment: id_bytes(status.experiment.0),
            name: status.name.clone(),
            submitted_ns: status.submitted.0,
            finished_ns,
            submitted_by: status.submitted_by.clone(),
            phase: Some(phase),
            tally: Some((&status.tally).into()),
            cells: status.cells,
            hosts_here: status.hosts_here,
            words: status.words.clone(),
            tags: status.tags.clone(),
        }
    }
}

impl TryFrom<v1::ExperimentStatus> for ExperimentStatus {
    type Error = Malformed;

    fn try_from(wire: v1::ExperimentStatus) -> Result<Self, Malformed> {
        let phase = match chosen(wire.phase, "phase")? {
            WirePhase::Running(Running { waiting_for_hosts: false }) => StatusPhase::Running,
            WirePhase::Running(Running { waiting_for_hosts: true }) => StatusPhase::WaitingForHosts,
            WirePhase::Paused(Paused { reason: text }) => StatusPhase::Paused { reason: reason(text) },
            WirePhase::Deciding(Deciding {}) => StatusPhase::Deciding,
            WirePhase::Cancelling(Cancelling {}) => StatusPhase::Cancelling,
            WirePhase::Finished(Finished { cancelled }) => {
                let missing = || Malformed::new("finished_ns", Why::Missing);
                StatusPhase::Finished { at: Timestamp(wire.finished_ns.ok_or_else(missing)?), cancelled }
            }
        };
        Ok(Self {
            experiment: experiment_id(&wire.experiment, "experiment")?,
            name: wire.name,
            submitted: Timestamp(wire.submitted_ns),
            submitted_by: wire.submitted_by,
            phase,
            tally: required(wire.tally, "tally")?,
            cells: wire.cells,
            hosts_here: wire.hosts_here,
            words: reason(wire.words),
            tags: tags(wire.tags)?,
        })
    }
}
