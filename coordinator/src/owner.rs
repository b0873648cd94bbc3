//! The owner: one task that owns the machine. It takes requests in batches, lets the machine decide and evolve, and has
//! the committer make what came of a batch durable, as one group. What comes meanwhile is the next batch.

use std::{collections::HashMap, sync::Arc, time::Instant};

use speedup_core::agent::message::{AgentMessage, CoordinatorMessage};
use speedup_core::host::HostFacts;
use speedup_core::machine::{Command, Effect, HandleOutcome, Machine, Notice, Refusal, Speaker};
use speedup_core::value::causes::with_causes;
use speedup_core::value::id::{AgentEpoch, AgentId, HostId};
use speedup_journal::WriteError;
use speedup_proto::{v1, v1::coordinator_message::Message as Answer};
use tokio::sync::{mpsc, oneshot, watch};

use crate::committer::{AgentSender, CommitAnswer, CommitBatch, Committer};
use crate::drain_guard::DrainGuard;
use crate::fault::{Broken, Fault};
use crate::orders::Orders;
use crate::timeline::TimeLine;

/// Requests taken at once: with more of them the first would wait for the last, and the sync is no longer what takes time.
const BATCH: usize = 512;
/// Requests that may wait; whoever sends more waits, and with it its gRPC stream.
pub(crate) const WAITING_REQUESTS: usize = 4_096;

pub(crate) enum Request {
    Command {
        command: Command,
        /// Answered when it is durable.
        reply: oneshot::Sender<Result<(), Refusal>>,
    },
    /// Something happened, which the machine does not refuse.
    Notice(Notice),
    /// A question about the machine; gives what to do with the answer once it is durable.
    Query(Box<dyn FnOnce(&Machine) -> CommitAnswer + Send>),
    Open {
        facts: HostFacts,
        agent: AgentId,
        epoch: AgentEpoch,
        down: AgentSender,
        /// Answered when it is durable.
        reply: oneshot::Sender<Result<SessionId, Refusal>>,
    },
    /// An agent said something.
    Say {
        session: SessionId,
        message: AgentMessage,
    },
    Close {
        session: SessionId,
    },
    Stop,
}

/// One connection of one agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SessionId(u64);

struct Session {
    speaker: Speaker,
    down: AgentSender,
}

pub(crate) struct Owner {
    machine: Machine,
    time: TimeLine,
    drain_guard: DrainGuard,
    sessions: HashMap<SessionId, Session>,
    current: HashMap<HostId, SessionId>,
    next_session: u64,
    orders: Orders,
    committer: Committer,
    /// Told when nothing can be recorded any more.
    fault: Fault,
    /// Told when the plans may need other hosts than before.
    demand: Arc<watch::Sender<()>>,
}

impl Owner {
    pub(crate) fn new(
        machine: Machine,
        time: TimeLine,
        drain_guard: DrainGuard,
        committer: Committer,
        fault: Fault,
        demand: Arc<watch::Sender<()>>,
    ) -> Self {
        Self {
            machine,
            time,
            drain_guard,
            sessions: HashMap::new(),
            current: HashMap::new(),
            next_session: 0,
            orders: Orders::default(),
            committer,
            fault,
            demand,
        }
    }

