//! What the child reports to the agent before it becomes the program.

use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU64, Ordering};

use super::{execution::Switches, failure::LaunchStep, preparation::Trials};

/// A run needs no more control groups than there are controllers here: memory and CPU time.
const MOST_GROUPS: usize = 2;

/// The child's report, in memory that it shares with the agent. The trampoline's instructions use the offsets of some
/// fields, so the layout is C's.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Report {
    pub started_ns: AtomicU64,
    pub failed_step: AtomicU8,
    pub errno: AtomicI32,
    /// The program's parent, for the trampoline.
    pub agent: AtomicI32,
    /// The program's process, where it starts from a trampoline.
    pub program: AtomicI32,
    /// The byte that lets it go.
    pub go: AtomicU8,
    /// The clock as the kernel writes it there: seconds and nanoseconds.
    pub clock: [AtomicU64; 2],
    /// Its usage right before `execve`, as the kernel writes it there: 18 numbers on 64 bits.
    pub usage_before: [AtomicU64; 18],
    /// The steps that failed although the program was executed.
    pub trials: Trials,
    /// Why control groups were not joined; 0 where they were.
    joining: [AtomicI32; MOST_GROUPS],
}

impl Report {
    /// When the clock started, if the child came that far.
    pub(super) fn started_ns(&self) -> Option<u64> {
        Some(self.started_ns.load(Ordering::Acquire)).filter(|&stamp| stamp != 0)
    }

    /// The step that failed, with its errno. To be asked when the child is gone.
    pub(super) fn failure(&self) -> Option<(LaunchStep, i32)> {
        let step = LaunchStep::from_code(self.failed_step.load(Ordering::Acquire))?;
        Some((step, self.errno.load(Ordering::Acquire)))
    }

    /// The context switches of the program's process before it was the program: its wait to be let go.
    pub(super) fn switches_before(&self) -> Switches {
        let [.., voluntary, involuntary] = &self.usage_before;
        let [voluntary, involuntary] = [voluntary, involuntary].map(|count| count.load(Ordering::Acquire));
        Switches { voluntary, involuntary }
    }

    /// Records, in the child, that it could not join control group `number`. The run continues without the group's
    /// metrics.
    pub(super) fn not_joined(&self, number: usize, errno: rustix::io::Errno) {
        if let Some(joining) = self.joining.get(number) {
            joining.store(errno.raw_os_error(), Ordering::Release);
        }
    }

    /// Why the control group of this number was not joined, if so. To be asked when the child is gone.
    pub(super) fn errno_of_joining(&self, number: usize) -> Option<i32> {
        let errno = self.joining.get(number)?.load(Ordering::Acquire);
        (errno != 0).then_some(errno)
    }
}
