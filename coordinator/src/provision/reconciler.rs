//! One round of a queue: the machine says what the plans could use, the engine what its jobs do; what is decided is carried
//! out, and what is remembered of it is durable before the next step.

use std::{
    collections::BTreeMap, collections::BTreeSet, path::PathBuf, sync::Arc, sync::Mutex, sync::PoisonError,
};

use speedup_core::machine::provision::{
    Claim, Demand, DesertedHost, EngineNote, EngineNoteKind, Job, JobFailure, JobState, Ledger, Nodes,
    PROVISIONER, ProvisionAction, ProvisionLimits, RefusedAgent, UnreachedAgent, catch_up, decide, deserted,
    give_back_spent, news,
};
use speedup_core::machine::{Command, HostRequest, Notice};
use speedup_core::value::causes::with_causes;
use speedup_core::value::count::counted;
use speedup_core::value::id::{HostId, JobId, NodeName};
use speedup_core::value::time::Timestamp;
use tokio::{sync::broadcast, sync::broadcast::error::TryRecvError, sync::watch};

use super::allocations::{Allocation, Allocations, QueueAllocations};
use super::engine::{Engine, EngineError};
use super::record::{Queue, Record, RecordError};
use super::unjoined;
use crate::{fault::Vital, handle::Gone, handle::Handle, metrics::Metrics, timeline::wall_clock};

/// What the latest round found of a queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueSnapshot {
    /// The jobs that have not ended.
    pub(crate) jobs: Vec<Job>,
    /// What the plans could use: of what is missing, the part that this queue is to bring.
    pub(crate) demand: Demand,
    pub(crate) missing: u32,
    pub(crate) ledger: Ledger,
    /// Why the engine did not answer.
    pub(crate) trouble: Option<String>,
}

/// What all queues work with.
#[derive(Clone, Debug)]
pub(crate) struct SharedContext {
    pub(crate) handle: Handle,
    pub(crate) allocations: QueueAllocations,
    pub(crate) record: Arc<Record>,
    /// What becomes known of nodes, whichever queue they are of.
    pub(crate) node_news: broadcast::Sender<NodeNews>,
    pub(crate) metrics: Metrics,
    /// The directory of the agents' states and logs.
    pub(crate) agent_states: PathBuf,
}

/// What becomes known of a node beside what its engine says.
#[derive(Clone, Debug)]
pub(crate) enum NodeNews {
    /// Its agent is turned away for good.
    TurnedAway(RefusedAgent),
    /// Somebody lets it in again.
    LetIn(NodeName),
}

/// Brings the jobs of one queue in line with what the plans need.
pub(crate) struct Reconciler {
    engine: Arc<dyn Engine>,
    queue: Queue,
    shared: SharedContext,
    node_news: broadcast::Receiver<NodeNews>,
    snapshot: Arc<Mutex<QueueSnapshot>>,
    /// The failures that the metrics have counted.
    counted: BTreeMap<JobFailure, u64>,
    /// When the engine last answered, or the start.
    last_answer: Timestamp,
    /// Whether the engine answered when it was last asked. False at the start, when there may be jobs that nobody wrote down.
    answers: bool,
}

/// What agents that do not join have left on the disk.
struct UnjoinedTraces {
    /// The ends of the logs of jobs that have ended.
    last_words: Vec<(JobId, String)>,
    /// Agents that cannot reach the coordinator.
    unreached: Vec<UnreachedAgent>,
}

/// What a round has decided.
struct RoundPlan {
    demand: Demand,
    missing: u32,
    actions: Vec<ProvisionAction>,
}

