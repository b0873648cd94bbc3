//! The stack on which a child runs until it is the program.
#![expect(unsafe_code, reason = "maps memory with a guard page, which no safe interface offers")]

use std::{ffi::c_void, io, ptr, ptr::NonNull};

/// What the child's few calls need many times over, also in a debug build.
const USABLE: usize = 64 * 1024;
/// At least a page on every architecture that Linux has (arm64 and ppc64 use up to 64 KiB).
const GUARD: usize = 64 * 1024;

/// Mapped once and used by one child at a time.
#[derive(Debug)]
pub(super) struct Stack {
    base: NonNull<c_void>,
}

impl Stack {
    pub(super) fn new() -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
        // SAFETY: a new anonymous mapping aliases nothing.
        let base = unsafe { libc::mmap(ptr::null_mut(), GUARD + USABLE, libc::PROT_NONE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let stack = Self { base: NonNull::new(base).ok_or(io::ErrorKind::OutOfMemory)? };
        // SAFETY: both ends lie within the mapping made above, page-aligned.
        let opened =
            unsafe { libc::mprotect(base.byte_add(GUARD), USABLE, libc::PROT_READ | libc::PROT_WRITE) };
        if opened == 0 { Ok(stack) } else { Err(io::Error::last_os_error()) }
    }

    /// One past its highest byte, aligned to a page: stacks grow down on every architecture that Rust has
    /// Linux for.
    pub(super) fn top(&mut self) -> *mut c_void {
        // SAFETY: the end of the mapping is one past its last byte, which a pointer may be.
        unsafe { self.base.as_ptr().byte_add(GUARD + USABLE) }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and `child` lets no child outlive its borrow of the stack.
        unsafe { libc::munmap(self.base.as_ptr(), GUARD + USABLE) };
    }
}
