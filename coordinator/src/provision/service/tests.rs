//! An engine that does not always do what it is asked.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use speedup_core::machine::provision::{Job, JobState, Ledger, Nodes, ProvisionLimits, QUEUE_PATIENCE};
use speedup_core::machine::{Machine, Settings};
use speedup_core::value::id::{JobId, NodeName};
use speedup_journal::{JournalId, Position};
use tempfile::TempDir;
use tokio::sync::watch;

use super::*;
use crate::{
    handle::Progress, indexer::backlog, owner::Request as Asked, provision::agent::tests::at,
    provision::script::Surroundings, store::Store, store::StoreCache,
};

/// One job, until it is ended; and whether the engine answers.
#[derive(Clone, Debug, Default)]
struct Answering {
    is_away: Arc<AtomicBool>,
    ended: Arc<AtomicUsize>,
}

impl Answering {
    fn answer<T>(&self, answer: T) -> Result<T, EngineError> {
        if self.is_away.load(Ordering::SeqCst) {
            Err(EngineError::NoReboot("it is away"))
        } else {
            Ok(answer)
        }
    }
}

#[async_trait::async_trait]
impl Engine for Answering {
    fn system(&self) -> &'static str {
        ""
    }

    fn submission(&self, _job_name: &str) -> JobSubmission {
        JobSubmission::default()
    }

    async fn submit(&self, _exclude: &Nodes, _hosts: u32) -> Result<Vec<JobId>, EngineError> {
        unreachable!("no plan needs a host")
    }

    async fn list(&self) -> Result<Vec<Job>, EngineError> {
        let is_there = self.ended.load(Ordering::SeqCst) == 0;
        let state = JobState::Queued;
        let (id, words) = ("7".parse().unwrap(), String::new());
        let job = Job { id, state, words, node: None, started: None, ends: None };
        self.answer(is_there.then_some(job).into_iter().collect())
    }

    async fn cancel(&self, jobs: &[JobId]) -> Result<(), EngineError> {
        self.answer(())?;
        self.ended.fetch_add(jobs.len(), Ordering::SeqCst);
        Ok(())
    }

    async fn exclude(&self, _job: &JobId, _nodes: &Nodes) -> Result<(), EngineError> {
        self.answer(())
    }

    async fn try_out(&self) -> Result<Option<Span>, EngineError> {
        self.answer(Some(Span::from_secs(600)))
    }

    fn log_of(&self, _job: &Job) -> Option<PathBuf> {
        None
    }

    fn log_prefix(&self) -> Option<String> {
        None
    }

    async fn reboot(&self, _node: &NodeName) -> Result<(), EngineError> {
        self.answer(())
    }
}

fn limits() -> ProvisionLimits {
    ProvisionLimits { jobs: 3, queued: 3, node_time: None, patience: QUEUE_PATIENCE }
}

/// A machine that answers what it is asked.
fn handle(data: &TempDir) -> Handle {
    let (requests, mut requested) = mpsc::channel(8);
    tokio::spawn(async move {
        let machine = Machine::new(Settings::default());
        while let Some(request) = requested.recv().await {
            if let Asked::Query(question) = request {
                question(&machine)();
            }
        }
    });
    let progress = || watch::channel(Position::START).1;
    let store =
        Store::open(&data.path().join("store"), JournalId([1; 16]), StoreCache::Command).unwrap().store;
    let demand = Arc::new(watch::Sender::new(()));
    let urge = backlog().0.urge();
    Handle { requests, progress: Progress { durable: progress(), indexed: progress(), urge }, store, demand }
}

/// A provisioning that asks this engine, through a queue of this name.
async fn asking(engine: &Answering, data: &TempDir, queue: &str) -> Provisioning {
    asking_on(engine, data, queue, Ledger::default()).await
}

/// The same, where this is remembered of the jobs.
async fn asking_on(engine: &Answering, data: &TempDir, queue: &str, ledger: Ledger) -> Provisioning {
    let mut agent = at("127.0.0.1:70");
    agent.place.state = data.path().join("agents");
    let resumed = Provisioning::resume(data.path().to_owned(), agent, handle(data), Metrics::default()).await;
    let provisioning = resumed.unwrap();
    also_asking_on(&provisioning, engine, queue, ledger).await;
    provisioning
}

async fn also_asking(provisioning: &Provisioning, engine: &Answering, queue: &str) {
    also_asking_on(provisioning, engine, queue, Ledger::default()).await;
}

