//! Backups of a coordinator under load, restored: what was acknowledged is there, and nothing else.

use std::collections::BTreeMap;

use speedup_tests::{ledger::Ledger, ledger::Row, pool::Pool, pool::eventually};

use crate::SPEEDUP;

const PLAN: &str = "[experiment]\nname = \"backup\"\nseed = 1\n[versions.old]\nbaseline = true\n[versions.new]\n\
    [benchmarks.nap]\ncommand = [\"sleep\", \"0.01\"]\ntimeout = \"10s\"\n[repetitions]\nruns = 300\n\
    [independence]\npolicy = \"any\"\n";

/// The measured rows, by run.
fn measured(ledger: &Ledger) -> BTreeMap<String, Row> {
    let rows = ledger.rows.iter().filter(|row| row["outcome"] == "measured");
    rows.map(|row| (row["run"].clone(), row.clone())).collect()
}

#[test]
fn a_restored_coordinator_has_what_was_acknowledged_before_the_backup_and_goes_on() {
    let mut pool = Pool::start(SPEEDUP, 3);
    let experiment = pool.submit(PLAN, &[]);
    eventually("some runs are over", || (measured(&pool.ledger(&experiment)).len() > 20).then_some(()));
    let before = measured(&pool.ledger(&experiment));
    let (data, backup) =
        (pool.data().display().to_string(), pool.path().join("backup").display().to_string());
    let saved = pool.speedup(&["coordinator", "backup", &backup, "--data", &data]);
    assert!(saved.status.success(), "{}", String::from_utf8_lossy(&saved.stderr));
    pool.wait_for(&experiment);
    let after = measured(&pool.ledger(&experiment));
    (0..3).for_each(|agent| pool.stop_agent(agent));
    pool.stop_coordinator();

    std::fs::rename(pool.data(), pool.path().join("lost")).expect("another name");
    let restored = pool.speedup(&["coordinator", "restore", &backup, "--data", &data]);
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    pool.start_coordinator();
    let there = measured(&pool.ledger(&experiment));
    assert!(before.len() <= there.len() && there.len() < after.len(), "{} runs are there", there.len());
    for (run, row) in &before {
        assert_eq!(there.get(run), Some(row), "acknowledged before the backup");
    }
    for (run, row) in &there {
        assert_eq!(after.get(run), Some(row), "never anything else than what was recorded");
    }
    // The agents are let in as before, and what was lost is measured again.
    (0..3).for_each(|agent| pool.start_agent(agent));
    pool.wait_for(&experiment);
    let again = pool.ledger(&experiment);
    assert_eq!(again.assert_exactly_once(600), 600);
    again.assert_leases_are_unique();
}
