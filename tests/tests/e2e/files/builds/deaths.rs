//! Coordinators and agents that die between a build and its report: a build counts whole, with all that it made at the
//! coordinator, or it is built again.

use std::{fs, path::Path, path::PathBuf};

use prost::Message as _;
use speedup_access::Role;
use speedup_core::{run::LossReason, value::id::RunIndex};
use speedup_proto::encoded::SentReport;
use speedup_proto::v1;
use speedup_proto::v1::agent_message::Message;
use speedup_proto::v1::agents_client::AgentsClient;
use speedup_proto::v1::coordinator_message::Message as Answer;
use speedup_tests::{pool::Pool, pool::eventually, wire::join};
use tokio::sync::mpsc;
use tokio_stream::{StreamExt as _, wrappers::ReceiverStream};

use super::{SCRIPT, Told, await_it, plan, used_what_was_built};
use crate::SPEEDUP;

/// A build that says that it has begun, and makes nothing before it may.
struct Gate {
    begun: PathBuf,
    shut: PathBuf,
}

impl Gate {
    fn of(pool: &Pool) -> Self {
        let gate = Self { begun: pool.path().join("begun"), shut: pool.path().join("shut") };
        fs::write(&gate.shut, b"").expect("a file");
        gate
    }

    /// The plan of one build of each version, behind the gate.
    fn plan(&self, build: &str) -> String {
        let (begun, shut) = (self.begun.display(), self.shut.display());
        let build = format!("touch {begun}; while test -e {shut}; do sleep 0.01; done; {build}");
        plan(&build, 1, 2, "any") + "[limits]\nattempts = 9\n"
    }

    fn open(&self) {
        fs::remove_file(&self.shut).expect("removed");
    }
}

