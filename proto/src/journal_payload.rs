//! The payload of a journal record: one event.

use speedup_core::machine::event::Event;

use crate::convert::{NotKept, append_event, read_event};
use crate::journal::v1 as journal;
use crate::payload::{PayloadError, append, read};

/// The version of what is written.
pub const VERSION: u8 = 1;

/// Appends an event; refuses one that the journal does not store.
pub fn encode(event: &Event, into: &mut Vec<u8>) -> Result<(), NotKept> {
    if !append_event(event, into) {
        append(&journal::Event::try_from(event)?, into);
    }
    Ok(())
}

/// Reads an event.
pub fn decode(version: u8, bytes: &[u8]) -> Result<Event, PayloadError> {
    let usual = if version == VERSION { read_event(bytes) } else { None };
    usual.map_or_else(|| read::<journal::Event, _>("event of the journal", VERSION, version, bytes), Ok)
}
