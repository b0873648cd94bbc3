//! What commands say.

use std::process::Output;

/// What a command printed on standard output.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// What a command printed on standard error.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// All that a command printed.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(output)
}

/// What a command that has to succeed printed on standard output.
#[track_caller]
pub fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}: {}", output.status, said(output));
    stdout(output)
}

/// All that a command printed that has to end with this code.
#[track_caller]
pub fn ended(output: &Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code), "{}", said(output));
    said(output)
}

/// What a command that has to end with this code printed on standard error.
#[track_caller]
pub fn failed(output: &Output, code: i32) -> String {
    ended(output, code);
    stderr(output)
}

/// What a command that has to be refused printed on standard error.
#[track_caller]
pub fn refused(output: &Output) -> String {
    failed(output, 2)
}

/// The lines of an export as JSON.
pub fn json_lines(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}
