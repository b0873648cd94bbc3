//! Where programs run: on a disk of the host, whatever the state directory is on. The network file system is a real one, sshfs,
//! which reaches its server without a network.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use speedup_tests::{ledger::Row, plan::plan, pool::Pool};

use crate::{SPEEDUP, files::software::lacks};

const SFTP_SERVER: &str = "/usr/lib/openssh/sftp-server";

/// A directory that is a mount of sshfs until this is dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn at(directory: &Path, beside: &Path) -> Self {
        fs::create_dir_all(beside).expect("a directory of the server");
        fs::create_dir_all(directory).expect("a mount point");
        let ssh = beside.with_extension("ssh");
        fs::write(&ssh, format!("#!/bin/sh\nexec {SFTP_SERVER}\n")).expect("a script");
        fs::set_permissions(&ssh, Permissions::from_mode(0o755)).expect("an executable one");
        let served = format!("server:{}", beside.display());
        let command = format!("ssh_command={}", ssh.display());
        let mounted = Command::new("sshfs").args([&served, "-o", &command]).arg(directory).status();
        assert!(mounted.is_ok_and(|status| status.success()), "sshfs mounts: .ci/packages installs it");
        Self(directory.to_owned())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// Measures a plan of this benchmark, on whatever hosts.
fn measured(pool: &Pool, benchmark: &str) -> (String, Vec<Row>) {
    let experiment = pool.finish(&plan("scratch", 2, "any", &format!("[benchmarks.look]\n{benchmark}\n")));
    let rows = pool.ledger(&experiment).rows;
    assert!(rows.iter().all(|row| row["outcome"] == "measured"), "{rows:?}");
    (experiment, rows)
}

fn kinds(rows: &[Row]) -> BTreeSet<&str> {
    rows.iter().map(|row| row["file_system"].as_str()).collect()
}

fn is_told(pool: &Pool, experiment: &str) -> bool {
    let report = pool.json(&["report", experiment]).expect("a report");
    let warnings = report["warnings"].as_array().expect("a list").clone();
    let about = warnings.iter().find(|warning| warning["code"] == "network_file_system");
    about.inspect(|warning| assert_eq!(warning["concerns"], serde_json::json!(["look"]))).is_some()
}

#[test]
fn programs_run_on_a_local_disk_where_the_state_is_on_none() {
    if lacks("sshfs", "sshfs") {
        return;
    }
    let mut pool = Pool::without_agents(SPEEDUP);
    let state = pool.agent_state(0);
    let mounted = Mounted::at(&state, &pool.path().join("server"));
    pool.add_agent();
    pool.wait_for_hosts(1);
    let (experiment, rows) = measured(&pool, "shell = \"test -e {input}\"");
    assert!(!kinds(&rows).contains("fuse.sshfs") && !kinds(&rows).contains(""), "{:?}", kinds(&rows));
    assert!(!is_told(&pool, &experiment));
    assert!(state.join("outbox").exists() && !state.join("experiments").exists(), "they are apart");
    // A directory of the plan's own is wherever the plan says.
    let own = state.join("shared");
    fs::create_dir(&own).expect("a directory");
    let (experiment, rows) =
        measured(&pool, &format!("command = [\"true\"]\ndirectory = \"{}\"", own.display()));
    assert_eq!(kinds(&rows), ["fuse.sshfs"].into());
    assert!(is_told(&pool, &experiment));
    drop(pool);
    drop(mounted);
}

#[test]
fn the_owner_says_where_and_is_warned_of_a_network() {
    if lacks("sshfs", "sshfs") {
        return;
    }
    let mut pool = Pool::without_agents(SPEEDUP);
    let shared = pool.path().join("shared");
    let mounted = Mounted::at(&shared, &pool.path().join("server"));
    pool.add_agent_with(&["--scratch", shared.to_str().expect("UTF-8")]);
    pool.wait_for_hosts(1);
    let (experiment, rows) = measured(&pool, "command = [\"true\"]");
    assert_eq!(kinds(&rows), ["fuse.sshfs"].into());
    assert!(is_told(&pool, &experiment));
    let own: Vec<_> = fs::read_dir(&shared).expect("the place").flatten().collect();
    let name = own[0].file_name().into_string().expect("UTF-8");
    assert!(own.len() == 1 && name.starts_with("speedup-"), "{name}");
    assert!(own[0].path().join("files").is_dir(), "the cache is there too");
    let agent = pool.agent_state(0);
    let log = pool.logged(agent.file_name().and_then(|name| name.to_str()).expect("the agent's name"));
    assert!(log.contains("not a disk") && log.contains("--scratch"), "{log}");
    drop(pool);
    drop(mounted);
}
