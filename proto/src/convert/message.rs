//! The messages between agent and coordinator, and the entries of an agent's outbox. Records and work orders are encoded
//! before the message that holds them.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message as _;
use speedup_core::agent::message::{AgentMessage, AttemptReport, CoordinatorMessage, Grant};
use speedup_core::experiment::build::MAX_PRODUCTS;
use speedup_core::experiment::files::MAX_FILES;
use speedup_core::experiment::gang::MAX_GANG;
use speedup_core::experiment::metric::MAX_OWN_METRICS;
use speedup_core::host::HostFacts;
use speedup_core::run::record::Record;
use speedup_core::run::work::{WorkOrder, WorkSeat};
use speedup_core::value::id::{AgentEpoch, AgentId, LeaseEpoch};

use super::experiment::METRICS;
use super::experiment::build::collect_in;
use super::wire::malformed::{Malformed, Why, Within};
use super::wire::{Each, OrDefault, PlainList, REASON, Wire, oneof, structure};
use super::{encoded_record, read_record};
use crate::journal::v1 as journal;
use crate::{encoded, v1};
use journal::outbox_entry::Entry;
use v1::{agent_message::Message as FromAgent, coordinator_message::Message as FromCoordinator};

oneof!(AgentMessage, v1::AgentMessage { message: FromAgent }, [
    Ask = Ask(v1::Ask {}),
    Ready { lease } = Ready(v1::Ready { lease }),
    Started { lease } = Started(v1::Started { lease }),
    Report(report) = Report(report),
], by hand [Join { facts, agent, epoch } = Join(join, join_in)]);

fn join(facts: &HostFacts, agent: &AgentId, epoch: &AgentEpoch) -> Box<v1::Join> {
    Box::new(v1::Join { facts: facts.to_wire(), agent: agent.to_wire(), agent_epoch: epoch.0 })
}

fn join_in(wire: Box<v1::Join>) -> Result<AgentMessage, Malformed> {
    Ok(AgentMessage::Join {
        facts: Wire::from_wire(wire.facts, "facts").within("join")?,
        agent: Wire::from_wire(wire.agent, "agent").within("join")?,
        epoch: AgentEpoch(wire.agent_epoch),
    })
}

structure!(
    AttemptReport,
    encoded::SentReport,
    [lease, executed_by, record => (sent_record, received_record)]
);

fn sent_record(record: &Record) -> Option<Bytes> {
    Some(encoded_record(record).into())
}

fn received_record(wire: Option<Bytes>, field: &str) -> Result<Record, Malformed> {
    let bytes = wire.ok_or_else(|| Malformed::new(field, Why::Missing))?;
    read_record(&bytes).within(field)
}

oneof!(CoordinatorMessage, v1::CoordinatorMessage { message: FromCoordinator }, [
    Welcome { next_lease } = Welcome(v1::Welcome { next_lease }),
    TurnedAway { reason => REASON, known_epoch, is_lasting }
        = TurnedAway(v1::TurnedAway { reason, known_epoch, is_lasting }),
    Grant(grant) = Grant(grant),
    Begin { lease } = Begin(v1::Begin { lease }),
    End { lease } = End(v1::End { lease }),
    Reboot { reason => REASON } = Reboot(v1::Reboot { reason }),
    Dismissed { reason => REASON } = Dismissed(v1::Dismissed { reason }),
    Acknowledged { lease } = Acknowledged(v1::Acknowledged { lease }),
    Refused { lease, reason => REASON } = Refused(v1::Refused { lease, reason }),
]);

structure!(
    Grant,
    encoded::SentGrant,
    [order => (encoded_order, decoded_order), lease, agent_epoch, experiment, run, attempt]
);

fn encoded_order(order: &WorkOrder) -> Option<Bytes> {
    Some(v1::WorkOrder::from(order).encode_to_vec().into())
}

fn decoded_order(wire: Option<Bytes>, field: &str) -> Result<WorkOrder, Malformed> {
    let bytes = wire.ok_or_else(|| Malformed::new(field, Why::Missing))?;
    let order = v1::WorkOrder::decode(bytes).map_err(|error| Malformed::new(field, error))?;
    WorkOrder::from_wire(order, field)
}

// A work order.
structure!(
    WorkOrder,
    v1::WorkOrder,
    [
        command, env, vars, expect,
        timeout = timeout_ns,
        warmup, directory, setup, prepare, cleanup, rest, canary, directory_padding,
        environment => OrDefault,
        common_software, env_padding, output,
        metrics => METRICS,
        files => Each(MAX_FILES),
        seat,
        collect => (BTreeMap::clone, collect_in),
        built => Each(MAX_PRODUCTS),
        own_metrics => Each(MAX_OWN_METRICS),
    ]
);
structure!(WorkSeat, v1::WorkSeat, [number, size, hostfile, hosts => PlainList(MAX_GANG as usize)]);

/// An entry of an agent's outbox.
#[derive(Clone, Debug, PartialEq)]
pub enum OutboxEntry {
    /// A report, which stays until the coordinator has acknowledged it.
    Report(Box<AttemptReport>),
    /// The coordinator has acknowledged the report of this lease.
    Acknowledged(LeaseEpoch),
    /// A start of the agent; the last entry of this kind is the current one.
    Epoch(AgentEpoch),
}

oneof! {
    OutboxEntry, journal::OutboxEntry { entry: Entry }, [
        Report(report) = Report(report),
        Acknowledged(lease) = AcknowledgedLease(lease),
        Epoch(epoch) = AgentEpoch(epoch),
    ]
}
