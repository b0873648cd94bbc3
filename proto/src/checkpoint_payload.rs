//! The payloads of a checkpoint: the pieces of a machine, each a line of JSON, a long one in several records.
//!
//! Only the release that wrote a checkpoint reads it. What another release would make of the same journal may differ, and
//! the journal is there: so there is nothing to migrate here, and no golden file.

use std::mem;

use speedup_core::machine::Piece;
use thiserror::Error;

/// The version of what is written, and the only one that is read.
pub const VERSION: u8 = 6;

/// The release that writes and reads them: the first record.
const RELEASE: &str = env!("CARGO_PKG_VERSION");
/// Most bytes of a record; the journal's files take four times as many.
const RECORD_BYTES: usize = 4 << 20;
/// Most characters that are shown of another release's name.
const SHOWN: usize = 40;

/// Why the records of a checkpoint are refused.
#[derive(Debug, Error)]
pub enum CheckpointError {
    #[error("release {wrote} wrote it, this is {RELEASE}")]
    Release { wrote: String },
    #[error("its payload has version {0}, this release reads {VERSION}")]
    Version(u8),
    #[error("a record of it is not a piece of a machine")]
    Piece(#[source] serde_json::Error),
    #[error("its pieces are not in order")]
    OutOfOrder,
}

/// Encodes a piece as records, each given to `append` in its order. The release goes before the first piece, the progress.
pub fn encode<E>(piece: &Piece, mut append: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    if piece.is_progress() {
        append(RELEASE.as_bytes())?;
    }
    let mut line = serde_json::to_vec(piece).expect("the keys of its maps are ids and numbers");
    line.push(b'\n');
    line.chunks(RECORD_BYTES).try_for_each(append)
}

/// Puts the records of a checkpoint together to pieces.
#[derive(Debug, Default)]
pub struct Decoder {
    next: NextRecord,
    /// The beginning of a piece, the rest of which is in the next records. The size of the file bounds it, which lies in a
    /// directory that only the coordinator's user may write.
    line: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum NextRecord {
    #[default]
    Release,
    Progress,
    OtherPieces,
}

impl Decoder {
    /// Takes the next record; returns a piece when one is complete.
    pub fn decode(&mut self, version: u8, bytes: &[u8]) -> Result<Option<Piece>, CheckpointError> {
        if version != VERSION {
            return Err(CheckpointError::Version(version));
        }
        if self.next == NextRecord::Release {
            if bytes != RELEASE.as_bytes() {
                let wrote = String::from_utf8_lossy(bytes).chars().take(SHOWN).collect();
                return Err(CheckpointError::Release { wrote });
            }
            self.next = NextRecord::Progress;
            return Ok(None);
        }
        self.line.extend_from_slice(bytes);
        // JSON escapes the newlines of texts, so that one can only be the end.
        if !bytes.ends_with(b"\n") {
            return Ok(None);
        }
        let piece: Piece =
            serde_json::from_slice(&mem::take(&mut self.line)).map_err(CheckpointError::Piece)?;
        if piece.is_progress() != (self.next == NextRecord::Progress) {
            return Err(CheckpointError::OutOfOrder);
        }
        self.next = NextRecord::OtherPieces;
        Ok(Some(piece))
    }

    /// Refuses a checkpoint of which the end is missing.
    pub fn finish(self) -> Result<(), CheckpointError> {
        if self.next != NextRecord::OtherPieces || !self.line.is_empty() {
            return Err(CheckpointError::OutOfOrder);
        }
        Ok(())
    }
}
