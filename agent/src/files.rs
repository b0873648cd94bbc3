//! Staged files on this host: before anything of a run is executed, every file that its work order names is here and is
//! the right one. Contents are fetched and kept in a cache, shared files are read where they lie; either is verified
//! once, and again whenever it looks as if it had been touched.
//!
//! In reading order: [`Files`], `stamp` (what a file looks like), `cache` (contents on the disk), `fetch` (from the
//! coordinator).

mod cache;
mod fetch;
mod stamp;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use speedup_access::Reach;
use speedup_core::files::{ContentHash, FileSource, StagedFile, contents};
use speedup_core::work::WorkOrder;
use thiserror::Error;

use self::cache::Cache;
use self::fetch::Fetching;
use self::stamp::Stamp;
use crate::stop::Stop;

/// Bytes that are read at once while a file is hashed.
const READ_BYTES: usize = 1 << 20;

/// Why a run does not have its files.
#[derive(Debug, Error)]
pub(crate) enum StagingError {
    /// They do not fit.
    #[error(
        "the files of this run have {wanted} bytes, and this host keeps at most {bound} (--file-cache of its agent)"
    )]
    TooLarge {
        /// How many they have.
        wanted: u64,
        /// How many may be kept.
        bound: u64,
    },
    /// The content could not be fetched.
    #[error("cannot fetch the content of the file {name}: {reason}")]
    Fetch {
        /// Which.
        name: String,
        /// Why not.
        reason: String,
    },
    /// A shared file is another one here.
    #[error("the shared file {path} ({name}) is not that of the plan: {what}")]
    Differs {
        /// Which.
        name: String,
        /// Where.
        path: String,
        /// In what it differs.
        what: String,
    },
    /// The disk refused.
    #[error("cannot {what} {}: {source}", path.display())]
    Disk {
        /// What was tried.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// Its path cannot stand in a command.
    #[error("the state directory's path is not UTF-8")]
    NotUtf8,
    /// The agent was asked to stop.
    #[error("the agent was stopped while the files of the run were made ready")]
    Stopped,
}

/// The staged files of this host.
#[derive(Debug)]
pub(crate) struct Files {
    cache: Cache,
    /// Shared files that were verified, as they looked then.
    shared: BTreeMap<String, (Stamp, ContentHash)>,
}

impl Files {
    /// The files under an agent's state directory; contents take at most `bound` bytes of it.
    pub(crate) fn open(state: &Path, bound: u64) -> Result<Self, StagingError> {
        Ok(Self { cache: Cache::open(&state.join("files"), bound)?, shared: BTreeMap::new() })
    }

    /// Sees to it that all files of a work order are here and the right ones, and tells the order where they are.
    pub(crate) async fn stage(
        &mut self,
        order: &mut WorkOrder,
        coordinator: &Reach,
        stop: &mut Stop,
    ) -> Result<(), StagingError> {
        if order.files.is_empty() {
            return Ok(());
        }
        let wanted = contents(&order.files);
        let mut fetching = Fetching::new(coordinator, stop);
        for file in order.files.clone() {
            let path = match &file.source {
                FileSource::Content(content) => {
                    let name = &file.name;
                    let path = match self.cache.find(*content, fetching.stop())? {
                        Some(path) => path,
                        None => {
                            self.cache.make_room(*content, &wanted)?;
                            fetching.fetch(&mut self.cache, *content, name).await?
                        }
                    };
                    path.into_os_string().into_string().map_err(|_| StagingError::NotUtf8)?
                }
                FileSource::Shared { path, blake3, bytes } => {
                    self.verify_shared(&file, path, *blake3, *bytes, fetching.stop())?;
                    path.clone()
                }
            };
            order.place(&file, path);
        }
        fetching.end().await;
        Ok(())
    }

    fn verify_shared(
        &mut self,
        file: &StagedFile,
        path: &str,
        expected: ContentHash,
        bytes: Option<u64>,
        stop: &AtomicBool,
    ) -> Result<(), StagingError> {
        let at = Path::new(path);
        let differs = |what| StagingError::Differs { name: file.name.clone(), path: path.to_owned(), what };
        let before = Stamp::of(at).map_err(|error| differs(error.to_string()))?;
        if self.shared.get(path) == Some(&(before, expected)) {
            return Ok(());
        }
        self.shared.remove(path);
        if let Some(bytes) = bytes.filter(|bytes| *bytes != before.bytes()) {
            return Err(differs(format!("it has {} bytes instead of {bytes} on this host", before.bytes())));
        }
        let found = std::fs::File::open(at).map_err(Hashing::Disk).and_then(|file| hash(file, stop));
        let found = match found {
            Ok(found) => found,
            Err(Hashing::Disk(error)) => return Err(differs(error.to_string())),
            Err(Hashing::Stopped) => return Err(StagingError::Stopped),
        };
        if found != expected {
            return Err(differs(format!("its BLAKE3 hash on this host is {found} instead of {expected}")));
        }
        let after = Stamp::of(at).map_err(|error| differs(error.to_string()))?;
        if after != before {
            return Err(differs("it changed while it was read".to_owned()));
        }
        self.shared.insert(path.to_owned(), (after, expected));
        Ok(())
    }
}

/// Why a file was not hashed.
#[derive(Debug)]
enum Hashing {
    Disk(io::Error),
    Stopped,
}

/// The hash of all that is left of a file.
fn hash(from: impl Read, stop: &AtomicBool) -> Result<ContentHash, Hashing> {
    let mut hasher = blake3::Hasher::new();
    hash_into(&mut hasher, from, stop)?;
    Ok(ContentHash(hasher.finalize().into()))
}

fn hash_into(hasher: &mut blake3::Hasher, mut from: impl Read, stop: &AtomicBool) -> Result<(), Hashing> {
    let mut room = vec![0; READ_BYTES];
    while !stop.load(Ordering::Acquire) {
        match from.read(&mut room) {
            Ok(0) => return Ok(()),
            Ok(bytes) => {
                hasher.update(&room[..bytes]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Hashing::Disk(error)),
        }
    }
    Err(Hashing::Stopped)
}

#[cfg(test)]
mod tests;
