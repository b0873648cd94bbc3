//! One control group of one run: made, joined, emptied, read, removed.

use std::{io, os::fd::OwnedFd, path::Path, path::PathBuf, time::Duration, time::Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};
use speedup_core::experiment::metric::{Absence, Metric};

use super::hierarchy::Version;
use crate::launch::meters::{absence_of, read_number, unreadable};

/// Groups of runs are named so, then with the agent's process id and a number.
const PREFIX: &str = "speedup-";
/// A killed process leaves its group within milliseconds, unless it hangs in the kernel.
const PATIENCE: Duration = Duration::from_secs(5);
/// Groups within a group of a run that are looked into: a program that may make groups may nest them.
const MOST_DEPTH: usize = 16;

/// A group of this process, removed when it is dropped.
#[derive(Debug)]
pub(super) struct Group {
    version: Version,
    directory: PathBuf,
    inhabitants: OwnedFd,
    /// Locked as long as this agent lives: that tells a group in use from an orphan.
    _lock: OwnedFd,
}

/// Where a metric stands.
struct Told {
    metric: Metric,
    /// The file of version 1, in bytes or nanoseconds.
    first: &'static str,
    second: Second,
}

/// Where it stands in version 2.
#[derive(Clone, Copy)]
enum Second {
    /// A file that is a number.
    Number(&'static str),
    /// A line of `cpu.stat`.
    Microseconds(&'static str),
}

/// `memory.peak` is there since Linux 5.19.
const TOLD: [Told; 4] = [
    Told {
        metric: Metric::MemoryPeak,
        first: "memory.max_usage_in_bytes",
        second: Second::Number("memory.peak"),
    },
    Told { metric: Metric::TreeCpu, first: "cpuacct.usage", second: Second::Microseconds("usage_usec") },
    Told { metric: Metric::TreeUser, first: "cpuacct.usage_user", second: Second::Microseconds("user_usec") },
    Told {
        metric: Metric::TreeSystem,
        first: "cpuacct.usage_sys",
        second: Second::Microseconds("system_usec"),
    },
];

/// What the names of this process's groups begin with.
pub(super) fn prefix_of_this_process() -> String {
    format!("{PREFIX}{}-", std::process::id())
}

impl Group {
    pub(super) fn make(version: Version, directory: PathBuf) -> Result<Self, Absence> {
        let tried = |errno: Errno| absence_of("make a control group", &errno.into());
        std::fs::create_dir(&directory).map_err(|error| absence_of("make a control group", &error))?;
        let made = || {
            let lock = lock(&directory)?;
            let flags = OFlags::WRONLY | OFlags::CLOEXEC;
            let inhabitants = rustix::fs::open(directory.join("cgroup.procs"), flags, Mode::empty())?;
            Ok((lock, inhabitants))
        };
        match made() {
            Ok((_lock, inhabitants)) => Ok(Self { version, directory, inhabitants, _lock }),
            Err(errno) => {
                let _ = std::fs::remove_dir(&directory);
                Err(tried(errno))
            }
        }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Moves the calling process here; 0 stands for it. Safe to call between clone and `execve`.
    pub(super) fn join_in_child(&self) -> rustix::io::Result<()> {
        rustix::io::write(&self.inhabitants, b"0").map(drop)
    }

    /// Kills all that is here and waits until it is gone, as long as is reasonable.
    pub(super) fn kill(&self) {
        kill(&self.directory);
    }

    /// The value of a metric, when nothing is here any more.
    pub(super) fn value(&self, metric: Metric) -> Result<u64, Absence> {
        let told = TOLD.iter().find(|told| told.metric == metric).ok_or(Absence::Unsupported)?;
        match (self.version, told.second) {
            (Version::One, _) => read_number(&self.directory.join(told.first)),
            (Version::Two, Second::Number(file)) => read_number(&self.directory.join(file)),
            (Version::Two, Second::Microseconds(key)) => microseconds(&self.directory.join("cpu.stat"), key),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // What hangs in the kernel keeps its group; the next start of an agent tries again.
        let _ = remove(&self.directory, MOST_DEPTH);
    }
}

/// A line `KEY MICROSECONDS` of a file, in nanoseconds.
fn microseconds(file: &Path, key: &str) -> Result<u64, Absence> {
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| absence_of(&format!("read {}", file.display()), &error))?;
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
    let value = value.ok_or_else(|| unreadable(format!("{} has no {key}", file.display())))?;
    Ok(value.saturating_mul(1_000))
}

fn lock(directory: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = rustix::fs::open(directory, flags, Mode::empty())?;
    rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive)?;
    Ok(fd)
}

/// Ends and removes the groups of agents that are gone: no process has the number in their name, and nobody holds their
/// lock, so neither a reused number nor an agent in another namespace is mistaken.
pub(super) fn remove_orphans(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some((pid, _)) =
            name.to_str().and_then(|name| name.strip_prefix(PREFIX)).and_then(|rest| rest.split_once('-'))
        else {
            continue;
        };
        let is_gone = pid.parse::<u32>().is_ok_and(|pid| !Path::new("/proc").join(pid.to_string()).exists());
        if is_gone && let Ok(_lock) = lock(&entry.path()) {
            tracing::info!(group = %entry.path().display(), "removing what an agent left");
            kill(&entry.path());
            if let Err(error) = remove(&entry.path(), MOST_DEPTH) {
                tracing::warn!(group = %entry.path().display(), "cannot remove what an agent left: {error}");
            }
        }
    }
}

/// Version 2 can kill a group with all beneath it at once (since Linux 5.14). Elsewhere one after another, again and
/// again, for they may fork.
fn kill(directory: &Path) {
    if inhabitants(directory, MOST_DEPTH).is_empty() {
        return;
    }
    let at_once = std::fs::write(directory.join("cgroup.kill"), "1").is_ok();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let there = inhabitants(directory, MOST_DEPTH);
        if there.is_empty() || Instant::now() >= deadline {
            return;
        }
        for pidfd in &there {
            if !at_once {
                let _ = rustix::process::pidfd_send_signal(pidfd, Signal::KILL);
            }
        }
        for pidfd in &there {
            let remaining = deadline.saturating_duration_since(Instant::now());
            let Ok(timeout) = Timespec::try_from(remaining) else { return };
            let _ = poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&timeout));
        }
    }
}

/// All living processes in a group and those beneath it, held by pidfd. Some end while we look, and an older kernel shows
/// those that have ended until they are reaped.
fn inhabitants(directory: &Path, depth: usize) -> Vec<OwnedFd> {
    let listed = std::fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
    let pids = listed.lines().filter_map(|line| line.parse().ok().and_then(Pid::from_raw));
    let open = |pid| {
        let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok()?;
        let has_ended = poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&Timespec::default())) == Ok(1);
        (!has_ended).then_some(pidfd)
    };
    let mut found: Vec<OwnedFd> = pids.filter_map(open).collect();
    if depth > 0 {
        for beneath in beneath(directory) {
            found.extend(inhabitants(&beneath, depth - 1));
        }
    }
    found
}

/// Removes a group and those beneath it.
fn remove(directory: &Path, depth: usize) -> io::Result<()> {
    if depth > 0 {
        for beneath in beneath(directory) {
            remove(&beneath, depth - 1)?;
        }
    }
    std::fs::remove_dir(directory)
}

fn beneath(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let directories = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    directories.map(|entry| entry.path()).collect()
}
