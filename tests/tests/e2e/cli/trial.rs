//! `plan check --trial` executes each cell once: it tells how long a plan takes, and what does not work, before it is run.

use std::process::Output;

use serde_json::Value;
use speedup_tests::{desk::Desk, output::stderr, output::stdout, output::succeeded};

use crate::SPEEDUP;

/// Twenty runs of each cell, of which one needs a tenth of a second.
const PLAN: &str = "[experiment]\nname = \"tried\"\n[repetitions]\nruns = 20\n[versions.old]\nbaseline = true\n\
    [versions.new]\n[independence]\npolicy = \"any\"\n[benchmarks.nap]\ncommand = [\"sleep\", \"0.1\"]\n\
    [benchmarks.quick]\ncommand = [\"true\"]\n";

fn check(plan: &str, more: &[&str]) -> (Output, Desk) {
    let desk = Desk::new(SPEEDUP);
    desk.write("plan.toml", plan);
    let output = desk.speedup(&[&["plan", "check", "plan.toml", "--trial", "--hosts", "1"], more].concat());
    (output, desk)
}

#[test]
fn each_cell_is_executed_once_and_the_plan_has_a_duration() {
    let (output, desk) = check(PLAN, &["--format", "json"]);
    let checked: Value = serde_json::from_str(&succeeded(&output)).expect("JSON");
    let cells = checked["trial"].as_array().expect("cells");
    assert_eq!(cells.len(), 4, "{checked}");
    for cell in cells.iter().filter(|cell| cell["benchmark"] == "nap") {
        assert!(cell["wall_ns"].as_u64().is_some_and(|wall| wall >= 100_000_000), "{cell}");
    }
    assert_eq!(checked["estimate"]["kind"], "trial");
    let host_time = checked["host_time_ns"].as_u64().expect("a duration");
    assert!(host_time >= 40 * 100_000_000, "40 naps of a tenth of a second: {host_time}");
    let left = std::fs::read_dir(desk.path().join("state/speedup/trials")).expect("the place of trials");
    assert_eq!(left.count(), 0, "nothing of it is kept");
    assert!(!desk.path().join("state/speedup/started.jsonl").exists(), "it is no experiment of the user's");
}

#[test]
fn what_fails_is_told_last_and_leaves_the_duration_unknown() {
    let missing = format!("{PLAN}[benchmarks.gone]\ncommand = [\"/no/such/program\"]\n");
    let (output, _desk) = check(&missing, &[]);
    let (out, err) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(1), "{out}{err}");
    assert!(out.contains("duration        unknown"), "{out}");
    let last = err.lines().rev().find(|line| !line.trim().is_empty()).expect("what failed");
    assert!(err.contains("the trial failed:") && last.contains("cannot run /no/such/program"), "{err}");
    let (output, _desk) = check(&PLAN.replace("[\"true\"]", "[\"false\"]"), &[]);
    let err = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{err}");
    let last = err.lines().rev().find(|line| !line.trim().is_empty()).expect("what failed");
    assert!(last.contains("quick") && last.contains("exit code 1"), "{err}");
}
