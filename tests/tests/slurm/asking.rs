//! Asking for nodes and giving them back.
#![expect(clippy::print_stdout, reason = "the figures are printed for whoever asks")]

use std::collections::BTreeSet;

use speedup_tests::checker::Row;
use speedup_tests::cluster::{AfterNodeFailure, Gate, Plan, SlurmSite, Who};
use speedup_tests::pool::eventually;

use crate::{SPEEDUP, site};

/// One benchmark in two versions, three runs each.
const SIX: Plan = Plan { benchmarks: 1, runs: 3, timeout: "1m", gate: Gate::Open };

/// From a copied binary to a report, as a user does who may do nothing special: the coordinator runs, and three commands.
#[test]
fn a_report_in_three_commands() {
    let on = site("distinct", 6);
    let pool = &on.site.pool;
    let added = pool.speedup(&["hosts", "slurm", "add", "--", "--time=10"]);
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    let plan = pool.path().join("plan.toml");
    let text = "[experiment]\nname = \"first\"\n[versions.old]\nbaseline = true\n[versions.new]\n\
                [benchmarks.true]\ncommand = [\"true\"]\ntimeout = \"1m\"\n[repetitions]\nruns = 3\n\
                [independence]\npolicy = \"distinct\"\n";
    std::fs::write(&plan, text).expect("a plan");
    let begun = std::time::Instant::now();
    let submitted = pool.speedup(&["submit", &plan.display().to_string()]);
    assert!(submitted.status.success(), "{}", String::from_utf8_lossy(&submitted.stderr));
    let waited = pool.speedup(&["wait", "last", "--timeout", "2m"]);
    assert!(waited.status.success(), "{}", String::from_utf8_lossy(&waited.stderr));
    println!("6 runs on 6 nodes, from submit to the last: {:.1} s", begun.elapsed().as_secs_f64());
    let report = pool.speedup(&["report", "last"]);
    let shown = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(report.status.success() && shown.contains("true"), "{shown}");
    on.wait_until_given_back();
}

/// Sixteen visits, each in an allocation of its own, on six nodes and at the default settings: as many jobs as visits, each of
/// which ends by itself. How long that takes, and what share of the nodes' time is measured, is printed.
#[test]
fn a_visit_of_its_own_allocation_takes_one_job() {
    let on = site("reallocated", 6);
    let pool = &on.site.pool;
    let added = pool.speedup(&["hosts", "slurm", "add", "--", "--time=10"]);
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    let plan = pool.path().join("plan.toml");
    let text = "[experiment]\nname = \"short\"\n[versions.old]\nbaseline = true\n[versions.new]\n\
                [benchmarks.nap]\ncommand = [\"sleep\", \"0.6\"]\ntimeout = \"1m\"\n[repetitions]\nruns = 8\n\
                [independence]\npolicy = \"reallocated\"\nscope = \"experiment\"\n";
    std::fs::write(&plan, text).expect("a plan");
    let begun = std::time::Instant::now();
    let submitted = pool.speedup(&["submit", &plan.display().to_string()]);
    assert!(submitted.status.success(), "{}", String::from_utf8_lossy(&submitted.stderr));
    let waited = pool.speedup(&["wait", "last", "--timeout", "5m"]);
    let took = begun.elapsed();
    assert!(waited.status.success(), "{}", String::from_utf8_lossy(&waited.stderr));
    on.wait_until_given_back();
    let remembered = on.slurm.remembered();
    let completed = remembered.iter().filter(|(_, state, _)| state == "COMPLETED").count();
    assert_eq!((remembered.len(), completed), (16, 16), "{remembered:?}");
    let node_seconds = on.shown()["node_hours"].as_f64().expect("node hours") * 3_600.0;
    println!(
        "16 visits of 0.6 s on 6 nodes: {:.1} s, {node_seconds:.1} node-seconds, {:.0} % of them measured",
        took.as_secs_f64(),
        100.0 * 16.0 * 0.6 / node_seconds
    );
}

