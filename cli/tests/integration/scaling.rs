//! `speedup scaling` on files: numbers, forms and refusals.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Output};

/// The answer for times of Amdahl's law with a serial share of a tenth, on 1, 2 and 4 hosts.
fn scaling(arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    for (hosts, mean) in [(1, 100.0), (2, 55.0), (4, 32.5)] {
        let times: String =
            [0.98, 0.99, 1.0, 1.01, 1.02].map(|factor| format!("{}\n", factor * mean)).concat();
        std::fs::write(folder.path().join(format!("{hosts}.txt")), times).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_speedup"));
    command.arg("scaling").args(arguments).current_dir(folder.path()).output().unwrap()
}

#[test]
fn a_serial_share_is_found_in_files_whatever_their_order() {
    let output = scaling(&["4=4.txt", "1=1.txt", "2=2.txt", "--format", "json"]);
    assert!(output.status.success(), "{output:?}");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let version = &answer["versions"][0];
    let share = version["serial_share"]["estimate"].as_f64().unwrap();
    assert!((share - 0.1).abs() < 1e-9, "{share}");
    assert_eq!(version["rows"][2]["hosts"], 4);
    assert_eq!(version["rows"][2]["benchmark"], "4.txt");
    assert!((version["rows"][2]["mean"].as_f64().unwrap() - 32.5).abs() < 1e-9);
}

#[test]
fn the_answer_for_people_has_a_sentence_and_a_row_for_each_number_of_hosts() {
    let output = scaling(&["1=1.txt", "2=2.txt", "4=4.txt"]);
    let text = String::from_utf8(output.stdout).unwrap();
    // Lines are broken at the width of the terminal.
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    assert!(text.contains("3.08× ["), "{text}");
    assert!(text.contains("serial share of the"), "{text}");
    let page =
        String::from_utf8(scaling(&["1=1.txt", "2=2.txt", "--weak", "--format", "html"]).stdout).unwrap();
    assert!(page.contains("<svg class=\"panel\""), "{page}");
}

#[test]
fn what_makes_no_curve_is_refused() {
    for (arguments, words) in [
        (&["1=1.txt"][..], "two numbers of hosts"),
        (&["1=1.txt", "1=2.txt"], "must ascend"),
        (&["0=1.txt", "1=2.txt"], "not on 0"),
        (&["1=1.txt", "2=none.txt"], "cannot read none.txt"),
        (&["1=1.txt", "two=2.txt"], "such as 4=four.txt"),
    ] {
        let output = scaling(arguments);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(words), "{arguments:?}: {told}");
    }
}
