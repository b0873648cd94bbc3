//! Which machine a host is, and whether it is identical to the others: another class is told with its differences and
//! taken when a person says so; a copy of a machine is turned away until it has a name of its own.

use std::path::{Path, PathBuf};
use std::process::Child;

use serde_json::Value;
use speedup_proto::v1;
use speedup_proto::v1::agents_client::AgentsClient;
use speedup_tests::checker;
use speedup_tests::pool::{Pool, eventually, host_id};
use tokio_stream::StreamExt as _;

use crate::SPEEDUP;

const ASLR: &str = "proc/sys/kernel/randomize_va_space";
const SERIAL: &str = "sys/devices/virtual/dmi/id/product_uuid";

/// A machine of which one file of the kernel is known.
fn machine(pool: &Pool, name: &str, file: &str, content: &str) -> PathBuf {
    let root = pool.path().join(name);
    let path = root.join(file);
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    std::fs::write(path, content).expect("a file");
    root
}

fn plan(policy: &str, runs: u32) -> String {
    format!(
        "[experiment]\nname = \"identity\"\nseed = 5\n[versions.old]\nbaseline = true\n[versions.new]\n\
         [benchmarks.true]\ncommand = [\"true\"]\n[repetitions]\nruns = {runs}\n\
         [independence]\npolicy = \"{policy}\"\nhosts = \"identical\"\n"
    )
}

