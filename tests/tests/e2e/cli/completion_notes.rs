//! The guide's lines that tell a user when an experiment ends, typed word for word.

use std::{fs, os::unix::fs::PermissionsExt as _, os::unix::fs::symlink, path::Path, process::Command};

use speedup_tests::pool::Pool;

use crate::SPEEDUP;

const PLAN: &str = "[experiment]\nname = \"told\"\n[versions.old]\nbaseline = true\n[versions.new]\n\
    [benchmarks.b]\ncommand = [\"true\"]\n[repetitions]\nruns = 2\n[independence]\npolicy = \"any\"\n";

/// The blocks of the guide below this heading.
fn blocks() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").join("docs/cluster.md");
    let text = fs::read_to_string(page).expect("the page");
    let part = text.split_once("\n### Be told when it ends\n").expect("the heading").1;
    let part = part.split_once("\n## ").expect("the next").0;
    let blocks = part.split("\n```sh\n").skip(1);
    blocks.map(|rest| rest.split_once("\n```").expect("its end").0.to_owned()).collect()
}

/// Types lines on a desktop that writes its notes into a file; gives these.
fn noted(pool: &Pool, lines: &str) -> String {
    let (programs, notes) = (pool.path().join("bin"), pool.path().join("notes"));
    if !programs.is_dir() {
        fs::create_dir(&programs).expect("a directory");
        symlink(SPEEDUP, programs.join("speedup")).expect("the command");
        let desktop = programs.join("notify-send");
        fs::write(&desktop, format!("#!/bin/sh\necho \"$@\" >> {}\n", notes.display())).expect("a desktop");
        fs::set_permissions(&desktop, fs::Permissions::from_mode(0o755)).expect("a program");
    }
    let _ = fs::remove_file(&notes);
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").expect("a path"));
    let typed = Command::new("bash")
        .args(["--norc", "-u", "-c", lines])
        .env("PATH", path)
        .env("XDG_STATE_HOME", pool.path())
        .env("SPEEDUP_COORDINATOR", pool.url())
        .output()
        .expect("bash");
    let said = String::from_utf8_lossy(&typed.stderr).into_owned();
    fs::read_to_string(&notes).unwrap_or_else(|error| panic!("no note, {error}: {said}"))
}

#[test]
fn the_end_of_an_experiment_is_noted_as_the_guide_says() {
    let pool = Pool::start(SPEEDUP, 1);
    let blocks = blocks();
    let [one, each] = blocks.as_slice() else { panic!("two blocks: {blocks:?}") };
    pool.submit(PLAN, &[]);
    assert_eq!(noted(&pool, one), "speedup every run is measured\n");
    let note = noted(&pool, each);
    assert!(note.starts_with("speedup ") && note.contains("4 of 4 runs"), "{note}");
    pool.submit(&PLAN.replace("\"true\"", "\"false\""), &[]);
    assert_eq!(noted(&pool, each), "speedup runs failed, or it was cancelled\n");
    // No host is as fresh as this one wants it.
    pool.submit(&PLAN.replace("\"any\"", "\"distinct\""), &["--wait-for-hosts"]);
    let note = noted(&pool, &each.replace("--timeout 12h", "--timeout 1s"));
    assert!(note.contains("told (") && note.contains(" of b wait"), "{note}");
}
