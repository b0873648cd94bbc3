//! Segment files: their names, how one is made, and how one is read with a bounded buffer.

use crate::directory::{Directory, SegmentFile, read_full_at, write_all_at};
use crate::failure::JournalFailure;
use speedup_core::journal::{
    Damage, DamageKind, Encoder, Extent, HEADER_BYTES, HeaderError, JournalId, JournalRecord, MARK_BYTES,
    PayloadVersion, Position, ScanStep, Scanner, SegmentEnd, SegmentHeader, Tail, TornTail, marked_end,
};
use std::{io::ErrorKind, ops::Range, path::PathBuf};

/// How much is read at once. Larger records get a larger buffer, up to the longest record.
const READ_BYTES: usize = 256 << 10;

pub(crate) const DAMAGED_HINT: &str = "nothing was changed: restore this segment from a backup, or keep a copy and move it and all later segments away \
     to go on without the records from that position on; and check the disk";
pub(crate) const MISSING_HINT: &str = "nothing was changed: check whether the file system of this directory is \
    mounted and whether segments (*.seg) were moved away, and put them back; otherwise restore a backup into \
    another directory";
pub(crate) const NEWER_HINT: &str = "open it with the program that wrote it, or a newer one";

const SUFFIX: &str = ".seg";
const UNFINISHED_SUFFIX: &str = ".seg.new";

/// Why a segment cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// What was acknowledged is no longer there as it was written.
    #[error(transparent)]
    Damaged(#[from] Damaged),
    #[error("{} has journal format version {version}, which this program does not know", file.display())]
    Newer { file: PathBuf, version: u32 },
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The file could not be read.
    #[error(transparent)]
    Failed(#[from] JournalFailure),
}

/// Records that were in segments of which none is there; all other files were left as they are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "records are missing from the journal in {}: no segment has those from position {from} to {next}, the end excluded; \
     the first was in {}", directory.display(), file_name(*from)
)]
pub struct Missing {
    pub directory: PathBuf,
    /// The first missing record.
    pub from: Position,
    /// The first record behind them that is there.
    pub next: Position,
}

/// Where a journal is damaged. The file was left as it is.
#[derive(Debug, thiserror::Error)]
#[error("the journal is damaged: {} cannot be read from byte {at_byte} (position {position}) on", file.display())]
pub struct Damaged {
    pub file: PathBuf,
    pub at_byte: u64,
    /// The first record that cannot be read.
    pub position: Position,
    #[source]
    pub why: DamagedBy,
}

/// What is wrong with a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DamagedBy {
    /// A frame is not what was written.
    #[error(transparent)]
    Frame(DamageKind),
    /// The header is not what was written.
    #[error(transparent)]
    Header(HeaderError),
    /// It was copied here from another journal.
    #[error("it belongs to another journal, {0}")]
    Foreign(JournalId),
    #[error("its name does not fit its first position, {0}")]
    Misnamed(Position),
    /// It goes on behind the first record of the next one, as after files of two copies were mixed.
    #[error("it holds records up to position {end}, and the next segment begins at {next}")]
    Overlaps {
        /// The position after its last record.
        end: Position,
        /// The first record of the next segment.
        next: Position,
    },
}

speedup_core::hints! { SegmentError:
    SegmentError::Damaged(_) => DAMAGED_HINT,
    SegmentError::Newer { .. } => NEWER_HINT,
    SegmentError::Missing(_) => MISSING_HINT,
    SegmentError::Failed(failure) => failure.hint(),
}

/// Name of the segment whose first record has this position.
pub(crate) fn file_name(first: Position) -> String {
    format!("{:016x}{SUFFIX}", first.0)
}

pub(crate) fn list(directory: &dyn Directory) -> Result<Vec<Position>, JournalFailure> {
    let names = directory.list().map_err(JournalFailure::of("list", directory.path()))?;
    let mut segments: Vec<Position> = names.iter().filter_map(|name| position_in(name)).collect();
    segments.sort_unstable();
    Ok(segments)
}

fn position_in(name: &str) -> Option<Position> {
    let first = Position(u64::from_str_radix(name.strip_suffix(SUFFIX)?, 16).ok()?);
    (name == file_name(first)).then_some(first)
}

/// Removes segments that a crash left before they got their names.
pub(crate) fn remove_unfinished(directory: &dyn Directory) -> Result<(), JournalFailure> {
    let names = directory.list().map_err(JournalFailure::of("list", directory.path()))?;
    for name in names.iter().filter(|name| name.ends_with(UNFINISHED_SUFFIX)) {
        directory.remove(name).map_err(JournalFailure::of("remove", directory.path().join(name)))?;
    }
    Ok(())
}