    /// Serves requests until it is told to stop, nobody can ask any more, or the journal fails.
    pub(crate) async fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        let _vital = self.fault.watch_over("the owner of the machine");
        match self.serve_all(&mut requests).await {
            Ok(()) => self.committer.close(),
            Err(error) => {
                tracing::error!("nothing is acknowledged from now on: {}", with_causes(&error));
                self.fault.report(Broken::Journal(error));
            }
        }
    }

    async fn serve_all(&mut self, requests: &mut mpsc::Receiver<Request>) -> Result<(), WriteError> {
        let mut group = CommitBatch::default();
        self.notice(Notice::Start, &mut group);
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            // What comes while this syncs is the next batch, so batches grow with the load by themselves.
            if !group.is_empty() {
                self.committer.commit(std::mem::take(&mut group))?;
            }
            let loss = self.machine.next_loss().and_then(|at| self.time.instant(at));
            let rest = self.machine.next_rest().and_then(|at| self.time.instant(at));
            let wake = self.drain_guard.wake(Instant::now(), loss, rest);
            let tick = async {
                match wake {
                    Some(at) => tokio::time::sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                taken = requests.recv_many(&mut batch, BATCH) => if taken == 0 { return Ok(()) },
                () = tick => {}
            }
            if let Some(late) = self.drain_guard.woke(Instant::now()) {
                tracing::warn!(
                    seconds = late.as_secs(),
                    "the coordinator was suspended; hosts get time to be heard again"
                );
            }
            // Deadlines wait for requests that have arrived: a report in them may be the one that is missed.
            if batch.is_empty() {
                self.tick(&mut group);
            }
            for request in batch.drain(..) {
                if matches!(request, Request::Stop) {
                    return self.committer.commit(group);
                }
                self.serve(request, &mut group);
            }
        }
    }

    /// Expires overdue leases, but only after waiting messages were read. Rested hosts are handled at once.
    fn tick(&mut self, group: &mut CommitBatch) {
        let due = self.machine.next_loss().filter(|due| *due <= self.time.now());
        if let Some(due) = due.and_then(|due| self.time.instant(due))
            && self.drain_guard.may_apply(Instant::now(), due)
        {
            self.notice(Notice::Tick, group);
        } else {
            self.notice(Notice::Rest, group);
        }
    }

    fn serve(&mut self, request: Request, group: &mut CommitBatch) {
        match request {
            Request::Command { command, reply } => {
                let result = self.handle(command, group);
                group.answers.push(Box::new(move || drop(reply.send(result))));
            }
            Request::Notice(notice) => self.notice(notice, group),
            Request::Query(question) => group.answers.push(question(&self.machine)),
            Request::Open { facts, agent, epoch, down, reply } => {
                let result = self.open(facts, agent, epoch, down, group);
                group.answers.push(Box::new(move || drop(reply.send(result))));
            }
            Request::Say { session, message } => self.hear(session, message, group),
            Request::Close { session } => self.close(session, group),
            Request::Stop => {}
        }
    }

    fn open(
        &mut self,
        facts: HostFacts,
        agent: AgentId,
        epoch: AgentEpoch,
        down: AgentSender,
        group: &mut CommitBatch,
    ) -> Result<SessionId, Refusal> {
        let speaker = Speaker { host: facts.host.clone(), epoch };
        self.handle(Command::Join { facts, agent, epoch }, group)?;
        let session = SessionId(self.next_session);
        self.next_session += 1;
        // A session of the same host that this one replaces ends: its channel closes with it.
        if let Some(replaced) = self.current.insert(speaker.host.clone(), session) {
            self.sessions.remove(&replaced);
        }
        let welcome = CoordinatorMessage::Welcome { next_lease: self.machine.next_lease() };
        group.send(&down, welcome.into());
        self.sessions.insert(session, Session { speaker, down });
        Ok(session)
    }

    fn close(&mut self, session: SessionId, group: &mut CommitBatch) {
        let Some(Session { speaker, .. }) = self.sessions.remove(&session) else { return };
        if self.current.get(&speaker.host) == Some(&session) {
            self.current.remove(&speaker.host);
            self.notice(Notice::Leave(speaker), group);
        }
    }

    fn hear(&mut self, session: SessionId, message: AgentMessage, group: &mut CommitBatch) {
        let Some(Session { speaker, down }) = self.sessions.get(&session) else { return };
        let speaker = speaker.clone();
        let down = down.clone();
        let host = speaker.host.clone();
        let command = match message {
            AgentMessage::Ask => Command::Ask(speaker),
            AgentMessage::Ready { lease } => Command::Ready { speaker, lease },
            AgentMessage::Started { lease } => Command::Started { speaker, lease },
            AgentMessage::Report(report) => Command::Report { speaker, report },
            // The door takes the first message of a session; another Join is out of order.
            AgentMessage::Join { .. } => return,
        };
        match self.handle(command, group) {
            Ok(()) => {}
            Err(refusal @ Refusal::NotYourLease { lease, .. }) => {
                tracing::warn!(%host, %lease, "refused a report: {refusal}");
                let refused = CoordinatorMessage::Refused { lease, reason: refusal.to_string() };
                group.send(&down, refused.into());
            }
            Err(refusal) => {
                let away = CoordinatorMessage::TurnedAway {
                    reason: refusal.to_string(),
                    known_epoch: None,
                    is_lasting: refusal.is_lasting(),
                };
                group.send(&down, away.into());
                self.close(session, group);
            }
        }
    }

    /// Lets the machine handle a command and puts what came of it into the group.
    fn handle(&mut self, command: Command, group: &mut CommitBatch) -> Result<(), Refusal> {
        let handled = self.machine.handle(self.time.now(), command)?;
        self.put(handled, group);
        Ok(())
    }

    /// Tells the machine what happened and puts what came of it into the group.
    fn notice(&mut self, notice: Notice, group: &mut CommitBatch) {
        let handled = self.machine.notice(self.time.now(), notice);
        self.put(handled, group);
    }

    fn put(&mut self, handled: HandleOutcome, group: &mut CommitBatch) {
        if handled.events.iter().any(|event| event.change.moves_demand()) {
            self.demand.send_replace(());
        }
        group.events.extend(handled.events.into_iter().filter(|event| event.change.is_kept()));
        group.ended.extend(handled.ended);
        for effect in handled.effects {
            self.address(effect, group);
        }
    }

    /// What cannot be addressed is not sent: a host without a session asks when it has one.
    fn address(&mut self, effect: Effect, group: &mut CommitBatch) {
        let (host, message) = match effect {
            Effect::Grant { lease, plan } => {
                let grant = Answer::Grant(self.orders.grant(&plan, &lease));
                return self.send(&lease.host, v1::CoordinatorMessage { message: Some(grant) }, group);
            }
            Effect::Remind { host } => {
                let next_lease = self.machine.next_lease();
                (host, CoordinatorMessage::Welcome { next_lease })
            }
            Effect::Begin { host, lease } => (host, CoordinatorMessage::Begin { lease }),
            Effect::End { host, lease } => (host, CoordinatorMessage::End { lease }),
            Effect::Reboot { host, reason } => (host, CoordinatorMessage::Reboot { reason }),
            Effect::Dismiss { host } => (host, CoordinatorMessage::dismissed()),
            Effect::Acknowledge { host, lease } => (host, CoordinatorMessage::Acknowledged { lease }),
        };
        self.send(&host, message.into(), group);
    }

    fn send(&self, host: &HostId, message: v1::CoordinatorMessage, group: &mut CommitBatch) {
        if let Some(session) = self.current.get(host).and_then(|session| self.sessions.get(session)) {
            group.send(&session.down, message);
        }
    }
}
