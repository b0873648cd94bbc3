//! The door of the agents: one task a session carries what the agent says to the owner; what the owner answers goes
//! back through a bounded channel.

use std::{pin::Pin, time::Duration};

use futures_util::{Stream, StreamExt as _};
use speedup_core::{
    agent::STOPPED, agent::message::AgentMessage, agent::message::AttemptReport,
    agent::message::CoordinatorMessage, experiment::build::Product, host::HostFacts, machine::Refusal,
    machine::provision::RefusedAgent, run::Obstacle, run::record::Outcome, value::hint::Hinted,
    value::id::AgentEpoch, value::id::AgentId, value::id::HostId, value::id::JobId,
};
use speedup_proto::{v1, v1::agents_server::Agents};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::{Caller, Reply, files::missing};
use crate::{
    blobs::Blobs, committer::AgentSender, handle::Gone, handle::Handle, owner::SessionId,
    provision::Provisioning,
};

/// Messages that may wait for an agent. It gets one answer a message of its own, so that only one that does not read
/// ever has this many.
const WAITING_MESSAGES: usize = 256;

/// How long a session may take to begin; one that never does would hold its place for ever.
const JOIN_PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct AgentsDoor {
    pub(crate) handle: Handle,
    pub(crate) blobs: Blobs,
    pub(crate) provisioning: Provisioning,
}

type Answers = Pin<Box<dyn Stream<Item = Result<v1::CoordinatorMessage, Status>> + Send>>;

#[tonic::async_trait]
impl Agents for AgentsDoor {
    type SessionStream = Answers;

    async fn session(&self, request: Request<Streaming<v1::AgentMessage>>) -> Reply<Answers> {
        let caller = Caller::from_request(&request)?;
        let mut up = request.into_inner();
        let first = tokio::time::timeout(JOIN_PATIENCE, up.message()).await;
        let first =
            first.map_err(|_| Status::deadline_exceeded("a session begins with Join, and at once"))??;
        let first = first.ok_or_else(|| Status::invalid_argument("a session begins with Join"))?;
        let first = AgentMessage::try_from(first)?;
        let AgentMessage::Join { facts, agent, epoch } = first else {
            return Err(Status::failed_precondition("a session begins with Join"));
        };
        caller.require_host(facts.host.as_str()).inspect_err(|status| {
            tracing::warn!(host = %facts.host, "rejected an agent: {}", status.message());
        })?;
        let (down, messages) = mpsc::channel(WAITING_MESSAGES);
        let (opened, answer) = oneshot::channel();
        // A task of its own: this call is dropped when the agent goes away, the session has to be closed even then.
        let door = Self {
            handle: self.handle.clone(),
            blobs: self.blobs.clone(),
            provisioning: self.provisioning.clone(),
        };
        tokio::spawn(door.serve(JoinRequest { facts: *facts, agent, epoch, down }, up, opened));
        match answer.await.map_err(|_| Gone)?? {
            Ok(()) => {}
            Err(refusal) => return Ok(Response::new(turned_away(&refusal, epoch))),
        }
        let said = ReceiverStream::new(messages).flat_map(tokio_stream::iter);
        let down = said.map(Ok);
        Ok(Response::new(Box::pin(down)))
    }
}

/// A stream that only says why the agent may not join.
fn turned_away(refusal: &Refusal, claimed: AgentEpoch) -> Answers {
    let known_epoch = refusal.known_epoch().map(|known| known.max(claimed));
    let reason = reason(refusal);
    let message = CoordinatorMessage::TurnedAway { reason, known_epoch, is_lasting: refusal.is_lasting() };
    Box::pin(tokio_stream::once(Ok(v1::CoordinatorMessage::from(message))))
}

/// Why an agent may not join, and what can be done about it.
fn reason(refusal: &Refusal) -> String {
    match refusal.hint() {
        Some(hint) => format!("{refusal}; {hint}"),
        None => refusal.to_string(),
    }
}

/// Which start of an agent it is, and in which job.
struct Start {
    job: Option<JobId>,
    epoch: AgentEpoch,
}

struct JoinRequest {
    facts: HostFacts,
    agent: AgentId,
    epoch: AgentEpoch,
    down: AgentSender,
}

