//! A lease, and the evidence it was given on.

use speedup_core::experiment::gang::MAX_GANG;
use speedup_core::run::lease::{Evidence, Lease, LeaseSeat, Member};
use speedup_core::value::id::{AgentEpoch, Attempt, ExperimentId, LeaseEpoch, RunIndex};
use speedup_core::value::time::{Span, Timestamp};

use super::build::{products_out, used_build};
use super::field::{class, each, id, optional, optional_id, required};
use super::host::hash;
use super::id::{experiment_id, id_bytes};
use super::malformed::{Malformed, Within};
use crate::v1;

impl From<&Lease> for v1::Lease {
    fn from(lease: &Lease) -> Self {
        Self {
            epoch: lease.epoch.0,
            experiment: id_bytes(lease.experiment.0),
            run: lease.run.0,
            attempt: lease.attempt.0,
            host: lease.host.as_str().to_owned(),
            agent_epoch: lease.agent_epoch.0,
            granted_ns: lease.granted.0,
            deadline_ns: lease.deadline.0,
            started_ns: lease.started.map(|started| started.0),
            evidence: Some((&lease.evidence).into()),
            seat: lease.seat.as_deref().map(Into::into),
        }
    }
}

impl TryFrom<v1::Lease> for Lease {
    type Error = Malformed;

    fn try_from(wire: v1::Lease) -> Result<Self, Malformed> {
        Ok(Self {
            epoch: LeaseEpoch(wire.epoch),
            experiment: experiment_id(&wire.experiment, "experiment")?,
            run: RunIndex(wire.run),
            attempt: Attempt(wire.attempt),
            host: id(wire.host, "host")?,
            agent_epoch: AgentEpoch(wire.agent_epoch),
            granted: Timestamp(wire.granted_ns),
            deadline: Timestamp(wire.deadline_ns),
            started: wire.started_ns.map(Timestamp),
            evidence: required(wire.evidence, "evidence")?,
            seat: optional(wire.seat, "seat")?.map(Box::new),
        })
    }
}

impl From<&LeaseSeat> for v1::LeaseSeat {
    fn from(seat: &LeaseSeat) -> Self {
        Self {
            number: seat.number,
            members: seat.members.iter().map(Into::into).collect(),
            leaf_switches: seat.leaf_switches,
        }
    }
}

impl TryFrom<v1::LeaseSeat> for LeaseSeat {
    type Error = Malformed;

    fn try_from(wire: v1::LeaseSeat) -> Result<Self, Malformed> {
        let members = each(wire.members, MAX_GANG as usize, "members")?;
        Ok(Self { number: wire.number, members, leaf_switches: wire.leaf_switches })
    }
}

impl From<&Member> for v1::GangMember {
    fn from(member: &Member) -> Self {
        let name = member.name.as_ref().map(|name| name.as_str().to_owned());
        Self { host: member.host.as_str().to_owned(), name }
    }
}

impl TryFrom<v1::GangMember> for Member {
    type Error = Malformed;

    fn try_from(wire: v1::GangMember) -> Result<Self, Malformed> {
        Ok(Self { host: id(wire.host, "host")?, name: optional_id(wire.name, "name")? })
    }
}

impl From<&Evidence> for v1::Evidence {
    fn from(evidence: &Evidence) -> Self {
        let previous = |(experiment, run): (ExperimentId, RunIndex)| v1::PreviousRun {
            experiment: id_bytes(experiment.0),
            run: run.0,
        };
        Self {
            boot: evidence.boot.as_str().to_owned(),
            allocation: evidence.allocation.as_ref().map(|allocation| allocation.as_str().to_owned()),
            served_in_scope: evidence.served_in_scope,
            served_in_all: evidence.served_in_all,
            previous: evidence.previous.map(previous),
            idle_ns: evidence.idle.map(|idle| idle.0),
            boot_before: evidence.boot_before.as_ref().map(|boot| boot.as_str().to_owned()),
            allocation_before: evidence.allocation_before.as_ref().map(|before| before.as_str().to_owned()),
            class: evidence.class.map(|class| class.to_string()),
            build_run: evidence.build.as_ref().map(|build| build.run.0),
            products: evidence.build.as_ref().map_or_else(Vec::new, |build| products_out(&build.products)),
            machine: evidence.machine.map(|machine| machine.to_string()),
            host_name: evidence.host_name.as_ref().map(|name| name.as_str().to_owned()),
            switches: evidence.switches.as_ref().map(|path| path.as_str().to_owned()),
            set_served: evidence.set_served,
        }
    }
}

impl TryFrom<v1::Evidence> for Evidence {
    type Error = Malformed;

    fn try_from(wire: v1::Evidence) -> Result<Self, Malformed> {
        let previous = |previous: v1::PreviousRun| {
            let experiment = experiment_id(&previous.experiment, "experiment").within("previous")?;
            Ok((experiment, RunIndex(previous.run)))
        };
        Ok(Self {
            boot: id(wire.boot, "boot")?,
            allocation: optional_id(wire.allocation, "allocation")?,
            served_in_scope: wire.served_in_scope,
            served_in_all: wire.served_in_all,
            previous: wire.previous.map(previous).transpose()?,
            idle: wire.idle_ns.map(Span),
            boot_before: optional_id(wire.boot_before, "boot_before")?,
            allocation_before: optional_id(wire.allocation_before, "allocation_before")?,
            class: wire.class.map(|text| class(&text, "class")).transpose()?,
            build: used_build(wire.build_run, wire.products)?,
            machine: hash(wire.machine, "machine")?,
            host_name: optional_id(wire.host_name, "host_name")?,
            switches: optional_id(wire.switches, "switches")?,
            set_served: wire.set_served,
        })
    }
}
