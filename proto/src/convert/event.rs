//! Events, as the journal keeps them.
//!
//! Who asked and why an experiment was paused are taken whole: they were cut when they came in, and a replay has to
//! give the same machine.

mod pool;

use std::sync::Arc;

use speedup_core::{
    experiment::gang::MAX_GANG, host::HostFacts, machine::event::Change, machine::event::Event,
    machine::event::RequestKey, machine::event::Superseded, machine::event::Tally, plan::Extension,
    plan::Plan, plan::Shape, run::AfterLoss, run::LossReason, run::lease::Lease, run::lease::LeaseSeat,
    run::record::Record, value::id::AgentEpoch, value::id::AgentId, value::id::Attempt,
    value::id::ExperimentId, value::id::HostId, value::id::LeaseEpoch, value::id::RunIndex,
    value::time::Timestamp,
};
use thiserror::Error;
use uuid::Uuid;

use super::field::{chosen, each, exactly, id, optional, required};
use super::id::{agent_id, experiment_id, id_bytes};
use super::malformed::{Malformed, Within};
use super::plan::order;
use crate::{journal::v1 as journal, v1};
use journal::event::Change as Kept;
use pool::{
    class_approved, class_pinned, decided, engine_noted, host_changed, host_drifted, reboot_asked,
    visit_broken,
};

/// The event is none that the journal keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the journal does not keep this event: the host asks again when it connects again")]
pub struct NotKept;

impl TryFrom<&Event> for journal::Event {
    type Error = NotKept;

    fn try_from(event: &Event) -> Result<Self, NotKept> {
        Ok(Self { at_ns: event.at.0, change: Some((&event.change).try_into()?) })
    }
}

impl TryFrom<journal::Event> for Event {
    type Error = Malformed;

    fn try_from(wire: journal::Event) -> Result<Self, Malformed> {
        Ok(Self { at: Timestamp(wire.at_ns), change: chosen(wire.change, "change")?.try_into()? })
    }
}

impl TryFrom<&Change> for Kept {
    type Error = NotKept;

    fn try_from(change: &Change) -> Result<Self, NotKept> {
        Ok(match change {
            Change::CoordinatorStarted => Self::CoordinatorStarted(journal::CoordinatorStarted {}),
            Change::Submitted { experiment, plan, by, request } => {
                submitted(*experiment, plan, by, request.as_ref())
            }
            Change::Paused { experiment, by, reason } => paused(*experiment, by, reason),
            Change::Resumed { experiment, by } => Self::Resumed(changed(*experiment, by, "")),
            Change::Cancelled { experiment, by, reason } => Self::Cancelled(changed(*experiment, by, reason)),
            Change::Extended { experiment, from, appended, by } => extended(*experiment, *from, appended, by),
            Change::Finished { experiment, tally, cancelled } => finished(*experiment, tally, *cancelled),
            Change::HostJoined { facts, agent, epoch } => host_joined(facts, *agent, *epoch),
            Change::HostLeft { host, give_up } => host_left(host, *give_up),
            Change::HostAsked { .. }
            | Change::HostPassed { .. }
            | Change::HostHeld { .. }
            | Change::HostReady { .. } => return Err(NotKept),
            Change::LeaseGranted(lease) => Self::LeaseGranted(lease.as_ref().into()),
            Change::GangGranted(leases) => gang_granted(leases),
            Change::RunStarted { host, lease } => run_started(host, *lease),
            Change::RunReported { host, lease, record } => Self::RunReported(reported(host, *lease, record)),
            Change::PartEnded { host, lease, record } => Self::PartEnded(reported(host, *lease, record)),
            Change::AttemptLost { host, lease, reason, after } => attempt_lost(host, *lease, reason, *after),
            Change::LateReport { superseded, record } => late_report(superseded, record),
            Change::HostDrained { host, by } => Self::HostDrained(host_changed(host, by, "")),
            Change::HostResumed { host, by } => Self::HostResumed(host_changed(host, by, "")),
            Change::HostReset { host, by } => Self::HostReset(host_changed(host, by, "")),
            Change::EngineNoted(note) => engine_noted(note),
            Change::HostQuarantined { host, by, reason } => {
                Self::HostQuarantined(host_changed(host, by, reason))
            }
            Change::HostDrifted { host, facts } => host_drifted(host, facts),
            Change::ClassPinned { experiment, class } => class_pinned(*experiment, *class),
            Change::ClassApproved { experiment, host, class, by } => {
                class_approved(*experiment, host, *class, by)
            }
            Change::RebootAsked { host, experiment, give_up } => reboot_asked(host, *experiment, *give_up),
            Change::AwaitingDecision { experiment } => {
                Self::AwaitingDecision(journal::AwaitingDecision { experiment: id_bytes(experiment.0) })
            }
            Change::Decided { experiment, by, enough, words } => decided(*experiment, by, *enough, words),
            Change::VisitBroken { host, experiment } => visit_broken(host, *experiment),
        })
    }
}