async fn also_asking_on(provisioning: &Provisioning, engine: &Answering, queue: &str, ledger: Ledger) {
    let inner = provisioning.0.as_ref().unwrap();
    let name: QueueName = queue.parse().unwrap();
    let queue = Queue {
        name: name.clone(),
        job_name: format!("speedup-{queue}"),
        config: config("a"),
        longest_job: None,
        ledger,
    };
    inner.shared.record.put(queue.clone()).await.unwrap();
    let current = inner.start(Box::new(engine.clone()), queue, FirstRound::AfterAPause).await;
    inner.queues.lock().await.insert(name, current);
}

async fn kept(data: &TempDir) -> Vec<String> {
    let queues = Record::read(data.path()).unwrap().queues().await;
    queues.iter().map(|queue| queue.name.as_str().to_owned()).collect()
}

fn of_name(name: &str) -> QueueSelector {
    QueueSelector { kind: None, name: Some(name.parse().unwrap()) }
}

fn config(by: &str) -> QueueConfig {
    QueueConfig { spec: Spec::Local, limits: limits(), look_every: ROUND_MIN, by: by.to_owned() }
}

fn requested(name: Option<&str>) -> QueueRequest {
    QueueRequest { name: name.map(|name| name.parse().unwrap()), config: config("b") }
}

/// What an agent says that is stopped in any other job is taken as it is: no engine would say more.
#[tokio::test]
async fn a_job_is_a_queues_only_if_the_queue_asked_for_it() {
    let data = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::default();
    ledger.asked("7".parse().unwrap(), Nodes::new());
    let provisioning = asking_on(&Answering::default(), &data, "one", ledger).await;
    assert!(provisioning.has_job(&"7".parse().unwrap()).await);
    assert!(!provisioning.has_job(&"8".parse().unwrap()).await, "a job that the user submitted");
    assert!(!Provisioning::none().has_job(&"7".parse().unwrap()).await);
}

#[tokio::test]
async fn an_engine_that_does_not_answer_is_asked_on_until_its_jobs_are_ended() {
    let data = tempfile::tempdir().unwrap();
    let engine = Answering::default();
    let provisioning = asking(&engine, &data, "one").await;
    engine.is_away.store(true, Ordering::SeqCst);
    let refused = provisioning.remove(&QueueSelector::default(), "ada").await.unwrap_err();
    assert!(matches!(refused, RemoveError::Add(AddError::NotEnded { .. })), "{refused}");
    let outlook = provisioning.outlook(Span::from_secs(1)).await;
    assert_eq!(outlook, HostsToCome::Some, "it can be removed again");
    assert_eq!(kept(&data).await, ["one"], "the next start goes on as well");
    engine.is_away.store(false, Ordering::SeqCst);
    let removed =
        provisioning.remove(&QueueSelector::default(), "ada").await.unwrap().expect("what was asked");
    assert_eq!((removed.queue.job_name.as_str(), engine.ended.load(Ordering::SeqCst)), ("speedup-one", 1));
    assert_eq!(kept(&data).await, [""; 0]);
    assert!(provisioning.remove(&QueueSelector::default(), "ada").await.unwrap().is_none());
}

#[tokio::test]
async fn what_replaces_an_engine_that_did_not_answer_keeps_the_name_of_its_jobs() {
    let data = tempfile::tempdir().unwrap();
    let engine = Answering::default();
    let provisioning = asking(&engine, &data, "one").await;
    engine.is_away.store(true, Ordering::SeqCst);
    assert!(matches!(provisioning.add(requested(Some("one"))).await, Err(AddError::NotEnded { .. })));
    engine.is_away.store(false, Ordering::SeqCst);
    assert!(provisioning.add(requested(Some("one"))).await.unwrap().has_replaced);
    let shown = provisioning.show(&QueueSelector::default()).await;
    let told: Vec<_> =
        shown.iter().map(|one| (one.queue.job_name.as_str(), one.queue.config.by.as_str())).collect();
    assert_eq!(told, [("speedup-one", "b")]);
    assert_eq!(engine.ended.load(Ordering::SeqCst), 1);
    provisioning.stop().await;
}

