//! What happens to nodes, jobs and the coordinator.
#![expect(clippy::print_stdout, reason = "the figures are printed for whoever asks")]

use speedup_tests::cluster::{AfterNodeFailure, Gate, Plan, SlurmSite, Who};
use speedup_tests::pool::eventually;

use crate::{SPEEDUP, site};

/// One benchmark in two versions, two runs each, which wait until they may go on.
const FOUR: Plan = Plan { benchmarks: 1, runs: 2, timeout: "2m", gate: Gate::Closed };

/// A node loses its power in mid-run. Slurm says `NODE_FAIL`, another node is asked for, and does the run.
#[test]
fn a_node_crashes_in_mid_run() {
    let on = site("distinct", 5);
    on.ask(&[], &["--time=10"]);
    let experiment = on.site.submit(FOUR);
    let (job, host) = on.wait_for_a_run();
    host.crash();
    eventually("Slurm notices", || {
        let remembered = on.slurm.remembered();
        remembered.iter().any(|(id, state, _)| *id == job && state == "NODE_FAIL").then_some(())
    });
    let failed = std::time::Instant::now();
    eventually("its run is lost", || (on.site.lost() > 0).then_some(()));
    println!(
        "a run was lost {:.1} s after Slurm said that its node had failed",
        failed.elapsed().as_secs_f64()
    );
    let explained: Vec<String> = (0..4)
        .map(|run| {
            let said = on.site.pool.speedup(&["explain", "last", &run.to_string()]);
            String::from_utf8_lossy(&said.stdout).into_owned()
        })
        .filter(|said| said.contains("was lost at"))
        .collect();
    println!("{explained:?}");
    // Whichever is noticed first.
    let reasons = ["NODE_FAIL", "unreachable"];
    let tells = |said: &String| said.contains(&host.name()) && reasons.iter().any(|why| said.contains(why));
    assert!(explained.iter().any(tells), "{explained:?}");
    on.site.open_gate();
    let verdict = on.site.finish(&experiment);
    assert!(verdict.lost().any(|row| row.host() == on.site.id_of(host)), "{verdict:?}");
    on.wait_until_given_back();
}

/// The same where Slurm puts the job back into the queue, under the same number.
#[test]
fn a_job_is_put_back_into_the_queue_in_mid_run() {
    let on = SlurmSite::start(SPEEDUP, "reallocated", 2, Who::Nobody, AfterNodeFailure::Requeue);
    on.ask(&["--max-jobs", "1"], &["--time=10", "--requeue"]);
    let experiment = on.site.submit(FOUR);
    let (job, host) = on.wait_for_a_run();
    on.site.forget_begin(host);
    on.slurm.control(&["requeue", &job]);
    eventually("it waits, or runs again", || on.slurm.has_restarted(&job).then_some(()));
    on.slurm.let_start(&job);
    // While Slurm ends the job before it queues it anew, another may have been asked for: the allocation is new either way,
    // and the export is judged by that.
    on.wait_for_a_run();
    on.site.open_gate();
    let verdict = on.site.finish(&experiment);
    assert!(verdict.lost().count() >= 1, "{verdict:?}");
    on.wait_until_given_back();
}

/// A node is drained by who administers Slurm: the run on it ends, and the others do the rest.
#[test]
fn a_node_is_drained() {
    let on = site("any", 2);
    on.ask(&[], &["--time=10"]);
    let experiment = on.site.submit(FOUR);
    let (_, host) = on.wait_for_a_run();
    on.slurm.control(&["update", &format!("NodeName={}", host.name()), "State=DRAIN", "Reason=test"]);
    on.site.open_gate();
    let verdict = on.site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "a drained node ends what it has: {verdict:?}");
    on.wait_until_given_back();
    assert_eq!(on.slurm.node_state(host), "drained");
}

/// Somebody cancels a job in mid-run: another is asked for.
#[test]
fn a_job_is_cancelled_in_mid_run() {
    let on = site("distinct", 5);
    on.ask(&[], &["--time=10"]);
    let experiment = on.site.submit(FOUR);
    let (job, _) = on.wait_for_a_run();
    on.slurm.control(&["update", &format!("JobId={job}"), "TimeLimit=0"]);
    eventually("it is over", || (!on.slurm.jobs().contains(&job)).then_some(()));
    on.site.open_gate();
    on.site.finish(&experiment);
    on.wait_until_given_back();
}