impl TryFrom<Kept> for Change {
    type Error = Malformed;

    fn try_from(wire: Kept) -> Result<Self, Malformed> {
        match wire {
            Kept::CoordinatorStarted(journal::CoordinatorStarted {}) => Ok(Self::CoordinatorStarted),
            Kept::Submitted(submitted) => submitted.try_into().within("submitted"),
            Kept::Paused(paused) => paused.try_into().within("paused"),
            Kept::Resumed(journal::Changed { experiment, by, reason: _ }) => {
                let experiment = experiment_id(&experiment, "experiment").within("resumed")?;
                Ok(Self::Resumed { experiment, by })
            }
            Kept::Cancelled(journal::Changed { experiment, by, reason }) => {
                let experiment = experiment_id(&experiment, "experiment").within("cancelled")?;
                Ok(Self::Cancelled { experiment, by, reason })
            }
            Kept::Extended(extended) => extended.try_into().within("extended"),
            Kept::Finished(finished) => finished.try_into().within("finished"),
            Kept::HostJoined(joined) => joined.try_into().within("host_joined"),
            Kept::HostLeft(left) => left.try_into().within("host_left"),
            Kept::LeaseGranted(lease) => {
                lease.try_into().map(Box::new).map(Self::LeaseGranted).within("lease_granted")
            }
            Kept::GangGranted(granted) => granted.try_into().within("gang_granted"),
            Kept::RunStarted(started) => started.try_into().within("run_started"),
            Kept::RunReported(reported) => {
                let Reported { host, lease, record } = reported.try_into().within("run_reported")?;
                Ok(Self::RunReported { host, lease, record })
            }
            Kept::PartEnded(ended) => {
                let Reported { host, lease, record } = ended.try_into().within("part_ended")?;
                Ok(Self::PartEnded { host, lease, record })
            }
            Kept::AttemptLost(lost) => lost.try_into().within("attempt_lost"),
            Kept::LateReport(late) => late.try_into().within("late_report"),
            Kept::HostDrained(journal::HostChanged { host, by, reason: _ }) => {
                Ok(Self::HostDrained { host: id(host, "host").within("host_drained")?, by })
            }
            Kept::HostResumed(journal::HostChanged { host, by, reason: _ }) => {
                Ok(Self::HostResumed { host: id(host, "host").within("host_resumed")?, by })
            }
            Kept::HostReset(journal::HostChanged { host, by, reason: _ }) => {
                Ok(Self::HostReset { host: id(host, "host").within("host_reset")?, by })
            }
            Kept::HostQuarantined(journal::HostChanged { host, by, reason }) => {
                let host = id(host, "host").within("host_quarantined")?;
                Ok(Self::HostQuarantined { host, by, reason })
            }
            Kept::EngineNoted(noted) => noted.try_into().within("engine_noted"),
            Kept::HostDrifted(drifted) => drifted.try_into().within("host_drifted"),
            Kept::ClassPinned(pinned) => pinned.pinned().within("class_pinned"),
            Kept::ClassApproved(approved) => approved.approved().within("class_approved"),
            Kept::RebootAsked(asked) => asked.try_into().within("reboot_asked"),
            Kept::AwaitingDecision(journal::AwaitingDecision { experiment }) => {
                let experiment = experiment_id(&experiment, "experiment").within("awaiting_decision")?;
                Ok(Self::AwaitingDecision { experiment })
            }
            Kept::Decided(decided) => decided.try_into().within("decided"),
            Kept::VisitBroken(broken) => broken.try_into().within("visit_broken"),
        }
    }
}

