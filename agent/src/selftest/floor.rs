//! The floor: the least that a process costs on Linux, clone as vfork does it, `execve`, `wait4` and nothing
//! else.
//!
//! It is the standard that the launcher is held against, so it shares nothing with it but the kernel. The
//! clock starts at the child's last moment before `execve`, as the launcher's does, and stops when `wait4`
//! returns.
#![expect(unsafe_code, reason = "the floor is made of clone, execve and wait4")]

use std::{
    ffi::CString, ffi::c_char, ffi::c_int, ffi::c_void, io, os::unix::ffi::OsStrExt as _, path::Path, ptr,
    sync::atomic::AtomicU64, sync::atomic::Ordering,
};

use rustix::time::{ClockId, clock_gettime};

/// A program ready to be executed at the floor.
#[derive(Debug)]
pub struct Floor {
    program: CString,
}

/// What the child needs: all of it lies in the memory that it shares with its parent.
struct Orders {
    program: *const c_char,
    argv: [*const c_char; 2],
    env: [*const c_char; 1],
    started_ns: AtomicU64,
}

impl Floor {
    /// The floor of `program`.
    ///
    /// # Errors
    /// When the path has a NUL byte.
    pub fn new(program: &Path) -> io::Result<Self> {
        Ok(Self { program: CString::new(program.as_os_str().as_bytes())? })
    }

    /// Executes the program with an empty environment, and returns the nanoseconds from `execve` to its end.
    ///
    /// # Errors
    /// When it cannot be executed, or ends otherwise than with exit code 0.
    pub fn execute(&self) -> io::Result<u64> {
        let program = self.program.as_ptr();
        let argv = [program, ptr::null()];
        let orders = Orders { program, argv, env: [ptr::null()], started_ns: AtomicU64::new(0) };
        let mut stack = [0_u128; 1024];
        let mut status = 0;
        // SAFETY: the child runs on a stack of its own while this thread is suspended until its `execve` or
        // its end, and reads only `orders`, which outlives that.
        let waited = unsafe {
            let top = stack.as_mut_ptr_range().end.cast::<c_void>();
            let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
            let pid = libc::clone(execute, top, flags, ptr::from_ref(&orders).cast::<c_void>().cast_mut());
            if pid < 0 {
                return Err(io::Error::last_os_error());
            }
            libc::wait4(pid, &raw mut status, 0, ptr::null_mut())
        };
        let stopped_ns = now_ns();
        if waited < 0 {
            return Err(io::Error::last_os_error());
        }
        if status != 0 {
            let program = self.program.to_string_lossy();
            return Err(io::Error::other(format!("{program} ended with status {status}")));
        }
        Ok(stopped_ns.saturating_sub(orders.started_ns.load(Ordering::Acquire)))
    }
}

extern "C" fn execute(argument: *mut c_void) -> c_int {
    // SAFETY: `Floor::execute` passes its own orders, which outlive the child.
    let orders = unsafe { &*argument.cast::<Orders>() };
    orders.started_ns.store(now_ns(), Ordering::Release);
    // SAFETY: null-terminated vectors of C strings.
    unsafe { libc::execve(orders.program, orders.argv.as_ptr(), orders.env.as_ptr()) };
    127
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::MonotonicRaw);
    now.tv_sec.cast_unsigned().wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec.cast_unsigned())
}
