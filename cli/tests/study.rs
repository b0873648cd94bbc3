//! `speedup study` as a user has it: the real binary.

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

fn study(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_speedup"));
    command.arg("study").args(arguments).output().expect("the command")
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// Each study with few and small experiments.
const STUDIES: [&[&str]; 6] = [
    &[
        "coverage",
        "--binaries",
        "3",
        "--one-binary",
        "4",
        "--draws",
        "20",
        "--runs",
        "6",
        "--benchmarks",
        "5",
    ],
    &["false-alarms", "--binaries", "3", "--one-binary", "4", "--draws", "20", "--runs", "6", "--suite", "6"],
    &["estimators", "--frameworks", "2", "--runs", "15"],
    &["bisection", "--commits", "8", "--runs", "24"],
    &["track", "--points", "20", "--blocks", "3"],
    &[
        "power",
        "--runs",
        "6",
        "--suite-runs",
        "3",
        "--mean-runs",
        "50",
        "--claim",
        "1.76",
        "--speedup",
        "1.1",
    ],
];

fn with<'a>(study: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [study, &["--replicates", "8"], more].concat()
}

#[test]
fn every_study_answers_in_three_forms() {
    for arguments in STUDIES {
        let json: Value =
            serde_json::from_str(&said(&study(&with(arguments, &["--format", "json"])))).unwrap();
        assert_eq!(json["schema_version"], 1);
        assert_eq!(json["study"], arguments[0].replace('-', "_"));
        assert_eq!(json["options"]["replication"]["seed"], 1, "the seed is said");
        let rows = json["rows"].as_array().expect("rows");
        let is_answered =
            |row: &Value| row["standard_error"].is_number() || row["unanswered"] == row["replicates"];
        assert!(rows.iter().all(is_answered), "{rows:?}");
        let csv = said(&study(&with(arguments, &["--format", "csv"])));
        assert_eq!(csv.lines().count(), rows.len() + 1, "{csv}");
        let table = said(&study(&with(arguments, &[])));
        assert!(table.contains("std error") && table.contains("seed 1"), "{table}");
    }
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    for arguments in STUDIES {
        let on = |threads: &str| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_speedup"));
            command.arg("study").args(with(arguments, &["--format", "json"]));
            said(&command.env("RAYON_NUM_THREADS", threads).output().expect("the command"))
        };
        assert_eq!(on("1"), on("3"), "{arguments:?}");
    }
}

#[test]
fn a_seed_gives_its_own_answer() {
    let of = |seed| said(&study(&with(STUDIES[0], &["--format", "csv", "--seed", seed])));
    assert_eq!(of("5"), of("5"));
    assert_ne!(of("5"), of("6"));
}

/// The signed rank of five pairs has no interval at 95 %.
#[test]
fn a_share_of_no_answers_is_left_out() {
    let none = ["coverage", "--section", "samples", "--runs", "5"];
    let csv = said(&study(&with(&none, &["--format", "csv"])));
    let line = csv.lines().find(|line| line.contains("pseudo_median")).expect("the method");
    assert!(line.contains("pseudo_median,,,0.95,8,8") && !csv.contains("NaN"), "{csv}");
    let json: Value = serde_json::from_str(&said(&study(&with(&none, &["--format", "json"])))).unwrap();
    let row =
        json["rows"].as_array().and_then(|rows| rows.iter().find(|row| row["method"] == "pseudo_median"));
    assert_eq!(row.map(|row| &row["share"]), Some(&Value::Null));
}

/// Each study its own, for one replicate of them costs what hundreds of another do.
#[test]
fn every_study_has_its_own_number_of_replicates() {
    for (name, replicates) in [
        ("coverage", 1000),
        ("false-alarms", 1000),
        ("power", 1000),
        ("estimators", 100),
        ("bisection", 200),
        ("track", 200),
    ] {
        let help = said(&study(&[name, "--help"]));
        let of_replicates = help.split("--replicates <N>").nth(1).expect("the option");
        let default = of_replicates.split("[default: ").nth(1).and_then(|text| text.split(']').next());
        assert_eq!(default, Some(replicates.to_string().as_str()), "{name}\n{help}");
    }
}

#[test]
fn what_cannot_be_simulated_is_refused_by_name() {
    for (arguments, named) in [
        (["coverage", "--replicates", "0"], "--replicates"),
        (["coverage", "--confidence", "95"], "--confidence"),
        (["coverage", "--distribution", "cauchy"], "none of normal, lognormal, gamma, bimodal"),
        (["coverage", "--section", "everything"], "none of levels, one_binary, samples, proportions"),
        (["coverage", "--levels", "1,2"], "--levels"),
        (["coverage", "--levels", "quake"], "Table VII"),
        (["coverage", "--levels", "0,0,0"], "variations of the levels"),
        (["coverage", "--binaries", "1"], "binaries must be 2 to 10000"),
        (["coverage", "--variation", "0.5"], "relative standard deviation"),
        (["coverage", "--effect", "NaN"], "effect size must be strictly between 0 and 10"),
        (["coverage", "--proportion", "1"], "proportion must be strictly between 0 and 1"),
        (["coverage", "--draws", "1000001"], "--draws"),
        (["false-alarms", "--threshold", "3"], "3 % is written 0.03"),
        (["false-alarms", "--runs", "1"], "runs must be 2 to 10000"),
        (["false-alarms", "--suite", "1"], "benchmarks of a suite"),
        (["estimators", "--metric", "modes"], "none of mean_difference"),
        (["estimators", "--mixture", "0.5:1:1"], "add up to 0.5"),
        (["estimators", "--mixture", "1:10"], "WEIGHT:MEAN:SD"),
        (["estimators", "--mixture", "1:10:1"], "given mixtures must be 2"),
        (["estimators", "--frameworks", "0"], "frameworks must be 1"),
        (["power", "--speedup", "0"], "true speedup must be strictly between"),
        (["power", "--claim", "0"], "speedup under test must be strictly between"),
        (["power", "--spread", "inf"], "spread"),
        (["power", "--mean-runs", "0"], "runs of a mean"),
    ] {
        let output = study(&arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.starts_with("error: ") && said.contains(named), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
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
