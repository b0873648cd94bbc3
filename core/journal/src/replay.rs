//! Reading a journal from any position on, with bounded memory, by its writer or beside it.

use crate::checkpoint::Checkpoints;
use crate::directory::{Directory, DiskDirectory};
use crate::failure::JournalFailure;
use crate::segment::{self, Beginning, SegmentError, SegmentReader};
use speedup_core::journal::{JournalId, JournalRecord, PayloadVersion, Position, Tail};
use std::{collections::VecDeque, path::Path, path::PathBuf, sync::Arc};

/// Reads a journal without its lock, also while a service writes it.
///
/// It ends where the journal itself proves that all was synced: while the service runs that is the last acknowledged
/// record. After a power cut the last group may not be proven; opening the [`Journal`](crate::Journal) decides on it.
#[derive(Debug)]
pub struct Reader {
    directory: Arc<dyn Directory>,
    journal: JournalId,
    segments: Vec<Position>,
    durable_end: Position,
    /// Bytes of the last segment up to the end of its last intact frame.
    last_bytes: u64,
}

/// The records of a journal from a position on, in order.
///
/// [`Replay::next_record`] lends each record; as an `Iterator` it gives owned ones. It ends after an error.
#[derive(Debug)]
pub struct Replay {
    directory: Arc<dyn Directory>,
    journal: JournalId,
    from: Position,
    segments: VecDeque<Position>,
    durable_end: Position,
    current: Option<SegmentReader>,
}

/// A record that owns its payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedRecord {
    pub position: Position,
    pub version: PayloadVersion,
    pub payload: Vec<u8>,
}

/// Why a journal cannot be read on.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("there is no journal in {}", directory.display())]
    Absent { directory: PathBuf },
    #[error("the journal in {} has no position {from}: it holds {first} to {end}, the end excluded", directory.display())]
    OutOfRange { directory: PathBuf, from: Position, first: Position, end: Position },
    #[error(transparent)]
    Segment(#[from] SegmentError),
}

speedup_core::hints! { ReplayError:
    ReplayError::Absent { .. } => "check the directory; a coordinator makes its journal at its first start",
    ReplayError::OutOfRange { .. } => "begin at the first position there is; older ones were compacted",
    ReplayError::Segment(error) => error.hint(),
}

impl Reader {
    /// Looks at the journal in `directory` as it is now.
    pub fn open(directory: impl AsRef<Path>) -> Result<Reader, ReplayError> {
        Reader::open_on(Arc::new(DiskDirectory::new(directory.as_ref())))
    }

    /// The same behind the seam.
    pub fn open_on(directory: Arc<dyn Directory>) -> Result<Reader, ReplayError> {
        let segments = segment::list(&*directory).map_err(SegmentError::Failed)?;
        let Some(last) = segments.last() else {
            return Err(ReplayError::Absent { directory: directory.path().to_owned() });
        };
        let mut reader = SegmentReader::open(&*directory, *last, None, Tail::MayBeTorn)?;
        reader.check()?;
        Ok(Reader {
            journal: reader.header().journal,
            durable_end: reader.extent().durable_next,
            last_bytes: reader.extent().end,
            directory,
            segments,
        })
    }

    /// Looks at the journal of a checkpoint as it is now, for whoever makes the next one.
    pub fn of(checkpoints: &Checkpoints) -> Result<Reader, ReplayError> {
        Reader::open_on(checkpoints.directory().clone())
    }

    /// Which journal it is.
    pub fn id(&self) -> JournalId {
        self.journal
    }

    /// The oldest position still there; equal to the durable end when there is no record.
    pub fn first(&self) -> Position {
        self.segments.first().copied().unwrap_or(self.durable_end)
    }

    /// Checks that it begins at its start and that no segment is missing behind that. What stands in the segments is not
    /// read; a replay reads it.
    pub fn require_whole(&self) -> Result<(), ReplayError> {
        let begins = Beginning::AtStart;
        Ok(segment::check_whole(&*self.directory, &self.segments, self.journal, begins)?)
    }

    /// Where its checkpoint is kept.
    pub fn checkpoints(&self) -> Checkpoints {
        Checkpoints::of(self.directory.clone(), self.journal)
    }

    /// First positions of its segments, ascending.
    pub fn segments(&self) -> &[Position] {
        &self.segments
    }

    /// The position after the last record that was durable when this reader was opened.
    pub fn durable_end(&self) -> Position {
        self.durable_end
    }

    /// The names of its segment files, and how much of each is to be copied so that the copies are this journal: all of
    /// those that are closed, and of the last one no more than was intact when this reader was opened.
    pub fn files(&self) -> Result<Vec<(String, u64)>, ReplayError> {
        let mut files = Vec::with_capacity(self.segments.len());
        for first in &self.segments {
            let name = segment::file_name(*first);
            let bytes = if self.segments.last() == Some(first) {
                self.last_bytes
            } else {
                let path = self.directory.path().join(&name);
                let length = self.directory.open_to_read(&name).and_then(|file| file.length());
                length.map_err(JournalFailure::of("get the length of", path)).map_err(SegmentError::Failed)?
            };
            files.push((name, bytes));
        }
        Ok(files)
    }

    /// The records from `from` up to the durable end.
    pub fn replay(&self, from: Position) -> Result<Replay, ReplayError> {
        Replay::new(self.directory.clone(), self.journal, &self.segments, from, self.durable_end)
    }
}

impl Replay {
    /// `segments` ascend; the last one ends at `durable_end`.
    pub(crate) fn new(
        directory: Arc<dyn Directory>,
        journal: JournalId,
        segments: &[Position],
        from: Position,
        durable_end: Position,
    ) -> Result<Replay, ReplayError> {
        let first = segments.first().copied().unwrap_or(durable_end);
        if !(first..=durable_end).contains(&from) {
            let directory = directory.path().to_owned();
            return Err(ReplayError::OutOfRange { directory, from, first, end: durable_end });
        }
        let skipped = segments.partition_point(|segment| *segment <= from).saturating_sub(1);
        let segments = segments.iter().skip(skipped).copied().collect();
        Ok(Replay { directory, journal, from, segments, durable_end, current: None })
    }

    /// The next record, borrowed from the read buffer; `None` at the durable end.
    pub fn next_record(&mut self) -> Result<Option<JournalRecord<'_>>, ReplayError> {
        match self.advance() {
            Ok(()) => Ok(self.current.as_ref().and_then(SegmentReader::record)),
            Err(error) => {
                self.current = None;
                self.segments.clear();
                Err(error.into())
            }
        }
    }

    /// Goes to the next record at or after `from`, or to the end, where there is no current segment.
    fn advance(&mut self) -> Result<(), SegmentError> {
        loop {
            match &mut self.current {
                Some(segment) => {
                    if !segment.advance()? {
                        self.current = None;
                    } else if segment.record().is_some_and(|record| record.position >= self.from) {
                        return Ok(());
                    }
                }
                None => match self.segments.pop_front() {
                    Some(first) => self.current = Some(self.open(first)?),
                    None => return Ok(()),
                },
            }
        }
    }

    fn open(&self, first: Position) -> Result<SegmentReader, SegmentError> {
        let next = self.segments.front().copied().unwrap_or(self.durable_end);
        SegmentReader::open(&*self.directory, first, Some(self.journal), Tail::Complete { next })
    }
}

impl Iterator for Replay {
    type Item = Result<OwnedRecord, ReplayError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.next_record() {
            Ok(Some(JournalRecord { position, version, payload })) => {
                Some(Ok(OwnedRecord { position, version, payload: payload.to_vec() }))
            }
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        }
    }
}
