//! Nodes on which jobs or attempts fail are left out, and named with the reason.

use speedup_tests::{cluster::Gate, cluster::Plan, cluster::SlurmSite, pool::eventually};

use crate::site;

/// One benchmark in two versions, three runs each.
const SIX: Plan = Plan { benchmarks: 1, runs: 3, timeout: "1m", gate: Gate::Open };

/// A file with lines of a shell that fail on this node alone.
fn fails_on(on: &SlurmSite, node: &str) -> String {
    let file = on.site.pool.path().join("fails.sh");
    let text = format!("if [ $SLURMD_NODENAME = {node} ]; then echo no home >&2; exit 1; fi\n");
    std::fs::write(&file, text).expect("a prologue");
    file.display().to_string()
}

/// The first node that Slurm gives out cannot start a job, and takes one job after another. It is left out, and the others do all of it.
#[test]
fn a_node_on_which_jobs_fail_is_left_out() {
    let on = site("distinct", 8);
    let bad = on.site.hosts[0].name();
    on.ask(&["--prologue", &fails_on(&on, &bad)], &["--time=10"]);
    let experiment = on.site.submit(SIX);
    let verdict = on.site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    on.wait_until_given_back();
    let shown = on.shown();
    assert!(shown["stopped"].is_null(), "{shown}");
    let why = shown["refused"][&bad].as_str().unwrap_or_default();
    assert!(why.starts_with("1 job failed there") && why.contains("FAILED"), "{shown}");
    let jobs = on.slurm.remembered();
    let wasted = jobs.iter().filter(|(_, state, node)| *node == bad && state == "FAILED").count();
    assert!((1..=6).contains(&wasted), "none that was requested after the first had failed: {jobs:?}");
    // It is let in again with the queue.
    on.ask(&["--name", shown["queue"].as_str().expect("a name")], &["--time=10"]);
    assert_eq!(on.shown()["refused"], serde_json::json!({}));
}

/// Where the bad node is the only one of its partition, the queue waits until it is let in again, and does not stop.
#[test]
fn the_only_node_is_tried_again_later() {
    let on = site("any", 1);
    let bad = on.site.hosts[0].name();
    on.ask(&["--prologue", &fails_on(&on, &bad)], &["--time=10"]);
    on.site.submit(SIX);
    let words = eventually("nothing is left to request", || {
        let shown = on.shown();
        let words = shown["unjoined"].as_str()?.to_owned();
        words.starts_with("no job is requested for ").then_some(words)
    });
    assert!(words.contains("not available"), "{words}");
    let shown = on.shown();
    assert!(shown["stopped"].is_null() && shown["refused"][&bad].is_string(), "{shown}");
    let explained = on.site.pool.speedup(&["explain", "last"]);
    let said = String::from_utf8_lossy(&explained.stderr).into_owned();
    assert!(said.contains(&format!("Jobs avoid {bad}: ")) && said.contains("failed there"), "{said}");
}

/// A node whose disk is full joins, and loses each attempt. The experiment leaves it out, also while it is the only one that is there, and
/// says so; a person lets it in again.
#[test]
fn a_node_on_which_attempts_fail_is_left_out_and_had_back() {
    let on = site("any", 3);
    // Slurm fills the smaller switch first.
    let bad = on.site.hosts[1].name();
    on.ask(&["--max-jobs", "1"], &["--time=10"]);
    let found = std::process::Command::new("find")
        .arg(on.site.pool.path())
        .args(["-type", "d", "-name", "agents"])
        .output();
    let agents = String::from_utf8(found.expect("find").stdout).expect("a path");
    let full = std::path::Path::new(agents.trim()).join(&bad).join("experiments");
    let found = || on.site.hosts[1].succeeds(&format!("mountpoint -q {}", full.display()));
    let prepare = format!(
        "mkdir -p {0} && chown -R 65534:65534 {1} && chmod 700 {1} && mount -t tmpfs -o nr_inodes=1,mode=777 full {0}",
        full.display(),
        full.parent().expect("the agent's directory").display()
    );
    on.site.hosts[1].enter(&prepare);
    assert!(found(), "the disk is full");
    let experiment = on.site.submit(SIX);
    let verdict = on.site.finish(&experiment);
    let lost: Vec<_> = verdict.lost().map(|row| row.host().to_owned()).collect();
    assert_eq!(lost, vec![format!("speedup:{bad}"); 3], "{verdict:?}");
    on.wait_until_given_back();
    assert!(on.shown()["stopped"].is_null());
    // The next experiment finds it full as well, and says so.
    on.site.close_gate();
    on.site.submit(Plan { gate: Gate::Closed, ..SIX });
    let line = eventually("the list names it", || {
        let listed = on.site.pool.speedup(&["hosts", "list"]);
        let said = String::from_utf8(listed.stderr).ok()?;
        said.lines().find(|line| line.contains("its last 3 attempts")).map(str::to_owned)
    });
    assert!(
        line.contains(&bad) && line.contains("o space left") && line.contains("left out since"),
        "{line}"
    );
    on.site.hosts[1].enter(&format!("umount {}", full.display()));
    let resumed = on.site.pool.speedup(&["hosts", "resume", &bad]);
    assert!(resumed.status.success(), "{}", String::from_utf8_lossy(&resumed.stderr));
    let hosts = on.site.pool.json(&["hosts", "list"]).expect("the hosts");
    let mut hosts = hosts.as_array().expect("a list").iter();
    assert!(hosts.all(|host| host["left_out"] == serde_json::json!([])), "it is let in again");
}
