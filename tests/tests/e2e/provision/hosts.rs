//! The pool by hand: hosts are drained, resumed, quarantined and shown, and experiments of a higher priority go first.

use serde_json::Value;
use speedup_tests::{output::stderr, pool::Pool, pool::eventually, pool::host_id};

use crate::SPEEDUP;

fn plan(name: &str, keys: &str, runs: u32) -> String {
    format!(
        "[experiment]\nname = \"{name}\"\nseed = 5\n{keys}[versions.old]\nbaseline = true\n[versions.new]\n\
         [benchmarks.true]\ncommand = [\"true\"]\n[repetitions]\nruns = {runs}\n[independence]\npolicy = \"any\"\n"
    )
}

/// The hosts of all attempts of an experiment; runs that wait have none.
fn hosts(pool: &Pool, experiment: &str) -> Vec<String> {
    pool.rows(experiment).iter().filter_map(|row| row["host"].as_str().map(str::to_owned)).collect()
}

fn standing(pool: &Pool, host: &str) -> Value {
    pool.json(&["hosts", "show", host]).expect("a host")
}

#[test]
fn a_drained_and_a_quarantined_host_get_no_runs_until_they_are_resumed() {
    let pool = Pool::start(SPEEDUP, 3);
    pool.wait_for_hosts(3);
    let (drained, quarantined, other) = (host_id(0), host_id(1), host_id(2));
    pool.ok(&["hosts", "drain", &drained]);
    let reason = "its fan is broken";
    pool.ok(&["hosts", "quarantine", &quarantined, "--reason", reason]);
    let shown = standing(&pool, &quarantined).to_string();
    assert!(shown.contains("quarantined") && shown.contains(reason), "{shown}");

    let experiment = pool.finish(&plan("drained", "", 4));
    pool.ledger(&experiment).assert_exactly_once(8);
    assert!(hosts(&pool, &experiment).iter().all(|host| *host == other), "only one host served");

    for host in [&drained, &quarantined] {
        pool.ok(&["hosts", "resume", host]);
    }
    pool.ok(&["hosts", "drain", &other]);
    let experiment = pool.finish(&plan("resumed", "", 4));
    assert!(hosts(&pool, &experiment).iter().all(|host| *host != other), "the resumed hosts served");
}

#[test]
fn what_stands_survives_a_killed_coordinator_and_unknown_hosts_are_named() {
    let mut pool = Pool::start(SPEEDUP, 1);
    pool.wait_for_hosts(1);
    pool.ok(&["hosts", "drain", &host_id(0)]);
    pool.restart_coordinator();
    let shown = standing(&pool, &host_id(0)).to_string();
    assert!(shown.contains("draining"), "{shown}");
    let words = pool.refused(&["hosts", "drain", "no-such-host"]);
    assert!(words.contains("no-such-host"), "{words}");
}

#[test]
fn the_higher_priority_goes_first() {
    let mut pool = Pool::without_agents(SPEEDUP);
    let low = pool.submit(&plan("low", "priority = -5\n", 3), &["--wait-for-hosts"]);
    let high = pool.submit(&plan("high", "priority = 5\n", 3), &["--wait-for-hosts"]);
    pool.add_agent();
    for experiment in [&low, &high] {
        pool.wait_for(experiment);
    }
    let granted = |experiment: &str| -> Vec<u64> {
        pool.rows(experiment).iter().map(|row| row["granted_ns"].as_u64().expect("a time")).collect()
    };
    let (first_low, last_high) = (granted(&low).into_iter().min(), granted(&high).into_iter().max());
    assert!(last_high < first_low, "{last_high:?} {first_low:?}");
}

/// Two hosts serve a run each, and are taken out of service while the experiment waits for more.
#[test]
fn a_report_tells_which_hosts_were_taken_out_of_service() {
    let mut pool = Pool::start(SPEEDUP, 2);
    pool.wait_for_hosts(2);
    let (drained, quarantined) = (host_id(0), host_id(1));
    let text = plan("excluded", "", 2).replace("\"any\"", "\"distinct\"");
    let experiment = pool.submit(&text, &["--wait-for-hosts"]);
    eventually("both hosts served", || (hosts(&pool, &experiment).len() == 2).then_some(()));
    pool.ok(&["hosts", "drain", &drained]);
    pool.ok(&["hosts", "quarantine", &quarantined, "--reason", "it smells"]);
    pool.ok(&["hosts", "resume", &drained]);
    pool.add_agent();
    pool.add_agent();
    pool.wait_for(&experiment);
    // What happens afterwards is none of its.
    pool.ok(&["hosts", "drain", &host_id(2)]);
    let told = |pool: &Pool| {
        let report = pool.json(&["report", &experiment]).expect("a report");
        let found = report["exclusions"].clone();
        let of = |one: &Value| {
            let texts = ["host", "cause", "reason"].map(|key| one[key].as_str().unwrap_or("").to_owned());
            (texts, one["observations"].as_u64(), one["resumed"].is_string())
        };
        found["hosts"].as_array().expect("hosts").iter().map(of).collect::<Vec<_>>()
    };
    let expected = vec![
        ([drained, "drained".to_owned(), String::new()], Some(1), true),
        ([quarantined, "quarantined".to_owned(), "it smells".to_owned()], Some(1), false),
    ];
    assert_eq!(told(&pool), expected);
    pool.stop_coordinator();
    std::fs::remove_dir_all(pool.data().join("store")).expect("deleted");
    pool.start_coordinator();
    assert_eq!(told(&pool), expected, "the store is rebuilt from the journal");
}

#[test]
fn a_host_is_found_by_a_name_that_no_other_has() {
    let mut pool = Pool::without_agents(SPEEDUP);
    for node in ["node17", "twin", "twin"] {
        pool.add_agent_with(&["--no-selftest", "--node-name", node]);
    }
    pool.wait_for_hosts(3);
    let listed = pool.json(&["hosts", "list"]).expect("a list");
    let names: Vec<&str> =
        listed.as_array().expect("hosts").iter().filter_map(|one| one["host_name"].as_str()).collect();
    assert_eq!(names.iter().filter(|name| **name == "twin").count(), 2, "{listed}");
    let drained = pool.speedup(&["hosts", "drain", "node17"]);
    let said = stderr(&drained);
    assert!(drained.status.success() && said.contains(&format!("host {} (node17)", host_id(0))), "{said}");
    assert_eq!(standing(&pool, &host_id(0))["standing"], "draining");
    assert_eq!(standing(&pool, "node17")["host"], host_id(0));
    pool.ok(&["hosts", "resume", "node17"]);
    let said = pool.refused(&["hosts", "quarantine", "twin", "--reason", "loud"]);
    let (first, second) = (host_id(1), host_id(2));
    assert!(said.contains(&format!("twin: {first}, {second}")), "{said}");
    assert_eq!(standing(&pool, &first)["standing"], "serving");

    let experiment = pool.finish(&plan("named", "", 2));
    for row in pool.rows(&experiment) {
        let name = if row["host"] == host_id(0) { "node17" } else { "twin" };
        assert_eq!(row["host_name"], *name, "{row}");
    }
}