/// A segment that is being written.
#[derive(Debug)]
pub(crate) struct OpenSegment {
    pub(crate) path: PathBuf,
    pub(crate) file: Box<dyn SegmentFile>,
    pub(crate) encoder: Encoder,
}

/// Where a journal begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// With its first record: nothing of it is ever removed.
    AtStart,
    /// Where those who wrote it removed what came before: an outbox.
    WhereItWasReset,
}

/// Checks that no segment is missing, before the first, where the journal begins at its start, and between them, and that
/// none goes on behind the begin of the next. A segment that ends with its mark costs one read, and one that does not is
/// read as a whole.
pub(crate) fn check_whole(
    directory: &dyn Directory,
    segments: &[Position],
    whose: JournalId,
    beginning: Beginning,
) -> Result<(), SegmentError> {
    let missing = |from, next| Missing { directory: directory.path().to_owned(), from, next };
    match (beginning, segments.first()) {
        (Beginning::AtStart, Some(first)) if *first != Position::START => {
            return Err(missing(Position::START, *first).into());
        }
        (Beginning::AtStart | Beginning::WhereItWasReset, _) => {}
    }
    for (first, next) in segments.iter().zip(segments.iter().skip(1)) {
        let mut reader = SegmentReader::open(directory, *first, Some(whose), Tail::Complete { next: *next })?;
        match reader.marked_end()? {
            Some(end) if end == *next => {}
            Some(end) if end < *next => return Err(missing(end, *next).into()),
            Some(end) => {
                let why = DamagedBy::Overlaps { end, next: *next };
                return Err(Damaged { file: reader.path, at_byte: reader.end, position: *next, why }.into());
            }
            None => reader.check()?,
        }
    }
    Ok(())
}

/// Makes a segment durably: its header is synced before it has its name, and the name before it has records. It is locked
/// before it has its name, so that whoever finds it finds it locked.
pub(crate) fn create(
    directory: &dyn Directory,
    header: &SegmentHeader,
) -> Result<OpenSegment, JournalFailure> {
    let name = file_name(header.first);
    let unfinished = name.replace(SUFFIX, UNFINISHED_SUFFIX);
    let path = directory.path().join(&name);
    let file = directory.create(&unfinished).map_err(JournalFailure::of("create", &path))?;
    if !file.lock().map_err(JournalFailure::of("lock", &path))? {
        return Err(JournalFailure::of("lock", &path)(ErrorKind::ResourceBusy.into()));
    }
    write_all_at(&*file, &header.encode(), 0).map_err(JournalFailure::of("write", &path))?;
    file.sync().map_err(JournalFailure::of("sync", &path))?;
    directory.rename(&unfinished, &name).map_err(JournalFailure::of("name", &path))?;
    directory.sync().map_err(JournalFailure::of("sync", directory.path()))?;
    Ok(OpenSegment { path, file, encoder: Encoder::new(header) })
}

/// Reads a segment, one record at a time.
#[derive(Debug)]
pub(crate) struct SegmentReader {
    path: PathBuf,
    file: Box<dyn SegmentFile>,
    header: SegmentHeader,
    scanner: Scanner,
    /// The segment's bytes from `buffer_start` on.
    buffer: Vec<u8>,
    buffer_start: u64,
    end: u64,
    record: Option<RecordInBuffer>,
    torn: Option<TornTail>,
}

#[derive(Debug, Clone)]
struct RecordInBuffer {
    position: Position,
    version: PayloadVersion,
    payload: Range<usize>,
}

impl SegmentReader {
    /// Opens a segment and checks its header; `whose` is nothing when the journal is not known yet.
    pub(crate) fn open(
        directory: &dyn Directory,
        first: Position,
        whose: Option<JournalId>,
        tail: Tail,
    ) -> Result<SegmentReader, SegmentError> {
        let reader = SegmentReader::open_named(directory, &file_name(first), whose, tail)?;
        if reader.header.first != first {
            let why = DamagedBy::Misnamed(reader.header.first);
            return Err(Damaged { file: reader.path, at_byte: 0, position: first, why }.into());
        }
        Ok(reader)
    }

