//! One attempt: its files, the run, and what it made on its way to the coordinator.

use speedup_core::{agent::Input, agent::message::Grant, run::record::Record};
use tokio::time::Instant;

use super::{AgentError, Service};
use crate::{
    files::time_of_build, launch::forget_peak, outbox::Outbox, runner::NotExecuted, runner::PreparedPart,
};

/// What is prepared for a part of a run that several hosts serve together.
pub(super) struct HeldPart {
    grant: Grant,
    part: PreparedPart,
}

impl HeldPart {
    pub(super) fn grant(&self) -> &Grant {
        &self.grant
    }
}

/// Whether the files of a run could be brought to this host.
enum Staging {
    Ready,
    Refused(NotExecuted),
    /// The coordinator no longer accepts this agent, so the attempt is dropped.
    NoCoordinator,
}

impl Service {
    /// Executes an attempt. Returns nothing where the coordinator no longer accepts this agent.
    pub(super) async fn execute(&mut self, mut grant: Grant) -> Result<Option<Input>, AgentError> {
        let deadline = Instant::now() + time_of_build(&grant.order);
        let record = match self.stage(&mut grant).await? {
            Staging::Ready => self.runner.execute(&grant, &mut self.files, self.stop.flag()),
            Staging::Refused(refused) => self.runner.not_executed(refused),
            Staging::NoCoordinator => return Ok(None),
        };
        Ok(Some(self.finish(record, deadline).await))
    }

    /// Prepares the host for its part of a run that several hosts serve together.
    pub(super) async fn prepare(&mut self, mut grant: Grant) -> Result<Option<Input>, AgentError> {
        let prepared = match self.stage(&mut grant).await? {
            Staging::Ready => self.runner.prepare(&grant, &mut self.files, self.stop.flag()),
            Staging::Refused(refused) => Err(refused),
            Staging::NoCoordinator => return Ok(None),
        };
        Ok(Some(match prepared {
            Ok(part) => {
                self.held = Some(HeldPart { grant, part });
                Input::Prepared
            }
            Err(refused) => Input::Executed(self.runner.not_executed(refused)),
        }))
    }

    /// Starts the program of a run for which all hosts of its gang are prepared.
    pub(super) async fn begin(&mut self, HeldPart { grant, part: _ }: HeldPart) -> Result<Input, AgentError> {
        self.be_silent().await?;
        let deadline = Instant::now() + time_of_build(&grant.order);
        let record = self.runner.execute(&grant, &mut self.files, self.stop.flag());
        Ok(self.finish(record, deadline).await)
    }

    /// Ends this host's part of a run that another host has executed or that was given up.
    pub(super) fn end(&mut self, reason: &str) -> Option<Input> {
        let HeldPart { grant, part } = self.held.take()?;
        Some(Input::Executed(self.runner.end(&grant, part, reason, &mut self.files, self.stop.flag())))
    }

    /// Brings the files of a run to this host.
    async fn stage(&mut self, grant: &mut Grant) -> Result<Staging, AgentError> {
        self.backoff = super::BACKOFF.0;
        if let Some(refused) = self.runner.refusal(&grant.order) {
            return Ok(Staging::Refused(refused));
        }
        self.be_silent().await?;
        let Some(reach) = self.entry.reach() else { return Ok(Staging::NoCoordinator) };
        let scratch = self.runner.scratch_for(grant);
        Ok(match self.files.stage(&mut grant.order, &scratch, reach, &mut self.stop).await {
            Ok(()) => Staging::Ready,
            Err(error) => Staging::Refused(NotExecuted::from(&error)),
        })
    }

    /// Sends and syncs whatever is pending, because nothing may be written while a run is timed.
    async fn be_silent(&mut self) -> Result<(), AgentError> {
        self.outbox(Outbox::sync)?;
        if let Some(link) = &mut self.link {
            link.flush().await;
        }
        Ok(())
    }

    async fn finish(&mut self, record: Record, deadline: Instant) -> Input {
        let record = self.deliver_products(record, deadline).await;
        if self.stop.is_wished() {
            self.agent.handle(Input::Retire);
        }
        Input::Executed(record)
    }

    /// Uploads the products of a build. A build without its products at the coordinator does not count.
    async fn deliver_products(&mut self, record: Record, deadline: Instant) -> Record {
        if record.products.is_empty() {
            return record;
        }
        let Some(reach) = self.entry.reach() else {
            let reason = "the coordinator no longer accepts this agent";
            return self.runner.not_executed(NotExecuted::new(reason));
        };
        let put = self.files.put(&record.products, reach, &mut self.stop, deadline).await;
        // The kernel would count the memory of the upload as the next program's peak.
        let _ = forget_peak();
        match put {
            Ok(()) => record,
            Err(error) => self.runner.not_executed(NotExecuted::from(&error)),
        }
    }
}
