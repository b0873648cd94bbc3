//! Rebooting: the command by which the host's owner lets it boot anew, and the wait for the host to go down.
//!
//! The command is the owner's, so it executes as the agent itself, with its environment: nothing of a plan goes into it.

use std::{process::Child, process::Command, process::ExitStatus, process::Stdio, time::Duration};

use std::os::unix::process::CommandExt as _;

use rustix::process::{Pid, Signal, kill_process_group};
use thiserror::Error;
use tokio::time::Instant;

use crate::stop::Stop;

/// How often the agent looks whether the command has ended.
const LOOK: Duration = Duration::from_millis(100);

/// How this host is made to boot anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RebootCommand {
    /// The argument vector; not empty.
    pub command: Vec<String>,
    /// How long the host may take to go down from the command's start, services that end included.
    pub patience: Duration,
}

/// Why a host did not boot anew.
#[derive(Debug, Error)]
pub(crate) enum RebootError {
    #[error("{command:?} cannot be started")]
    NotStarted { command: String, source: std::io::Error },
    #[error("cannot wait for {command:?}")]
    NotWatched { command: String, source: std::io::Error },
    #[error("{command:?} failed: {status}")]
    Failed { command: String, status: ExitStatus },
    #[error("the host is still up {patience:?} after {command:?} was started")]
    StillUp {
        command: String,
        /// How long was waited.
        patience: Duration,
    },
}

impl RebootCommand {
    /// Executes the command and waits until the host goes down, which ends this process: it returns without an error
    /// only when the agent is asked to stop.
    pub(crate) async fn execute(&self, stop: &mut Stop) -> Result<(), RebootError> {
        let name = || self.command.first().cloned().unwrap_or_default();
        let deadline = Instant::now() + self.patience;
        let mut child = self.start().map_err(|source| RebootError::NotStarted { command: name(), source })?;
        let mut is_done = false;
        while Instant::now() < deadline {
            tokio::select! {
                () = stop.wished() => return Ok(()),
                () = tokio::time::sleep(LOOK) => {}
            }
            if is_done {
                continue;
            }
            match child.try_wait() {
                Ok(None) => {}
                Ok(Some(status)) if status.success() => is_done = true,
                Ok(Some(status)) => return Err(RebootError::Failed { command: name(), status }),
                Err(source) => return Err(RebootError::NotWatched { command: name(), source }),
            }
        }
        if !is_done {
            end(child);
        }
        Err(RebootError::StillUp { command: name(), patience: self.patience })
    }

    /// What it prints goes into the agent's log. It has a process group of its own, to be ended with what it started.
    fn start(&self) -> std::io::Result<Child> {
        let (program, arguments) = self.command.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
        command.process_group(0).spawn()
    }
}

fn end(mut child: Child) {
    if let Err(errno) = kill_process_group(Pid::from_child(&child), Signal::KILL) {
        tracing::warn!("cannot end the command that should have rebooted this host: {errno}");
        return;
    }
    if let Err(error) = child.wait() {
        tracing::warn!("cannot wait for the command that should have rebooted this host: {error}");
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Executes it; gives what it said, and how long that took.
    fn executed(command: &[&str], patience: Duration) -> (Result<(), RebootError>, Duration) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let reboot =
                RebootCommand { command: command.iter().map(ToString::to_string).collect(), patience };
            let begun = Instant::now();
            let done = reboot.execute(&mut Stop::listen().unwrap()).await;
            (done, begun.elapsed())
        })
    }

    fn shell(line: &str, patience: Duration) -> Result<(), RebootError> {
        executed(&["sh", "-c", line], patience).0
    }

    #[test]
    fn a_command_that_fails_is_told_at_once() {
        let long = Duration::from_secs(3_600);
        let failed = shell("exit 3", long);
        assert!(
            matches!(&failed, Err(RebootError::Failed { status, .. }) if status.code() == Some(3)),
            "{failed:?}"
        );
        let missing = executed(&["/nonexistent/reboot"], long).0;
        assert!(matches!(missing, Err(RebootError::NotStarted { .. })), "{missing:?}");
        let empty = executed(&[], long).0;
        assert!(matches!(empty, Err(RebootError::NotStarted { .. })), "{empty:?}");
    }

    #[test]
    fn a_host_that_stays_up_is_not_waited_for_in_vain() {
        let patience = Duration::from_millis(300);
        let (done, took) = executed(&["true"], patience);
        assert!(matches!(done, Err(RebootError::StillUp { .. })), "{done:?}");
        assert!(took >= patience, "the host had its time to go down: {took:?}");
    }

    #[test]
    fn a_command_that_hangs_is_ended_with_what_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pids");
        let line = format!("sleep 1000 & echo $! $$ > {0}.part; mv {0}.part {0}; wait", file.display());
        // A busy machine may take longer to begin with it: then it gets more time.
        let mut patience = Duration::from_secs(1);
        while !file.exists() {
            let done = shell(&line, patience);
            assert!(matches!(done, Err(RebootError::StillUp { .. })), "{done:?}");
            patience *= 2;
        }
        let pids = std::fs::read_to_string(&file).unwrap();
        for pid in pids.split_whitespace() {
            let state = || std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
            // A killed process whose parent does not wait for it stays as a zombie.
            let deadline = std::time::Instant::now() + Duration::from_secs(60);
            while state().is_ok_and(|stat| !stat.contains(") Z ")) {
                assert!(std::time::Instant::now() < deadline, "{pid} is alive");
                std::thread::yield_now();
            }
        }
    }
}
