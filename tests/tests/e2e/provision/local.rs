//! Hosts that come and go by themselves: agents as processes of this machine, by the same code that asks Slurm.

use serde_json::Value;
use speedup_tests::{
    checker, output::failed, output::stderr, output::succeeded, pool::Pool, pool::eventually,
};

use crate::SPEEDUP;

const PLAN: &str = "[experiment]\nname = \"local\"\nseed = 5\n[versions.old]\nbaseline = true\n[versions.new]\n\
                    [benchmarks.true]\ncommand = [\"true\"]\n[repetitions]\nruns = 2\n\
                    [independence]\npolicy = \"distinct\"\n[output]\nkeep_of = \"all\"\n";

/// The first queue, or nothing.
fn shown(pool: &Pool) -> Value {
    queues(pool)[0].clone()
}

fn queues(pool: &Pool) -> Value {
    eventually("the coordinator tells", || pool.json(&["hosts", "local", "show"]))
}

fn add(pool: &Pool) {
    pool.ok(&["hosts", "local", "add", "--max-jobs", "2", "--poll", "1s"]);
}

#[test]
fn agents_start_when_a_plan_needs_them_and_end_when_none_does() {
    let pool = Pool::without_agents(SPEEDUP);
    add(&pool);
    let experiment = pool.finish(PLAN);
    let verdict = checker::check(PLAN, &pool.export_as("jsonl", &experiment));
    verdict.assert_ok();
    assert_eq!((verdict.counting(), verdict.lost().count()), (4, 0), "{verdict:?}");
    eventually("all agents end", || shown(&pool)["jobs"].as_array()?.is_empty().then_some(()));
    pool.ok(&["hosts", "local", "remove"]);
    assert_eq!(shown(&pool), Value::Null);
}

#[test]
fn a_coordinator_that_is_started_anew_goes_on_asking() {
    let mut pool = Pool::without_agents(SPEEDUP);
    add(&pool);
    pool.restart_coordinator();
    assert_eq!(shown(&pool)["max_jobs"], 2);
    pool.finish(PLAN);
    pool.stop_coordinator();
    pool.start_coordinator();
    assert_eq!(shown(&pool)["engine"], "local", "it stays until it is removed");
}

#[test]
fn a_name_that_resolves_nowhere_keeps_no_command_and_no_agent_of_this_machine_away() {
    let mut pool = Pool::without_agents(SPEEDUP);
    pool.stop_coordinator();
    pool.advertise("no-such-name.invalid");
    pool.start_coordinator();
    // The access file has the name, for others, and this machine's way.
    let mut list = pool.command();
    succeeded(&list.args(["list"]).env_remove("SPEEDUP_COORDINATOR").output().expect("a command"));
    let access = std::fs::read_to_string(pool.access_file()).expect("an access file");
    assert!(access.contains("https://no-such-name.invalid:"), "it is for others as well");
    add(&pool);
    pool.finish(PLAN);
}

#[test]
fn an_agent_of_a_job_leaves_word_where_it_cannot_reach_the_coordinator() {
    let pool = Pool::without_agents(SPEEDUP);
    let state = pool.path().join("of-a-job");
    let mut agent = pool.command();
    agent.args(["agent", "start", "--no-selftest", "--coordinator", "https://no-such-name.invalid:7077"]);
    agent.args(["--host-id", "n1", "--node-name", "n1", "--job-id", "17"]).arg("--state").arg(&state);
    let mut agent = agent.stderr(std::process::Stdio::null()).spawn().expect("an agent");
    let left = eventually("it leaves word", || std::fs::read_to_string(state.join("unreached.json")).ok());
    agent.kill().and_then(|()| agent.wait()).expect("its end");
    let left: Value = serde_json::from_str(&left).expect("JSON");
    assert_eq!(left["job"], "17");
    let reason = left["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("https://no-such-name.invalid:7077: ") && reason.contains("dns"), "{reason}");
}

#[test]
fn several_queues_share_what_a_plan_needs() {
    let mut pool = Pool::without_agents(SPEEDUP);
    for name in ["left", "right"] {
        pool.ok(&["hosts", "local", "add", "--name", name, "--max-jobs", "1", "--poll", "1s"]);
    }
    pool.restart_coordinator();
    let names: Vec<Value> = (0..2).map(|at| queues(&pool)[at]["queue"].clone()).collect();
    assert_eq!(names, ["left", "right"]);
    // Each gives one host at a time, and hosts that have served are of no more use: only new places serve the plan.
    let experiment = pool.finish(PLAN);
    let verdict = checker::check(PLAN, &pool.export_as("jsonl", &experiment));
    verdict.assert_ok();
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    let of = |prefix: &str| verdict.rows.iter().filter(|row| row.host().starts_with(prefix)).count();
    assert_eq!(of("local-left-") + of("local-right-"), 4, "{verdict:?}");
    assert!(of("local-left-") > 0 && of("local-right-") > 0, "{verdict:?}");
    let several = pool.speedup(&["hosts", "local", "remove"]);
    assert!(!several.status.success() && stderr(&several).contains(": left, right"), "{several:?}");
    let unknown = pool.speedup(&["hosts", "local", "show", "middle"]);
    assert!(!unknown.status.success(), "{unknown:?}");
    assert!(stderr(&unknown).contains("there is no queue middle"), "{unknown:?}");
    assert!(pool.speedup(&["hosts", "local", "remove", "left"]).status.success());
    assert_eq!((shown(&pool)["queue"].clone(), queues(&pool)[1].clone()), ("right".into(), Value::Null));
}

#[test]
fn slurm_is_not_asked_where_no_node_could_reach_the_coordinator() {
    let pool = Pool::without_agents(SPEEDUP);
    let refused = pool.speedup(&["hosts", "slurm", "add", "--", "--time=10"]);
    assert!(!refused.status.success() && stderr(&refused).contains("no other host"), "{refused:?}");
    assert_eq!(shown(&pool), Value::Null);
}

#[test]
fn whoever_waits_for_hosts_of_a_stopped_queue_is_told_why_and_ends() {
    let pool = Pool::without_agents(SPEEDUP);
    // The budget is spent while the first runs are executed.
    pool.ok(&["hosts", "local", "add", "--max-jobs", "1", "--poll", "1s", "--node-hours", "0.000001"]);
    let experiment = pool.submit(PLAN, &["--wait-for-hosts"]);
    let spent = || shown(&pool)["stopped"].as_str().map(str::to_owned);
    let why = eventually("the queue has stopped", spent);
    let listed = stderr(&pool.speedup(&["list"]));
    assert!(listed.contains("warning: a queue requests no hosts"), "{listed}");
    for verb in ["wait", "watch"] {
        let told = failed(&pool.speedup(&[verb, &experiment]), 4);
        assert!(told.contains(&why) && told.contains("--wait-for-hosts"), "{verb}: {told}");
    }
    let mut patient = pool.command();
    let patient = patient.args(["wait", &experiment, "--wait-for-hosts"]).spawn().expect("a waiter");
    pool.ok(&["hosts", "local", "add", "--max-jobs", "2", "--poll", "1s"]);
    succeeded(&patient.wait_with_output().expect("its end"));
}
