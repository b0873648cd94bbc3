//! What a host's timer is worth.

use speedup_core::run::timer::{TimerError, TimerTest};

use super::malformed::{Malformed, Why};
use crate::v1;

impl From<TimerError> for v1::TimerError {
    fn from(TimerError { bias_ns, spread_ns }: TimerError) -> Self {
        Self { bias_ns, spread_ns }
    }
}

impl From<v1::TimerError> for TimerError {
    fn from(v1::TimerError { bias_ns, spread_ns }: v1::TimerError) -> Self {
        Self { bias_ns, spread_ns }
    }
}

impl From<&TimerTest> for v1::TimerTest {
    fn from(test: &TimerTest) -> Self {
        Self {
            tested_unix_ns: test.tested_unix_ns,
            error: Some(test.error.into()),
            floor_ns: test.floor_ns,
            step_ns: test.step_ns,
        }
    }
}

impl TryFrom<v1::TimerTest> for TimerTest {
    type Error = Malformed;

    fn try_from(wire: v1::TimerTest) -> Result<Self, Malformed> {
        Ok(Self {
            tested_unix_ns: wire.tested_unix_ns,
            error: TimerError::from(wire.error.ok_or_else(|| Malformed::new("error", Why::Missing))?),
            floor_ns: wire.floor_ns,
            step_ns: wire.step_ns,
        })
    }
}
