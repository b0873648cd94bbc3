//! What the coordinator has cancelled itself, and what Slurm has forgotten, is no failed job.

use speedup_tests::{cluster::Gate, cluster::Plan, pool::eventually};

use crate::site;

/// One benchmark in two versions, three runs each.
const SIX: Plan = Plan { benchmarks: 1, runs: 3, timeout: "1m", gate: Gate::Open };

/// A queue is put in the place of one of its name while the jobs of that one start, five times: what was cancelled for that is held against
/// nobody.
#[test]
fn a_queue_is_replaced_while_its_jobs_start() {
    let on = site("any", 3);
    on.ask(&["--name", "q"], &["--time=10"]);
    let experiment = on.site.submit(Plan { gate: Gate::Closed, ..SIX });
    for _ in 0..5 {
        eventually("jobs are requested", || (!on.slurm.jobs().is_empty()).then_some(()));
        on.ask(&["--name", "q"], &["--time=10"]);
        let shown = on.shown();
        assert!(shown["stopped"].is_null() && shown["failures_in_a_row"] == 0, "{shown}");
    }
    on.site.open_gate();
    on.site.finish(&experiment);
    on.wait_until_given_back();
    let shown = on.shown();
    assert!(shown["stopped"].is_null() && shown["unjoined"].is_null(), "{shown}");
    assert_eq!(shown["refused"], serde_json::json!({}), "no node is left out: {shown}");
}

/// The controller of Slurm is killed before it has written down the jobs that were requested. Others are requested, and the plan goes on.
#[test]
fn slurm_forgets_jobs_that_wait() {
    let on = site("distinct", 6);
    on.slurm.control(&["update", "PartitionName=main", "State=DOWN"]);
    on.ask(&[], &["--time=10"]);
    let experiment = on.site.submit(SIX);
    for _ in 0..2 {
        eventually("six jobs wait", || (on.slurm.jobs().len() == 6).then_some(()));
        on.slurm.kill_controller();
        on.slurm.start_forgetful_controller();
        on.slurm.control(&["update", "PartitionName=main", "State=DOWN"]);
    }
    eventually("six others wait", || (on.slurm.jobs().len() == 6).then_some(()));
    let shown = on.shown();
    assert!(shown["unjoined"].as_str().is_some_and(|words| words.contains("no longer knows")), "{shown}");
    on.slurm.control(&["update", "PartitionName=main", "State=UP"]);
    let verdict = on.site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    on.wait_until_given_back();
    let shown = on.shown();
    assert!(shown["stopped"].is_null() && shown["failures_in_a_row"] == 0, "{shown}");
}

/// Somebody cancels one job after another before they start: others are requested after longer and longer pauses, and none for ever.
#[test]
fn jobs_that_somebody_cancels_again_and_again_stop_the_asking() {
    let on = site("any", 1);
    on.slurm.control(&["update", "PartitionName=main", "State=DOWN"]);
    on.ask(&["--max-jobs", "1"], &["--time=10"]);
    on.site.submit(SIX);
    let why = eventually("no more are requested", || {
        on.slurm.jobs().iter().for_each(|job| on.slurm.cancel(job));
        Some(on.shown()["stopped"].as_str()?.to_owned())
    });
    assert!(why.starts_with("5 times in a row") && why.contains("CANCELLED"), "{why}");
    assert_eq!(on.shown()["refused"], serde_json::json!({}));
}

/// A trial job that a coordinator has left in Slurm when it was killed is cancelled by its next start.
#[test]
fn a_trial_that_was_left_is_cancelled_at_the_next_start() {
    let mut on = site("any", 1);
    on.ask(&[], &["--time=10"]);
    on.site.pool.kill_coordinator();
    let place = eventually("the files of agents", || {
        let found =
            std::process::Command::new("find").arg(on.site.pool.path()).args(["-name", "*-trial"]).output();
        let found = String::from_utf8(found.ok()?.stdout).ok()?;
        found.lines().next().map(std::path::PathBuf::from)
    });
    let name = place.file_name().and_then(|name| name.to_str()).expect("the name of the trial").to_owned();
    // The controller was killed as well, and knows of no end of the trial.
    let script = on.site.pool.path().join("held.sh");
    std::fs::write(&script, "#!/bin/sh\n").expect("a script");
    on.batch(&["--hold", "--job-name", &name], &script, &[]);
    assert_eq!(on.slurm.jobs().len(), 1);
    on.site.pool.start_coordinator();
    eventually("it is cancelled", || on.slurm.jobs().is_empty().then_some(()));
}
