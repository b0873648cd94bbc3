//! What a file looks like from outside. Whoever writes to a file, replaces it or changes its mode changes its stamp: the
//! time of the last change of the inode is the kernel's to set.

use std::{io, os::unix::fs::MetadataExt as _, path::Path};

/// What a file looks like from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of a regular file; links are followed.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let seen = std::fs::metadata(path)?;
        if !seen.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        Ok(Self {
            device: seen.dev(),
            inode: seen.ino(),
            bytes: seen.len(),
            modified: (seen.mtime(), seen.mtime_nsec()),
            changed: (seen.ctime(), seen.ctime_nsec()),
        })
    }

    /// How long the file is.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}
