//! An engine that does not always do what it is asked.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use speedup_core::machine::provision::{Job, JobState, Ledger, Nodes};
use speedup_core::machine::{Machine, Settings};
use speedup_core::value::id::{JobId, NodeName};
use speedup_journal::{JournalId, Position};
use tempfile::TempDir;
use tokio::sync::watch;

use super::*;
use crate::handle::Progress;
use crate::indexer::backlog;
use crate::owner::Request as Asked;
use crate::provision::agent::tests::at;
use crate::store::Store;

/// One job, until it is ended; and whether the engine answers.
#[derive(Clone, Debug, Default)]
struct Answering {
    is_away: Arc<AtomicBool>,
    ended: Arc<AtomicUsize>,
}

impl Answering {
    fn answer<T>(&self, answer: T) -> Result<T, EngineError> {
        if self.is_away.load(Ordering::SeqCst) { Err(EngineError::NoReboot) } else { Ok(answer) }
    }
}

impl Engine for Answering {
    async fn submit(&self, _exclude: &Nodes) -> Result<JobId, EngineError> {
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

    fn state_of(&self, _job: &Job) -> Option<PathBuf> {
        None
    }

    fn log_of(&self, _job: &Job) -> Option<PathBuf> {
        None
    }

    async fn reboot(&self, _node: &NodeName) -> Result<(), EngineError> {
        self.answer(())
    }
}

fn limits() -> ProvisionLimits {
    ProvisionLimits { jobs: 3, queued: 3, node_time: None }
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
    let store = Store::open(&data.path().join("store"), JournalId([1; 16])).unwrap().store;
    let demand = Arc::default();
    Handle {
        requests,
        progress: Progress { durable: progress(), indexed: progress(), urge: backlog().0.urge() },
        store,
        demand,
    }
}

/// A provisioning that asks this engine.
async fn asking(engine: &Answering, data: &TempDir) -> Provisioning {
    asking_on(engine, data, Ledger::default()).await
}

/// The same, where this is remembered of the jobs.
async fn asking_on(engine: &Answering, data: &TempDir, ledger: Ledger) -> Provisioning {
    let mut agent = at("127.0.0.1:70");
    agent.place.state = data.path().join("agents");
    let resumed = Provisioning::resume(data.path().to_owned(), agent, handle(data), Metrics::default()).await;
    let provisioning = resumed.unwrap();
    let inner = provisioning.0.as_ref().unwrap();
    let mut record = Record::new("speedup-1".to_owned(), Spec::Local, limits(), LOOK_MIN, "a".to_owned());
    record.ledger = ledger;
    record.write(data.path()).unwrap();
    *inner.current.lock().await = Some(inner.spawn(engine.clone(), record, Begin::AfterAPause));
    provisioning
}

#[tokio::test]
async fn an_engine_that_does_not_answer_is_asked_on_until_its_jobs_are_ended() {
    let data = tempfile::tempdir().unwrap();
    let engine = Answering::default();
    let provisioning = asking(&engine, &data).await;
    engine.is_away.store(true, Ordering::SeqCst);
    let refused = provisioning.remove("ada").await.unwrap_err();
    assert!(matches!(refused, AddError::NotEnded(_)), "{refused}");
    let outlook = provisioning.outlook(Span::from_secs(1)).await;
    assert_eq!(outlook, HostsToCome::Some, "it can be removed again");
    assert!(Record::read(data.path()).unwrap().is_some(), "the next start goes on as well");
    engine.is_away.store(false, Ordering::SeqCst);
    let removed = provisioning.remove("ada").await.unwrap().expect("what was asked");
    assert_eq!((removed.record.name.as_str(), engine.ended.load(Ordering::SeqCst)), ("speedup-1", 1));
    assert_eq!(Record::read(data.path()).unwrap(), None);
    assert!(provisioning.remove("ada").await.unwrap().is_none());
}

#[tokio::test]
async fn what_replaces_an_engine_that_did_not_answer_keeps_the_name_of_its_jobs() {
    let data = tempfile::tempdir().unwrap();
    let engine = Answering::default();
    let provisioning = asking(&engine, &data).await;
    let wanted = || Wanted { spec: Spec::Local, limits: limits(), look_every: LOOK_MIN, by: "b".to_owned() };
    engine.is_away.store(true, Ordering::SeqCst);
    assert!(matches!(provisioning.add(wanted()).await, Err(AddError::NotEnded(_))));
    engine.is_away.store(false, Ordering::SeqCst);
    provisioning.add(wanted()).await.unwrap();
    let shown = provisioning.show().await.expect("an engine is asked");
    assert_eq!((shown.record.name.as_str(), shown.record.by.as_str()), ("speedup-1", "b"));
    assert_eq!(engine.ended.load(Ordering::SeqCst), 1);
    provisioning.stop().await;
}

#[tokio::test]
async fn a_job_that_ends_without_an_agent_is_counted_when_that_is_written_down() {
    let data = tempfile::tempdir().unwrap();
    let engine = Answering::default();
    // The engine has forgotten the job that was asked for.
    engine.ended.store(1, Ordering::SeqCst);
    let mut ledger = Ledger::default();
    ledger.asked("7".parse().unwrap(), Nodes::new());
    let provisioning = asking_on(&engine, &data, ledger).await;
    let shows = |failures| {
        let line =
            format!("speedup_provision_failures_total{{engine=\"local\",reason=\"ended\"}} {failures}\n");
        provisioning.0.as_ref().unwrap().metrics.page().contains(&line)
    };
    assert!(shows(0));
    let waiting = async {
        while !shows(1) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("it is counted");
    let written = Record::read(data.path()).unwrap().unwrap();
    assert_eq!((written.ledger.failures_in_a_row, written.ledger.jobs.len()), (1, 0));
    provisioning.stop().await;
}
