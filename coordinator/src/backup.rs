//! Backups: a directory with all of a data directory that cannot be made anew, taken while the coordinator runs.
//!
//! That is the journal, the admissions with the authority, the contents of files, and which engine is asked for hosts. The
//! store and the checkpoint are made from the journal. What was acknowledged when the backup began is in it. Each file
//! stands in the manifest with its length and hash, so that damage has a name; the directory gets its own name when it is
//! whole. A closed segment of the journal and a content never change, so copies of backups share them well.
//!
//! In reading order: `manifest` (what stands in it), `make`, `restore`.

mod make;
mod manifest;
mod restore;

use std::{io, path::Path, path::PathBuf};

use speedup_journal::{Position, ReplayError};
use thiserror::Error;

pub(crate) use self::restore::RESTORING;
pub use self::{make::back_up, manifest::ManifestError, restore::restore};

/// The manifest's name in a backup.
const MANIFEST: &str = "MANIFEST";

/// What a backup holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contents {
    /// All events before this one are in it.
    pub position: Position,
    /// How many files it has, the manifest aside.
    pub files: usize,
    pub bytes: u64,
}

/// Why there is no backup, or nothing was restored.
#[derive(Debug, Error)]
pub enum BackupError {
    #[error("{} already exists", .0.display())]
    Exists(PathBuf),
    #[error("{} is not empty: it holds {found}", path.display())]
    NotEmpty { path: PathBuf, found: String },
    #[error("cannot read a journal")]
    Journal(#[from] ReplayError),
    /// The journal's last segments are missing.
    #[error(
        "the journal in {} ends at position {end}, but its checkpoint has seen it up to position {seen}: what was \
         acknowledged is missing", path.display()
    )]
    Short { path: PathBuf, end: Position, seen: Position },
    #[error("{} is not a valid manifest of a backup", path.display())]
    Manifest { path: PathBuf, source: ManifestError },
    #[error("the backup is damaged: {} is not what was saved: {what}", path.display())]
    Damaged { path: PathBuf, what: String },
    #[error("cannot {what} {}", path.display())]
    Disk { what: &'static str, path: PathBuf, source: io::Error },
}

speedup_core::hints! { BackupError:
    Self::Exists(_) => "name a directory that does not exist, such as one with the date",
    Self::NotEmpty { .. } => "restore into a new directory, then start the coordinator with it",
    Self::Journal(error) => error.hint(),
    Self::Short { .. } =>
        "nothing was saved: bring the journal's last segments (*.seg) back, or take an earlier backup; and check the disk",
    Self::Manifest { source: ManifestError::Newer { .. }, .. } =>
        "restore with the release that made it, or a later one; nothing was changed",
    Self::Manifest { .. } | Self::Damaged { .. } => "take another backup; nothing of this one was restored",
    Self::Disk { .. } => "check free space, permissions and disk errors",
}

fn disk(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BackupError {
    let path = path.to_owned();
    move |source| BackupError::Disk { what, path, source }
}

#[cfg(test)]
mod tests;
