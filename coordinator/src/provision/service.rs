//! Starts and stops the queues, each of which has a task of its own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex as SharedMutex, PoisonError};
use std::time::Duration;

use speedup_core::machine::provision::{EngineNote, EngineNoteKind, Ledger, RefusedAgent};
use speedup_core::value::causes::with_causes;
use speedup_core::value::id::{JobId, NodeName, QueueName};
use speedup_core::value::time::{Span, Timestamp};
use speedup_journal::private;
use thiserror::Error;
use tokio::sync::{Mutex, broadcast, mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use super::agent::AgentStart;
use super::allocations::QueueAllocations;
use super::engine::{Engine, EngineError, JobSubmission};
use super::job_logs::JobLogs;
use super::reconciler::{NodeNews, QueueSnapshot, ReconcileError, Reconciler, SharedContext, log_note};
use super::record::{Queue, QueueConfig, Record, RecordError};
use super::slurm::cancel_left_trials;
use super::spec::{Spec, SpecError};
use crate::{handle::Handle, metrics::Metrics};

/// How long a coordinator that stops waits until the jobs of its engine are cancelled.
const FAREWELL: Duration = Duration::from_secs(40);
/// The shortest time between two rounds: a controller serves others too.
const ROUND_MIN: Duration = Duration::from_secs(1);
/// How often old logs of jobs are looked for.
const TIDY_EVERY: Duration = Duration::from_secs(3_600);
/// The shortest time between two polls of the demand: each looks at every host.
const POLL_MIN: Duration = Duration::from_millis(50);

/// What the jobs are called in a request that is only shown.
const SOME_JOBS: &str = "speedup-ID";
/// Most queues: each is asked by a task of its own, and a cluster has a few partitions.
const MAX_QUEUES: usize = 32;
/// Most news of nodes that are remembered until the next round: far more than engines start jobs between two.
const MAX_NEWS: usize = 1_000;

/// Provisioning of a coordinator. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Provisioning(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    agent: AgentStart,
    shared: SharedContext,
    queues: Mutex<BTreeMap<QueueName, RunningQueue>>,
}

/// A queue and the task that reconciles it.
#[derive(Debug)]
struct RunningQueue {
    queue: Queue,
    snapshot: Arc<SharedMutex<QueueSnapshot>>,
    end_requests: mpsc::Sender<EndReply>,
    /// `None` once it was waited for.
    task: Option<JoinHandle<()>>,
}

/// Receives whether all jobs were ended. If they were not, the queue goes on.
type EndReply = oneshot::Sender<Result<(), EngineError>>;

/// When the first round begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstRound {
    Now,
    /// When the coordinator that has just started has said where it is found.
    AfterAPause,
}

/// A user's request for a queue.
#[derive(Clone, Debug)]
pub(crate) struct QueueRequest {
    /// Chosen here where the user gives none.
    pub(crate) name: Option<QueueName>,
    pub(crate) config: QueueConfig,
}

#[derive(Clone, Debug)]
pub(crate) struct AddedQueue {
    pub(crate) name: QueueName,
    /// Whether it replaced an earlier one of that name.
    pub(crate) has_replaced: bool,
    pub(crate) submission: JobSubmission,
}

/// Selects queues; without kind or name, all of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueSelector {
    pub(crate) kind: Option<String>,
    pub(crate) name: Option<QueueName>,
}

/// A queue with what its latest round found.
#[derive(Clone, Debug)]
pub(crate) struct QueueStatus {
    pub(crate) queue: Queue,
    pub(crate) snapshot: QueueSnapshot,
}

impl QueueStatus {
    /// Why the queue requests no more hosts until somebody looks into it, if so.
    pub(crate) fn stands_still(&self, now: Timestamp) -> Option<String> {
        self.snapshot.ledger.stands_still(now, &self.queue.config.limits)
    }
}