impl AgentsDoor {
    /// Opens a session, carries it, and closes it.
    async fn serve(
        self,
        joining: JoinRequest,
        up: Streaming<v1::AgentMessage>,
        opened: oneshot::Sender<Result<Result<(), Refusal>, Gone>>,
    ) {
        let JoinRequest { facts, agent, epoch, down } = joining;
        let host = facts.host.clone();
        let job = facts.job.clone();
        let engine = job.clone().zip(facts.node.clone());
        let (session, answer) = match self.handle.open(facts, agent, epoch, down).await {
            Ok(Ok(session)) => {
                tracing::info!(%host, %agent, %epoch, "an agent joined");
                (Some(session), Ok(Ok(())))
            }
            Ok(Err(refusal)) => {
                tracing::warn!(%host, %agent, %epoch, "rejected an agent: {refusal}");
                if let Some((job, node)) = engine
                    && refusal.is_lasting()
                {
                    let reason = reason(&refusal);
                    self.provisioning.turned_away(RefusedAgent { job, node, reason });
                }
                (None, Ok(Err(refusal)))
            }
            Err(gone) => (None, Err(gone)),
        };
        // Nobody hears the answer when the agent is gone; then nothing comes up either, and the session is closed at once.
        let is_heard = opened.send(answer).is_ok();
        let Some(session) = session else { return };
        if is_heard {
            self.listen(session, &host, Start { job, epoch }, up).await;
        }
        tracing::info!(%host, %agent, %epoch, "an agent's session is over");
        // If the owner is gone, so are all sessions.
        let _ = self.handle.close(session).await;
    }

    /// Carries what an agent says to the owner, until it says nothing more or something malformed.
    async fn listen(
        &self,
        session: SessionId,
        host: &HostId,
        start: Start,
        mut up: Streaming<v1::AgentMessage>,
    ) {
        loop {
            let message = match up.message().await {
                Ok(Some(message)) => message,
                Ok(None) => break,
                Err(status) => {
                    tracing::debug!(%host, "a session broke: {status}");
                    break;
                }
            };
            let said = match AgentMessage::try_from(message) {
                Ok(AgentMessage::Join { .. }) => {
                    tracing::warn!(%host, "ended a session: Join is the first message of a session only");
                    break;
                }
                Ok(AgentMessage::Report(report)) if self.awaits_engine(&start, &report).await => {
                    tracing::info!(%host, lease = %report.lease, "the agent was stopped; its engine says why");
                    // It stays in the agent's outbox.
                    continue;
                }
                Ok(AgentMessage::Report(mut report)) => {
                    self.insist_on_products(host, &mut report).await;
                    self.handle.say(session, AgentMessage::Report(report)).await
                }
                Ok(message) => self.handle.say(session, message).await,
                Err(error) => {
                    tracing::warn!(%host, "ended a session: {error}");
                    break;
                }
            };
            if said.is_err() {
                return;
            }
        }
    }

    /// Whether a report says only that the agent was stopped in the job of a queue: the engine says in a moment what became of the job,
    /// and the attempt is lost with its word. The report is not acknowledged: the next agent there says it again, and is late.
    async fn awaits_engine(&self, start: &Start, report: &AttemptReport) -> bool {
        let is_stopped = match &report.record.outcome {
            Outcome::NotExecuted { reason, obstacle: Obstacle::Host } => reason == STOPPED,
            Outcome::NotExecuted { .. } | Outcome::Measured | Outcome::Failed(_) => false,
        };
        // What an earlier start was stopped in is over.
        match &start.job {
            Some(job) if is_stopped && report.executed_by == start.epoch => {
                self.provisioning.has_job(job).await
            }
            Some(_) | None => false,
        }
    }

    /// A build whose products are not all here is none: no run could use it. Its attempt is lost, with the reason.
    async fn insist_on_products(&self, host: &HostId, report: &mut AttemptReport) {
        let AttemptReport { lease, record, .. } = report;
        if record.products.is_empty() {
            return;
        }
        let reason = match missing(&self.blobs, &record.products).await {
            Ok(None) => return,
            Ok(Some(Product { name, content })) => format!(
                "the coordinator does not have the content of the product {name} (BLAKE3 {}), which is to be put \
                 before the build is reported",
                content.blake3
            ),
            Err(status) => format!("the coordinator cannot look at its files: {}", status.message()),
        };
        tracing::warn!(%host, %lease, "refused a build: {reason}");
        record.outcome = Outcome::NotExecuted { reason, obstacle: Obstacle::Host };
        record.products.clear();
    }
}