/// The same by `scancel`, of whatever signal reaches the run before its agent: no run has failed.
#[test]
fn scancel_is_no_failure_of_the_benchmark() {
    let on = site("distinct", 7);
    on.ask(&[], &["--time=10"]);
    let experiment = on.site.submit(FOUR);
    let (first, host) = on.wait_for_a_run();
    on.slurm.cancel(&first);
    eventually("it is over", || (!on.slurm.jobs().contains(&first)).then_some(()));
    on.site.forget_begin(host);
    let (second, _) = on.wait_for_a_run();
    on.slurm.cancel(&second);
    eventually("it is over", || (!on.slurm.jobs().contains(&second)).then_some(()));
    on.site.open_gate();
    let verdict = on.site.finish(&experiment);
    assert!(verdict.lost().count() >= 2, "{verdict:?}");
    on.wait_until_given_back();
}

/// The coordinator is killed while jobs run, and runs end while it is away: it knows its jobs again, asks for no node twice,
/// and no run is lost.
#[test]
fn the_coordinator_is_killed_while_jobs_run() {
    let mut on = site("distinct", 6);
    on.ask(&["--max-jobs", "2"], &["--time=10"]);
    let experiment = on.site.submit(FOUR);
    eventually("two nodes have a run", || {
        let running = on.slurm.running();
        let has_begun =
            |(_, node): &(String, String)| on.site.pool.path().join(format!("begun-{node}")).exists();
        (running.len() == 2 && running.iter().all(has_begun)).then_some(())
    });
    let before = on.slurm.jobs();
    on.site.pool.kill_coordinator();
    on.site.open_gate();
    for (_, node) in on.slurm.running() {
        on.site.wait_for_end(on.host(&node));
    }
    on.site.pool.start_coordinator();
    eventually("it knows its jobs", || {
        let shown = on.shown();
        let known: Vec<&str> =
            shown["jobs"].as_array()?.iter().filter_map(|job| job["id"].as_str()).collect();
        before.iter().all(|job| known.contains(&job.as_str())).then_some(())
    });
    let verdict = on.site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    on.wait_until_given_back();
    let given: Vec<_> = on.slurm.remembered().into_iter().filter(|(.., node)| !node.is_empty()).collect();
    assert_eq!(given.len(), 4, "one job a run, none asked for twice: {given:?}");
}

/// A coordinator that ends cancels its jobs; the next start asks for others.
#[test]
fn a_coordinator_that_stops_cancels_its_jobs() {
    let mut on = site("any", 2);
    on.ask(&[], &["--time=10"]);
    let experiment = on.site.submit(FOUR);
    on.wait_for_a_run();
    on.site.pool.stop_coordinator();
    eventually("Slurm has no job of ours", || on.slurm.jobs().is_empty().then_some(()));
    on.site.open_gate();
    on.site.pool.start_coordinator();
    on.site.finish(&experiment);
    let removed = on.site.pool.speedup(&["hosts", "slurm", "remove"]);
    assert!(removed.status.success(), "{}", String::from_utf8_lossy(&removed.stderr));
    eventually("Slurm has no job of ours", || on.slurm.jobs().is_empty().then_some(()));
    assert_eq!(on.shown(), serde_json::Value::Null);
}

/// Somebody with higher priority takes the nodes again and again. That costs runs that have one attempt nothing, and Slurm's word says
/// what happened.
#[test]
fn preemption_costs_no_attempt() {
    let on = site("any", 2);
    on.ask(&[], &["--time=10", "--partition=main"]);
    let text = on.site.plan(FOUR).replace("attempts = 10", "attempts = 1");
    let experiment = on.site.pool.submit(&text, &[]);
    let urgent = on.site.pool.path().join("urgent.sh");
    std::fs::write(&urgent, "#!/bin/sh\nexec sleep 600\n").expect("a script");
    for times in 1..=2 {
        on.wait_for_a_run();
        let options = ["--partition=urgent", "--nodes=2", "--exclusive", "--output=/dev/null"];
        let job = on.batch(&options, &urgent, &[]);
        eventually("the runs are lost", || (on.site.lost() >= times).then_some(()));
        for host in &on.site.hosts {
            if on.site.has_begun(host) {
                on.site.forget_begin(host);
            }
        }
        on.slurm.cancel(&job);
    }
    let told = on.site.pool.speedup(&["explain", "last"]);
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("PREEMPTED"), "{told}");
    on.site.open_gate();
    eventually("it finishes", || on.site.pool.is_finished(&experiment).then_some(()));
    let export = on.site.pool.export_as("jsonl", &experiment);
    let rows: Vec<serde_json::Value> =
        export.lines().map(|line| serde_json::from_str(line).expect("a row")).collect();
    assert_eq!(rows.iter().filter(|row| row["counts"] == true).count(), 4, "all are measured: {export}");
    let lost: Vec<_> = rows.iter().filter(|row| !row["loss"].is_null()).collect();
    assert!(lost.len() >= 2 && lost.iter().all(|row| row["loss"] == "job_ended"), "{lost:?}");
    on.wait_until_given_back();
}
