//! Benchmarks and plans that misbehave: each is told apart, named with cause and remedy, and loses nothing.

use speedup_tests::{
    ledger::Row, output::failed, output::stderr, pool::Pool, pool::eventually, process::Killed,
};

use crate::SPEEDUP;

fn plan(benchmarks: &str, rest: &str) -> String {
    speedup_tests::plan::plan("fault", 1, "any", &format!("{benchmarks}\n{rest}"))
}

/// The rows of a benchmark that is run once in each version.
fn outcome(benchmark: &str, rest: &str) -> (Pool, String, Vec<Row>) {
    let pool = Pool::start(SPEEDUP, 1);
    let experiment = pool.finish(&plan(&format!("[benchmarks.b]\n{benchmark}"), rest));
    let ledger = pool.ledger(&experiment);
    ledger.assert_exactly_once(2);
    (pool, experiment, ledger.rows)
}

#[test]
fn a_command_that_does_not_exist_is_tried_and_pauses_its_plan() {
    let pool = Pool::start(SPEEDUP, 1);
    let experiment = pool.submit(&plan("[benchmarks.b]\ncommand = [\"no-such-program\"]", ""), &[]);
    let said = failed(&pool.speedup(&["wait", &experiment]), 4);
    assert!(said.contains("no host can execute it") && said.contains("no-such-program"), "{said}");
    let rows = pool.ledger(&experiment).rows;
    let lost: Vec<&Row> = rows.iter().filter(|row| row["outcome"] == "lost").collect();
    assert_eq!(lost.len(), 3, "three attempts in a row: {rows:?}");
    assert!(lost.iter().all(|row| row["loss"] == "not_executed"), "{rows:?}");
    assert!(lost.iter().all(|row| row["loss_words"].contains("no-such-program")), "{rows:?}");
}

#[test]
fn a_command_that_may_not_be_executed_says_so() {
    let file = tempfile::NamedTempFile::new().expect("a file that may not be executed");
    let (_, _, rows) =
        outcome(&format!("command = [\"{}\"]", file.path().display()), "[limits]\nattempts = 1\n");
    assert!(rows.iter().all(|row| row["loss_words"].contains("not executable")), "{rows:?}");
}

#[test]
fn a_wrong_exit_code_is_an_outcome() {
    let (pool, experiment, rows) = outcome("shell = \"echo why >&2; exit 3\"", "");
    assert_eq!(rows.len(), 2, "a failed benchmark is not repeated: {rows:?}");
    assert!(rows.iter().all(|row| row["failure"] == "exit"), "{rows:?}");
    assert!(rows.iter().all(|row| row["failure_words"].contains('3')), "{rows:?}");
    assert_eq!(pool.speedup(&["wait", &experiment]).status.code(), Some(1));
    let kept = pool.export_as("jsonl", &experiment);
    assert!(kept.contains("why"), "what it said is kept: {kept}");
}

#[test]
fn a_signal_is_an_outcome() {
    let (_, _, rows) = outcome("shell = \"kill -SEGV $$\"", "");
    assert!(rows.iter().all(|row| row["failure"] == "signal"), "{rows:?}");
}

#[test]
fn wrong_output_is_an_outcome() {
    let hash = "0".repeat(64);
    let (_, _, rows) =
        outcome(&format!("command = [\"echo\"]\nexpect = {{ stdout_blake3 = \"{hash}\" }}"), "");
    assert!(rows.iter().all(|row| row["failure"] == "wrong_output"), "{rows:?}");
}

#[test]
fn gigabytes_of_output_are_stopped_at_the_limit() {
    let (_, _, rows) = outcome("command = [\"yes\"]\ntimeout = \"60s\"", "[output]\nlimit = \"8MiB\"\n");
    assert!(rows.iter().all(|row| row["failure"] == "too_much_output"), "{rows:?}");
}

#[test]
fn a_program_that_ignores_to_be_asked_is_killed_with_all_its_children() {
    let (_, _, rows) =
        outcome("shell = \"trap '' TERM; sleep 1000 & sleep 1000; sleep 1000\"\ntimeout = \"200ms\"", "");
    assert!(rows.iter().all(|row| row["failure"] == "timeout"), "{rows:?}");
    assert!(rows.iter().all(|row| row["wall_ns"].parse::<u64>().expect("a time") >= 200_000_000));
}