/// Whether an engine gives out hosts that are of use to a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostsToCome {
    Some,
    /// No engine is asked, or it stands still.
    None,
    /// It does, but not for long enough.
    TooShort(TooShort),
}

/// That the jobs of an engine end too soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "each requested job lasts {} at most, and one host may need {} for what this plan has it hold, with timeouts, \
     warm-ups and setup",
    minutes(*lasts),
    minutes(*needed)
)]
pub(crate) struct TooShort {
    lasts: Span,
    needed: Span,
}

impl TooShort {
    /// What can be done.
    pub(crate) const HINT: &str = "request longer jobs (`speedup hosts slurm add` again, with a longer --time after --), \
        or give the plan a shorter timeout; --wait-for-hosts submits it for other hosts";
}

fn minutes(span: Span) -> String {
    format!("{:.1} minutes", span.as_secs_f64() / 60.0)
}

/// Why an engine is not asked.
#[derive(Debug, Error)]
pub(crate) enum AddError {
    #[error("this coordinator cannot request hosts: it was started for a single command")]
    Unable,
    /// There is no such engine.
    #[error(transparent)]
    Spec(#[from] SpecError),
    #[error("there are {MAX_QUEUES} queues already, and more are not allowed")]
    TooMany,
    #[error("cannot make {} for the agents", path.display())]
    Place { path: PathBuf, source: std::io::Error },
    #[error("the engine rejects such a job")]
    Refused(#[source] EngineError),
    #[error("the jobs of queue {queue} have not ended")]
    NotEnded { queue: QueueName, source: EngineError },
    /// It cannot be written down.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Why a queue is not removed.
#[derive(Debug, Error)]
pub(crate) enum RemoveError {
    #[error("there is no queue {name}{}", listed(.known))]
    Unknown { name: QueueName, known: Vec<QueueName> },
    #[error("there are {} queues{}", .0.len(), listed(.0))]
    Several(Vec<QueueName>),
    /// Its jobs cannot be ended.
    #[error(transparent)]
    Add(#[from] AddError),
}

/// Why a coordinator cannot go on with the engines that it asked before.
#[derive(Debug, Error)]
pub enum ResumeError {
    /// What it wrote down cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("cannot continue with queue {queue}: {words}")]
    Options { queue: QueueName, words: String },
}

impl Provisioning {
    /// That of a coordinator for one command, which asks nobody.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// Goes on with the engines that were asked before, if any.
    pub(crate) async fn resume(
        data: PathBuf,
        agent: AgentStart,
        handle: Handle,
        metrics: Metrics,
    ) -> Result<Self, ResumeError> {
        let record = Arc::new(Record::read(&data)?);
        let shared = SharedContext {
            allocations: QueueAllocations::new(handle.demand.clone()),
            handle,
            record: record.clone(),
            node_news: broadcast::channel(MAX_NEWS).0,
            metrics,
            agent_states: agent.place.state.clone(),
        };
        let inner = Arc::new(Inner { agent, shared, queues: Mutex::default() });
        cancel_left_trials(&inner.agent.place.state);
        let mut queues = inner.queues.lock().await;
        for queue in record.queues().await {
            tracing::info!(queue = %queue.name, jobs = queue.job_name, "resuming the requests for hosts");
            let engine = queue.config.spec.engine(&queue.name, &queue.job_name, &inner.agent);
            let engine = engine.map_err(|error| ResumeError::Options {
                queue: queue.name.clone(),
                words: with_causes(&error),
            })?;
            queues.insert(queue.name.clone(), inner.start(engine, queue, FirstRound::AfterAPause).await);
        }
        drop(queues);
        Ok(Self(Some(inner)))
    }

    /// What would be asked of the engine by a queue of this name.
    pub(crate) fn request(&self, name: Option<&QueueName>, spec: &Spec) -> Result<JobSubmission, AddError> {
        let inner = self.0.as_ref().ok_or(AddError::Unable)?;
        let name = name.cloned().or_else(|| spec.usual_name()).unwrap_or_else(|| numbered_name(1));
        Ok(spec.engine(&name, SOME_JOBS, &inner.agent)?.submission(SOME_JOBS))
    }

    /// Requests hosts through one more queue from now on, or in place of the queue of that name, where there is one.
    pub(crate) async fn add(&self, request: QueueRequest) -> Result<AddedQueue, AddError> {
        let inner = self.0.as_ref().ok_or(AddError::Unable)?;
        let mut queues = inner.queues.lock().await;
        let name = queue_name(&request, &queues);
        let QueueRequest { name: _, mut config } = request;
        config.look_every = config.look_every.max(ROUND_MIN);
        // The name of its jobs lives as long as its ledger: what was spent stays spent, and jobs of before are recognised.
        let job_name = match queues.get(&name) {
            Some(before) => before.queue.job_name.clone(),
            None => config.spec.new_job_name(),
        };
        let engine = config.spec.engine(&name, &job_name, &inner.agent)?;
        let has_replaced = queues.contains_key(&name);
        if !has_replaced && queues.len() >= MAX_QUEUES {
            return Err(AddError::TooMany);
        }
        let state = &inner.agent.place.state;
        private::create_directories(state)
            .map_err(|source| AddError::Place { path: state.clone(), source })?;
        let longest_job = engine.try_out().await.map_err(AddError::Refused)?;
        let mut ledger = match queues.get_mut(&name) {
            Some(before) => before.end().await?.ledger,
            None => Ledger::default(),
        };
        ledger.start_afresh();
        let words = format!("{} (queue {name})", config.spec);
        let note = EngineNote::by(&config.by, EngineNoteKind::Added, &words);
        let submission = engine.submission(SOME_JOBS);
        let queue = Queue { name: name.clone(), job_name, config, longest_job, ledger };
        inner.shared.record.put(queue.clone()).await?;
        queues.insert(name.clone(), inner.start(engine, queue, FirstRound::Now).await);
        drop(queues);
        log_note(&inner.shared.handle, note).await;
        Ok(AddedQueue { name, has_replaced, submission })
    }

    /// Notes that an agent was turned away for good, which may be one that an engine started.
    pub(crate) fn turned_away(&self, agent: RefusedAgent) {
        self.send_node_news(NodeNews::TurnedAway(agent));
    }

    /// Whether a job is a queue's, so that its engine will say how it ends.
    pub(crate) async fn has_job(&self, job: &JobId) -> bool {
        match &self.0 {
            Some(inner) => inner.shared.allocations.lock().await.has_job(job),
            None => false,
        }
    }

    /// Notes that somebody lets a node in again, of whichever queue.
    pub(crate) fn let_in(&self, node: NodeName) {
        self.send_node_news(NodeNews::LetIn(node));
    }

    fn send_node_news(&self, news: NodeNews) {
        if let Some(inner) = &self.0 {
            // Nobody listens where no engine is asked.
            let _ = inner.shared.node_news.send(news);
        }
    }

    /// The status of the selected queues.
    pub(crate) async fn show(&self, selector: &QueueSelector) -> Vec<QueueStatus> {
        let Some(inner) = &self.0 else { return Vec::new() };
        let queues = inner.queues.lock().await;
        queues.values().filter(|running| selector.has(&running.queue)).map(RunningQueue::status).collect()
    }

    /// Whether hosts will come for a plan of which a visit may need such an allocation: an engine is asked, does not stand still,
    /// and its jobs last as long.
    pub(crate) async fn outlook(&self, needed: Span) -> HostsToCome {
        let queues = self.show(&QueueSelector::default()).await;
        let active = queues.iter().filter(|status| status.snapshot.ledger.stopped.is_none());
        // Jobs without a limit last longest.
        let longest = active.map(|status| status.queue.longest_job.unwrap_or(Span(u64::MAX))).max();
        match longest {
            None => HostsToCome::None,
            Some(lasts) if lasts < needed => HostsToCome::TooShort(TooShort { lasts, needed }),
            Some(_) => HostsToCome::Some,
        }
    }

    /// Removes one queue and ends all its jobs. Returns nothing where no queue is selected.
    pub(crate) async fn remove(
        &self,
        selector: &QueueSelector,
        by: &str,
    ) -> Result<Option<QueueStatus>, RemoveError> {
        let Some(inner) = &self.0 else { return Ok(None) };
        let mut queues = inner.queues.lock().await;
        let mut selected = selector.names(&queues);
        if selected.len() > 1 {
            return Err(RemoveError::Several(selected));
        }
        let Some(name) = selected.pop() else {
            let Some(name) = selector.name.clone() else { return Ok(None) };
            let known = QueueSelector { name: None, ..selector.clone() }.names(&queues);
            return Err(RemoveError::Unknown { name, known });
        };
        let Some(running) = queues.get_mut(&name) else { return Ok(None) };
        let status = running.status();
        // Jobs that may still be there are not forgotten: a queue whose engine does not answer stays.
        running.end().await?;
        inner.shared.record.forget(&name).await.map_err(AddError::from)?;
        inner.shared.allocations.leave(&name).await;
        queues.remove(&name);
        let words = format!("{} (queue {name})", status.queue.config.spec);
        log_note(&inner.shared.handle, EngineNote::by(by, EngineNoteKind::Removed, &words)).await;
        Ok(Some(status))
    }

    /// Ends all jobs; the next start goes on asking.
    pub(crate) async fn stop(&self) {
        let Some(inner) = &self.0 else { return };
        let mut farewells = JoinSet::new();
        for (_, mut running) in std::mem::take(&mut *inner.queues.lock().await) {
            farewells.spawn(async move { running.end().await.map(drop) });
        }
        let all = async {
            while let Some(ended) = farewells.join_next().await {
                match ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic())) {
                    Ok(()) => {}
                    Err(error) => tracing::error!("jobs may still be there: {}", with_causes(&error)),
                }
            }
        };
        if tokio::time::timeout(FAREWELL, all).await.is_err() {
            tracing::error!("jobs may still be there: the engine does not answer");
        }
    }
}

impl QueueSelector {
    fn has(&self, queue: &Queue) -> bool {
        self.kind.as_ref().is_none_or(|kind| kind == queue.config.spec.kind().word())
            && self.name.as_ref().is_none_or(|name| *name == queue.name)
    }

    fn names(&self, queues: &BTreeMap<QueueName, RunningQueue>) -> Vec<QueueName> {
        let selected = queues.values().map(|running| &running.queue).filter(|queue| self.has(queue));
        selected.map(|queue| queue.name.clone()).collect()
    }
}

/// The name of a requested queue: the user's, that of the queue which asks for the very same, or one that is free.
fn queue_name(request: &QueueRequest, queues: &BTreeMap<QueueName, RunningQueue>) -> QueueName {
    let QueueRequest { name, config } = request;
    if let Some(name) = name {
        return name.clone();
    }
    if let Some(same) = queues.values().find(|running| running.queue.config.spec == config.spec) {
        return same.queue.name.clone();
    }
    let usual = config.spec.usual_name();
    let candidates = (1_u32..).map(|number| match &usual {
        Some(usual) if number == 1 => usual.clone(),
        Some(usual) => format!("{usual}-{number}").parse().unwrap_or_else(|_| numbered_name(number)),
        None => numbered_name(number),
    });
    let mut free = candidates.filter(|name| !queues.contains_key(name));
    free.next().expect("some number is free")
}

fn numbered_name(number: u32) -> QueueName {
    number.to_string().parse().expect("a number is a name")
}

/// The names that are known, as the end of a message.
fn listed(names: &[QueueName]) -> String {
    let names: Vec<&str> = names.iter().map(QueueName::as_str).collect();
    if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) }
}

