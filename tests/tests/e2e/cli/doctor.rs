//! `speedup doctor` on what is set up well, and on what is not.

use std::{net::TcpListener, os::unix::fs::PermissionsExt as _};

use serde_json::Value;
use speedup_tests::{output::stderr, pool::Pool};

use crate::SPEEDUP;

/// What it finds, and its exit code.
fn findings(pool: &Pool, flags: &[&str]) -> (Vec<Value>, Option<i32>) {
    let output = pool.speedup(&[&["doctor", "--format", "json"], flags].concat());
    let found: Vec<Value> =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    (found, output.status.code())
}

fn finding<'a>(found: &'a [Value], check: &str) -> &'a Value {
    found.iter().find(|finding| finding["check"] == check).unwrap_or_else(|| panic!("{check}: {found:?}"))
}

#[test]
fn what_is_wrong_is_told_with_what_to_do_and_by_the_exit_code() {
    let pool = Pool::without_agents(SPEEDUP);
    let data = pool.data().display().to_string();
    let state = pool.path().display().to_string();
    let mode = std::fs::Permissions::from_mode;
    std::fs::set_permissions(pool.data(), mode(0o700)).expect("permissions");

    let (found, code) = findings(&pool, &["--data", &data, "--state", &state]);
    for check in ["coordinator", "certificate", "clock", "release", "address"] {
        assert_eq!(finding(&found, check)["verdict"], "fine", "{found:?}");
    }
    assert!(finding(&found, "address")["words"].as_str().is_some_and(|words| words.contains("runs")));
    // A slow disk, and groups that cannot be written, are worth a warning.
    for check in ["data directory", "control groups"] {
        assert_ne!(finding(&found, check)["verdict"], "wrong", "{found:?}");
    }
    let is_wrong = found.iter().any(|finding| finding["verdict"] == "wrong");
    assert_eq!(code, Some(i32::from(is_wrong)), "{found:?}");

    // A directory of a coordinator that does not run, whose address another program has.
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let idle = tempfile::tempdir().expect("a directory");
    let idle = idle.path().display().to_string();
    let (found, code) = findings(&pool, &["--data", &idle, "--bind", &address]);
    let wrong = finding(&found, "address");
    assert_eq!((&wrong["verdict"], code), (&"wrong".into(), Some(1)), "{found:?}");
    assert!(wrong["hint"].as_str().is_some_and(|hint| hint.contains("--bind")), "{wrong}");

    std::fs::set_permissions(pool.access_file(), mode(0o644)).expect("permissions");
    let (found, code) = findings(&pool, &[]);
    let wrong = finding(&found, "access file");
    assert_eq!((&wrong["verdict"], code), (&"wrong".into(), Some(1)), "{found:?}");
    assert!(wrong.to_string().contains("chmod 600"), "{wrong}");
}
