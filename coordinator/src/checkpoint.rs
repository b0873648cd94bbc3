//! The checkpoint: the machine as it was at the end of a closed segment, so that a start need not replay what is over.
//!
//! It is made from the journal by the same replay as recovery's, never from the running machine, and off the owner's
//! path: one thread reads each segment that was closed once more. It is written only when the store durably holds
//! everything before it; so a start that believes it lacks nothing. What is wrong with it costs a longer start, no more.
//!
//! What a start does not read any more, the same thread reads at leisure afterwards: damage to old segments is told while
//! the store still has what they held.

use std::{sync::mpsc::Receiver, sync::mpsc::RecvTimeoutError, time::Duration, time::Instant};

use speedup_core::machine::{Machine, Misfit, Piece, Settings};
use speedup_core::value::causes::with_causes;
use speedup_core::value::hint::{Hinted, with_hint};
use speedup_journal::{
    CheckpointReadError, CheckpointWriteError, Checkpoints, PayloadVersion, Position, Reader, ReplayError,
};
use speedup_proto::{checkpoint_payload, journal_payload, payload::PayloadError};
use thiserror::Error;

use crate::component::{ComponentFailures, CoordinatorComponent};
use crate::store::{Store, StoreError};

/// The old segments are read in at most one part in so many of a core: nobody waits for it.
const LEISURE: u32 = 10;

/// Why a checkpoint is not believed: the whole journal is replayed instead.
#[derive(Debug, Error)]
pub enum Disbelief {
    #[error("its file cannot be read")]
    File(#[from] CheckpointReadError),
    /// Its records are not what this release writes.
    #[error(transparent)]
    Records(#[from] checkpoint_payload::CheckpointError),
    #[error("its pieces do not fit together")]
    Misfit(#[from] Misfit),
}

impl Disbelief {
    /// Whether it is an intact checkpoint of another journal.
    pub(crate) fn is_foreign(&self) -> bool {
        match self {
            Self::File(error) => error.is_foreign(),
            Self::Records(_) | Self::Misfit(_) => false,
        }
    }
}

/// Why no checkpoint was made: the one before stays.
#[derive(Debug, Error)]
enum NotMade {
    #[error("the checkpoint cannot be written")]
    Write(#[from] CheckpointWriteError),
    #[error("the journal cannot be read")]
    Journal(#[from] ReplayError),
    #[error("record {0} of the journal is not valid")]
    Record(Position, #[source] PayloadError),
    #[error("the store cannot be flushed")]
    Store(#[from] StoreError),
}

/// Reads the checkpoint, if there is one: the machine that replayed all records before a position.
pub(crate) fn read(
    checkpoints: &Checkpoints,
    settings: Settings,
) -> Result<Option<(Position, Machine)>, Disbelief> {
    let Some(mut reader) = checkpoints.read()? else { return Ok(None) };
    let mut pieces: Vec<Piece> = Vec::new();
    let mut decoder = checkpoint_payload::Decoder::default();
    while let Some(record) = reader.next_record()? {
        pieces.extend(decoder.decode(record.version.0, record.payload)?);
    }
    decoder.finish()?;
    Ok(Some((reader.position(), Machine::assemble(settings, pieces)?)))
}

/// Writes the checkpoint: the machine has replayed all records before the position, and the store holds them durably.
pub(crate) fn write(
    checkpoints: &Checkpoints,
    position: Position,
    machine: &Machine,
) -> Result<(), CheckpointWriteError> {
    let version = PayloadVersion(checkpoint_payload::VERSION);
    checkpoints.write(position, version, |writer| {
        machine
            .pieces()
            .try_for_each(|piece| checkpoint_payload::encode(&piece, |record| writer.append(record)))
    })
}

pub(crate) struct Checkpointer {
    pub(crate) checkpoints: Checkpoints,
    pub(crate) store: Store,
    pub(crate) settings: Settings,
    /// The records before this one were not read at the start.
    pub(crate) unread: Position,
    /// Told whether checkpoints can be written.
    pub(crate) failing: ComponentFailures,
}

impl Checkpointer {
    /// Makes a checkpoint whenever segments were closed and the store holds them, until the indexer is gone.
    pub(crate) fn run(self, closed: &Receiver<Position>) {
        let _vital = self.store.fault().watch_over("the checkpointer");
        if !self.read_what_was_not_read(closed) {
            return;
        }
        while let Ok(boundary) = closed.recv() {
            self.make(closed.try_iter().last().unwrap_or(boundary));
        }
    }

    fn make(&self, boundary: Position) {
        let made = self.try_make(boundary);
        self.failing.note(CoordinatorComponent::Checkpoints, made.is_ok());
        match made {
            Ok(()) => tracing::debug!(%boundary, "a checkpoint was written"),
            Err(error) => {
                tracing::warn!(
                    "no checkpoint was written, so the next start takes longer: {}",
                    with_causes(&error)
                );
            }
        }
    }

    fn try_make(&self, boundary: Position) -> Result<(), NotMade> {
        let journal = Reader::of(&self.checkpoints)?;
        let before = read(&self.checkpoints, self.settings).ok().flatten();
        let (from, mut machine) = before.unwrap_or_else(|| (journal.first(), Machine::new(self.settings)));
        let mut records = journal.replay(from)?;
        while let Some(record) = records.next_record()?
            && record.position < boundary
        {
            let event = journal_payload::decode(record.version.0, record.payload);
            machine.replay(&event.map_err(|error| NotMade::Record(record.position, error))?);
        }
        self.store.flush()?;
        Ok(write(&self.checkpoints, boundary, &machine)?)
    }

    /// Checks the old segments, a little at a time, and makes the checkpoints that fall due meanwhile. Gives whether to go on.
    fn read_what_was_not_read(&self, closed: &Receiver<Position>) -> bool {
        // A command that is over before has nothing of it.
        if !self.pause(LONGEST_PAUSE, closed) {
            return false;
        }
        let journal = match Reader::of(&self.checkpoints) {
            Ok(journal) => journal,
            Err(error) => {
                tracing::error!("the journal cannot be read: {}", with_causes(&error));
                return true;
            }
        };
        for (first, next) in journal.segments().iter().zip(journal.segments().iter().skip(1)) {
            if *next > self.unread {
                break;
            }
            let begin = Instant::now();
            if let Err(error) = check(&journal, *first, *next) {
                let words = format!("{}; nothing of it is missing from the store", with_causes(&error));
                tracing::error!("{}", with_hint(words, error.hint()));
            }
            if !self.pause(begin.elapsed().saturating_mul(LEISURE).min(LONGEST_PAUSE), closed) {
                return false;
            }
        }
        true
    }

    /// Waits, and makes a checkpoint that falls due meanwhile. Gives whether to go on.
    fn pause(&self, time: Duration, closed: &Receiver<Position>) -> bool {
        match closed.recv_timeout(time) {
            Ok(boundary) => self.make(closed.try_iter().last().unwrap_or(boundary)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        true
    }
}

fn check(journal: &Reader, first: Position, next: Position) -> Result<(), ReplayError> {
    let mut records = journal.replay(first)?;
    while records.next_record()?.is_some_and(|record| record.position.next() < next) {}
    Ok(())
}

/// Before the first of them, and where a disk was slow for once.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
