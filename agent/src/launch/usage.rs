//! What the kernel accounts: to a child that is gone, and to the agent itself.
#![expect(unsafe_code, reason = "wait4 and getrusage have no safe interface")]

use std::{fs::File, io, mem, os::unix::fs::FileExt as _};

use rustix::process::Pid;

use super::execution::{End, Switches, Usage};

#[derive(Debug)]
pub(super) struct Gone {
    pub end: End,
    pub usage: Usage,
    /// The peak memory that it had before it was the program, where that was not the agent's.
    pub floor_bytes: Option<u64>,
}

/// Reaps the child; waits for its end if need be, however many signals come.
pub(super) fn wait4(pid: Pid) -> io::Result<Gone> {
    let mut status = 0;
    // SAFETY: zeroes are a valid rusage.
    let mut rusage = unsafe { mem::zeroed::<libc::rusage>() };
    loop {
        // SAFETY: writes to the status and the rusage of our own.
        let reaped = unsafe { libc::wait4(pid.as_raw_nonzero().get(), &raw mut status, 0, &raw mut rusage) };
        if reaped >= 0 {
            return Ok(Gone { end: end(status), usage: usage(&rusage), floor_bytes: None });
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Of this process so far, all threads together.
pub(super) fn own() -> Usage {
    // SAFETY: zeroes are a valid rusage.
    let mut rusage = unsafe { mem::zeroed::<libc::rusage>() };
    // SAFETY: writes to the rusage of our own; it fails only on an unknown first argument.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut rusage) };
    usage(&rusage)
}

/// The peak memory of a process that is there.
pub(super) fn peak_of(pid: Pid) -> Option<u64> {
    // The line stands in the first kilobyte. The kernel makes such a file anew for each read from its beginning, so one is enough.
    let mut room = [0; 4_096];
    let file = File::open(format!("/proc/{}/status", pid.as_raw_nonzero())).ok()?;
    let read = file.read_at(&mut room, 0).ok()?;
    let status = String::from_utf8_lossy(&room[..read]);
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Forgets the largest memory that this process ever had, as far as it has given it back: Linux counts that peak as the
/// program's, so that a smaller program's own could not be told (see [`Usage::max_rss_bytes`]). Where the host does not
/// allow it the peak stays, and is reckoned with.
pub fn forget_peak() -> io::Result<()> {
    std::fs::write("/proc/self/clear_refs", "5")
}

fn end(status: i32) -> End {
    if libc::WIFSIGNALED(status) {
        End::Signaled { signal: libc::WTERMSIG(status), core_dumped: libc::WCOREDUMP(status) }
    } else {
        End::Exited(libc::WEXITSTATUS(status))
    }
}

fn usage(rusage: &libc::rusage) -> Usage {
    Usage {
        user_ns: nanoseconds(rusage.ru_utime),
        system_ns: nanoseconds(rusage.ru_stime),
        max_rss_bytes: count(rusage.ru_maxrss) * 1024,
        max_rss_floor_bytes: 0,
        minor_faults: count(rusage.ru_minflt),
        major_faults: count(rusage.ru_majflt),
        switches: Switches { voluntary: count(rusage.ru_nvcsw), involuntary: count(rusage.ru_nivcsw) },
        block_in: count(rusage.ru_inblock),
        block_out: count(rusage.ru_oublock),
    }
}

fn nanoseconds(time: libc::timeval) -> u64 {
    count(time.tv_sec) * 1_000_000_000 + count(time.tv_usec) * 1_000
}

/// The kernel's counters are signed only by tradition.
fn count(value: libc::c_long) -> u64 {
    u64::try_from(value).unwrap_or(0)
}
