//! Encodes and decodes attempts and events of runs without intermediate messages.
//!
//! The coordinator writes three events and an attempt for each run; a start reads the events again, a report the attempts.
//! Generated messages took most of that time, as they allocate every text and hash.
//!
//! The messages and their conversions stay the definition. Anything unusual in the bytes (an unknown or repeated field, a number
//! that does not fit, an invalid id) is not judged here: [`Unusual`] has the bytes decoded as messages, which say what is wrong.
//! Tests compare both ways of reading, and the bytes of both ways of writing.
//!
//! In reading order: `fields` (the wire format), `lease`, `record`, `conditions`.

mod conditions;
mod fields;
mod lease;
mod record;

use std::sync::Arc;

use prost::Message;
use speedup_core::machine::event::{AttemptEnd, Change, EndedAttempt, Event};
use speedup_core::run::record::Record;
use speedup_core::value::id::{HostId, LeaseEpoch};
use speedup_core::value::time::Timestamp;

use self::fields::{Fields, Unusual, Writer, once};
use super::wire::{Wire, malformed::Malformed};
use crate::v1::{self, ended_attempt::Lost};

/// Usual size of an encoded attempt.
const USUAL_BYTES: usize = 512;

/// Reads an encoded `speedup.v1.EndedAttempt`.
///
/// # Errors
/// [`Malformed`] for bytes that are not such a message.
pub(super) fn read_attempt(bytes: &[u8]) -> Result<EndedAttempt, Malformed> {
    usual_attempt(bytes).or_else(|Unusual| {
        let wire = v1::EndedAttempt::decode(bytes).map_err(|error| Malformed::new("message", error))?;
        wire.try_into()
    })
}

/// Encodes an attempt as a `speedup.v1.EndedAttempt`, which is also how it is stored.
pub fn encoded_attempt(EndedAttempt { lease, cell, ended, end }: &EndedAttempt) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(USUAL_BYTES);
    let mut to = Writer::new(&mut bytes);
    to.fields(1, |to| lease::write_lease(lease, to));
    to.number(2, *cell);
    to.fixed(3, ended.0);
    match end {
        AttemptEnd::Reported(record) => to.fields(4, |to| record::write_record(record, to)),
        AttemptEnd::Lost { reason, after, late } => {
            let reason = reason.to_wire();
            let after = after.to_wire();
            to.message(5, &Lost { reason, after, late: late.to_wire() });
        }
    }
    bytes
}

/// Reads an encoded `speedup.v1.Record`.
///
/// # Errors
/// [`Malformed`] for bytes that are not such a message.
pub(super) fn read_record(bytes: &[u8]) -> Result<Record, Malformed> {
    record::record(bytes).or_else(|Unusual| {
        let wire = v1::Record::decode(bytes).map_err(|error| Malformed::new("message", error))?;
        wire.try_into()
    })
}

/// Encodes a record, as a `speedup.v1.Record`.
pub(super) fn encoded_record(record: &Record) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(USUAL_BYTES);
    record::write_record(record, &mut Writer::new(&mut bytes));
    bytes
}

/// Reads an encoded `speedup.journal.v1.Event` of an executed run; returns `None` if it has to be decoded as a message.
pub(crate) fn read_event(bytes: &[u8]) -> Option<Event> {
    usual_event(bytes).ok()
}

/// Appends an event of an executed run as a `speedup.journal.v1.Event`; returns whether it is one.
pub(crate) fn append_event(event: &Event, into: &mut Vec<u8>) -> bool {
    let at = event.at.0;
    let mut to = Writer::new(into);
    if let Change::LeaseGranted(lease) = &event.change {
        to.fixed(1, at);
        to.fields(11, |to| lease::write_lease(lease, to));
    } else if let Change::RunStarted { host, lease } = &event.change {
        to.fixed(1, at);
        to.fields(12, |to| write_reported(host, *lease, None, to));
    } else if let Change::RunReported { host, lease, record } = &event.change {
        to.fixed(1, at);
        to.fields(13, |to| write_reported(host, *lease, Some(record), to));
    } else {
        return false;
    }
    true
}

/// `RunReported`, or `RunStarted`, which is the same without a record.
fn write_reported(host: &HostId, lease: LeaseEpoch, record: Option<&Record>, to: &mut Writer<'_>) {
    to.bytes(1, host.as_str());
    to.number(2, lease.0);
    if let Some(record) = record {
        to.fields(3, |to| record::write_record(record, to));
    }
}

fn usual_attempt(bytes: &[u8]) -> Result<EndedAttempt, Unusual> {
    let mut lease = None;
    let mut cell = 0;
    let mut ended = 0;
    let mut record = None;
    let mut fields = Fields::of(bytes);
    while let Some((number, value)) = fields.next()? {
        match number {
            1 => once(&mut lease, value.bytes()?)?,
            2 => cell = value.number()?,
            3 => ended = value.fixed()?,
            4 => once(&mut record, value.bytes()?)?,
            _ => return Err(Unusual),
        }
    }
    // Both are large: they are read into their places, rather than moved there.
    Ok(EndedAttempt {
        lease: lease::lease(lease.ok_or(Unusual)?)?,
        cell,
        ended: Timestamp(ended),
        end: AttemptEnd::Reported(Arc::new(record::record(record.ok_or(Unusual)?)?)),
    })
}

fn usual_event(bytes: &[u8]) -> Result<Event, Unusual> {
    let mut at = 0;
    let mut change = None;
    let mut fields = Fields::of(bytes);
    while let Some((number, value)) = fields.next()? {
        let next = match number {
            1 => {
                at = value.fixed()?;
                continue;
            }
            11 => Change::LeaseGranted(Box::new(lease::lease(value.bytes()?)?)),
            12 => {
                let (host, lease, None) = reported(value.bytes()?)? else { return Err(Unusual) };
                Change::RunStarted { host, lease }
            }
            13 => {
                let (host, lease, Some(record)) = reported(value.bytes()?)? else { return Err(Unusual) };
                Change::RunReported { host, lease, record }
            }
            _ => return Err(Unusual),
        };
        once(&mut change, next)?;
    }
    Ok(Event { at: Timestamp(at), change: change.ok_or(Unusual)? })
}

/// What [`write_reported`] writes.
fn reported(bytes: &[u8]) -> Result<(HostId, LeaseEpoch, Option<Arc<Record>>), Unusual> {
    let mut host = None;
    let mut lease = 0;
    let mut record = None;
    let mut fields = Fields::of(bytes);
    while let Some((number, value)) = fields.next()? {
        match number {
            1 => host = Some(value.text()?.parse()?),
            2 => lease = value.number()?,
            3 => once(&mut record, Arc::new(record::record(value.bytes()?)?))?,
            _ => return Err(Unusual),
        }
    }
    Ok((host.ok_or(Unusual)?, LeaseEpoch(lease), record))
}

#[cfg(test)]
mod tests;
