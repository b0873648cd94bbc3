//! Attempts and events, read from their bytes at once.
//!
//! A report reads each attempt of an experiment, and a start each event of the journal. Most of that went into messages that
//! were made, with every text and hash a piece of memory of its own, only to be taken apart. What is read most often is
//! therefore read here without them: attempts, and the events of runs that were executed.
//!
//! The messages and their conversions stay the one definition. Whatever is unusual (a field that this release does not know or
//! has seen before, a number that does not fit, a text that is no id) is not judged here: [`Unusual`] sends the bytes the
//! messages' way, which says what is wrong. Tests show for all that is read here that it is what the messages give.
//!
//! In reading order: `fields` (the wire format), `lease`, `record`.

mod fields;
mod lease;
mod record;

use std::sync::Arc;

use prost::Message;
use speedup_core::machine::event::{AttemptEnd, Change, EndedAttempt, Event};
use speedup_core::run::record::Record;
use speedup_core::value::id::{HostId, LeaseEpoch};
use speedup_core::value::time::Timestamp;

use self::fields::{Fields, Unusual, once};
use super::malformed::Malformed;
use crate::v1;

/// Reads an encoded `speedup.v1.EndedAttempt`.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn ended_attempt(bytes: &[u8]) -> Result<EndedAttempt, Malformed> {
    usual_attempt(bytes).or_else(|Unusual| {
        let wire = v1::EndedAttempt::decode(bytes).map_err(|error| Malformed::new("message", error))?;
        wire.try_into()
    })
}

/// Reads an encoded `speedup.journal.v1.Event` of a run that is executed; `None` sends its bytes the messages' way.
pub(crate) fn event(bytes: &[u8]) -> Option<Event> {
    usual_event(bytes).ok()
}

fn usual_attempt(bytes: &[u8]) -> Result<EndedAttempt, Unusual> {
    let (mut lease, mut cell, mut ended, mut record) = (None, 0, 0, None);
    let mut fields = Fields::of(bytes);
    while let Some((number, value)) = fields.next()? {
        match number {
            1 => once(&mut lease, lease::lease(value.bytes()?)?)?,
            2 => cell = value.number()?,
            3 => ended = value.fixed()?,
            4 => once(&mut record, record::record(value.bytes()?)?)?,
            _ => return Err(Unusual),
        }
    }
    Ok(EndedAttempt {
        lease: lease.ok_or(Unusual)?,
        cell,
        ended: Timestamp(ended),
        end: AttemptEnd::reported(record.ok_or(Unusual)?),
    })
}

fn usual_event(bytes: &[u8]) -> Result<Event, Unusual> {
    let (mut at, mut change) = (0, None);
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
                Change::RunReported { host, lease, record: Arc::new(record) }
            }
            _ => return Err(Unusual),
        };
        once(&mut change, next)?;
    }
    Ok(Event { at: Timestamp(at), change: change.ok_or(Unusual)? })
}

/// `RunReported`, or `RunStarted`, which is the same without a record.
fn reported(bytes: &[u8]) -> Result<(HostId, LeaseEpoch, Option<Record>), Unusual> {
    let (mut host, mut lease, mut record) = (None, 0, None);
    let mut fields = Fields::of(bytes);
    while let Some((number, value)) = fields.next()? {
        match number {
            1 => host = Some(value.text()?.parse()?),
            2 => lease = value.number()?,
            3 => once(&mut record, record::record(value.bytes()?)?)?,
            _ => return Err(Unusual),
        }
    }
    Ok((host.ok_or(Unusual)?, LeaseEpoch(lease), record))
}

#[cfg(test)]
mod tests;
