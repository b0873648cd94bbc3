//! The writer: append, sync, and only then acknowledge.

use crate::{
    checkpoint::Checkpoints, directory::Directory, directory::DiskDirectory, directory::write_all_at,
    failure::JournalFailure, lock::DirectoryLock, private, private::Others, recovery, recovery::Checked,
    recovery::OpenError, recovery::Options, recovery::Recovered, recovery::Recovery, replay::Replay,
    replay::ReplayError, segment, segment::OpenSegment,
};
use speedup_core::journal::{
    FRAME_HEADER_BYTES, JournalId, PayloadVersion, Position, RecordTooLarge, SegmentHeader,
};
use std::{io::ErrorKind, path::Path, sync::Arc};

/// How much a group may hold before it must be synced: it is kept in memory, and written at once.
pub const MAX_GROUP_BYTES: usize = 64 << 20;

/// Larger groups than this part of the zeros would need new ones often, and their sync takes longer anyway.
const SMALL_GROUP: usize = 8;

/// The one writer of a journal. It has the directory's lock.
///
/// Its calls block on the disk. The group that was appended but not synced is lost when it is dropped; it was not
/// acknowledged.
#[derive(Debug)]
pub struct Journal {
    directory: Arc<dyn Directory>,
    id: JournalId,
    segment_bytes: u64,
    bytes_ahead: usize,
    /// First positions, ascending; the last is the current one.
    segments: Vec<Position>,
    current: OpenSegment,
    /// Where the zeros end that were to be written ahead.
    ahead_to: u64,
    /// Encoded, not written.
    group: Vec<u8>,
    durable_end: Position,
    mark: Mark,
    failure: Option<JournalFailure>,
    _lock: Option<DirectoryLock>,
}

/// A journal that is locked and checked, and in which nothing was changed yet: whoever kept something of its records says
/// first whether they fit.
#[derive(Debug)]
pub struct Opening {
    directory: Arc<dyn Directory>,
    segment_bytes: u64,
    bytes_ahead: usize,
    found: Found,
    lock: Option<DirectoryLock>,
}

#[derive(Debug)]
enum Found {
    /// It was made just now.
    New(Box<Recovered>),
    There(Box<Checked>),
}

/// Whether all that was written has also been synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Synced,
    Written,
}

