//! The host's wall clock: it dates what happened, and times nothing.

use std::time::{SystemTime, UNIX_EPOCH};

/// Nanoseconds since the Unix epoch; 0 on a host whose clock stands before it, or beyond the year 2554.
pub(crate) fn unix_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(0)
}
