//! How either end of a connection notices that the other is gone. The kernels do it, not the processes: one of them may share
//! its machine with an agent that measures.

use std::time::Duration;

/// After how long without a word the kernel asks whether the other end is still there, how often, and how many times: one
/// that is gone is noticed after half a minute.
pub const KEEPALIVE: (Duration, Duration, u32) = (Duration::from_secs(10), Duration::from_secs(5), 4);

/// How long what was sent may stay without an acknowledgement until the connection counts as broken, in milliseconds. While
/// the kernel waits for one it asks nothing, and by itself it waits for a quarter of an hour: a grant to a host that has just
/// lost its power would stay there as long. As long as the questions take.
pub const UNACKNOWLEDGED_MS: u32 = 30_000;
