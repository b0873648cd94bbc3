//! The handle: how everyone but the owner speaks to the machine. Cheap to clone. Whatever it answers is durable.

use std::sync::Arc;

use speedup_core::agent::message::AgentMessage;
use speedup_core::host::HostFacts;
use speedup_core::machine::{Command, Machine, Notice, Refusal};
use speedup_core::value::id::{AgentEpoch, AgentId};
use speedup_journal::Position;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};

use crate::{committer::AgentSender, indexer::CatchUp, owner::Request, owner::SessionId, store::Store};

/// The owner has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the coordinator is stopping, or its store has failed; its log says which")]
pub struct Gone;

/// How everyone but the owner speaks to the machine.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(crate) requests: mpsc::Sender<Request>,
    pub(crate) progress: Progress,
    pub(crate) store: Store,
    /// Told when the plans may need other hosts than before.
    pub(crate) demand: Arc<watch::Sender<()>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Progress {
    /// Grows with every group that became durable.
    pub(crate) durable: watch::Receiver<Position>,
    /// The end of what the store holds.
    pub(crate) indexed: watch::Receiver<Position>,
    /// Has the store catch up at once.
    pub(crate) urge: CatchUp,
}

impl Handle {
    /// Gives the machine a user's command; the answer comes when it is durable.
    pub async fn command(&self, command: Command) -> Result<Result<(), Refusal>, Gone> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(Request::Command { command, reply }).await.map_err(|_| Gone)?;
        answer.await.map_err(|_| Gone)
    }

    /// Tells the machine what happened.
    pub(crate) async fn notice(&self, notice: Notice) -> Result<(), Gone> {
        self.requests.send(Request::Notice(notice)).await.map_err(|_| Gone)
    }

    /// Asks the machine; the answer comes when all that it rests on is durable.
    pub async fn query<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Machine) -> T + Send + 'static,
    ) -> Result<T, Gone> {
        let (reply, answer) = oneshot::channel();
        let question = Box::new(move |machine: &Machine| -> Box<dyn FnOnce() + Send> {
            let value = question(machine);
            Box::new(move || drop(reply.send(value)))
        });
        self.requests.send(Request::Query(question)).await.map_err(|_| Gone)?;
        answer.await.map_err(|_| Gone)
    }

    /// Opens the session of an agent that joins.
    pub(crate) async fn open(
        &self,
        facts: HostFacts,
        agent: AgentId,
        epoch: AgentEpoch,
        down: AgentSender,
    ) -> Result<Result<SessionId, Refusal>, Gone> {
        let (reply, answer) = oneshot::channel();
        let request = Request::Open { facts, agent, epoch, down, reply };
        self.requests.send(request).await.map_err(|_| Gone)?;
        answer.await.map_err(|_| Gone)
    }

    pub(crate) async fn say(&self, session: SessionId, message: AgentMessage) -> Result<(), Gone> {
        self.requests.send(Request::Say { session, message }).await.map_err(|_| Gone)
    }

    pub(crate) async fn close(&self, session: SessionId) -> Result<(), Gone> {
        self.requests.send(Request::Close { session }).await.map_err(|_| Gone)
    }

    /// The store, once it holds everything that is durable now.
    pub(crate) async fn current_store(&self) -> Result<&Store, Gone> {
        let through = *self.progress.durable.borrow();
        let mut indexed = self.progress.indexed.clone();
        if *indexed.borrow() < through {
            self.progress.urge.now();
        }
        indexed.wait_for(|position| *position >= through).await.map_err(|_| Gone)?;
        Ok(&self.store)
    }
}
