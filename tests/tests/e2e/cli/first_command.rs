//! The way a user goes: the README's first command, and an experiment from submission to export, undisturbed.

use std::{path::Path, process::Command};

use speedup_tests::{ledger::Ledger, pool::Pool, pool::eventually};

use crate::SPEEDUP;

const PLAN: &str = r#"
[experiment]
name = "journey"
seed = 3
[versions.old]
baseline = true
vars = { time = "0.2" }
[versions.new]
vars = { time = "0.01" }
[benchmarks.nap]
command = ["sleep", "{time}"]
[benchmarks.word]
command = ["printf", "{benchmark} of %s", "speedup"]
expect = { stdout_blake3 = "HASH" }
[repetitions]
runs = 8
[independence]
policy = "POLICY"
"#;

fn plan(policy: &str) -> String {
    // BLAKE3 of "word of speedup".
    let hash = speedup_tests::blake3_hex(b"word of speedup");
    PLAN.replace("HASH", &hash).replace("POLICY", policy)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

#[test]
fn the_readmes_first_command_runs() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("the README");
    let line =
        readme.lines().find(|line| line.starts_with("cargo run --release -- run ")).expect("the command");
    let arguments: Vec<&str> = line.trim_start_matches("cargo run --release -- ").split(' ').collect();
    let data = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(SPEEDUP);
    command.args(&arguments).args(["-r", "2"]).current_dir(root()).env("XDG_STATE_HOME", data.path());
    let output = command.output().expect("the command");
    let (said, talked) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{talked}");
    assert!(said.contains("ndependence was not provided"), "the report is honest about one machine:\n{said}");
    assert!(said.contains("sort"), "the report names its benchmarks:\n{said}");
}

#[test]
fn the_second_example_compares_two_builds() {
    let data = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(SPEEDUP);
    command.args(["run", "examples/builds.toml", "-r", "4", "--format", "json"]);
    let output =
        command.current_dir(root()).env("XDG_STATE_HOME", data.path()).output().expect("the command");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON value");
    assert_eq!(report["head"]["state"], "complete", "{report}");
    assert!(report["suites"][0]["speedup"].is_f64(), "{report}");
}

#[test]
fn from_a_plan_to_an_export_on_fresh_hosts() {
    let pool = Pool::start(SPEEDUP, 16);
    let experiment = pool.submit(&plan("distinct"), &[]);
    let waited = pool.speedup(&["wait", &experiment]);
    assert!(waited.status.success(), "{}", String::from_utf8_lossy(&waited.stderr));
    let ledger = Ledger::read(&pool.export(&experiment));
    assert_eq!(ledger.assert_exactly_once(32), 32, "every run is measured");
    ledger.assert_fresh(|row| row["benchmark"].clone());
    for row in &ledger.rows {
        let wall: u64 = row["wall_ns"].parse().expect("a wall time");
        let least = if row["benchmark"] != "nap" {
            1
        } else if row["version"] == "old" {
            200_000_000
        } else {
            10_000_000
        };
        assert!(wall >= least, "never shorter than the truth: {row:?}");
    }
    let report = pool.speedup(&["report", &experiment]);
    let said = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(report.status.success() && said.contains("faster"), "{said}");
    // Nothing went wrong, so nothing was warned of.
    let logs =
        (0..16).map(|number| pool.logged(&format!("agent-{number}"))).chain([pool.logged("coordinator")]);
    for log in logs {
        assert!(!log.contains("WARN") && !log.contains("ERROR"), "unexpected trouble in a log:\n{log}");
    }
}

#[test]
fn an_experiment_is_paused_resumed_extended_and_cancelled() {
    let pool = Pool::start(SPEEDUP, 2);
    let experiment = pool.submit(&plan("any"), &[]);
    let ok = |arguments: &[&str]| {
        let output = pool.speedup(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8") + &String::from_utf8(output.stderr).expect("UTF-8")
    };
    ok(&["pause", &experiment]);
    let waiting = ok(&["explain", &experiment, "31"]);
    assert!(waiting.contains("paused"), "{waiting}");
    ok(&["extend", &experiment, "--runs", "1000"]);
    ok(&["resume", &experiment]);
    ok(&["cancel", &experiment]);
    eventually("it ends", || pool.is_finished(&experiment).then_some(()));
    let ledger = Ledger::read(&pool.export(&experiment));
    let counting = ledger.assert_exactly_once(4_032);
    assert!(counting < 4_032, "it was cancelled before it was through");
    let refused = pool.speedup(&["extend", &experiment, "--runs", "1"]);
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("finished"), "{refused:?}");
}
