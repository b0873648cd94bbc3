//! Gates by exit code, as a script sees them.

use speedup_tests::{desk::Desk, output::stderr};

use crate::SPEEDUP;

/// What a command ended with, and what it said on standard error.
fn ended(desk: &Desk, arguments: &[&str]) -> (Option<i32>, String) {
    let output = desk.speedup(arguments);
    (output.status.code(), stderr(&output))
}

/// A table of three benchmarks, each of 24 runs that spread by 1 %; `grep` takes as many times as long as is said.
fn write_table(desk: &Desk, file: &str, grep: f64) {
    let mut text = "benchmark,value\n".to_owned();
    for (benchmark, level) in [("sort", 1.0), ("grep", 2.0 * grep), ("awk", 3.0)] {
        for run in 0..24_u32 {
            // Every value of 0..24 once, in a shuffled order.
            let spread = f64::from((run * 7 + 3) % 24) / 2400.0;
            text += &format!("{benchmark},{}\n", level * (1.0 + spread));
        }
    }
    desk.write(file, text);
}

fn desk() -> Desk {
    let desk = Desk::new(SPEEDUP);
    write_table(&desk, "before.csv", 1.0);
    write_table(&desk, "same.csv", 1.0);
    write_table(&desk, "slower.csv", 1.05);
    desk
}

#[test]
fn compare_fails_by_the_gates_that_were_asked_for() {
    let desk = desk();
    let compare = |more: &[&str]| ended(&desk, &[&["compare", "before.csv"], more].concat());
    assert_eq!(compare(&["slower.csv"]).0, Some(0), "without a gate a verdict is no failure");

    let (code, said) = compare(&["slower.csv", "--fail-on-regression"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("--fail-on-regression: "), "{said}");
    assert!(said.contains("slower.csv on grep: slower, 0.9"), "{said}");
    assert!(!said.contains("on sort"), "{said}");

    let (code, said) = compare(&["slower.csv", "--fail-on-regression", "--noise-threshold", "10%"]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = compare(&["slower.csv", "--fail-on-regression", "--noise-threshold", "2%"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("slower by more than 2"), "{said}");

    let (code, said) = compare(&["same.csv", "--fail-on-regression"]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = compare(&["same.csv", "--require-conclusive"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("same.csv on awk: undecided"), "{said}");
    let (code, said) = compare(&["same.csv", "--require-conclusive", "--noise-threshold", "5%"]);
    assert_eq!(code, Some(0), "within the threshold no difference is decided: {said}");
    // What was shown weighs more than what was not.
    let (code, said) = compare(&["slower.csv", "--require-conclusive", "--fail-on-regression"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("--require-conclusive: undecided"), "{said}");
}

#[test]
fn gates_that_cannot_fail_are_refused() {
    let desk = desk();
    let compare = |more: &[&str]| ended(&desk, &[&["compare", "before.csv", "slower.csv"], more].concat());
    for (more, said_of) in [
        (&["--noise-threshold", "1%"][..], "--noise-threshold"),
        (&["--fail-on-regression", "--method", "diagnostics"], "gives no verdict"),
        (&["--fail-on-regression", "--method", "earlier"], "asks only whether"),
        (&["--fail-on-regression", "-m", "speedup-test", "--mode", "published"], "asks only whether"),
        (&["--fail-on-regression", "--noise-threshold", "100%"], "at least 0"),
    ] {
        let (code, said) = compare(more);
        assert_eq!(code, Some(2), "{more:?}: {said}");
        assert!(said.contains(said_of), "{more:?}: {said}");
    }
    // The method effect had the option before there were gates, for a threshold of its own.
    let (code, said) = compare(&["--method", "effect", "--noise-threshold", "1%"]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = compare(&["--method", "effect", "--threshold", "2%", "--fail-on-regression"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("slower by more than 2"), "{said}");
}

#[test]
fn bench_and_its_report_fail_on_a_regression() {
    let desk = Desk::new(SPEEDUP);
    let slow = ["sleep 0.001", "sleep 0.3"];
    let bench = |commands: &[&str; 2]| {
        let arguments = ["bench", "-r", "8", "--seed", "1", "--fail-on-regression", commands[0], commands[1]];
        ended(&desk, &arguments)
    };
    let (code, said) = bench(&slow);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("--fail-on-regression: "), "{said}");
    let data = desk.path().join("state/speedup/local").display().to_string();
    let report = |more: &[&str]| ended(&desk, &[&["report", "last", "--data", &data], more].concat());
    assert_eq!(report(&[]).0, Some(0));
    let (code, said) = report(&["--fail-on-regression"]);
    assert_eq!(code, Some(1), "{said}");
    let (code, said) = report(&["--fail-on-regression", "--require-conclusive", "--noise-threshold", "1%"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(!said.contains("--require-conclusive"), "a regression is decided: {said}");
    let (code, said) = bench(&[slow[1], slow[0]]);
    assert_eq!(code, Some(0), "{said}");
}
