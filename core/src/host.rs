//! Hosts: what a machine says of itself, and what the coordinator knows of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::fingerprint::{Fingerprint, HardwareId};
use crate::id::{AgentEpoch, AgentId, AllocationId, BootId, ExperimentId, HostId, RunIndex};
use crate::lease::Lease;
use crate::time::Timestamp;
use crate::timer::TimerTest;

/// What an agent says of its host when it joins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Which machine.
    pub host: HostId,
    /// Which boot of it.
    pub boot: BootId,
    /// Which allocation of it, where an engine gives it out.
    pub allocation: Option<AllocationId>,
    /// The stable facts that make it identical to another or not.
    pub fingerprint: Fingerprint,
    /// What its timer was found to be worth; none where that was not tested.
    pub timer: Option<TimerTest>,
    /// Which hardware it is; none where nothing tells that.
    pub hardware: Option<HardwareId>,
    /// Whether its owner named it: then `host` is not the system's own id, and one machine may have several.
    pub named_by_owner: bool,
    /// Whether its owner has given a command that makes it boot anew.
    pub can_reboot: bool,
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
            named_by_owner: false,
            can_reboot: false,
        }
    }
}

/// One host, as the coordinator's machine keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// What it says of itself, without the fingerprint.
    pub facts: HostFacts,
    /// Whose agent serves it.
    pub agent: AgentId,
    /// Which start of that agent.
    pub epoch: AgentEpoch,
    /// Whether it is connected.
    pub presence: Presence,
    /// The attempt it holds.
    pub lease: Option<Lease>,
    /// Attempts it was ever given.
    pub served: u64,
    /// The last of them.
    pub previous: Option<(ExperimentId, RunIndex)>,
    /// What it served in each active experiment, by scope key.
    pub used: BTreeMap<ExperimentId, BTreeMap<u32, u32>>,
}

/// Whether a host is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Connected.
    Here {
        /// Whether it waits for work, and whether it was already looked at for what waits now.
        asking: Asking,
    },
    /// Not connected.
    Away {
        /// Since when.
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
    InVain,
}

impl Host {
    /// Whether it is connected.
    pub fn is_here(&self) -> bool {
        matches!(self.presence, Presence::Here { .. })
    }

    /// When the attempt it holds is given up, unless something is heard before.
    pub fn deadline(&self) -> Option<Timestamp> {
        let lease = self.lease.as_ref()?;
        match self.presence {
            Presence::Away { give_up: Some(give_up), .. } => Some(lease.deadline.min(give_up)),
            Presence::Away { give_up: None, .. } | Presence::Here { .. } => Some(lease.deadline),
        }
    }

    /// How often it served a scope key of an experiment.
    pub fn uses(&self, experiment: ExperimentId, key: u32) -> u32 {
        self.used.get(&experiment).and_then(|keys| keys.get(&key)).copied().unwrap_or(0)
    }
}
