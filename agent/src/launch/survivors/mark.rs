//! A mark that every descendant of a run bears and cannot shed.
//!
//! It is the hard limit `RLIMIT_LOCKS`, which Linux has ignored since 2.4.25, but still inherits through
//! fork, `execve` and `setsid`, and lets nobody raise without privilege. A process group or session can be
//! left, a variable of the environment can be unset (and would not be the environment that the plan says);
//! this stays.
#![expect(unsafe_code, reason = "rustix's prlimit cannot read another process's limit without setting it")]

use std::{io, mem, ptr, sync::OnceLock};

use rustix::process::{Pid, Resource, Rlimit};

use crate::launch::clock;

/// Far above any limit that a person would set. The bits below it tell agents apart.
const BASE: u64 = 1 << 62;
/// An agent that runs within a run of another takes the next lower mark, so that the outer one still knows
/// its descendants. So many may be nested.
const NESTING: u64 = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::launch) struct Mark(u64);

impl Mark {
    pub(in crate::launch) fn of_this_process() -> Self {
        static MARK: OnceLock<Mark> = OnceLock::new();
        *MARK.get_or_init(|| match rustix::process::getrlimit(Resource::Locks).maximum {
            Some(outer) => Self(outer.saturating_sub(1)),
            None => Self(BASE + (clock::now_ns() % (BASE / NESTING)) * NESTING + (NESTING - 1)),
        })
    }

    /// Puts it on the calling process. Safe to call between clone and `execve`.
    pub(in crate::launch) fn set_in_child(self) -> rustix::io::Result<()> {
        let limit = Rlimit { current: Some(self.0), maximum: Some(self.0) };
        rustix::process::setrlimit(Resource::Locks, limit)
    }

    /// Whether the process, which may have ended, bears it. Of another user's the kernel tells it to the privileged
    /// only (`CAP_SYS_RESOURCE`, which containers keep even from root), but anyone may read it in a file.
    pub(in crate::launch) fn is_on(self, pid: Pid) -> bool {
        // SAFETY: zeroes are a valid rlimit.
        let mut limit = unsafe { mem::zeroed::<libc::rlimit>() };
        let pid = pid.as_raw_nonzero().get();
        // SAFETY: sets nothing, and writes to the rlimit of our own.
        let read = unsafe { libc::prlimit(pid, libc::RLIMIT_LOCKS, ptr::null(), &raw mut limit) };
        let denied = read != 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EPERM);
        let hard = match read {
            0 => Some(limit.rlim_max),
            _ if denied => hard_limit_by_file(pid),
            _ => None,
        };
        hard.is_some_and(|hard| hard <= self.0 && hard > self.0.saturating_sub(NESTING))
    }
}

/// The limit as `/proc` tells it: `Max file locks`, the soft one, the hard one, and the unit.
fn hard_limit_by_file(pid: libc::pid_t) -> Option<u64> {
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max file locks"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}
