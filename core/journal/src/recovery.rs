//! Opening a journal: what is there is locked and checked, the rest of a power cut is cut, damage is left alone.

use crate::directory::{Directory, SegmentFile, read_full_at, write_all_at};
use crate::failure::JournalFailure;
use crate::lock::{Holder, LockError};
use crate::private::NotPrivate;
use crate::segment::{self, Beginning, Missing, OpenSegment, SegmentError, SegmentReader};
use speedup_core::journal::{Encoder, Extent, HEADER_BYTES, JournalId, Position, SegmentHeader, Tail};
use std::{io, path::PathBuf};

/// A segment's usual length: it is copied and removed as a whole, and the last one is read in full on opening.
const USUAL_SEGMENT_BYTES: u64 = 64 << 20;

/// How to open a journal.
#[derive(Debug, Clone)]
pub struct Options {
    /// The id it gets if it has to be made.
    pub id_if_new: JournalId,
    /// A segment with this many bytes gets no further group. It may be longer by one group.
    pub segment_bytes: u64,
    /// How many zeros are written ahead of the records, so that a small group changes only bytes that the file has: its sync
    /// is then shorter, for neither the length of the file nor its place on the disk changes. None where the disk is to be
    /// left alone.
    pub bytes_ahead: usize,
    /// How much of it is read on opening.
    pub check: OpenCheck,
    /// Where it may begin.
    pub beginning: Beginning,
}

/// What opening found and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// Which journal it is: the one asked for if it was just made, else the one found.
    pub id: JournalId,
    pub segments: usize,
    /// The oldest position still there; equal to `next` when there is no record.
    pub first: Position,
    /// The position that the next record will get.
    pub next: Position,
    /// What was cut off the end.
    pub cut: Option<Cut>,
}

/// A group that is not whole, cut off the last segment. Often it is only a mark, and no record.
///
/// A group is acknowledged when it is synced; so nothing of this one was, unless the disk lost what it had said to be
/// synced. The journal alone cannot tell: whoever was told of its records can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    pub file: PathBuf,
    pub at_byte: u64,
    pub bytes: u64,
    /// The position that the first lost record had; the next record gets it anew.
    pub position: Position,
    /// Intact records and marks behind the tear that were cut with it.
    pub intact_beyond: u64,
}

