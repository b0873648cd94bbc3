//! Hosts: what one says of itself, and what a user is told of it.

use std::collections::BTreeMap;

use speedup_core::fingerprint::{Fact, Fingerprint, FingerprintError, MAX_FACT_BYTES, MAX_FACTS};
use speedup_core::host::{Host, HostFacts, Presence};

use super::field::{at_most, id, optional, optional_id};
use super::id::id_bytes;
use super::malformed::{Malformed, Why};
use crate::v1;

impl From<&HostFacts> for v1::HostFacts {
    fn from(facts: &HostFacts) -> Self {
        let mut wire = Self {
            host: facts.host.as_str().to_owned(),
            boot: facts.boot.as_str().to_owned(),
            allocation: facts.allocation.as_ref().map(|allocation| allocation.as_str().to_owned()),
            timer: facts.timer.as_ref().map(Into::into),
            hardware: facts.hardware.map(|hardware| hardware.to_string()),
            named_by_owner: facts.named_by_owner,
            can_reboot: facts.can_reboot,
            ..Self::default()
        };
        for (name, fact) in facts.fingerprint.iter() {
            let name = name.to_owned();
            match fact {
                Fact::Value(value) => drop(wire.fingerprint.insert(name, value.clone())),
                Fact::Unreadable(why) => drop(wire.unreadable.insert(name, why.clone())),
                Fact::Absent => wire.absent.push(name),
            }
        }
        wire
    }
}

impl TryFrom<v1::HostFacts> for HostFacts {
    type Error = Malformed;

    fn try_from(wire: v1::HostFacts) -> Result<Self, Malformed> {
        let hardware = wire.hardware.map(|text| text.parse());
        Ok(Self {
            host: id(wire.host, "host")?,
            boot: id(wire.boot, "boot")?,
            allocation: optional_id(wire.allocation, "allocation")?,
            fingerprint: fingerprint(wire.fingerprint, wire.unreadable, wire.absent)?,
            timer: optional(wire.timer, "timer")?,
            hardware: hardware.transpose().map_err(|why| Malformed::new("hardware", why))?,
            named_by_owner: wire.named_by_owner,
            can_reboot: wire.can_reboot,
        })
    }
}

fn fingerprint(
    values: BTreeMap<String, String>,
    unreadable: BTreeMap<String, String>,
    absent: Vec<String>,
) -> Result<Fingerprint, Malformed> {
    at_most(absent.len(), MAX_FACTS, "absent")?;
    if !absent.is_sorted_by(|earlier, later| earlier < later) {
        return Err(Malformed::new("absent", Why::Unordered));
    }
    let stated = values.len() + unreadable.len() + absent.len();
    let values = values.into_iter().map(|(name, value)| (name, Fact::Value(value)));
    let unreadable = unreadable.into_iter().map(|(name, why)| (name, Fact::Unreadable(why)));
    let absent = absent.into_iter().map(|name| (name, Fact::Absent));
    let facts: BTreeMap<String, Fact> = values.chain(unreadable).chain(absent).collect();
    if facts.len() < stated {
        return Err(Malformed::new("fingerprint", Why::Twice));
    }
    Fingerprint::new(facts).map_err(|error| {
        let why = match error {
            FingerprintError::TooMany(items) => Why::TooMany { items, most: MAX_FACTS },
            FingerprintError::TooLong { name: _, bytes } => Why::TooLong { bytes, most: MAX_FACT_BYTES },
        };
        Malformed::new("fingerprint", why)
    })
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
