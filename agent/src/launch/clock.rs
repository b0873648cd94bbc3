//! The clock of the instrument.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the raw monotonic clock; `launch` says why that one. Safe to call between clone and
/// `execve`.
pub(super) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::MonotonicRaw);
    now.tv_sec.cast_unsigned().wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec.cast_unsigned())
}
