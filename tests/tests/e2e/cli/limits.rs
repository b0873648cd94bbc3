//! Limits of the shell and full disks: a command that meets one ends with code 4, names it, and loses nothing.

use std::fs::{self, File, Permissions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::{fs::PermissionsExt as _, fs::chown, process::CommandExt as _};
use std::process::{Command, Stdio};

use speedup_tests::{
    desk::Desk, output::failed, output::said, output::succeeded, pool::eventually, process::Killed,
};

use crate::{SPEEDUP, recovery::failing_parts::asked_at};

/// A user who has no other processes.
const STRANGER: u32 = 48_151;
const BENCH: [&str; 5] = ["bench", "-N", "-r", "3", "true"];
const COORDINATOR: [&str; 6] = ["coordinator", "start", "--bind", "127.0.0.1:0", "--web", "off"];
const AGENT: [&str; 4] = ["agent", "start", "--coordinator", "http://127.0.0.1:1"];
/// The disk of the state directory, of one megabyte or of four.
const SMALL_DISK: &str = "mount -t tmpfs -o size=$SIZE tmpfs \"$XDG_STATE_HOME\" && exec \"$@\"";

/// The command by a shell that first does something.
fn after(desk: &Desk, first: &str, arguments: &[&str]) -> Command {
    let command = desk.command(arguments);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("{first} && exec \"$@\""), "sh"])
        .arg(command.get_program())
        .args(command.get_args());
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(desk.path());
    shell.stdin(Stdio::null());
    shell
}

#[test]
fn a_limit_of_the_shell_that_is_too_low_is_named_before_anything_starts() {
    let desk = Desk::new(SPEEDUP);
    for (limit, commands) in [
        ("-s 512", &[&BENCH[..], &COORDINATOR, &AGENT, &["list"]][..]),
        ("-n 20", &[&BENCH, &COORDINATOR, &AGENT]),
        ("-f 100", &[&BENCH, &COORDINATOR, &AGENT]),
        ("-v 200000", &[&BENCH, &COORDINATOR]),
    ] {
        for arguments in commands {
            let told =
                failed(&after(&desk, &format!("ulimit {limit}"), arguments).output().expect("a shell"), 4);
            assert!(
                told.contains("hint: raise it: `ulimit ") && !told.contains("panicked"),
                "{limit}: {told}"
            );
        }
    }
    assert!(!desk.path().join("state/speedup/local/journal").exists(), "nothing was started");
}

#[test]
fn what_is_just_enough_suffices() {
    let desk = Desk::new(SPEEDUP);
    for limit in ["-s 1024", "-n 64", "-f 2048"] {
        succeeded(&after(&desk, &format!("ulimit {limit}"), &BENCH).output().expect("a shell"));
    }
    // What starts nothing needs nothing of what a coordinator or an agent does.
    for limit in ["-n 20", "-f 0", "-v 200000"] {
        for arguments in [&["--help"][..], &["bench", "--help"], &["--version"]] {
            succeeded(&after(&desk, &format!("ulimit {limit}"), arguments).output().expect("a shell"));
        }
    }
}

#[test]
fn memory_that_is_used_up_later_ends_a_command_in_words() {
    let desk = Desk::new(SPEEDUP);
    for name in ["old", "new"] {
        fs::write(desk.path().join(name), "1\n".repeat(30_000_000)).expect("a file");
    }
    let compare = ["compare", "old", "new"];
    let told = failed(&after(&desk, "ulimit -v 150000", &compare).output().expect("a shell"), 4);
    assert!(told.contains("`ulimit -v`"), "{told}");
}

#[test]
fn a_limit_on_processes_is_named_and_ends_the_command() {
    if !rustix::process::geteuid().is_root() {
        return speedup_tests::skip("the processes of this user are not known");
    }
    let desk = Desk::new(SPEEDUP);
    let binary = desk.path().join("speedup");
    fs::copy(SPEEDUP, &binary).expect("a copy that every user can execute");
    fs::set_permissions(desk.path(), Permissions::from_mode(0o755)).expect("an open directory");
    chown(desk.path(), Some(STRANGER), Some(STRANGER)).expect("the stranger's directory");
    for limit in [2, 4, 12] {
        let first = format!("shift && set -- prlimit --nproc={limit} {} \"$@\"", binary.display());
        let mut command = after(&desk, &first, &BENCH);
        let told = failed(&command.uid(STRANGER).gid(STRANGER).output().expect("a shell"), 4);
        assert!(told.contains("`ulimit -u`") && !told.contains("panicked"), "{limit}: {told}");
    }
}

