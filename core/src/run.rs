//! The state of one run. Everything else about an attempt lies with its lease, so that a run waits in a few bytes.

pub mod conditions;
pub mod disturbance;
pub mod lease;
pub mod program;
pub mod reading;
pub mod record;
pub mod software;
pub mod timer;
pub mod work;

use serde::{Deserialize, Serialize};

use crate::value::id::{Attempt, LeaseEpoch};

/// The state of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunState {
    Waiting {
        attempt: Attempt,
    },
    /// A host holds a lease on it.
    Leased {
        /// Which; the lease lies with the host.
        lease: LeaseEpoch,
        /// Who, by its number in the machine.
        host: HostNumber,
    },
    /// The agent said that it began.
    Running {
        lease: LeaseEpoch,
        /// Who, by its number in the machine.
        host: HostNumber,
    },
    /// It will not change any more.
    Settled(Settlement),
}

/// How a run was settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    Measured,
    /// The benchmark failed; kept and counted as a failure.
    Failed,
    /// The infrastructure failed too often.
    Abandoned,
    /// The experiment was cancelled before the run was given out.
    Cancelled,
}

/// A host's number within the machine, for compact states; never leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct HostNumber(pub(crate) u32);

/// Who stood in the way of an attempt that was not executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// The host or its agent, which could not.
    Host,
    /// The limits of the host's owner, which do not allow what the plan wants. Such a host is well: it is not told from
    /// others by the attempts that are lost on it so.
    Owner,
    /// The plan: it needs what this host does not have, or a command of its own failed. Other plans may well run here.
    Plan,
}

crate::words! {
    /// Why an attempt was lost.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum LossReason {
        /// The lease's deadline passed without a report.
        Expired = "lease_expired",
        /// The host's connection broke and it did not come back in time.
        HostLost = "host_lost",
        /// The agent started anew and so had lost what it was doing.
        AgentRestarted = "agent_restarted",
        /// The job in which the agent lived has ended.
        JobEnded {
            words: String,
            /// Whether its engine ended it for others' sake, and not because something failed in it; so it is not the run's.
            is_excused: bool,
        } = "job_ended",
        /// The agent said that it could not execute the run.
        NotExecuted {
            reason: String,
            /// Who stood in the way.
            obstacle: Obstacle,
        } = "not_executed",
    }
    /// The reason's code name in exports.
    fn code(&self);
}

impl LossReason {
    /// Whether it speaks against the host: one that refuses by its owner's will, or lacks what one plan wants, would execute
    /// other runs.
    pub(crate) fn is_the_hosts(&self) -> bool {
        match self {
            Self::Expired | Self::HostLost | Self::AgentRestarted | Self::JobEnded { .. } => true,
            Self::NotExecuted { obstacle, .. } => match obstacle {
                Obstacle::Host => true,
                Obstacle::Owner | Obstacle::Plan => false,
            },
        }
    }

    /// Whether the engine that gave the host out took it away, which costs the run no attempt.
    pub(crate) fn is_the_engines(&self) -> bool {
        match self {
            Self::JobEnded { is_excused, .. } => *is_excused,
            Self::Expired | Self::HostLost | Self::AgentRestarted | Self::NotExecuted { .. } => false,
        }
    }

    /// The reason in words, to go after "because".
    pub fn words(&self) -> String {
        match self {
            Self::Expired => "no report came in time".to_owned(),
            Self::HostLost => "the host was unreachable for too long".to_owned(),
            Self::AgentRestarted => "the agent restarted".to_owned(),
            Self::JobEnded { words, is_excused: true } => format!("the engine took the host away ({words})"),
            Self::JobEnded { words, is_excused: false } => format!("the job of the host ended ({words})"),
            Self::NotExecuted { reason, .. } => format!("it could not be executed: {reason}"),
        }
    }
}

/// What becomes of a run whose attempt was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AfterLoss {
    /// It waits for another host.
    Again(Attempt),
    Abandoned,
    Cancelled,
}