#[tokio::test]
async fn a_job_that_ends_without_an_agent_is_counted_when_that_is_written_down() {
    let data = tempfile::tempdir().unwrap();
    let engine = Answering::default();
    // The engine tells only of jobs that have not ended.
    engine.ended.store(1, Ordering::SeqCst);
    let mut ledger = Ledger::default();
    ledger.asked("batch:7".parse().unwrap(), Nodes::new());
    let provisioning = asking_on(&engine, &data, "one", ledger).await;
    let shows = |failures| {
        let line =
            format!("speedup_provision_failures_total{{engine=\"local\",reason=\"ended\"}} {failures}\n");
        provisioning.0.as_ref().unwrap().shared.metrics.page().contains(&line)
    };
    assert!(shows(0));
    let waiting = async {
        while !shows(1) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("it is counted");
    let written = Record::read(data.path()).unwrap().queues().await.remove(0);
    assert_eq!((written.ledger.failures_in_a_row, written.ledger.jobs.len()), (1, 0));
    provisioning.stop().await;
}

#[tokio::test]
async fn queues_are_added_beside_each_other_and_removed_by_name() {
    let data = tempfile::tempdir().unwrap();
    let (one, other) = (Answering::default(), Answering::default());
    let provisioning = asking(&one, &data, "one").await;
    also_asking(&provisioning, &other, "other").await;
    assert_eq!(kept(&data).await, ["one", "other"]);
    let several = provisioning.remove(&QueueSelector::default(), "ada").await.unwrap_err();
    assert!(several.to_string().ends_with(": one, other"), "{several}");
    let unknown = provisioning.remove(&of_name("third"), "ada").await.unwrap_err();
    assert!(unknown.to_string().ends_with(" third: one, other"), "{unknown}");
    let slurm = QueueSelector { kind: Some("slurm".to_owned()), name: None };
    assert!(provisioning.remove(&slurm, "ada").await.unwrap().is_none(), "neither asks Slurm");
    provisioning.remove(&of_name("other"), "ada").await.unwrap().expect("it was there");
    assert_eq!((one.ended.load(Ordering::SeqCst), other.ended.load(Ordering::SeqCst)), (0, 1));
    assert_eq!(kept(&data).await, ["one"]);
    provisioning.stop().await;
    assert_eq!(one.ended.load(Ordering::SeqCst), 1);
    assert_eq!(kept(&data).await, ["one"], "the next start goes on");
}

#[tokio::test]
async fn one_engine_that_does_not_answer_hinders_no_other() {
    let data = tempfile::tempdir().unwrap();
    let (away, there) = (Answering::default(), Answering::default());
    away.is_away.store(true, Ordering::SeqCst);
    let provisioning = asking(&away, &data, "away").await;
    also_asking(&provisioning, &there, "there").await;
    provisioning.remove(&of_name("there"), "ada").await.unwrap().expect("it was there");
    assert_eq!(there.ended.load(Ordering::SeqCst), 1);
    away.is_away.store(false, Ordering::SeqCst);
    provisioning.stop().await;
}

#[tokio::test]
async fn a_queue_without_a_name_is_the_one_that_asks_for_the_same_or_a_new_one() {
    let data = tempfile::tempdir().unwrap();
    let engine = Answering::default();
    let provisioning = asking(&engine, &data, "mine").await;
    let slurm = |options: &[&str]| {
        let options = options.iter().map(ToString::to_string).collect();
        let spec = Spec::Slurm { options, around: Surroundings::default() };
        QueueRequest { name: None, config: QueueConfig { spec, ..config("b") } }
    };
    let mut queues = provisioning.0.as_ref().unwrap().queues.lock().await;
    let name = |request: &QueueRequest, queues: &_| queue_name(request, queues).as_str().to_owned();
    assert_eq!(name(&requested(Some("new")), &queues), "new");
    assert_eq!(name(&requested(None), &queues), "mine", "the very same is asked for");
    assert_eq!(name(&slurm(&["-p", "short"]), &queues), "short");
    assert_eq!(name(&slurm(&["-t", "10"]), &queues), "1");
    let current = queues.remove(&"mine".parse().unwrap()).unwrap();
    queues.insert("short".parse().unwrap(), current);
    assert_eq!(name(&slurm(&["-p", "short"]), &queues), "short-2", "the other asks for something else");
    drop(queues);
    provisioning.stop().await;
}

#[tokio::test]
async fn a_queue_that_is_ended_gives_the_next_a_ledger_whose_jobs_it_has_withdrawn() {
    let (engine, data) = (Answering::default(), tempfile::tempdir().unwrap());
    let mut ledger = Ledger::default();
    ledger.asked("7".parse().unwrap(), Nodes::new());
    let provisioning = asking_on(&engine, &data, "a", ledger).await;
    let mut queues = provisioning.0.as_ref().unwrap().queues.lock().await;
    let ended = queues.get_mut(&"a".parse().unwrap()).unwrap().end().await.unwrap();
    assert!(ended.ledger.jobs.values().all(|note| note.cancelled.is_some()), "{:?}", ended.ledger);
}
