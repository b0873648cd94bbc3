//! Payloads: stored bytes, each with a version. An unknown version is refused, never guessed at and never overwritten.
//!
//! Bytes whose meaning changed within a version would be misread silently, so `tests/golden` holds one file for each version.
//! A field that changes the meaning of others, or must not be missed, needs a new version.

use prost::Message;
use thiserror::Error;

use crate::convert::Malformed;

/// Why stored bytes cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PayloadError {
    #[error("version {version} of {what} is newer than version {known}, which this release knows")]
    Newer { what: &'static str, version: u8, known: u8 },
    #[error("no release writes version {version} of {what}")]
    NeverWritten { what: &'static str, version: u8 },
    /// No row can be empty: it begins with its version.
    #[error("an empty row is not a valid {0}")]
    Empty(&'static str),
    #[error("the bytes are not a valid {what}")]
    Bytes { what: &'static str, source: prost::DecodeError },
    #[error("not a valid {what} for this release")]
    Malformed { what: &'static str, source: Malformed },
}

speedup_core::hints! { PayloadError: Self::Newer { .. } => "start the release that wrote it, or a later one" }

pub(crate) fn append(message: &impl Message, into: &mut Vec<u8>) {
    message.encode(into).expect("a Vec has room for any message");
}

/// Decodes a payload of a version.
pub(crate) fn read<W, C>(what: &'static str, known: u8, version: u8, bytes: &[u8]) -> Result<C, PayloadError>
where
    W: Message + Default,
    C: TryFrom<W, Error = Malformed>,
{
    if version > known {
        return Err(PayloadError::Newer { what, version, known });
    }
    if version == 0 {
        return Err(PayloadError::NeverWritten { what, version });
    }
    let wire = W::decode(bytes).map_err(|source| PayloadError::Bytes { what, source })?;
    C::try_from(wire).map_err(|source| PayloadError::Malformed { what, source })
}
