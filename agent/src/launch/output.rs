//! Where a captured stream goes: a file in memory that nobody drains, so that the agent sleeps while the
//! program writes.
//!
//! Its bound is a `quota`, where the host lets us have one. Why not a sealed memfd: seals that stop growth
//! stop truncation too or leave nothing to write to after it, and opening `/dev/stdout` truncates (`>
//! /dev/stdout`, `tee /dev/stderr`, `-o /dev/stdout`). Why not a pipe: 1 MiB without privilege, then the
//! program would stall. Why not `RLIMIT_FSIZE`: it bounds the program's own files too. Without a quota the
//! stream is a plain memfd, and the wait looks at its length now and then.

use std::{
    ffi::CStr, ffi::CString, fs::File, io, io::Read, io::Seek, os::fd::AsFd, os::fd::BorrowedFd,
    os::fd::OwnedFd,
};

use rustix::{
    fs::MemfdFlags, fs::Mode, fs::OFlags, io::Errno, mount::FsMountFlags, mount::FsOpenFlags,
    mount::MountAttrFlags,
};

mod namespace;

use super::{command::Sink, execution::CapturedOutput, stack::Stack};

/// Read back in pieces of this size, which blake3 takes at full speed.
const PIECE: usize = 128 * 1024;
/// Room past the limit, so that a stream that fills it is longer than the limit: one page of the largest size
/// that Linux has.
const MARGIN: u64 = 64 * 1024;

/// Makes buffers, one after another for each stream, and keeps their quotas.
#[derive(Debug, Default)]
pub(super) struct OutputBuffers {
    stdout: Slot,
    stderr: Slot,
}

#[derive(Debug, Default)]
enum Slot {
    #[default]
    Untried,
    Quota(Quota),
    /// This host lets us have none.
    Refused,
}

/// One captured stream of one run.
#[derive(Debug)]
pub(super) struct OutputBuffer {
    file: File,
    limit: u64,
    keep: usize,
    bounded: bool,
}

impl OutputBuffers {
    pub(super) fn stdout(&mut self, sink: Sink, stack: &mut Stack) -> io::Result<Option<OutputBuffer>> {
        self.stdout.buffer(sink, stack)
    }

    pub(super) fn stderr(&mut self, sink: Sink, stack: &mut Stack) -> io::Result<Option<OutputBuffer>> {
        self.stderr.buffer(sink, stack)
    }
}

impl Slot {
    fn buffer(&mut self, sink: Sink, stack: &mut Stack) -> io::Result<Option<OutputBuffer>> {
        let Sink::Capture { limit, keep } = sink else { return Ok(None) };
        if !matches!(self, Self::Refused) && !matches!(self, Self::Quota(quota) if quota.is_fit_for(limit)) {
            *self = Quota::new(limit, stack).map_or(Self::Refused, Self::Quota);
        }
        let (fd, bounded) = match self {
            Self::Quota(quota) => (quota.file()?, true),
            Self::Untried | Self::Refused => (memfd()?, false),
        };
        Ok(Some(OutputBuffer { file: File::from(fd), limit, keep, bounded }))
    }
}

/// Open for appending like the quota's: a second opening of it (`echo more >> /dev/stdout`) is not written
/// over.
fn memfd() -> io::Result<OwnedFd> {
    let fd = rustix::fs::memfd_create("speedup-output", MemfdFlags::CLOEXEC)?;
    rustix::fs::fcntl_setfl(&fd, OFlags::APPEND)?;
    Ok(fd)
}

impl OutputBuffer {
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Whether the kernel lets it grow without end.
    pub(super) fn needs_a_look(&self) -> bool {
        !self.bounded
    }

    /// Whether a buffer that needs a look is over its limit. A bounded one fails the program's writes instead.
    pub(super) fn is_over(&self) -> bool {
        !self.bounded && self.length().is_ok_and(|length| length > self.limit)
    }

    /// Reads it back, when nothing writes to it any more.
    pub(super) fn collect(mut self) -> io::Result<CapturedOutput> {
        let length = self.length()?;
        let bytes = length.min(self.limit);
        let mut hasher = blake3::Hasher::new();
        let mut head = Vec::new();
        let mut piece = vec![0; PIECE.min(usize::try_from(bytes).unwrap_or(PIECE))];
        // The program shares the offset.
        self.file.rewind()?;
        let mut remaining = (&mut self.file).take(bytes);
        loop {
            let got = match remaining.read(&mut piece) {
                Ok(0) => break,
                Ok(got) => got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            hasher.update(&piece[..got]);
            head.extend_from_slice(&piece[..got.min(self.keep - head.len())]);
        }
        Ok(CapturedOutput { bytes, blake3: hasher.finalize(), head, over_limit: length > self.limit })
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}

/// A file system in memory with room for one stream, which bounds output without waking the agent: a detached tmpfs has no place in any directory and goes with its descriptor.
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
