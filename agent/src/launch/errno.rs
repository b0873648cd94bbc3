//! The kernel's answer to a call without a safe interface.
//!
//! Safe to use between clone and `execve`. The child shares the agent's errno; `child` says why that is right.

use std::{ffi::c_long, io};

use rustix::io::Errno;

/// What a call that returns -1 on failure has returned.
pub(super) fn check(returned: c_long) -> Result<(), Errno> {
    if returned == -1 { Err(last()) } else { Ok(()) }
}

/// Why the last call failed.
pub(super) fn last() -> Errno {
    Errno::from_raw_os_error(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}