/// How much of the journal opening reads. The last segment is always read in full, and every header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenCheck {
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
    /// Its directory is not its owner's alone; nothing was changed.
    #[error(transparent)]
    NotPrivate(#[from] NotPrivate),
    /// Segments are not there; nothing was changed.
    #[error(transparent)]
    Missing(Missing),
    /// A newer program wrote it; nothing was changed.
    #[error("{} has journal format version {version}, which this program does not know", file.display())]
    Newer {
        /// The first segment of that version.
        file: PathBuf,
        version: u32,
    },
    #[error(transparent)]
    Failed(#[from] JournalFailure),
}

impl Options {
    /// The usual ones.
    pub fn new(id_if_new: JournalId) -> Options {
        Options {
            id_if_new,
            segment_bytes: USUAL_SEGMENT_BYTES,
            bytes_ahead: 0,
            check: OpenCheck::EverySegment,
            beginning: Beginning::AtStart,
        }
    }
}

speedup_core::hints! { OpenError:
    OpenError::Lock(error) => error.hint(),
    OpenError::Damaged(_) => segment::DAMAGED_HINT,
    OpenError::NotPrivate(error) => error.hint(),
    OpenError::Missing(_) => segment::MISSING_HINT,
    OpenError::Newer { .. } => segment::NEWER_HINT,
    OpenError::Failed(failure) => failure.hint(),
}

impl From<SegmentError> for OpenError {
    fn from(error: SegmentError) -> OpenError {
        match error {
            SegmentError::Damaged(damaged) => OpenError::Damaged(damaged),
            SegmentError::Missing(missing) => OpenError::Missing(missing),
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

/// A journal that was checked and is locked, and not changed.
#[derive(Debug)]
pub(crate) struct Checked {
    segments: Vec<Position>,
    last: SegmentReader,
    /// The last segment, which is locked as long as this is open.
    file: Box<dyn SegmentFile>,
    pub(crate) recovery: Recovery,
}

/// Checks what is in `directory`; nothing where there is no journal. Nothing is written.
pub(crate) fn check(directory: &dyn Directory, options: &Options) -> Result<Option<Checked>, OpenError> {
    let Some((segments, file)) = lock_last(directory)? else { return Ok(None) };
    let Some(last) = segments.last() else { return Ok(None) };
    let mut reader = SegmentReader::open(directory, *last, None, Tail::MayBeTorn)?;
    let id = reader.header().journal;
    segment::check_whole(directory, &segments, id, options.beginning)?;
    match options.check {
        OpenCheck::EverySegment => check_earlier(directory, &segments, id)?,
        OpenCheck::LastSegment => {}
    }
    reader.check()?;
    let cut = reader.torn().map(|torn| Cut {
        file: reader.path().clone(),
        at_byte: torn.at,
        bytes: torn.end - torn.at,
        position: torn.position,
        intact_beyond: torn.intact_beyond,
    });
    let (next, first) = (reader.extent().next, segments.first().copied().unwrap_or_default());
    let recovery = Recovery { id, segments: segments.len(), first, next, cut };
    Ok(Some(Checked { segments, last: reader, file, recovery }))
}

pub(crate) fn make(directory: &dyn Directory, options: &Options) -> Result<Recovered, OpenError> {
    segment::remove_unfinished(directory)?;
    let header = SegmentHeader { journal: options.id_if_new, first: Position::START };
    let current = segment::create(directory, &header)?;
    let first = header.first;
    let recovery = Recovery { id: header.journal, segments: 1, first, next: first, cut: None };
    Ok(Recovered { segments: vec![first], current, recovery })
}

impl Checked {
    /// Cuts what is not whole, and makes the journal ready for the next group.
    pub(crate) fn settle(self, directory: &dyn Directory) -> Result<Recovered, OpenError> {
        let Checked { segments, last, file, recovery } = self;
        segment::remove_unfinished(directory)?;
        let current = settle(directory, &last, file)?;
        Ok(Recovered { segments, current, recovery })
    }
}

/// How often the last segment is looked for: a service that goes on to another while we look has that one locked too.
const LOOKS: u32 = 8;

/// All segments, and the file of the last one.
type Found = (Vec<Position>, Box<dyn SegmentFile>);

/// Locks the last segment, also where the directory's lock was to be had: its file may have been removed under a service
/// that runs. Gives all segments, and the last one; nothing where there are none.
fn lock_last(directory: &dyn Directory) -> Result<Option<Found>, OpenError> {
    let held = || {
        let directory = directory.path().to_owned();
        OpenError::Lock(LockError::Held { directory, holder: Holder(None) })
    };
    let mut segments = segment::list(directory)?;
    for _ in 0..LOOKS {
        let Some(last) = segments.last() else { return Ok(None) };
        let name = segment::file_name(*last);
        let path = directory.path().join(&name);
        let file = directory.open_to_write(&name).map_err(JournalFailure::of("open for writing", &path))?;
        if !file.lock().map_err(JournalFailure::of("lock", &path))? {
            return Err(held());
        }
        let again = segment::list(directory)?;
        if again.last() == Some(last) {
            return Ok(Some((again, file)));
        }
        segments = again;
    }
    Err(held())
}

/// An earlier segment is complete: whatever it lacks was lost by the disk.
fn check_earlier(
    directory: &dyn Directory,
    segments: &[Position],
    whose: JournalId,
) -> Result<(), SegmentError> {
    for (first, next) in segments.iter().zip(segments.iter().skip(1)) {
        SegmentReader::open(directory, *first, Some(whose), Tail::Complete { next: *next })?.check()?;
    }
    Ok(())
}

/// Makes the valid part of the last segment durable, the rest gone, and the segment ready for the next group.
fn settle(
    directory: &dyn Directory,
    reader: &SegmentReader,
    file: Box<dyn SegmentFile>,
) -> Result<OpenSegment, JournalFailure> {
    let header = reader.header();
    let extent = reader.extent();
    let path = reader.path().clone();
    if reader.end() > extent.end {
        file.truncate(extent.end).map_err(JournalFailure::of("cut", &path))?;
    }
    rewrite_unproven(&*file, &extent).map_err(JournalFailure::of("write", &path))?;
    file.sync().map_err(JournalFailure::of("sync", &path))?;
    directory.sync().map_err(JournalFailure::of("sync", directory.path()))?;
    let mut encoder = Encoder::resume(&header, &extent);
    if !extent.marked && extent.end > HEADER_BYTES {
        let mut mark = Vec::new();
        let at = encoder.offset();
        encoder.mark(&mut mark);
        write_all_at(&*file, &mark, at).map_err(JournalFailure::of("write", &path))?;
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
