//! Which machine a host is, and whether it is identical to the others: another class is told with its differences and
//! taken when a person says so; a copy of a machine is turned away until it has a name of its own.

use std::{path::Path, path::PathBuf, process::Stdio};

use serde_json::Value;
use speedup_access::{Role, unix_seconds};
use speedup_proto::{v1, v1::agents_client::AgentsClient, v1::coordinator_message::Message};
use speedup_tests::{checker, pool::Pool, pool::eventually, pool::host_id, process::Killed};
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
    let rest = "hosts = \"identical\"\n[benchmarks.true]\ncommand = [\"true\"]\n";
    speedup_tests::plan::plan("identity", runs, policy, rest)
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

    let waiting = |run: u32| pool.ok(&["explain", &experiment, &run.to_string()]);
    let waits =
        (0..4).map(waiting).find(|words| words.contains("is waiting for a host")).expect("one run waits");
    assert!(waits.contains("1  of another class"), "{waits}");
    assert!(waits.contains("kernel.aslr;") && waits.contains("`speedup hosts approve`"), "{waits}");

    let shown = pool.ok(&["hosts", "show", &host_id(3)]);
    assert!(shown.contains("\n  kernel.aslr: 0 here, 2 "), "{shown}");
    // What is told is what helps.
    let told = shown.lines().find_map(|line| line.trim().strip_prefix("speedup ")).expect("a command");
    assert_eq!(told, format!("hosts approve {} --experiment {experiment}", host_id(3)));
    pool.ok(&told.split(' ').collect::<Vec<_>>());

    pool.wait_for(&experiment);
    let verdict = checker::check(&text, &pool.export_as("jsonl", &experiment));
    verdict.assert_ok();
    assert_eq!(verdict.counting(), 4);
    assert!(verdict.rows.iter().any(|row| row.host() == host_id(3)), "{verdict:?}");
    let shown = pool.ok(&["hosts", "show", &host_id(3)]);
    assert!(!shown.contains("does not take it"), "{shown}");
}

fn beside(pool: &Pool, number: usize, state: &str, system: &Path) -> Killed {
    let root = system.display().to_string();
    Killed(pool.spawn_agent_with(number, state, &["--system-root", &root]))
}

/// Asserts that an agent is told why it may not join for good, and what to do, and that it ends by that.
fn assert_turned_away(pool: &Pool, agent: &mut Killed, state: &str, why: &str, hint: &str) {
    let ended = eventually("it ends", || agent.0.try_wait().expect("its state"));
    assert_eq!(ended.code(), Some(4), "{}", pool.logged(state));
    let log = pool.logged(state);
    let words = log.lines().find(|line| line.contains("permanently")).expect("the reason");
    assert!(words.contains(why) && words.contains(hint), "{words}");
}

fn assert_is_a_copy(pool: &Pool, agent: &mut Killed, state: &str) {
    assert_turned_away(pool, agent, state, "host host-0: its hardware ", "(systemd-machine-id-setup)");
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
    let mut copy = beside(&pool, 0, "copy", &clone);
    assert_is_a_copy(&pool, &mut copy, "copy");
    assert_eq!(connected(&pool), [host_id(0)]);

    // Also when the original is off: the evidence of what that host has done would be another machine's.
    pool.kill_agent(0);
    eventually("it is gone", || connected(&pool).is_empty().then_some(()));
    let mut copy = beside(&pool, 0, "copy-again", &clone);
    assert_is_a_copy(&pool, &mut copy, "copy-again");
    assert!(connected(&pool).is_empty());

    pool.start_agent_on(0, &original);
    let _named = beside(&pool, 1, "named", &clone);
    eventually("both are hosts", || (connected(&pool) == [host_id(0), host_id(1)]).then_some(()));
}

/// Says one Join, as an agent does whose host has the machine id and the boot of the system; gives the answer.
async fn join(pool: &Pool, host: &str, boot: &str, agent: u8) -> Message {
    join_as_of(pool, host, boot, agent, 1).await
}

/// The same, with the number of the agent's start.
async fn join_as_of(pool: &Pool, host: &str, boot: &str, agent: u8, agent_epoch: u64) -> Message {
    let facts = v1::HostFacts { host: host.to_owned(), boot: boot.to_owned(), ..Default::default() };
    let join = v1::Join { facts: Some(facts), agent: vec![agent; 16], agent_epoch };
    let message = v1::AgentMessage { message: Some(v1::agent_message::Message::Join(Box::new(join))) };
    let up = tokio_stream::iter([message]).chain(tokio_stream::pending());
    let mut client = AgentsClient::new(pool.channel_of(host, Role::Agent).await);
    let answer = client.session(up).await.expect("a session").into_inner().next().await;
    answer.expect("an answer").expect("no error").message.expect("a message")
}

#[tokio::test]
async fn one_boot_under_two_machine_ids_is_one_machine() {
    let pool = Pool::without_agents(SPEEDUP);
    let facts = v1::HostFacts { host: "first".to_owned(), boot: "b007".to_owned(), ..Default::default() };
    let join_first = v1::Join { facts: Some(facts), agent: vec![1; 16], agent_epoch: 1 };
    let first = v1::AgentMessage { message: Some(v1::agent_message::Message::Join(Box::new(join_first))) };
    let up = tokio_stream::iter([first]).chain(tokio_stream::pending());
    let mut client = AgentsClient::new(pool.channel_of("first", Role::Agent).await);
    let mut stays = client.session(up).await.expect("a session").into_inner();
    let welcome = stays.next().await.expect("an answer").expect("no error").message;
    assert!(matches!(welcome, Some(Message::Welcome(_))), "{welcome:?}");
    match join(&pool, "second", "b007", 2).await {
        Message::TurnedAway(away) => {
            assert!(away.reason.contains("host first, "), "{away:?}");
            assert!(away.is_lasting && away.reason.contains("--share-machine"), "{away:?}");
        }
        other => panic!("not turned away: {other:?}"),
    }
    assert!(matches!(join(&pool, "second", "b008", 2).await, Message::Welcome(_)));
    let listed = pool.json(&["hosts", "list"]).expect("a list");
    let ids: Vec<&Value> = listed.as_array().expect("hosts").iter().map(|host| &host["host"]).collect();
    assert_eq!(ids, ["first", "second"]);
}

