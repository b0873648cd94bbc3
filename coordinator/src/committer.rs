//! The committer: makes what the owner decided on a batch of requests durable, one sync a group, and only then lets anything
//! be sent or answered. A write or sync that fails is final: nothing is acknowledged any more, and the process has to end.
//!
//! It has no thread of its own. With few agents a group is one report, and handing it to another thread and back takes
//! longer than the sync; so the owner commits where it runs, and the connection is answered from the same thread. The
//! event loop is told where a sync may take long.

use std::time::{Duration, Instant};

use speedup_core::machine::event::{Change, EndedAttempt, Event};
use speedup_core::value::causes::with_causes;
use speedup_journal::{Journal, PayloadVersion, Position, WriteError};
use speedup_proto::{journal_payload, v1};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::{sync::mpsc, sync::watch, task::block_in_place};

use crate::{indexer::Backlog, indexer::Batch, metrics::Metrics};

/// What takes less than this is done where the owner runs: to make room for the other tasks of its thread would take a tenth of it.
const SHORT: Duration = Duration::from_micros(500);

/// An answer, given once a batch is durable.
pub(crate) type CommitAnswer = Box<dyn FnOnce() + Send>;

/// The channel to an agent. Messages that are sent together travel together.
pub(crate) type AgentSender = mpsc::Sender<Vec<v1::CoordinatorMessage>>;

/// What came of a batch of requests, to be committed together.
#[derive(Default)]
pub(crate) struct CommitBatch {
    /// To be made durable.
    pub(crate) events: Vec<Event>,
    /// The attempts they ended, for the index.
    pub(crate) ended: Vec<EndedAttempt>,
    /// To be sent after that.
    pub(crate) sends: Vec<(AgentSender, Vec<v1::CoordinatorMessage>)>,
    /// To be answered after that.
    pub(crate) answers: Vec<CommitAnswer>,
}

impl CommitBatch {
    /// Adds a message to send. One to the same agent as the message before travels with that.
    pub(crate) fn send(&mut self, down: &AgentSender, message: v1::CoordinatorMessage) {
        match self.sends.last_mut() {
            Some((last, messages)) if last.same_channel(down) => messages.push(message),
            Some(_) | None => self.sends.push((down.clone(), vec![message])),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.sends.is_empty() && self.answers.is_empty()
    }
}

/// Makes commit batches durable, each as one group of the journal.
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

    /// Makes a batch durable, and then sends, answers and hands on what came of it.
    pub(crate) fn commit(&mut self, mut batch: CommitBatch) -> Result<(), WriteError> {
        if says_only_that_runs_began(&batch) {
            self.held.append(&mut batch.events);
            return Ok(());
        }
        batch.events.splice(0..0, self.held.drain(..));
        if !batch.events.is_empty() {
            self.make_durable(&batch.events)?;
        }
        self.publish(batch);
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
        let begin = Instant::now();
        let mut bytes = 0;
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

    fn publish(&self, batch: CommitBatch) {
        let CommitBatch { events, ended, sends, answers } = batch;
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
        for answer in answers {
            answer();
        }
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

/// Nobody waits for the word that a run began, and a sync would fall into the run: it goes with the next batch.
fn says_only_that_runs_began(batch: &CommitBatch) -> bool {
    batch.sends.is_empty()
        && batch.answers.is_empty()
        && batch.events.iter().all(|event| matches!(event.change, Change::RunStarted { .. }))
}

#[cfg(test)]
mod tests;
