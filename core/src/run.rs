//! State of one run. Everything else about an attempt lies with its lease, so that a waiting run
//! takes a few bytes.

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

/// State of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunState {
    Waiting {
        attempt: Attempt,
    },
    /// A host holds a lease on it.
    Leased {
        /// Lease, which lies with the host.
        lease: LeaseEpoch,
        /// Who, by its number in the machine.
        host: HostNumber,
    },
    /// The agent reported the start.
    Running {
        lease: LeaseEpoch,
        /// Who, by its number in the machine.
        host: HostNumber,
    },
    Settled(Settlement),
}

/// Final result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    Measured,
    /// The benchmark failed; stored and counted as a failure.
    Failed,
    /// The infrastructure lost too many attempts.
    Abandoned,
    /// The experiment was cancelled before the run was given out.
    Cancelled,
}

/// Number of a host within the machine, which keeps states small; it never leaves the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct HostNumber(pub(crate) u32);

/// Cause of an attempt that was not executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// The host or its agent failed.
    Host,
    /// The host owner's limits do not allow what the plan asks for. Such a host is healthy, so these losses do not count against it.
    Owner,
    /// The plan needs what this host lacks, or one of its commands failed. Other plans may run here.
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
        /// The agent restarted and lost its attempt.
        AgentRestarted = "agent_restarted",
        /// The job in which the agent ran has ended.
        JobEnded {
            words: String,
            /// Whether the engine preempted it, so that it does not count against the run.
            is_excused: bool,
        } = "job_ended",
        /// The agent reported that it could not execute the run.
        NotExecuted {
            reason: String,
            /// Cause, by which host or plan are judged.
            obstacle: Obstacle,
        } = "not_executed",
    }
    /// The reason's code name in exports.
    fn code(&self);
}

impl LossReason {
    /// Whether it counts against the host. A host that the owner limits, or that lacks what one plan needs, would execute other runs.
    pub(crate) fn is_the_hosts(&self) -> bool {
        match self {
            Self::Expired | Self::HostLost | Self::AgentRestarted | Self::JobEnded { .. } => true,
            Self::NotExecuted { obstacle, .. } => match obstacle {
                Obstacle::Host => true,
                Obstacle::Owner | Obstacle::Plan => false,
            },
        }
    }

    /// Whether the engine took the host away, which costs the run no attempt.
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

/// State of a run after its attempt was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AfterLoss {
    /// It waits for another attempt.
    Again(Attempt),
    Abandoned,
    Cancelled,
}
