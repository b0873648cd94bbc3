//! What a host's timer is worth.

use speedup_core::run::timer::{TimerError, TimerTest};

use super::field::{required, structure};
use super::malformed::Malformed;
use crate::v1;

structure!(TimerError, v1::TimerError, [bias_ns, spread_ns]);

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
            error: required(wire.error, "error")?,
            floor_ns: wire.floor_ns,
            step_ns: wire.step_ns,
        })
    }
}
