//! Hosts: what a machine says of itself, and what the coordinator knows of it.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::fingerprint::{ClassId, Fingerprint, HardwareId};
use crate::run::lease::Lease;
use crate::run::timer::TimerTest;
use crate::value::id::{
    AgentEpoch, AgentId, AllocationId, BootId, ExperimentId, HostId, HostName, JobId, NodeName, RunIndex,
    SwitchPath,
};
use crate::value::time::{Span, Timestamp};

/// How long unfinished visits wait for a host that is silent and holds no attempt: a live agent asks at once.
pub(crate) const VISIT_GRACE: Span = Span::from_secs(600);
/// Most boots, and most allocations, recorded for one host: one every ten minutes for two months.
pub(crate) const MAX_BOOTS: usize = 10_000;

/// How long before the end of its allocation a host has to be done: the clocks of a cluster differ by fractions of a second, and
/// the report has to leave before the engine ends the agent.
pub(crate) const ALLOCATION_MARGIN: Span = Span::from_secs(10);

/// Facts that an agent states about its host when it joins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    pub host: HostId,
    pub boot: BootId,
    /// Current allocation, if an engine provides the host.
    pub allocation: Option<AllocationId>,
    /// Stable facts, by which hosts are identical or not.
    pub fingerprint: Fingerprint,
    /// Result of the timer test, if it was made.
    pub timer: Option<TimerTest>,
    /// Hash of serial numbers and addresses, if there are any. Virtual machines may share made-up ones.
    pub hardware: Option<HardwareId>,
    /// Hash of what a maker gives to one machine alone, if there is any.
    #[serde(default)]
    pub machine: Option<HardwareId>,
    /// Whether the owner chose the name: then `host` is not the system's own id, and one machine may have several.
    pub named_by_owner: bool,
    /// Whether the owner configured a command that reboots it.
    pub can_reboot: bool,
    /// End of the allocation, if the engine states it: no run begins that may last longer.
    pub allocation_ends: Option<Timestamp>,
    pub node: Option<NodeName>,
    /// Job of the engine in which the agent runs.
    pub job: Option<JobId>,
    /// Whether the owner runs other hosts on the same machine. Missing in older bundles.
    #[serde(default)]
    pub sharing: Sharing,
    /// Host name of the system. Agents of earlier releases do not state it.
    #[serde(default)]
    pub hostname: Option<HostName>,
    /// Position in the network, if the engine states it.
    #[serde(default)]
    pub switches: Option<SwitchPath>,
}

/// Whether the owner of a machine runs several hosts on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// An agent of an earlier release joined, which does not state it.
    #[default]
    Unsaid,
    Alone,
    /// The owner says that other hosts may be on the machine.
    Shared,
}

impl Sharing {
    /// Sharing of an agent that joins now: one that does not state it does not share.
    pub(crate) fn or_alone(self) -> Self {
        match self {
            Self::Unsaid | Self::Alone => Self::Alone,
            Self::Shared => Self::Shared,
        }
    }
}

/// Identifier that two hosts have in common only if they are one machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// Random id of a kernel's boot, which all containers of the machine see.
    Boot(BootId),
    /// Hash of serial numbers and makers' addresses.
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

/// Kind of a mark, as a refusal names it.
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
    /// Facts of a host of which only id and boot are known.
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

    /// Name for people: the engine's, else the system's own.
    pub fn name(&self) -> Option<HostName> {
        let node = self.node.as_ref().and_then(|node| node.as_str().parse().ok());
        node.or_else(|| self.hostname.clone())
    }

    /// Whether people may use this name for it. A host name may be given without its domain.
    pub fn is_called(&self, name: &str) -> bool {
        let node = self.node.as_ref().map(NodeName::as_str);
        let hostname = self.hostname.as_ref().map(HostName::as_str);
        let mut names = node.into_iter().chain(hostname);
        names.any(|known| known == name || known.split_once('.').is_some_and(|(first, _)| first == name))
    }

    /// Marks of its machine.
    pub(crate) fn marks(&self) -> impl Iterator<Item = Mark> {
        let hardware = self.machine.map(Mark::Hardware);
        std::iter::once(Mark::Boot(self.boot.clone())).chain(hardware)
    }
}

