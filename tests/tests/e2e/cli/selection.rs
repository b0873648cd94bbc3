//! Some benchmarks of a plan: chosen by name, or because they failed; and some of a report.

use serde_json::Value;
use speedup_tests::{desk::Desk, output::refused, output::stderr, plan::plan, pool::Pool};

use crate::SPEEDUP;

fn plan_of_three() -> String {
    let benchmarks = "[benchmarks.sort-small]\ncommand = [\"true\"]\n[benchmarks.sort-large]\ncommand = [\"true\"]\n\
        [benchmarks.hash]\ncommand = [\"false\"]\n";
    plan("some", 3, "any", benchmarks)
}

fn names(report: &Value) -> Vec<String> {
    let benchmarks = report["benchmarks"].as_array().expect("benchmarks").iter();
    benchmarks.map(|benchmark| benchmark["name"].as_str().expect("a name").to_owned()).collect()
}

/// The report of an experiment that is carried out.
fn measured(pool: &Pool, experiment: &str, flags: &[&str]) -> Value {
    pool.wait_for(experiment);
    pool.json(&[&["report", experiment], flags].concat()).expect("a report")
}

#[test]
fn benchmarks_are_chosen_by_name_in_plans_and_in_reports() {
    let pool = Pool::start(SPEEDUP, 2);
    let chosen = pool.submit(&plan_of_three(), &["--only", "sort-*"]);
    let report = measured(&pool, &chosen, &[]);
    assert_eq!(names(&report), ["sort-small", "sort-large"]);
    assert_eq!(report["head"]["selection"], "--only 'sort-*'");
    assert_eq!(report["head"]["planned_runs"], 12);
    // Of a report some are shown, and what is said over all of them stays.
    let whole = measured(&pool, &chosen, &[]);
    let some = measured(&pool, &chosen, &["--only", "*large"]);
    assert_eq!(names(&some), ["sort-large"]);
    assert_eq!(some["suites"], whole["suites"]);
    let sentence = some["warnings"][0]["sentence"].as_str().expect("a caveat");
    assert!(sentence.starts_with("Only 1 of 2 "), "{sentence}");
    let text = pool.ok(&["report", &chosen, "--only", "*large"]);
    assert!(text.contains("sort-large") && !text.contains("sort-small"), "{text}");
    let file = pool.path().join("plan.toml").display().to_string();
    for refused in [["submit", &file, "--only", "srot-smal*"], ["report", &chosen, "--only", "sotr-large"]] {
        let said = pool.refused(&refused);
        assert!(said.contains("no benchmark matches") && said.contains("did you mean `sort-"), "{said}");
    }
}

#[test]
fn what_failed_is_measured_again_from_the_recorded_plan() {
    let pool = Pool::start(SPEEDUP, 2);
    let first = pool.submit(&plan_of_three(), &[]);
    measured(&pool, &first, &[]);
    std::fs::remove_file(pool.path().join("plan.toml")).expect("the plan is not needed again");
    let answer = pool.ok(&["submit", "--failed-of", &first, "--output", "json"]);
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    let again = answer["experiment"].as_str().expect("an id");
    let report = measured(&pool, again, &[]);
    assert_eq!(names(&report), ["hash"]);
    assert_eq!(report["head"]["selection"], format!("--failed-of {first}"));
    assert_eq!((&report["head"]["planned_runs"], &report["mishaps"]["failed_runs"]), (&6.into(), &6.into()));
    assert_ne!(report["head"]["seed"], 5, "its order is its own");
    // Where nothing failed there is nothing to measure.
    let fine = pool.submit(&plan_of_three(), &["--only", "sort*"]);
    measured(&pool, &fine, &[]);
    let said = pool.refused(&["submit", "--failed-of", &fine]);
    assert!(said.contains("failed or was abandoned"), "{said}");
}

#[test]
fn what_failed_on_this_machine_is_measured_again_there() {
    let desk = Desk::new(SPEEDUP);
    desk.write("plan.toml", plan_of_three());
    let speedup = |arguments: &[&str]| {
        desk.command(arguments).env_remove("SPEEDUP_COORDINATOR").output().expect("the command")
    };
    let report = |output: std::process::Output| -> Value {
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let first = report(speedup(&["run", "plan.toml", "--format", "json"]));
    assert_eq!(names(&first), ["sort-small", "sort-large", "hash"]);
    std::fs::remove_file(desk.path().join("plan.toml")).expect("the plan is not needed again");
    let again = report(speedup(&["run", "--failed-of", "last", "--format", "json"]));
    assert_eq!(names(&again), ["hash"]);
    let selection = again["head"]["selection"].as_str().expect("words");
    assert!(selection.starts_with("--failed-of "), "{selection}");
    // Of that no benchmark is fine, and of what is fine nothing is left.
    refused(&speedup(&["run", "--failed-of", "last", "--only", "sort*"]));
}