/// Three nodes at a time for six runs that want six: used ones are excluded, and all are given back at the end, while other
/// people's jobs stay.
#[test]
fn nodes_come_and_go_as_a_plan_needs_them() {
    let on = site("distinct", 7);
    assert_eq!(on.slurm.jobs().len(), 0, "nothing is asked for before a plan needs it");
    on.ask(&["--max-jobs", "3"], &["--time=10"]);
    let experiment = on.site.submit(Plan { gate: Gate::Closed, ..SIX });
    eventually("three nodes have a run", || {
        let begun = on.slurm.running();
        let all = begun.iter().all(|(_, node)| on.site.pool.path().join(format!("begun-{node}")).exists());
        (begun.len() == 3 && all).then_some(())
    });
    assert_eq!(on.slurm.jobs().len(), 3, "no more than allowed");
    on.site.open_gate();
    let verdict = on.site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    on.wait_until_given_back();
    let remembered = on.slurm.remembered();
    let nodes: BTreeSet<&str> =
        remembered.iter().map(|(_, _, node)| node.as_str()).filter(|node| !node.is_empty()).collect();
    assert!(nodes.len() >= 6, "{remembered:?}");
    let shown = on.shown();
    assert_eq!(shown["stopped"], serde_json::Value::Null, "{shown}");
    assert!(shown["node_hours"].as_f64().is_some_and(|hours| hours > 0.0), "{shown}");
}

