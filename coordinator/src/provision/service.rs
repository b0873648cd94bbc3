//! What starts and stops: at most one engine is asked, by one task.

use std::path::PathBuf;
use std::sync::{Arc, Mutex as SharedMutex, PoisonError};
use std::time::Duration;

use speedup_core::machine::Notice;
use speedup_core::machine::provision::{EngineNote, EngineNoteKind, ProvisionLimits, RefusedAgent};
use speedup_core::value::causes::with_causes;
use speedup_core::value::time::Span;
use speedup_journal::private;
use thiserror::Error;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use uuid::Uuid;

use super::agent::AgentStart;
use super::engine::{Engine, EngineError};
use super::local::Local;
use super::look::{LookError, Looker, Refused, Seen};
use super::record::{Record, RecordError, Spec};
use super::slurm::{OptionsError, Slurm, SlurmOptions};
use crate::handle::Handle;
use crate::metrics::Metrics;

/// How long a coordinator that stops waits until the jobs of its engine are cancelled.
const FAREWELL: Duration = Duration::from_secs(40);
/// The shortest time between two looks: a controller serves others too.
const LOOK_MIN: Duration = Duration::from_secs(1);
/// The shortest time between two glances at the plans: each looks at every host.
const GLANCE_MIN: Duration = Duration::from_millis(50);

/// Provisioning of a coordinator. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Provisioning(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    data: PathBuf,
    agent: AgentStart,
    handle: Handle,
    metrics: Metrics,
    current: Mutex<Option<Current>>,
    refused: Refused,
}

/// An engine that is asked.
#[derive(Debug)]
struct Current {
    record: Record,
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
    /// At once.
    Now,
    /// When the coordinator that has just started has said where it is found.
    AfterAPause,
}

/// What a user wants of an engine.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// Which.
    pub(crate) spec: Spec,
    /// What is allowed.
    pub(crate) limits: ProvisionLimits,
    /// How often the engine is asked what its jobs do.
    pub(crate) look_every: Duration,
    /// Who wants it.
    pub(crate) by: String,
}

/// What an engine is asked for, and how.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    /// The command.
    pub(crate) command: Vec<String>,
    /// What the job executes.
    pub(crate) script: String,
}

/// What is shown of an engine that is asked.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// Which, and how.
    pub(crate) record: Record,
    /// What was last seen.
    pub(crate) seen: Seen,
}

