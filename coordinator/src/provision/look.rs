//! One round: the machine says what the plans could use, the engine what its jobs do; what is decided is carried out, and
//! what is remembered of it is durable before the next step.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use speedup_core::machine::provision::{
    Cancelled, Demand, Engaged, EngineNote, EngineNoteKind, Job, JobFailure, JobState, Ledger, Nodes,
    PROVISIONER, ProvisionAction, RefusedAgent, decide, deserted, give_back_spent, news,
};
use speedup_core::machine::{Command, HostRequest, Notice};
use speedup_core::value::causes::with_causes;
use speedup_core::value::count::counted;
use speedup_core::value::id::{HostId, JobId};
use speedup_core::value::time::Timestamp;
use tokio::sync::Notify;

use super::engine::{Engine, EngineError};
use super::record::{Record, RecordError};
use super::unjoined;
use crate::handle::{Gone, Handle};
use crate::metrics::Metrics;

/// Most agents turned away that are remembered until the next look.
const MAX_REFUSED: usize = 1_000;

/// What is shown of the latest round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// The jobs that have not ended.
    pub(crate) jobs: Vec<Job>,
    /// What the plans could use.
    pub(crate) demand: Demand,
    /// What is remembered.
    pub(crate) ledger: Ledger,
    /// Why the engine did not answer.
    pub(crate) trouble: Option<String>,
}

/// Agents that were turned away for good since the last look.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refused(Arc<Mutex<Vec<RefusedAgent>>>);

impl Refused {
    /// Adds one, unless far more wait than an engine starts jobs between two looks.
    pub(crate) fn add(&self, agent: RefusedAgent) {
        let mut agents = self.agents();
        if agents.len() < MAX_REFUSED {
            agents.push(agent);
        }
    }

    fn take(&self) -> Vec<RefusedAgent> {
        std::mem::take(&mut self.agents())
    }

