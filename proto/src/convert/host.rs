//! Hosts: the facts that one reports, its status as users see it, and the pool by classes.

use std::collections::BTreeMap;

use speedup_core::{
    fingerprint::Difference, fingerprint::Fact, fingerprint::Fingerprint, fingerprint::FingerprintError,
    fingerprint::MAX_FACT_BYTES, fingerprint::MAX_FACTS, host::Host, host::HostFacts, host::Presence,
    host::Sharing, host::Standing, machine::MAX_DRIFTED, machine::MAX_HOSTS, machine::feasibility::HostClass,
    machine::feasibility::Pool, run::lease::Lease, run::timer::TimerError, run::timer::TimerTest,
    value::id::AgentEpoch, value::id::Attempt, value::id::LeaseEpoch, value::id::RunIndex,
};

use super::wire::field::{at_most, id, no_longer, optional, required};
use super::wire::id::{experiment_named, id_text};
use super::wire::malformed::{Malformed, Why};
use super::wire::moment::{moment, required_moment, timestamp};
use super::wire::{Converter, Each, NoLonger, oneof, structure, wire};
use crate::v1;
use v1::fact::{Absent, Fact as WireFact};
use v1::host_status::{Draining, Quarantined, Serving, Standing as WireStanding};

structure!(
    HostFacts,
    v1::HostFacts,
    [
        host, boot, allocation,
        fingerprint = (fingerprint, unreadable, absent) => (wire_fingerprint, fingerprint_in),
        timer, hardware, machine, named_by_owner, can_reboot,
        allocation_ends = allocation_ends_ns,
        node, job,
        sharing = shares_machine,
        hostname, switches,
    ]
);

// Whether the machine is shared, where that was said.
wire! {
    Sharing as Option<bool>: |sharing| match sharing {
        Sharing::Unsaid => None,
        Sharing::Alone => Some(false),
        Sharing::Shared => Some(true),
    }, |is_shared, _field| Ok(match is_shared {
        None => Sharing::Unsaid,
        Some(false) => Sharing::Alone,
        Some(true) => Sharing::Shared,
    });
}

/// The facts of a fingerprint on the wire: values, reasons of unreadable ones, names of absent ones.
type WireFingerprint = (BTreeMap<String, String>, BTreeMap<String, String>, Vec<String>);

fn wire_fingerprint(fingerprint: &Fingerprint) -> WireFingerprint {
    let (mut values, mut unreadable, mut absent) = WireFingerprint::default();
    for (name, fact) in fingerprint.iter() {
        let name = name.to_owned();
        match fact {
            Fact::Value(value) => drop(values.insert(name, value.clone())),
            Fact::Unreadable(why) => drop(unreadable.insert(name, why.clone())),
            Fact::Absent => absent.push(name),
        }
    }
    (values, unreadable, absent)
}

fn fingerprint_in((values, unreadable, absent): WireFingerprint, _: &str) -> Result<Fingerprint, Malformed> {
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

pub(super) struct FactNames;

impl Converter<Vec<String>, Vec<String>> for FactNames {
    fn write(&self, names: &Vec<String>) -> Vec<String> {
        names.clone()
    }

    fn read(&self, names: Vec<String>, field: &str) -> Result<Vec<String>, Malformed> {
        at_most(names.len(), MAX_DRIFTED, field)?;
        names.iter().try_for_each(|name| no_longer(name.len(), MAX_FACT_BYTES, field))?;
        Ok(names)
    }
}

oneof! {
    Fact, v1::Fact { fact: WireFact }, [
        Value(value) = Value(value),
        Unreadable(why) = Unreadable(why),
        Absent = Absent(Absent {}),
    ]
}
structure!(Difference, v1::FactDifference, [here, there, fact]);

impl From<&Standing> for WireStanding {
    fn from(standing: &Standing) -> Self {
        match standing {
            Standing::Serving => Self::Serving(Serving {}),
            Standing::Draining { by } => Self::Draining(Draining { by: by.clone() }),
            Standing::Quarantined { by, reason } => {
                Self::Quarantined(Quarantined { by: by.clone(), reason: reason.clone() })
            }
        }
    }
}

impl From<WireStanding> for Standing {
    fn from(wire: WireStanding) -> Self {
        match wire {
            WireStanding::Serving(Serving {}) => Self::Serving,
            WireStanding::Draining(Draining { by }) => Self::Draining { by },
            WireStanding::Quarantined(Quarantined { by, reason }) => Self::Quarantined { by, reason },
        }
    }
}

/// One way only: the rest of a host's state belongs to the machine.
impl From<&Host> for v1::HostStatus {
    fn from(host: &Host) -> Self {
        let (connected, away_since) = match host.presence {
            Presence::Here { asking: _ } => (true, None),
            Presence::Away { since, give_up: _ } => (false, Some(timestamp(since))),
        };
        Self {
            facts: Some((&host.facts).into()),
            agent: id_text(host.agent.0),
            agent_epoch: host.epoch.0,
            connected,
            away_since,
            lease: host.lease.as_ref().map(Into::into),
            served: host.served,
            class: host.class.to_string(),
            standing: Some((&host.standing).into()),
            rebooting_until: host.reboot.map(|reboot| timestamp(reboot.give_up)),
            drifted: host.drifted.clone(),
            // The machine says it.
            left_out: Vec::new(),
        }
    }
}

/// As a part of the status of its host, which names the host and its agent.
impl From<&Lease> for v1::HeldLease {
    fn from(lease: &Lease) -> Self {
        Self {
            epoch: lease.epoch.0,
            experiment: id_text(lease.experiment.0),
            run: lease.run.0,
            attempt: lease.attempt.0,
            granted: Some(timestamp(lease.granted)),
            deadline: Some(timestamp(lease.deadline)),
            started: lease.started.map(timestamp),
            evidence: Some((&lease.evidence).into()),
            seat: lease.seat.as_deref().map(Into::into),
        }
    }
}

/// Reads the lease that a host holds from its status.
pub fn held_lease(wire: &v1::HostStatus) -> Result<Option<Lease>, Malformed> {
    let Some(lease) = &wire.lease else { return Ok(None) };
    let host = wire.facts.as_ref().map(|facts| facts.host.clone()).unwrap_or_default();
    Ok(Some(Lease {
        epoch: LeaseEpoch(lease.epoch),
        experiment: experiment_named(&lease.experiment, "lease.experiment")?,
        run: RunIndex(lease.run),
        attempt: Attempt(lease.attempt),
        host: id(host, "facts.host")?,
        agent_epoch: AgentEpoch(wire.agent_epoch),
        granted: required_moment(lease.granted.as_ref(), "lease.granted")?,
        deadline: required_moment(lease.deadline.as_ref(), "lease.deadline")?,
        started: lease.started.as_ref().map(|at| moment(at, "lease.started")).transpose()?,
        evidence: required(lease.evidence.clone(), "lease.evidence")?,
        seat: optional(lease.seat.clone(), "lease.seat")?.map(Box::new),
    }))
}

structure!(TimerError, v1::TimerError, [bias_ns, spread_ns]);

structure!(TimerTest, v1::TimerTest, [tested_unix_ns, error, floor_ns, step_ns]);

/// Longest name of a class: a hash in hexadecimal digits has 64.
const MAX_CLASS_BYTES: usize = 256;

structure!(Pool, v1::HostsSummary, [classes => Each(MAX_HOSTS)]);
structure!(
    HostClass,
    v1::HostClassSummary,
    [class => NoLonger(MAX_CLASS_BYTES), available, can_reboot, allocated, busy, used, out_of_service]
);
