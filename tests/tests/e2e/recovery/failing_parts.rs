//! A part of the coordinator whose disk fails ends the process with the cause, and the next start has everything.

use std::{fs, process::Command};

use speedup_tests::{plan::trivial, pool::Pool, pool::eventually};

use crate::SPEEDUP;

/// Starts the coordinator of a pool anew, on a disk that fails in `part` once the file that is returned is there.
fn start_on_failing_disk(pool: &mut Pool, part: &str) -> std::path::PathBuf {
    let (library, failing) = (pool.path().join("failing.so"), pool.path().join("failing"));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/recovery/failing_parts.c");
    let mut compiler = Command::new("gcc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).args([source, "-ldl"]);
    assert!(compiler.status().expect("gcc").success());
    let variables = [
        format!("LD_PRELOAD={}", library.display()),
        format!("FAIL_PATH={}", pool.data().join(part).display()),
        format!("FAIL_WHILE={}", failing.display()),
    ];
    let starter: Vec<&str> = std::iter::once("env").chain(variables.iter().map(String::as_str)).collect();
    pool.stop_coordinator();
    pool.start_coordinator_by(&starter);
    failing
}

/// Gives the command's calls to the coordinator until that ends by itself; gives its exit code.
fn end(pool: &mut Pool, call: &[&str]) -> Option<i32> {
    let mut coordinator = pool.take_coordinator();
    let ended = eventually("the coordinator ends", || {
        // It fails as soon as its part has.
        pool.command().args(call).output().expect("the command");
        coordinator.try_wait().expect("a child")
    });
    ended.code()
}

#[test]
fn a_store_that_cannot_be_written_ends_the_coordinator_and_is_rebuilt() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let before = pool.finish(&trivial("before", 2));
    let export = pool.export(&before);
    let failing = start_on_failing_disk(&mut pool, "store");
    fs::write(&failing, "").expect("written");
    // The store writes when a buffer of its log is full, which takes some large plans.
    let large = pool.path().join("large.toml");
    fs::write(&large, trivial("large", 5_000)).expect("written");
    assert_eq!(end(&mut pool, &["submit", "--wait-for-hosts", large.to_str().expect("a path")]), Some(4));
    fs::remove_file(&failing).expect("removed");
    pool.start_coordinator();
    assert_eq!(pool.export(&before), export);
}

#[test]
fn admissions_that_cannot_be_written_end_the_coordinator() {
    let mut pool = Pool::start(SPEEDUP, 0);
    let failing = start_on_failing_disk(&mut pool, "access/journal");
    fs::write(&failing, "").expect("written");
    assert_eq!(end(&mut pool, &["token", "create", "--role", "agent"]), Some(4));
    fs::remove_file(&failing).expect("removed");
    pool.start_coordinator();
    pool.ok(&["token", "create", "--role", "agent"]);
}