fn submitted(experiment: ExperimentId, plan: &Plan, by: &str, request: Option<&RequestKey>) -> Kept {
    let (experiment, by) = (id_bytes(experiment.0), by.to_owned());
    let request = request.map(|RequestKey { id, content }| journal::RequestKey {
        id: id_bytes(*id),
        content: content.to_vec(),
    });
    Kept::Submitted(journal::Submitted { experiment, plan: Some(plan.into()), by, request })
}

impl TryFrom<journal::Submitted> for Change {
    type Error = Malformed;

    fn try_from(wire: journal::Submitted) -> Result<Self, Malformed> {
        let experiment = experiment_id(&wire.experiment, "experiment")?;
        let plan: Plan = required(wire.plan, "plan")?;
        let request = optional(wire.request, "request")?;
        Ok(Self::Submitted { experiment, plan: Arc::new(plan), by: wire.by, request })
    }
}

impl TryFrom<journal::RequestKey> for RequestKey {
    type Error = Malformed;

    fn try_from(wire: journal::RequestKey) -> Result<Self, Malformed> {
        let id = Uuid::from_bytes(exactly(&wire.id, "id")?);
        Ok(Self { id, content: exactly(&wire.content, "content")? })
    }
}

fn paused(experiment: ExperimentId, by: &str, reason: &str) -> Kept {
    let (experiment, by) = (id_bytes(experiment.0), by.to_owned());
    Kept::Paused(journal::Paused { experiment, by, reason: reason.to_owned() })
}

impl TryFrom<journal::Paused> for Change {
    type Error = Malformed;

    fn try_from(wire: journal::Paused) -> Result<Self, Malformed> {
        let experiment = experiment_id(&wire.experiment, "experiment")?;
        Ok(Self::Paused { experiment, by: wire.by, reason: wire.reason })
    }
}

fn changed(experiment: ExperimentId, by: &str, reason: &str) -> journal::Changed {
    let (by, reason) = (by.to_owned(), reason.to_owned());
    journal::Changed { experiment: id_bytes(experiment.0), by, reason }
}

fn extended(experiment: ExperimentId, from: u32, appended: &Extension, by: &str) -> Kept {
    let (experiment, by) = (id_bytes(experiment.0), by.to_owned());
    let Extension { order: appended, shape } = appended.clone();
    let shape = (shape != Shape::SINGLE).then(|| shape.into());
    Kept::Extended(journal::Extended { experiment, from, appended, by, shape })
}

impl TryFrom<journal::Extended> for Change {
    type Error = Malformed;

    fn try_from(wire: journal::Extended) -> Result<Self, Malformed> {
        let experiment = experiment_id(&wire.experiment, "experiment")?;
        let order = order(wire.appended, "appended")?;
        let shape = optional(wire.shape, "shape")?.unwrap_or(Shape::SINGLE);
        let appended = Extension { order, shape };
        Ok(Self::Extended { experiment, from: wire.from, appended, by: wire.by })
    }
}

fn finished(experiment: ExperimentId, tally: &Tally, cancelled: bool) -> Kept {
    let experiment = id_bytes(experiment.0);
    Kept::Finished(journal::Finished { experiment, tally: Some(tally.into()), cancelled })
}

impl TryFrom<journal::Finished> for Change {
    type Error = Malformed;

    fn try_from(wire: journal::Finished) -> Result<Self, Malformed> {
        let experiment = experiment_id(&wire.experiment, "experiment")?;
        Ok(Self::Finished { experiment, tally: required(wire.tally, "tally")?, cancelled: wire.cancelled })
    }
}

fn host_joined(facts: &HostFacts, agent: AgentId, epoch: AgentEpoch) -> Kept {
    let (facts, agent) = (Some(facts.into()), id_bytes(agent.0));
    Kept::HostJoined(journal::HostJoined { facts, agent, agent_epoch: epoch.0 })
}

impl TryFrom<journal::HostJoined> for Change {
    type Error = Malformed;

    fn try_from(wire: journal::HostJoined) -> Result<Self, Malformed> {
        let facts = Box::new(required(wire.facts, "facts")?);
        let agent = agent_id(&wire.agent, "agent")?;
        Ok(Self::HostJoined { facts, agent, epoch: AgentEpoch(wire.agent_epoch) })
    }
}

