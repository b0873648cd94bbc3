//! The committer: one thread that makes groups durable, one sync a group, and only then lets anything be sent or
//! answered. A write or sync that fails is final: nothing is acknowledged any more, and the process has to end.

use std::time::Instant;

use speedup_core::machine::event::{Change, Event};
use speedup_core::value::causes::with_causes;
use speedup_journal::{Journal, PayloadVersion, Position, WriteError};
use speedup_proto::journal_payload;
use tokio::sync::{mpsc, oneshot, watch};

use crate::indexer::Batch;
use crate::metrics::Metrics;
use crate::owner::Group;

/// Groups that may wait while one is written. Few: requests wait better at the owner, where they make larger groups.
pub(crate) const WAITING_GROUPS: usize = 2;

/// The thread's parts.
pub(crate) struct Committer {
    pub(crate) journal: Journal,
    pub(crate) durable: watch::Sender<Position>,
    pub(crate) index: std::sync::mpsc::SyncSender<Batch>,
    pub(crate) failed: oneshot::Sender<WriteError>,
    /// Events that wait for the next sync, because nobody waits for them.
    pub(crate) held: Vec<Event>,
    pub(crate) metrics: Metrics,
}

impl Committer {
    /// Commits groups until the owner is gone or the journal fails.
    pub(crate) fn run(mut self, mut groups: mpsc::Receiver<Group>) {
        let mut buffer = Vec::new();
        while let Some(mut group) = groups.blocking_recv() {
            if says_only_that_runs_began(&group) {
                self.held.append(&mut group.events);
                continue;
            }
            group.events.splice(0..0, self.held.drain(..));
            if let Err(error) = self.commit(&group.events, &mut buffer) {
                tracing::error!("nothing is acknowledged from now on: {}", with_causes(&error));
                // The receiver is gone only when the server has stopped already.
                let _ = self.failed.send(error);
                return;
            }
            self.publish(group);
        }
        let held = std::mem::take(&mut self.held);
        if let Err(error) = self.commit(&held, &mut buffer) {
            tracing::error!("the last events were not written: {}", with_causes(&error));
        }
        if let Err(error) = self.journal.close() {
            tracing::error!(
                "closing the journal failed; the next start will check it: {}",
                with_causes(&error)
            );
        }
    }

    /// Makes events durable, with one sync.
    fn commit(&mut self, events: &[Event], buffer: &mut Vec<u8>) -> Result<(), WriteError> {
        if events.is_empty() {
            return Ok(());
        }
        let (begin, mut bytes) = (Instant::now(), 0);
        for event in events {
            buffer.clear();
            journal_payload::encode(event, buffer).expect("what is not kept has been left out by the owner");
            bytes += buffer.len() as u64;
            let version = PayloadVersion(journal_payload::VERSION);
            match self.journal.append(version, buffer) {
                // The first part of a group is durable before the rest: that is a state the journal may have anyway.
                Err(WriteError::GroupFull) => {
                    self.journal.sync()?;
                    self.journal.append(version, buffer)?;
                }
                appended => drop(appended?),
            }
        }
        self.journal.sync()?;
        self.metrics.committed(events, bytes, begin.elapsed());
        Ok(())
    }

    fn publish(&self, group: Group) {
        let end = self.journal.durable_end();
        for (down, messages) in group.sends {
            // A receiver that is gone has lost its session; one that does not read loses the message. Both ask again.
            let _ = down.try_send(messages);
        }
        self.durable.send_if_modified(|position| std::mem::replace(position, end) != end);
        group.answers.into_iter().for_each(|answer| answer());
        if !group.events.is_empty() {
            // The indexer is gone only when the server has stopped, or when it has said why it could not go on.
            let closed = self.journal.closed_end();
            let _ = self.index.send(Batch { events: group.events, ended: group.ended, end, closed });
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
