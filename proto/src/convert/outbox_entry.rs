//! An entry of an agent's outbox.

use speedup_core::{agent::message::AttemptReport, value::id::AgentEpoch, value::id::LeaseEpoch};

use super::wire::oneof;
use crate::journal::v1 as journal;
use journal::outbox_entry::Entry;

/// One entry of an agent's outbox.
#[derive(Clone, Debug, PartialEq)]
pub enum OutboxEntry {
    /// Kept until the coordinator has it.
    Report(Box<AttemptReport>),
    /// The coordinator has the report of this lease.
    Acknowledged(LeaseEpoch),
    /// The agent's latest start: the last of these counts.
    Epoch(AgentEpoch),
}

oneof! {
    OutboxEntry, journal::OutboxEntry { entry: Entry }, [
        Report(report) = Report(report),
        Acknowledged(lease) = AcknowledgedLease(lease),
        Epoch(epoch) = AgentEpoch(epoch),
    ]
}