fn host_left(host: &HostId, give_up: Timestamp) -> Kept {
    Kept::HostLeft(journal::HostLeft { host: host.as_str().to_owned(), give_up_ns: give_up.0 })
}

impl TryFrom<journal::HostLeft> for Change {
    type Error = Malformed;

    fn try_from(wire: journal::HostLeft) -> Result<Self, Malformed> {
        Ok(Self::HostLeft { host: id(wire.host, "host")?, give_up: Timestamp(wire.give_up_ns) })
    }
}

/// All hosts stand in the leases: the first need not name them.
fn gang_granted(leases: &[Lease]) -> Kept {
    let mut leases: Vec<v1::Lease> = leases.iter().map(Into::into).collect();
    for seat in leases.iter_mut().filter_map(|lease| lease.seat.as_mut()) {
        seat.members.clear();
        seat.leaf_switches = None;
    }
    Kept::GangGranted(journal::GangGranted { leases })
}

impl TryFrom<journal::GangGranted> for Change {
    type Error = Malformed;

    fn try_from(wire: journal::GangGranted) -> Result<Self, Malformed> {
        let mut leases = each(wire.leases, MAX_GANG as usize, "leases")?;
        LeaseSeat::introduce(&mut leases);
        Ok(Self::GangGranted(leases))
    }
}

fn run_started(host: &HostId, lease: LeaseEpoch) -> Kept {
    Kept::RunStarted(journal::RunStarted { host: host.as_str().to_owned(), lease: lease.0 })
}

impl TryFrom<journal::RunStarted> for Change {
    type Error = Malformed;

    fn try_from(wire: journal::RunStarted) -> Result<Self, Malformed> {
        Ok(Self::RunStarted { host: id(wire.host, "host")?, lease: LeaseEpoch(wire.lease) })
    }
}

fn reported(host: &HostId, lease: LeaseEpoch, record: &Record) -> journal::RunReported {
    let (host, record) = (host.as_str().to_owned(), Some(record.into()));
    journal::RunReported { host, lease: lease.0, record }
}

/// What a host reported of a run, or of its part in one.
struct Reported {
    host: HostId,
    lease: LeaseEpoch,
    record: Arc<Record>,
}

impl TryFrom<journal::RunReported> for Reported {
    type Error = Malformed;

    fn try_from(wire: journal::RunReported) -> Result<Self, Malformed> {
        let (host, record) = (id(wire.host, "host")?, Arc::new(required(wire.record, "record")?));
        Ok(Self { host, lease: LeaseEpoch(wire.lease), record })
    }
}

fn attempt_lost(host: &HostId, lease: LeaseEpoch, reason: &LossReason, after: AfterLoss) -> Kept {
    Kept::AttemptLost(journal::AttemptLost {
        host: host.as_str().to_owned(),
        lease: lease.0,
        reason: Some(reason.into()),
        after: Some(after.into()),
    })
}

impl TryFrom<journal::AttemptLost> for Change {
    type Error = Malformed;

    fn try_from(wire: journal::AttemptLost) -> Result<Self, Malformed> {
        Ok(Self::AttemptLost {
            host: id(wire.host, "host")?,
            lease: LeaseEpoch(wire.lease),
            reason: required(wire.reason, "reason")?,
            after: required(wire.after, "after")?,
        })
    }
}

fn late_report(superseded: &Superseded, record: &Record) -> Kept {
    Kept::LateReport(journal::LateReport {
        lease: superseded.lease.0,
        experiment: id_bytes(superseded.experiment.0),
        run: superseded.run.0,
        attempt: superseded.attempt.0,
        host: superseded.host.as_str().to_owned(),
        agent_epoch: superseded.agent_epoch.0,
        record: Some(record.into()),
    })
}

impl TryFrom<journal::LateReport> for Change {
    type Error = Malformed;

    fn try_from(wire: journal::LateReport) -> Result<Self, Malformed> {
        let superseded = Superseded {
            lease: LeaseEpoch(wire.lease),
            experiment: experiment_id(&wire.experiment, "experiment")?,
            run: RunIndex(wire.run),
            attempt: Attempt(wire.attempt),
            host: id(wire.host, "host")?,
            agent_epoch: AgentEpoch(wire.agent_epoch),
        };
        Ok(Self::LateReport { superseded, record: Arc::new(required(wire.record, "record")?) })
    }
}
