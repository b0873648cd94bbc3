//! `speedup compare --format md -o FILE`: what goes into the summary of a job.

use std::{fs, process::Command};

#[test]
fn markdown_says_the_same_of_more_than_two_versions() {
    let folder = tempfile::tempdir().expect("a directory");
    for (name, offset) in [("old", 100), ("new", 90), ("newest", 80)] {
        let lines: String = (0..40).map(|run| format!("a|b <i>,{}\n", offset + run % 7)).collect();
        fs::write(folder.path().join(format!("{name}.csv")), format!("benchmark,value\n{lines}"))
            .expect("a file");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_speedup"));
    command
        .args(["compare", "old.csv", "new.csv", "newest.csv", "--format", "md"])
        .current_dir(folder.path());
    let output = command.output().expect("the command");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.starts_with("# ") && said.contains("\n- new.csv is faster"), "{said}");
    assert!(said.contains("\n- newest.csv is faster"), "{said}");
    let rows: Vec<&str> = said.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 2 + 2, "a row a candidate:\n{said}");
    assert!(rows[2].contains("a\\|b &lt;i&gt;"), "{said}");
    let columns = |row: &str| row.replace("\\|", "").matches('|').count();
    assert!(rows.iter().all(|row| columns(row) == columns(rows[0])), "{said}");
}

#[test]
fn an_answer_goes_to_a_file_which_only_an_answer_replaces() {
    let folder = tempfile::tempdir().expect("a directory");
    for (name, offset) in [("old.txt", 100), ("new.txt", 90)] {
        let lines: String = (0..40).map(|run| format!("{}\n", offset + run % 7)).collect();
        fs::write(folder.path().join(name), lines).expect("a file");
    }
    let compare = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_speedup"));
        command.arg("compare").args(arguments).current_dir(folder.path()).output().expect("the command")
    };
    let printed = compare(&["old.txt", "new.txt", "--format", "csv"]);
    let to_file = compare(&["old.txt", "new.txt", "--format", "csv", "-o", "answer"]);
    assert!(to_file.status.success() && to_file.stdout.is_empty(), "{to_file:?}");
    let answer = || fs::read(folder.path().join("answer")).expect("the answer");
    assert_eq!(answer(), printed.stdout);
    let refused = compare(&["old.txt", "absent.txt", "-o", "answer"]);
    assert_eq!((refused.status.code(), answer()), (Some(2), printed.stdout.clone()));
    let gated = compare(&["new.txt", "old.txt", "--fail-on-regression", "--format", "json", "-o", "answer"]);
    assert_eq!(gated.status.code(), Some(1), "{gated:?}");
    assert!(answer().starts_with(b"{"), "a gate that fails has an answer");
    let nowhere = compare(&["old.txt", "new.txt", "-o", "absent/answer"]);
    assert_eq!(nowhere.status.code(), Some(2), "{nowhere:?}");
    assert_eq!(fs::read_dir(folder.path()).expect("the directory").count(), 3, "no half of a file stays");
    // Release 0.1.0 named the form by --output.
    let old = compare(&["old.txt", "new.txt", "--output", "csv"]);
    assert_eq!(old.stdout, printed.stdout);
    assert!(String::from_utf8_lossy(&old.stderr).contains("`--format csv`"), "{old:?}");
}
