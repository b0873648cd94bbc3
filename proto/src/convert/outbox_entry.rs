//! An entry of an agent's outbox.

use speedup_core::{agent::message::AttemptReport, value::id::AgentEpoch, value::id::LeaseEpoch};

use super::{field::chosen, malformed::Malformed, malformed::Within};
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

impl From<&OutboxEntry> for journal::OutboxEntry {
    fn from(entry: &OutboxEntry) -> Self {
        let entry = match entry {
            OutboxEntry::Report(report) => Entry::Report(report.as_ref().into()),
            OutboxEntry::Acknowledged(lease) => Entry::AcknowledgedLease(lease.0),
            OutboxEntry::Epoch(epoch) => Entry::AgentEpoch(epoch.0),
        };
        Self { entry: Some(entry) }
    }
}

impl TryFrom<journal::OutboxEntry> for OutboxEntry {
    type Error = Malformed;

    fn try_from(wire: journal::OutboxEntry) -> Result<Self, Malformed> {
        match chosen(wire.entry, "entry")? {
            Entry::Report(report) => Ok(Self::Report(Box::new(report.try_into().within("report")?))),
            Entry::AcknowledgedLease(lease) => Ok(Self::Acknowledged(LeaseEpoch(lease))),
            Entry::AgentEpoch(epoch) => Ok(Self::Epoch(AgentEpoch(epoch))),
        }
    }
}
