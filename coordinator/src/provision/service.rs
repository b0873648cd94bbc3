//! What starts and stops: each queue is asked by a task of its own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex as SharedMutex, PoisonError};
use std::time::Duration;

use speedup_core::machine::provision::{EngineNote, EngineNoteKind, Ledger, ProvisionLimits, RefusedAgent};
use speedup_core::value::causes::with_causes;
use speedup_core::value::id::{JobId, NodeName, QueueName};
use speedup_core::value::time::Span;
use speedup_journal::private;
use thiserror::Error;
use tokio::sync::{Mutex, broadcast, mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use super::agent::AgentStart;
use super::engine::{Engine, EngineError, Request};
use super::job_logs::JobLogs;
use super::look::{LookError, Looker, NodeNews, Seen, Views, tell};
use super::record::{Queue, Record, RecordError};
use super::shares::Shares;
use super::slurm::cancel_left_trials;
use super::spec::{Spec, SpecError};
use crate::{handle::Handle, metrics::Metrics};

/// How long a coordinator that stops waits until the jobs of its engine are cancelled.
const FAREWELL: Duration = Duration::from_secs(40);
/// The shortest time between two looks: a controller serves others too.
const LOOK_MIN: Duration = Duration::from_secs(1);
/// How often old logs of jobs are looked for.
const TIDY_EVERY: Duration = Duration::from_secs(3_600);
/// The shortest time between two glances at the plans: each looks at every host.
const GLANCE_MIN: Duration = Duration::from_millis(50);

/// What the jobs are called in a request that is only shown.
const SOME_JOBS: &str = "speedup-ID";
/// Most queues: each is asked by a task of its own, and a cluster has a few partitions.
const MAX_QUEUES: usize = 32;
/// Most news of nodes that are remembered until the next look: far more than engines start jobs between two.
const MAX_NEWS: usize = 1_000;

/// Provisioning of a coordinator. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Provisioning(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    agent: AgentStart,
    views: Views,
    queues: Mutex<BTreeMap<QueueName, Current>>,
}

#[derive(Debug)]
struct Current {
    queue: Queue,
    seen: Arc<SharedMutex<Seen>>,
    wanted_ended: mpsc::Sender<Ended>,
    /// Nothing once it was waited for.
    task: Option<JoinHandle<()>>,
}

/// Where it is told whether all jobs were ended. If they were not, the engine is asked on.
type Ended = oneshot::Sender<Result<(), EngineError>>;

/// When the first look is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begin {
    Now,
    /// When the coordinator that has just started has said where it is found.
    AfterAPause,
}

/// What a user wants of an engine.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// What the queue is called; chosen here, where it is not said.
    pub(crate) name: Option<QueueName>,
    pub(crate) spec: Spec,
    pub(crate) limits: ProvisionLimits,
    /// How often the engine is asked what its jobs do.
    pub(crate) look_every: Duration,
    pub(crate) by: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Added {
    pub(crate) name: QueueName,
    /// Whether it stands in place of an earlier one of that name.
    pub(crate) has_replaced: bool,
    pub(crate) request: Request,
}

/// Which queues are meant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selected {
    pub(crate) kind: Option<String>,
    pub(crate) name: Option<QueueName>,
}

