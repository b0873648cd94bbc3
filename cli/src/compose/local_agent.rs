//! The agent of `speedup run`: this same binary once more, in a process of its own, so that what is measured shares no
//! memory and no thread with the coordinator.

use std::{fs, fs::File, path::Path, path::PathBuf, process::ExitStatus, process::Stdio, time::Duration};

use anyhow::{Context as _, Error, anyhow};
use rustix::process::{Pid, Signal, kill_process};
use speedup_core::value::excerpt::last_lines;
use speedup_proto::{v1, v1::hosts_client::HostsClient};
use tokio::{process::Child, process::Command, time::Instant, time::sleep, time::timeout};
use tonic::transport::Channel;

use super::orphan;
use crate::exit::failure::Failure;

/// How long an agent may take to join.
const JOIN: Duration = Duration::from_secs(30);
/// How often it is looked whether it has; nothing is measured yet.
const LOOK: Duration = Duration::from_millis(20);
/// Most bytes and lines of the end of its log that are shown when it dies.
const SHOWN: (u64, usize) = (2_000, 20);

#[derive(Debug)]
pub(crate) struct LocalAgent {
    child: Child,
    log: PathBuf,
}

impl LocalAgent {
    /// Starts it, after that of a killed command on the same directory has ended. To be called on the main thread: the kernel ends
    /// the agent with the *thread* that started it.
    pub(crate) fn start(coordinator: &str, access: &Path, data: &Path) -> Result<Self, Failure> {
        let log = data.join("agent.log");
        orphan::end(data)
            .context("cannot end the agent that a killed command left")
            .map_err(Failure::infrastructure)?;
        let child = spawn(coordinator, access, data, &log)
            .context("cannot start the local agent")
            .map_err(Failure::infrastructure)?;
        Ok(Self { child, log })
    }

    /// Waits until its host is in the pool.
    pub(crate) async fn joined(&mut self, hosts: &mut HostsClient<Channel>) -> Result<(), Failure> {
        let deadline = Instant::now() + JOIN;
        loop {
            if is_joined(hosts).await? {
                return Ok(());
            }
            tokio::select! {
                ended = self.ended() => return Err(ended),
                () = sleep(LOOK) => {}
            }
            if Instant::now() >= deadline {
                let text = anyhow!("the local agent has not joined within {} seconds", JOIN.as_secs());
                return Err(self.with_log(text));
            }
        }
    }

    /// Waits until it has ended without being asked to, which is a failure.
    pub(crate) async fn ended(&mut self) -> Failure {
        let error = match self.child.wait().await {
            Ok(status) => anyhow!("the local agent ended: {status}"),
            Err(error) => Error::new(error).context("cannot wait for the local agent"),
        };
        self.with_log(error)
    }

    /// Asks it to end, and makes it when it does not within `patience`.
    pub(crate) async fn stop(mut self, patience: Duration) {
        if let Some(pid) = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw) {
            // The child is not waited for yet, so the number is still its own.
            let _ = kill_process(pid, Signal::TERM);
        }
        let ended: Result<std::io::Result<ExitStatus>, _> = timeout(patience, self.child.wait()).await;
        if ended.is_err() {
            // It ends with us in any case.
            let _ = self.child.kill().await;
        }
    }

    fn with_log(&self, error: Error) -> Failure {
        let hint = format!("the agent's log is {}", self.log.display());
        let end = File::open(&self.log).and_then(|log| last_lines(log, SHOWN.0, SHOWN.1)).unwrap_or_default();
        let error = if end.is_empty() { error } else { Error::msg(end.join("\n")).context(error) };
        Failure::infrastructure(error).hint(hint)
    }
}

fn spawn(coordinator: &str, access: &Path, data: &Path, log: &Path) -> Result<Child, Error> {
    fs::create_dir_all(data).with_context(|| format!("cannot make {}", data.display()))?;
    // Appended to: a process that still writes to it must not leave a hole where it was cut.
    let file = File::options().append(true).create(true).open(log);
    let file = file.and_then(|file| file.set_len(0).map(|()| file));
    let file = file.with_context(|| format!("cannot write {}", log.display()))?;
    let program = std::env::current_exe().context("cannot find the program of this process")?;
    let mut command = Command::new(program);
    command
        .args(["agent", "start", "--color", "never", "--coordinator", coordinator])
        .arg(format!("--exit-with-parent={}", std::process::id()))
        .arg("--access-file")
        .arg(access)
        .arg("--state")
        .arg(data.join("agent"))
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        // Ctrl-C at the terminal is for this process alone: the run under way is to end in peace.
        .process_group(0);
    let child = command.spawn()?;
    if let Some(agent) = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw) {
        orphan::record(data, agent).context("cannot record its process")?;
    }
    Ok(child)
}

async fn is_joined(hosts: &mut HostsClient<Channel>) -> Result<bool, Failure> {
    let request = v1::ListHostsRequest::default();
    let answer = hosts.list(request).await;
    let answer = answer.map_err(|status| Failure::status("cannot list the hosts", &status))?;
    Ok(answer.into_inner().hosts.iter().any(|host| host.connected))
}