#[test]
fn a_full_disk_is_named_and_nothing_is_lost() {
    let allowed = Command::new("unshare").args(["-rm", "true"]).status();
    if !allowed.is_ok_and(|status| status.success()) {
        return speedup_tests::skip("this machine lets nobody mount a small disk");
    }
    let desk = Desk::new(SPEEDUP);
    fs::create_dir(desk.path().join("state")).expect("a directory");
    let on_disk = |size: &str, arguments: &[&str]| {
        let shell = after(&desk, SMALL_DISK, arguments);
        let mut command = Command::new("unshare");
        command.arg("-rm").arg(shell.get_program()).args(shell.get_args()).current_dir(desk.path());
        command.env("SIZE", size).env("XDG_STATE_HOME", desk.path().join("state")).stdin(Stdio::null());
        failed(&command.output().expect("a shell"), 4)
    };
    for arguments in [&BENCH[..], &COORDINATOR, &AGENT] {
        let told = on_disk("500k", arguments);
        assert!(told.contains("KiB are free on the disk of ") && told.contains("hint: make room"), "{told}");
    }
    // A program fills it, and never makes room by truncating what it wrote.
    let fill = "head -c 9000000 /dev/zero >> \"$XDG_STATE_HOME/full\"; true";
    let told = on_disk("4m", &["bench", "--env", "XDG_STATE_HOME", "-r", "300", fill]);
    assert!(told.contains("hint: make room") && !told.contains("panicked"), "{told}");
}

#[test]
fn a_disk_that_is_nearly_full_is_told_while_the_coordinator_goes_on() {
    let allowed = Command::new("unshare").args(["-rm", "true"]).status();
    if !allowed.is_ok_and(|status| status.success()) {
        return speedup_tests::skip("this machine lets nobody mount a small disk");
    }
    let desk = Desk::new(SPEEDUP);
    fs::create_dir(desk.path().join("state")).expect("a directory");
    for (size, code) in [("40m", "503"), ("120m", "200")] {
        let told = ["--metrics", "127.0.0.1:0", "--format", "json"];
        let shell = after(&desk, SMALL_DISK, &[&COORDINATOR[..], &told].concat());
        let mut command = Command::new("unshare");
        command.arg("-rm").arg(shell.get_program()).args(shell.get_args()).current_dir(desk.path());
        command.env("SIZE", size).env("XDG_STATE_HOME", desk.path().join("state")).stdin(Stdio::null());
        let mut coordinator = Killed(command.stdout(Stdio::piped()).spawn().expect("a coordinator"));
        let mut line = String::new();
        let output = coordinator.0.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let started: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let url = started["metrics"].as_str().expect("an address");
        let address = url.replace("http://", "").replace("/metrics", "");
        let health = asked_at(&address, "/healthz");
        assert!(health.starts_with(&format!("HTTP/1.1 {code}")), "{size}: {health}");
        assert_eq!(health.contains("is nearly full"), code == "503", "{size}: {health}");
        assert!(asked_at(&address, "/livez").starts_with("HTTP/1.1 200"), "it goes on");
    }
}

#[test]
fn a_log_that_cannot_be_written_ends_no_service() {
    let desk = Desk::new(SPEEDUP);
    let mut command = desk.command(&COORDINATOR);
    let full = File::options().write(true).open("/dev/full").expect("a full disk");
    let mut coordinator = command.stderr(full).spawn().expect("a coordinator");
    eventually("it serves", || {
        let listed = desk.speedup(&["list"]);
        assert_eq!(coordinator.try_wait().expect("its state"), None, "{}", said(&listed));
        listed.status.success().then_some(())
    });
    coordinator.kill().and_then(|()| coordinator.wait()).expect("its end");
}
