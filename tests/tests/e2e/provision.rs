//! Hosts that come and go by themselves: agents as processes of this machine, by the same code that asks Slurm.

use serde_json::Value;
use speedup_tests::checker;
use speedup_tests::pool::{Pool, eventually};

use crate::SPEEDUP;

const PLAN: &str = "[experiment]\nname = \"local\"\nseed = 5\n[versions.old]\nbaseline = true\n[versions.new]\n\
                    [benchmarks.true]\ncommand = [\"true\"]\n[repetitions]\nruns = 2\n\
                    [independence]\npolicy = \"distinct\"\n[output]\nkeep_of = \"all\"\n";

fn shown(pool: &Pool) -> Value {
    eventually("the coordinator tells", || pool.json(&["hosts", "local", "show"]))
}

fn add(pool: &Pool) {
    let added = pool.speedup(&["hosts", "local", "add", "--max-jobs", "2", "--poll", "1s"]);
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
}

#[test]
fn agents_start_when_a_plan_needs_them_and_end_when_none_does() {
    let pool = Pool::without_agents(SPEEDUP);
    add(&pool);
    let experiment = pool.submit(PLAN, &[]);
    eventually("the experiment finishes", || pool.is_finished(&experiment).then_some(()));
    let verdict = checker::check(PLAN, &pool.export_as("jsonl", &experiment));
    verdict.assert_ok();
    assert_eq!((verdict.counting(), verdict.lost().count()), (4, 0), "{verdict:?}");
    eventually("all agents end", || shown(&pool)["jobs"].as_array()?.is_empty().then_some(()));
    let removed = pool.speedup(&["hosts", "local", "remove"]);
    assert!(removed.status.success(), "{}", String::from_utf8_lossy(&removed.stderr));
    assert_eq!(shown(&pool), Value::Null);
}

#[test]
fn a_coordinator_that_is_started_anew_goes_on_asking() {
    let mut pool = Pool::without_agents(SPEEDUP);
    add(&pool);
    pool.kill_coordinator();
    pool.start_coordinator();
    assert_eq!(shown(&pool)["max_jobs"], 2);
    let experiment = pool.submit(PLAN, &[]);
    eventually("the experiment finishes", || pool.is_finished(&experiment).then_some(()));
    pool.stop_coordinator();
    pool.start_coordinator();
    assert_eq!(shown(&pool)["engine"], "local", "it stays until it is removed");
}

#[test]
fn slurm_is_not_asked_where_no_node_could_reach_the_coordinator() {
    let pool = Pool::without_agents(SPEEDUP);
    let refused = pool.speedup(&["hosts", "slurm", "add", "--", "--time=10"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("where no other host can reach it"), "{said}");
    assert_eq!(shown(&pool), Value::Null);
}
