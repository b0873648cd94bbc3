//! The committer: makes groups durable, one sync a group, and only then lets anything be sent or answered. A write or
//! sync that fails is final: nothing is acknowledged any more, and the process has to end.
//!
//! It has no thread of its own. With few agents a group is one report, and handing it to another thread and back takes
//! longer than the sync; so the owner commits where it runs, and the connection is answered from the same thread. The
//! event loop is told where a sync may take long.

use std::time::{Duration, Instant};

use speedup_core::{machine::event::Change, machine::event::Event, value::causes::with_causes};
use speedup_journal::{Journal, PayloadVersion, Position, WriteError};
use speedup_proto::journal_payload;
use tokio::{runtime::Handle, runtime::RuntimeFlavor, sync::watch, task::block_in_place};

use crate::{group::Group, indexer::Backlog, indexer::Batch, metrics::Metrics};

/// What takes less than this is done where the owner runs: to make room for the other tasks of its thread would take a tenth of it.
const SHORT: Duration = Duration::from_micros(500);

/// What makes groups durable.
pub(crate) struct Committer {
    pub(crate) journal: Journal,
    pub(crate) durable: watch::Sender<Position>,
    pub(crate) index: Backlog,
    pub(crate) metrics: Metrics,
    /// Events that wait for the next sync, because nobody waits for them.
    pub(crate) held: Vec<Event>,
    pub(crate) buffer: Vec<u8>,
    /// How long the last group took.
    pub(crate) took: Duration,
}

impl Committer {
    pub(crate) fn new(
        journal: Journal,
        durable: watch::Sender<Position>,
        index: Backlog,
        metrics: Metrics,
    ) -> Self {
        Self { journal, durable, index, metrics, held: Vec::new(), buffer: Vec::new(), took: Duration::MAX }
    }

    /// Makes a group durable, and then sends, answers and hands on what came of it.
    pub(crate) fn commit(&mut self, mut group: Group) -> Result<(), WriteError> {
        if says_only_that_runs_began(&group) {
            self.held.append(&mut group.events);
            return Ok(());
        }
        group.events.splice(0..0, self.held.drain(..));
        if !group.events.is_empty() {
            self.make_durable(&group.events)?;
        }
        self.publish(group);
        Ok(())
    }

    /// Makes events durable, with one sync; beside the other tasks of this thread where that may take long.
    fn make_durable(&mut self, events: &[Event]) -> Result<(), WriteError> {
        let may_step_aside = Handle::try_current()
            .is_ok_and(|runtime| runtime.runtime_flavor() != RuntimeFlavor::CurrentThread);
        if (self.took > SHORT || self.index.is_full()) && may_step_aside {
            return block_in_place(|| self.write(events));
        }
        self.write(events)
    }

    fn write(&mut self, events: &[Event]) -> Result<(), WriteError> {
        self.index.wait_for_room();
        let (begin, mut bytes) = (Instant::now(), 0);
        for event in events {
            self.buffer.clear();
            journal_payload::encode(event, &mut self.buffer)
                .expect("what is not kept has been left out by the owner");
            bytes += self.buffer.len() as u64;
            let version = PayloadVersion(journal_payload::VERSION);
            match self.journal.append(version, &self.buffer) {
                // The first part of a group is durable before the rest: that is a state the journal may have anyway.
                Err(WriteError::GroupFull) => {
                    self.journal.sync()?;
                    self.journal.append(version, &self.buffer)?;
                }
                appended => drop(appended?),
            }
        }
        self.journal.sync()?;
        self.took = begin.elapsed();
        self.metrics.committed(events, bytes, self.took);
        Ok(())
    }

    fn publish(&self, group: Group) {
        let Group { events, ended, sends, answers } = group;
        let end = self.journal.durable_end();
        for (down, messages) in sends {
            // A receiver that is gone has lost its session; one that does not read loses the message. Both ask again.
            let _ = down.try_send(messages);
        }
        // Before anybody knows of it: who then waits for the index finds it there.
        if !events.is_empty() {
            let closed = self.journal.closed_end();
            self.index.put(Batch { events, ended, end, closed });
        }
        self.durable.send_if_modified(|position| std::mem::replace(position, end) != end);
        answers.into_iter().for_each(|answer| answer());
    }

    /// Writes what is held, and closes the journal.
    pub(crate) fn close(mut self) {
        let held = std::mem::take(&mut self.held);
        if let Err(error) = self.write(&held) {
            tracing::error!("the last events were not written: {}", with_causes(&error));
        }
        if let Err(error) = self.journal.close() {
            tracing::error!(
                "closing the journal failed; the next start will check it: {}",
                with_causes(&error)
            );
        }
    }
}

/// Nobody waits for the word that a run began, and a sync would fall into the run: it goes with the next group.
fn says_only_that_runs_began(group: &Group) -> bool {
    let began = |event: &Event| matches!(event.change, Change::RunStarted { .. });
    group.sends.is_empty() && group.answers.is_empty() && group.events.iter().all(began)
}

#[cfg(test)]
mod tests;