/// What a command says, which has to succeed.
fn said(pool: &Pool, arguments: &[&str]) -> String {
    let output = pool.speedup(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn measured(pool: &Pool, experiment: &str) -> usize {
    pool.export_as("jsonl", experiment).matches("\"outcome\":\"measured\"").count()
}

#[test]
fn a_host_of_another_class_serves_once_a_person_approves_it() {
    let mut pool = Pool::without_agents(SPEEDUP);
    let (usual, odd) = (machine(&pool, "usual", ASLR, "2\n"), machine(&pool, "odd", ASLR, "0\n"));
    for system in [&usual, &usual, &usual, &odd] {
        pool.add_agent_on(system);
    }
    pool.wait_for_hosts(4);
    // Four fresh hosts are needed, three are of a class: the fourth run waits.
    let text = plan("distinct", 2);
    let experiment = pool.submit(&text, &["--wait-for-hosts"]);
    eventually("the hosts of the class have served", || (measured(&pool, &experiment) == 3).then_some(()));

    let waiting = |run: u32| said(&pool, &["explain", &experiment, &run.to_string()]);
    let waits = (0..4).map(waiting).find(|words| words.contains("waits for a host")).expect("one run waits");
    assert!(waits.contains("1  of another class than the experiment takes"), "{waits}");
    assert!(waits.contains("differs in kernel.aslr; `speedup hosts approve` takes its class too"), "{waits}");

    let shown = said(&pool, &["hosts", "show", &host_id(3)]);
    assert!(shown.contains("does not take it:\n  kernel.aslr: 0 here, 2 there\n"), "{shown}");
    // What is told is what helps.
    let told = shown.lines().find_map(|line| line.trim().strip_prefix("speedup ")).expect("a command");
    assert_eq!(told, format!("hosts approve {} --experiment {experiment}", host_id(3)));
    said(&pool, &told.split(' ').collect::<Vec<_>>());

    eventually("the experiment finishes", || pool.is_finished(&experiment).then_some(()));
    let verdict = checker::check(&text, &pool.export_as("jsonl", &experiment));
    verdict.assert_ok();
    assert_eq!(verdict.counting(), 4);
    assert!(verdict.rows.iter().any(|row| row.host() == host_id(3)), "{verdict:?}");
    let shown = said(&pool, &["hosts", "show", &host_id(3)]);
    assert!(!shown.contains("does not take it"), "{shown}");
}

/// An agent beside those of the pool, killed when dropped.
struct Beside(Child);

impl Drop for Beside {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn beside(pool: &Pool, number: usize, state: &str, system: &Path) -> Beside {
    let root = system.display().to_string();
    Beside(pool.spawn_agent_with(number, state, &["--system-root", &root]))
}

/// Asserts that an agent is told that its machine is another, and what to do.
fn assert_turned_away(pool: &Pool, state: &str) {
    let words = eventually("it is told", || {
        let log = pool.logged(state);
        log.lines().find(|line| line.contains("turned this host away")).map(str::to_owned)
    });
    assert!(words.contains("another machine joined as host host-0: its hardware is "), "{words}");
    assert!(words.contains("give it a machine id of its own (systemd-machine-id-setup)"), "{words}");
}

fn connected(pool: &Pool) -> Vec<String> {
    let listed = pool.json(&["hosts", "list"]).expect("a list");
    let here = listed.as_array().expect("hosts").iter().filter(|host| host["connected"] == true);
    here.map(|host| host["host"].as_str().expect("an id").to_owned()).collect()
}

#[test]
fn a_cloned_machine_is_turned_away_until_it_has_a_name_of_its_own() {
    let mut pool = Pool::without_agents(SPEEDUP);
    let original = machine(&pool, "original", SERIAL, "4c4c4544-0051\n");
    let clone = machine(&pool, "clone", SERIAL, "4c4c4544-0052\n");
    pool.add_agent_on(&original);
    pool.wait_for_hosts(1);
    let copy = beside(&pool, 0, "copy", &clone);
    assert_turned_away(&pool, "copy");
    assert_eq!(connected(&pool), [host_id(0)]);
    drop(copy);

    // Also when the original is off: the evidence of what that host has done would be another machine's.
    pool.kill_agent(0);
    eventually("it is gone", || connected(&pool).is_empty().then_some(()));
    let copy = beside(&pool, 0, "copy-again", &clone);
    assert_turned_away(&pool, "copy-again");
    assert!(connected(&pool).is_empty());
    drop(copy);

    pool.start_agent_on(0, &original);
    let _named = beside(&pool, 1, "named", &clone);
    eventually("both are hosts", || (connected(&pool) == [host_id(0), host_id(1)]).then_some(()));
}

/// Says one Join, as an agent does whose host has the machine id and the boot of the system; gives the answer.
async fn join(pool: &Pool, host: &str, boot: &str, agent: u8) -> v1::coordinator_message::Message {
    let facts = v1::HostFacts { host: host.to_owned(), boot: boot.to_owned(), ..Default::default() };
    let join = v1::Join { facts: Some(facts), agent: vec![agent; 16], agent_epoch: 1 };
    let message = v1::AgentMessage { message: Some(v1::agent_message::Message::Join(join)) };
    let up = tokio_stream::iter([message]).chain(tokio_stream::pending());
    let mut client = AgentsClient::connect(pool.url()).await.expect("a connection");
    let answer = client.session(up).await.expect("a session").into_inner().next().await;
    answer.expect("an answer").expect("no error").message.expect("a message")
}

#[tokio::test]
async fn one_boot_under_two_machine_ids_is_one_machine() {
    use v1::coordinator_message::Message;
    let pool = Pool::without_agents(SPEEDUP);
    assert!(matches!(join(&pool, "first", "b007", 1).await, Message::Welcome(_)));
    match join(&pool, "second", "b007", 2).await {
        Message::TurnedAway(away) => {
            assert!(
                away.reason.contains("this machine has joined as host first, in the same boot"),
                "{away:?}"
            );
            assert!(away.reason.contains("give each agent a --host-id"), "{away:?}");
        }
        other => panic!("not turned away: {other:?}"),
    }
    assert!(matches!(join(&pool, "second", "b008", 2).await, Message::Welcome(_)));
    let listed = pool.json(&["hosts", "list"]).expect("a list");
    let ids: Vec<&Value> = listed.as_array().expect("hosts").iter().map(|host| &host["host"]).collect();
    assert_eq!(ids, ["first", "second"]);
}
