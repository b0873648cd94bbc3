//! Standstills: what is known of times in which the agent or the program did not move while the clock ran.
//!
//! The end of a program is stamped when the agent wakes. An agent that is stopped then wakes late, and nothing tells it
//! by how much: the kernel keeps no time of an exit that an unprivileged process could read. So each witness here says
//! only *that* something stood still. All of them are kept by the kernel, asked when the clock does not run, and wake
//! nobody before:
//!
//! * SIGCONT, which every stopped process gets before it goes on. The handler counts. If the program is still there
//!   afterwards its end will be seen; if it is gone, its end is not known.
//! * SIGCHLD, which stays blocked, and whose pending entry says that the program was stopped. The kernel keeps one: an
//!   orphan that ended earlier in the run hides it.
//! * `cgroup.events` of the agent's control group of version 2, which polls as changed after a freeze. A frozen process
//!   gets no signal. Version 1 of control groups has no such witness.
//! * `CLOCK_BOOTTIME` against `CLOCK_MONOTONIC`: they differ by the time in which the host was suspended.
//! * The wait itself, where it outlasted the program's time: the last resort against whatever leaves no trace
//!   (a debugger, a freezer of version 1, a virtual machine that was paused while its clock went on).

use std::{fs::File, os::unix::fs::FileExt as _, time::Duration};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};

use super::WaitOutcome;
use crate::launch::{
    clock::nanoseconds, execution::End, execution::Standstill, execution::Unseen,
    meters::cgroup::own_unified_group, signals,
};

/// Where the kernel tells what happens to a control group of version 2.
const EVENTS: &str = "cgroup.events";
/// What stands there while the group has processes.
const POPULATED: &str = "populated 1";
/// How late the agent may wake when the time of a program is up. Kernels wake a sleeper within a millisecond, and on a
/// CPU that a runaway real-time task holds after 50 ms; beyond this it stood still.
const LATEST_WAKE: Duration = Duration::from_millis(500);
/// How long after a freeze the kernel may still tell of its thaw: it tells of changes at most every 10 ms, the later
/// one late, and from a timer that a busy host delays.
const LATEST_NOTICE: Duration = Duration::from_millis(50);
/// The shortest suspension that is told: the two clocks are not read at once.
const LEAST_SUSPENSION: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(in crate::launch) struct Witnesses {
    events: Option<File>,
}

/// What they said before the program was started.
#[derive(Debug)]
pub(in crate::launch) struct Before {
    suspended_ns: u64,
    continued: u32,
}

impl Witnesses {
    pub(in crate::launch) fn of_this_process() -> Self {
        Self { events: own_unified_group().and_then(|group| File::open(group.join(EVENTS)).ok()) }
    }

    /// To be asked right before the start.
    pub(in crate::launch) fn before(&self) -> Before {
        self.populated();
        Before { suspended_ns: suspended_ns(), continued: signals::continued() }
    }

    /// To be asked when the program is gone and signals are let in again.
    pub(in crate::launch) fn since(
        &self,
        before: &Before,
        seen: &WaitOutcome,
        timeout: Duration,
    ) -> Standstill {
        let suspended = Duration::from_nanos(suspended_ns().saturating_sub(before.suspended_ns));
        self.judge(before, seen, timeout, suspended)
    }

    fn judge(
        &self,
        before: &Before,
        seen: &WaitOutcome,
        timeout: Duration,
        suspended: Duration,
    ) -> Standstill {
        let late = match seen.cut {
            Some(End::TimedOut { at_ns, .. }) => Duration::from_nanos(at_ns).saturating_sub(timeout),
            Some(End::Exited(_) | End::Signaled { .. } | End::Interrupted { .. }) | None => Duration::ZERO,
        };
        let end_unseen = if suspended >= LEAST_SUSPENSION {
            Some(Unseen::Suspended(suspended))
        } else if self.was_frozen() {
            Some(Unseen::Frozen)
        } else if signals::continued() != seen.continued {
            Some(Unseen::Stopped)
        } else {
            (late > LATEST_WAKE).then_some(Unseen::Late(late))
        };
        Standstill {
            end_unseen,
            agent_stopped: seen.continued != before.continued,
            program_stopped: seen.program_stopped,
        }
    }