#[test]
fn children_that_outlive_the_run_are_ended_and_counted() {
    let (_, _, rows) = outcome("shell = \"setsid sleep 1000 & setsid sleep 1000 & exit 0\"", "");
    assert!(rows.iter().all(|row| row["run_state"] == "measured" && row["survivors"] == "2"), "{rows:?}");
}

#[test]
fn a_setup_that_fails_says_why_and_the_experiment_is_paused() {
    let pool = Pool::start(SPEEDUP, 1);
    let many: String =
        (0..20).map(|number| format!("[benchmarks.b{number}]\ncommand = [\"true\"]\n")).collect();
    let rest = "[setup]\nshell = \"echo the reason >&2; exit 9\"\n";
    let experiment = pool.submit(&plan(&many, rest), &[]);
    let waited = pool.speedup(&["wait", &experiment]);
    assert_eq!(waited.status.code(), Some(4), "{waited:?}");
    let rows = pool.ledger(&experiment).rows;
    assert!(rows.iter().any(|row| row["loss_words"].contains("the reason")), "{rows:?}");
    assert!(rows.iter().any(|row| row["run_state"] == "open"), "what was not tried is left for later");
}

#[test]
fn plans_that_are_none_are_refused_with_their_place() {
    let pool = Pool::without_agents(SPEEDUP);
    let whole = plan("[benchmarks.b]\ncommand = [\"true\"]", "");
    let cases = [
        ("malformed", whole.replace("baseline = true", "baseline = "), "line 5"),
        ("an unknown key", whole.replace("runs = 1", "runs = 1\nrun = 2"), "run"),
        ("a wrong type", whole.replace("runs = 1", "runs = \"many\""), "runs"),
        ("no baseline", whole.replace("baseline = true", ""), "baseline"),
        ("zero runs", whole.replace("runs = 1", "runs = 0"), "runs"),
        ("an unknown policy", whole.replace("\"any\"", "\"whatever\""), "policy"),
        ("no command", whole.replace("[\"true\"]", "[]"), "command"),
    ];
    for (what, text, named) in cases {
        for verb in [&["plan", "check"][..], &["submit"]] {
            pool.write("plan.toml", &text);
            let file = pool.path().join("plan.toml").display().to_string();
            let output = pool.speedup(&[verb, &[&file]].concat());
            assert_eq!(output.status.code(), Some(2), "{what}");
            let said = stderr(&output);
            assert!(said.contains(named) && said.contains("line"), "{what}: {said}");
        }
    }
}

#[test]
fn a_policy_that_the_pool_cannot_keep_is_refused_with_the_numbers() {
    let pool = Pool::start(SPEEDUP, 1);
    let text = plan("[benchmarks.b]\ncommand = [\"true\"]", "").replace("\"any\"", "\"distinct\"");
    let said = pool.refused_plan(&text, &["submit"]);
    assert!(said.contains("needs 2 fresh hosts") && said.contains("hint:"), "{said}");
    assert!(pool.json(&["list"]).and_then(|all| all.as_array().map(Vec::is_empty)).unwrap_or(false));
}

#[test]
fn two_agents_for_one_host_do_not_share_it() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let second = Killed(pool.spawn_agent(0, "impostor"));
    eventually("the second is told", || {
        pool.logged("impostor").contains("served by another agent").then_some(())
    });
    pool.finish(&plan("[benchmarks.b]\ncommand = [\"true\"]", ""));
    // When the first is gone, the second may serve.
    pool.kill_agent(0);
    let experiment = pool.submit(&plan("[benchmarks.b]\ncommand = [\"true\"]", ""), &["--wait-for-hosts"]);
    pool.wait_for(&experiment);
    drop(second);
    let mut both = [0, 0].map(|host| Killed(pool.spawn_agent(host, "agent-0")));
    let first_to_end = eventually("one of two on one directory ends", || {
        both.iter_mut().find_map(|agent| agent.0.try_wait().expect("a state"))
    });
    assert_eq!(first_to_end.code(), Some(4), "{}", pool.logged("agent-0"));
}

