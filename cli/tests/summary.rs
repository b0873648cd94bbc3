//! `speedup compare --output md`: what goes into the summary of a job.

use std::fs;
use std::process::Command;

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
        .args(["compare", "old.csv", "new.csv", "newest.csv", "--output", "md"])
        .current_dir(folder.path());
    let output = command.output().expect("the command");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        said.starts_with("# ")
            && said.contains("\n- new.csv is faster than old.csv: ")
            && said.contains("\n- newest.csv is faster than old.csv: "),
        "{said}"
    );
    let rows: Vec<&str> = said.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 2 + 2, "a row a candidate:\n{said}");
    assert!(rows[2].contains("a\\|b &lt;i&gt;"), "{said}");
    let columns = |row: &str| row.replace("\\|", "").matches('|').count();
    assert!(rows.iter().all(|row| columns(row) == columns(rows[0])), "{said}");
}