impl Inner {
    async fn start(&self, engine: Box<dyn Engine>, queue: Queue, first: FirstRound) -> RunningQueue {
        let snapshot = QueueSnapshot { ledger: queue.ledger.clone(), ..QueueSnapshot::default() };
        let snapshot = Arc::new(SharedMutex::new(snapshot));
        let logs = engine.log_prefix().map(|prefix| {
            let directory = self.agent.place.state.clone();
            JobLogs { directory, prefix }
        });
        let reconciler =
            Reconciler::new(engine.into(), queue.clone(), self.shared.clone(), snapshot.clone()).await;
        let (end_requests, requested) = mpsc::channel(1);
        let task = tokio::spawn(keep_reconciled(reconciler, logs, first, requested));
        RunningQueue { queue, snapshot, end_requests, task: Some(task) }
    }
}

impl RunningQueue {
    fn snapshot(&self) -> QueueSnapshot {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn status(&self) -> QueueStatus {
        QueueStatus { queue: self.queue.clone(), snapshot: self.snapshot() }
    }

    /// Ends all jobs, and returns the latest snapshot. Where the engine does not do that, the queue goes on as before.
    async fn end(&mut self) -> Result<QueueSnapshot, AddError> {
        let (reply, answer) = oneshot::channel();
        if self.end_requests.send(reply).await.is_ok()
            && let Ok(ended) = answer.await
        {
            let queue = self.queue.name.clone();
            return ended.map(|()| self.snapshot()).map_err(|source| AddError::NotEnded { queue, source });
        }
        // There is no task any more: it has ended all jobs before, or panicked.
        if let Some(task) = self.task.take() {
            task.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        }
        Ok(self.snapshot())
    }
}

/// Does rounds until all jobs are ended, because somebody wants it or because the coordinator stops.
async fn keep_reconciled(
    mut reconciler: Reconciler,
    logs: Option<JobLogs>,
    first: FirstRound,
    mut end_requests: mpsc::Receiver<EndReply>,
) {
    let _vital = reconciler.watch_over();
    let mut demand = reconciler.demand();
    let mut tidied: Option<Instant> = None;
    let mut earliest = Instant::now();
    let mut due = match first {
        FirstRound::Now => Some(earliest),
        FirstRound::AfterAPause => Some(earliest + ROUND_MIN),
    };
    loop {
        let round = async {
            match due {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            reply = end_requests.recv() => {
                let ended = reconciler.end().await;
                let is_over = ended.is_ok() || reply.is_none();
                if let Some(reply) = reply {
                    // Who does not wait any more has been told by nobody, and may ask again.
                    let _ = reply.send(ended);
                }
                if is_over {
                    return;
                }
            }
            () = round => {
                earliest = Instant::now() + ROUND_MIN;
                due = Some(Instant::now() + reconciler.look_every());
                match reconciler.reconcile().await {
                    Ok(()) => {}
                    Err(ReconcileError::Gone(_)) if reconciler.end().await.is_ok() => return,
                    // Who stops the coordinator wants it as well, and tells why it fails.
                    Err(ReconcileError::Gone(_)) => due = None,
                    Err(error) => tracing::error!("{}; trying again", with_causes(&error)),
                }
                if let Some(logs) = &logs
                    && tidied.is_none_or(|last| last.elapsed() >= TIDY_EVERY)
                {
                    logs.remove_old().await;
                    tidied = Some(Instant::now());
                }
            }
            Ok(()) = demand.changed() => {
                // What is due soon anyway says what is wrong.
                if reconciler.poll().await.unwrap_or(false) {
                    due = due.map(|due| due.min(earliest));
                }
                // What happens meanwhile is seen together.
                tokio::time::sleep(POLL_MIN).await;
            }
        }
    }
}

#[cfg(test)]
mod tests;