/// An agent of this very machine under a name of its own, as its owner starts it.
fn named(pool: &Pool, name: &str, flags: &[&str]) -> Killed {
    let mut command = pool.command();
    command.args(["agent", "start", "--no-selftest", "--coordinator", &pool.url(), "--host-id", name]);
    command.args(flags).arg("--state").arg(pool.path().join(name));
    let log = pool.path().join(format!("{name}.log"));
    let log = std::fs::File::options().create(true).append(true).open(log).expect("a log file");
    Killed(command.stdout(Stdio::null()).stderr(log).spawn().expect("an agent"))
}

#[test]
fn one_machine_is_several_hosts_by_its_owners_word_alone_and_the_report_says_so() {
    let pool = Pool::without_agents(SPEEDUP);
    let first = named(&pool, "n1", &[]);
    pool.wait_for_hosts(1);
    for flags in [&[][..], &["--share-machine"]] {
        let mut second = named(&pool, "n2", flags);
        assert_turned_away(&pool, &mut second, "n2", "host n1, ", "--share-machine");
        std::fs::remove_file(pool.path().join("n2.log")).expect("its log");
    }
    assert_eq!(connected(&pool), ["n1"]);
    drop(first);
    eventually("it is gone", || connected(&pool).is_empty().then_some(()));

    let _shared = ["n1", "n2", "n3", "n4"].map(|name| named(&pool, name, &["--share-machine"]));
    pool.wait_for_hosts(4);
    let text = plan("distinct", 2);
    let experiment = pool.finish(&text);
    checker::check(&text, &pool.export_as("jsonl", &experiment)).assert_ok();
    let report = pool.ok(&["report", &experiment]);
    let first_lines = report.split("Benchmarks").next().expect("the verdict");
    let words = first_lines.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("4 hosts were one machine"), "{report}");
    assert!(!report.contains("fresh host"), "{report}");
    for form in ["html", "md"] {
        let told = pool.ok(&["report", &experiment, "--format", form, "-o", "-"]);
        assert!(told.contains("4 hosts were one machine"), "{form}: {told}");
    }
    let told = pool.json(&["report", &experiment]).expect("JSON");
    let independence = &told["independence"];
    assert_eq!(independence["kind"], "shared_machine", "{told}");
    assert_eq!(independence["hosts"], 4, "{told}");
    assert_eq!(independence["evidence"]["machines"], 1, "{told}");
}

#[tokio::test]
async fn a_host_id_is_not_locked_by_the_number_of_a_start() {
    const DAY: u64 = 86_400;
    let mut pool = Pool::without_agents(SPEEDUP);
    let told = |message| match message {
        Message::TurnedAway(away) => away,
        other => panic!("not turned away: {other:?}"),
    };
    let away = told(join_as_of(&pool, &host_id(0), "boot-of-0", 1, u64::MAX).await);
    assert!(away.is_lasting && away.reason.contains("coordinator's time"), "{away:?}");
    assert!(away.reason.contains("clocks"), "{away:?}");
    // As far ahead as a clock may be wrong: the real agent is told, and raises its own.
    let ahead = (unix_seconds() + 364 * DAY) * 1_000_000_000;
    let joined = join_as_of(&pool, &host_id(0), "boot-of-0", 1, ahead).await;
    assert!(matches!(joined, Message::Welcome(_)), "{joined:?}");
    pool.add_agent();
    pool.wait_for_hosts(1);
}

/// Somebody joined under the name of another machine, and the name is that machine's for good, until a person says no.
#[test]
fn a_host_id_is_given_back_by_a_person() {
    let mut pool = Pool::without_agents(SPEEDUP);
    let impostor = machine(&pool, "impostor", SERIAL, "4c4c4544-0051\n");
    let real = machine(&pool, "real", SERIAL, "4c4c4544-0052\n");
    pool.add_agent_on(&impostor);
    pool.wait_for_hosts(1);
    pool.kill_agent(0);
    eventually("it is gone", || connected(&pool).is_empty().then_some(()));
    let mut refused = beside(&pool, 0, "real-0", &real);
    assert_is_a_copy(&pool, &mut refused, "real-0");
    let words = pool.logged("real-0");
    assert!(words.contains("`speedup hosts reset`"), "{words}");

    pool.refused(&["hosts", "reset", "nobody"]);
    pool.ok(&["hosts", "reset", &host_id(0)]);
    let served = beside(&pool, 0, "real-0", &real);
    pool.wait_for_hosts(1);
    let events = pool.json(&["events"]).expect("the log").to_string();
    assert!(events.contains("host reset") && events.contains("host-0"), "{events}");

    // Whoever has the certificate of a host may have said anything in its name.
    drop(served);
    eventually("it is gone", || connected(&pool).is_empty().then_some(()));
    pool.ok(&["access", "revoke", "--host", &host_id(0)]);
    let _other = beside(&pool, 0, "new-0", &impostor);
    pool.wait_for_hosts(1);
}
