//! The coordinator's time line: the monotonic clock, laid on from where both the wall clock and the journal are. Within
//! a process it cannot step; over a restart it cannot go back.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use speedup_core::value::time::Timestamp;

/// Now by the wall clock, as people and engines tell it. It may step.
pub(crate) fn wall_clock() -> Timestamp {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX))
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeLine {
    base: Timestamp,
    since: Instant,
}

impl TimeLine {
    /// A time line that goes on after `latest`, the last moment in the journal.
    pub(crate) fn after(latest: Timestamp) -> Self {
        Self { base: wall_clock().max(latest), since: Instant::now() }
    }

    pub(crate) fn now(&self) -> Timestamp {
        let elapsed = u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Timestamp(self.base.0.saturating_add(elapsed))
    }

    /// The moment of the monotonic clock at which the time line reaches `at`; none when that is out of its range.
    pub(crate) fn instant(&self, at: Timestamp) -> Option<Instant> {
        self.since.checked_add((at - self.base).into())
    }
}
