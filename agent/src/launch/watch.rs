//! The wait: asleep until the process is gone or its time is up.

use std::{io, sync::atomic::AtomicBool, sync::atomic::Ordering, time::Duration};

use rustix::process::Signal;

mod standstill;

pub(super) use standstill::Witnesses;

use super::{
    child::Child, clock, execution::End, execution::Usage, output::OutputBuffer, report::Report, signals,
    signals::Blocked, signals::Polled, usage,
};

/// How often streams are looked at that the kernel does not bound (see `output`). A program writes some GB/s
/// to memory, so one that floods its output is stopped within a few hundred MB of the limit. Hosts that can
/// bound need no look at all.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Watch<'a> {
    pub child: &'a Child,
    pub timeout: Duration,
    pub kill_grace: Duration,
    pub stop: &'a AtomicBool,
    pub blocked: &'a Blocked,
    pub buffers: [Option<&'a OutputBuffer>; 2],
}

/// What was seen of a child that is gone.
#[derive(Debug)]
pub(super) struct WaitOutcome {
    pub started_ns: u64,
    pub stopped_ns: u64,
    /// How it was cut short, if it was.
    pub cut: Option<End>,
    /// The agent's usage of resources at the stop.
    pub agent: Usage,
    /// How often the agent had been continued when the program was last seen to be there. Once more means that it may
    /// have been stopped when the program ended.
    pub continued: u32,
    /// The signal that stopped the program, if one did.
    pub program_stopped: Option<u8>,
}

/// Where the wait stands. Times count from the start.
#[derive(Debug, Clone, Copy)]
enum Phase {
    Running,
    Asked {
        at_ns: u64,
    },
    /// Killed. A process that does not go even then hangs in the kernel, and so shall the wait: the host is
    /// not fit for another run while it is there.
    Killed {
        cut: Option<End>,
    },
}

impl Watch<'_> {
    pub(super) fn until_gone(&self, report: &Report) -> io::Result<WaitOutcome> {
        let cloned_ns = clock::now_ns();
        let started = || report.started_ns().unwrap_or(cloned_ns);
        let (mut phase, mut continued) = (Phase::Running, signals::continued());
        loop {
            let elapsed_ns = clock::now_ns().saturating_sub(started());
            phase = self.advance(phase, elapsed_ns);
            let polled = self.blocked.poll(self.child.pidfd(), self.sleep(phase, elapsed_ns));
            let stopped_ns = clock::now_ns();
            if polled? == Polled::Ready {
                let (started_ns, agent) = (started(), usage::own());
                let cut = self.cut(phase, stopped_ns.saturating_sub(started_ns));
                let program_stopped = self.blocked.stop_of(self.child.pid());
                return Ok(WaitOutcome { started_ns, stopped_ns, cut, agent, continued, program_stopped });
            }
            // A stop had ended the wait before the program ended, maybe: the signal is all that this tells.
            let now = signals::continued();
            if now != continued && self.is_there()? {
                continued = now;
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
            Phase::Running | Phase::Asked { .. } if self.buffers().any(OutputBuffer::is_over) => {
                killed(self.cut(phase, elapsed_ns))
            }
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

    /// Whether the program has not ended yet, as far as no signal comes in between.
    fn is_there(&self) -> io::Result<bool> {
        Ok(self.blocked.poll(self.child.pidfd(), Some(Duration::ZERO))? == Polled::Elapsed)
    }

    /// How long to sleep at most.
    fn sleep(&self, phase: Phase, elapsed_ns: u64) -> Option<Duration> {
        let due_ns = match phase {
            Phase::Running => nanoseconds(self.timeout),
            Phase::Asked { at_ns } => at_ns.saturating_add(nanoseconds(self.kill_grace)),
            Phase::Killed { .. } => return None,
        };
        let due = Duration::from_nanos(due_ns.saturating_sub(elapsed_ns));
        Some(if self.buffers().any(OutputBuffer::needs_a_look) { due.min(LOOK) } else { due })
    }

    /// How a program was cut short that is gone after so long. One that ended by itself when its time was up has had no
    /// less than that.
    fn cut(&self, phase: Phase, elapsed_ns: u64) -> Option<End> {
        match phase {
            Phase::Running if elapsed_ns > nanoseconds(self.timeout) => {
                Some(End::TimedOut { at_ns: elapsed_ns, killed: false })
            }
            Phase::Running => None,
            Phase::Asked { at_ns } => Some(End::TimedOut { at_ns, killed: false }),
            Phase::Killed { cut } => cut,
        }
    }

    fn buffers(&self) -> impl Iterator<Item = &OutputBuffer> {
        self.buffers.iter().copied().flatten()
    }
}

/// Some 584 years are enough for a timeout.
fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