/// What Slurm refuses is refused at once, in its own words, and nothing is asked for.
#[test]
fn wrong_options_fail_at_once() {
    let on = site("any", 1);
    let output = on.try_to_ask(&[], &["--partition=nope"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("invalid partition specified: nope"), "{said}");
    let output = on.try_to_ask(&[], &["--array=1-3"]);
    assert!(!output.status.success(), "an array of jobs is refused");
    assert_eq!(on.shown(), serde_json::Value::Null);
    let output = on.try_to_ask(&["--dry-run"], &["--time=10"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.starts_with("sbatch ") && said.contains("agent start"), "{said}");
    assert_eq!(on.slurm.remembered(), [], "nothing was asked for");
}

/// What no node has, and what no partition allows, is refused before a plan could wait for it; what is only drained is not.
#[test]
fn what_slurm_would_let_wait_for_ever_is_refused_at_once() {
    let on = site("any", 1);
    let refused = |options: &[&str]| {
        let output = on.try_to_ask(&[], options);
        assert!(!output.status.success(), "{options:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = refused(&["--mem=5G"]);
    assert!(said.contains("not available"), "{said}");
    on.slurm.control(&["update", "PartitionName=main", "MaxTime=60"]);
    let said = refused(&["--time=120"]);
    assert!(said.contains(" 2:00:00") && said.contains("partition main"), "{said}");
    assert!(said.contains(" 1:00:00"), "{said}");
    assert_eq!(on.shown(), serde_json::Value::Null);
    assert_eq!(on.slurm.jobs(), [""; 0], "no trial is left");
    let node = format!("NodeName={}", on.site.hosts[0].name());
    on.slurm.control(&["update", &node, "State=DRAIN", "Reason=test"]);
    on.ask(&[], &["--time=60"]);
    on.slurm.control(&["update", &node, "State=RESUME"]);
    let last = on.shown()["longest_job_ns"].as_u64();
    assert_eq!(last, Some(3_600_000_000_000), "{}", on.shown());
}

/// Directories in which jobs could not begin or print are refused before any job ends without a word.
#[test]
fn directories_that_jobs_cannot_use_are_refused_at_once() {
    let on = site("any", 1);
    let mine = on.site.pool.path().join("bin").display().to_string();
    for option in
        ["--chdir=/nonexistent", "--output=/nonexistent/%j.log", "--error=/root/%j.log", "-o/nonexistent/x"]
    {
        let output = on.try_to_ask(&[], &[option]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("for jobs, as --"), "{option}: {said}");
    }
    assert_eq!(on.shown(), serde_json::Value::Null);
    on.ask(&[], &["--chdir", &mine, "--output=/dev/null", "--export=NONE"]);
    let experiment = on.site.submit(SIX);
    on.site.finish(&experiment);
    on.wait_until_given_back();
}

#[test]
fn all_queues_are_removed_at_once() {
    let on = site("distinct", 2);
    on.ask(&["--name", "a"], &["--time=10"]);
    on.ask(&["--name", "b"], &["--time=10", "--partition=other"]);
    let removed = on.site.pool.speedup(&["hosts", "slurm", "remove", "--all"]);
    assert!(removed.status.success(), "{}", String::from_utf8_lossy(&removed.stderr));
    assert_eq!(on.queues(), serde_json::json!([]));
}

/// Jobs that end before one visit might are told at the submission, whether the options or the partition say so.
#[test]
fn jobs_shorter_than_a_visit_are_told_at_the_submission() {
    let on = site("any", 1);
    let plan = on.site.pool.path().join("plan.toml");
    let text = "[experiment]\nname = \"long\"\n[versions.only]\nbaseline = true\n[versions.new]\n\
                [benchmarks.one]\ncommand = [\"true\"]\ntimeout = \"9m\"\n\
                [independence]\npolicy = \"any\"\n";
    std::fs::write(&plan, text).expect("a plan");
    let submitted = |flags: &[&str]| {
        let path = plan.display().to_string();
        let output = on.site.pool.speedup(&[&["submit", path.as_str()], flags].concat());
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    on.ask(&[], &["--time=5"]);
    let (taken, said) = submitted(&[]);
    assert!(!taken && said.contains(" 5.0 minutes"), "{said}");
    assert!(said.contains("a longer --time after --"), "{said}");
    on.slurm.control(&["update", "PartitionName=main", "DefaultTime=7"]);
    on.ask(&[], &[]);
    let (taken, said) = submitted(&["--wait-for-hosts"]);
    assert!(taken && said.contains(" 7.0 minutes"), "{said}");
    on.ask(&[], &["--time=30"]);
    let (taken, said) = submitted(&[]);
    assert!(taken && !said.contains("each requested job"), "{said}");
}

/// A name by which no node finds the coordinator is told within seconds, with the words of the node's resolver, and nodes are
/// not held for it; commands on the coordinator's machine go on.
#[test]
fn a_name_that_nodes_cannot_resolve_is_told_by_the_first_agent() {
    let mut on = site("any", 4);
    on.site.pool.stop_coordinator();
    on.site.pool.advertise("no-such-name.invalid");
    on.site.pool.start_coordinator();
    on.ask(&["--max-jobs", "1"], &["--time=10"]);
    let experiment = on.site.submit(SIX);
    drop(experiment);
    let told =
        eventually("the first agent's trouble is told", || Some(on.shown()["unjoined"].as_str()?.to_owned()));
    assert!(told.contains("https://no-such-name.invalid:"), "{told}");
    assert!(told.contains("dns error") && told.contains("--advertise"), "{told}");
    let explained = on.site.pool.speedup(&["explain", "last"]);
    let said = String::from_utf8_lossy(&explained.stderr).into_owned();
    assert!(said.contains("no-such-name.invalid"), "{said}");
    let why = eventually("no more are asked for", || Some(on.shown()["stopped"].as_str()?.to_owned()));
    assert!(why.contains("https://no-such-name.invalid:"), "{why}");
    on.wait_until_given_back();
    // By the access file alone, as a user on the login node.
    let mut list = on.site.pool.command();
    list.args(["list"]).env_remove("SPEEDUP_COORDINATOR");
    let listed = list.output().expect("the command");
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
}

/// Two nodes serve four runs of one benchmark, each in a boot of its own: Slurm reboots them between jobs, for a user who
/// may have that done.
#[test]
fn slurm_reboots_nodes_between_runs() {
    let on = SlurmSite::start(SPEEDUP, "rebooted", 2, Who::Root, AfterNodeFailure::Fail);
    on.ask(&[], &["--time=10"]);
    let experiment = on.site.submit(Plan { runs: 2, ..SIX });
    let verdict = on.site.finish(&experiment);
    let boots: BTreeSet<&str> = verdict.rows.iter().map(Row::boot).collect();
    assert_eq!(boots.len(), 4, "each run has a boot of its own: {boots:?}");
    on.wait_until_given_back();
    assert_eq!(on.shown()["cannot_reboot"], serde_json::Value::Null);
}

/// An ordinary user may not: it is told, and every node that has not served in its boot is used once.
#[test]
fn who_may_not_reboot_nodes_is_told() {
    let on = site("rebooted", 2);
    on.ask(&[], &["--time=10"]);
    on.site.submit(Plan { runs: 2, ..SIX });
    let why = eventually("it is told", || Some(on.shown()["cannot_reboot"].as_str()?.to_owned()));
    assert!(why.contains("denied"), "{why}");
}

/// Each run is in an allocation of its own, of the same nodes.
#[test]
fn nodes_are_allocated_anew() {
    let on = site("reallocated", 2);
    on.ask(&[], &["--time=10"]);
    let experiment = on.site.submit(Plan { runs: 2, ..SIX });
    let verdict = on.site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    on.wait_until_given_back();
    assert!(on.slurm.remembered().len() >= 4, "{:?}", on.slurm.remembered());
}

/// A job that ends before the plan does: no run begins that it may not hold, so none is lost.
#[test]
fn a_time_limit_shorter_than_the_plan_costs_no_run() {
    let on = site("any", 1);
    // Runs may take so long that each minute has room for few.
    let plan = Plan { benchmarks: 1, runs: 2, timeout: "35s", gate: Gate::Closed };
    on.ask(&[], &["--time=1"]);
    let experiment = on.site.submit(plan);
    let (first, host) = on.wait_for_a_run();
    on.site.forget_begin(host);
    // The gate opens for one run, late enough that no other fits.
    eventually("the minute is half over", || {
        let shown = on.shown();
        let running = shown["jobs"].as_array()?.iter().find(|job| job["id"] == first.as_str())?;
        let ends = running["ends_ns"].as_u64()?;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?.as_nanos();
        (u128::from(ends) < now + 40_000_000_000).then_some(())
    });
    on.site.open_gate();
    let verdict = on.site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    on.wait_until_given_back();
    let remembered = on.slurm.remembered();
    assert!(remembered.len() >= 2, "{remembered:?}");
    let ended = remembered.iter().find(|(job, ..)| *job == first);
    assert!(
        ended.is_some_and(|(_, state, _)| state == "COMPLETED"),
        "its agent ends before its time is over: {remembered:?}"
    );
}

/// Jobs that hold no run at all are noticed, and no more are asked for.
#[test]
fn jobs_that_are_too_short_for_any_run_stop_the_asking() {
    let on = site("any", 1);
    on.ask(&[], &["--time=1"]);
    on.site.submit_with(Plan { timeout: "5m", ..SIX }, &["--wait-for-hosts"]);
    let why = eventually("it is told", || Some(on.shown()["stopped"].as_str()?.to_owned()));
    assert!(why.contains("too short for any run"), "{why}");
    on.wait_until_given_back();
    let listed = on.site.pool.speedup(&["list"]);
    let said = String::from_utf8_lossy(&listed.stderr).into_owned();
    assert!(said.contains("No more hosts"), "{said}");
}

/// Jobs that fail on three nodes are noticed, and no more are asked for.
#[test]
fn jobs_that_fail_stop_the_asking() {
    let on = site("any", 4);
    on.ask(&[], &["--time=10"]);
    // The program that the jobs start is gone.
    std::fs::remove_file(on.site.pool.binary()).expect("the copy of the command");
    std::fs::copy(SPEEDUP, on.site.pool.path().join("another")).expect("another copy");
    let another = |words: &[&str]| {
        let mut command = std::process::Command::new(on.site.pool.path().join("another"));
        command.args(words).args(["--format", "json", "--coordinator", &on.site.pool.url()]);
        command.arg("--access-file").arg(on.site.pool.access_file());
        command.output().expect("the command")
    };
    let plan = on.site.pool.path().join("plan.toml");
    let text = "[experiment]\nname = \"lost\"\n[versions.only]\nbaseline = true\n[versions.new]\n\
                [benchmarks.one]\ncommand = [\"true\"]\ntimeout = \"1m\"\n\
                [independence]\npolicy = \"any\"\n";
    std::fs::write(&plan, text).expect("a plan");
    let submitted = another(&["submit", &plan.display().to_string()]);
    assert!(submitted.status.success(), "{}", String::from_utf8_lossy(&submitted.stderr));
    let why = eventually("it is told", || {
        let shown: serde_json::Value =
            serde_json::from_slice(&another(&["hosts", "slurm", "show"]).stdout).ok()?;
        Some(shown[0]["stopped"].as_str()?.to_owned())
    });
    assert!(why.contains("3 jobs in a row") && why.contains("ended before"), "{why}");
    assert!(why.contains("FAILED"), "{why}");
    let shown: serde_json::Value =
        serde_json::from_slice(&another(&["hosts", "slurm", "show"]).stdout).expect("what is shown");
    let words = shown[0]["unjoined"].as_str().expect("the last words of a job");
    assert!(words.contains("bin/speedup") && words.contains("not found"), "{words}");
}
