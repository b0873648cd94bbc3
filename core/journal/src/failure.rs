//! An operation on a file that failed.

use speedup_core::value::hint::Hinted;
use std::{io, path::PathBuf, sync::Arc};

/// What we tried, on which file; the system's reason is the source. It can be cloned, because a journal that has failed
/// gives the same failure to every later caller.
#[derive(Debug, Clone, thiserror::Error)]
#[error("cannot {doing} {}", path.display())]
pub struct JournalFailure {
    /// What was tried, as in "cannot sync the file".
    pub doing: &'static str,
    pub path: PathBuf,
    #[source]
    pub cause: Arc<io::Error>,
}

impl JournalFailure {
    /// For `map_err`: what we tried and where.
    pub(crate) fn of(
        doing: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> JournalFailure {
        move |cause| JournalFailure { doing, path: path.into(), cause: Arc::new(cause) }
    }
}

impl Hinted for JournalFailure {
    fn hint(&self) -> Option<&'static str> {
        match self.cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Some("free space on this file system and start again; everything acknowledged is safe")
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Some("run as the user who owns the journal's directory, on a file system mounted for writing")
            }
            io::ErrorKind::NotFound => {
                Some("check the path; a segment that a running service removed is gone from a new reader too")
            }
            _ if self.cause.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => {
                Some("the disk reports an error: check it (kernel log) before starting again")
            }
            _ => None,
        }
    }
}
