//! Runs on several nodes: one job for each, an agent on each of its nodes, and ranks that srun starts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use speedup_tests::{cluster::SlurmSite, ledger::Ledger, pool::eventually};

use crate::site;

/// Two runs of each of two versions of a program, on three nodes with two ranks each, whose number stands in the command.
fn plan(policy: &str, program: &str) -> String {
    format!(
        "[experiment]\nname = \"mpi\"\nseed = 1\n[versions.old]\nbaseline = true\n[versions.new]\n\
         [benchmarks.solve]\nhosts = 3\nranks_per_host = 2\nlauncher = \"srun\"\ntime_ranks = true\ntimeout = \"60s\"\n\
         shell = '{program}'\n\
         [repetitions]\nruns = 2\n[independence]\npolicy = \"{policy}\"\n[limits]\nattempts = 10\n\
         [output]\nkeep_of = \"all\"\n"
    )
}

/// The export of a finished experiment, in which all four runs are measured once.
fn finished(on: &SlurmSite, experiment: &str) -> Ledger {
    eventually("the experiment finishes", || on.site.pool.is_finished(experiment).then_some(()));
    let export = on.site.pool.export(experiment);
    let ledger = Ledger::read(&export);
    let whole = || on.site.pool.export_as("jsonl", experiment);
    assert_eq!(ledger.assert_exactly_once(4), 4, "every run is measured: {}", whole());
    ledger
}

/// The rows of an export of each rank.
fn ranks(on: &SlurmSite, experiment: &str) -> Vec<Value> {
    let words = ["export", experiment, "--format", "jsonl", "--per", "rank"];
    let output = on.site.pool.speedup(&words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let rows = text.lines().map(|line| serde_json::from_str(line).expect("a row"));
    rows.filter(|row: &Value| row["why_not"] == "rank").collect()
}

/// Six ranks on three nodes sleep from 0.2 to 1.2 seconds: each has its time, on the node where it was.
#[test]
fn srun_starts_ranks_on_the_nodes_of_one_job() {
    let on = site("reallocated", 6);
    on.ask(&[], &["--time=10"]);
    let program = "sleep $(echo 0.2 0.4 0.6 0.8 1.0 1.2 | cut -d \" \" -f $(({rank} + 1)))";
    let experiment = on.site.pool.submit(&plan("reallocated", program), &[]);
    let ledger = finished(&on, &experiment);
    let gangs: BTreeSet<&String> = ledger.rows.iter().map(|row| &row["gang"]).collect();
    assert!(gangs.iter().all(|gang| gang.split(' ').count() == 3), "the export names the hosts: {gangs:?}");
    on.wait_until_given_back();
    let jobs = on.slurm.remembered();
    assert!(jobs.len() >= 4, "each run has a job of its own: {jobs:?}");
    assert!(
        jobs.iter().all(|(_, _, nodes)| nodes.is_empty() || nodes.contains('[')),
        "of several nodes: {jobs:?}"
    );

    let mut times = BTreeMap::<(u64, u64), (String, u64)>::new();
    for row in ranks(&on, &experiment) {
        let number = |name: &str| row[name].as_u64().unwrap_or_else(|| panic!("{name} in {row}"));
        assert_eq!(number("rank_exit"), 0, "{row}");
        assert!(row["switches"].as_str().is_some_and(|path| path.starts_with("core.leaf")), "{row}");
        assert!(row["switches"].as_str().is_some_and(|path| path.starts_with("core.leaf")), "{row}");
        let host = row["host"].as_str().expect("a host").to_owned();
        let before = times.insert((number("run"), number("rank")), (host, number("rank_wall_ns")));
        assert_eq!(before, None, "one row a rank");
    }
    assert_eq!(times.len(), 4 * 6, "{times:?}");
    for ((run, rank), (host, wall_ns)) in &times {
        assert!(*wall_ns >= 200_000_000 * (rank + 1), "rank {rank} of run {run} took {wall_ns} ns");
        assert_eq!(*host, times[&(*run, rank ^ 1)].0, "two ranks are on one node");
    }
}

/// A node loses its power in mid-run: its job has failed, and the run is done by another one.
#[test]
fn a_node_of_three_crashes_in_mid_run() {
    let on = site("distinct", 18);
    on.ask(&[], &["--time=10"]);
    let directory = on.site.pool.path().display().to_string();
    let program =
        format!("echo > {directory}/begun-{{rank}}; until [ -e {directory}/go ]; do sleep 0.05; done");
    let experiment = on.site.pool.submit(&plan("distinct", &program), &[]);
    let has_begun = |rank: u32| on.site.pool.path().join(format!("begun-{rank}")).exists();
    eventually("all ranks begin", || (0..6).all(has_begun).then_some(()));
    let rows = eventually("a run has hosts", || on.site.pool.json(&["hosts", "list"]));
    let busy = rows.as_array().expect("hosts").iter().find(|host| !host["lease"].is_null());
    let id = busy.and_then(|host| host["host"].as_str()).expect("a host with a lease");
    on.host(id.trim_start_matches("speedup:")).crash();
    eventually("the attempt is lost", || on.site.pool.export(&experiment).contains("lost").then_some(()));
    std::fs::write(on.site.pool.path().join("go"), "").expect("a gate");
    let ledger = finished(&on, &experiment);
    let mut served = BTreeSet::new();
    for row in ledger.rows.iter().filter(|row| row["counts"] == "true") {
        row["gang"].split(' ').for_each(|host| assert!(served.insert(host.to_owned()), "{host} is used"));
    }
    on.wait_until_given_back();
}

/// An experiment that is cancelled in mid-run leaves no job and no process.
#[test]
fn a_cancelled_run_leaves_nothing() {
    let on = site("any", 3);
    on.ask(&[], &["--time=10"]);
    let directory = on.site.pool.path().display().to_string();
    let program = format!("echo > {directory}/begun-{{rank}}; exec sleep 31");
    let experiment = on.site.pool.submit(&plan("any", &program), &[]);
    let has_begun = |rank: u32| on.site.pool.path().join(format!("begun-{rank}")).exists();
    eventually("all ranks begin", || (0..6).all(has_begun).then_some(()));
    let cancelled = on.site.pool.speedup(&["cancel", &experiment]);
    assert!(cancelled.status.success(), "{}", String::from_utf8_lossy(&cancelled.stderr));
    eventually("it is finished", || on.site.pool.is_finished(&experiment).then_some(()));
    on.wait_until_given_back();
    for host in &on.site.hosts {
        assert!(!host.succeeds("pgrep -xf 'sleep 31'"), "{} has what was left behind", host.name());
    }
}