/// State of one host in the coordinator's machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Facts stated when it last joined, without the fingerprint, which its class has.
    pub facts: HostFacts,
    pub class: ClassId,
    /// Facts that differed when it last joined with another fingerprint than before.
    pub drifted: Vec<String>,
    pub agent: AgentId,
    pub epoch: AgentEpoch,
    pub presence: Presence,
    /// Time of the latest join, end of an attempt, or late report.
    pub heard: Timestamp,
    /// Whether it is given runs.
    pub standing: Standing,
    /// Whether its id was reset: the next agent to join with it is the host, on any machine.
    pub is_released: bool,
    /// Reboot that it was asked for and has not come back from.
    pub reboot: Option<Reboot>,
    /// Experiment for which it reboots, or has rebooted, to begin a new visit.
    pub reserves: Option<ExperimentId>,
    pub lease: Option<Lease>,
    /// Whether it is prepared for its part of a gang's run.
    #[serde(skip)]
    pub is_ready: bool,
    /// Attempts that it was ever given.
    pub served: u64,
    /// Run of the latest of them.
    pub previous: Option<(ExperimentId, RunIndex)>,
    /// When that attempt ended.
    pub idle_since: Option<Timestamp>,
    /// User whose experiment was the first to lose [`LOST_IN_A_ROW`](crate::machine::LOST_IN_A_ROW) attempts on it through the
    /// host's fault, while nothing has been executed on it since.
    pub blamed_by: Option<String>,
    /// Its boots, the latest last. A boot's number is its position here.
    pub boots: Vec<BootId>,
    /// Its allocations, by number.
    pub allocations: Vec<AllocationId>,
    /// How it was used in each active experiment, by the key of the policy's scope. Freshness is decided by it.
    pub used: BTreeMap<ExperimentId, BTreeMap<u32, Use>>,
    /// Its unfinished visits, at most one of an experiment: their runs wait for this host.
    pub visits: BTreeMap<ExperimentId, Visit>,
}

/// How a host was used under one key of the policy's scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "(u32, RunIndex, u32, Option<u32>)")]
pub struct Use {
    pub visits: u32,
    /// First run of the latest visit.
    pub from: RunIndex,
    /// Boot of its latest run, by number.
    pub boot: u32,
    /// Allocation of its latest run, by number, if it had one.
    pub allocation: Option<u32>,
}

/// Without the names of the fields: a checkpoint holds millions of uses.
impl From<Use> for (u32, RunIndex, u32, Option<u32>) {
    fn from(Use { visits, from, boot, allocation }: Use) -> Self {
        (visits, from, boot, allocation)
    }
}

/// Rest of a group of runs that a host has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visit {
    pub next: RunIndex,
    /// The first run after the group.
    pub end: RunIndex,
}

/// Reboot that a host was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reboot {
    /// When the host is quarantined unless it is back.
    pub give_up: Timestamp,
    pub experiment: ExperimentId,
}

/// Whether people let a host be given runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    Serving,
    /// It completes its attempt and gets no more runs.
    Draining {
        by: String,
    },
    /// Something is wrong with it.
    Quarantined {
        by: String,
        reason: String,
    },
}

/// Time in which a host was out of service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exclusion {
    pub host: HostId,
    pub at: Timestamp,
    pub cause: ExclusionCause,
    /// When the host returned to service, if it did.
    pub resumed: Option<Timestamp>,
}

/// Why a host was taken out of service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExclusionCause {
    /// A user drained it.
    Drained { by: String },
    /// Something is wrong with it.
    Quarantined { by: String, reason: String },
}

/// Whether a host is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Presence {
    Here {
        /// Whether it waits for work, and whether it was matched with the runs that wait now.
        #[serde(skip)]
        asking: WorkRequest,
    },
    Away {
        since: Timestamp,
        /// When its lease is given up. `None` after a restart of the coordinator, when a silent agent cannot know yet that it
        /// should reconnect: then only the lease's own deadline counts.
        give_up: Option<Timestamp>,
    },
}

