//! The lock of a journal's directory: one writer at a time.
//!
//! It says who has the journal. What is written is locked besides, the last segment itself (see recovery), so that a lock
//! file that was removed lets nobody in.

use crate::{failure::JournalFailure, private::FILE_MODE};
use rustix::{fs::FlockOperation, fs::OFlags, fs::flock, io::Errno};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

const NAME: &str = "lock";

/// A process id in text is shorter; what else the file may hold is not read.
const MAX_PID_BYTES: u64 = 20;

/// Held as long as it lives. The system releases it when the process ends, however it ends, and a command that the
/// process executes does not inherit it (the descriptor closes on exec); nor does one that is just about to be executed, for it is
/// released and not only closed.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    file: File,
}

/// Why the lock could not be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("the journal in {} is in use by {holder}", directory.display())]
    Held {
        directory: PathBuf,
        /// The process that holds it, as it wrote into the lock file.
        holder: Holder,
    },
    #[error("the lock file {} is a symbolic link", .0.display())]
    // It is not followed, as whoever made it chose where it leads.
    Link(PathBuf),
    #[error(transparent)]
    Failed(#[from] JournalFailure),
}

speedup_core::hints! { LockError:
    LockError::Held { .. } => "stop that process, or give this one a directory of its own",
    LockError::Link(_) => "no release makes one: see who did, then remove it",
    LockError::Failed(failure) => failure.hint(),
}

impl DirectoryLock {
    pub(crate) fn take(directory: &Path) -> Result<DirectoryLock, LockError> {
        let path = directory.join(NAME);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_MODE)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)
            .map_err(|error| match error.raw_os_error() {
                Some(number) if number == Errno::LOOP.raw_os_error() => LockError::Link(path.clone()),
                _ => JournalFailure::of("open the lock file", &path)(error).into(),
            })?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(LockError::Held {
                    directory: directory.to_owned(),
                    holder: Holder(holder(&mut file)),
                });
            }
            Err(error) => return Err(JournalFailure::of("lock", &path)(error.into()).into()),
        }
        // It serves a message only; a full disk must not keep the journal closed for it.
        let _ = write_holder(&mut file);
        Ok(DirectoryLock { file })
    }
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        release(&self.file);
    }
}

/// Ends a lock for every descriptor of the file, those included that a child has between fork and exec. Closing ends what this
/// cannot.
pub(crate) fn release(file: &File) {
    let _ = flock(file, FlockOperation::Unlock);
}

fn write_holder(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

/// Nothing when the holder has not yet written its id.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(MAX_PID_BYTES).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// The process that holds a lock, where it wrote its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder(pub Option<u32>);

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(pid) => write!(f, "process {pid}"),
            None => f.write_str("another process"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_that_a_child_still_has_holds_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let lock = DirectoryLock::take(directory.path()).unwrap();
        assert!(matches!(DirectoryLock::take(directory.path()), Err(LockError::Held { .. })));
        let of_a_child = lock.file.try_clone().unwrap();
        drop(lock);
        assert!(DirectoryLock::take(directory.path()).is_ok());
        drop(of_a_child);
    }
}
