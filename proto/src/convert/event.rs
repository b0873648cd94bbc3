//! Events, as the journal stores them.
//!
//! Texts are read whole: they were cut when they were received, and a replay has to give the same machine.

use std::sync::Arc;

use speedup_core::experiment::gang::MAX_GANG;
use speedup_core::machine::event::{Change, Event, RequestKey, Superseded};
use speedup_core::machine::provision::{EngineNote, EngineNoteKind};
use speedup_core::plan::{Extension, Shape};
use speedup_core::run::lease::{Lease, LeaseSeat};
use speedup_core::run::record::Record;
use speedup_core::value::{id::ExperimentId, time::Timestamp};
use thiserror::Error;
use uuid::Uuid;

use super::experiment::plan::order;
use super::host::FactNames;
use super::wire::field::{each, optional};
use super::wire::id::id_text;
use super::wire::malformed::Malformed;
use super::wire::moment::timestamp;
use super::wire::{Wire, enumeration, oneof, structure};
use crate::{journal::v1 as journal, v1};
use journal::event::Change as Kept;

/// An event that the journal does not store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the journal does not keep this event: the host asks again when it connects again")]
pub struct NotKept;

impl TryFrom<&Event> for journal::Event {
    type Error = NotKept;

    fn try_from(event: &Event) -> Result<Self, NotKept> {
        Ok(Self { at_ns: event.at.0, change: Some(event.change.to_wire().ok_or(NotKept)?) })
    }
}

impl TryFrom<journal::Event> for Event {
    type Error = Malformed;

    fn try_from(wire: journal::Event) -> Result<Self, Malformed> {
        Ok(Self { at: Timestamp(wire.at_ns), change: Wire::from_wire(wire.change, "change")? })
    }
}

impl From<journal::StoredEvent> for v1::LoggedEvent {
    fn from(stored: journal::StoredEvent) -> Self {
        let journal::StoredEvent { at_ns, kind, by, experiment, host, words } = stored;
        Self {
            at: Some(timestamp(Timestamp(at_ns))),
            kind,
            by,
            experiment: Uuid::from_slice(&experiment).map(id_text).unwrap_or_default(),
            host,
            words,
        }
    }
}

oneof!(Change, Kept never [HostAsked, HostPassed, HostHeld, HostReady], [
    CoordinatorStarted = CoordinatorStarted(journal::CoordinatorStarted {}),
    Submitted { experiment, plan, by, request }
        = Submitted(journal::Submitted { experiment, plan, by, request }) in "submitted",
    Paused { experiment, by, reason } = Paused(journal::Paused { experiment, by, reason }) in "paused",
    Resumed { experiment, by }
        = Resumed(journal::Changed { experiment, by, reason }) in "resumed" without [reason],
    Cancelled { experiment, by, reason }
        = Cancelled(journal::Changed { experiment, by, reason }) in "cancelled",
    Finished { experiment, tally, cancelled }
        = Finished(journal::Finished { experiment, tally, cancelled }) in "finished",
    AwaitingDecision { experiment }
        = AwaitingDecision(journal::AwaitingDecision { experiment }) in "awaiting_decision",
    Decided { experiment, by, enough, words }
        = Decided(journal::Decided { experiment, by, enough, words }) in "decided",
    ClassPinned { experiment, class }
        = ClassPinned(journal::ClassTaken { experiment, class, host, by }) in "class_pinned" without [host, by],
    ClassApproved { experiment, host, class, by }
        = ClassApproved(journal::ClassTaken { experiment, class, host, by }) in "class_approved",
    HostJoined { facts, agent, epoch }
        = HostJoined(journal::HostJoined { facts, agent, agent_epoch: epoch }) in "host_joined",
    HostLeft { host, give_up } = HostLeft(journal::HostLeft { host, give_up_ns: give_up }) in "host_left",
    HostDrained { host, by }
        = HostDrained(journal::HostChanged { host, by, reason }) in "host_drained" without [reason],
    HostResumed { host, by }
        = HostResumed(journal::HostChanged { host, by, reason }) in "host_resumed" without [reason],
    HostReset { host, by }
        = HostReset(journal::HostChanged { host, by, reason }) in "host_reset" without [reason],
    HostQuarantined { host, by, reason }
        = HostQuarantined(journal::HostChanged { host, by, reason }) in "host_quarantined",
    HostDrifted { host, facts => FactNames } = HostDrifted(journal::HostDrifted { host, facts }) in "host_drifted",
    EngineNoted(engine_noted) = EngineNoted(engine_noted),
    RebootAsked { experiment, host, give_up }
        = RebootAsked(journal::RebootAsked { host, experiment, give_up_ns: give_up }) in "reboot_asked",
    VisitBroken { experiment, host } = VisitBroken(journal::VisitBroken { host, experiment }) in "visit_broken",
    LeaseGranted(lease_granted) = LeaseGranted(lease_granted),
    GangGranted(leases => (|leases: &Vec<Lease>| wire_gang(leases), gang)) = GangGranted(journal::GangGranted { leases }) in "gang_granted",
    RunStarted { host, lease } = RunStarted(journal::RunStarted { host, lease }) in "run_started",
    RunReported { host, lease, record }
        = RunReported(journal::RunReported { host, lease, record }) in "run_reported",
    PartEnded { host, lease, record } = PartEnded(journal::RunReported { host, lease, record }) in "part_ended",
    AttemptLost { host, lease, reason, after }
        = AttemptLost(journal::AttemptLost { host, lease, reason, after }) in "attempt_lost",
], by hand [
    Extended { experiment, from, appended, by } = Extended(extended, extended_in),
    LateReport { superseded, record } = LateReport(late_report, late_report_in),
]);

