//! The indexer: one thread that keeps the store in step with the journal. If it fails, the journal still has
//! everything; the store is marked, the process ends, and the next start builds it anew.

mod backlog;

use std::{sync::mpsc::SyncSender, time::Duration};

use speedup_core::{machine::event::EndedAttempt, machine::event::Event, value::causes::with_causes};
use speedup_journal::Position;
use tokio::sync::watch;

pub(crate) use self::backlog::{Backlog, BacklogReceiver, CatchUp, backlog};
use crate::store::{Store, StoreError, Writes};

/// Writes gathered before they are applied: with fewer, packs of attempts are written again and again while they fill.
pub(crate) const GATHERED: usize = 8_192;

/// How long it gathers where nobody waits for it: a store that is written row by row takes most of a core.
const GATHERING: Duration = Duration::from_millis(500);

/// What became durable together.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) events: Vec<Event>,
    pub(crate) ended: Vec<EndedAttempt>,
    /// The end of the journal after it.
    pub(crate) end: Position,
    /// The end of the journal's closed segments after it.
    pub(crate) closed: Position,
}

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
    pub(crate) fn run(mut self, waiting: &BacklogReceiver) {
        let _vital = self.store.fault().watch_over("the indexer");
        while let Some(batches) = waiting.take(GATHERED, GATHERING) {
            if let Err(error) = self.apply(&batches) {
                tracing::error!(
                    "the store cannot be written and is rebuilt at the next start: {}",
                    with_causes(&error)
                );
                self.store.condemn(&error);
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

    /// Applies batches, as many at once as the store takes well.
    fn apply(&mut self, batches: &[Batch]) -> Result<(), StoreError> {
        let mut writes = Writes::default();
        for (place, batch) in batches.iter().enumerate() {
            batch.add_to(&mut writes);
            if writes.len() < GATHERED && place + 1 < batches.len() {
                continue;
            }
            self.store.apply(std::mem::take(&mut writes), batch.end)?;
            self.indexed.send_replace(batch.end);
            // A checkpointer that is busy takes the next segment with the one after.
            if batch.closed > self.closed && self.checkpointer.try_send(batch.closed).is_ok() {
                self.closed = batch.closed;
            }
        }
        Ok(())
    }
}

impl Batch {
    /// What the store keeps of it: ended attempts first, because a late report changes the row of its attempt.
    pub(crate) fn add_to(&self, writes: &mut Writes) {
        self.ended.iter().for_each(|ended| writes.ended(ended));
        self.events.iter().for_each(|event| writes.event(event));
    }
}
