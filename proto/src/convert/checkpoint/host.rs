//! Hosts and their classes, as a checkpoint keeps them.

use std::collections::BTreeMap;

use speedup_core::fingerprint::{ClassId, Fingerprint};
use speedup_core::host::{Asking, Host, Presence, Reboot, Standing, Use, Visit};
use speedup_core::machine::Piece;
use speedup_core::value::id::{AgentEpoch, ExperimentId, RunIndex};
use speedup_core::value::time::Timestamp;

use super::same_length;
use crate::convert::field::{class, each, id, optional, required};
use crate::convert::host::{fingerprint_in, wire_fingerprint};
use crate::convert::id::{agent_id, experiment_id, id_bytes};
use crate::convert::malformed::Malformed;
use crate::journal::v1 as journal;
use crate::v1;

impl journal::CheckpointClass {
    /// A class, and what its hosts have in common where that is kept.
    pub(crate) fn new(class: ClassId, kept: Option<&Fingerprint>, emptied: Timestamp) -> Self {
        let (values, unreadable, absent) = kept.map(wire_fingerprint).unwrap_or_default();
        let (class, kept) = (class.to_string(), kept.is_some());
        Self { class, kept, values, unreadable, absent, emptied_ns: emptied.0 }
    }

    pub(crate) fn piece(self) -> Result<Piece, Malformed> {
        let id = class(&self.class, "class")?;
        let kept = fingerprint_in((self.values, self.unreadable, self.absent), "values")?;
        let emptied = Timestamp(self.emptied_ns);
        Ok(Piece::Class { id, fingerprint: self.kept.then(|| Box::new(kept)), emptied })
    }
}

impl From<&Host> for journal::CheckpointHost {
    fn from(host: &Host) -> Self {
        // Taken apart by name, so that a field that is added is not forgotten here.
        let Host {
            facts,
            class,
            drifted,
            agent,
            epoch,
            presence,
            heard,
            standing,
            is_released,
            reboot,
            reserves,
            lease,
            is_ready: _,
            served,
            previous,
            idle_since,
            blamed_by,
            boots,
            allocations,
            used,
            visits,
        } = host;
        let (away_since_ns, give_up_ns) = match presence {
            Presence::Here { asking: _ } => (None, None),
            Presence::Away { since, give_up } => (Some(since.0), give_up.map(|at| at.0)),
        };
        let (draining_by, quarantined) = match standing {
            Standing::Serving => (None, None),
            Standing::Draining { by } => (Some(by.clone()), None),
            Standing::Quarantined { by, reason } => {
                let (by, reason) = (by.clone(), reason.clone());
                (None, Some(journal::CheckpointQuarantine { by, reason }))
            }
        };
        let visit = |(experiment, visit): (&ExperimentId, &Visit)| journal::CheckpointVisit {
            experiment: id_bytes(experiment.0),
            next: visit.next.0,
            end: visit.end.0,
        };
        Self {
            facts: Some(facts.into()),
            agent: id_bytes(agent.0),
            agent_epoch: epoch.0,
            away_since_ns,
            give_up_ns,
            lease: lease.as_ref().map(Into::into),
            served: *served,
            previous: previous
                .map(|(experiment, run)| v1::PreviousRun { experiment: id_bytes(experiment.0), run: run.0 }),
            uses: used.iter().map(uses).collect(),
            class: class.to_string(),
            drifted: drifted.clone(),
            heard_ns: heard.0,
            draining_by,
            quarantined,
            reboot_give_up_ns: reboot.map(|reboot| reboot.give_up.0),
            reboot_experiment: reboot.map(|reboot| id_bytes(reboot.experiment.0)).unwrap_or_default(),
            reserves: reserves.map(|experiment| id_bytes(experiment.0)).unwrap_or_default(),
            idle_since_ns: idle_since.map(|at| at.0),
            blamed_by: blamed_by.clone(),
            boots: boots.iter().map(|boot| boot.as_str().to_owned()).collect(),
            allocations: allocations.iter().map(|allocation| allocation.as_str().to_owned()).collect(),
            visits: visits.iter().map(visit).collect(),
            is_released: *is_released,
        }
    }
}