    fn agents(&self) -> std::sync::MutexGuard<'_, Vec<RefusedAgent>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who looks.
pub(crate) struct Looker<E> {
    engine: E,
    record: Record,
    data: PathBuf,
    handle: Handle,
    refused: Refused,
    seen: Arc<Mutex<Seen>>,
    metrics: Metrics,
    /// The failures that the metrics have counted.
    counted: BTreeMap<JobFailure, u64>,
    /// Whether the engine has been asked since the start: jobs may be there that nobody wrote down.
    has_listed: bool,
}

/// Why a round cannot be ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LookError {
    /// The coordinator stops.
    #[error(transparent)]
    Gone(#[from] Gone),
    /// What has to be remembered cannot be kept.
    #[error("provisioning is suspended")]
    Record(#[from] RecordError),
}

impl<E: Engine> Looker<E> {
    pub(crate) fn new(
        engine: E,
        record: Record,
        data: PathBuf,
        handle: Handle,
        refused: Refused,
        seen: Arc<Mutex<Seen>>,
        metrics: Metrics,
    ) -> Self {
        let counted = record.ledger.failures.clone();
        Self { engine, record, data, handle, refused, seen, metrics, counted, has_listed: false }
    }

    /// How often it is to look.
    pub(crate) fn every(&self) -> std::time::Duration {
        self.record.look_every
    }

    /// What can be done without the engine, at once; gives whether the engine has to be asked before it is due.
    pub(crate) async fn glance(&mut self) -> Result<bool, LookError> {
        let now = wall_clock();
        let demand = self.handle.query(move |machine| machine.demand(now)).await?;
        self.record.ledger.hear(&demand);
        for action in give_back_spent(now, &self.record.limits, &self.record.ledger, &demand) {
            let before = self.record.ledger.clone();
            // Only a boot asks the engine, which is asked again in the next round.
            let _ = self.perform(action).await?;
            self.keep_if_changed(&before).await?;
        }
        Ok(demand.missing > self.record.ledger.expected())
    }

    /// Told when the plans may need other hosts than before.
    pub(crate) fn demand(&self) -> Arc<Notify> {
        self.handle.demand.clone()
    }

    /// One round. An engine that does not answer is asked again in the next one.
    pub(crate) async fn look(&mut self) -> Result<(), LookError> {
        let now = wall_clock();
        let demand = self.handle.query(move |machine| machine.demand(now)).await?;
        if !self.has_business(&demand) {
            self.show(Vec::new(), demand, None);
            return Ok(());
        }
        let jobs = match self.engine.list().await {
            Ok(jobs) => jobs,
            Err(error) => {
                let jobs = self.seen().jobs.clone();
                self.show(jobs, demand, Some(&error));
                return Ok(());
            }
        };
        self.has_listed = true;
        for (host, job) in deserted(&jobs, &demand) {
            tracing::warn!(%host, job = %job.id, "the engine says that the job of this host has ended");
            let (words, job) = (format!("job {}: {}", job.id, job.words), job.id.clone());
            self.handle.notice(Notice::JobEnded { host, job, words }).await?;
        }
        let before = self.record.ledger.clone();
        self.record.ledger.turned_away(self.refused.take(), &jobs);
        let last_words = unjoined::last_words(&self.engine, self.unjoined(&jobs, JobState::is_over)).await;
        for (job, words) in last_words {
            self.record.ledger.logged(&job, &words);
        }
        self.record.ledger.observe(now, &jobs, &demand);
        let runs = |state: JobState| state == JobState::Running;
        let unreached = unjoined::unreached(&self.engine, self.unjoined(&jobs, runs)).await;
        self.record.ledger.unreached(now, unreached);
        self.tell_news(&before, &jobs).await?;
        self.keep_if_changed(&before).await?;
        let actions = decide(now, &self.record.limits, &self.record.ledger, &jobs, &demand);
        let mut trouble = None;
        for action in actions {
            let before = self.record.ledger.clone();
            let done = self.perform(action).await?;
            self.tell_news(&before, &jobs).await?;
            self.keep_if_changed(&before).await?;
            trouble = done.err().or(trouble);
        }
        let alive = jobs.into_iter().filter(|job| !job.state.is_over());
        self.show(alive.collect(), demand, trouble.as_ref());
        Ok(())
    }

    /// Ends all jobs, and gives their hosts up.
    pub(crate) async fn end(&mut self) -> Result<(), EngineError> {
        let alive = |job: &Job| !job.state.is_over();
        let jobs: Vec<JobId> =
            self.engine.list().await?.iter().filter(|job| alive(job)).map(|job| job.id.clone()).collect();
        if !jobs.is_empty() {
            self.engine.cancel(&jobs).await?;
        }
        for job in &jobs {
            self.record.ledger.cancelled(job, Cancelled::Unneeded);
        }
        let demand = self.seen().demand.clone();
        for host in demand.hosts.into_iter().filter(|host| host.engaged == Engaged::GivenBack) {
            // A coordinator that stops does so at its next start.
            let _ = self.tell(host.host, Command::ResumeHost).await;
        }
        if let Err(error) = self.keep().await {
            tracing::warn!("{}", with_causes(&error));
        }
        Ok(())
    }

    fn has_business(&self, demand: &Demand) -> bool {
        let is_given_back = demand.hosts.iter().any(|host| host.engaged == Engaged::GivenBack);
        !self.has_listed || is_given_back || demand.missing > 0 || !self.record.ledger.jobs.is_empty()
    }

    /// What the event log says of the jobs since the ledger was as it was `before`.
    async fn tell_news(&self, before: &Ledger, jobs: &[Job]) -> Result<(), Gone> {
        for note in news(before, jobs, &self.record.ledger) {
            self.handle.notice(Notice::Engine(note)).await?;
        }
        Ok(())
    }

    /// The jobs in such a state whose agents have not joined.
    fn unjoined<'a>(
        &self,
        jobs: &'a [Job],
        is_meant: impl Fn(JobState) -> bool,
    ) -> impl Iterator<Item = &'a Job> {
        let is_unjoined =
            move |job: &&Job| self.record.ledger.jobs.get(&job.id).is_some_and(|note| !note.joined);
        jobs.iter().filter(move |job| is_meant(job.state)).filter(is_unjoined)
    }

