//! The way a user goes: the README's first command, and an experiment from submission to export, undisturbed.

use speedup_tests::{desk::Desk, output::stderr, output::succeeded, plan::naps, pool::Pool, root};

use crate::SPEEDUP;

fn plan(policy: &str) -> String {
    // BLAKE3 of "word of speedup".
    let hash = speedup_tests::blake3_hex(b"word of speedup");
    let word = "command = [\"printf\", \"{benchmark} of %s\", \"speedup\"]\n";
    let rest = format!("[benchmarks.word]\n{word}expect = {{ stdout_blake3 = \"{hash}\" }}\n");
    naps("journey", ["0.2", "0.01"], 8, policy, &rest)
}

#[test]
fn the_readmes_first_command_runs() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("the README");
    let line =
        readme.lines().find(|line| line.starts_with("cargo run --release -- run ")).expect("the command");
    let arguments: Vec<&str> = line.trim_start_matches("cargo run --release -- ").split(' ').collect();
    let desk = Desk::new(SPEEDUP);
    let said =
        succeeded(&desk.command(&arguments).args(["-r", "2"]).current_dir(root()).output().expect("it runs"));
    assert!(said.contains("ndependence was not provided"), "the report is honest about one machine:\n{said}");
    assert!(said.contains("sort"), "the report names its benchmarks:\n{said}");
}

#[test]
fn the_second_example_compares_two_builds() {
    let desk = Desk::new(SPEEDUP);
    let mut command = desk.command(&["run", "examples/builds.toml", "-r", "4", "--format", "json"]);
    let said = succeeded(&command.current_dir(root()).output().expect("the command"));
    let report: serde_json::Value = serde_json::from_str(&said).expect("one JSON value");
    assert_eq!(report["head"]["state"], "complete", "{report}");
    assert!(report["suites"][0]["speedup"].is_f64(), "{report}");
}

#[test]
fn from_a_plan_to_an_export_on_fresh_hosts() {
    let pool = Pool::start(SPEEDUP, 16);
    let experiment = pool.submit(&plan("distinct"), &[]);
    pool.ok(&["wait", &experiment]);
    let ledger = pool.ledger(&experiment);
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
    let said = pool.ok(&["report", &experiment]);
    assert!(said.contains("faster"), "{said}");
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
    pool.ok(&["pause", &experiment]);
    let waiting = pool.ok(&["explain", &experiment, "31"]);
    assert!(waiting.contains("paused"), "{waiting}");
    pool.ok(&["extend", &experiment, "--runs", "1000"]);
    pool.ok(&["resume", &experiment]);
    pool.ok(&["cancel", &experiment]);
    pool.wait_for(&experiment);
    let ledger = pool.ledger(&experiment);
    let counting = ledger.assert_exactly_once(4_032);
    assert!(counting < 4_032, "it was cancelled before it was through");
    let refused = pool.speedup(&["extend", &experiment, "--runs", "1"]);
    assert!(!refused.status.success() && stderr(&refused).contains("finished"), "{refused:?}");
}
