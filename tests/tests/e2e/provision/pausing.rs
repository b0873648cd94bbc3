//! A plan that cannot be executed is paused, and takes no host from other plans.

use std::fs;

use speedup_tests::{pool::Pool, pool::eventually, pool::host_id};

use crate::SPEEDUP;

const HEAD: &str = "[experiment]\nname = \"paused\"\nseed = 5\n[versions.old]\nbaseline = true\n[versions.new]\n\
    [repetitions]\nruns = 20\n[independence]\npolicy = \"any\"\n";
const HOSTS: usize = 4;

/// Waits until the coordinator has paused an experiment; gives the reason, as `list` says it.
fn paused(pool: &Pool, experiment: &str) -> String {
    eventually("the experiment is paused", || {
        let listed = pool.json(&["list"])?;
        let one = listed.as_array()?.iter().find(|one| one["experiment"] == experiment)?.clone();
        (one["phase"] == "paused").then(|| one["reason"].as_str().expect("a reason").to_owned())
    })
}

/// Asserts that every host serves, and measures another plan.
fn assert_pool_is_whole(pool: &Pool) {
    for host in (0..HOSTS).map(host_id) {
        let shown = pool.json(&["hosts", "show", &host]).expect("a host").to_string();
        assert!(!shown.contains("quarantined"), "{shown}");
    }
    let ledger = pool.measure(&format!("{HEAD}[benchmarks.b]\ncommand = [\"true\"]\n"));
    assert_eq!(ledger.assert_exactly_once(40), 40);
}

/// No host has a directory whose path is as short.
#[test]
fn a_plan_that_insists_on_what_no_host_gives_is_paused_with_the_reason() {
    let pool = Pool::start(SPEEDUP, HOSTS);
    let strict = "[benchmarks.b]\ncommand = [\"true\"]\n[environment]\nstrict = true\ndirectory_bytes = 9\n";
    let experiment = pool.submit(&format!("{HEAD}{strict}"), &[]);
    let reason = paused(&pool, &experiment);
    assert!(reason.starts_with("no host can execute it: "), "{reason}");
    assert!(reason.contains(": directory_bytes"), "{reason}");
    let rows = pool.ledger(&experiment).rows;
    let lost = rows.iter().filter(|row| row["outcome"] == "lost").count();
    assert!((3..=3 * HOSTS).contains(&lost), "bounded by the hosts, not by the runs: {lost}");
    let explained = pool.ok(&["explain", &experiment, "39"]);
    assert!(explained.contains("no host can execute it"), "{explained}");
    assert!(explained.contains("speedup resume"), "{explained}");
    let events = pool.json(&["events", &experiment]).expect("events").to_string();
    assert!(events.contains("no host can execute it"), "{events}");
    assert_pool_is_whole(&pool);
}

#[test]
fn a_shared_file_that_changes_pauses_its_plan_which_goes_on_when_it_is_as_it_was() {
    let pool = Pool::start(SPEEDUP, HOSTS);
    let busy = format!("{HEAD}[benchmarks.b]\ncommand = [\"sleep\", \"0.1\"]\n");
    let busy = pool.submit(&busy.replace("runs = 20", "runs = 60"), &[]);
    let shared = pool.path().join("shared");
    fs::write(&shared, "as it was").expect("a file");
    let file = format!("[files.data]\nshared = \"{}\"\n", shared.display());
    let plan = format!(
        "{HEAD}{file}[benchmarks.b]\ncommand = [\"cat\", \"{{file.data}}\"]\n[limits]\nattempts = 9\n"
    );
    // It waits behind another plan while the file changes.
    let experiment = pool.submit(&plan.replace("[experiment]", "[experiment]\npriority = -1"), &[]);
    fs::write(&shared, "another one").expect("a file");
    pool.wait_for(&busy);
    let reason = paused(&pool, &experiment);
    assert!(reason.contains("is not that of the plan"), "{reason}");
    assert_pool_is_whole(&pool);
    fs::write(&shared, "as it was").expect("a file");
    assert!(pool.speedup(&["resume", &experiment]).status.success());
    pool.wait_for(&experiment);
    assert_eq!(pool.ledger(&experiment).assert_exactly_once(40), 40);
}