    /// The same for a file of any name.
    pub(crate) fn open_named(
        directory: &dyn Directory,
        name: &str,
        whose: Option<JournalId>,
        tail: Tail,
    ) -> Result<SegmentReader, SegmentError> {
        let path = directory.path().join(name);
        let file = directory.open_to_read(name).map_err(JournalFailure::of("open", &path))?;
        let end = file.length().map_err(JournalFailure::of("get the length of", &path))?;
        let mut start = [0; HEADER_BYTES as usize];
        let read = read_full_at(&*file, &mut start, 0).map_err(JournalFailure::of("read", &path))?;
        let position = position_in(name).unwrap_or_default();
        let damaged = |why| Damaged { file: path.clone(), at_byte: 0, position, why };
        let header = match SegmentHeader::decode(&start[..read]) {
            Ok(header) if whose.is_some_and(|whose| whose != header.journal) => {
                Err(damaged(DamagedBy::Foreign(header.journal)))?
            }
            Ok(header) => header,
            Err(HeaderError::Newer { version }) => return Err(SegmentError::Newer { file: path, version }),
            Err(error) => Err(damaged(DamagedBy::Header(error)))?,
        };
        Ok(SegmentReader {
            scanner: Scanner::new(&header, end, tail),
            buffer: Vec::new(),
            buffer_start: HEADER_BYTES,
            record: None,
            torn: None,
            path,
            file,
            header,
            end,
        })
    }

    /// Goes to the next record; `false` at the end of what is valid.
    pub(crate) fn advance(&mut self) -> Result<bool, SegmentError> {
        loop {
            let consumed = (self.scanner.offset() - self.buffer_start) as usize;
            let window = self.buffer.get(consumed..).unwrap_or_default();
            match self.scanner.step(window) {
                ScanStep::Record(record) => {
                    let (position, version, length) = (record.position, record.version, record.payload.len());
                    let end = (self.scanner.offset() - self.buffer_start) as usize;
                    self.record = Some(RecordInBuffer { position, version, payload: end - length..end });
                    return Ok(true);
                }
                ScanStep::Lacks(bytes) => self.fill(bytes)?,
                ScanStep::End(verdict) => {
                    self.record = None;
                    return self.end_with(verdict);
                }
            }
        }
    }

    /// The record that [`SegmentReader::advance`] went to.
    pub(crate) fn record(&self) -> Option<JournalRecord<'_>> {
        let RecordInBuffer { position, version, payload } = self.record.clone()?;
        Some(JournalRecord { position, version, payload: self.buffer.get(payload)? })
    }

    /// Reads on to the end, for the sake of the checks.
    pub(crate) fn check(&mut self) -> Result<(), SegmentError> {
        while self.advance()? {}
        Ok(())
    }

    /// The position after its last record, if it ends with a mark.
    fn marked_end(&self) -> Result<Option<Position>, JournalFailure> {
        let mut last = [0; MARK_BYTES];
        let Some(offset) = self.end.checked_sub(MARK_BYTES as u64) else { return Ok(None) };
        let read = read_full_at(&*self.file, &mut last, offset);
        let read = read.map_err(JournalFailure::of("read", &self.path))?;
        Ok(marked_end(&self.header, &last[..read], self.end))
    }

    pub(crate) fn header(&self) -> SegmentHeader {
        self.header
    }

    pub(crate) fn path(&self) -> &PathBuf {
        &self.path
    }

    /// How far the segment is valid, as far as it was read.
    pub(crate) fn extent(&self) -> Extent {
        self.scanner.extent()
    }

    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// The torn tail that was met at the end.
    pub(crate) fn torn(&self) -> Option<TornTail> {
        self.torn
    }

    fn end_with(&mut self, verdict: SegmentEnd) -> Result<bool, SegmentError> {
        match verdict {
            SegmentEnd::Clean => {}
            SegmentEnd::TornTail(torn) => self.torn = Some(torn),
            SegmentEnd::Damaged(Damage { at, position, kind }) => {
                let (file, why) = (self.path.clone(), DamagedBy::Frame(kind));
                return Err(Damaged { file, at_byte: at, position, why }.into());
            }
        }
        Ok(false)
    }

    /// Drops what was consumed and reads on until the buffer has at least `bytes`.
    fn fill(&mut self, bytes: usize) -> Result<(), JournalFailure> {
        let offset = self.scanner.offset();
        let consumed = (offset - self.buffer_start) as usize;
        self.buffer.drain(..consumed.min(self.buffer.len()));
        self.buffer_start = offset;
        let kept = self.buffer.len();
        let left = usize::try_from(self.end - offset).unwrap_or(usize::MAX);
        self.buffer.resize(bytes.max(READ_BYTES).min(left), 0);
        let read = read_full_at(&*self.file, &mut self.buffer[kept..], offset + kept as u64);
        let read = read.map_err(JournalFailure::of("read", &self.path))?;
        if kept + read < self.buffer.len() {
            // It was shortened while we read: who writes it cut zeros ahead or a torn tail. If it was more, a frame that ends early
            // tells.
            self.buffer.truncate(kept + read);
            self.end = offset + self.buffer.len() as u64;
            self.scanner.shorten(self.end);
        }
        Ok(())
    }
}
