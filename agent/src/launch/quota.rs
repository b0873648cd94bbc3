//! A file system in memory with room for one stream: what bounds output without waking the agent.

use std::{ffi::CStr, ffi::CString, io, os::fd::OwnedFd};

use rustix::{
    fs::Mode, fs::OFlags, io::Errno, mount::FsMountFlags, mount::FsOpenFlags, mount::MountAttrFlags,
};

use super::{namespace, stack::Stack};

/// Room past the limit, so that a stream that fills it is longer than the limit: one page of the largest size
/// that Linux has.
const MARGIN: u64 = 64 * 1024;

/// A detached tmpfs: it has no place in any directory and goes with its descriptor.
#[derive(Debug)]
pub(super) struct Quota {
    limit: u64,
    mount: OwnedFd,
}

impl Quota {
    /// Directly with privilege, through a user namespace without. Fails where neither is allowed: in most
    /// containers, and where the distribution restricts user namespaces.
    pub(super) fn new(limit: u64, stack: &mut Stack) -> io::Result<Self> {
        let size = CString::new(limit.saturating_add(MARGIN).to_string())?;
        let mount = match mount(&size) {
            Err(Errno::PERM) => namespace::make_within(stack, mount, &size)?,
            made => made?,
        };
        Ok(Self { limit, mount })
    }

    /// Whether it bounds to this limit and is empty: a survivor that could not be killed may hold an old
    /// file.
    pub(super) fn is_fit_for(&self, limit: u64) -> bool {
        self.limit == limit
            && rustix::fs::fstatfs(&self.mount).is_ok_and(|room| room.f_bfree == room.f_blocks)
    }

    /// A new file without a name, open for appending.
    pub(super) fn file(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::APPEND | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.mount, ".", flags, Mode::empty())?;
        // Whoever the program runs as may open its /dev/stdout anew; nobody else has a way to it.
        rustix::fs::fchmod(&file, Mode::from_raw_mode(0o666))?;
        Ok(file)
    }
}

/// Runs within `namespace`, so it does not allocate.
fn mount(size: &CStr) -> rustix::io::Result<OwnedFd> {
    let context = rustix::mount::fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_set_string(&context, c"size", size)?;
    rustix::mount::fsconfig_set_string(&context, c"mode", c"0700")?;
    rustix::mount::fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}