structure!(RequestKey, journal::RequestKey, [id, content]);
structure!(EngineNote, journal::EngineNoted, [kind, host, by, words]);
enumeration!(
    EngineNoteKind,
    journal::EngineNoteKind,
    [Added, Removed, JobsAsked, JobBegan, JobEnded, JobFailed, Stopped, SshAdded, SshRemoved, SshStarted]
);

fn extended(experiment: &ExperimentId, from: &u32, appended: &Extension, by: &str) -> journal::Extended {
    let Extension { order: appended, shape } = appended.clone();
    let shape = (shape != Shape::SINGLE).then(|| shape.into());
    journal::Extended { experiment: experiment.to_wire(), from: *from, appended, by: by.to_owned(), shape }
}

fn extended_in(wire: journal::Extended) -> Result<Change, Malformed> {
    let experiment = ExperimentId::from_wire(wire.experiment, "extended.experiment")?;
    let order = order(wire.appended, "extended.appended")?;
    let shape = optional(wire.shape, "extended.shape")?.unwrap_or(Shape::SINGLE);
    Ok(Change::Extended { experiment, from: wire.from, appended: Extension { order, shape }, by: wire.by })
}

/// Encodes the leases of a gang. Together they name all its hosts, so that the first need not list them.
fn wire_gang(leases: &[Lease]) -> Vec<v1::Lease> {
    let mut leases: Vec<v1::Lease> = leases.iter().map(Into::into).collect();
    for seat in leases.iter_mut().filter_map(|lease| lease.seat.as_mut()) {
        seat.members.clear();
        seat.leaf_switches = None;
    }
    leases
}

fn gang(wire: Vec<v1::Lease>, field: &str) -> Result<Vec<Lease>, Malformed> {
    let mut leases = each(wire, MAX_GANG as usize, field)?;
    LeaseSeat::introduce(&mut leases);
    Ok(leases)
}

/// A record whose run has been leased again meanwhile.
struct LateReport {
    superseded: Superseded,
    record: Arc<Record>,
}

structure!(
    LateReport { superseded: Superseded { lease, experiment, run, attempt, host, agent_epoch }, record },
    journal::LateReport,
    [lease, experiment, run, attempt, host, agent_epoch, record]
);

fn late_report(superseded: &Superseded, record: &Arc<Record>) -> journal::LateReport {
    LateReport { superseded: superseded.clone(), record: Arc::clone(record) }.into()
}

fn late_report_in(wire: journal::LateReport) -> Result<Change, Malformed> {
    let LateReport { superseded, record } = LateReport::from_wire(wire, "late_report")?;
    Ok(Change::LateReport { superseded, record })
}
