//! `speedup compare` as a user has it: the real binary on files of every kind.

mod answers;
mod designs;
mod files;
mod forms;
mod inputs;
mod others;
mod refusals;

use std::{fmt::Write as _, path::Path, path::PathBuf, process::Command, process::Output};

use serde_json::Value;

/// Each method with options that make it quick.
pub(crate) const METHODS: [&[&str]; 11] = [
    &["--method", "ratio", "--margin", "2%", "--quantile", "0.9"],
    &["--method", "speedup-test", "--adjust", "holm"],
    &["--method", "speedup-test", "--mode", "published"],
    &["--method", "hpt"],
    &["--method", "effect", "--threshold", "1%", "--bootstrap", "50", "--seed", "7"],
    &["--method", "mixture", "--resamples", "0"],
    &["--method", "distribution", "--at-most", "2", "--clusters"],
    &["--method", "signed-rank"],
    &["--method", "brunner-munzel"],
    &["--method", "earlier"],
    &["--method", "diagnostics"],
];

pub(crate) fn compare(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_speedup"));
    command.arg("compare").args(arguments).current_dir(directory).output().expect("the command")
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn json(directory: &Path, arguments: &[&str]) -> Value {
    let output = compare(directory, &[arguments, &["--format", "json"]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("one JSON value")
}

/// Exit code 2, an error, no panic.
pub(crate) fn refused(directory: &Path, arguments: &[&str]) -> String {
    let output = compare(directory, arguments);
    let said = without_formats(&stderr(&output));
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(said.starts_with("error: ") && !said.contains("panicked"), "{arguments:?}: {said}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    said
}

/// What is said besides what each file was taken for.
fn without_formats(said: &str) -> String {
    said.lines().skip_while(|line| line.contains(": read as ")).map(|line| format!("{line}\n")).collect()
}

pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

pub(crate) fn lines(values: impl IntoIterator<Item = f64>) -> String {
    values.into_iter().fold(String::new(), |mut text, value| {
        let _ = writeln!(text, "{value:e}");
        text
    })
}

/// Values that vary without a pattern and without ties.
pub(crate) fn varied(n: usize, mean: f64, spread: f64) -> impl Iterator<Item = f64> {
    let golden = 0.618_033_988_749_894_9;
    (1..=n).map(move |i| mean * (1.0 + spread * ((i as f64 * golden).fract() - 0.5)))
}