/// A coordinator on a disk of three megabytes that is made larger once it is full. Namespaces make the disk, so that no
/// root is needed; where they are not allowed either, there is no such disk to be had and the test says so.
const SMALL_DISK: &str = r#"
set -e
mount -t tmpfs -o size=3m,mode=700 tmpfs "$DATA"
"$@" || echo "the first coordinator ended with code $?" >&2
mount -o remount,size=300m "$DATA"
exec "$@"
"#;

#[test]
fn a_full_disk_stops_the_coordinator_with_its_reason_and_loses_nothing() {
    let allowed = std::process::Command::new("unshare").args(["-rm", "true"]).status();
    if !allowed.is_ok_and(|status| status.success()) {
        return speedup_tests::skip("this machine lets nobody mount a small disk");
    }
    let mut pool = Pool::without_agents(SPEEDUP);
    pool.stop_coordinator();
    pool.start_coordinator_by(&["unshare", "-rm", "sh", "-c", SMALL_DISK, "sh"]);
    for _ in 0..4 {
        pool.add_agent();
    }
    pool.wait_for_hosts(4);
    // Each failed run leaves sixteen kilobytes, so that the disk is full after two hundred of them.
    let failing = "[benchmarks.b]\nshell = \"head -c 16384 /dev/urandom | od; exit 1\"";
    let text = plan(failing, "[output]\nkeep = \"64KiB\"\n").replace("runs = 1", "runs = 100");
    let experiment = pool.submit(&text, &[]);
    eventually("the disk is full", || pool.logged("coordinator").contains("ended with code 4").then_some(()));
    let said = pool.logged("coordinator");
    assert!(said.contains("No space left on device") && said.contains("hint:"), "{said}");
    pool.wait_for(&experiment);
    let ledger = pool.ledger(&experiment);
    ledger.assert_exactly_once(200);
    ledger.assert_leases_are_unique();
    assert_eq!(ledger.rows.iter().filter(|row| row["run_state"] == "failed").count(), 200);
}

#[test]
fn what_a_run_leaves_behind_does_not_hinder_the_next() {
    let mess = "mkdir -p d/e && touch d/e/f && chmod 555 d/e d && head -c 3000000 /dev/zero > big";
    let pool = Pool::start(SPEEDUP, 1);
    let text = plan(&format!("[benchmarks.b]\nshell = \"{mess}\""), "").replace("runs = 1", "runs = 5");
    let experiment = pool.finish(&text);
    assert_eq!(pool.ledger(&experiment).assert_exactly_once(10), 10, "every run is measured");
    let work = pool.path().join("agent-0/experiments").join(&experiment).join("work");
    eventually("nothing is left", || (!work.exists()).then_some(()));
}

#[test]
fn large_outputs_are_kept_and_exported() {
    let mut pool = Pool::start(SPEEDUP, 8);
    let loud = "[benchmarks.b]\nshell = \"head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2; exit 1\"";
    let text = plan(loud, "[output]\nkeep = \"1MiB\"\n").replace("runs = 1", "runs = 10");
    // While nobody listens the reports gather, and come all at once.
    let experiment = pool.submit(&text, &[]);
    pool.restart_coordinator();
    pool.wait_for(&experiment);
    pool.ledger(&experiment).assert_exactly_once(20);
    let all = pool.speedup(&["export", &experiment, "--format", "jsonl", "-o", "-"]);
    assert!(all.status.success(), "{}", String::from_utf8_lossy(&all.stderr));
    assert!(all.stdout.len() > 20_000_000, "{}", String::from_utf8_lossy(&all.stderr));
}

#[test]
fn agents_serve_a_coordinator_that_begins_anew() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let text = plan("[benchmarks.b]\ncommand = [\"true\"]", "").replace("runs = 1", "runs = 5");
    pool.finish(&text);
    pool.kill_coordinator();
    std::fs::remove_dir_all(pool.data()).expect("removed");
    pool.start_coordinator();
    let experiment = pool.submit(&text, &["--wait-for-hosts"]);
    pool.wait_for(&experiment);
    pool.ledger(&experiment).assert_exactly_once(10);
}
