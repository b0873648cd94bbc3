//! The wait: asleep until the process is gone or its time is up.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Signal;

use super::child::{Child, Report};
use super::clock;
use super::execution::{End, Usage};
use super::output::Spool;
use super::signals::{Blocked, Polled};
use super::usage;

/// How often streams are looked at that the kernel does not bound (see `output`). A program writes some GB/s
/// to memory, so one that floods its output is stopped within a few hundred MB of the limit. Hosts that can
/// bound need no look at all.
const LOOK: Duration = Duration::from_millis(100);

/// The wait for one child.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    pub child: &'a Child,
    pub timeout: Duration,
    pub kill_grace: Duration,
    pub stop: &'a AtomicBool,
    pub blocked: &'a Blocked,
    pub spools: [Option<&'a Spool>; 2],
}

/// What was seen of a child that is gone.
#[derive(Debug)]
pub(super) struct Seen {
    pub started_ns: u64,
    pub stopped_ns: u64,
    /// How it was cut short, if it was.
    pub cut: Option<End>,
    /// The agent's usage of resources at the stop.
    pub agent: Usage,
}

/// Where the wait stands. Times count from the start.
#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Within its time.
    Running,
    /// Asked to end at this time.
    Asked { at_ns: u64 },
    /// Killed. A process that does not go even then hangs in the kernel, and so shall the wait: the host is
    /// not fit for another run while it is there.
    Killed { cut: Option<End> },
}

impl Watch<'_> {
    pub(super) fn until_gone(&self, report: &Report) -> io::Result<Seen> {
        let cloned_ns = clock::now_ns();
        let started = || report.started_ns().unwrap_or(cloned_ns);
        let mut phase = Phase::Running;
        loop {
            let elapsed_ns = clock::now_ns().saturating_sub(started());
            phase = self.advance(phase, elapsed_ns);
            let polled = self.blocked.poll(self.child.pidfd(), self.sleep(phase, elapsed_ns));
            let stopped_ns = clock::now_ns();
            if polled? == Polled::Ready {
                let (started_ns, agent) = (started(), usage::own());
                return Ok(Seen { started_ns, stopped_ns, cut: cut(phase), agent });
            }
        }
    }

    fn advance(&self, phase: Phase, elapsed_ns: u64) -> Phase {
        let killed = |cut| {
            self.child.signal_group(Signal::KILL);
            Phase::Killed { cut }
        };
        match phase {
            Phase::Killed { .. } => phase,
            Phase::Running | Phase::Asked { .. } if self.stop.load(Ordering::Acquire) => {
                killed(Some(End::Interrupted { at_ns: elapsed_ns }))
            }
            Phase::Running | Phase::Asked { .. } if self.spools().any(Spool::is_over) => killed(cut(phase)),
            Phase::Running if elapsed_ns >= nanoseconds(self.timeout) => {
                self.child.signal_group(Signal::TERM);
                // A stopped process acts on the request only when it goes on.
                self.child.signal_group(Signal::CONT);
                Phase::Asked { at_ns: elapsed_ns }
            }
            Phase::Asked { at_ns } if elapsed_ns - at_ns >= nanoseconds(self.kill_grace) => {
                killed(Some(End::TimedOut { at_ns, killed: true }))
            }
            Phase::Running | Phase::Asked { .. } => phase,
        }
    }

    /// How long to sleep at most.
    fn sleep(&self, phase: Phase, elapsed_ns: u64) -> Option<Duration> {
        let due_ns = match phase {
            Phase::Running => nanoseconds(self.timeout),
            Phase::Asked { at_ns } => at_ns.saturating_add(nanoseconds(self.kill_grace)),
            Phase::Killed { .. } => return None,
        };
        let due = Duration::from_nanos(due_ns.saturating_sub(elapsed_ns));
        Some(if self.spools().any(Spool::needs_a_look) { due.min(LOOK) } else { due })
    }

    fn spools(&self) -> impl Iterator<Item = &Spool> {
        self.spools.iter().copied().flatten()
    }
}

fn cut(phase: Phase) -> Option<End> {
    match phase {
        Phase::Running => None,
        Phase::Asked { at_ns } => Some(End::TimedOut { at_ns, killed: false }),
        Phase::Killed { cut } => cut,
    }
}

/// Some 584 years are enough for a timeout.
fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
