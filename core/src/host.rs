//! Hosts: what a machine says of itself, and what the coordinator knows of it.

pub mod fingerprint;

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::host::fingerprint::{ClassId, Fingerprint, HardwareId};
use crate::run::lease::Lease;
use crate::run::timer::TimerTest;
use crate::value::id::{
    AgentEpoch, AgentId, AllocationId, BootId, ExperimentId, HostId, HostName, JobId, NodeName, RunIndex,
    SwitchPath,
};
use crate::value::time::{Span, Timestamp};

/// How long unfinished visits wait for a host that is silent and holds no attempt: an agent that lives asks at once.
pub const VISIT_GRACE: Span = Span::from_secs(600);
/// Most boots, and most allocations, that are told apart of one host: one every ten minutes for two months.
pub const MAX_BOOTS: usize = 10_000;

/// How long before the end of its allocation a host is to be done: the clocks of a cluster differ by fractions of a second,
/// and a report has to leave before the engine ends its agent.
pub const ALLOCATION_MARGIN: Span = Span::from_secs(10);

/// What an agent says of its host when it joins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    pub host: HostId,
    pub boot: BootId,
    /// Which allocation of it, where an engine gives it out.
    pub allocation: Option<AllocationId>,
    /// The stable facts that make it identical to another or not.
    pub fingerprint: Fingerprint,
    /// What its timer was found to be worth; none where that was not tested.
    pub timer: Option<TimerTest>,
    /// Which hardware it is; none where nothing tells that. Virtual machines may have made-up addresses in common.
    pub hardware: Option<HardwareId>,
    /// Which machine it is, by what makers give to no other one; none where there is nothing such.
    #[serde(default)]
    pub machine: Option<HardwareId>,
    /// Whether its owner named it: then `host` is not the system's own id, and one machine may have several.
    pub named_by_owner: bool,
    /// Whether its owner has given a command that makes it boot anew.
    pub can_reboot: bool,
    /// When the engine ends the allocation, where it says so: no run begins that may last longer.
    pub allocation_ends: Option<Timestamp>,
    pub node: Option<NodeName>,
    /// The engine's job in which its agent lives.
    pub job: Option<JobId>,
    /// Whether its owner runs other hosts on the same machine; nothing in bundles from before it was said.
    #[serde(default)]
    pub sharing: Sharing,
    /// What the host calls itself; nothing of agents of earlier releases.
    #[serde(default)]
    pub hostname: Option<HostName>,
    /// Where it is in the network, if its engine tells.
    #[serde(default)]
    pub switches: Option<SwitchPath>,
}

/// Whether the owner of a machine runs several hosts on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// An earlier release joined, which did not say. What it did stands.
    #[default]
    Unsaid,
    Alone,
    /// Other hosts may be on the machine, by the owner's word.
    Shared,
}

impl Sharing {
    /// How an agent that joins now is taken: one that does not say so does not share.
    pub(crate) fn or_alone(self) -> Self {
        match self {
            Self::Unsaid | Self::Alone => Self::Alone,
            Self::Shared => Self::Shared,
        }
    }
}

/// What tells that two hosts are one machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// A kernel boots with a random id, which all containers of the machine see.
    Boot(BootId),
    /// The hash of serial numbers and makers' addresses.
    Hardware(HardwareId),
}

impl Mark {
    pub(crate) fn identifier(&self) -> Identifier {
        match self {
            Self::Boot(_) => Identifier::Boot,
            Self::Hardware(_) => Identifier::Hardware,
        }
    }
}

/// By what machines are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identifier {
    Boot,
    Hardware,
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Boot => "boot",
            Self::Hardware => "hardware",
        })
    }
}

impl HostFacts {
    /// Nothing but its names.
    pub fn bare(host: HostId, boot: BootId) -> Self {
        Self {
            host,
            boot,
            allocation: None,
            fingerprint: Fingerprint::default(),
            timer: None,
            hardware: None,
            machine: None,
            named_by_owner: false,
            can_reboot: false,
            allocation_ends: None,
            node: None,
            job: None,
            sharing: Sharing::Alone,
            hostname: None,
            switches: None,
        }
    }

    /// What people call it: what its engine does, else what it calls itself.
    pub fn name(&self) -> Option<HostName> {
        let node = self.node.as_ref().and_then(|node| node.as_str().parse().ok());
        node.or_else(|| self.hostname.clone())
    }