    /// Whether the group of the agent was frozen since it was last read. It tells of its last process too; where that
    /// was the agent, somebody has moved it to another group. After a freeze the notice of the thaw is waited for: it
    /// would condemn the next run.
    fn was_frozen(&self) -> bool {
        let Some(events) = &self.events else { return false };
        let mut entry = [PollFd::new(events, PollFlags::PRI)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let frozen = poll(&mut entry, Some(&at_once)).is_ok_and(|changed| changed > 0) && self.populated();
        if frozen {
            std::thread::sleep(LATEST_NOTICE);
        }
        frozen
    }

    /// Whether the group has processes. After this only what is new polls as changed.
    fn populated(&self) -> bool {
        let mut text = [0; 64];
        let read = self.events.as_ref().and_then(|events| events.read_at(&mut text, 0).ok());
        read.is_some_and(|read| String::from_utf8_lossy(&text[..read]).contains(POPULATED))
    }
}

/// How long the host has been suspended since it booted.
fn suspended_ns() -> u64 {
    let [monotonic, boot] = [ClockId::Monotonic, ClockId::Boottime].map(|id| nanoseconds(clock_gettime(id)));
    boot.saturating_sub(monotonic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::usage;

    const TIMEOUT: Duration = Duration::from_secs(1);

    fn seen(cut: Option<End>, continued: u32) -> WaitOutcome {
        WaitOutcome {
            started_ns: 0,
            stopped_ns: 0,
            cut,
            agent: usage::own(),
            continued,
            program_stopped: None,
        }
    }

    fn timed_out_after(length: Duration) -> Option<End> {
        Some(End::TimedOut { at_ns: u64::try_from(length.as_nanos()).expect("a time"), killed: false })
    }

    #[test]
    fn a_wait_may_outlast_the_timeout_by_what_a_wake_takes() {
        let none = Witnesses { events: None };
        let before = none.before();
        let found = |cut| none.since(&before, &seen(cut, before.continued), TIMEOUT);
        assert_eq!(found(None), Standstill::default());
        assert_eq!(found(timed_out_after(TIMEOUT)), Standstill::default());
        assert_eq!(found(timed_out_after(TIMEOUT + LATEST_WAKE)), Standstill::default());
        let late = LATEST_WAKE + Duration::from_nanos(1);
        assert_eq!(found(timed_out_after(TIMEOUT + late)).end_unseen, Some(Unseen::Late(late)));
        let interrupted = found(Some(End::Interrupted { at_ns: 60_000_000_000 }));
        assert_eq!(interrupted, Standstill::default(), "somebody wanted it so");
    }

    #[test]
    fn a_continuation_hides_the_end_only_after_the_program_was_last_seen() {
        let none = Witnesses { events: None };
        let before = Before { continued: signals::continued().wrapping_sub(1), ..none.before() };
        let marked = none.since(&before, &seen(None, signals::continued()), TIMEOUT);
        assert_eq!(marked, Standstill { agent_stopped: true, ..Standstill::default() });
        let hidden = none.since(&before, &seen(None, before.continued), TIMEOUT);
        assert_eq!((hidden.end_unseen, hidden.agent_stopped), (Some(Unseen::Stopped), false));
    }

    #[test]
    fn a_suspension_hides_the_end() {
        let none = Witnesses { events: None };
        let before = none.before();
        let found =
            |suspended| none.judge(&before, &seen(None, before.continued), TIMEOUT, suspended).end_unseen;
        assert_eq!(found(LEAST_SUSPENSION), Some(Unseen::Suspended(LEAST_SUSPENSION)));
        assert_eq!(found(LEAST_SUSPENSION - Duration::from_nanos(1)), None);
    }
}
