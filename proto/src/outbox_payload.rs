//! The payload of a record of an agent's outbox: one entry.

use speedup_core::agent::message::AttemptReport;

use crate::convert::OutboxEntry;
use crate::journal::v1 as journal;
use crate::payload::{PayloadError, append, read};

/// The version of what is written.
pub const VERSION: u8 = 1;

/// Appends an entry.
pub fn encode(entry: &OutboxEntry, into: &mut Vec<u8>) {
    append(&journal::OutboxEntry::from(entry), into);
}

/// Appends the entry of a borrowed report.
pub fn encode_report(report: &AttemptReport, into: &mut Vec<u8>) {
    let entry = Some(journal::outbox_entry::Entry::Report(report.into()));
    append(&journal::OutboxEntry { entry }, into);
}

/// Reads an entry.
pub fn decode(version: u8, bytes: &[u8]) -> Result<OutboxEntry, PayloadError> {
    read::<journal::OutboxEntry, _>("entry of the outbox", VERSION, version, bytes)
}