    /// Whether people may call it this. A host name may be given without its domain.
    pub fn is_called(&self, name: &str) -> bool {
        let of = |known: &str| known == name || known.split_once('.').is_some_and(|(first, _)| first == name);
        self.node.as_ref().is_some_and(|node| of(node.as_str()))
            || self.hostname.as_ref().is_some_and(|hostname| of(hostname.as_str()))
    }

    /// What tells its machine from others.
    pub(crate) fn marks(&self) -> impl Iterator<Item = Mark> {
        let hardware = self.machine.map(Mark::Hardware);
        std::iter::once(Mark::Boot(self.boot.clone())).chain(hardware)
    }
}

/// One host, as the coordinator's machine keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// What it says of itself, without the fingerprint.
    pub facts: HostFacts,
    pub class: ClassId,
    /// The facts in which it differed when it last joined with another fingerprint than before.
    pub drifted: Vec<String>,
    pub agent: AgentId,
    pub epoch: AgentEpoch,
    pub presence: Presence,
    /// When it last joined, its last attempt ended, or it last reported one that had been given up.
    pub heard: Timestamp,
    /// Whether it is given runs.
    pub standing: Standing,
    /// Its id was reset: whoever joins with it next is the host, whatever was known of machine and agent before.
    pub is_released: bool,
    /// That it was asked to boot anew, and has not come back yet.
    pub reboot: Option<Reboot>,
    /// The experiment of which it boots, or has booted, for a visit that nobody has begun yet.
    pub reserves: Option<ExperimentId>,
    pub lease: Option<Lease>,
    /// Whether it is prepared for its part of that, where several hosts serve it together.
    pub is_ready: bool,
    /// Attempts it was ever given.
    pub served: u64,
    /// The last of them.
    pub previous: Option<(ExperimentId, RunIndex)>,
    /// When that ended; none before the first.
    pub idle_since: Option<Timestamp>,
    /// Who submitted the first experiment that lost [`LOST_IN_A_ROW`](crate::machine::LOST_IN_A_ROW) attempts on it through
    /// its own fault, with none of any experiment executed on it since.
    pub blamed_by: Option<String>,
    /// Every boot of it, the latest last.
    pub boots: Vec<BootId>,
    /// Every allocation of it, by number.
    pub allocations: Vec<AllocationId>,
    /// What it served in each active experiment, by scope key.
    pub used: BTreeMap<ExperimentId, BTreeMap<u32, Use>>,
    /// Its unfinished visits: runs that are kept for it. At most one an experiment.
    pub visits: BTreeMap<ExperimentId, Visit>,
}

/// What a host served under one scope key of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    pub visits: u32,
    /// The first run of the latest.
    pub from: RunIndex,
    /// The boot of its latest run, by number.
    pub boot: u32,
    /// The allocation of its latest run, by number, where it had one.
    pub allocation: Option<u32>,
}

/// The rest of a group that a host has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    pub next: RunIndex,
    /// The first run after the group.
    pub end: RunIndex,
}

/// That a host was asked to boot anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reboot {
    /// When it should be back.
    pub give_up: Timestamp,
    pub experiment: ExperimentId,
}

/// Whether a host is given runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    Serving,
    /// It ends what it has and gets no more.
    Draining {
        by: String,
    },
    /// Something is wrong with it.
    Quarantined {
        by: String,
        reason: String,
    },
}

/// That a host was given no more runs, for a while or until now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exclusion {
    pub host: HostId,
    pub at: Timestamp,
    pub cause: ExclusionCause,
    /// Since when it is given runs again, if it is.
    pub resumed: Option<Timestamp>,
}

/// Why a host was given no more runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExclusionCause {
    /// Somebody wanted it to end what it had.
    Drained { by: String },
    /// Something is wrong with it.
    Quarantined { by: String, reason: String },
}

/// Whether a host is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Here {
        /// Whether it waits for work, and whether it was already looked at for what waits now.
        asking: Asking,
    },
    Away {
        since: Timestamp,
        /// When its lease is given up; without it only the lease's own deadline counts (after a restart of the
        /// coordinator, when a silent agent cannot know yet that it should connect again).
        give_up: Option<Timestamp>,
    },
}

