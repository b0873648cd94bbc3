//! The replay of the journal, on four threads: one reads and decodes the events, one has the machine follow them, one gathers
//! what the store is to hold of them, one writes that. While much is written at once, the others go on. Events end on the thread
//! on which they began: memory that one thread takes and another gives back has both wait for each other.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use speedup_core::{machine::Machine, machine::event::Event, value::causes::with_causes};
use speedup_journal::{Journal, Position, Replay};
use speedup_proto::journal_payload;

use super::RecoveryError;
use crate::{checkpoint, indexer::Batch, indexer::GATHERED, store::Store, store::Writes};

/// Events that go from thread to thread together.
const TOGETHER: usize = 1_024;
/// Bytes of their payloads, where these are large.
const TOGETHER_BYTES: usize = 1 << 20;
/// What may wait before a thread.
const WAITING: usize = 4;
/// Writes that are gathered while others are written: each takes some megabytes.
const GATHERED_AHEAD: usize = 1;

/// Events as they stand in the journal.
#[derive(Default)]
struct EventChunk {
    events: Vec<Event>,
    end: Position,
}

pub(super) struct Replayer<'a> {
    pub(super) journal: &'a Journal,
    pub(super) path: &'a Path,
    pub(super) store: &'a Store,
    /// The end of what the store holds.
    pub(super) applied: Position,
    pub(super) from: Position,
}

impl Replayer<'_> {
    /// Replays all, and keeps the machine at the end of the closed segments as the checkpoint.
    pub(super) fn run(&self, machine: Machine) -> Result<Machine, RecoveryError> {
        let boundary = self.journal.closed_end();
        if boundary <= self.from {
            return self.stretch(machine, self.from, None);
        }
        let machine = self.stretch(machine, self.from, Some(boundary))?;
        self.keep(boundary, &machine)?;
        self.stretch(machine, boundary, None)
    }

    /// Replays a part of the journal, or all from there on.
    fn stretch(
        &self,
        machine: Machine,
        from: Position,
        until: Option<Position>,
    ) -> Result<Machine, RecoveryError> {
        let records = self.journal.replay(from).map_err(RecoveryError::Read)?;
        let path = self.path;
        let store = self.store;
        thread::scope(|scope| {
            let (to_machine, pieces) = sync_channel(WAITING);
            let (to_gathering, batches) = sync_channel(WAITING);
            let (to_store, gathered) = sync_channel(GATHERED_AHEAD);
            let (done, spent) = channel();
            let reading = scope.spawn(move || read(records, until, path, to_machine, &spent));
            let gathering = scope.spawn(move || gather(&batches, &to_store, &done));
            let writing = scope.spawn(move || write(store, &gathered));
            let machine = self.follow(machine, &pieces, &to_gathering);
            drop((pieces, to_gathering));
            // Why the store cannot be written comes first: then nobody wants what is read.
            joined(writing)?;
            joined(gathering);
            joined(reading)?;
            Ok(machine)
        })
    }

    /// Has the machine follow the events, until the last or until the store takes no more.
    fn follow(&self, mut machine: Machine, pieces: &Receiver<EventChunk>, to: &SyncSender<Batch>) -> Machine {
        for EventChunk { mut events, end } in pieces {
            let first = end.0 - events.len() as u64;
            let held = usize::try_from(self.applied.0.saturating_sub(first)).unwrap_or(usize::MAX);
            let mut ended = Vec::new();
            for (place, event) in events.iter().enumerate() {
                if place >= held {
                    ended.extend(machine.ended_by(event));
                }
                machine.replay(event);
            }
            if held >= events.len() {
                continue;
            }
            events.drain(..held);
            if to.send(Batch { events, ended, end, closed: Position::START }).is_err() {
                break;
            }
        }
        machine
    }

    /// Keeps the machine as the checkpoint, so that the next start begins there.
    fn keep(&self, boundary: Position, machine: &Machine) -> Result<(), RecoveryError> {
        self.store.flush()?;
        if let Err(error) = checkpoint::write(&self.journal.checkpoints(), boundary, machine) {
            tracing::warn!("no checkpoint was made, the next start takes as long: {}", with_causes(&error));
        }
        Ok(())
    }
}

/// Decodes events until a position or the end, or until nobody wants them.
fn read(
    mut records: Replay,
    until: Option<Position>,
    path: &Path,
    to: SyncSender<EventChunk>,
    spent: &Receiver<Batch>,
) -> Result<(), RecoveryError> {
    let mut piece = EventChunk::default();
    let mut bytes = 0;
    while until.is_none_or(|until| piece.end < until)
        && let Some(record) = records.next_record().map_err(RecoveryError::Read)?
    {
        let event = journal_payload::decode(record.version.0, record.payload).map_err(|source| {
            RecoveryError::Record { path: path.to_owned(), position: record.position, source }
        })?;
        piece.events.push(event);
        piece.end = record.position.next();
        bytes += record.payload.len();
        if piece.events.len() >= TOGETHER || bytes >= TOGETHER_BYTES {
            let next = EventChunk { events: Vec::with_capacity(TOGETHER), end: piece.end };
            bytes = 0;
            spent.try_iter().for_each(drop);
            if to.send(std::mem::replace(&mut piece, next)).is_err() {
                return Ok(());
            }
        }
    }
    // Who wants no more has its reason.
    let _ = to.send(piece);
    drop(to);
    spent.iter().for_each(drop);
    Ok(())
}

/// Gathers what the store is to hold, until the last or until it takes no more. Batches that are done with go back.
fn gather(batches: &Receiver<Batch>, to: &SyncSender<(Writes, Position)>, done: &Sender<Batch>) {
    let mut writes = Writes::default();
    let mut end = None;
    for batch in batches {
        batch.add_to(&mut writes);
        let so_far = batch.end;
        end = Some(so_far);
        // Nobody takes it back where reading has failed.
        drop(done.send(batch));
        if writes.len() >= GATHERED && to.send((std::mem::take(&mut writes), so_far)).is_err() {
            return;
        }
    }
    if let Some(end) = end {
        // Who takes no more has its reason.
        let _ = to.send((writes, end));
    }
}

fn write(store: &Store, gathered: &Receiver<(Writes, Position)>) -> Result<(), RecoveryError> {
    Ok(gathered.iter().try_for_each(|(writes, end)| store.apply(writes, end))?)
}

/// What a thread ended with; a panic goes on here.
fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
