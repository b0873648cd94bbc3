//! kill -9 of the coordinator and of agents at random moments: at the end the export holds each planned run once.

use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use speedup_core::value::seed::{Seed, below};
use speedup_tests::{pool::Pool, pool::eventually};

use crate::SPEEDUP;

/// Kills before the experiment is left to end in peace.
const KILLS: usize = 12;

fn plan(policy: &str, benchmarks: usize, runs: usize) -> String {
    let benchmark = |number| {
        format!("[benchmarks.b{number}]\ncommand = [\"sleep\", \"0.0{number}\"]\ntimeout = \"10s\"\n")
    };
    let benchmarks: String = (1..=benchmarks).map(benchmark).collect();
    format!(
        "[experiment]\nname = \"crash\"\nseed = 1\n[versions.old]\nbaseline = true\n[versions.new]\n{benchmarks}\
         [repetitions]\nruns = {runs}\n[independence]\npolicy = \"{policy}\"\n[limits]\nattempts = 50\n"
    )
}

/// Kills the coordinator or an agent and starts it again, at a moment and with a victim drawn from the seed.
fn strike(pool: &mut Pool, random: &mut ChaCha8Rng) {
    std::thread::park_timeout(Duration::from_millis(below(300, random)));
    match below(3, random) {
        0 => {
            pool.restart_coordinator();
        }
        _ => {
            let victim = below(pool.agents() as u64, random) as usize;
            pool.kill_agent(victim);
            pool.start_agent(victim);
        }
    }
}

#[test]
fn each_planned_run_is_there_once_after_many_kills() {
    let mut pool = Pool::start(SPEEDUP, 4);
    let experiment = pool.submit(&plan("any", 5, 40), &[]);
    let random = &mut Seed(20_261_120).child("kills");
    (0..KILLS).for_each(|_| strike(&mut pool, random));
    pool.wait_for(&experiment);
    let ledger = pool.ledger(&experiment);
    assert_eq!(ledger.assert_exactly_once(400), 400, "every run is measured");
    ledger.assert_leases_are_unique();
    let lost = ledger.rows.iter().filter(|row| row["outcome"] == "lost").count();
    assert!(lost > 0, "some kill hit a run");
}

#[test]
fn hosts_stay_fresh_when_agents_die() {
    let mut pool = Pool::start(SPEEDUP, 8);
    let experiment = pool.submit(&plan("distinct", 4, 4), &[]);
    let random = &mut Seed(7).child("kills");
    (0..4).for_each(|_| strike(&mut pool, random));
    // An attempt that was lost has used its host up: others have to come.
    eventually("the experiment finishes", || {
        if pool.is_finished(&experiment) {
            return Some(());
        }
        let waits_in_vain =
            pool.json(&["hosts", "list"])?.as_array()?.iter().all(|host| host["lease"].is_null());
        if waits_in_vain && pool.agents() < 40 {
            pool.add_agent();
        }
        None
    });
    let ledger = pool.ledger(&experiment);
    assert_eq!(ledger.assert_exactly_once(32), 32, "every run is measured");
    ledger.assert_fresh(|row| row["benchmark"].clone());
}

#[test]
fn a_report_survives_the_death_of_both_sides() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let [begun, go, ended] = ["begun", "go", "ended"].map(|name| pool.path().join(name));
    let program = format!(
        "touch {}; until [ -e {} ]; do sleep 0.01; done; touch {}",
        begun.display(),
        go.display(),
        ended.display()
    );
    let plan =
        plan("any", 1, 1).replace("command = [\"sleep\", \"0.01\"]", &format!("shell = \"{program}\""));
    let experiment = pool.submit(&plan, &[]);
    eventually("a run is under way", || begun.exists().then_some(()));
    let outbox = pool.agent_state(0).join("outbox");
    let before = kept(&outbox);
    // The run ends while nobody listens; then the agent dies as well.
    pool.kill_coordinator();
    std::fs::write(&go, "").expect("a file");
    eventually("the run ends", || ended.exists().then_some(()));
    eventually("the report is kept", || (kept(&outbox) != before).then_some(()));
    pool.kill_agent(0);
    pool.start_coordinator();
    pool.start_agent(0);
    pool.wait_for(&experiment);
    pool.ledger(&experiment).assert_exactly_once(2);
}

/// All that the files of a directory hold.
fn kept(directory: &std::path::Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(directory).expect("a directory").flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files.into_iter().filter_map(|file| std::fs::read(file).ok()).collect()
}
