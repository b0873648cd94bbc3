//! The indexer: one thread that keeps the store in step with the journal. If it fails, the journal still has
//! everything; the store is marked and built anew at the next start.

use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

use speedup_core::machine::event::{EndedAttempt, Event};
use speedup_core::value::causes::with_causes;
use speedup_journal::Position;
use tokio::sync::watch;

use crate::store::{Store, StoreError, Writes};

/// Batches that may wait for the store; beyond that the committer waits for it.
pub(crate) const WAITING_BATCHES: usize = 64;
/// Writes gathered before they are applied: sled takes much more memory with larger batches.
const GATHERED: usize = 1_024;

/// How long it gathers: a store that is written row by row takes most of a core.
const GATHERING: Duration = Duration::from_millis(20);

/// What became durable together.
pub(crate) struct Batch {
    pub(crate) events: Vec<Event>,
    pub(crate) ended: Vec<EndedAttempt>,
    /// The end of the journal after it.
    pub(crate) end: Position,
    /// The end of the journal's closed segments after it.
    pub(crate) closed: Position,
}

/// The thread's parts.
pub(crate) struct Indexer {
    pub(crate) store: Store,
    /// The end of what the store holds.
    pub(crate) indexed: watch::Sender<Position>,
    /// Told when the store holds segments that were closed.
    pub(crate) checkpointer: SyncSender<Position>,
    /// The end of the closed segments of which it was told.
    pub(crate) closed: Position,
}

impl Indexer {
    /// Applies batches until the committer is gone.
    pub(crate) fn run(mut self, batches: &Receiver<Batch>) {
        while let Ok(first) = batches.recv() {
            if let Err(error) = self.apply(&first, batches) {
                tracing::error!(
                    "the store cannot be written and is rebuilt at the next start: {}",
                    with_causes(&error)
                );
                self.store.condemn();
                return;
            }
        }
        if let Err(error) = self.store.flush() {
            tracing::warn!(
                "the store was not flushed; the next start brings it up to date: {}",
                with_causes(&error)
            );
        }
    }

    /// Applies a batch, and what comes within a while.
    fn apply(&mut self, first: &Batch, batches: &Receiver<Batch>) -> Result<(), StoreError> {
        let mut writes = Writes::default();
        let (mut end, mut closed) = (first.end, first.closed);
        gather(&mut writes, first);
        let until = Instant::now() + GATHERING;
        while writes.len() < GATHERED
            && let Ok(next) = batches.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            (end, closed) = (next.end, next.closed);
            gather(&mut writes, &next);
        }
        self.store.apply(writes, end)?;
        self.indexed.send_replace(end);
        // A checkpointer that is busy takes the next segment with the one after.
        if closed > self.closed && self.checkpointer.try_send(closed).is_ok() {
            self.closed = closed;
        }
        Ok(())
    }
}

/// The writes of a batch: ended attempts first, because a late report changes the row of its attempt.
fn gather(writes: &mut Writes, batch: &Batch) {
    batch.ended.iter().for_each(|ended| writes.ended(ended));
    batch.events.iter().for_each(|event| writes.event(event));
}
