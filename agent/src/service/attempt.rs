//! One attempt: its files, the run, and what it made on its way to the coordinator.

use speedup_core::{agent::Input, agent::message::Grant, run::record::Record};
use tokio::time::Instant;

use super::{AgentError, Service};
use crate::{files::time_of_build, launch::forget_peak, outbox::Outbox, runner::NotExecuted, runner::Part};

/// What is prepared for a part of a run that several hosts serve together.
pub(super) struct Held {
    grant: Grant,
    part: Part,
}

impl Held {
    pub(super) fn grant(&self) -> &Grant {
        &self.grant
    }
}

impl Service {
    pub(super) async fn execute(&mut self, mut grant: Grant) -> Result<Option<Input>, AgentError> {
        let deadline = Instant::now() + time_of_build(&grant.order);
        let record = match self.stage(&mut grant).await? {
            None => return Ok(None),
            Some(Ok(())) => self.runner.execute(&grant, &mut self.files, self.stop.flag()),
            Some(Err(refused)) => self.runner.not_executed(refused),
        };
        Ok(self.executed(record, deadline).await)
    }

    /// Prepares the host for its part of a run that several serve together.
    pub(super) async fn prepare(&mut self, mut grant: Grant) -> Result<Option<Input>, AgentError> {
        let prepared = match self.stage(&mut grant).await? {
            None => return Ok(None),
            Some(Ok(())) => self.runner.prepare(&grant, &mut self.files, self.stop.flag()),
            Some(Err(refused)) => Err(refused),
        };
        Ok(Some(match prepared {
            Ok(part) => {
                self.held = Some(Held { grant, part });
                Input::Prepared
            }
            Err(refused) => Input::Executed(self.runner.not_executed(refused)),
        }))
    }

    /// Starts the program of a run for which all its hosts are prepared.
    pub(super) async fn begin(&mut self, Held { grant, part: _ }: Held) -> Result<Option<Input>, AgentError> {
        self.be_silent().await?;
        let deadline = Instant::now() + time_of_build(&grant.order);
        let record = self.runner.execute(&grant, &mut self.files, self.stop.flag());
        Ok(self.executed(record, deadline).await)
    }

    /// Ends a part of a run that another host has executed, or that is given up.
    pub(super) fn end(&mut self, reason: &str) -> Option<Input> {
        let Held { grant, part } = self.held.take()?;
        Some(Input::Executed(self.runner.end(&grant, part, reason, &mut self.files, self.stop.flag())))
    }

    /// Brings the files of a run to this host; none where the coordinator no longer accepts it.
    async fn stage(&mut self, grant: &mut Grant) -> Result<Option<Result<(), NotExecuted>>, AgentError> {
        self.backoff = super::BACKOFF.0;
        if let Some(refused) = self.runner.refusal(&grant.order) {
            return Ok(Some(Err(refused)));
        }
        self.be_silent().await?;
        let Some(reach) = self.entry.reach() else { return Ok(None) };
        let reached = self.runner.scratch_for(grant);
        let staged = self.files.stage(&mut grant.order, &reached, reach, &mut self.stop).await;
        Ok(Some(staged.map_err(|error| NotExecuted::from(&error))))
    }

    /// Nothing is said, written or synced while a run is timed.
    async fn be_silent(&mut self) -> Result<(), AgentError> {
        self.outbox(Outbox::sync)?;
        if let Some(link) = &mut self.link {
            link.flush().await;
        }
        Ok(())
    }

    async fn executed(&mut self, record: Record, deadline: Instant) -> Option<Input> {
        let record = self.delivered(record, deadline).await;
        if self.stop.is_wished() {
            self.agent.handle(Input::Retire);
        }
        Some(Input::Executed(record))
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
