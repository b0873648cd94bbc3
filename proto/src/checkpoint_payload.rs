//! The payloads of a checkpoint: the pieces of a machine, the large ones in several records.
//!
//! Only the release that wrote a checkpoint reads it. What another release would make of the same journal may differ, and
//! the journal is there: so there is nothing to migrate here, and no golden file.

use speedup_core::machine::Piece;
use thiserror::Error;

use crate::{convert::ActiveInParts, convert::Malformed, journal::v1 as journal};
use journal::checkpoint_piece::Piece as Wire;
use prost::Message as _;

/// The version of what is written, and the only one that is read.
pub const VERSION: u8 = 5;

/// The release that writes and reads them.
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// Why a checkpoint's records are not believed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CheckpointError {
    #[error("release {wrote} wrote it, this is {RELEASE}")]
    Release { wrote: String },
    #[error("its payload has version {0}, this release reads {VERSION}")]
    Version(u8),
    #[error("a record of it is no piece of a machine")]
    Bytes(#[source] prost::DecodeError),
    #[error("a piece of it has not its shape")]
    Malformed(#[source] Malformed),
    #[error("its pieces are not in order")]
    OutOfOrder,
}

/// Encodes a piece as records, each given to `append` in its order.
pub fn encode<E>(piece: &Piece, mut append: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    let mut buffer = Vec::new();
    let mut record = |piece: Wire| {
        buffer.clear();
        let piece = journal::CheckpointPiece { piece: Some(piece) };
        piece.encode(&mut buffer).expect("a Vec has room for any message");
        append(&buffer)
    };
    match piece {
        Piece::Progress { latest, next_lease } => record(Wire::Progress(journal::CheckpointProgress {
            release: RELEASE.to_owned(),
            latest_ns: latest.0,
            next_lease: next_lease.0,
        })),
        Piece::Class { id, fingerprint, emptied } => {
            record(Wire::Class(journal::CheckpointClass::new(*id, fingerprint.as_deref(), *emptied)))
        }
        Piece::Host(host) => record(Wire::Host(host.as_ref().into())),
        Piece::Superseded(superseded) => record(Wire::Superseded(superseded.into())),
        Piece::Experiment(active) => {
            record(Wire::Experiment(active.as_ref().into()))?;
            ActiveInParts::sets_of(active).try_for_each(|sets| record(Wire::Sets(sets)))?;
            ActiveInParts::runs_of(active).try_for_each(|runs| record(Wire::Runs(runs)))
        }
    }
}

/// Puts records together to pieces.
#[derive(Debug, Default)]
pub struct Decoder {
    has_begun: bool,
    experiment: Option<ActiveInParts>,
}

impl Decoder {
    /// Takes the next record; gives a piece when one is complete.
    pub fn decode(&mut self, version: u8, bytes: &[u8]) -> Result<Option<Piece>, CheckpointError> {
        use speedup_core::{value::id::LeaseEpoch, value::time::Timestamp};
        if version != VERSION {
            return Err(CheckpointError::Version(version));
        }
        let wire = journal::CheckpointPiece::decode(bytes).map_err(CheckpointError::Bytes)?;
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let malformed = CheckpointError::Malformed;
        match (wire.piece, self.experiment.take()) {
            (Some(Wire::Progress(progress)), None) if is_first => {
                let journal::CheckpointProgress { release, latest_ns, next_lease } = progress;
                if release != RELEASE {
                    return Err(CheckpointError::Release { wrote: release });
                }
                let (latest, next_lease) = (Timestamp(latest_ns), LeaseEpoch(next_lease));
                Ok(Some(Piece::Progress { latest, next_lease }))
            }
            (Some(Wire::Class(class)), None) if !is_first => class.piece().map(Some).map_err(malformed),
            (Some(Wire::Host(host)), None) if !is_first => {
                let host = host.try_into().map_err(malformed)?;
                Ok(Some(Piece::Host(Box::new(host))))
            }
            (Some(Wire::Superseded(superseded)), None) if !is_first => {
                superseded.try_into().map(Piece::Superseded).map(Some).map_err(malformed)
            }
            (Some(Wire::Experiment(experiment)), None) if !is_first => {
                self.hold(experiment.try_into().map_err(malformed)?)
            }
            (Some(Wire::Runs(runs)), Some(mut parts)) => {
                parts.add(runs).map_err(malformed)?;
                self.hold(parts)
            }
            (Some(Wire::Sets(sets)), Some(mut parts)) => {
                parts.add_sets(sets).map_err(malformed)?;
                self.hold(parts)
            }
            (_, _) => Err(CheckpointError::OutOfOrder),
        }
    }

    /// Whether nothing is missing.
    pub fn finish(self) -> Result<(), CheckpointError> {
        let is_whole = self.has_begun && self.experiment.is_none();
        if is_whole { Ok(()) } else { Err(CheckpointError::OutOfOrder) }
    }

    fn hold(&mut self, parts: ActiveInParts) -> Result<Option<Piece>, CheckpointError> {
        if !parts.is_complete() {
            self.experiment = Some(parts);
            return Ok(None);
        }
        let active = parts.finish().map_err(CheckpointError::Malformed)?;
        Ok(Some(Piece::Experiment(Box::new(active))))
    }
}
