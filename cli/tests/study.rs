//! `speedup study pool` as a user has it: the real binary.

use std::{fmt::Write as _, fs, process::Command, process::Output};

use serde_json::Value;

fn study(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_speedup"));
    command.arg("study").args(arguments).output().expect("the command")
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// Runs of hosts that differ by far more than runs of one host do.
fn unlike_hosts() -> String {
    let golden = 0.618_033_988_749_894_9;
    let mut text = "host,seconds\n".to_owned();
    for host in 0..10_u32 {
        for run in 0..5_u32 {
            let seconds = 2.0
                + 0.2 * (f64::from(host + 1) * golden).fract()
                + 0.01 * (f64::from(5 * host + run + 1) * golden).fract();
            let _ = writeln!(text, "h{host},{seconds}");
        }
    }
    text
}

#[test]
fn a_pool_alarms_as_promised_by_runs_and_more_often_by_unlike_hosts() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pool.csv");
    fs::write(&file, unlike_hosts()).unwrap();
    let pool = ["pool", file.to_str().unwrap(), "--column", "seconds"];
    let answer = |more: &[&str]| -> Value {
        serde_json::from_str(&said(&study(&[&pool[..], more, &["--format", "json"]].concat()))).unwrap()
    };
    let by_runs = answer(&[]);
    assert_eq!((&by_runs["schema_version"], &by_runs["units"]), (&1.into(), &50.into()));
    let by_hosts = answer(&["--run-column", "host"]);
    assert_eq!((&by_hosts["units"], &by_hosts["values"]), (&10.into(), &50.into()));
    for test in 0..2 {
        let rate = |answer: &Value| answer["tests"][test]["rate"].as_f64().unwrap();
        assert!(rate(&by_runs) < 0.09, "{by_runs}");
        assert!(rate(&by_hosts) > 0.2, "{by_hosts}");
        let factor = by_runs["tests"][test]["detectable"]["factor"].as_f64().unwrap();
        assert!((1.001..1.2).contains(&factor), "{by_runs}");
    }
    assert_eq!(answer(&["--seed", "2"])["tests"].as_array().unwrap().len(), 2);
}

#[test]
fn what_is_no_pool_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let three = file("three", "1\n2\n3\n".to_owned());
    let equal = file("equal", "1.5\n".repeat(9));
    let many = file("many", (0..10_001).fold(String::new(), |text, i| format!("{text}{}\n", 1 + i % 7)));
    let zero = file("zero", "1\n0\n2\n3\n".to_owned());
    for (arguments, words) in [
        (vec![], "there is no pool"),
        (vec![three.as_str()], "at least 4 runs"),
        (vec![equal.as_str()], "do not vary"),
        (vec![zero.as_str()], "not positive"),
        (vec![many.as_str()], "make fewer splits"),
        (vec![many.as_str(), "--splits", "0"], "between 1 and"),
        (vec![many.as_str(), "--splits", "10", "--power", "1"], "a power must be strictly"),
        (vec![three.as_str(), equal.as_str()], "a pool is of one version"),
    ] {
        let output = study(&[&["pool"], &arguments[..]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(words) && !said.contains("panicked"), "{arguments:?}: {said}");
    }
}