/// What is shown of a queue that is asked.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) queue: Queue,
    /// What was last seen.
    pub(crate) seen: Seen,
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
        let shares = Shares::new(handle.demand.clone());
        let node_news = broadcast::channel(MAX_NEWS).0;
        let views = Views { handle, shares, record: record.clone(), node_news, metrics };
        let inner = Arc::new(Inner { agent, views, queues: Mutex::default() });
        cancel_left_trials(&inner.agent.place.state);
        let mut queues = inner.queues.lock().await;
        for queue in record.queues().await {
            tracing::info!(queue = %queue.name, jobs = queue.job_name, "hosts are requested as before");
            let engine = queue.spec.engine(&queue.name, &queue.job_name, &inner.agent);
            let engine = engine.map_err(|error| ResumeError::Options {
                queue: queue.name.clone(),
                words: with_causes(&error),
            })?;
            queues.insert(queue.name.clone(), inner.start(engine, queue, Begin::AfterAPause).await);
        }
        drop(queues);
        Ok(Self(Some(inner)))
    }

    /// What would be asked for, by a queue of this name.
    pub(crate) fn request(&self, name: Option<&QueueName>, spec: &Spec) -> Result<Request, AddError> {
        let inner = self.0.as_ref().ok_or(AddError::Unable)?;
        let name = name.cloned().or_else(|| spec.usual_name()).unwrap_or_else(|| of_number(1));
        Ok(spec.engine(&name, SOME_JOBS, &inner.agent)?.request())
    }

    /// Asks an engine from now on, beside the others; in place of the queue of that name, where there is one.
    pub(crate) async fn add(&self, wanted: Wanted) -> Result<Added, AddError> {
        let request = self.request(wanted.name.as_ref(), &wanted.spec)?;
        let inner = self.0.as_ref().ok_or(AddError::Unable)?;
        let mut queues = inner.queues.lock().await;
        let name = named(&wanted, &queues);
        if !queues.contains_key(&name) && queues.len() >= MAX_QUEUES {
            return Err(AddError::TooMany);
        }
        let Wanted { name: _, spec, limits, look_every, by } = wanted;
        let note = EngineNote::by(&by, EngineNoteKind::Added, &format!("{spec} (queue {name})"));
        let before = queues.get(&name).map(|current| (current.queue.job_name.clone(), current.seen()));
        let has_replaced = before.is_some();
        // The name of its jobs lives as long as its ledger: what was spent stays spent, and jobs of before are recognised.
        let (job_name, mut ledger) = before.map_or_else(
            || (spec.new_job_name(), Ledger::default()),
            |(job_name, seen)| (job_name, seen.ledger),
        );
        let state = &inner.agent.place.state;
        private::create_directories(state)
            .map_err(|source| AddError::Place { path: state.clone(), source })?;
        let engine = spec.engine(&name, &job_name, &inner.agent)?;
        let longest_job = engine.try_out().await.map_err(AddError::Refused)?;
        if let Some(before) = queues.get_mut(&name) {
            ledger = before.end().await?.ledger;
        }
        ledger.start_afresh();
        let look_every = look_every.max(LOOK_MIN);
        let queue = Queue { name: name.clone(), job_name, spec, limits, look_every, by, longest_job, ledger };
        inner.views.record.put(queue.clone()).await?;
        queues.insert(name.clone(), inner.start(engine, queue, Begin::Now).await);
        drop(queues);
        tell(&inner.views.handle, note).await;
        Ok(Added { name, has_replaced, request })
    }

    /// That an agent was turned away for good, which may be one that an engine started.
    pub(crate) fn turned_away(&self, agent: RefusedAgent) {
        self.tell_of_node(NodeNews::TurnedAway(agent));
    }

    /// Whether a job is a queue's, so that its engine will say how it ends.
    pub(crate) async fn has_job(&self, job: &JobId) -> bool {
        match &self.0 {
            Some(inner) => inner.views.shares.lock().await.has_job(job),
            None => false,
        }
    }

    /// That somebody lets a node in again, of whichever queue.
    pub(crate) fn let_in(&self, node: NodeName) {
        self.tell_of_node(NodeNews::LetIn(node));
    }

    fn tell_of_node(&self, news: NodeNews) {
        if let Some(inner) = &self.0 {
            // Nobody listens where no engine is asked.
            let _ = inner.views.node_news.send(news);
        }
    }

    /// What is asked of whom, and what came of it.
    pub(crate) async fn show(&self, selected: &Selected) -> Vec<Shown> {
        let Some(inner) = &self.0 else { return Vec::new() };
        let queues = inner.queues.lock().await;
        queues.values().filter(|current| selected.has(&current.queue)).map(Current::shown).collect()
    }

    /// Whether hosts will come for a plan of which a visit may need such an allocation: an engine is asked, does not stand still,
    /// and its jobs last as long.
    pub(crate) async fn outlook(&self, needed: Span) -> HostsToCome {
        let shown = self.show(&Selected::default()).await;
        let asked = shown.iter().filter(|shown| shown.seen.ledger.stopped.is_none());
        // Jobs without a limit last longest.
        let longest = asked.map(|shown| shown.queue.longest_job.unwrap_or(Span(u64::MAX))).max();
        match longest {
            None => HostsToCome::None,
            Some(lasts) if lasts < needed => HostsToCome::TooShort(TooShort { lasts, needed }),
            Some(_) => HostsToCome::Some,
        }
    }

    /// Asks one queue for no more, and ends all its jobs; gives nothing where nothing is asked.
    pub(crate) async fn remove(&self, selected: &Selected, by: &str) -> Result<Option<Shown>, RemoveError> {
        let Some(inner) = &self.0 else { return Ok(None) };
        let mut queues = inner.queues.lock().await;
        let meant = queues.values().filter(|current| selected.has(&current.queue));
        let meant: Vec<QueueName> = meant.map(|current| current.queue.name.clone()).collect();
        let name = match (&meant[..], &selected.name) {
            ([], Some(name)) => {
                let of_kind = Selected { name: None, ..selected.clone() };
                let known = queues.values().filter(|current| of_kind.has(&current.queue));
                let known = known.map(|current| current.queue.name.clone()).collect();
                return Err(RemoveError::Unknown { name: name.clone(), known });
            }
            ([], None) => return Ok(None),
            ([name], _) => name,
            (_, _) => return Err(RemoveError::Several(meant)),
        };
        let Some(asked) = queues.get_mut(name) else { return Ok(None) };
        let shown = asked.shown();
        // Jobs that may still be there are not forgotten: a queue whose engine does not answer stays.
        asked.end().await?;
        inner.views.record.forget(name).await.map_err(AddError::from)?;
        inner.views.shares.leave(name).await;
        queues.remove(name);
        let words = format!("{} (queue {name})", shown.queue.spec);
        tell(&inner.views.handle, EngineNote::by(by, EngineNoteKind::Removed, &words)).await;
        Ok(Some(shown))
    }

    /// Ends all jobs; the next start goes on asking.
    pub(crate) async fn stop(&self) {
        let Some(inner) = &self.0 else { return };
        let mut farewells = JoinSet::new();
        for (_, mut current) in std::mem::take(&mut *inner.queues.lock().await) {
            farewells.spawn(async move { current.end().await.map(drop) });
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

impl Selected {
    fn has(&self, queue: &Queue) -> bool {
        self.kind.as_ref().is_none_or(|kind| kind == queue.spec.kind())
            && self.name.as_ref().is_none_or(|name| *name == queue.name)
    }
}

/// What the wanted queue is called: as its user says, as the one that asks for the very same, or as no other.
fn named(wanted: &Wanted, queues: &BTreeMap<QueueName, Current>) -> QueueName {
    if let Some(name) = &wanted.name {
        return name.clone();
    }
    if let Some(same) = queues.values().find(|current| current.queue.spec == wanted.spec) {
        return same.queue.name.clone();
    }
    let usual = wanted.spec.usual_name();
    let numbered = (1_u32..).map(|number| match &usual {
        Some(usual) if number == 1 => usual.clone(),
        Some(usual) => format!("{usual}-{number}").parse().unwrap_or_else(|_| of_number(number)),
        None => of_number(number),
    });
    let mut free = numbered.filter(|name| !queues.contains_key(name));
    free.next().expect("some number is free")
}

fn of_number(number: u32) -> QueueName {
    number.to_string().parse().expect("a number is a name")
}

/// The names that are known, as the end of a message.
fn listed(names: &[QueueName]) -> String {
    let names: Vec<&str> = names.iter().map(QueueName::as_str).collect();
    if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) }
}

