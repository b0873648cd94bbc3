//! The status of an active or finished experiment, as users see it and as the store holds it.

use speedup_core::experiment::{MAX_RUNS, MAX_TAGS};
use speedup_core::machine::{StatusPhase, event::Tally};
use speedup_core::value::id::ExperimentId;
use speedup_core::value::time::Timestamp;

use super::wire::field::{chosen, reason};
use super::wire::malformed::{Malformed, Why};
use super::wire::{PlainList, REASON, Wire, message, structure};
use crate::v1;
use v1::experiment_status::{Cancelling, Deciding, Finished, Paused, Phase as WirePhase, Running};
use v1::stored_status::Phase as StoredPhase;

/// The status of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExperimentStatus {
    pub experiment: ExperimentId,
    pub name: String,
    pub submitted: Timestamp,
    pub submitted_by: String,
    pub tags: Vec<String>,
    pub phase: StatusPhase,
    pub tally: Tally,
    pub cells: u32,
    /// All hosts that were connected when the status was requested.
    pub hosts_here: u32,
    /// The latest words of its stopping rule, or why it was cancelled; empty before.
    pub words: String,
    /// Whether it is a bisection: versions that cannot be built or run are then part of its result.
    pub bisects: bool,
}

structure!(
    ExperimentStatus,
    v1::ExperimentStatus,
    [
        experiment, name, submitted, submitted_by,
        phase = (phase, finished_at) => (wire_phase, phase_in),
        tally, cells, hosts_here,
        words => REASON,
        tags => PlainList(MAX_TAGS),
        bisects,
    ]
);
// As it is stored.
structure!(
    ExperimentStatus,
    v1::StoredStatus,
    [
        experiment, name,
        submitted = submitted_ns,
        submitted_by,
        phase = (phase, finished_ns) => (stored_phase, stored_phase_in),
        tally, cells, hosts_here,
        words => REASON,
        tags => PlainList(MAX_TAGS),
        bisects,
    ]
);

fn wire_phase(phase: &StatusPhase) -> (Option<WirePhase>, Option<prost_types::Timestamp>) {
    (Some(phase.into()), phase.finished().to_wire())
}

fn phase_in(
    (wire, at): (Option<WirePhase>, Option<prost_types::Timestamp>),
    field: &str,
) -> Result<StatusPhase, Malformed> {
    let finished = Option::from_wire(at, "finished_at")?;
    phase(chosen(wire, field)?, finished, "finished_at")
}

fn stored_phase(phase: &StatusPhase) -> (Option<StoredPhase>, Option<u64>) {
    (Some(WirePhase::from(phase).into()), phase.finished().to_wire())
}

fn stored_phase_in(
    (wire, at): (Option<StoredPhase>, Option<u64>),
    field: &str,
) -> Result<StatusPhase, Malformed> {
    phase(chosen(wire, field)?.into(), at.map(Timestamp), "finished_ns")
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

/// Converts between the phases of the two messages, which are the same.
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

message!(Tally, v1::Tally);

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

impl v1::EventKind {
    /// The event in words: the same on the command line, in JSON and on the web page, in all releases.
    pub fn words(self) -> &'static str {
        match self {
            Self::Unspecified => "unknown to this release",
            Self::CoordinatorStarted => "coordinator started",
            Self::Submitted => "submitted",
            Self::Paused => "paused",
            Self::Resumed => "resumed",
            Self::Cancelled => "cancelled",
            Self::Extended => "extended",
            Self::Decided => "decided",
            Self::ClassPinned => "class pinned",
            Self::ClassApproved => "class approved",
            Self::Finished => "finished",
            Self::HostDrifted => "host drifted",
            Self::HostDrained => "host drained",
            Self::HostQuarantined => "host quarantined",
            Self::HostResumed => "host resumed",
            Self::HostReset => "host reset",
            Self::HostsRequested => "hosts requested",
            Self::HostsRequestEnded => "request for hosts ended",
            Self::JobsAsked => "jobs asked for",
            Self::JobBegan => "job began",
            Self::JobEnded => "job ended",
            Self::JobFailed => "job failed",
            Self::HostsRequestStopped => "request for hosts stopped",
            Self::SshHostAdded => "host added by ssh",
            Self::SshHostRemoved => "host removed by ssh",
            Self::SshAgentStarted => "agent started by ssh",
            Self::TokenCreated => "token created",
            Self::TokenRevoked => "token revoked",
            Self::CertificateIssued => "certificate issued",
            Self::CertificateRevoked => "certificate revoked",
        }
    }
}
