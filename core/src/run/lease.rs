//! A lease: the right of one agent to execute one attempt until a deadline, with the evidence of freshness that was
//! recorded before it was given.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::experiment::build::UsedBuild;
use crate::host::fingerprint::{ClassId, HardwareId};
use crate::value::id::{
    AgentEpoch, AllocationId, Attempt, BootId, ExperimentId, HostId, HostName, LeaseEpoch, RunIndex,
    SwitchPath,
};
use crate::value::time::{Span, Timestamp};

/// What a lease grants beyond the longest an agent may rightly take: starting, hashing output, sending the report.
pub const LEASE_MARGIN: Span = Span::from_secs(60);

/// The right of one agent to execute one attempt until a deadline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Its number, never given twice.
    pub epoch: LeaseEpoch,
    pub experiment: ExperimentId,
    pub run: RunIndex,
    pub attempt: Attempt,
    pub host: HostId,
    pub agent_epoch: AgentEpoch,
    /// When it was given.
    pub granted: Timestamp,
    pub deadline: Timestamp,
    /// When the agent said that it began, if it did.
    pub started: Option<Timestamp>,
    /// Why the host was fresh.
    pub evidence: Evidence,
    /// Its place, where several hosts serve the run together. All their leases are given at once, with numbers that follow each
    /// other in the order of the seats.
    #[serde(default)]
    pub seat: Option<Box<LeaseSeat>>,
}

/// The place of a host in a gang.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseSeat {
    /// Its number. The host of seat 0 starts the program, and its report settles the run.
    pub number: u32,
    /// All hosts, in the order of their seats; of seat 0 alone.
    pub members: Vec<Member>,
    /// Over how many leaf switches of the network they are spread; of seat 0 alone, and nothing where that of some
    /// host is not known.
    #[serde(default)]
    pub leaf_switches: Option<u32>,
}

/// A host of a gang.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub host: HostId,
    /// What people call it, if that is known.
    pub name: Option<HostName>,
}

impl LeaseSeat {
    /// The place of this number; what the first knows of all hosts is told by [`LeaseSeat::introduce`].
    pub fn numbered(number: u32) -> Self {
        Self { number, members: Vec::new(), leaf_switches: None }
    }

    /// Tells the first of a gang's leases of all its hosts.
    pub fn introduce(leases: &mut [Lease]) {
        let member =
            |lease: &Lease| Member { host: lease.host.clone(), name: lease.evidence.host_name.clone() };
        let members = leases.iter().map(member).collect();
        // A leaf switch has one path from the top.
        let switches: Option<BTreeSet<&SwitchPath>> =
            leases.iter().map(|lease| lease.evidence.switches.as_ref()).collect();
        let leaf_switches = switches.map(|switches| switches.len() as u32);
        if let Some(seat) = leases.first_mut().and_then(|lease| lease.seat.as_mut()) {
            (seat.members, seat.leaf_switches) = (members, leaf_switches);
        }
    }
}

impl Member {
    /// What a launcher calls it.
    pub fn called(&self) -> &str {
        self.name.as_ref().map_or(self.host.as_str(), HostName::as_str)
    }
}

impl Lease {
    /// The lease of seat 0 of its gang; itself where the host serves alone.
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

    /// Over how many leaf switches of the network the hosts of the run are spread, where that is known; nothing of a
    /// seat but the first.
    pub fn leaf_switches(&self) -> Option<u32> {
        match &self.seat {
            Some(seat) => seat.leaf_switches,
            None => self.evidence.switches.as_ref().map(|_| 1),
        }
    }

    /// What a launcher calls the hosts of the run; nothing of a seat but the first.
    pub fn hosts(&self) -> Vec<String> {
        match &self.seat {
            Some(seat) => seat.members.iter().map(|member| member.called().to_owned()).collect(),
            None => vec![
                Member { host: self.host.clone(), name: self.evidence.host_name.clone() }.called().to_owned(),
            ],
        }
    }
}

/// Why a host was fresh for a run: what was known when the lease was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
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
    /// Whether the hosts of the run had served in the scope together before, where the policy asks.
    #[serde(default)]
    pub set_served: Option<bool>,
    pub class: Option<ClassId>,
    /// The build that the run uses, where its version is built.
    pub build: Option<Box<UsedBuild>>,
    /// Which machine it was, by what no other one has; none where there is nothing such.
    pub machine: Option<HardwareId>,
    /// What people called it; nothing where it is not known.
    pub host_name: Option<HostName>,
    /// Where it was in the network; nothing where its engine does not tell.
    #[serde(default)]
    pub switches: Option<SwitchPath>,
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
