//! What a host's timer is worth, by its own selftest.

use serde::{Deserialize, Serialize};

/// How far a reported time may be from what the kernel itself needs, on one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerError {
    /// Median over the floor, nanoseconds: what the timer adds to each run; below 0 it is under the floor's noise.
    pub bias_ns: i64,
    /// Interquartile range of the times of a program that only exits, nanoseconds.
    pub spread_ns: u64,
}

/// The selftest of a host's timer, in the few numbers that are kept with the host's facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerTest {
    /// When it was made, by the host's clock (nanoseconds since the Unix epoch).
    pub tested_unix_ns: u64,
    pub error: TimerError,
    /// Median time of the same program at the floor, nanoseconds.
    pub floor_ns: u64,
    /// The smallest step of the clock that was seen, nanoseconds.
    pub step_ns: u64,
}

impl TimerError {
    /// A difference of two medians that is not above this, in nanoseconds, is near the timer's own error.
    pub fn near_ns(&self) -> u64 {
        self.bias_ns.unsigned_abs().saturating_add(self.spread_ns)
    }
}
