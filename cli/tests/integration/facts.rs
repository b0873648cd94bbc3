//! `speedup agent facts` as a user has it: the real binary, on this host and on the files of others.

use std::{path::Path, path::PathBuf, process::Command, process::Output};

use serde_json::{Value, json};
use tempfile::TempDir;

fn facts(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_speedup"));
    command.args(["agent", "facts"]).args(arguments).output().expect("the command")
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// The files of a small machine.
fn machine(governor: &str, serial: &str) -> TempDir {
    let tree = tempfile::tempdir().expect("a directory");
    let write = |file: &str, text: &str| {
        let path = tree.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    write("proc/sys/kernel/osrelease", "6.1.0\n");
    write("sys/devices/system/cpu/online", "0\n");
    write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor);
    write("sys/devices/virtual/dmi/id/product_serial", serial);
    std::fs::create_dir_all(tree.path().join("proc/cmdline")).expect("a folder in place of a file");
    tree
}

fn root(tree: &TempDir) -> &str {
    tree.path().to_str().expect("UTF-8")
}

/// The facts of a machine, printed into a file.
fn printed(tree: &TempDir, folder: &Path) -> PathBuf {
    let file = folder.join("there.json");
    std::fs::write(&file, said(&facts(&["--sysroot", root(tree), "--format", "json"]))).expect("a file");
    file
}

#[test]
fn a_host_tells_what_it_is() {
    let answer: Value = serde_json::from_str(&said(&facts(&["--format", "json"]))).expect("JSON");
    let binary = std::fs::read(env!("CARGO_BIN_EXE_speedup")).expect("the command");
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a release");
    assert_eq!(answer["fingerprint"]["kernel.release"], release.trim());
    assert_eq!(answer["fingerprint"]["speedup.binary"], format!("BLAKE3 {}", blake3::hash(&binary).to_hex()));
    let again: Value = serde_json::from_str(&said(&facts(&["--format", "json"]))).expect("JSON");
    assert_eq!(answer, again, "what it is does not change");
}

#[test]
fn facts_are_values_absent_or_unreadable() {
    let tree = machine("performance\n", "SN1\n");
    let output = facts(&["--sysroot", root(&tree), "--format", "json"]);
    let answer: Value = serde_json::from_str(&said(&output)).expect("JSON");
    let fingerprint = &answer["fingerprint"];
    assert_eq!(fingerprint["cpu.governor"], "performance");
    assert_eq!(fingerprint.get("cpu.turbo"), Some(&Value::Null));
    let why = fingerprint["kernel.command_line"]["unreadable"].as_str().expect("a reason");
    assert!(why.starts_with("/proc/cmdline: "), "{why}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("1 fact "));

    let text = said(&facts(&["--sysroot", root(&tree)]));
    let line =
        |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{text}"));
    assert!(line("cpu.governor ").ends_with(" performance"));
    assert!(line("cpu.turbo ").ends_with(" (absent)"));
    assert!(line("kernel.command_line ").ends_with(&format!(" (unreadable: {why})")));
    assert_eq!(line("class "), format!("class {}", answer["class"].as_str().expect("a class")));
    let hardware = answer["hardware"]["id"].as_str().expect("an id");
    assert_eq!(line("hardware "), format!("hardware {hardware}, from product serial"));
    assert!(!text.contains("SN1"), "serial numbers stay on the host");
}

#[test]
fn another_host_is_compared() {
    let folder = tempfile::tempdir().expect("a directory");
    let (here, other) = (machine("performance\n", "SN1\n"), machine("powersave\n", "SN2\n"));
    let there = printed(&other, folder.path());
    let there = there.to_str().expect("UTF-8");
    let compared = facts(&["--sysroot", root(&here), "--against", there]);
    assert_eq!(compared.status.code(), Some(1));
    let text = String::from_utf8_lossy(&compared.stdout);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows, [vec!["fact", "here", "there"], vec!["cpu.governor", "performance", "powersave"]]);

    let compared = facts(&["--sysroot", root(&here), "--against", there, "--format", "json"]);
    assert_eq!(compared.status.code(), Some(1));
    let answer: Value = serde_json::from_slice(&compared.stdout).expect("JSON");
    let difference = json!({ "fact": "cpu.governor", "here": "performance", "there": "powersave" });
    assert_eq!(answer["differences"], json!([difference]));
    assert_eq!((&answer["is_one_class"], &answer["is_one_machine"]), (&json!(false), &json!(false)));
    assert_ne!(answer["here"], answer["there"]);

    let same = facts(&["--sysroot", root(&other), "--against", there]);
    assert!(said(&same).starts_with("No fact differs"));
    assert!(String::from_utf8_lossy(&same.stderr).contains("one machine"));
}

#[test]
fn what_is_no_facts_is_refused() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("there.json");
    let tree = machine("performance\n", "SN1\n");
    let refused = || {
        let path = file.to_str().expect("UTF-8");
        let output = facts(&["--sysroot", root(&tree), "--against", path]);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    assert!(refused().contains("cannot read"));
    std::fs::write(&file, "{}").expect("a file");
    assert!(refused().contains("`speedup agent facts --format json`"));
    std::fs::write(&file, r#"{"schema_version": 2, "fingerprint": {}, "hardware": {"id": null}}"#)
        .expect("a file");
    assert!(refused().contains("schema version 2;"));
    let many: serde_json::Map<String, Value> = (0..257).map(|fact| (fact.to_string(), Value::Null)).collect();
    let many = json!({ "schema_version": 1, "fingerprint": many, "hardware": { "id": null } });
    std::fs::write(&file, many.to_string()).expect("a file");
    assert!(refused().contains("257 facts"));

    let nowhere = facts(&["--sysroot", "/no/such/folder"]);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nowhere.stderr).contains("cannot read /no/such/folder"));
}
