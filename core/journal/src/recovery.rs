//! Opening a journal: what is there is checked, the rest of a power cut is cut, damage is left alone.

use crate::directory::{Directory, SegmentFile, read_full_at, write_all_at};
use crate::failure::Failure;
use crate::journal::Options;
use crate::lock::LockError;
use crate::segment::{self, OpenSegment, SegmentError, SegmentReader};
use speedup_core::journal::{Encoder, Extent, HEADER_BYTES, JournalId, Position, SegmentHeader, Tail};
use std::io;
use std::path::PathBuf;

/// What opening found and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// Which journal it is: the one asked for if it was just made, else the one found.
    pub id: JournalId,
    /// How many segment files there are.
    pub segments: usize,
    /// The oldest position still there; equal to `next` when there is no record.
    pub first: Position,
    /// The position that the next record will get.
    pub next: Position,
    /// What was cut off the end.
    pub cut: Option<Cut>,
}

/// The rest of a group that was never acknowledged, cut off the last segment. Often it is only a mark, and no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The segment.
    pub file: PathBuf,
    /// Its length now.
    pub at_byte: u64,
    /// How many bytes were cut.
    pub bytes: u64,
    /// The position that the first lost record had; the next record gets it anew.
    pub position: Position,
    /// Intact records and marks behind the tear that were cut with it; they were not acknowledged either.
    pub intact_beyond: u64,
}

/// How much of the journal opening reads. The last segment is always read in full, and every header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenCheck {
    /// All segments.
    EverySegment,
    /// The last one: for a caller that replays the rest at once, and meets any damage then.
    LastSegment,
}

/// Why a journal cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it open, or the lock failed.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// What was acknowledged is no longer there as it was written; nothing was changed.
    #[error(transparent)]
    Damaged(segment::Damaged),
    /// A newer program wrote it; nothing was changed.
    #[error("{} has journal format version {version}, which this program does not know", file.display())]
    Newer {
        /// The first segment of that version.
        file: PathBuf,
        /// The version it has.
        version: u32,
    },
    /// A file operation failed.
    #[error(transparent)]
    Failed(#[from] Failure),
}

impl OpenError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            OpenError::Lock(error) => error.hint(),
            OpenError::Damaged(_) => Some(segment::DAMAGED_HINT),
            OpenError::Newer { .. } => Some(segment::NEWER_HINT),
            OpenError::Failed(failure) => failure.hint(),
        }
    }
}

impl From<SegmentError> for OpenError {
    fn from(error: SegmentError) -> OpenError {
        match error {
            SegmentError::Damaged(damaged) => OpenError::Damaged(damaged),
            SegmentError::Newer { file, version } => OpenError::Newer { file, version },
            SegmentError::Failed(failure) => OpenError::Failed(failure),
        }
    }
}

/// A journal that is ready to be written.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) segments: Vec<Position>,
    pub(crate) current: OpenSegment,
    pub(crate) recovery: Recovery,
}

/// Opens what is in `directory`, or makes a new journal there. Nothing is written before everything is checked.
pub(crate) fn recover(directory: &dyn Directory, options: &Options) -> Result<Recovered, OpenError> {
    let segments = segment::list(directory)?;
    let Some((last, earlier)) = segments.split_last() else {
        segment::remove_unfinished(directory)?;
        let header = SegmentHeader { journal: options.id_if_new, first: Position::START };
        return Ok(recovered(vec![header.first], segment::create(directory, &header)?, header.journal, None));
    };
    let mut reader = SegmentReader::open(directory, *last, None, Tail::MayBeTorn)?;
    let id = reader.header().journal;
    check_earlier(directory, earlier, *last, id, options.check)?;
    reader.check()?;
    segment::remove_unfinished(directory)?;
    let current = settle(directory, &reader)?;
    let cut = reader.torn().map(|torn| Cut {
        file: current.path.clone(),
        at_byte: torn.at,
        bytes: reader.end() - torn.at,
        position: torn.position,
        intact_beyond: torn.intact_beyond,
    });
    Ok(recovered(segments, current, id, cut))
}

fn recovered(segments: Vec<Position>, current: OpenSegment, id: JournalId, cut: Option<Cut>) -> Recovered {
    let next = current.encoder.next();
    let first = segments.first().copied().unwrap_or(next);
    let recovery = Recovery { id, segments: segments.len(), first, next, cut };
    Recovered { segments, current, recovery }
}

/// An earlier segment is complete: whatever it lacks was lost by the disk.
fn check_earlier(
    directory: &dyn Directory,
    earlier: &[Position],
    last: Position,
    whose: JournalId,
    check: OpenCheck,
) -> Result<(), SegmentError> {
    let following = earlier.iter().skip(1).chain([&last]);
    for (first, next) in earlier.iter().zip(following) {
        let tail = Tail::Complete { next: *next };
        let mut reader = SegmentReader::open(directory, *first, Some(whose), tail)?;
        match check {
            OpenCheck::EverySegment => reader.check()?,
            OpenCheck::LastSegment => {}
        }
    }
    Ok(())
}

/// Makes the valid part of the last segment durable, the rest gone, and the segment ready for the next group.
fn settle(directory: &dyn Directory, reader: &SegmentReader) -> Result<OpenSegment, Failure> {
    let header = reader.header();
    let extent = reader.extent();
    let path = reader.path().clone();
    let name = segment::file_name(header.first);
    let file = directory.open_to_write(&name).map_err(Failure::of("open for writing", &path))?;
    if reader.torn().is_some() {
        file.truncate(extent.end).map_err(Failure::of("cut", &path))?;
    }
    rewrite_unproven(&*file, &extent).map_err(Failure::of("write", &path))?;
    file.sync().map_err(Failure::of("sync", &path))?;
    directory.sync().map_err(Failure::of("sync", directory.path()))?;
    let mut encoder = Encoder::resume(&header, &extent);
    if !extent.marked && extent.end > HEADER_BYTES {
        let mut mark = Vec::new();
        let at = encoder.offset();
        encoder.mark(&mut mark);
        write_all_at(&*file, &mark, at).map_err(Failure::of("write", &path))?;
    }
    Ok(OpenSegment { path, file, encoder })
}

/// Writes the last group again as it is.
///
/// If its sync failed before, the system may have dropped the pages' "to be written" and kept the pages: they read well,
/// a new sync succeeds, and the disk never had them. Written again, they are to be written again.
fn rewrite_unproven(file: &dyn SegmentFile, extent: &Extent) -> io::Result<()> {
    const CHUNK: u64 = 1 << 20;
    let mut offset = extent.durable_end;
    while offset < extent.end {
        let mut chunk = vec![0; CHUNK.min(extent.end - offset) as usize];
        let read = read_full_at(file, &mut chunk, offset)?;
        if read < chunk.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        write_all_at(file, &chunk, offset)?;
        offset += read as u64;
    }
    Ok(())
}