/// Why a round cannot be ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReconcileError {
    #[error(transparent)]
    Gone(#[from] Gone),
    #[error("provisioning is suspended")]
    Record(#[from] RecordError),
}

impl Reconciler {
    /// Also enters what the ledger knows into the allocations.
    pub(crate) async fn new(
        engine: Arc<dyn Engine>,
        queue: Queue,
        shared: SharedContext,
        snapshot: Arc<Mutex<QueueSnapshot>>,
    ) -> Self {
        let reconciler = Self {
            node_news: shared.node_news.subscribe(),
            counted: queue.ledger.failures.clone(),
            last_answer: wall_clock(),
            answers: false,
            engine,
            queue,
            shared,
            snapshot,
        };
        let claim = Claim::unheard(wall_clock(), reconciler.limits(), &reconciler.queue.ledger);
        let mut allocations = reconciler.shared.allocations.lock().await;
        reconciler.enter(&mut allocations, claim);
        drop(allocations);
        reconciler
    }

    pub(crate) fn look_every(&self) -> std::time::Duration {
        self.queue.config.look_every
    }

    fn limits(&self) -> &ProvisionLimits {
        &self.queue.config.limits
    }

    /// Does at once what needs no engine when the demand has changed. Returns whether the engine has to be asked before it
    /// is due.
    pub(crate) async fn poll(&mut self) -> Result<bool, ReconcileError> {
        let now = wall_clock();
        let shared = self.shared.allocations.clone();
        let mut allocations = shared.lock().await;
        let demand = self.machine_demand(now).await?;
        let expected = self.queue.ledger.expected();
        self.queue.ledger.hear(&demand);
        let joined = expected - self.queue.ledger.expected();
        let claim = allocations.claim(&self.queue.name).joined(joined);
        self.enter(&mut allocations, claim);
        let share = allocations.share(demand.missing, &self.queue.name);
        let has_others = allocations.has_others(&self.queue.name);
        drop(allocations);
        let demand = demand.of(self.engine.system(), share);
        for action in give_back_spent(now, self.limits(), &self.queue.ledger, &demand) {
            let before = self.queue.ledger.clone();
            // Only a boot asks the engine, which is asked again in the next round.
            let _ = self.perform(action).await?;
            self.record_if_changed(&before).await?;
        }
        // What one queue gives up another may ask for.
        Ok(share > claim.under_way() || has_others && share < claim.under_way())
    }

    /// What the task of this queue holds while it works.
    pub(crate) fn watch_over(&self) -> Vital {
        self.shared.handle.store.fault().watch_over("what requests hosts for a queue")
    }

    /// Changes when the plans may need other hosts than before, or other queues bring fewer.
    pub(crate) fn demand(&self) -> watch::Receiver<()> {
        self.shared.handle.demand.subscribe()
    }

    /// Does one round. An engine that does not answer is asked again in the next one.
    pub(crate) async fn reconcile(&mut self) -> Result<(), ReconcileError> {
        let before = self.machine_demand(wall_clock()).await?;
        let allocations = self.shared.allocations.lock().await;
        let share = allocations.share(before.missing, &self.queue.name);
        let others = allocations.jobs_of_others(&self.queue.name);
        drop(allocations);
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
        self.last_answer = wall_clock();
        self.answers = true;
        for DesertedHost { host, job, words, is_excused } in deserted(&self.queue.ledger, &jobs, &demand) {
            tracing::warn!(%host, %job, "the engine says that the job of this host has ended");
            self.shared.handle.notice(Notice::JobEnded { host, job, words, is_excused }).await?;
        }
        // Read before anything is decided: meanwhile no other queue may decide.
        let unjoined: Vec<&Job> = jobs.iter().filter(|job| self.is_unjoined(job)).collect();
        let over = unjoined.iter().copied().filter(|job| job.state.is_over());
        let running = unjoined.iter().copied().filter(|job| job.state == JobState::Running);
        let traces = UnjoinedTraces {
            last_words: unjoined::last_words(&*self.engine, over).await,
            unreached: unjoined::unreached(&self.shared.agent_states, running).await,
        };
        let RoundPlan { demand, missing, actions } = self.plan_round(&mut jobs, traces).await?;
        let mut trouble = None;
        for action in actions {
            let before = self.queue.ledger.clone();
            let done = self.perform(action).await?;
            self.tell_news(&before, &jobs).await?;
            self.record_if_changed(&before).await?;
            trouble = done.err().or(trouble);
        }
        let mut allocations = self.shared.allocations.lock().await;
        let claim = Claim::of(wall_clock(), self.limits(), &self.queue.ledger, &jobs, demand.together);
        self.enter(&mut allocations, claim);
        drop(allocations);
        let alive = jobs.into_iter().filter(|job| !job.state.is_over());
        self.show(alive.collect(), missing, demand, trouble.as_ref());
        Ok(())
    }

    /// Decides what to do about these jobs. The allocations stay locked until that is entered, so that no other queue decides
    /// meanwhile.
    async fn plan_round(
        &mut self,
        jobs: &mut [Job],
        traces: UnjoinedTraces,
    ) -> Result<RoundPlan, ReconcileError> {
        let now = wall_clock();
        let shared = self.shared.allocations.clone();
        let mut allocations = shared.lock().await;
        // Asked anew: what the machine said before the engine answered may be seconds old.
        let demand = self.machine_demand(now).await?;
        catch_up(jobs, &demand);
        let before = self.queue.ledger.clone();
        let refused = self.read_node_news();
        self.queue.ledger.turned_away(refused, jobs);
        for (job, words) in traces.last_words {
            self.queue.ledger.logged(&job, &words);
        }
        self.queue.ledger.observe(now, jobs, &demand);
        self.queue.ledger.unreached(now, traces.unreached);
        let claim = Claim::of(now, self.limits(), &self.queue.ledger, jobs, demand.together);
        self.enter(&mut allocations, claim);
        let share = allocations.share(demand.missing, &self.queue.name);
        let others = allocations.jobs_of_others(&self.queue.name);
        let missing = demand.missing;
        let demand = demand.of(self.engine.system(), share);
        let actions = decide(now, self.limits(), &self.queue.ledger, jobs, &demand, &others);
        let mut claim = allocations.claim(&self.queue.name);
        for action in &actions {
            if let ProvisionAction::Submit { jobs, hosts, exclude: _ } = action {
                claim.queued += jobs.saturating_mul(*hosts);
            }
        }
        self.enter(&mut allocations, claim);
        drop(allocations);
        self.tell_news(&before, jobs).await?;
        self.record_if_changed(&before).await?;
        Ok(RoundPlan { demand, missing, actions })
    }

    /// Notes that the engine did not answer. Once it has been silent for long, the other queues are asked for its part.
    async fn unanswered(
        &mut self,
        missing: u32,
        demand: Demand,
        error: &EngineError,
    ) -> Result<(), ReconcileError> {
        self.answers = false;
        let mut allocations = self.shared.allocations.lock().await;
        let claim = allocations.claim(&self.queue.name).unanswered(wall_clock(), self.last_answer);
        self.enter(&mut allocations, claim);
        drop(allocations);
        let jobs = self.snapshot().jobs.clone();
        self.show(jobs, missing, demand, Some(error));
        Ok(())
    }

    async fn machine_demand(&self, now: Timestamp) -> Result<Demand, Gone> {
        self.shared.handle.query(move |machine| machine.demand(now)).await
    }

    fn enter(&self, allocations: &mut Allocations, claim: Claim) {
        let jobs = self.queue.ledger.jobs.keys().cloned().collect();
        self.shared.allocations.enter(allocations, &self.queue.name, Allocation { claim, jobs });
    }

    /// Lets in the nodes that somebody has let in again, and returns the agents that were turned away since the last round, of
    /// whichever queue.
    fn read_node_news(&mut self) -> Vec<RefusedAgent> {
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
        let mut jobs = self.engine.list().await?;
        jobs.retain(|job| !job.state.is_over());
        let jobs: Vec<JobId> = jobs.into_iter().map(|job| job.id).collect();
        if !jobs.is_empty() {
            self.engine.cancel(&jobs).await?;
        }
        self.queue.ledger.withdrawn(wall_clock(), &jobs);
        // The queue that may come in place of this one goes on with its ledger.
        self.snapshot().ledger = self.queue.ledger.clone();
        let demand = self.snapshot().demand.clone();
        let others = self.shared.allocations.lock().await.jobs_of_others(&self.queue.name);
        for host in demand.given_back(&others) {
            // A coordinator that stops does so at its next start.
            let _ = self.command(host.host.clone(), Command::ResumeHost).await;
        }
        if let Err(error) = self.write_record().await {
            tracing::warn!("{}", with_causes(&error));
        }
        Ok(())
    }

    fn has_business(&self, demand: &Demand, others: &BTreeSet<JobId>) -> bool {
        let is_given_back = demand.given_back(others).next().is_some();
        !self.answers || is_given_back || demand.missing > 0 || !self.queue.ledger.jobs.is_empty()
    }

    /// Tells the event log what became of the jobs since the ledger was as it was `before`.
    async fn tell_news(&self, before: &Ledger, jobs: &[Job]) -> Result<(), Gone> {
        for note in news(before, jobs, &self.queue.ledger) {
            self.shared.handle.notice(Notice::Engine(note)).await?;
        }
        Ok(())
    }

    /// Whether a job is ours and its agent has not joined.
    fn is_unjoined(&self, job: &Job) -> bool {
        self.queue.ledger.jobs.get(&job.id).is_some_and(|note| !note.joined)
    }

    /// The inner error is the engine's, which is asked again in the next round.
    async fn perform(&mut self, action: ProvisionAction) -> Result<Result<(), EngineError>, ReconcileError> {
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
                tracing::info!(%host, %job, ?why, "releasing host");
                self.queue.ledger.given_back(wall_clock(), &job, why);
                self.command(host, Command::Drain).await?;
                Ok(())
            }
            ProvisionAction::Resume { host } => {
                self.command(host, Command::ResumeHost).await?;
                Ok(())
            }
            ProvisionAction::Reboot { node, leaves } => {
                // A node that cannot reboot is noted and not asked again, so this is no trouble of the queue.
                let answer = self.engine.reboot(&node).await.map_err(|error| with_causes(&error));
                tracing::info!(%node, ?answer, "rebooting node");
                self.queue.ledger.told_to_reboot(node, leaves, answer);
                Ok(())
            }
            ProvisionAction::Cancel { job, why } => {
                let done = self.engine.cancel(std::slice::from_ref(&job)).await;
                if done.is_ok() {
                    tracing::info!(%job, ?why, "cancelled job");
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
    ) -> Result<Result<(), EngineError>, ReconcileError> {
        let mut asked = Vec::new();
        let mut done = Ok(());
        let mut missing = jobs.saturating_mul(hosts);
        while missing > 0 {
            let answered = self.engine.submit(exclude, hosts.min(missing)).await;
            match answered.and_then(|parts| self.refuse_known(parts)) {
                Ok(parts) => {
                    let job = parts.first().map_or("none", JobId::whole);
                    tracing::info!(queue = %self.queue.name, job, hosts = parts.len(), excluded = exclude.len(), "requested hosts");
                    asked.push(job.to_owned());
                    missing = missing.saturating_sub((parts.len() as u32).max(1));
                    for part in parts {
                        self.queue.ledger.asked(part, exclude.clone());
                    }
                    self.write_record().await?;
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
            self.shared.handle.notice(Notice::Engine(note)).await?;
        }
        Ok(done)
    }

    /// Refuses an answer with the id of a job that was asked for before.
    fn refuse_known(&self, parts: Vec<JobId>) -> Result<Vec<JobId>, EngineError> {
        for part in &parts {
            if self.queue.ledger.jobs.contains_key(part) {
                return Err(EngineError::KnownJob(part.clone()));
            }
        }
        Ok(parts)
    }

    async fn command(&self, host: HostId, command: impl FnOnce(HostRequest) -> Command) -> Result<(), Gone> {
        let request = HostRequest { host: host.clone(), by: PROVISIONER.to_owned() };
        if let Err(refusal) = self.shared.handle.command(command(request)).await? {
            tracing::warn!(%host, "{refusal}");
        }
        Ok(())
    }

    async fn record_if_changed(&mut self, before: &Ledger) -> Result<(), RecordError> {
        if self.queue.ledger == *before {
            return Ok(());
        }
        if let Some(words) = &self.queue.ledger.unjoined
            && before.unjoined.is_none()
        {
            tracing::warn!(queue = %self.queue.name, "{words}");
        }
        if let Some(reason) = &self.queue.ledger.stopped
            && before.stopped.is_none()
        {
            tracing::warn!(queue = %self.queue.name, "stopped requesting hosts: {reason}");
        }
        self.write_record().await
    }

    async fn write_record(&mut self) -> Result<(), RecordError> {
        self.shared.record.put(self.queue.clone()).await?;
        let failures = &self.queue.ledger.failures;
        for (how, many) in failures {
            let more = many - self.counted.get(how).copied().unwrap_or_default();
            self.shared.metrics.jobs_failed(self.queue.config.spec.kind(), *how, more);
        }
        self.counted.clone_from(failures);
        Ok(())
    }

    fn show(&self, jobs: Vec<Job>, missing: u32, demand: Demand, trouble: Option<&EngineError>) {
        let trouble = trouble.map(|error| with_causes(error));
        let ledger = self.queue.ledger.clone();
        let snapshot = QueueSnapshot { jobs, demand, missing, ledger, trouble: trouble.clone() };
        let before = std::mem::replace(&mut *self.snapshot(), snapshot);
        if let Some(words) = trouble
            && before.trouble.as_ref() != Some(&words)
        {
            tracing::warn!(queue = %self.queue.name, "{words}; trying again");
        }
    }

    fn snapshot(&self) -> std::sync::MutexGuard<'_, QueueSnapshot> {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Enters a note into the event log, unless the coordinator is stopping.
pub(super) async fn log_note(handle: &Handle, note: EngineNote) {
    if let Err(gone) = handle.notice(Notice::Engine(note)).await {
        tracing::debug!("{gone}");
    }
}