    /// The inner error is the engine's, which is asked again in the next round.
    async fn perform(&mut self, action: ProvisionAction) -> Result<Result<(), EngineError>, LookError> {
        Ok(match action {
            ProvisionAction::Submit { jobs, exclude } => return self.submit(jobs, &exclude).await,
            ProvisionAction::Exclude { job, nodes } => {
                let done = self.engine.exclude(&job, &nodes).await;
                if done.is_ok() {
                    self.record.ledger.excluded(&job, nodes);
                }
                done
            }
            ProvisionAction::GiveBack { host, job, why } => {
                tracing::info!(%host, %job, ?why, "this host is released");
                self.record.ledger.given_back(wall_clock(), &job, why);
                self.tell(host, Command::Drain).await?;
                Ok(())
            }
            ProvisionAction::Resume { host } => {
                self.tell(host, Command::ResumeHost).await?;
                Ok(())
            }
            ProvisionAction::Reboot { node, leaves } => {
                let told = self.engine.reboot(&node).await.map_err(|error| with_causes(&error));
                tracing::info!(%node, ?told, "a node reboots");
                self.record.ledger.told_to_reboot(node, leaves, told);
                Ok(())
            }
            ProvisionAction::Cancel { job, why } => {
                let done = self.engine.cancel(std::slice::from_ref(&job)).await;
                if done.is_ok() {
                    tracing::info!(%job, ?why, "a job was ended");
                    self.record.ledger.cancelled(&job, why);
                }
                done
            }
        })
    }

    /// Each is written down before the next is asked for.
    async fn submit(&mut self, jobs: u32, exclude: &Nodes) -> Result<Result<(), EngineError>, LookError> {
        let (mut asked, mut done) = (Vec::new(), Ok(()));
        for _ in 0..jobs {
            match self.engine.submit(exclude).await {
                Ok(job) => {
                    tracing::info!(%job, excluded = exclude.len(), "asked for a host");
                    asked.push(job.to_string());
                    self.record.ledger.asked(job, exclude.clone());
                    self.keep().await?;
                }
                Err(error) => {
                    self.record.ledger.refused(&with_causes(&error));
                    done = Err(error);
                    break;
                }
            }
        }
        if !asked.is_empty() {
            let words = format!("{}: {}", counted(asked.len() as u64, "job"), asked.join(", "));
            let note = EngineNote::own(EngineNoteKind::JobsAsked, &words);
            self.handle.notice(Notice::Engine(note)).await?;
        }
        Ok(done)
    }

    async fn tell(&self, host: HostId, command: impl FnOnce(HostRequest) -> Command) -> Result<(), Gone> {
        let request = HostRequest { host: host.clone(), by: PROVISIONER.to_owned() };
        if let Err(refusal) = self.handle.command(command(request)).await? {
            tracing::warn!(%host, "{refusal}");
        }
        Ok(())
    }

    async fn keep_if_changed(&mut self, before: &Ledger) -> Result<(), RecordError> {
        if self.record.ledger == *before {
            return Ok(());
        }
        if let Some(words) = self.record.ledger.unjoined.as_ref().filter(|_| before.unjoined.is_none()) {
            tracing::warn!("{words}");
        }
        if let Some(reason) = self.record.ledger.stopped.as_ref().filter(|_| before.stopped.is_none()) {
            tracing::warn!("no more hosts are requested: {reason}");
        }
        self.keep().await
    }

    async fn keep(&mut self) -> Result<(), RecordError> {
        let (record, data) = (self.record.clone(), self.data.clone());
        let written = tokio::task::spawn_blocking(move || record.write(&data)).await;
        written.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))?;
        let failures = &self.record.ledger.failures;
        for (how, many) in failures {
            let more = many - self.counted.get(how).copied().unwrap_or_default();
            self.metrics.jobs_failed(self.record.spec.kind(), *how, more);
        }
        self.counted.clone_from(failures);
        Ok(())
    }

    fn show(&self, jobs: Vec<Job>, demand: Demand, trouble: Option<&EngineError>) {
        let trouble = trouble.map(|error| with_causes(error));
        let ledger = self.record.ledger.clone();
        let before =
            std::mem::replace(&mut *self.seen(), Seen { jobs, demand, ledger, trouble: trouble.clone() });
        if let Some(words) = trouble.filter(|words| before.trouble.as_ref() != Some(words)) {
            tracing::warn!("{words}; trying again");
        }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Now, as engines tell it.
pub(crate) fn wall_clock() -> Timestamp {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX))
}
