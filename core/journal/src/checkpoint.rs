//! A checkpoint: what a reader made of the journal's first records, kept beside the segments so that it need not read
//! them again.
//!
//! It stands for the records before one position, the first of a segment. It is written under another name, synced, and
//! takes its place at once; it is read to its end before it is believed. Whatever is wrong with it, the journal has all it
//! says: so it is never repaired, and one that is not believed is set aside, before segments that were put back from
//! a backup could grow to its position. One of another journal is refused: directories were mixed, and nobody knows
//! which of the two is the wrong one.
//!
//! The file has the format of a segment, under an id that is no journal's: so every byte is checked, and it cannot be
//! taken for a segment. The mark at its end says that it is whole.

use crate::directory::{Directory, SegmentFile, write_all_at};
use crate::failure::JournalFailure;
use crate::segment::{DamagedBy, SegmentError, SegmentReader};
use speedup_core::journal::{
    Encoder, JournalId, JournalRecord, PayloadVersion, Position, RecordTooLarge, SegmentHeader, Tail,
};
use std::{io, path::Path, path::PathBuf, sync::Arc};

const NAME: &str = "checkpoint";
const UNFINISHED_NAME: &str = "checkpoint.new";
/// Where one that was not believed is kept: the last of them.
const ASIDE_NAME: &str = "checkpoint.damaged";

/// Records gathered before they are written.
const WRITTEN_AT_ONCE: usize = 1 << 20;

/// The checkpoint of a journal. It needs no lock; only one may write.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    directory: Arc<dyn Directory>,
    journal: JournalId,
}

/// Why a checkpoint was not written; the one before is still there.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CheckpointWriteError {
    #[error(transparent)]
    TooLarge(#[from] RecordTooLarge),
    #[error(transparent)]
    Failed(#[from] JournalFailure),
}

/// Why a checkpoint is not believed.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointReadError {
    /// It cannot be read, or not to its end.
    #[error(transparent)]
    Unreadable(#[from] SegmentError),
    #[error("it is not whole")]
    NotWhole,
}

impl CheckpointReadError {
    /// Whether it is an intact checkpoint of another journal.
    pub fn is_foreign(&self) -> bool {
        match self {
            Self::Unreadable(SegmentError::Damaged(damaged)) => matches!(damaged.why, DamagedBy::Foreign(_)),
            Self::Unreadable(
                SegmentError::Newer { .. } | SegmentError::Missing(_) | SegmentError::Failed(_),
            )
            | Self::NotWhole => false,
        }
    }
}

impl Checkpoints {
    pub(crate) fn of(directory: Arc<dyn Directory>, journal: JournalId) -> Checkpoints {
        Checkpoints { directory, journal }
    }

    /// Whether a checkpoint, of whatever journal, lies in a directory.
    pub fn lies_in(directory: &Path) -> bool {
        directory.join(NAME).exists()
    }

    /// Writes the checkpoint that stands for the records before `position`, durably and in place of the one before.
    /// `fill` appends its records.
    pub fn write(
        &self,
        position: Position,
        version: PayloadVersion,
        fill: impl FnOnce(&mut CheckpointWriter) -> Result<(), CheckpointWriteError>,
    ) -> Result<(), CheckpointWriteError> {
        let path = self.directory.path().join(UNFINISHED_NAME);
        let header = SegmentHeader { journal: disguised(self.journal), first: position };
        let file = self.directory.create(UNFINISHED_NAME).map_err(JournalFailure::of("create", &path))?;
        write_all_at(&*file, &header.encode(), 0).map_err(JournalFailure::of("write", &path))?;
        let mut writer =
            CheckpointWriter { file, encoder: Encoder::new(&header), version, gathered: Vec::new() };
        fill(&mut writer)?;
        writer.encoder.mark(&mut writer.gathered);
        writer.flush().map_err(JournalFailure::of("write", &path))?;
        writer.file.sync().map_err(JournalFailure::of("sync", &path))?;
        self.directory.rename(UNFINISHED_NAME, NAME).map_err(JournalFailure::of("name", &path))?;
        Ok(self.directory.sync().map_err(JournalFailure::of("sync", self.directory.path()))?)
    }

    /// Opens the checkpoint, if there is one.
    pub fn read(&self) -> Result<Option<CheckpointReader>, CheckpointReadError> {
        let names = self.directory.list();
        let names =
            names.map_err(JournalFailure::of("list", self.directory.path())).map_err(SegmentError::Failed)?;
        if !names.iter().any(|name| name == NAME) {
            return Ok(None);
        }
        let whose = Some(disguised(self.journal));
        let reader = SegmentReader::open_named(&*self.directory, NAME, whose, Tail::MayBeTorn)?;
        Ok(Some(CheckpointReader { reader }))
    }

    /// Gives the checkpoint a name under which nobody reads it, and says which; one that was set aside before goes.
    pub fn set_aside(&self) -> Result<PathBuf, JournalFailure> {
        let aside = self.directory.path().join(ASIDE_NAME);
        match self.directory.rename(NAME, ASIDE_NAME) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(JournalFailure::of("name", aside)(error));
            }
            Ok(()) | Err(_) => {}
        }
        self.directory.sync().map_err(JournalFailure::of("sync", self.directory.path()))?;
        Ok(aside)
    }

    /// Where it is kept, beside the segments.
    pub(crate) fn directory(&self) -> &Arc<dyn Directory> {
        &self.directory
    }
}

/// Takes the records of a checkpoint.
#[derive(Debug)]
pub struct CheckpointWriter {
    file: Box<dyn SegmentFile>,
    encoder: Encoder,
    version: PayloadVersion,
    gathered: Vec<u8>,
}

impl CheckpointWriter {
    /// Appends a record.
    pub fn append(&mut self, payload: &[u8]) -> Result<(), CheckpointWriteError> {
        self.encoder.record(self.version, payload, &mut self.gathered)?;
        if self.gathered.len() >= WRITTEN_AT_ONCE {
            self.flush().map_err(JournalFailure::of("write", UNFINISHED_NAME))?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let at = self.encoder.offset() - self.gathered.len() as u64;
        write_all_at(&*self.file, &self.gathered, at)?;
        self.gathered.clear();
        Ok(())
    }
}

/// Reads a checkpoint; nothing of it may be believed before its end was reached.
#[derive(Debug)]
pub struct CheckpointReader {
    reader: SegmentReader,
}

impl CheckpointReader {
    /// It stands for the records before this position.
    pub fn position(&self) -> Position {
        self.reader.header().first
    }

    /// The next record; `None` at the end of a checkpoint that is whole.
    pub fn next_record(&mut self) -> Result<Option<JournalRecord<'_>>, CheckpointReadError> {
        if self.reader.advance()? {
            return Ok(self.reader.record());
        }
        let extent = self.reader.extent();
        let is_whole = self.reader.torn().is_none() && extent.marked && extent.end == self.reader.end();
        if is_whole { Ok(None) } else { Err(CheckpointReadError::NotWhole) }
    }
}

/// An id that no journal of a UUID has: the version's bits are inverted with the others.
fn disguised(journal: JournalId) -> JournalId {
    JournalId(journal.0.map(|byte| !byte))
}
