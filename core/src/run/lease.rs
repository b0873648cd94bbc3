//! Leases: the right of one agent to execute one attempt until a deadline, with the evidence of
//! freshness that was recorded before it was granted.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::experiment::build::UsedBuild;
use crate::fingerprint::{ClassId, HardwareId};
use crate::value::id::{
    AgentEpoch, AllocationId, Attempt, BootId, ExperimentId, HostId, HostName, LeaseEpoch, RunIndex,
    SwitchPath,
};
use crate::value::time::{Span, Timestamp};

/// Time that a lease grants beyond the longest execution: for starting, hashing the output and sending the report.
pub const LEASE_MARGIN: Span = Span::from_secs(60);

/// The right of one agent to execute one attempt until a deadline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Its number, which no other lease ever has.
    pub epoch: LeaseEpoch,
    pub experiment: ExperimentId,
    pub run: RunIndex,
    pub attempt: Attempt,
    pub host: HostId,
    pub agent_epoch: AgentEpoch,
    pub granted: Timestamp,
    pub deadline: Timestamp,
    /// When the agent reported the start, if it did.
    pub started: Option<Timestamp>,
    /// Why the host was fresh.
    pub evidence: Evidence,
    /// Seat of the host, if a gang serves the run. Its leases are granted at once, with consecutive epochs in the order of the seats.
    #[serde(default)]
    pub seat: Option<Box<LeaseSeat>>,
}

/// The place of a host in a gang.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseSeat {
    /// The host of seat 0 starts the program, and its report settles the run.
    pub number: u32,
    /// All hosts of the gang in the order of their seats. Only seat 0 has them.
    pub members: Vec<Member>,
    /// Number of leaf switches over which the hosts are spread. Only seat 0 has it, and only if it is known for all hosts.
    #[serde(default)]
    pub leaf_switches: Option<u32>,
}

/// A host of a gang.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub host: HostId,
    /// Name for people, if it is known.
    pub name: Option<HostName>,
}

impl LeaseSeat {
    /// Seat that knows nothing of the others; [`LeaseSeat::introduce`] lists them in seat 0.
    pub fn numbered(number: u32) -> Self {
        Self { number, members: Vec::new(), leaf_switches: None }
    }

    /// Lists all hosts of a gang in the seat of its first lease.
    pub fn introduce(leases: &mut [Lease]) {
        let member =
            |lease: &Lease| Member { host: lease.host.clone(), name: lease.evidence.host_name.clone() };
        let members = leases.iter().map(member).collect();
        // A leaf switch has one path from the top.
        let switches: Option<BTreeSet<&SwitchPath>> =
            leases.iter().map(|lease| lease.evidence.switches.as_ref()).collect();
        let leaf_switches = switches.map(|switches| switches.len() as u32);
        if let Some(seat) = leases.first_mut().and_then(|lease| lease.seat.as_mut()) {
            seat.members = members;
            seat.leaf_switches = leaf_switches;
        }
    }
}

impl Member {
    /// Name of the host for a launcher.
    pub fn called(&self) -> &str {
        self.name.as_ref().map_or(self.host.as_str(), HostName::as_str)
    }
}

impl Lease {
    /// Lease of seat 0 of its gang; its own if the host serves alone.
    pub fn leader(&self) -> LeaseEpoch {
        LeaseEpoch(self.epoch.0.saturating_sub(self.seat.as_ref().map_or(0, |seat| u64::from(seat.number))))
    }

    /// Whether another host starts the program.
    pub fn is_of_member(&self) -> bool {
        self.leader() != self.epoch
    }

    /// Whether several hosts serve the run together.
    pub fn is_of_gang(&self) -> bool {
        self.seat.is_some()
    }

    /// Number of leaf switches over which the hosts of the run are spread, if it is known; `None` for seats other than the first.
    pub fn leaf_switches(&self) -> Option<u32> {
        match &self.seat {
            Some(seat) => seat.leaf_switches,
            None => self.evidence.switches.as_ref().map(|_| 1),
        }
    }

    /// Names of the run's hosts for a launcher; empty for seats other than the first.
    pub fn hosts(&self) -> Vec<String> {
        match &self.seat {
            Some(seat) => seat.members.iter().map(|member| member.called().to_owned()).collect(),
            None => vec![
                Member { host: self.host.clone(), name: self.evidence.host_name.clone() }.called().to_owned(),
            ],
        }
    }
}

/// Evidence that a host was fresh for a run, as known when the lease was granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    pub boot: BootId,
    /// Allocation of the host, if it has one.
    pub allocation: Option<AllocationId>,
    /// Earlier visits of the host in the policy's scope.
    pub served_in_scope: u32,
    /// Attempts that the host was given before, of any experiment.
    pub served_in_all: u64,
    /// The attempt before this one, if any.
    pub previous: Option<(ExperimentId, RunIndex)>,
    /// How long the host is known to have been idle since that attempt ended. Time before its agent last connected does not count:
    /// it is unknown what the agent did then, and whether the coordinator's clock stepped.
    pub idle: Option<Span>,
    /// Boot of the host at its last run in the policy's scope; within a visit that is the run before.
    pub boot_before: Option<BootId>,
    /// Allocation of the host at that run, if it had one.
    pub allocation_before: Option<AllocationId>,
    /// Whether the hosts of the run served together in the scope before, if the policy is of sets of hosts.
    #[serde(default)]
    pub set_served: Option<bool>,
    pub class: Option<ClassId>,
    /// Build that the run uses, if its version is built.
    pub build: Option<Box<UsedBuild>>,
    /// Hash of what its maker gave to this machine alone, if there is any.
    pub machine: Option<HardwareId>,
    /// Name for people, if it was known.
    pub host_name: Option<HostName>,
    /// Position in the network, if its engine stated it.
    #[serde(default)]
    pub switches: Option<SwitchPath>,
}

impl Evidence {
    /// Evidence of a host that never served before.
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
            set_served: None,
            class: None,
            build: None,
            machine: None,
            host_name: None,
            switches: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leases(switches: &[Option<&str>]) -> Vec<Lease> {
        let lease = |(number, switches): (u32, &Option<&str>)| Lease {
            epoch: LeaseEpoch(7 + u64::from(number)),
            experiment: "0193a5b2-7c3d-7000-8000-000000000001".parse().unwrap(),
            run: RunIndex(0),
            attempt: Attempt(1),
            host: format!("host-{number}").parse().unwrap(),
            agent_epoch: AgentEpoch(1),
            granted: Timestamp(0),
            deadline: Timestamp(1),
            started: None,
            evidence: Evidence {
                switches: switches.map(|path| path.parse().unwrap()),
                ..Evidence::first("boot".parse().unwrap())
            },
            seat: Some(Box::new(LeaseSeat::numbered(number))),
        };
        let mut leases: Vec<Lease> = (0..).zip(switches).map(lease).collect();
        LeaseSeat::introduce(&mut leases);
        leases
    }

    #[test]
    fn the_first_of_a_gang_knows_over_how_many_leaf_switches_it_is_spread() {
        let spans = |switches: &[Option<&str>]| leases(switches)[0].leaf_switches();
        assert_eq!(spans(&[Some("top.a"), Some("top.b"), Some("top.a")]), Some(2));
        assert_eq!(spans(&[Some("top.a"), None]), None, "one is not known");
        let leases = leases(&[Some("top.a"), Some("top.b")]);
        assert_eq!((leases[0].hosts().len(), leases[1].leaf_switches()), (2, None));
        let alone = Lease { seat: None, ..leases[1].clone() };
        assert_eq!(alone.leaf_switches(), Some(1));
    }
}
