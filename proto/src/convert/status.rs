//! The status of an experiment, active or finished: what users are told and the store keeps.

use speedup_core::experiment::MAX_RUNS;
use speedup_core::machine::Phase;
use speedup_core::machine::event::Tally;
use speedup_core::value::id::ExperimentId;
use speedup_core::value::time::Timestamp;

use super::experiment::tags;
use super::field::{chosen, reason, required};
use super::id::{experiment_id, experiment_named, id_bytes, id_text};
use super::malformed::{Malformed, Why};
use super::moment::{moment, required_moment, timestamp};
use crate::v1;
use v1::experiment_status::{Cancelling, Deciding, Finished, Paused, Phase as WirePhase, Running};
use v1::stored_status::Phase as StoredPhase;

/// The status of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExperimentStatus {
    pub experiment: ExperimentId,
    /// What people call it.
    pub name: String,
    /// When it was submitted.
    pub submitted: Timestamp,
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
    /// Whether it looks for the version with a step: versions that cannot be built or run are then part of its answer.
    pub bisects: bool,
}

/// What may happen to an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusPhase {
    /// Its runs are given out.
    Running,
    /// They would be, and no connected host can take any of them.
    WaitingForHosts,
    /// None is given out until it is resumed.
    Paused { reason: String },
    /// All its runs are settled; its rule has to say whether they are enough.
    Deciding,
    /// It was cancelled; runs under way end.
    Cancelling,
    /// All its runs are settled.
    Finished {
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
        Self {
            experiment: id_text(status.experiment.0),
            name: status.name.clone(),
            submitted: Some(timestamp(status.submitted)),
            finished_at: status.phase.finished().map(timestamp),
            submitted_by: status.submitted_by.clone(),
            phase: Some((&status.phase).into()),
            tally: Some((&status.tally).into()),
            cells: status.cells,
            hosts_here: status.hosts_here,
            words: status.words.clone(),
            tags: status.tags.clone(),
            bisects: status.bisects,
        }
    }
}

impl TryFrom<v1::ExperimentStatus> for ExperimentStatus {
    type Error = Malformed;

    fn try_from(wire: v1::ExperimentStatus) -> Result<Self, Malformed> {
        let finished =
            wire.finished_at.as_ref().map(|finished| moment(finished, "finished_at")).transpose()?;
        Ok(Self {
            experiment: experiment_named(&wire.experiment, "experiment")?,
            name: wire.name,
            submitted: required_moment(wire.submitted.as_ref(), "submitted")?,
            submitted_by: wire.submitted_by,
            phase: phase(chosen(wire.phase, "phase")?, finished, "finished_at")?,
            tally: required(wire.tally, "tally")?,
            cells: wire.cells,
            hosts_here: wire.hosts_here,
            words: reason(wire.words),
            tags: tags(wire.tags)?,
            bisects: wire.bisects,
        })
    }
}

/// As it is stored.
impl From<&ExperimentStatus> for v1::StoredStatus {
    fn from(status: &ExperimentStatus) -> Self {
        Self {
            experiment: id_bytes(status.experiment.0),
            name: status.name.clone(),
            submitted_ns: status.submitted.0,
            finished_ns: status.phase.finished().map(|at| at.0),
            submitted_by: status.submitted_by.clone(),
            phase: Some(WirePhase::from(&status.phase).into()),
            tally: Some((&status.tally).into()),
            cells: status.cells,
            hosts_here: status.hosts_here,
            words: status.words.clone(),
            tags: status.tags.clone(),
            bisects: status.bisects,
        }
    }
}

impl TryFrom<v1::StoredStatus> for ExperimentStatus {
    type Error = Malformed;

