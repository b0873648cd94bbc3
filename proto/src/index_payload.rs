//! The rows of the index. A row stands alone, so its first byte is its version.

use prost::Message;
use speedup_core::event::EndedAttempt;

use crate::convert::{Malformed, StoredExperiment};
use crate::payload::{PayloadError, append, read};
use crate::{journal, v1};

/// The version of what is written.
pub const VERSION: u8 = 1;

/// The row of an attempt that ended.
pub fn encode_attempt(attempt: &EndedAttempt) -> Vec<u8> {
    row(&v1::EndedAttempt::from(attempt))
}

/// Reads the row of an attempt that ended.
pub fn decode_attempt(row: &[u8]) -> Result<EndedAttempt, PayloadError> {
    read_row::<v1::EndedAttempt, _>("attempt of the index", row)
}

/// The row of an experiment.
pub fn encode_experiment(stored: &StoredExperiment) -> Vec<u8> {
    row(&journal::v1::StoredExperiment::from(stored))
}

/// Reads the row of an experiment.
pub fn decode_experiment(row: &[u8]) -> Result<StoredExperiment, PayloadError> {
    read_row::<journal::v1::StoredExperiment, _>("experiment of the index", row)
}

fn row(message: &impl Message) -> Vec<u8> {
    let mut row = Vec::with_capacity(1 + message.encoded_len());
    row.push(VERSION);
    append(message, &mut row);
    row
}

fn read_row<W, C>(what: &'static str, row: &[u8]) -> Result<C, PayloadError>
where
    W: Message + Default,
    C: TryFrom<W, Error = Malformed>,
{
    let (version, bytes) = row.split_first().ok_or(PayloadError::Empty(what))?;
    read::<W, C>(what, VERSION, *version, bytes)
}
