//! Some benchmarks of a plan: chosen by name, or because they failed; and some of a report.

use serde_json::Value;
use speedup_tests::pool::{Pool, eventually};

use crate::SPEEDUP;

const PLAN: &str = "[experiment]\nname = \"some\"\nseed = 5\n[versions.old]\nbaseline = true\n[versions.new]\n\
    [benchmarks.sort-small]\ncommand = [\"true\"]\n[benchmarks.sort-large]\ncommand = [\"true\"]\n\
    [benchmarks.hash]\ncommand = [\"false\"]\n[repetitions]\nruns = 3\n[independence]\npolicy = \"any\"\n";

fn names(report: &Value) -> Vec<String> {
    let benchmarks = report["benchmarks"].as_array().expect("benchmarks").iter();
    benchmarks.map(|benchmark| benchmark["name"].as_str().expect("a name").to_owned()).collect()
}

/// The report of an experiment that is carried out.
fn measured(pool: &Pool, experiment: &str, flags: &[&str]) -> Value {
    eventually("it finishes", || pool.is_finished(experiment).then_some(()));
    pool.json(&[&["report", experiment], flags].concat()).expect("a report")
}

#[test]
fn benchmarks_are_chosen_by_name_in_plans_and_in_reports() {
    let pool = Pool::start(SPEEDUP, 2);
    let chosen = pool.submit(PLAN, &["--only", "sort-*"]);
    let report = measured(&pool, &chosen, &[]);
    assert_eq!(names(&report), ["sort-small", "sort-large"]);
    assert_eq!(
        (&report["head"]["selection"], &report["head"]["planned_runs"]),
        (&"--only 'sort-*'".into(), &12.into())
    );
    // Of a report some are shown, and what is said over all of them stays.
    let whole = measured(&pool, &chosen, &[]);
    let some = measured(&pool, &chosen, &["--only", "*large"]);
    assert_eq!(names(&some), ["sort-large"]);
    assert_eq!(some["suites"], whole["suites"]);
    let sentence = some["warnings"][0]["sentence"].as_str().expect("a caveat");
    assert!(sentence.starts_with("Only 1 of 2 "), "{sentence}");
    let text =
        String::from_utf8(pool.speedup(&["report", &chosen, "--only", "*large"]).stdout).expect("UTF-8");
    assert!(text.contains("sort-large") && !text.contains("sort-small"), "{text}");
    let file = pool.path().join("plan.toml").display().to_string();
    for refused in [["submit", &file, "--only", "srot-smal*"], ["report", &chosen, "--only", "sotr-large"]] {
        let output = pool.speedup(&refused);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("no benchmark matches") && said.contains("did you mean `sort-"), "{said}");
    }
}

#[test]
fn what_failed_is_measured_again_from_the_recorded_plan() {
    let pool = Pool::start(SPEEDUP, 2);
    let first = pool.submit(PLAN, &[]);
    measured(&pool, &first, &[]);
    std::fs::remove_file(pool.path().join("plan.toml")).expect("the plan is not needed again");
    let output = pool.speedup(&["submit", "--failed-of", &first, "--output", "json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let again = answer["experiment"].as_str().expect("an id");
    let report = measured(&pool, again, &[]);
    assert_eq!(names(&report), ["hash"]);
    assert_eq!(report["head"]["selection"], format!("--failed-of {first}"));
    assert_eq!((&report["head"]["planned_runs"], &report["mishaps"]["failed_runs"]), (&6.into(), &6.into()));
    assert_ne!(report["head"]["seed"], 5, "its order is its own");
    // Where nothing failed there is nothing to measure.
    let fine = pool.submit(PLAN, &["--only", "sort*"]);
    measured(&pool, &fine, &[]);
    let refused = pool.speedup(&["submit", "--failed-of", &fine]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("failed or was abandoned"), "{refused:?}");
}

#[test]
fn what_failed_on_this_machine_is_measured_again_there() {
    let home = tempfile::tempdir().expect("a directory");
    std::fs::write(home.path().join("plan.toml"), PLAN).expect("a plan");
    let speedup = |arguments: &[&str]| {
        let mut command = std::process::Command::new(SPEEDUP);
        command.current_dir(home.path()).env("XDG_STATE_HOME", home.path()).env_remove("SPEEDUP_COORDINATOR");
        command.args(arguments).output().expect("the command")
    };
    let report = |output: std::process::Output| -> Value {
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let first = report(speedup(&["run", "plan.toml", "--format", "json"]));
    assert_eq!(names(&first), ["sort-small", "sort-large", "hash"]);
    std::fs::remove_file(home.path().join("plan.toml")).expect("the plan is not needed again");
    let again = report(speedup(&["run", "--failed-of", "last", "--format", "json"]));
    assert_eq!(names(&again), ["hash"]);
    assert!(
        again["head"]["selection"].as_str().expect("words").starts_with("--failed-of "),
        "{}",
        again["head"]
    );
    // Of that no benchmark is fine, and of what is fine nothing is left.
    let fine = speedup(&["run", "--failed-of", "last", "--only", "sort*"]);
    assert_eq!(fine.status.code(), Some(2), "{}", String::from_utf8_lossy(&fine.stderr));
}