/// Why a record was not recorded.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    /// Refused; the journal goes on.
    #[error(transparent)]
    TooLarge(#[from] RecordTooLarge),
    /// Refused until the group is synced; the journal goes on.
    #[error("a group of {MAX_GROUP_BYTES} bytes is to be synced before it grows")]
    GroupFull,
    /// Final: nothing more is recorded or acknowledged before the journal is opened anew.
    #[error("the journal has stopped")]
    Failed(#[from] JournalFailure),
}

speedup_core::hints! { WriteError:
    WriteError::Failed(failure) => failure.hint(),
}

impl Journal {
    /// Opens the journal in `directory`, or makes it, and says what it found.
    pub fn open(directory: impl AsRef<Path>, options: &Options) -> Result<(Journal, Recovery), OpenError> {
        let opening = Journal::begin(directory, options)?;
        let recovery = opening.recovery().clone();
        Ok((opening.open()?, recovery))
    }

    /// Locks and checks the journal in `directory`, or makes it.
    pub fn begin(directory: impl AsRef<Path>, options: &Options) -> Result<Opening, OpenError> {
        let path = directory.as_ref();
        private::claim(path, Others::Nothing, &[])?;
        let lock = DirectoryLock::take(path)?;
        let mut opening = Journal::begin_on(Arc::new(DiskDirectory::new(path)), options)?;
        opening.lock = Some(lock);
        Ok(opening)
    }

    /// Whether a directory holds a segment: one without is no journal.
    pub fn lies_in(directory: &Path) -> Result<bool, OpenError> {
        match segment::list(&DiskDirectory::new(directory)) {
            Err(failure) if failure.cause.kind() == ErrorKind::NotFound => Ok(false),
            segments => Ok(!segments?.is_empty()),
        }
    }

    /// The same behind the seam, without a lock.
    pub fn open_on(
        directory: Arc<dyn Directory>,
        options: &Options,
    ) -> Result<(Journal, Recovery), OpenError> {
        let opening = Journal::begin_on(directory, options)?;
        let recovery = opening.recovery().clone();
        Ok((opening.open()?, recovery))
    }

    fn begin_on(directory: Arc<dyn Directory>, options: &Options) -> Result<Opening, OpenError> {
        let found = match recovery::check(&*directory, options)? {
            Some(checked) => Found::There(Box::new(checked)),
            None => Found::New(Box::new(recovery::make(&*directory, options)?)),
        };
        let Options { segment_bytes, bytes_ahead, .. } = *options;
        Ok(Opening { directory, segment_bytes, bytes_ahead, found, lock: None })
    }

    /// Which journal it is.
    pub fn id(&self) -> JournalId {
        self.id
    }

    /// The oldest position still there; equal to the next when there is no record.
    pub fn first(&self) -> Position {
        self.segments.first().copied().unwrap_or(self.next())
    }

    /// The position that the next record will get.
    pub fn next(&self) -> Position {
        self.current.encoder.next()
    }

    /// The position after the last durable record: all before it may be acknowledged.
    pub fn durable_end(&self) -> Position {
        self.durable_end
    }

    /// Adds a record to the current group. The first of a group may begin a new segment.
    pub fn append(&mut self, version: PayloadVersion, payload: &[u8]) -> Result<Position, WriteError> {
        self.check_alive()?;
        if self.group.is_empty() {
            if self.current.encoder.offset() >= self.segment_bytes && self.current_has_records() {
                self.begin_segment()?;
            }
        } else if self.group.len() + FRAME_HEADER_BYTES + payload.len() > MAX_GROUP_BYTES {
            return Err(WriteError::GroupFull);
        }
        Ok(self.current.encoder.record(version, payload, &mut self.group)?)
    }

    /// Makes the current group durable with one write and one sync, and returns the durable end. An empty group costs
    /// nothing.
    pub fn sync(&mut self) -> Result<Position, WriteError> {
        self.check_alive()?;
        if self.group.is_empty() {
            return Ok(self.durable_end);
        }
        self.make_room();
        let synced = self.write_group().and_then(|()| self.sync_file());
        self.or_stop(synced)?;
        self.durable_end = self.next();
        // The group is durable whatever becomes of its mark; a failure is told to the next caller.
        self.current.encoder.mark(&mut self.group);
        let marked = self.write_group();
        let _ = self.or_stop(marked);
        Ok(self.durable_end)
    }

    /// Syncs the group and the mark behind it: then nothing is left to be written back later, which a quiet host wants
    /// before it measures, and any later damage to a record is recognised as such.
    pub fn seal(&mut self) -> Result<(), WriteError> {
        self.sync()?;
        self.check_alive()?;
        if self.mark == Mark::Written {
            let synced = self.sync_file();
            self.or_stop(synced)?;
            self.mark = Mark::Synced;
        }
        Ok(())
    }

    /// Seals the journal, without zeros behind it, and releases it.
    pub fn close(mut self) -> Result<(), WriteError> {
        self.finish()
    }

    /// The durable records from `from` on, as of now. It reads the files itself and may outlive later appends.
    pub fn replay(&self, from: Position) -> Result<Replay, ReplayError> {
        Replay::new(self.directory.clone(), self.id, &self.segments, from, self.durable_end)
    }

    /// The first position of the current segment: all before it lies in segments that will not change any more.
    pub fn closed_end(&self) -> Position {
        self.segments.last().copied().unwrap_or(self.next())
    }

    /// Whether a segment begins at this position.
    pub fn is_boundary(&self, position: Position) -> bool {
        self.segments.binary_search(&position).is_ok()
    }

    /// Where its checkpoint is kept.
    pub fn checkpoints(&self) -> Checkpoints {
        Checkpoints::of(self.directory.clone(), self.id)
    }

    /// Removes the segments whose records all lie before `position`, and returns how many. The current one stays.
    pub fn remove_before(&mut self, position: Position) -> Result<usize, WriteError> {
        self.check_alive()?;
        let mut removed = 0;
        while let [oldest, second, ..] = self.segments[..]
            && second <= position
        {
            // A sync for each, oldest first: a power cut must not leave a later one removed and an earlier one there.
            let result = self.remove_segment(oldest);
            self.or_stop(result)?;
            self.segments.remove(0);
            removed += 1;
        }
        Ok(removed)
    }

    /// Forgets all records, and goes on at the next position in a new segment: for an outbox whose records have all
    /// been acknowledged. It costs some syncs, so call it when the journal has grown or the time is quiet.
    pub fn reset(&mut self) -> Result<(), WriteError> {
        if self.current_has_records() {
            // It syncs the group: positions have no gap even if the power is cut before the old segments are gone.
            self.begin_segment()?;
        }
        self.remove_before(self.next())?;
        Ok(())
    }

    /// Without records, a next segment would have the same name.
    fn current_has_records(&self) -> bool {
        self.segments.last() != Some(&self.next())
    }

    fn begin_segment(&mut self) -> Result<(), WriteError> {
        // An earlier segment is complete, its mark too.
        self.finish()?;
        let header = SegmentHeader { journal: self.id, first: self.next() };
        let created = segment::create(&*self.directory, &header);
        self.current = self.or_stop(created)?;
        self.segments.push(header.first);
        (self.mark, self.ahead_to) = (Mark::Synced, 0);
        Ok(())
    }

    /// Seals the current segment, which ends with its mark.
    fn finish(&mut self) -> Result<(), WriteError> {
        self.sync()?;
        self.check_alive()?;
        let end = self.current.encoder.offset();
        if self.ahead_to > end {
            let cut = self.current.file.truncate(end);
            self.or_stop(cut.map_err(JournalFailure::of("cut", &self.current.path)))?;
            (self.mark, self.ahead_to) = (Mark::Written, 0);
        }
        self.seal()
    }

    /// Writes zeros ahead if a small group needs them. A disk that has no room for them may have room for the group.
    fn make_room(&mut self) {
        let end = self.current.encoder.offset();
        if end <= self.ahead_to || self.group.len() > self.bytes_ahead / SMALL_GROUP {
            return;
        }
        let at = end - self.group.len() as u64;
        let _ = write_all_at(&*self.current.file, &vec![0; self.bytes_ahead], at);
        self.ahead_to = at + self.bytes_ahead as u64;
    }

    fn remove_segment(&self, first: Position) -> Result<(), JournalFailure> {
        let name = segment::file_name(first);
        self.directory
            .remove(&name)
            .map_err(JournalFailure::of("remove", self.directory.path().join(&name)))?;
        self.directory.sync().map_err(JournalFailure::of("sync", self.directory.path()))
    }

    /// The group stands in the file where the encoder made it, which ends where the encoder is.
    fn write_group(&mut self) -> Result<(), JournalFailure> {
        let at = self.current.encoder.offset() - self.group.len() as u64;
        self.mark = Mark::Written;
        write_all_at(&*self.current.file, &self.group, at)
            .map_err(JournalFailure::of("write", &self.current.path))?;
        self.group.clear();
        Ok(())
    }

    fn sync_file(&self) -> Result<(), JournalFailure> {
        self.current.file.sync().map_err(JournalFailure::of("sync", &self.current.path))
    }

    fn check_alive(&self) -> Result<(), WriteError> {
        self.failure.clone().map_or(Ok(()), |failure| Err(failure.into()))
    }

    /// Remembers a failure: it is final.
    fn or_stop<T>(&mut self, result: Result<T, JournalFailure>) -> Result<T, WriteError> {
        result.map_err(|failure| {
            self.failure = Some(failure.clone());
            failure.into()
        })
    }
}

impl Opening {
    /// What was found, and what will be cut.
    pub fn recovery(&self) -> &Recovery {
        match &self.found {
            Found::New(recovered) => &recovered.recovery,
            Found::There(checked) => &checked.recovery,
        }
    }

    /// Where its checkpoint is kept.
    pub fn checkpoints(&self) -> Checkpoints {
        Checkpoints::of(self.directory.clone(), self.recovery().id)
    }

    /// Cuts what is not whole, and begins to write.
    pub fn open(self) -> Result<Journal, OpenError> {
        let Opening { directory, segment_bytes, bytes_ahead, found, lock } = self;
        let Recovered { segments, current, recovery } = match found {
            Found::New(recovered) => *recovered,
            Found::There(checked) => checked.settle(&*directory)?,
        };
        Ok(Journal {
            directory,
            id: recovery.id,
            segment_bytes,
            bytes_ahead,
            segments,
            ahead_to: 0,
            group: Vec::new(),
            durable_end: recovery.next,
            current,
            mark: Mark::Written,
            failure: None,
            _lock: lock,
        })
    }
}
