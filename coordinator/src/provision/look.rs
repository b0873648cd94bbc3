//! One round: the machine says what the plans could use, the engine what its jobs do; what is decided is carried out, and
//! what is remembered of it is durable before the next step.

use std::{collections::BTreeMap, collections::BTreeSet, sync::Arc, sync::Mutex, sync::PoisonError};

use speedup_core::machine::provision::{
    Claim, Demand, DesertedHost, EngineNote, EngineNoteKind, Job, JobFailure, JobState, Ledger, Nodes,
    PROVISIONER, ProvisionAction, RefusedAgent, UnreachedAgent, catch_up, decide, deserted, give_back_spent,
    news,
};
use speedup_core::machine::{Command, HostRequest, Notice};
use speedup_core::value::causes::with_causes;
use speedup_core::value::count::counted;
use speedup_core::value::id::{HostId, JobId, NodeName};
use speedup_core::value::time::Timestamp;
use tokio::{sync::broadcast, sync::broadcast::error::TryRecvError, sync::watch};

use super::engine::{Engine, EngineError};
use super::record::{Queue, Record, RecordError};
use super::shares::{Part, Parts, Shares};
use super::unjoined;
use crate::{fault::Vital, handle::Gone, handle::Handle, metrics::Metrics, timeline::wall_clock};

/// What is shown of the latest round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// The jobs that have not ended.
    pub(crate) jobs: Vec<Job>,
    /// What the plans could use: of what is missing, the part that this queue is to bring.
    pub(crate) demand: Demand,
    pub(crate) missing: u32,
    pub(crate) ledger: Ledger,
    /// Why the engine did not answer.
    pub(crate) trouble: Option<String>,
}

/// What a queue is given to look with.
#[derive(Clone, Debug)]
pub(crate) struct Views {
    pub(crate) handle: Handle,
    pub(crate) shares: Shares,
    pub(crate) record: Arc<Record>,
    /// What becomes known of nodes, whichever queue they are of.
    pub(crate) node_news: broadcast::Sender<NodeNews>,
    pub(crate) metrics: Metrics,
}

/// What becomes known of a node beside what its engine says.
#[derive(Clone, Debug)]
pub(crate) enum NodeNews {
    /// Its agent is turned away for good.
    TurnedAway(RefusedAgent),
    /// Somebody lets it in again.
    LetIn(NodeName),
}

/// Who looks, for one queue.
pub(crate) struct Looker {
    engine: Arc<dyn Engine>,
    queue: Queue,
    views: Views,
    node_news: broadcast::Receiver<NodeNews>,
    seen: Arc<Mutex<Seen>>,
    /// The failures that the metrics have counted.
    counted: BTreeMap<JobFailure, u64>,
    /// When the engine last answered, or the start.
    heard: Timestamp,
    /// Whether it answered when it was last asked; it was not since the start: jobs may be there that nobody wrote down.
    answers: bool,
}

/// What agents that do not join have left on the disk.
struct Left {
    /// The ends of the logs of jobs that have ended.
    last_words: Vec<(JobId, String)>,
    /// Agents that cannot reach the coordinator.
    unreached: Vec<UnreachedAgent>,
}

struct Round {
    demand: Demand,
    missing: u32,
    actions: Vec<ProvisionAction>,
}

