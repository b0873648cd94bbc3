//! Transparent huge pages off for a program: a property of memory that its child inherits, also over `execve`.
#![expect(unsafe_code, reason = "this prctl has no safe interface")]

use std::io;

/// While it is there, what this process launches has no transparent huge pages, nor has the process itself; `child`
/// shares its memory with it, so that it cannot have them alone.
#[derive(Debug)]
pub struct NoHugePages(());

impl NoHugePages {
    /// Until it is dropped.
    pub fn for_children() -> io::Result<Self> {
        set(true).map(|()| Self(()))
    }
}

impl Drop for NoHugePages {
    fn drop(&mut self) {
        // It could be set, so it can be unset.
        let _ = set(false);
    }
}

fn set(disabled: bool) -> io::Result<()> {
    // SAFETY: takes numbers only.
    let set =
        unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, libc::c_ulong::from(disabled), 0_u64, 0_u64, 0_u64) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
