//! What a program leaves behind when it ends, and its end.

use std::{io, os::fd::OwnedFd, time::Duration, time::Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus};

mod mark;

pub(super) use mark::Mark;

use super::signals;

/// A killed process is gone within milliseconds, unless it hangs in the kernel or forks faster than we kill.
const PATIENCE: Duration = Duration::from_secs(5);

/// Makes this process the one that adopts its orphaned descendants, so that none of them can slip away, and
/// makes sure that ended children wait to be reaped. [`super::Launcher::new`] does it; once for a process is
/// enough.
pub fn become_subreaper() -> io::Result<()> {
    signals::keep_ended_children();
    // Any process id means yes.
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

#[derive(Debug)]
pub(super) struct Survivors {
    pub killed: u32,
    pub left: u32,
}

/// Kills and reaps every process that bears the mark. To be called when the child is reaped.
pub(super) fn end(mark: Mark) -> io::Result<Survivors> {
    let mut killed = 0;
    if !has_children() {
        return Ok(Survivors { killed, left: 0 });
    }
    let deadline = Instant::now() + PATIENCE;
    loop {
        let marked = marked(mark)?;
        let late = Instant::now() >= deadline;
        if marked.is_empty() || late {
            return Ok(Survivors { killed, left: u32::try_from(marked.len()).unwrap_or(u32::MAX) });
        }
        for (_, pidfd) in &marked {
            let _ = rustix::process::pidfd_send_signal(pidfd, Signal::KILL);
        }
        for (pid, pidfd) in &marked {
            await_end(pidfd, deadline)?;
            killed += u32::from(reap(*pid));
        }
    }
}

/// Any descendant that is left has either a living parent among them or us, the subreaper, for its parent. So
/// without a child there is none, and nothing to look for.
fn has_children() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(rustix::process::waitid(WaitId::All, options), Err(rustix::io::Errno::CHILD))
}

/// Held by pidfd, so that an id that is reused meanwhile hits nobody.
fn marked(mark: Mark) -> io::Result<Vec<(Pid, OwnedFd)>> {
    let mut found = Vec::new();
    for pid in processes()? {
        // Some end while we look.
        let Ok(pidfd) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { continue };
        if mark.is_on(pid) {
            found.push((pid, pidfd));
        }
    }
    Ok(found)
}

fn processes() -> io::Result<Vec<Pid>> {
    let mut pids = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        pids.extend(name.to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw));
    }
    Ok(pids)
}

fn await_end(pidfd: &OwnedFd, deadline: Instant) -> io::Result<()> {
    let remaining = deadline.saturating_duration_since(Instant::now());
    let timeout = Timespec::try_from(remaining).map_err(io::Error::other)?;
    match poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether it was ours to reap and had been killed. One whose parent still lives becomes ours in the next
/// round.
fn reap(pid: Pid) -> bool {
    let ended = rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    let signal = ended.ok().flatten().as_ref().and_then(WaitIdStatus::terminating_signal);
    signal == Some(Signal::KILL.as_raw())
}
