//! What starts and stops: at most one engine is asked, by one task.

use std::path::PathBuf;
use std::sync::{Arc, Mutex as SharedMutex, PoisonError};
use std::time::Duration;

use speedup_core::provision::Limits;
use thiserror::Error;
use tokio::sync::{Mutex, oneshot};
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::agent::AgentStart;
use super::engine::{Engine, EngineError};
use super::local::Local;
use super::look::{LookError, Looker, Seen};
use super::record::{Record, RecordError, Spec};
use super::slurm::{OptionsError, Slurm, SlurmOptions};
use crate::handle::Handle;
use crate::store::chain;

/// How long a coordinator that stops waits until the jobs of its engine are cancelled.
const FAREWELL: Duration = Duration::from_secs(40);
/// The shortest time between two looks: a controller serves others too.
const LOOK_MIN: Duration = Duration::from_secs(1);

/// Provisioning of a coordinator. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Provisioning(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    data: PathBuf,
    agent: AgentStart,
    handle: Handle,
    current: Mutex<Option<Current>>,
}

/// An engine that is asked.
#[derive(Debug)]
struct Current {
    record: Record,
    seen: Arc<SharedMutex<Seen>>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), EngineError>>,
}

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
    pub(crate) limits: Limits,
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

/// Why an engine is not asked.
#[derive(Debug, Error)]
pub(crate) enum AddError {
    /// This coordinator serves one command.
    #[error("this coordinator does not ask engines for hosts: it was started for one command alone")]
    Unable,
    /// No other host reaches it.
    #[error("the coordinator listens on {0}, where no other host can reach it")]
    Unreachable(std::net::SocketAddr),
    /// Its options are none.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// There is no place for the agents' state and logs.
    #[error("cannot make {} for the agents: {source}", path.display())]
    Place {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// It refused.
    #[error("the engine does not take such a job: {}", chain(.0))]
    Refused(#[source] EngineError),
    /// The jobs of the engine asked before are still there.
    #[error("the jobs of the engine asked before are not ended: {}", chain(.0))]
    NotEnded(#[source] EngineError),
    /// It cannot be written down.
    #[error("{}", chain(.0))]
    Record(#[from] RecordError),
}

/// Why a coordinator cannot go on with the engine that it asked before.
#[derive(Debug, Error)]
pub enum ResumeError {
    /// What it wrote down cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Its options are none to this release.
    #[error("cannot go on with the engine that was asked before: {0}")]
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
    ) -> Result<Self, ResumeError> {
        let inner = Arc::new(Inner { data, agent, handle, current: Mutex::new(None) });
        if let Some(record) = Record::read(&inner.data)? {
            tracing::info!(name = record.name, "hosts are asked for as before");
            let current = inner
                .start(record, Begin::AfterAPause)
                .map_err(|error| ResumeError::Options(error.to_string()))?;
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
        let mut current = inner.current.lock().await;
        // A name lives as long as its ledger: what was spent stays spent, and jobs of before are recognised.
        let before = current.as_ref().map(|current| (current.record.name.clone(), current.seen()));
        let name = before.as_ref().map_or_else(new_name, |(name, _)| name.clone());
        let state = &inner.agent.place.state;
        std::fs::create_dir_all(state).map_err(|source| AddError::Place { path: state.clone(), source })?;
        match &spec {
            Spec::Slurm { options } => {
                inner.slurm(name.clone(), options)?.try_out().await.map_err(AddError::Refused)?;
            }
            Spec::Local => Local::new(inner.agent.clone()).try_out().await.map_err(AddError::Refused)?,
        }
        if let Some(before) = current.take() {
            before.end().await.map_err(AddError::NotEnded)?;
        }
        let mut record = Record::new(name, spec, limits, look_every.max(LOOK_MIN), by);
        if let Some((_, seen)) = before {
            record.ledger = seen.ledger;
            record.ledger.start_afresh();
        }
        record.write(&inner.data)?;
        *current = Some(inner.start(record, Begin::Now)?);
        Ok(request)
    }

    /// What is asked of whom, and what came of it.
    pub(crate) async fn show(&self) -> Option<Shown> {
        let current = self.0.as_ref()?.current.lock().await;
        current.as_ref().map(|current| Shown { record: current.record.clone(), seen: current.seen() })
    }

    /// Whether hosts will come: an engine is asked and does not stand still.
    pub(crate) async fn is_asking(&self) -> bool {
        self.show().await.is_some_and(|shown| shown.seen.ledger.stopped.is_none())
    }

    /// Asks for no more, and ends all jobs.
    pub(crate) async fn remove(&self) -> Result<Option<Shown>, AddError> {
        let Some(shown) = self.show().await else { return Ok(None) };
        let inner = self.0.as_ref().ok_or(AddError::Unable)?;
        if let Some(current) = inner.current.lock().await.take() {
            current.end().await.map_err(AddError::NotEnded)?;
        }
        Record::remove(&inner.data)?;
        Ok(Some(shown))
    }

    /// Ends all jobs; the next start goes on asking.
    pub(crate) async fn stop(&self) {
        let Some(inner) = &self.0 else { return };
        let Some(current) = inner.current.lock().await.take() else { return };
        match tokio::time::timeout(FAREWELL, current.end()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!("jobs may still be there: {}", chain(&error)),
            Err(_) => tracing::error!("jobs may still be there: the engine does not answer"),
        }
    }
}

impl Inner {
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
        let looker =
            Looker::new(engine, record.clone(), self.data.clone(), self.handle.clone(), seen.clone());
        let (stop, stopped) = oneshot::channel();
        Current { record, seen, stop, task: tokio::spawn(watch(looker, begin, stopped)) }
    }
}

impl Current {
    fn seen(&self) -> Seen {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn end(self) -> Result<(), EngineError> {
        // The task is there until it is told.
        let _ = self.stop.send(());
        self.task.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }
}

/// Looks until it is told to end, and ends all jobs then.
async fn watch<E: Engine>(
    mut looker: Looker<E>,
    begin: Begin,
    mut stopped: oneshot::Receiver<()>,
) -> Result<(), EngineError> {
    let mut pause = match begin {
        Begin::Now => Duration::ZERO,
        Begin::AfterAPause => LOOK_MIN,
    };
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            () = tokio::time::sleep(pause) => {}
        }
        pause = looker.every();
        match looker.look().await {
            Ok(()) => {}
            Err(LookError::Gone(_)) => break,
            Err(error) => tracing::error!("{}; trying again", chain(&error)),
        }
    }
    looker.end().await
}

fn new_name() -> String {
    // Twelve digits of the random part: what tells apart the coordinators of one user.
    let id = Uuid::new_v4().simple().to_string();
    format!("speedup-{}", &id[..12])
}