/// Whatever a user's programs do to agents, no host is lost to others.
#[test]
fn a_plan_that_kills_its_agents_takes_no_host_away() {
    let mut pool = Pool::start(SPEEDUP, HOSTS);
    let killer = "[benchmarks.b]\nshell = \"kill -9 $PPID\"\n[limits]\nattempts = 2\n";
    let experiment = pool.submit(&format!("{HEAD}{killer}"), &[]);
    let lost = |pool: &Pool| {
        let rows = pool.ledger(&experiment).rows;
        rows.iter().filter(|row| row["outcome"] == "lost").count()
    };
    // Agents come back as services do, until the experiment is paused.
    eventually("nothing of it is given out any more", || {
        for agent in 0..HOSTS {
            if pool.has_ended(agent) {
                pool.start_agent(agent);
            }
        }
        let listed = pool.json(&["list"])?;
        let one = listed.as_array()?.iter().find(|one| one["experiment"] == experiment.as_str())?.clone();
        (one["phase"] == "paused").then_some(())
    });
    let seen = lost(&pool);
    assert!(seen <= 3 * HOSTS + 15, "{seen} attempts");
    let explained = pool.json(&["explain", &experiment]).expect("an explanation");
    let latest = explained["lost"].as_array().expect("the latest lost attempts");
    assert_eq!(latest.len(), seen.min(5), "{explained}");
    let moments: Vec<u64> = latest.iter().filter_map(|lost| lost["at"].as_u64()).collect();
    assert!(moments.len() == latest.len() && moments.is_sorted_by(|a, b| a >= b), "{explained}");
    let told = pool.ok(&["explain", &experiment]);
    let lines = told.split_once("lost attempts:\n").map_or(0, |(_, lines)| lines.trim_end().lines().count());
    assert_eq!(lines, latest.len(), "{told}");
    assert!(told.contains(", on host ") && told.contains(" was lost at "), "{told}");
    (0..HOSTS).for_each(|agent| pool.kill_agent(agent));
    (0..HOSTS).for_each(|agent| pool.start_agent(agent));
    pool.wait_for_hosts(HOSTS);
    assert_pool_is_whole(&pool);
}

#[test]
fn both_visits_of_a_version_are_on_two_hosts() {
    let nested = HEAD.replace("runs = 20", "hosts = 2\nruns = 3");
    let plan = format!("{nested}[benchmarks.b]\ncommand = [\"true\"]\n");
    let mut pool = Pool::start(SPEEDUP, 1);
    let said = pool.refused_plan(&plan, &["submit"]);
    assert!(said.contains("2 different hosts"), "{said}");
    assert!(said.contains("the pool has 1") && said.contains("hint: "), "{said}");
    let experiment = pool.submit(&plan, &["--wait-for-hosts"]);
    let waits = eventually("one visit of each version is measured", || {
        let said = pool.ok(&["explain", &experiment, "11"]);
        said.contains("excluded by `hosts`").then_some(said)
    });
    assert!(waits.contains("     1  excluded by"), "{waits}");
    pool.add_agent();
    pool.wait_for(&experiment);
    let ledger = pool.ledger(&experiment);
    assert_eq!(ledger.assert_exactly_once(12), 12);
    for version in ["old", "new"] {
        let of = ledger.rows.iter().filter(|row| row["version"] == version);
        let mut hosts: Vec<&str> = of.map(|row| row["host"].as_str()).collect();
        hosts.sort_unstable();
        assert_eq!(hosts, ["host-0", "host-0", "host-0", "host-1", "host-1", "host-1"], "{version}");
    }
}

/// What the plan asks for is missing on all hosts of a gang: it is paused as a plan for single hosts is, and no run is spent.
#[test]
fn a_plan_whose_launcher_no_host_has_is_paused_with_the_reason() {
    let pool = Pool::start(SPEEDUP, HOSTS);
    let gang = "[benchmarks.b]\nhosts = 2\nlaunch = [\"no-such-launcher\"]\ncommand = [\"true\"]\n";
    let experiment = pool.submit(&format!("{HEAD}{gang}"), &[]);
    let reason = paused(&pool, &experiment);
    assert!(
        reason.starts_with("no host can execute it: ") && reason.contains("no-such-launcher"),
        "{reason}"
    );
    let rows = pool.ledger(&experiment).rows;
    let lost = rows.iter().filter(|row| row["outcome"] == "lost").count();
    assert!((3..=3 * HOSTS).contains(&lost), "bounded by the hosts, not by the runs: {lost}");
    assert!(rows.iter().all(|row| row["run_state"] != "abandoned"), "{rows:?}");
    assert_pool_is_whole(&pool);
}
