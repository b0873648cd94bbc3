//! Agents of commands that were killed: each command records the process of its agent in the data directory, and the next one there ends
//! that process.

use std::{fs, io, io::ErrorKind, path::Path, time::Duration};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// The file with the agent's process.
const RECORD: &str = "agent.process";
/// Timeout for the end of a process after each signal: an agent first ends its run and restores the settings of the host.
const PATIENCE: Duration = Duration::from_secs(5);

/// Records the process of the agent that was started on a data directory, unless it has ended already.
pub(super) fn record(data: &Path, agent: Pid) -> io::Result<()> {
    identity(agent).map_or(Ok(()), |identity| fs::write(data.join(RECORD), identity))
}

/// Ends the recorded agent of a data directory, if it still exists. The caller holds the coordinator's journal of that directory, so the
/// command that started the agent has ended.
pub(super) fn end(data: &Path) -> io::Result<()> {
    end_within(data, PATIENCE)
}

fn end_within(data: &Path, patience: Duration) -> io::Result<()> {
    // Without a record that can be read there is no evidence against any process.
    let Ok(recorded) = fs::read_to_string(data.join(RECORD)) else { return Ok(()) };
    let id = recorded.split(' ').nth(2).and_then(|id| id.parse::<i32>().ok()).filter(|id| *id > 0);
    let Some(agent) = id.and_then(Pid::from_raw) else { return Ok(()) };
    // Opened before the comparison: the id may be reused at any time, the descriptor stays that of one process.
    let Ok(pidfd) = pidfd_open(agent, PidfdFlags::empty()) else { return Ok(()) };
    if identity(agent) != Some(recorded) {
        return Ok(());
    }
    let patience = Timespec::try_from(patience).unwrap_or_default();
    for signal in [Signal::TERM, Signal::KILL] {
        match pidfd_send_signal(&pidfd, signal) {
            Err(Errno::SRCH) => return Ok(()),
            sent => sent?,
        }
        if retry_on_intr(|| poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&patience)))? > 0 {
            return Ok(());
        }
    }
    Err(io::Error::new(ErrorKind::TimedOut, format!("process {agent} does not end")))
}

/// Boot, namespace of process ids, id and start time of a process, which together no other process has; none if it has ended.
fn identity(process: Pid) -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // proc_pid_stat(5): fields 3 (state) and 22 (start time); the name before them may contain spaces and parentheses.
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split_whitespace().collect();
    let has_ended = matches!(*fields.first()?, "Z" | "X");
    (!has_ended).then_some(format!("{} {} {process} {}\n", boot.trim(), namespace.display(), fields.get(19)?))
}

#[cfg(test)]
mod tests {
    use std::{os::unix::process::ExitStatusExt as _, process::Child, process::Command};

    use super::*;

    const SHORT: Duration = Duration::from_millis(100);

    fn process(script: &str) -> Child {
        Command::new("sh").args(["-c", script]).spawn().unwrap()
    }

    #[test]
    fn the_recorded_process_is_ended_even_if_it_ignores_requests() {
        let directory = tempfile::tempdir().unwrap();
        let ready = directory.path().join("ready");
        let ignore = format!("trap '' TERM; : >{}; exec sleep 1000", ready.display());
        let mut agents = [process("exec sleep 1000"), process(&ignore)];
        while !ready.exists() {
            std::thread::yield_now();
        }
        for (agent, signal) in agents.iter_mut().zip([Signal::TERM, Signal::KILL]) {
            record(directory.path(), Pid::from_child(agent)).unwrap();
            end_within(directory.path(), SHORT).unwrap();
            assert_eq!(agent.wait().unwrap().signal(), Some(signal.as_raw()));
        }
        end_within(directory.path(), SHORT).unwrap();
    }

    #[test]
    fn a_process_that_only_has_the_recorded_id_stays() {
        let directory = tempfile::tempdir().unwrap();
        let mut stranger = process("exec sleep 1000");
        record(directory.path(), Pid::from_child(&stranger)).unwrap();
        let path = directory.path().join(RECORD);
        let recorded = fs::read_to_string(&path).unwrap();
        let words: Vec<&str> = recorded.split_whitespace().collect();
        let other = |at: usize| [&words[..at], &["1"], &words[at + 1..]].concat().join(" ") + "\n";
        let other_id = format!("{} {} 0 {}\n", words[0], words[1], words[3]);
        for record in [other(0), other(1), other(3), other_id, "no record".to_owned(), String::new()] {
            fs::write(&path, &record).unwrap();
            end_within(directory.path(), SHORT).unwrap();
            assert_eq!(stranger.try_wait().unwrap(), None, "{record}");
        }
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }
}
