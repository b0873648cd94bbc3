//! Staged files on this host: before anything of a run is executed, every file that its work order names is here and is
//! the right one. Contents are fetched and kept in a cache, shared files are read where they lie; either is verified
//! once, and again whenever it looks as if it had been touched.
//!
//! What a build made becomes such contents too: collected here, and put at the coordinator before anybody is told of it.
//!
//! In reading order: [`Files`], `stamp` (what a file looks like), `cache` (contents on the disk), `line` (to the
//! coordinator), `fetch` (from there), `collect` (from the directory of a build), `put` (to the coordinator); and `program`,
//! what was in the file that a run executed.

mod cache;
mod collect;
mod fetch;
mod line;
mod program;
mod put;
mod stamp;

pub(crate) use self::{collect::NotCollected, program::ProgramStamp, program::Programs, put::time_of_build};

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use speedup_access::Reach;
use speedup_core::experiment::build::Product;
use speedup_core::experiment::files::{Content, ContentHash, FileSource, StagedFile, contents};
use speedup_core::run::work::WorkOrder;
use thiserror::Error;
use tokio::time::Instant;

use self::{cache::Cache, fetch::Fetching, put::Putting, stamp::Stamp};
use crate::stop::Stop;

/// Bytes that are read at once while a file is hashed.
const READ_BYTES: usize = 1 << 20;

/// Why a run does not have its files.
#[derive(Debug, Error)]
pub(crate) enum StagingError {
    #[error(
        "the files of this run take {wanted} bytes, but this host caches at most {bound} (--file-cache of its agent)"
    )]
    TooLarge {
        /// How many they have.
        wanted: u64,
        /// How many may be kept.
        bound: u64,
    },
    #[error("cannot fetch the content of the file {name}: {reason}")]
    Fetch { name: String, reason: String },
    #[error("cannot send the product {name} to the coordinator: {reason}")]
    Put { name: String, reason: String },
    #[error("the shared file {path} ({name}) is not that of the plan: {what}")]
    Differs { name: String, path: String, what: String },
    #[error("cannot {what} {}", path.display())]
    Disk { what: &'static str, path: PathBuf, source: io::Error },
    #[error("the scratch directory's path is not UTF-8")]
    NotUtf8,
    #[error("the agent was stopped while it prepared the files of the run")]
    Stopped,
}

#[derive(Debug)]
pub(crate) struct Files {
    scratch: PathBuf,
    cache: Cache,
    /// Shared files that were verified, as they looked then.
    shared: BTreeMap<String, (Stamp, ContentHash)>,
}

impl Files {
    /// The files under an agent's scratch directory; contents take at most `bound` bytes of it.
    pub(crate) fn open(scratch: &Path, bound: u64) -> Result<Self, StagingError> {
        let cache = Cache::open(&scratch.join("files"), bound)?;
        Ok(Self { scratch: scratch.to_owned(), cache, shared: BTreeMap::new() })
    }

    /// Sees to it that all files of a work order are here and the right ones, and tells the order where they are: below `reached`, the
    /// path by which the run reaches the scratch directory.
    pub(crate) async fn stage(
        &mut self,
        order: &mut WorkOrder,
        reached: &Path,
        coordinator: &Reach,
        stop: &mut Stop,
    ) -> Result<(), StagingError> {
        if order.files.is_empty() && order.built.is_empty() {
            return Ok(());
        }
        let built = order.built.iter().map(|product| product.content);
        let wanted: BTreeSet<Content> = contents(&order.files).into_iter().chain(built).collect();
        let mut fetching = Fetching::new(coordinator, stop);
        for file in order.files.clone() {
            let path = match &file.source {
                FileSource::Content(content) => {
                    self.have(*content, &file.name, reached, &wanted, &mut fetching).await?
                }
                FileSource::Shared { path, blake3, bytes } => {
                    self.verify_shared(&file, path, *blake3, *bytes, fetching.stop())?;
                    path.clone()
                }
            };
            order.place(&file, path);
        }
        for product in order.built.clone() {
            let path =
                self.have(product.content, &product.placeholder(), reached, &wanted, &mut fetching).await?;
            order.place_product(&product, path);
        }
        fetching.end().await;
        Ok(())
    }

    /// Sees to it that a content is here and the right one; says where.
    async fn have(
        &mut self,
        content: Content,
        name: &str,
        reached: &Path,
        wanted: &BTreeSet<Content>,
        fetching: &mut Fetching<'_>,
    ) -> Result<String, StagingError> {
        let path = match self.cache.find(content, fetching.stop())? {
            Some(path) => path,
            None => {
                self.cache.make_room(content, wanted)?;
                fetching.fetch(&mut self.cache, content, name).await?
            }
        };
        let path = path.strip_prefix(&self.scratch).map_or(path.clone(), |below| reached.join(below));
        path.into_os_string().into_string().map_err(|_| StagingError::NotUtf8)
    }

    /// Sees to it that the coordinator has what a build made and was collected here, by the end of the build's lease.
    pub(crate) async fn put(
        &mut self,
        products: &[Product],
        coordinator: &Reach,
        stop: &mut Stop,
        deadline: Instant,
    ) -> Result<(), StagingError> {
        let mut putting = Putting::new(coordinator, stop, deadline);
        for product in products {
            putting.put(&mut self.cache, product).await?;
        }
        putting.end().await;
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
