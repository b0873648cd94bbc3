//! Agents of commands that are killed: none outlives its command, and the next command works.

use std::{os::fd::OwnedFd, path::Path, process::Command, process::Stdio, time::Duration};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use speedup_tests::{output::succeeded, pool::eventually, process::Process};

use crate::SPEEDUP;

/// Commands that are killed on each directory, one after the other.
const KILLS: u32 = 50;
/// Directories, each with a thread of this test.
const DIRECTORIES: u32 = 4;
/// After how many kills a command is left to end by itself.
const KILLS_BETWEEN: u32 = 10;
/// How often it is looked whether a command has forked.
const GLANCE: Duration = Duration::from_micros(100);
/// How long after the fork of its agent the last command is killed; the first is killed at once.
const LATEST: Duration = Duration::from_millis(10);

fn bench(directory: &Path) -> Command {
    let mut command = Command::new(SPEEDUP);
    command.args(["bench", "-N", "-r", "2", "true"]).current_dir(directory).stdin(Stdio::null());
    command.env("XDG_STATE_HOME", directory).env("NO_COLOR", "1").env_remove("SPEEDUP_COORDINATOR");
    command
}

fn process(id: &str) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(id.parse().ok()?)?, PidfdFlags::empty()).ok()
}

/// Kills a command so long after the fork of its agent, and waits for the end of both.
fn kill_after(delay: Duration, directory: &Path) {
    let mut command =
        bench(directory).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a command");
    let agents = loop {
        assert_eq!(command.try_wait().expect("a child"), None, "it ended before it had an agent");
        let children = Process::of(&command).children();
        if !children.is_empty() {
            break children;
        }
        std::thread::sleep(GLANCE);
    };
    let agents: Vec<OwnedFd> = agents.iter().filter_map(|id| process(id)).collect();
    std::thread::sleep(delay);
    command.kill().expect("SIGKILL");
    command.wait().expect("its end");
    eventually(&format!("the agent of a command ends that was killed {delay:?} after its fork"), || {
        let mut ends: Vec<PollFd<'_>> =
            agents.iter().map(|agent| PollFd::new(agent, PollFlags::IN)).collect();
        let ended = poll(&mut ends, Some(&Timespec::default())).expect("poll");
        (ended == agents.len()).then_some(())
    });
}

#[test]
fn no_agent_outlives_a_command_that_is_killed_right_after_the_fork() {
    std::thread::scope(|scope| {
        for first in 0..DIRECTORIES {
            scope.spawn(move || {
                let directory = tempfile::tempdir().expect("a directory");
                for kill in 0..KILLS {
                    kill_after(
                        LATEST * (kill * DIRECTORIES + first) / (KILLS * DIRECTORIES),
                        directory.path(),
                    );
                    if kill % KILLS_BETWEEN == KILLS_BETWEEN - 1 {
                        succeeded(&bench(directory.path()).output().expect("a command"));
                    }
                }
            });
        }
    });
}
