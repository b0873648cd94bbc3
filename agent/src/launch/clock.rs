//! The clock of the instrument.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds of the raw monotonic clock; `launch` says why that one. Safe to call between clone and
/// `execve`.
pub(crate) fn now_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::MonotonicRaw))
}

/// A time of a clock that never stands below zero, in nanoseconds.
pub(crate) fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec.cast_unsigned().wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec.cast_unsigned())
}
