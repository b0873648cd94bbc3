//! Which host a node is, whatever its image says.

use std::collections::BTreeSet;

use speedup_tests::checker::Row;
use speedup_tests::cluster::{AfterNodeFailure, Gate, Plan, SlurmSite, Who};
use speedup_tests::pool::eventually;

use crate::SPEEDUP;

/// One benchmark in two versions, two runs each.
const FOUR: Plan = Plan { benchmarks: 1, runs: 2, timeout: "1m", gate: Gate::Open };

/// Nodes are started from one image, and all have its machine id: Slurm tells them apart.
#[test]
fn clones_of_one_image_are_hosts_of_their_own() {
    let on = SlurmSite::start_on_clones(SPEEDUP, "distinct", 4);
    on.ask(&[], &["--time=10"]);
    let experiment = on.site.submit(FOUR);
    let verdict = on.site.finish(&experiment);
    let hosts: BTreeSet<String> = verdict.rows.iter().map(|row| Row::host(row).to_owned()).collect();
    let nodes: BTreeSet<String> = on.site.hosts.iter().map(|host| on.site.id_of(host)).collect();
    assert_eq!(hosts, nodes, "each node served once, under the cluster's name and its own");
    let report = on.site.report(&experiment);
    assert!(report.contains("4 hosts served one run"), "{report}");
    on.wait_until_given_back();
}

/// A node whose agent is turned away for good does not hold its allocation, is told with the reason, and is not asked for
/// again; the plan goes on where it can.
#[test]
fn a_node_whose_agent_is_turned_away_is_given_back_and_kept_out() {
    let on = SlurmSite::start_on_clones(SPEEDUP, "distinct", 2);
    let bad = &on.site.hosts[0];
    let pool = &on.site.pool;
    // The node is another host's machine already: an agent stands there that does not share it.
    let standing = format!(
        "{} agent start --no-selftest --host-id standing --coordinator {} --access-file {} --state {} >/dev/null 2>&1 &",
        pool.binary().display(),
        pool.url(),
        pool.access_file().display(),
        pool.path().join("standing").display(),
    );
    bad.enter(&standing);
    pool.wait_for_hosts(1);
    assert!(pool.speedup(&["hosts", "drain", "standing"]).status.success());
    on.ask(&[], &["--time=10"]);
    let plan = Plan { runs: 1, gate: Gate::Closed, ..FOUR };
    on.site.submit(plan);
    let why = eventually("the engine is told", || {
        Some(on.shown()["refused"][bad.name().as_str()].as_str()?.to_owned())
    });
    assert!(why.contains("host standing, "), "{why}");
    assert!(why.contains("--share-machine"), "{why}");
    // Its job has ended by itself, and no other goes there, while the plan still lacks a host.
    eventually("its job ends", || {
        on.slurm.running().iter().all(|(_, node)| *node != bad.name()).then_some(())
    });
    let ended =
        on.slurm.remembered().into_iter().find(|(_, state, node)| *node == bad.name() && state == "FAILED");
    assert!(ended.is_some(), "{:?}", on.slurm.remembered());
    on.wait_for_a_run();
    assert_eq!(on.shown()["stopped"], serde_json::Value::Null, "it is the node's fault and not the jobs'");
    let listed = pool.json(&["list"]).expect("experiments");
    let experiment = listed[0]["experiment"].as_str().expect("an id");
    let explained: Vec<String> = (0..2)
        .map(|run| {
            let said = pool.speedup(&["explain", experiment, &run.to_string()]);
            String::from_utf8_lossy(&said.stderr).into_owned()
        })
        .collect();
    let told = format!("Jobs avoid {}", bad.name());
    assert!(explained.iter().all(|said| said.contains(&told)), "{explained:?}");
    on.site.open_gate();
}

/// People call a node by its name: verbs take it, and exports and the event log have it; the event log says what became of its job.
#[test]
fn a_node_is_called_by_its_name() {
    let on = SlurmSite::start(SPEEDUP, "any", 1, Who::Nobody, AfterNodeFailure::Fail);
    let pool = &on.site.pool;
    on.ask(&[], &["--time=10"]);
    let experiment = on.site.submit(Plan { gate: Gate::Closed, ..FOUR });
    let (job, host) = on.wait_for_a_run();
    for verb in ["drain", "resume"] {
        let changed = pool.speedup(&["hosts", verb, &host.name()]);
        assert!(changed.status.success(), "{}", String::from_utf8_lossy(&changed.stderr));
    }
    let shown = pool.json(&["hosts", "show", &host.name()]).expect("a host");
    assert_eq!(shown["host"], on.site.id_of(host), "{shown}");
    assert_eq!(shown["host_name"], host.name(), "{shown}");
    let explained = pool.speedup(&["explain", "last"]);
    let said = String::from_utf8_lossy(&explained.stdout).into_owned();
    assert!(said.contains(&format!("busy with another run ({})", host.name())), "{said}");
    on.site.open_gate();
    let verdict = on.site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    let id = pool.json(&["list"]).expect("experiments")[0]["experiment"].as_str().expect("an id").to_owned();
    let export = pool.export_as("jsonl", &id);
    let rows = export.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("a row"));
    assert!(
        rows.filter(|row| row["host"].is_string()).all(|row| row["host_name"] == host.name()),
        "{export}"
    );
    on.wait_until_given_back();
    assert!(pool.speedup(&["hosts", "slurm", "remove"]).status.success());
    let events = pool.json(&["events"]).expect("events");
    let words = |what: &str| {
        let found = events.as_array().and_then(|all| all.iter().find(|event| event["what"] == what));
        found.unwrap_or_else(|| panic!("{what} is not in {events}")).clone()
    };
    let requested = words("hosts requested");
    assert_eq!(requested["words"], "slurm --time=10 (queue 1)");
    assert!(requested["by"].as_str().is_some_and(|by| !by.is_empty()), "{requested}");
    assert_eq!(words("request for hosts ended")["by"], requested["by"]);
    assert!(words("jobs asked for")["words"].as_str().is_some_and(|words| words.contains(&job)), "{events}");
    assert_eq!(words("job began")["words"], format!("job {job} on {}", host.name()));
    let ended = format!("job {job} on {}: COMPLETED", host.name());
    assert_eq!(words("job ended")["words"], ended);
}