    fn try_from(wire: v1::StoredStatus) -> Result<Self, Malformed> {
        let finished = wire.finished_ns.map(Timestamp);
        Ok(Self {
            experiment: experiment_id(&wire.experiment, "experiment")?,
            name: wire.name,
            submitted: Timestamp(wire.submitted_ns),
            submitted_by: wire.submitted_by,
            phase: phase(chosen(wire.phase, "phase")?.into(), finished, "finished_ns")?,
            tally: required(wire.tally, "tally")?,
            cells: wire.cells,
            hosts_here: wire.hosts_here,
            words: reason(wire.words),
            tags: tags(wire.tags)?,
            bisects: wire.bisects,
        })
    }
}

impl StatusPhase {
    /// When it finished, if it has.
    pub fn finished(&self) -> Option<Timestamp> {
        match self {
            Self::Finished { at, cancelled: _ } => Some(*at),
            Self::Running
            | Self::WaitingForHosts
            | Self::Paused { .. }
            | Self::Deciding
            | Self::Cancelling => None,
        }
    }
}

impl From<&StatusPhase> for WirePhase {
    fn from(phase: &StatusPhase) -> Self {
        match phase {
            StatusPhase::Running => Self::Running(Running { waiting_for_hosts: false }),
            StatusPhase::WaitingForHosts => Self::Running(Running { waiting_for_hosts: true }),
            StatusPhase::Paused { reason } => Self::Paused(Paused { reason: reason.clone() }),
            StatusPhase::Deciding => Self::Deciding(Deciding {}),
            StatusPhase::Cancelling => Self::Cancelling(Cancelling {}),
            StatusPhase::Finished { at: _, cancelled } => Self::Finished(Finished { cancelled: *cancelled }),
        }
    }
}

fn phase(wire: WirePhase, finished: Option<Timestamp>, field: &str) -> Result<StatusPhase, Malformed> {
    Ok(match wire {
        WirePhase::Running(Running { waiting_for_hosts: false }) => StatusPhase::Running,
        WirePhase::Running(Running { waiting_for_hosts: true }) => StatusPhase::WaitingForHosts,
        WirePhase::Paused(Paused { reason: text }) => StatusPhase::Paused { reason: reason(text) },
        WirePhase::Deciding(Deciding {}) => StatusPhase::Deciding,
        WirePhase::Cancelling(Cancelling {}) => StatusPhase::Cancelling,
        WirePhase::Finished(Finished { cancelled }) => {
            let at = finished.ok_or_else(|| Malformed::new(field, Why::Missing))?;
            StatusPhase::Finished { at, cancelled }
        }
    })
}

/// The same phases in the two messages.
macro_rules! same_phases {
    ($from:ident, $into:ident) => {
        impl From<$from> for $into {
            fn from(phase: $from) -> Self {
                match phase {
                    $from::Running(running) => Self::Running(running),
                    $from::Paused(paused) => Self::Paused(paused),
                    $from::Cancelling(cancelling) => Self::Cancelling(cancelling),
                    $from::Finished(finished) => Self::Finished(finished),
                    $from::Deciding(deciding) => Self::Deciding(deciding),
                }
            }
        }
    };
}
same_phases!(WirePhase, StoredPhase);
same_phases!(StoredPhase, WirePhase);

impl From<&Tally> for v1::Tally {
    fn from(tally: &Tally) -> Self {
        let Tally { waiting, leased, running, measured, failed, abandoned, cancelled, lost_attempts } =
            *tally;
        Self { waiting, leased, running, measured, failed, abandoned, cancelled, lost_attempts }
    }
}

impl TryFrom<v1::Tally> for Tally {
    type Error = Malformed;

    fn try_from(wire: v1::Tally) -> Result<Self, Malformed> {
        let v1::Tally { waiting, leased, running, measured, failed, abandoned, cancelled, lost_attempts } =
            wire;
        let states = [waiting, leased, running, measured, failed, abandoned, cancelled];
        let number: u64 = states.into_iter().map(u64::from).sum();
        // No more than an experiment may have, so that the sums of a tally stay within their type.
        if number > MAX_RUNS {
            return Err(Malformed::new("runs", Why::TooLarge { number, most: MAX_RUNS }));
        }
        Ok(Self { waiting, leased, running, measured, failed, abandoned, cancelled, lost_attempts })
    }
}
