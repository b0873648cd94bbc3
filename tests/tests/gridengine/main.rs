//! Hosts from a real Grid Engine, over simulated hosts, through the recipe that users copy: the engine that is described by a file.
//! What was measured is judged by the checker, from the export alone.
//!
//! It wants what the tests over simulated hosts want, and Grid Engine. There is one a machine, so the tests take turns:
//!
//!     cargo test -p speedup-tests --test gridengine -- --test-threads=1

use std::collections::BTreeSet;

use speedup_tests::checker::Row;
use speedup_tests::cluster::{Gate, GridEngineSite, Plan, gridengine};
use speedup_tests::pool::eventually;

/// The command under test.
const SPEEDUP: &str = env!("CARGO_BIN_EXE_speedup-under-test");
/// One benchmark in two versions, two runs each.
const FOUR: Plan = Plan { benchmarks: 1, runs: 2, timeout: "2m", gate: Gate::Open };

/// Two hosts at a time for four runs that want four: used ones are excluded, and all are given back at the end.
#[test]
fn hosts_come_and_go_as_a_plan_needs_them() {
    let on = GridEngineSite::start(SPEEDUP, "distinct", 4);
    on.ask(&["--max-jobs", "2"], &[]);
    assert_eq!(
        gridengine::jobs(),
        [""; 0],
        "nothing is asked for before a plan needs it, and the trial is gone"
    );
    let experiment = on.site.submit(Plan { gate: Gate::Closed, ..FOUR });
    let (job, _) = on.wait_for_a_run();
    assert!(gridengine::told(&job).contains("exclusive=true"), "a host for itself");
    assert!(gridengine::jobs().len() <= 2, "no more than allowed");
    on.site.open_gate();
    let verdict = on.site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    let hosts: BTreeSet<&str> = verdict.rows.iter().map(Row::host).collect();
    assert_eq!(hosts.len(), 4, "each run on a host of its own: {hosts:?}");
    on.wait_until_given_back();
    let shown = on.shown();
    assert_eq!((shown["queue"].as_str(), shown["stopped"].is_null()), (Some("gridengine"), true), "{shown}");
    let removed = on.site.pool.speedup(&["hosts", "batch", "remove"]);
    assert!(removed.status.success(), "{}", String::from_utf8_lossy(&removed.stderr));
}

/// What Grid Engine refuses is refused at once, in its own words, and nothing is asked for.
#[test]
fn wrong_options_fail_at_once() {
    let on = GridEngineSite::start(SPEEDUP, "any", 1);
    let output = on.try_to_ask(&[], &["-q", "nope"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("unknown queue \"nope\""), "{said}");
    assert!(on.shown().is_null());
    let output = on.try_to_ask(&["--dry-run"], &["-q", "main"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.starts_with("qsub ") && said.contains("agent start") && said.contains("-q main"), "{said}");
    assert_eq!(gridengine::jobs(), [""; 0]);
}

/// Lines before and after the agent and a command in front of it are executed on the host, also when the job is ended.
#[test]
fn what_surrounds_the_agent_is_executed() {
    let on = GridEngineSite::start(SPEEDUP, "any", 1);
    let pool = &on.site.pool;
    let notes = pool.path().join("notes");
    let (before, after) = (pool.path().join("before"), pool.path().join("after"));
    let note = |what: &str| format!("echo {what} $(hostname) $WRAPPED >> {}\n", notes.display());
    std::fs::write(&before, note("before")).expect("a prologue");
    std::fs::write(&after, note("after")).expect("an epilogue");
    let (before, after) = (before.display().to_string(), after.display().to_string());
    let wrap = format!("sh -c 'echo wrapped >> {}; exec \"$@\"' sh", notes.display());
    on.ask(&["--prologue", &before, "--epilogue", &after, "--wrap", &wrap], &[]);
    let experiment = on.site.submit(Plan { runs: 1, ..FOUR });
    on.site.finish(&experiment);
    on.wait_until_given_back();
    let noted = eventually("all is noted", || {
        let noted = std::fs::read_to_string(&notes).ok()?;
        noted.contains("after").then_some(noted)
    });
    let host = on.site.hosts[0].name();
    assert!(noted.starts_with(&format!("before {host}\nwrapped\nafter {host}\n")), "{noted}");
}

/// A job is deleted in mid-run: its run is retried in another.
#[test]
fn a_job_is_deleted_in_mid_run() {
    let on = GridEngineSite::start(SPEEDUP, "distinct", 5);
    on.ask(&[], &[]);
    let experiment = on.site.submit(Plan { gate: Gate::Closed, ..FOUR });
    let (job, _) = on.wait_for_a_run();
    gridengine::delete(&job);
    eventually("it is over", || (!gridengine::jobs().contains(&job)).then_some(()));
    on.site.open_gate();
    let verdict = on.site.finish(&experiment);
    assert!(verdict.lost().count() >= 1, "{verdict:?}");
    on.wait_until_given_back();
}

/// A coordinator that is killed knows its jobs again, and no run is lost; one that stops deletes them. A queue of processes beside
/// this one keeps its own.
#[test]
fn a_coordinator_is_killed_and_stops() {
    let mut on = GridEngineSite::start(SPEEDUP, "any", 2);
    on.ask(&["--max-jobs", "1"], &[]);
    let experiment = on.site.submit(Plan { gate: Gate::Closed, ..FOUR });
    let (job, _) = on.wait_for_a_run();
    on.site.pool.kill_coordinator();
    on.site.pool.start_coordinator();
    eventually("it knows its job", || {
        let shown = on.shown();
        let id = format!("gridengine:{job}");
        shown["jobs"].as_array()?.iter().any(|known| known["id"] == id.as_str()).then_some(())
    });
    assert_eq!(gridengine::jobs(), [job], "none is asked for twice");
    on.site.open_gate();
    let verdict = on.site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    on.site.submit(Plan { gate: Gate::Closed, ..FOUR });
    eventually("a job is there", || (!gridengine::jobs().is_empty()).then_some(()));
    on.site.pool.stop_coordinator();
    eventually("Grid Engine has no job of ours", || gridengine::jobs().is_empty().then_some(()));
    on.site.open_gate();
}
