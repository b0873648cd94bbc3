//! A lease: the right of one agent to execute one attempt until a deadline, with the evidence of freshness that was
//! recorded before it was given.

use serde::{Deserialize, Serialize};

use crate::experiment::build::UsedBuild;
use crate::host::fingerprint::{ClassId, HardwareId};
use crate::value::id::{
    AgentEpoch, AllocationId, Attempt, BootId, ExperimentId, HostId, HostName, LeaseEpoch, RunIndex,
};
use crate::value::time::{Span, Timestamp};

/// What a lease grants beyond the longest an agent may rightly take: starting, hashing output, sending the report.
pub const LEASE_MARGIN: Span = Span::from_secs(60);

/// The right of one agent to execute one attempt until a deadline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Its number, never given twice.
    pub epoch: LeaseEpoch,
    /// Of which experiment.
    pub experiment: ExperimentId,
    /// Which run.
    pub run: RunIndex,
    /// Which try.
    pub attempt: Attempt,
    /// On which host.
    pub host: HostId,
    /// By which start of its agent.
    pub agent_epoch: AgentEpoch,
    /// When it was given.
    pub granted: Timestamp,
    /// When it ends.
    pub deadline: Timestamp,
    /// When the agent said that it began, if it did.
    pub started: Option<Timestamp>,
    /// Why the host was fresh.
    pub evidence: Evidence,
}

/// Why a host was fresh for a run: what was known when the lease was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The boot of the host.
    pub boot: BootId,
    /// Its allocation, where it has one.
    pub allocation: Option<AllocationId>,
    /// Visits that it made in the policy's scope before this one.
    pub served_in_scope: u32,
    /// Attempts it was given in all.
    pub served_in_all: u64,
    /// The last of them.
    pub previous: Option<(ExperimentId, RunIndex)>,
    /// How long the host is known to have been idle since that ended. Time before its agent last connected does not
    /// count: it is not known what the agent did then, nor whether the coordinator's clock stepped.
    pub idle: Option<Span>,
    /// Its boot at its last run in the policy's scope, which is the run before where the visit goes on.
    pub boot_before: Option<BootId>,
    /// Its allocation at that run, where it had one.
    pub allocation_before: Option<AllocationId>,
    /// Its class.
    pub class: Option<ClassId>,
    /// The build that the run uses, where its version is built.
    pub build: Option<Box<UsedBuild>>,
    /// Which machine it was, by what no other one has; none where there is nothing such.
    pub machine: Option<HardwareId>,
    /// What people called it; nothing where it is not known.
    pub host_name: Option<HostName>,
}

impl Evidence {
    /// That of a host which never served before.
    pub fn first(boot: BootId) -> Self {
        Self {
            boot,
            allocation: None,
            served_in_scope: 0,
            served_in_all: 0,
            previous: None,
            idle: None,
            boot_before: None,
            allocation_before: None,
            class: None,
            build: None,
            machine: None,
            host_name: None,
        }
    }
}