/// The names in a directory; none where it is not there.
fn names(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Waits until the agent has collected a product; gives its hash.
fn collected(pool: &Pool) -> String {
    let files = pool.agent_state(0).join("files");
    eventually("the build is collected", || {
        names(&files).into_iter().find_map(|name| Some(name.strip_suffix(".x")?.to_owned()))
    })
}

/// A pool of one agent that has begun an experiment whose builds are so, behind a gate.
fn begun(build: &str) -> (Pool, Gate, String) {
    let pool = Pool::start(SPEEDUP, 1);
    let gate = Gate::of(&pool);
    let experiment = pool.submit(&gate.plan(build), &[]);
    eventually("a build begins", || gate.begun.exists().then_some(()));
    (pool, gate, experiment)
}

/// What is told of an experiment in the end, in which this was lost.
fn ended(pool: &Pool, experiment: &str, losses: &[LossReason]) -> Told {
    pool.wait_for(experiment);
    let told = Told::of(pool, experiment);
    assert_eq!(told.losses(), losses.iter().map(LossReason::words).collect::<Vec<_>>());
    told
}

#[test]
fn a_coordinator_that_dies_during_a_build_takes_it_when_it_is_back() {
    let (mut pool, gate, experiment) = begun(SCRIPT);
    pool.kill_coordinator();
    gate.open();
    // Collected, and nobody to take it.
    let hash = collected(&pool);
    pool.start_coordinator();
    let told = ended(&pool, &experiment, &[]);
    used_what_was_built(&pool, &told);
    assert_eq!(told.reported()[&RunIndex(0)].1.products[0].content.blake3.to_string(), hash);
}

#[test]
fn an_agent_that_dies_with_what_it_built_builds_again() {
    let (mut pool, gate, experiment) = begun(SCRIPT);
    pool.kill_coordinator();
    gate.open();
    let hash = collected(&pool);
    pool.kill_agent(0);
    pool.start_coordinator();
    pool.start_agent(0);
    let told = ended(&pool, &experiment, &[LossReason::AgentRestarted]);
    used_what_was_built(&pool, &told);
    for (_, record) in told.reported().values() {
        assert!(record.products.iter().all(|product| product.content.blake3.to_string() != hash));
    }
}

#[test]
fn an_agent_that_dies_during_a_build_leaves_nothing_and_another_builds() {
    let (mut pool, gate, experiment) = begun(SCRIPT);
    pool.kill_agent(0);
    gate.open();
    pool.add_agent();
    let told = ended(&pool, &experiment, &[LossReason::HostLost]);
    used_what_was_built(&pool, &told);
    assert!(told.reported().values().all(|(ended, _)| ended.lease.host.as_str() == "host-1"));
}

/// A build whose product takes a while on its way.
const LARGE: &str = "mkdir out; { echo \"#!/bin/sh\"; echo exit 0; head -c 96000000 /dev/urandom; } > out/prog; \
    chmod 755 out/prog";

/// Waits until some of a product has come to the coordinator.
fn is_on_its_way(pool: &Pool) {
    let partial = pool.data().join("blobs/partial");
    let some = || {
        let sizes = names(&partial).into_iter().filter_map(|name| fs::metadata(partial.join(name)).ok());
        sizes.map(|file| file.len()).find(|bytes| *bytes > 0)
    };
    eventually("some of the product has come", some);
}

#[test]
fn an_upload_that_the_agent_breaks_off_leaves_nothing() {
    let (mut pool, gate, experiment) = begun(LARGE);
    gate.open();
    is_on_its_way(&pool);
    pool.kill_agent(0);
    let partial = pool.data().join("blobs/partial");
    eventually("what had come is gone", || names(&partial).is_empty().then_some(()));
    pool.add_agent();
    let told = ended(&pool, &experiment, &[LossReason::HostLost]);
    assert_eq!(told.status.tally.measured, 6, "two builds and four runs: {:?}", told.status);
}

#[test]
fn an_upload_that_the_coordinator_breaks_off_is_begun_again() {
    let (mut pool, gate, experiment) = begun(LARGE);
    gate.open();
    is_on_its_way(&pool);
    pool.restart_coordinator();
    let told = ended(&pool, &experiment, &[]);
    assert_eq!(told.status.tally.measured, 6, "two builds and four runs: {:?}", told.status);
    assert!(names(&pool.data().join("blobs/partial")).is_empty());
}

#[test]
fn what_was_put_and_not_reported_survives_a_start_while_something_is_built() {
    let mut pool = Pool::without_agents(SPEEDUP);
    let experiment = pool.submit(&plan(SCRIPT, 1, 1, "any"), &["--wait-for-hosts"]);
    let put = pool.data().join("blobs/ab").join("cd".repeat(31));
    fs::create_dir_all(put.parent().expect("a folder")).expect("a folder");
    fs::write(&put, b"put").expect("a file");
    pool.restart_coordinator();
    assert!(put.exists(), "a build may have put it");
    pool.add_agent();
    pool.wait_for(&experiment);
    pool.restart_coordinator();
    assert!(!put.exists(), "nobody can name it any more");
    used_what_was_built(&pool, &Told::of(&pool, &experiment));
}

#[test]
fn a_build_is_refused_whose_products_are_not_at_the_coordinator() {
    let mut pool = Pool::without_agents(SPEEDUP);
    let text = plan(SCRIPT, 1, 1, "any") + "hosts = \"any\"\n[limits]\nattempts = 9\n";
    let experiment = pool.submit(&text, &["--wait-for-hosts"]);
    await_it(claim_a_build(&pool, "liar"));
    pool.add_agent();
    pool.wait_for(&experiment);
    let told = Told::of(&pool, &experiment);
    let losses = told.losses();
    let [words] = &losses[..] else { panic!("one attempt is lost: {losses:?}") };
    assert!(words.contains("(BLAKE3 2a2a"), "{words}");
    used_what_was_built(&pool, &told);
    assert!(told.reported().values().all(|(ended, _)| ended.lease.host.as_str() != "liar"));
    assert!(pool.logged("coordinator").contains("refused a build"));
}

/// Joins as an agent, takes a build, and reports a product that it never put; gone once that is acknowledged.
async fn claim_a_build(pool: &Pool, host: &str) {
    let message = |message| v1::AgentMessage { message: Some(message) };
    let (up, messages) = mpsc::channel(8);
    up.send(join(host)).await.expect("said");
    let mut client = AgentsClient::new(pool.channel_of(host, Role::Agent).await);
    let session = client.session(ReceiverStream::new(messages)).await.expect("a session");
    let mut down = session.into_inner();
    up.send(message(Message::Ask(v1::Ask {}))).await.expect("said");
    while let Some(heard) = down.next().await {
        match heard.expect("an answer").message.expect("a message") {
            Answer::Grant(grant) => {
                let order = v1::WorkOrder::decode(grant.order.expect("an order")).expect("an order");
                assert_eq!(order.collect["prog"], "out/prog");
                let stream = || Some(v1::StreamOutput { bytes: 0, blake3: vec![0; 32], kept: Vec::new() });
                let (name, blake3) = ("prog".to_owned(), vec![0x2a; 32]);
                let product = v1::Product { name, blake3, bytes: 9, executable: true };
                let record = v1::Record {
                    outcome: Some(v1::record::Outcome::Measured(v1::Measured {})),
                    stdout: stream(),
                    stderr: stream(),
                    products: vec![product],
                    ..Default::default()
                };
                let record = Some(record.encode_to_vec().into());
                let report = SentReport { lease: grant.lease, executed_by: 1, record };
                up.send(message(Message::Report(report))).await.expect("said");
            }
            Answer::Acknowledged(_) => return,
            _ => {}
        }
    }
    panic!("the session ended before the report was acknowledged");
}