/// Whether a connected host waits for work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkRequest {
    /// It has not asked, or has been given work.
    #[default]
    No,
    /// It waits and has to be matched.
    Yes,
    /// It waits, and no waiting run is eligible for it.
    InVain {
        /// When it is matched again, because it has rested by then.
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

    /// When it loses its attempt, its visits, or after a reboot its place, unless it is heard before.
    pub(crate) fn loss_deadline(&self) -> Option<Timestamp> {
        let reboot = self.reboot.map(|reboot| reboot.give_up);
        [self.lease_deadline(), reboot, self.visit_deadline()].into_iter().flatten().min()
    }

    /// When its attempt is given up.
    pub fn lease_deadline(&self) -> Option<Timestamp> {
        let lease = self.lease.as_ref()?;
        match self.presence {
            Presence::Away { give_up: Some(give_up), .. } => Some(lease.deadline.min(give_up)),
            Presence::Away { give_up: None, .. } | Presence::Here { .. } => Some(lease.deadline),
        }
    }

    /// When its unfinished visits go to other hosts, if it is away or silent and neither has an attempt nor reboots.
    pub(crate) fn visit_deadline(&self) -> Option<Timestamp> {
        if self.visits.is_empty() || self.lease.is_some() || self.reboot.is_some() {
            return None;
        }
        match self.presence {
            Presence::Away { give_up: Some(give_up), .. } => Some(give_up),
            Presence::Away { since, give_up: None } => Some(since + VISIT_GRACE),
            Presence::Here { asking: WorkRequest::No } => self.silent_from(),
            Presence::Here { asking: WorkRequest::Yes | WorkRequest::InVain { .. } } => None,
        }
    }

    /// When it counts as silent, if it is connected and has not asked for work since it was last heard.
    pub(crate) fn silent_from(&self) -> Option<Timestamp> {
        match self.presence {
            Presence::Here { asking: WorkRequest::No } => Some(self.heard + VISIT_GRACE),
            Presence::Here { asking: WorkRequest::Yes | WorkRequest::InVain { .. } }
            | Presence::Away { .. } => None,
        }
    }

    /// When it is matched again, because it has rested or may be of use by then.
    pub(crate) fn rested_at(&self) -> Option<Timestamp> {
        match self.presence {
            Presence::Here { asking: WorkRequest::InVain { until } } => until,
            Presence::Here { asking: WorkRequest::No | WorkRequest::Yes } | Presence::Away { .. } => None,
        }
    }

    /// Start of the time for which it is known to have been idle; `None` before its first attempt.
    ///
    /// Idle time from before its agent connected does not count. A coordinator that restarts takes its time from a wall
    /// clock that may have stepped, and an agent out of reach may have been executing an attempt already given up.
    pub(crate) fn rests_since(&self) -> Option<Timestamp> {
        self.idle_since.map(|ended| ended.max(self.heard))
    }

    /// How it was used under a key of an experiment's scope, if it was.
    pub fn used(&self, experiment: ExperimentId, key: u32) -> Option<Use> {
        self.used.get(&experiment).and_then(|keys| keys.get(&key)).copied()
    }

    /// Whether an active experiment depends on which machine it is.
    pub(crate) fn is_in_use(&self) -> bool {
        self.lease.is_some() || self.reboot.is_some() || !self.used.is_empty() || !self.visits.is_empty()
    }

    /// Number of its current boot. Only a host that was reset can be in another than the last.
    pub fn boot(&self) -> u32 {
        let last = self.boots.len().saturating_sub(1);
        self.boots.iter().rposition(|boot| *boot == self.facts.boot).unwrap_or(last) as u32
    }

    /// Job of the engine of which it is a node, if it is in one.
    pub fn job(&self) -> Option<&str> {
        self.facts.job.as_ref().map(JobId::whole)
    }

    /// Number of its current allocation, if it has one.
    pub fn allocation(&self) -> Option<u32> {
        let allocation = self.facts.allocation.as_ref()?;
        self.allocations.iter().rposition(|known| known == allocation).map(|number| number as u32)
    }
}