/// Whether a connected host waits for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// It has not asked, or has been given work.
    No,
    /// It waits and is to be looked at.
    Yes,
    /// It waits, and nothing of what waits now suits it.
    InVain {
        /// When it is to be looked at again, because it has rested then.
        until: Option<Timestamp>,
    },
}

impl Host {
    /// Whether it is connected.
    pub fn is_here(&self) -> bool {
        matches!(self.presence, Presence::Here { .. })
    }

    /// Whether it may be given runs.
    pub fn is_available(&self) -> bool {
        self.is_here() && self.standing == Standing::Serving
    }

    /// When something is taken from it unless it is heard before: the attempt it holds, its visits, its place after a reboot.
    pub(crate) fn loss_deadline(&self) -> Option<Timestamp> {
        let reboot = self.reboot.map(|reboot| reboot.give_up);
        [self.lease_deadline(), reboot, self.visit_deadline()].into_iter().flatten().min()
    }

    /// When the attempt it holds is given up.
    pub fn lease_deadline(&self) -> Option<Timestamp> {
        let lease = self.lease.as_ref()?;
        match self.presence {
            Presence::Away { give_up: Some(give_up), .. } => Some(lease.deadline.min(give_up)),
            Presence::Away { give_up: None, .. } | Presence::Here { .. } => Some(lease.deadline),
        }
    }

    /// When its unfinished visits go to other hosts: while it is gone or silent without an attempt or a reboot.
    pub(crate) fn visit_deadline(&self) -> Option<Timestamp> {
        if self.visits.is_empty() || self.lease.is_some() || self.reboot.is_some() {
            return None;
        }
        match self.presence {
            Presence::Away { give_up: Some(give_up), .. } => Some(give_up),
            Presence::Away { since, give_up: None } => Some(since + VISIT_GRACE),
            Presence::Here { asking: Asking::No } => self.silent_from(),
            Presence::Here { asking: Asking::Yes | Asking::InVain { .. } } => None,
        }
    }

    /// From when on it is silent, if it is connected and has asked for nothing since it was last heard.
    pub(crate) fn silent_from(&self) -> Option<Timestamp> {
        match self.presence {
            Presence::Here { asking: Asking::No } => Some(self.heard + VISIT_GRACE),
            Presence::Here { asking: Asking::Yes | Asking::InVain { .. } } | Presence::Away { .. } => None,
        }
    }

    /// When it is to be looked at again, as it has rested or may be of use by then.
    pub fn rested_at(&self) -> Option<Timestamp> {
        match self.presence {
            Presence::Here { asking: Asking::InVain { until } } => until,
            Presence::Here { asking: Asking::No | Asking::Yes } | Presence::Away { .. } => None,
        }
    }

    /// Since when it is known to have been idle; none before its first attempt.
    ///
    /// Idle time from before its agent connected does not count. A coordinator that restarts takes its time from a wall
    /// clock that may have stepped, and an agent out of reach may have been executing an attempt already given up.
    pub(crate) fn rests_since(&self) -> Option<Timestamp> {
        self.idle_since.map(|ended| ended.max(self.heard))
    }

    /// What it served under a scope key of an experiment, if anything.
    pub fn used(&self, experiment: ExperimentId, key: u32) -> Option<Use> {
        self.used.get(&experiment).and_then(|keys| keys.get(&key)).copied()
    }

    /// Whether an active experiment rests on which machine it is.
    pub(crate) fn is_in_use(&self) -> bool {
        self.lease.is_some() || self.reboot.is_some() || !self.used.is_empty() || !self.visits.is_empty()
    }

    /// The number of its boot. Only a host that was reset can be in another than the last.
    pub fn boot(&self) -> u32 {
        let last = self.boots.len().saturating_sub(1);
        self.boots.iter().rposition(|boot| *boot == self.facts.boot).unwrap_or(last) as u32
    }

    /// The engine's job of which it is a node, where it is in one.
    pub fn job(&self) -> Option<&str> {
        self.facts.job.as_ref().map(JobId::whole)
    }

    /// The number of its allocation, where it has one.
    pub fn allocation(&self) -> Option<u32> {
        let allocation = self.facts.allocation.as_ref()?;
        self.allocations.iter().rposition(|known| known == allocation).map(|number| number as u32)
    }
}