/// Why a round cannot be ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LookError {
    #[error(transparent)]
    Gone(#[from] Gone),
    #[error("provisioning is suspended")]
    Record(#[from] RecordError),
}

impl Looker {
    /// Also enters what the ledger knows into the shares.
    pub(crate) async fn new(
        engine: Arc<dyn Engine>,
        queue: Queue,
        views: Views,
        seen: Arc<Mutex<Seen>>,
    ) -> Self {
        let node_news = views.node_news.subscribe();
        let (counted, heard) = (queue.ledger.failures.clone(), wall_clock());
        let looker = Self { engine, queue, views, node_news, seen, counted, heard, answers: false };
        let claim = Claim::unheard(wall_clock(), &looker.queue.limits, &looker.queue.ledger);
        let mut parts = looker.views.shares.lock().await;
        looker.enter(&mut parts, claim);
        drop(parts);
        looker
    }

    pub(crate) fn every(&self) -> std::time::Duration {
        self.queue.look_every
    }

    /// What can be done without the engine, at once; gives whether the engine has to be asked before it is due.
    pub(crate) async fn glance(&mut self) -> Result<bool, LookError> {
        let now = wall_clock();
        let shares = self.views.shares.clone();
        let mut parts = shares.lock().await;
        let demand = self.machine_demand(now).await?;
        let expected = self.queue.ledger.expected();
        self.queue.ledger.hear(&demand);
        let joined = expected - self.queue.ledger.expected();
        let claim = parts.claim(&self.queue.name).joined(joined);
        self.enter(&mut parts, claim);
        let share = parts.share(demand.missing, &self.queue.name);
        let has_others = parts.has_others(&self.queue.name);
        drop(parts);
        let demand = demand.of(self.engine.system(), share);
        for action in give_back_spent(now, &self.queue.limits, &self.queue.ledger, &demand) {
            let before = self.queue.ledger.clone();
            // Only a boot asks the engine, which is asked again in the next round.
            let _ = self.perform(action).await?;
            self.keep_if_changed(&before).await?;
        }
        // What one queue gives up another may ask for.
        Ok(share > claim.under_way() || has_others && share < claim.under_way())
    }

    /// What the task of this queue holds while it works.
    pub(crate) fn watch_over(&self) -> Vital {
        self.views.handle.store.fault().watch_over("what requests hosts for a queue")
    }

    /// Changes when the plans may need other hosts than before, or other queues bring fewer.
    pub(crate) fn demand(&self) -> watch::Receiver<()> {
        self.views.handle.demand.subscribe()
    }

    /// One round. An engine that does not answer is asked again in the next one.
    pub(crate) async fn look(&mut self) -> Result<(), LookError> {
        let before = self.machine_demand(wall_clock()).await?;
        let parts = self.views.shares.lock().await;
        let share = parts.share(before.missing, &self.queue.name);
        let others = parts.jobs_of_others(&self.queue.name);
        drop(parts);
        let missing = before.missing;
        let demand = before.of(self.engine.system(), share);
        // Whose request waits for the end of a pause has to see that it is over.
        let is_set_back = missing > 0 && self.queue.ledger.setback.is_some();
        if !is_set_back && !self.has_business(&demand, &others) {
            self.show(Vec::new(), missing, demand, None);
            return Ok(());
        }
        let mut jobs = match self.engine.list().await {
            Ok(jobs) => jobs,
            Err(error) => return self.unanswered(missing, demand, &error).await,
        };
        (self.heard, self.answers) = (wall_clock(), true);
        for DesertedHost { host, job, words, is_excused } in deserted(&self.queue.ledger, &jobs, &demand) {
            tracing::warn!(%host, %job, "the engine says that the job of this host has ended");
            self.views.handle.notice(Notice::JobEnded { host, job, words, is_excused }).await?;
        }
        // Read before anything is decided: meanwhile no other queue may decide.
        let runs = |state: JobState| state == JobState::Running;
        let left = Left {
            last_words: unjoined::last_words(&*self.engine, self.unjoined(&jobs, JobState::is_over)).await,
            unreached: unjoined::unreached(&*self.engine, self.unjoined(&jobs, runs)).await,
        };
        let Round { demand, missing, actions } = self.round(&mut jobs, left).await?;
        let mut trouble = None;
        for action in actions {
            let before = self.queue.ledger.clone();
            let done = self.perform(action).await?;
            self.tell_news(&before, &jobs).await?;
            self.keep_if_changed(&before).await?;
            trouble = done.err().or(trouble);
        }
        let mut parts = self.views.shares.lock().await;
        let (limits, ledger) = (&self.queue.limits, &self.queue.ledger);
        self.enter(&mut parts, Claim::of(wall_clock(), limits, ledger, &jobs, demand.together));
        drop(parts);
        let alive = jobs.into_iter().filter(|job| !job.state.is_over());
        self.show(alive.collect(), missing, demand, trouble.as_ref());
        Ok(())
    }

    /// What to do about these jobs. It is decided and entered at once: meanwhile no other queue decides.
    async fn round(&mut self, jobs: &mut [Job], left: Left) -> Result<Round, LookError> {
        let now = wall_clock();
        let shares = self.views.shares.clone();
        let mut parts = shares.lock().await;
        let demand = self.machine_demand(now).await?;
        catch_up(jobs, &demand);
        let before = self.queue.ledger.clone();
        let refused = self.turned_away();
        self.queue.ledger.turned_away(refused, jobs);
        for (job, words) in left.last_words {
            self.queue.ledger.logged(&job, &words);
        }
        self.queue.ledger.observe(now, jobs, &demand);
        self.queue.ledger.unreached(now, left.unreached);
        let (limits, ledger) = (&self.queue.limits, &self.queue.ledger);
        self.enter(&mut parts, Claim::of(now, limits, ledger, jobs, demand.together));
        let share = parts.share(demand.missing, &self.queue.name);
        let others = parts.jobs_of_others(&self.queue.name);
        let missing = demand.missing;
        let demand = demand.of(self.engine.system(), share);
        let actions = decide(now, &self.queue.limits, &self.queue.ledger, jobs, &demand, &others);
        let asked = actions.iter().filter_map(|action| match action {
            ProvisionAction::Submit { jobs, hosts, exclude: _ } => Some(jobs.saturating_mul(*hosts)),
            ProvisionAction::Exclude { .. }
            | ProvisionAction::GiveBack { .. }
            | ProvisionAction::Resume { .. }
            | ProvisionAction::Reboot { .. }
            | ProvisionAction::Cancel { .. } => None,
        });
        let mut claim = parts.claim(&self.queue.name);
        claim.queued += asked.sum::<u32>();
        self.enter(&mut parts, claim);
        drop(parts);
        self.tell_news(&before, jobs).await?;
        self.keep_if_changed(&before).await?;
        Ok(Round { demand, missing, actions })
    }

    /// What the others are asked for in its place.
    async fn unanswered(
        &mut self,
        missing: u32,
        demand: Demand,
        error: &EngineError,
    ) -> Result<(), LookError> {
        self.answers = false;
        let mut parts = self.views.shares.lock().await;
        let claim = parts.claim(&self.queue.name);
        let claim = claim.unanswered(wall_clock(), self.heard);
        self.enter(&mut parts, claim);
        drop(parts);
        let jobs = self.seen().jobs.clone();
        self.show(jobs, missing, demand, Some(error));
        Ok(())
    }

    async fn machine_demand(&self, now: Timestamp) -> Result<Demand, Gone> {
        self.views.handle.query(move |machine| machine.demand(now)).await
    }

    fn enter(&self, parts: &mut Parts, claim: Claim) {
        let jobs = self.queue.ledger.jobs.keys().cloned().collect();
        self.views.shares.enter(parts, &self.queue.name, Part { claim, jobs });
    }

    /// Agents that were turned away since the last look, of whichever queue. Nodes that somebody lets in are let in.
    fn turned_away(&mut self) -> Vec<RefusedAgent> {
        let mut agents = Vec::new();
        loop {
            match self.node_news.try_recv() {
                Ok(NodeNews::TurnedAway(agent)) => agents.push(agent),
                Ok(NodeNews::LetIn(node)) => self.queue.ledger.let_in(&node),
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return agents,
            }
        }
    }

    /// Ends all jobs, and gives their hosts up.
    pub(crate) async fn end(&mut self) -> Result<(), EngineError> {
        let alive = |job: &Job| !job.state.is_over();
        let jobs: Vec<JobId> =
            self.engine.list().await?.iter().filter(|job| alive(job)).map(|job| job.id.clone()).collect();
        if !jobs.is_empty() {
            self.engine.cancel(&jobs).await?;
        }
        self.queue.ledger.withdrawn(wall_clock(), &jobs);
        // The queue that may come in place of this one goes on with its ledger.
        self.seen().ledger = self.queue.ledger.clone();
        let demand = self.seen().demand.clone();
        let others = self.views.shares.lock().await.jobs_of_others(&self.queue.name);
        for host in demand.given_back(&others) {
            // A coordinator that stops does so at its next start.
            let _ = self.tell(host.host.clone(), Command::ResumeHost).await;
        }
        if let Err(error) = self.keep().await {
            tracing::warn!("{}", with_causes(&error));
        }
        Ok(())
    }

    fn has_business(&self, demand: &Demand, others: &BTreeSet<JobId>) -> bool {
        let is_given_back = demand.given_back(others).next().is_some();
        !self.answers || is_given_back || demand.missing > 0 || !self.queue.ledger.jobs.is_empty()
    }

    /// What the event log says of the jobs since the ledger was as it was `before`.
    async fn tell_news(&self, before: &Ledger, jobs: &[Job]) -> Result<(), Gone> {
        for note in news(before, jobs, &self.queue.ledger) {
            self.views.handle.notice(Notice::Engine(note)).await?;
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
            move |job: &&Job| self.queue.ledger.jobs.get(&job.id).is_some_and(|note| !note.joined);
        jobs.iter().filter(move |job| is_meant(job.state)).filter(is_unjoined)
    }

    /// The inner error is the engine's, which is asked again in the next round.
    async fn perform(&mut self, action: ProvisionAction) -> Result<Result<(), EngineError>, LookError> {
        Ok(match action {
            ProvisionAction::Submit { jobs, hosts, exclude } => {
                return self.submit(jobs, hosts, &exclude).await;
            }
            ProvisionAction::Exclude { job, nodes } => {
                let done = self.engine.exclude(&job, &nodes).await;
                if done.is_ok() {
                    self.queue.ledger.excluded(&job, &nodes);
                }
                done
            }
            ProvisionAction::GiveBack { host, job, why } => {
                tracing::info!(%host, %job, ?why, "this host is released");
                self.queue.ledger.given_back(wall_clock(), &job, why);
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
                self.queue.ledger.told_to_reboot(node, leaves, told);
                Ok(())
            }
            ProvisionAction::Cancel { job, why } => {
                let done = self.engine.cancel(std::slice::from_ref(&job)).await;
                if done.is_ok() {
                    tracing::info!(%job, ?why, "a job was ended");
                    self.queue.ledger.cancelled(&job, why);
                }
                done
            }
        })
    }

    /// Each is written down before the next is asked for.
    async fn submit(
        &mut self,
        jobs: u32,
        hosts: u32,
        exclude: &Nodes,
    ) -> Result<Result<(), EngineError>, LookError> {
        let (mut asked, mut done) = (Vec::new(), Ok(()));
        let mut missing = jobs.saturating_mul(hosts);
        while missing > 0 {
            let answered = self.engine.submit(exclude, hosts.min(missing)).await;
            match answered.and_then(|parts| self.unknown(parts)) {
                Ok(parts) => {
                    let job = parts.first().map_or("none", JobId::whole);
                    tracing::info!(queue = %self.queue.name, job, hosts = parts.len(), excluded = exclude.len(), "asked for hosts");
                    asked.push(job.to_owned());
                    missing = missing.saturating_sub((parts.len() as u32).max(1));
                    for part in parts {
                        self.queue.ledger.asked(part, exclude.clone());
                    }
                    self.keep().await?;
                }
                Err(error) => {
                    let words = with_causes(&error);
                    if error.hides_job() {
                        self.queue.ledger.unidentified(&words);
                    } else if self.engine.list().await.is_ok() {
                        // An engine that answers nothing else has refused nothing.
                        let demand = self.machine_demand(wall_clock()).await?;
                        let until = demand.of(self.engine.system(), 0).first_let_in();
                        self.queue.ledger.refused(wall_clock(), &words, until);
                    }
                    done = Err(error);
                    break;
                }
            }
        }
        if !asked.is_empty() {
            let words = format!("{}: {}", counted(asked.len() as u64, "job"), asked.join(", "));
            let note = EngineNote::own(EngineNoteKind::JobsAsked, &words);
            self.views.handle.notice(Notice::Engine(note)).await?;
        }
        Ok(done)
    }

    /// Refuses an answer with the id of a job that was asked for before.
    fn unknown(&self, parts: Vec<JobId>) -> Result<Vec<JobId>, EngineError> {
        for part in &parts {
            if self.queue.ledger.jobs.contains_key(part) {
                return Err(EngineError::KnownJob(part.clone()));
            }
        }
        Ok(parts)
    }

    async fn tell(&self, host: HostId, command: impl FnOnce(HostRequest) -> Command) -> Result<(), Gone> {
        let request = HostRequest { host: host.clone(), by: PROVISIONER.to_owned() };
        if let Err(refusal) = self.views.handle.command(command(request)).await? {
            tracing::warn!(%host, "{refusal}");
        }
        Ok(())
    }

    async fn keep_if_changed(&mut self, before: &Ledger) -> Result<(), RecordError> {
        if self.queue.ledger == *before {
            return Ok(());
        }
        if let Some(words) = self.queue.ledger.unjoined.as_ref().filter(|_| before.unjoined.is_none()) {
            tracing::warn!(queue = %self.queue.name, "{words}");
        }
        if let Some(reason) = self.queue.ledger.stopped.as_ref().filter(|_| before.stopped.is_none()) {
            tracing::warn!(queue = %self.queue.name, "no more hosts are requested: {reason}");
        }
        self.keep().await
    }

    async fn keep(&mut self) -> Result<(), RecordError> {
        self.views.record.put(self.queue.clone()).await?;
        let failures = &self.queue.ledger.failures;
        for (how, many) in failures {
            let more = many - self.counted.get(how).copied().unwrap_or_default();
            self.views.metrics.jobs_failed(self.queue.spec.kind(), *how, more);
        }
        self.counted.clone_from(failures);
        Ok(())
    }

    fn show(&self, jobs: Vec<Job>, missing: u32, demand: Demand, trouble: Option<&EngineError>) {
        let trouble = trouble.map(|error| with_causes(error));
        let ledger = self.queue.ledger.clone();
        let seen = Seen { jobs, demand, missing, ledger, trouble: trouble.clone() };
        let before = std::mem::replace(&mut *self.seen(), seen);
        if let Some(words) = trouble.filter(|words| before.trouble.as_ref() != Some(words)) {
            tracing::warn!(queue = %self.queue.name, "{words}; trying again");
        }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has the event log say it. A coordinator that stops says no more.
pub(super) async fn tell(handle: &Handle, note: EngineNote) {
    if let Err(gone) = handle.notice(Notice::Engine(note)).await {
        tracing::debug!("{gone}");
    }
}
