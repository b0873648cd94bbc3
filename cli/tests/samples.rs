//! `speedup samples` as a user has it: the real binary.

use std::process::{Command, Output};

use serde_json::Value;

fn benchmarks(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_speedup"));
    command.args(["samples", "benchmarks"]).args(arguments).output().expect("the command")
}

fn json(arguments: &[&str]) -> Value {
    let output = benchmarks(&[arguments, &["--output", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON value")
}

#[test]
fn the_papers_example_takes_378_benchmarks() {
    // 000 §5, example 4.
    let answer = json(&["--proportion", "17/30", "--precision", "0.05", "--confidence", "0.95"]);
    assert_eq!(answer["benchmarks_needed"], 378);
    // 000 §6.3.2, from three of four.
    assert_eq!(json(&["--proportion", "0.75"])["benchmarks_needed"], 289);
    let said = benchmarks(&["--proportion", "17/30"]).stdout;
    assert!(String::from_utf8_lossy(&said).contains("Wald (published)           378"), "{said:?}");
}

#[test]
fn a_finite_population_takes_fewer_and_never_more_than_it_has() {
    let of = |population: &str| json(&["--proportion", "17/30", "--population", population]);
    // Cochran §4.4: n₀N/(n₀ + N − 1).
    assert_eq!(of("378")["benchmarks_needed"], 190);
    assert_eq!(of("1")["benchmarks_needed"], 1);
    assert_eq!(of("1")["benchmarks_needed_by_wilson"], 1);
    assert_eq!(of("1000000000000")["benchmarks_needed"], 378);
}

#[test]
fn the_published_formula_is_silent_at_the_ends_and_wilson_is_not() {
    let answer = json(&["--proportion", "1"]);
    assert_eq!(answer["benchmarks_needed"], Value::Null);
    assert_eq!(answer["benchmarks_needed_by_wilson"], 35);
}

#[test]
fn what_is_no_fraction_is_refused() {
    for arguments in [
        ["--proportion", "17/0"],
        ["--proportion", "0/0"],
        ["--proportion", "31/30"],
        ["--proportion", "NaN"],
        ["--proportion", "many"],
        ["--precision", "0"],
        ["--precision", "1"],
        ["--precision", "NaN"],
        ["--confidence", "1"],
        ["--confidence", "95"],
        ["--population", "0"],
        ["--population", "-3"],
    ] {
        let output = benchmarks(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.starts_with("error: ") && !said.contains("panicked"), "{said}");
    }
}
