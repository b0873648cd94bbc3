//! The indexer: one thread that keeps the store in step with the journal. If it fails, the journal still has
//! everything; the store is marked and built anew at the next start.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use speedup_core::event::{EndedAttempt, Event};
use speedup_journal::Position;
use tokio::sync::watch;

use crate::store::{Store, Writes, chain};

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
}

/// Applies batches until the committer is gone.
pub(crate) fn run(store: &Store, batches: &Receiver<Batch>, indexed: &watch::Sender<Position>) {
    while let Ok(first) = batches.recv() {
        let mut writes = Writes::default();
        let mut end = first.end;
        gather(&mut writes, &first);
        let until = Instant::now() + GATHERING;
        while writes.len() < GATHERED
            && let Ok(next) = batches.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            end = next.end;
            gather(&mut writes, &next);
        }
        if let Err(error) = store.apply(writes, end) {
            tracing::error!(
                "the store cannot be written and is built anew at the next start: {}",
                chain(&error)
            );
            store.condemn();
            return;
        }
        indexed.send_replace(end);
    }
    if let Err(error) = store.flush() {
        tracing::warn!("the store was not flushed; the next start brings it up to date: {error}");
    }
}

/// The writes of a batch: ended attempts first, because a late report changes the row of its attempt.
fn gather(writes: &mut Writes, batch: &Batch) {
    batch.ended.iter().for_each(|ended| writes.ended(ended));
    batch.events.iter().for_each(|event| writes.event(event));
}
