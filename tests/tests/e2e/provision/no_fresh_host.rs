//! An experiment for which no connected host is fresh: it is told wherever its phase is, with the command that says why.

use std::fs::{self, File};

use serde_json::Value;
use speedup_tests::{output::stderr, pool::Pool, pool::eventually};

use crate::{SPEEDUP, security::page::Browser};

/// Four runs, each on a host that has served none.
const PLAN: &str = "[experiment]\nname = \"stuck\"\nseed = 5\n[versions.old]\nbaseline = true\n[versions.new]\n\
    [benchmarks.nothing]\ncommand = [\"true\"]\n[repetitions]\nruns = 2\n";

fn phase(pool: &Pool) -> Option<String> {
    let listed = pool.json(&["list"])?;
    Some(listed[0]["phase"].as_str()?.to_owned())
}

#[test]
fn an_experiment_without_a_fresh_host_says_that_it_waits_for_hosts() {
    let mut pool = Pool::start(SPEEDUP, 3);
    let experiment = pool.submit(PLAN, &["--wait-for-hosts"]);
    eventually("three of four are measured", || (phase(&pool)? == "waiting for hosts").then_some(()));
    let listed = pool.json(&["list"]).expect("experiments");
    assert_eq!(listed[0]["tally"]["measured"], 3, "{listed}");
    let table = pool.ok(&["list"]);
    assert!(table.contains("  waiting for hosts   3/4 "), "{table}");
    let report = pool.json(&["report", &experiment]).expect("a report");
    assert_eq!(report["head"]["phase"], Value::from("waiting for hosts"));
    let why = format!("`speedup explain {}` says why", &experiment[..13]);
    let waited = pool.speedup(&["wait", &experiment, "--timeout", "1s"]);
    let said = stderr(&waited);
    assert_eq!(waited.status.code(), Some(4), "{said}");
    assert!(said.contains("stuck is waiting for hosts: ") && said.contains("says why"), "{said}");
    let mut watching = pool.command();
    let lines = pool.path().join("watched");
    let told = File::create(&lines).expect("a file");
    let mut watching = watching.args(["watch", &experiment]).stderr(told).spawn().expect("a watcher");
    let watched = || fs::read_to_string(&lines).expect("what it says");
    eventually("it is watched", || watched().contains(&format!("; waiting for hosts: {why}")).then_some(()));
    let shown = Browser::of(&pool, &pool.access_file()).get(&format!("/experiments/{experiment}")).body;
    assert!(shown.contains("waiting for hosts") && shown.contains("speedup explain"), "{shown}");
    let explained = pool.ok(&["explain", &experiment]);
    let counted = ["is waiting for hosts: 3/4 ", "\n1 run of nothing ", "\n       3  not fresh"];
    for told in counted.into_iter().chain(["(host-0, host-1, host-2)", "\n  `speedup agent start` "]) {
        assert!(explained.contains(told), "{told} is not said:\n{explained}");
    }
    let explained = pool.json(&["explain", &experiment]).expect("an explanation");
    assert_eq!(explained["outlook"]["waits"][0]["hosts"][0]["hindrance"], "not_fresh", "{explained}");
    assert_eq!(explained["status"]["phase"], "waiting for hosts");
    // One more host, and it goes on to its end.
    pool.add_agent();
    pool.wait_for(&experiment);
    let explained = pool.ok(&["explain", &experiment]);
    assert!(explained.trim_end().ends_with("4/4 runs done."), "{explained}");
    assert!(watching.wait().expect("its end").success());
    assert!(watched().contains("4/4 runs done"), "{}", watched());
}