impl Inner {
    async fn start(&self, engine: Box<dyn Engine>, queue: Queue, begin: Begin) -> Current {
        let seen = Seen { ledger: queue.ledger.clone(), ..Seen::default() };
        let seen = Arc::new(SharedMutex::new(seen));
        let logs = engine.log_prefix().map(|prefix| {
            let directory = self.agent.place.state.clone();
            JobLogs { directory, prefix }
        });
        let looker = Looker::new(engine.into(), queue.clone(), self.views.clone(), seen.clone()).await;
        let (wanted_ended, wanted) = mpsc::channel(1);
        Current { queue, seen, wanted_ended, task: Some(tokio::spawn(watch(looker, logs, begin, wanted))) }
    }
}

impl Current {
    fn seen(&self) -> Seen {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn shown(&self) -> Shown {
        Shown { queue: self.queue.clone(), seen: self.seen() }
    }

    /// Ends all jobs, and gives what was last seen. Where the engine does not do that, it is asked on as before.
    async fn end(&mut self) -> Result<Seen, AddError> {
        let (reply, answer) = oneshot::channel();
        if self.wanted_ended.send(reply).await.is_ok()
            && let Ok(ended) = answer.await
        {
            let queue = self.queue.name.clone();
            return ended.map(|()| self.seen()).map_err(|source| AddError::NotEnded { queue, source });
        }
        // There is no task any more: it has ended all jobs before, or panicked.
        if let Some(task) = self.task.take() {
            task.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        }
        Ok(self.seen())
    }
}

/// Looks until all jobs are ended, because somebody wants it or because the coordinator stops.
async fn watch(mut looker: Looker, logs: Option<JobLogs>, begin: Begin, mut wanted: mpsc::Receiver<Ended>) {
    let _vital = looker.watch_over();
    let mut demand = looker.demand();
    let mut tidied: Option<Instant> = None;
    let mut earliest = Instant::now();
    let mut due = match begin {
        Begin::Now => Some(earliest),
        Begin::AfterAPause => Some(earliest + LOOK_MIN),
    };
    loop {
        let look = async {
            match due {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            reply = wanted.recv() => {
                let ended = looker.end().await;
                let is_over = ended.is_ok() || reply.is_none();
                // Who does not wait any more has been told by nobody, and may ask again.
                reply.map(|reply| reply.send(ended));
                if is_over {
                    return;
                }
            }
            () = look => {
                earliest = Instant::now() + LOOK_MIN;
                due = Some(Instant::now() + looker.every());
                match looker.look().await {
                    Ok(()) => {}
                    Err(LookError::Gone(_)) if looker.end().await.is_ok() => return,
                    // Who stops the coordinator wants it as well, and tells why it fails.
                    Err(LookError::Gone(_)) => due = None,
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
                let asks_engine = looker.glance().await.unwrap_or(false);
                due = due.map(|due| if asks_engine { due.min(earliest) } else { due });
                // What happens meanwhile is seen together.
                tokio::time::sleep(GLANCE_MIN).await;
            }
        }
    }
}

#[cfg(test)]
mod tests;