/// Whether an engine gives out hosts that are of use to a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostsToCome {
    /// It does.
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
    /// This coordinator serves one command.
    #[error("this coordinator cannot request hosts: it was started for a single command")]
    Unable,
    /// No other host reaches it.
    #[error("the coordinator listens on {0}, where no other host can reach it")]
    Unreachable(std::net::SocketAddr),
    /// Its options are none.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// There is no place for the agents' state and logs.
    #[error("cannot make {} for the agents", path.display())]
    Place {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// It refused.
    #[error("the engine rejects such a job")]
    Refused(#[source] EngineError),
    /// The jobs of the engine asked before are still there.
    #[error("the jobs of the previous engine have not ended")]
    NotEnded(#[source] EngineError),
    /// It cannot be written down.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Why a coordinator cannot go on with the engine that it asked before.
#[derive(Debug, Error)]
pub enum ResumeError {
    /// What it wrote down cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Its options are none to this release.
    #[error("cannot continue with the previous engine: {0}")]
    Options(String),
}

impl Provisioning {
    /// That of a coordinator for one command, which asks nobody.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// Goes on with the engine that was asked before, if any.
    pub(crate) async fn resume(
        data: PathBuf,
        agent: AgentStart,
        handle: Handle,
        metrics: Metrics,
    ) -> Result<Self, ResumeError> {
        let refused = Refused::default();
        let inner = Arc::new(Inner { data, agent, handle, metrics, current: Mutex::new(None), refused });
        if let Some(record) = Record::read(&inner.data)? {
            tracing::info!(name = record.name, "hosts are requested as before");
            let current = inner
                .start(record, Begin::AfterAPause)
                .map_err(|error| ResumeError::Options(with_causes(&error)))?;
            *inner.current.lock().await = Some(current);
        }
        Ok(Self(Some(inner)))
    }

    /// What would be asked for.
    pub(crate) fn request(&self, spec: &Spec) -> Result<Request, AddError> {
        let inner = self.0.as_ref().ok_or(AddError::Unable)?;
        match spec {
            Spec::Slurm { options } => {
                let slurm = inner.slurm("speedup-ID".to_owned(), options)?;
                Ok(Request { command: slurm.command(&Default::default()), script: slurm.script() })
            }
            Spec::Local => {
                let [place, job] = ["local-1", "ID"];
                let place = place.parse().expect("a name");
                let job = job.parse().expect("an id");
                Ok(Request {
                    command: Local::new(inner.agent.clone()).command(&place, &job),
                    script: String::new(),
                })
            }
        }
    }

    /// Asks an engine from now on, in place of the one before.
    pub(crate) async fn add(&self, wanted: Wanted) -> Result<Request, AddError> {
        let request = self.request(&wanted.spec)?;
        let inner = self.0.as_ref().ok_or(AddError::Unable)?;
        let Wanted { spec, limits, look_every, by } = wanted;
        let note = EngineNote::by(&by, EngineNoteKind::Added, &spec.to_string());
        let mut current = inner.current.lock().await;
        // A name lives as long as its ledger: what was spent stays spent, and jobs of before are recognised.
        let before = current.as_ref().map(|current| (current.record.name.clone(), current.seen()));
        let name = before.as_ref().map_or_else(new_name, |(name, _)| name.clone());
        let state = &inner.agent.place.state;
        private::create_directories(state)
            .map_err(|source| AddError::Place { path: state.clone(), source })?;
        let tried = match &spec {
            Spec::Slurm { options } => inner.slurm(name.clone(), options)?.try_out().await,
            Spec::Local => Local::new(inner.agent.clone()).try_out().await,
        };
        let longest_job = tried.map_err(AddError::Refused)?;
        if let Some(before) = current.as_mut() {
            before.end().await.map_err(AddError::NotEnded)?;
        }
        let mut record = Record::new(name, spec, limits, look_every.max(LOOK_MIN), by);
        record.longest_job = longest_job;
        if let Some((_, seen)) = before {
            record.ledger = seen.ledger;
            record.ledger.start_afresh();
        }
        record.write(&inner.data)?;
        *current = Some(inner.start(record, Begin::Now)?);
        inner.tell(note).await;
        Ok(request)
    }

    /// That an agent was turned away for good, which may be one that an engine started.
    pub(crate) fn turned_away(&self, agent: RefusedAgent) {
        if let Some(inner) = &self.0 {
            inner.refused.add(agent);
        }
    }

    /// What is asked of whom, and what came of it.
    pub(crate) async fn show(&self) -> Option<Shown> {
        let current = self.0.as_ref()?.current.lock().await;
        current.as_ref().map(Current::shown)
    }

    /// Whether hosts will come for a plan of which a visit may need such an allocation: an engine is asked, does not stand
    /// still, and its jobs last as long.
    pub(crate) async fn outlook(&self, needed: Span) -> HostsToCome {
        let Some(shown) = self.show().await.filter(|shown| shown.seen.ledger.stopped.is_none()) else {
            return HostsToCome::None;
        };
        match shown.record.longest_job {
            Some(lasts) if lasts < needed => HostsToCome::TooShort(TooShort { lasts, needed }),
            Some(_) | None => HostsToCome::Some,
        }
    }

    /// Asks for no more, and ends all jobs.
    pub(crate) async fn remove(&self, by: &str) -> Result<Option<Shown>, AddError> {
        let Some(inner) = &self.0 else { return Ok(None) };
        let mut current = inner.current.lock().await;
        let Some(asked) = current.as_mut() else { return Ok(None) };
        let shown = asked.shown();
        asked.end().await.map_err(AddError::NotEnded)?;
        Record::remove(&inner.data)?;
        *current = None;
        let spec = shown.record.spec.to_string();
        inner.tell(EngineNote::by(by, EngineNoteKind::Removed, &spec)).await;
        Ok(Some(shown))
    }

    /// Ends all jobs; the next start goes on asking.
    pub(crate) async fn stop(&self) {
        let Some(inner) = &self.0 else { return };
        let Some(mut current) = inner.current.lock().await.take() else { return };
        match tokio::time::timeout(FAREWELL, current.end()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!("jobs may still be there: {}", with_causes(&error)),
            Err(_) => tracing::error!("jobs may still be there: the engine does not answer"),
        }
    }
}

impl Inner {
    /// Has the event log say it. A coordinator that stops says no more.
    async fn tell(&self, note: EngineNote) {
        if let Err(gone) = self.handle.notice(Notice::Engine(note)).await {
            tracing::debug!("{gone}");
        }
    }

    fn slurm(&self, name: String, options: &[String]) -> Result<Slurm, AddError> {
        if !self.agent.is_reached_from_elsewhere() {
            return Err(AddError::Unreachable(self.agent.address));
        }
        Ok(Slurm::new(name, SlurmOptions::parse(options.to_vec())?, self.agent.clone()))
    }

    fn start(&self, record: Record, begin: Begin) -> Result<Current, AddError> {
        match &record.spec {
            Spec::Slurm { options } => {
                Ok(self.spawn(self.slurm(record.name.clone(), options)?, record, begin))
            }
            Spec::Local => Ok(self.spawn(Local::new(self.agent.clone()), record, begin)),
        }
    }

    fn spawn<E: Engine>(&self, engine: E, record: Record, begin: Begin) -> Current {
        let seen = Seen { ledger: record.ledger.clone(), ..Seen::default() };
        let seen = Arc::new(SharedMutex::new(seen));
        let looker = Looker::new(
            engine,
            record.clone(),
            self.data.clone(),
            self.handle.clone(),
            self.refused.clone(),
            seen.clone(),
            self.metrics.clone(),
        );
        let (wanted_ended, wanted) = mpsc::channel(1);
        Current { record, seen, wanted_ended, task: Some(tokio::spawn(watch(looker, begin, wanted))) }
    }
}

impl Current {
    fn seen(&self) -> Seen {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn shown(&self) -> Shown {
        Shown { record: self.record.clone(), seen: self.seen() }
    }

    /// Ends all jobs. Where the engine does not do that, it is asked on as before.
    async fn end(&mut self) -> Result<(), EngineError> {
        let (reply, answer) = oneshot::channel();
        if self.wanted_ended.send(reply).await.is_ok()
            && let Ok(ended) = answer.await
        {
            return ended;
        }
        // There is no task any more: it has ended all jobs before, or panicked.
        if let Some(task) = self.task.take() {
            task.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        }
        Ok(())
    }
}

/// Looks until all jobs are ended, because somebody wants it or because the coordinator stops.
async fn watch<E: Engine>(mut looker: Looker<E>, begin: Begin, mut wanted: mpsc::Receiver<Ended>) {
    let demand = looker.demand();
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
            }
            () = demand.notified() => {
                // What is due soon anyway says what is wrong.
                let asks_engine = looker.glance().await.unwrap_or(false);
                due = due.map(|due| if asks_engine { due.min(earliest) } else { due });
                // What happens meanwhile is seen together.
                tokio::time::sleep(GLANCE_MIN).await;
            }
        }
    }
}

fn new_name() -> String {
    // Twelve digits of the random part: what tells apart the coordinators of one user.
    let id = Uuid::new_v4().simple().to_string();
    format!("speedup-{}", &id[..12])
}

#[cfg(test)]
mod tests;
