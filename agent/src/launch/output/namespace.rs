//! A moment in a user namespace: what it takes to mount a file system without privilege.
//!
//! A helper process enters it, makes a detached mount, leaves its descriptor in the table that it shares with
//! the agent, and ends. The agent itself stays where it is.
#![expect(unsafe_code, reason = "clone has no safe interface")]

use std::ffi::{CStr, c_int, c_void};
use std::io::{self, Write};
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::{fs::Mode, fs::OFlags, io::Errno, process::Pid};

use crate::launch::{signals::Blocked, stack::Stack, usage};

pub(in crate::launch) type Make = fn(&CStr) -> rustix::io::Result<OwnedFd>;

/// What the helper reads and writes, in the memory that it shares with the agent.
#[derive(Debug)]
struct Errand<'a> {
    make: Make,
    argument: &'a CStr,
    users: Text,
    groups: Text,
    /// The descriptor made, or an errno below zero.
    result: AtomicI32,
}

/// A line of a map of ids, formatted before the helper starts: it cannot allocate.
#[derive(Debug)]
struct Text {
    bytes: [u8; 32],
    length: usize,
}

/// Calls `make` with its argument within a new user and mount namespace in which the agent's user is
/// privileged. `make` must not allocate, lock or panic, for it runs in a child that shares the agent's
/// memory.
pub(in crate::launch) fn make_within(stack: &mut Stack, make: Make, argument: &CStr) -> io::Result<OwnedFd> {
    let users = Text::identity(rustix::process::geteuid().as_raw())?;
    let groups = Text::identity(rustix::process::getegid().as_raw())?;
    let errand = Errand { make, argument, users, groups, result: AtomicI32::new(-libc::EIO) };
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES | libc::SIGCHLD;
    let flags = flags | libc::CLONE_NEWUSER | libc::CLONE_NEWNS;
    let pointer = ptr::from_ref(&errand).cast::<c_void>().cast_mut();
    let blocked = Blocked::all();
    // SAFETY: the helper runs on a stack of its own and only reads the errand, but for its atomic.
    // CLONE_VFORK suspends this thread until the helper has ended, so both outlive it.
    let pid = unsafe { libc::clone(run_errand, stack.top(), flags, pointer) };
    let error = io::Error::last_os_error();
    let pid = Some(pid).filter(|&pid| pid > 0).and_then(Pid::from_raw).ok_or(error)?;
    drop(blocked);
    usage::wait4(pid)?;
    match errand.result.load(Ordering::Acquire) {
        // SAFETY: the helper has left us this descriptor.
        fd @ 0.. => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        errno => Err(io::Error::from_raw_os_error(-errno)),
    }
}

extern "C" fn run_errand(pointer: *mut c_void) -> c_int {
    // SAFETY: `make_within` passes its errand, which outlives the helper.
    let errand = unsafe { &*pointer.cast::<Errand<'_>>() };
    let result = match map_ids(errand).and_then(|()| (errand.make)(errand.argument)) {
        Ok(made) => made.into_raw_fd(),
        Err(errno) => -errno.raw_os_error(),
    };
    errand.result.store(result, Ordering::Release);
    // SAFETY: ends the helper without running the agent's exit handlers.
    unsafe { libc::_exit(0) }
}

/// The same ids within as outside. Without privilege that is allowed only for one's own, and only once the
/// helper has given up changing its groups.
fn map_ids(errand: &Errand<'_>) -> rustix::io::Result<()> {
    write(c"/proc/self/setgroups", b"deny")?;
    write(c"/proc/self/uid_map", errand.users.bytes())?;
    write(c"/proc/self/gid_map", errand.groups.bytes())
}

fn write(path: &CStr, bytes: &[u8]) -> rustix::io::Result<()> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    // The kernel takes these files' content in one piece or not at all.
    if rustix::io::write(file, bytes)? == bytes.len() { Ok(()) } else { Err(Errno::IO) }
}

impl Text {
    fn identity(id: u32) -> io::Result<Self> {
        let mut bytes = [0; 32];
        let mut rest = &mut bytes[..];
        write!(rest, "{id} {id} 1")?;
        let length = 32 - rest.len();
        Ok(Self { bytes, length })
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}
