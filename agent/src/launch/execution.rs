//! What came of a command.

use std::{collections::BTreeMap, collections::BTreeSet, time::Duration};

use speedup_core::experiment::metric::{Absence, Metric};

use super::preparation::FailedStep;

/// One command, executed and timed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// From just before `execve` until the agent saw that the process was gone. Never shorter than the truth.
    pub wall_ns: u64,
    /// What the kernel accounted to the process and to those of its descendants that it waited for.
    pub usage: Usage,
    pub end: End,
    /// What it wrote to standard output, unless that went to `/dev/null`.
    pub stdout: Option<CapturedOutput>,
    /// What it wrote to standard error, unless that went to `/dev/null`.
    pub stderr: Option<CapturedOutput>,
    /// Processes that it left behind and that were killed after it. (On [`End::TimedOut`] those that ended at
    /// the first request are not counted.)
    pub survivors_killed: u32,
    /// Processes that could not be killed in time: this host is not fit for another run.
    pub survivors_left: u32,
    /// Steps of the preparation that failed, where they were not insisted on.
    pub failed_steps: Vec<FailedStep>,
    /// Context switches of the agent's process from before the program was let go until its end was seen. A silent agent
    /// has one voluntary switch, into the wait.
    pub agent_switches: Switches,
    /// What is known of agent and program standing still meanwhile.
    pub standstill: Standstill,
    /// What the other meters of the host say.
    pub readings: MetricReadings,
}

/// What is known of agent and program standing still while a command was executed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standstill {
    /// Why it is not known when the program ended, if so: its time is not measured.
    pub end_unseen: Option<Unseen>,
    /// Whether the agent was stopped, but went on before the program ended.
    pub agent_stopped: bool,
    /// The signal that stopped the program, if it was stopped. Its time includes that.
    pub program_stopped: Option<u8>,
}

/// Why it is not known when a program ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unseen {
    #[error("a signal stopped the agent, and the program ended before the agent continued")]
    Stopped,
    #[error("the agent's control group was frozen during the run")]
    Frozen,
    #[error("the host was suspended during the run, for {:.3} s", .0.as_secs_f64())]
    Suspended(Duration),
    /// Something that leaves no trace.
    #[error("the agent woke {:.3} s after the program's timeout; something suspended it", .0.as_secs_f64())]
    Late(Duration),
}

/// What was read for the metrics that the command asked for beside those of the clock and of `wait4`: each has a value or
/// is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetricReadings {
    pub values: BTreeMap<Metric, u64>,
    /// Those of them that lack what happened in the kernel.
    pub user_only: BTreeSet<Metric>,
    /// Why others have none.
    pub absent: BTreeMap<Metric, Absence>,
}

impl MetricReadings {
    pub(super) fn is_absent(&mut self, metric: Metric, absence: Absence) {
        self.absent.insert(metric, absence);
    }

    pub(super) fn are_absent(&mut self, metrics: &[Metric], absence: &Absence) {
        self.absent.extend(metrics.iter().map(|metric| (*metric, absence.clone())));
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that this launcher did not send for lack of time. (A stream over its limit can end in
    /// SIGKILL.)
    Signaled {
        signal: i32,
        /// Whether the kernel wrote a core file.
        core_dumped: bool,
    },
    /// It was still there when its time was up.
    TimedOut {
        /// When it was asked to end, counted from its start.
        at_ns: u64,
        /// Whether it had to be killed after the grace.
        killed: bool,
    },
    /// It was killed because the caller wanted to stop.
    Interrupted {
        /// When it was killed, counted from its start.
        at_ns: u64,
    },
}

/// Resources used, as `wait4` tells them. Times have the resolution of the kernel's report, a microsecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Time on a CPU outside the kernel.
    pub user_ns: u64,
    /// Time on a CPU inside the kernel.
    pub system_ns: u64,
    /// The largest resident set of any one process. Linux counts the memory that a process replaces at
    /// `execve`, which is the trampoline's or the agent's: the program's own peak is this figure only if it
    /// exceeds `max_rss_floor_bytes`, else it is some figure not above.
    pub max_rss_bytes: u64,
    /// The peak of the memory that was replaced: some dozens of pages of the trampoline, or the agent's own peak,
    /// which Linux counted likewise when the agent itself began. The kernel counts pages in steps of some
    /// dozens a CPU; a peak within a few hundred KiB of this is no clear excess.
    pub max_rss_floor_bytes: u64,
    /// Page faults served without reading from a device.
    pub minor_faults: u64,
    /// Page faults that read from a device.
    pub major_faults: u64,
    /// Switches because it waited, and because it was preempted.
    pub switches: Switches,
    /// Blocks of 512 bytes read from devices.
    pub block_in: u64,
    /// Blocks of 512 bytes written to devices.
    pub block_out: u64,
}

/// Context switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switches {
    /// Because the process waited.
    pub voluntary: u64,
    /// Because it was preempted.
    pub involuntary: u64,
}

impl Switches {
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            voluntary: self.voluntary.saturating_sub(before.voluntary),
            involuntary: self.involuntary.saturating_sub(before.involuntary),
        }
    }
}

/// One captured stream. The program sees a file opened for appending, as with `>>` in a shell, so what is
/// here is what such a file would hold: a program that opens `/dev/stdout` anew with truncation drops what
/// was there before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedOutput {
    /// The length of the stream; at most the limit.
    pub bytes: u64,
    pub blake3: blake3::Hash,
    /// The first of them.
    pub head: Vec<u8>,
    /// The program wrote, or tried to write, more than the limit: the bytes are not all, and the run is void.
    pub over_limit: bool,
}
