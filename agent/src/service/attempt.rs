//! One attempt: its files, the run, and what it made on its way to the coordinator.

use speedup_core::agent::Input;
use speedup_core::agent::message::Grant;
use speedup_core::run::record::Record;
use tokio::time::Instant;

use super::{AgentError, Service};
use crate::files::time_of_build;
use crate::launch::forget_peak;
use crate::outbox::Outbox;
use crate::runner::NotExecuted;

impl Service {
    pub(super) async fn execute(&mut self, mut grant: Grant) -> Result<Option<Input>, AgentError> {
        self.backoff = super::BACKOFF.0;
        if let Some(refused) = self.runner.refusal(&grant.order) {
            return Ok(Some(Input::Executed(self.runner.not_executed(refused))));
        }
        // Nothing is said, written or synced while the run is timed.
        self.outbox(Outbox::sync)?;
        if let Some(link) = &mut self.link {
            link.flush().await;
        }
        let deadline = Instant::now() + time_of_build(&grant.order);
        let Some(reach) = self.entry.reach() else { return Ok(None) };
        let staged = self.files.stage(&mut grant.order, reach, &mut self.stop).await;
        let record = match staged {
            Ok(()) => self.runner.execute(&grant, &mut self.files, self.stop.flag()),
            Err(error) => self.runner.not_executed(NotExecuted::from(&error)),
        };
        let record = self.delivered(record, deadline).await;
        if self.stop.is_wished() {
            self.agent.handle(Input::Retire);
        }
        Ok(Some(Input::Executed(record)))
    }

    /// The record of an attempt, once the coordinator has what it made: a build counts with its products there, or not at
    /// all.
    async fn delivered(&mut self, record: Record, deadline: Instant) -> Record {
        if record.products.is_empty() {
            return record;
        }
        let Some(reach) = self.entry.reach() else {
            let reason = "the coordinator no longer accepts this agent";
            return self.runner.not_executed(NotExecuted::new(reason));
        };
        let put = self.files.put(&record.products, reach, &mut self.stop, deadline).await;
        // Pieces of the products were in memory.
        let _ = forget_peak();
        match put {
            Ok(()) => record,
            Err(error) => self.runner.not_executed(NotExecuted::from(&error)),
        }
    }
}
