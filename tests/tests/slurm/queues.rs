//! Several queues, and what a user adds to their jobs.

use std::collections::BTreeSet;

use speedup_tests::{checker::Row, cluster::Gate, cluster::Plan, pool::eventually};

use crate::site;

/// One benchmark in two versions, three runs each.
const SIX: Plan = Plan { benchmarks: 1, runs: 3, timeout: "1m", gate: Gate::Open };

/// Two partitions with one node at a time each: both serve the plan, on nodes that neither uses twice, and together they ask for no more
/// nodes than runs want.
#[test]
fn two_queues_share_what_a_plan_needs() {
    let on = site("distinct", 6);
    on.ask(&["--max-jobs", "1"], &["--time=10", "--partition=main"]);
    on.ask(&["--max-jobs", "1"], &["--time=10", "--partition=other"]);
    let names: Vec<serde_json::Value> = (0..2).map(|at| on.queues()[at]["queue"].clone()).collect();
    assert_eq!(names, ["main", "other"]);
    let experiment = on.site.submit(Plan { gate: Gate::Closed, ..SIX });
    eventually("each has a node", || (on.slurm.running().len() == 2).then_some(()));
    on.site.open_gate();
    let verdict = on.site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    on.wait_until_given_back();
    let hosts: BTreeSet<&str> = verdict.rows.iter().map(Row::host).collect();
    assert_eq!(hosts.len(), 6, "{hosts:?}");
    let given: Vec<_> = on.slurm.remembered().into_iter().filter(|(.., node)| !node.is_empty()).collect();
    assert_eq!(given.len(), 6, "one job a run: {given:?}");
}

/// A queue whose jobs all fail stops, and says why; the other does all of it.
#[test]
fn a_queue_whose_jobs_fail_leaves_the_need_to_the_other() {
    let on = site("distinct", 6);
    let fails = on.site.pool.path().join("fails.sh");
    std::fs::write(&fails, "exit 1\n").expect("a prologue");
    on.ask(
        &["--name", "bad", "--prologue", &fails.display().to_string()],
        &["--time=10", "--partition=other"],
    );
    on.ask(&["--max-jobs", "2"], &["--time=10"]);
    let experiment = on.site.submit(SIX);
    let verdict = on.site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    on.wait_until_given_back();
    let queues = on.queues();
    let of = |name: &str| {
        let named = |queue: &&serde_json::Value| queue["queue"] == name;
        queues.as_array().and_then(|all| all.iter().find(named)).cloned().unwrap_or_default()
    };
    let why = of("bad")["stopped"].as_str().unwrap_or_default().to_owned();
    assert!(why.contains("3 jobs in a row") && why.contains("ended before"), "{queues}");
    assert!(of("1")["stopped"].is_null() && of("1")["engine"] == "slurm", "{queues}");
}

/// What a user says of a job reaches Slurm, beside what makes it one agent on one whole node.
#[test]
fn account_reservation_constraint_and_gres_reach_slurm() {
    let on = site("any", 1);
    let reservation = ["ReservationName=mine", "StartTime=now", "Duration=60", "Users=nobody", "Nodes=ALL"];
    on.slurm.control(&[&["create"], &reservation[..]].concat());
    let options = [
        "--time=10",
        "-A",
        "physics",
        "--reservation=mine",
        "-C",
        "quick",
        "--gres=disk:2",
        "--qos=high",
        "-p",
        "other",
    ];
    on.ask(&[], &options);
    let experiment = on.site.submit(Plan { runs: 1, gate: Gate::Closed, ..SIX });
    let (job, _) = on.wait_for_a_run();
    let told = on.slurm.told(&job);
    let wanted = ["Account=physics", "Reservation=mine", "Features=quick", "gres:disk:2", "Partition=other"];
    for word in wanted {
        assert!(told.contains(word), "{word}: {told}");
    }
    on.site.open_gate();
    on.site.finish(&experiment);
    on.wait_until_given_back();
}

/// Lines before and after the agent and a command in front of it are executed on the node; all are read when the queue is added.
#[test]
fn what_surrounds_the_agent_is_executed() {
    let on = site("any", 1);
    let file = |name: &str| on.site.pool.path().join(name).display().to_string();
    let (before, after, notes) = (file("before"), file("after"), file("notes"));
    let prologue = format!("#!/bin/bash\necho before $(hostname) ${{BASH_VERSION:+bash}} >> {notes}\n");
    std::fs::write(&before, prologue).expect("a prologue");
    std::fs::write(&after, format!("echo after $ended >> {notes}\n")).expect("an epilogue");
    let wrap = format!("sh -c 'echo wrapped >> {notes}; exec \"$@\"' sh");
    let surroundings = ["--prologue", &before, "--epilogue", &after, "--wrap", &wrap];
    let dry = on.try_to_ask(&[&surroundings[..], &["--dry-run"]].concat(), &["--time=10"]);
    let said = String::from_utf8_lossy(&dry.stdout).into_owned();
    let shown = ["#!/bin/bash\n", "echo before", "echo wrapped", "agent start", "echo after"];
    let places: Vec<Option<usize>> = shown.iter().map(|word| said.find(word)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{said}");
    on.ask(&surroundings, &["--time=10"]);
    std::fs::write(&before, "exit 1\n").expect("another prologue, which nobody reads");
    let experiment = on.site.submit(Plan { runs: 1, ..SIX });
    on.site.finish(&experiment);
    on.wait_until_given_back();
    let noted = eventually("all is noted", || {
        let noted = std::fs::read_to_string(&notes).ok()?;
        noted.contains("after").then_some(noted)
    });
    let node = on.site.hosts[0].name();
    assert!(noted.starts_with(&format!("before {node} bash\nwrapped\nafter 0\n")), "{noted}");
    let unclosed = on.try_to_ask(&["--wrap", "sh -c 'x"], &["--time=10"]);
    let said = String::from_utf8_lossy(&unclosed.stderr).into_owned();
    assert!(!unclosed.status.success() && said.contains("a quote is not closed"), "{said}");
}

/// A queue whose jobs Slurm never starts: half of what waits moves to the other queue, time and again, and once the last has waited longer
/// than its queue's patience the other brings that host as well. What never started is cancelled when nothing needs it.
#[test]
fn a_queue_that_never_starts_a_job_leaves_no_run_behind() {
    let on = site("distinct", 6);
    on.slurm.control(&["update", "PartitionName=main", "State=DOWN"]);
    on.ask(&["--name", "a", "--patience", "2s"], &["--time=10", "--partition=main"]);
    on.ask(&["--name", "b"], &["--time=10", "--partition=other"]);
    let experiment = on.site.submit(SIX);
    let told = eventually("it is told that a job waits long", || {
        let shown = String::from_utf8(on.site.pool.speedup(&["hosts", "slurm", "show", "a"]).stdout).ok()?;
        shown.contains("waited longer than 2 s").then_some(shown)
    });
    assert!(told.contains("PENDING (PartitionDown)"), "{told}");
    let verdict = on.site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    on.wait_until_given_back();
    let remembered = on.slurm.remembered();
    let served = remembered.iter().filter(|(_, state, _)| state == "COMPLETED").count();
    let given_up = remembered.iter().filter(|(_, state, _)| state == "CANCELLED").count();
    assert_eq!(served, 6, "one job a run: {remembered:?}");
    assert!(given_up > 0 && served + given_up == remembered.len(), "{remembered:?}");
}
