//! Hosts: what one says of itself, and what a user is told of it.

use speedup_core::host::{Host, HostFacts, MAX_FACT_BYTES, MAX_FACTS, Presence};

use super::field::{at_most, id, no_longer, optional, optional_id};
use super::id::id_bytes;
use super::malformed::Malformed;
use crate::v1;

impl From<&HostFacts> for v1::HostFacts {
    fn from(facts: &HostFacts) -> Self {
        Self {
            host: facts.host.as_str().to_owned(),
            boot: facts.boot.as_str().to_owned(),
            allocation: facts.allocation.as_ref().map(|allocation| allocation.as_str().to_owned()),
            fingerprint: facts.fingerprint.clone(),
            timer: facts.timer.as_ref().map(Into::into),
        }
    }
}

impl TryFrom<v1::HostFacts> for HostFacts {
    type Error = Malformed;

    fn try_from(wire: v1::HostFacts) -> Result<Self, Malformed> {
        at_most(wire.fingerprint.len(), MAX_FACTS, "fingerprint")?;
        for (name, value) in &wire.fingerprint {
            no_longer(name.len().max(value.len()), MAX_FACT_BYTES, "fingerprint")?;
        }
        Ok(Self {
            host: id(wire.host, "host")?,
            boot: id(wire.boot, "boot")?,
            allocation: optional_id(wire.allocation, "allocation")?,
            fingerprint: wire.fingerprint,
            timer: optional(wire.timer, "timer")?,
        })
    }
}

/// Out only: what the machine keeps of a host beside it is nobody else's.
impl From<&Host> for v1::HostStatus {
    fn from(host: &Host) -> Self {
        let (connected, away_since_ns) = match host.presence {
            Presence::Here { asking: _ } => (true, None),
            Presence::Away { since, give_up: _ } => (false, Some(since.0)),
        };
        Self {
            facts: Some((&host.facts).into()),
            agent: id_bytes(host.agent.0),
            agent_epoch: host.epoch.0,
            connected,
            away_since_ns,
            lease: host.lease.as_ref().map(Into::into),
            served: host.served,
        }
    }
}