fn uses((experiment, lanes): (&ExperimentId, &BTreeMap<u32, Use>)) -> journal::CheckpointUse {
    let allocation = |used: &Use| used.allocation.map_or(0, |number| number + 1);
    journal::CheckpointUse {
        experiment: id_bytes(experiment.0),
        lanes: lanes.keys().copied().collect(),
        visits: lanes.values().map(|used| used.visits).collect(),
        from: lanes.values().map(|used| used.from.0).collect(),
        boots: lanes.values().map(|used| used.boot).collect(),
        allocations: lanes.values().map(allocation).collect(),
    }
}

fn used(wire: &journal::CheckpointUse) -> Result<(ExperimentId, BTreeMap<u32, Use>), Malformed> {
    let journal::CheckpointUse { experiment, lanes, visits, from, boots, allocations } = wire;
    for column in [visits, from, boots, allocations] {
        same_length(lanes, column, "uses")?;
    }
    let of = |(number, lane): (usize, &u32)| {
        let (from, allocation) = (RunIndex(from[number]), allocations[number].checked_sub(1));
        (*lane, Use { visits: visits[number], from, boot: boots[number], allocation })
    };
    Ok((experiment_id(experiment, "uses.experiment")?, lanes.iter().enumerate().map(of).collect()))
}

impl TryFrom<journal::CheckpointVisit> for (ExperimentId, Visit) {
    type Error = Malformed;

    fn try_from(wire: journal::CheckpointVisit) -> Result<Self, Malformed> {
        let visit = Visit { next: RunIndex(wire.next), end: RunIndex(wire.end) };
        Ok((experiment_id(&wire.experiment, "experiment")?, visit))
    }
}

impl TryFrom<journal::CheckpointHost> for Host {
    type Error = Malformed;

    fn try_from(wire: journal::CheckpointHost) -> Result<Self, Malformed> {
        let previous = |previous: v1::PreviousRun| {
            Ok((experiment_id(&previous.experiment, "previous.experiment")?, RunIndex(previous.run)))
        };
        let experiment =
            |bytes: &[u8], field| (!bytes.is_empty()).then(|| experiment_id(bytes, field)).transpose();
        let presence = match wire.away_since_ns.map(Timestamp) {
            None => Presence::Here { asking: Asking::No },
            Some(since) => Presence::Away { since, give_up: wire.give_up_ns.map(Timestamp) },
        };
        let standing = match (wire.draining_by, wire.quarantined) {
            (None, None) => Standing::Serving,
            (Some(by), _) => Standing::Draining { by },
            (None, Some(journal::CheckpointQuarantine { by, reason })) => {
                Standing::Quarantined { by, reason }
            }
        };
        let reboot = experiment(&wire.reboot_experiment, "reboot_experiment")?;
        let reboot = reboot.zip(wire.reboot_give_up_ns.map(Timestamp));
        let visits: Vec<(ExperimentId, Visit)> = each(wire.visits, usize::MAX, "visits")?;
        let boots = wire.boots.into_iter().map(|text| id(text, "boots")).collect::<Result<_, _>>()?;
        let allocations = wire.allocations.into_iter().map(|text| id(text, "allocations"));
        Ok(Self {
            facts: required(wire.facts, "facts")?,
            class: class(&wire.class, "class")?,
            drifted: wire.drifted,
            agent: agent_id(&wire.agent, "agent")?,
            epoch: AgentEpoch(wire.agent_epoch),
            presence,
            heard: Timestamp(wire.heard_ns),
            standing,
            is_released: wire.is_released,
            reboot: reboot.map(|(experiment, give_up)| Reboot { give_up, experiment }),
            reserves: experiment(&wire.reserves, "reserves")?,
            lease: optional(wire.lease, "lease")?,
            is_ready: false,
            served: wire.served,
            previous: wire.previous.map(previous).transpose()?,
            idle_since: wire.idle_since_ns.map(Timestamp),
            blamed_by: wire.blamed_by,
            boots,
            allocations: allocations.collect::<Result<_, _>>()?,
            used: wire.uses.iter().map(used).collect::<Result<_, Malformed>>()?,
            visits: visits.into_iter().collect(),
        })
    }
}
