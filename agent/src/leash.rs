//! Ends a process with its parent. Nothing else of the product asks for the death signal.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// Has the kernel send `signal` to this process when the thread that forked it ends. A parent that ended before this request causes no
/// signal, so it is checked afterwards. Safe between fork and `execve`.
///
/// # Errors
/// Those of `prctl`, and [`Errno::SRCH`] where `parent` is no longer the parent: then this process has to end by itself.
pub(crate) fn end_with_parent(parent: Pid, signal: Signal) -> Result<(), Errno> {
    set_parent_process_death_signal(Some(signal))?;
    if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH) }
}
