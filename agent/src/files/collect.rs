//! Collecting what a build made: regular files in its working directory, taken into the cache by their content. A path is
//! walked part by part and no link is followed, so that nothing else of the host can be collected.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use speedup_core::build::Product;
use speedup_core::files::{Content, MAX_FILE_BYTES};

use super::cache::{Draft, Rejected};
use super::{Files, Hashing, READ_BYTES, StagingError, hash};

/// Why a build's products are not here.
#[derive(Debug)]
pub(crate) enum NotCollected {
    /// The build did not make one.
    NotMade {
        /// Which.
        name: String,
        /// What was found instead.
        reason: String,
    },
    /// This host cannot keep them.
    NotKept(StagingError),
}

impl From<StagingError> for NotCollected {
    fn from(error: StagingError) -> Self {
        Self::NotKept(error)
    }
}

/// A product where the build left it.
struct Found<'a> {
    name: &'a str,
    file: File,
    bytes: u64,
    executable: bool,
}

impl Files {
    /// Takes what a build left at these paths of its working directory into the cache; ascending by name.
    pub(crate) fn collect(
        &mut self,
        directory: &Path,
        paths: &BTreeMap<String, String>,
        stop: &AtomicBool,
    ) -> Result<Vec<Product>, NotCollected> {
        let found = paths.iter().map(|(name, path)| {
            let not_made = |reason| NotCollected::NotMade { name: name.clone(), reason };
            find(name, directory, path).map_err(not_made)
        });
        let found = found.collect::<Result<Vec<Found<'_>>, _>>()?;
        // Before they are read, which takes as long as they are large.
        self.cache.fits(found.iter().map(|one| one.bytes))?;
        let mut products = Vec::new();
        for one in &found {
            products.push(Product { name: one.name.to_owned(), content: content(one, stop)? });
        }
        let wanted: BTreeSet<Content> = products.iter().map(|product| product.content).collect();
        for (one, product) in found.iter().zip(&products) {
            self.take(one, product.content, &wanted, stop)?;
        }
        Ok(products)
    }

    /// Takes a copy into the cache: whoever may still write to the file does not write to that.
    fn take(
        &mut self,
        found: &Found<'_>,
        content: Content,
        wanted: &BTreeSet<Content>,
        stop: &AtomicBool,
    ) -> Result<(), NotCollected> {
        if self.cache.find(content, stop)?.is_some() {
            return Ok(());
        }
        self.cache.make_room(content, wanted)?;
        let mut draft = self.cache.draft(content, stop)?;
        if draft.is_resumed() {
            self.cache.discard(&draft)?;
            draft = self.cache.draft(content, stop)?;
        }
        let copied = match copy(found, &mut draft, stop) {
            Ok(()) => self.cache.keep(draft).map(drop),
            Err(rejected) => {
                // The first error is the one to tell.
                let _ = self.cache.discard(&draft);
                Err(rejected)
            }
        };
        copied.map_err(|rejected| match rejected {
            Rejected::Wrong(_) => not_made(found, "it changed while it was collected".to_owned()),
            Rejected::Disk(error) => NotCollected::NotKept(error),
        })
    }
}

fn not_made(found: &Found<'_>, reason: String) -> NotCollected {
    NotCollected::NotMade { name: found.name.to_owned(), reason }
}

/// Opens a product; what is none is told in words.
fn find<'a>(name: &'a str, directory: &Path, path: &str) -> Result<Found<'a>, String> {
    let file = File::from(open_inside(directory, path)?);
    let seen = file.metadata().map_err(|error| format!("cannot look at {path}: {error}"))?;
    if !seen.is_file() {
        return Err(format!("{path} is no regular file"));
    }
    let bytes = seen.len();
    if bytes > MAX_FILE_BYTES {
        return Err(format!("{path} has {bytes} bytes, but at most {MAX_FILE_BYTES} are possible"));
    }
    Ok(Found { name, file, bytes, executable: seen.permissions().mode() & 0o111 != 0 })
}

/// Opens a regular file by its path in a directory. Nothing else is opened: to open a pipe may wait, and a device may act.
fn open_inside(directory: &Path, path: &str) -> Result<OwnedFd, String> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = openat(CWD, directory, flags | OFlags::DIRECTORY, Mode::empty());
    let mut at = opened.map_err(|errno| format!("cannot open the working directory: {errno}"))?;
    let mut parts = path.split('/').peekable();
    let mut walked = 0;
    while let Some(part) = parts.next() {
        walked += part.len();
        let so_far = &path[..walked];
        walked += 1;
        let seen = statat(&at, part, AtFlags::SYMLINK_NOFOLLOW).map_err(|errno| match errno {
            Errno::NOENT => format!("there is no {so_far} in its working directory"),
            _ => format!("cannot look at {so_far}: {errno}"),
        })?;
        let is_last = parts.peek().is_none();
        let wanted = if is_last { FileType::RegularFile } else { FileType::Directory };
        let is = FileType::from_raw_mode(seen.st_mode);
        if is != wanted {
            return Err(format!("{so_far} is {}, not {}", in_words(is), in_words(wanted)));
        }
        let flags = if is_last { flags } else { flags | OFlags::DIRECTORY };
        at = openat(&at, part, flags, Mode::empty())
            .map_err(|errno| format!("cannot open {so_far}: {errno}"))?;
    }
    Ok(at)
}

fn in_words(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a regular file",
        FileType::Directory => "a directory",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "something unknown",
    }
}

/// What a product holds.
fn content(found: &Found<'_>, stop: &AtomicBool) -> Result<Content, NotCollected> {
    let Found { bytes, executable, .. } = *found;
    let blake3 = hash((&found.file).take(bytes), stop).map_err(|error| match error {
        Hashing::Disk(error) => not_made(found, format!("it cannot be read: {error}")),
        Hashing::Stopped => StagingError::Stopped.into(),
    })?;
    Ok(Content { blake3, bytes, executable })
}

/// Copies a product, which its draft verifies.
fn copy(found: &Found<'_>, draft: &mut Draft, stop: &AtomicBool) -> Result<(), Rejected> {
    let changed = |error: std::io::Error| Rejected::Wrong(error.to_string());
    let mut from = (&found.file).take(found.bytes.saturating_add(1));
    from.get_mut().seek(SeekFrom::Start(0)).map_err(changed)?;
    let mut room = vec![0; READ_BYTES];
    while !stop.load(Ordering::Acquire) {
        match from.read(&mut room) {
            Ok(0) => return Ok(()),
            Ok(bytes) => draft.write(&room[..bytes])?,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(changed(error)),
        }
    }
    Err(Rejected::Disk(StagingError::Stopped))
}
