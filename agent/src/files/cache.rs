//! Contents on this host's disk, within a bound:
//!
//! ```text
//! SCRATCH/files/HASH        a content, whole; read-only
//! SCRATCH/files/HASH.x      the same, executable
//! SCRATCH/files/HASH.part   the beginning of a content that is being fetched, or was when the agent was killed
//! ```
//!
//! Names are hashes and nothing else, so that no message can lead elsewhere. A content of an earlier start is verified
//! before it is used. Where the bound is reached, what was used longest ago goes first; nothing that the present run
//! needs ever does.

use std::{
    collections::BTreeMap, collections::BTreeSet, fs, fs::File, fs::Permissions, io, io::Write as _,
    os::unix::fs::PermissionsExt as _, path::Path, path::PathBuf, sync::atomic::AtomicBool, time::SystemTime,
};

use speedup_core::experiment::files::{Content, ContentHash};

use super::{Hashing, StagingError, Stamp, hash, hash_into};

#[derive(Debug)]
pub(super) struct Cache {
    root: PathBuf,
    bound: u64,
    entries: BTreeMap<Key, Entry>,
    /// Counts uses; those of earlier starts come before all.
    uses: u64,
}

/// Which content, and in which of its forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    blake3: ContentHash,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    Plain,
    Executable,
    Part,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    bytes: u64,
    /// As it looked when it was verified in this start.
    verified: Option<Stamp>,
    last_use: LastUse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LastUse {
    /// In an earlier start.
    Before(SystemTime),
    Now(u64),
}

/// A content whose bytes arrive.
#[derive(Debug)]
pub(super) struct Draft {
    content: Content,
    path: PathBuf,
    file: File,
    hasher: blake3::Hasher,
    had: u64,
    resumed: bool,
}

/// Why bytes were not taken.
#[derive(Debug)]
pub(super) enum Rejected {
    /// They are not those of the content; what there was of it is gone.
    Wrong(String),
    Disk(StagingError),
}

impl Key {
    fn of(content: Content) -> Self {
        let form = if content.executable { Form::Executable } else { Form::Plain };
        Self { blake3: content.blake3, form }
    }

    fn part(content: Content) -> Self {
        Self { blake3: content.blake3, form: Form::Part }
    }

    fn name(self) -> String {
        match self.form {
            Form::Plain => self.blake3.to_string(),
            Form::Executable => format!("{}.x", self.blake3),
            Form::Part => format!("{}.part", self.blake3),
        }
    }

    fn named(name: &str) -> Option<Self> {
        let (hash, form) = match name.split_once('.') {
            None => (name, Form::Plain),
            Some((hash, "x")) => (hash, Form::Executable),
            Some((hash, "part")) => (hash, Form::Part),
            Some(_) => return None,
        };
        Some(Self { blake3: ContentHash::from_hex(hash)?, form })
    }
}

fn disk(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StagingError {
    let path = path.to_owned();
    move |source| StagingError::Disk { what, path, source }
}

impl Cache {
    /// The contents in a directory, made if it is not there.
    pub(super) fn open(root: &Path, bound: u64) -> Result<Self, StagingError> {
        fs::create_dir_all(root).map_err(disk("make", root))?;
        let mut entries = BTreeMap::new();
        let reading = || disk("read", root);
        for entry in fs::read_dir(root).map_err(reading())? {
            let entry = entry.map_err(reading())?;
            let Some(key) = entry.file_name().to_str().and_then(Key::named) else { continue };
            let seen = entry.metadata().map_err(reading())?;
            let last_use = LastUse::Before(seen.modified().map_err(reading())?);
            entries.insert(key, Entry { bytes: seen.len(), verified: None, last_use });
        }
        let mut cache = Self { root: root.to_owned(), bound, entries, uses: 0 };
        // The bound may have been a larger one before.
        cache.shrink(0, &BTreeSet::new())?;
        Ok(cache)
    }

    /// Where a content is, if it is here and has been seen to be right. What is here and wrong is removed.
    pub(super) fn find(
        &mut self,
        content: Content,
        stop: &AtomicBool,
    ) -> Result<Option<PathBuf>, StagingError> {
        let key = Key::of(content);
        let path = self.root.join(key.name());
        let Some(entry) = self.entries.get(&key) else { return Ok(None) };
        let stamp = match Stamp::of(&path) {
            Ok(stamp) => stamp,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.entries.remove(&key);
                return Ok(None);
            }
            Err(error) => return Err(disk("look at", &path)(error)),
        };
        if entry.verified != Some(stamp) && !is_whole(content, &path, stop)? {
            tracing::warn!(file = %content.blake3, "a file in the cache was damaged; it is fetched again");
            self.remove(key)?;
            return Ok(None);
        }
        self.used(key, stamp);
        Ok(Some(path))
    }

    /// Makes room for a content, at the cost of what was used longest ago and is not among what is wanted now.
    pub(super) fn make_room(
        &mut self,
        content: Content,
        wanted: &BTreeSet<Content>,
    ) -> Result<(), StagingError> {
        self.fits(wanted.iter().map(|one| one.bytes))?;
        let needed: BTreeSet<Key> =
            wanted.iter().map(|one| Key::of(*one)).chain([Key::part(content)]).collect();
        // What is there of the content counts as a part of it.
        let part = self.entries.get(&Key::part(content)).map_or(0, |part| part.bytes);
        self.shrink(content.bytes.saturating_sub(part), &needed)
    }

    /// Whether contents of these sizes can be here together.
    pub(super) fn fits(&self, bytes: impl IntoIterator<Item = u64>) -> Result<(), StagingError> {
        let (bound, wanted) = (self.bound, bytes.into_iter().fold(0, u64::saturating_add));
        if wanted > bound { Err(StagingError::TooLarge { wanted, bound }) } else { Ok(()) }
    }

    /// Removes what was used longest ago, as far as it takes for so many bytes more to fit; nothing of what is needed.
    fn shrink(&mut self, more: u64, needed: &BTreeSet<Key>) -> Result<(), StagingError> {
        while self.held().saturating_add(more) > self.bound {
            let others = self.entries.iter().filter(|(key, _)| !needed.contains(key));
            let Some((oldest, _)) = others.min_by_key(|(_, entry)| entry.last_use) else { break };
            let oldest = *oldest;
            self.remove(oldest)?;
        }
        Ok(())
    }

    /// Begins to take a content in, or goes on where an earlier start was interrupted.
    pub(super) fn draft(&mut self, content: Content, stop: &AtomicBool) -> Result<Draft, StagingError> {
        let key = Key::part(content);
        let path = self.root.join(key.name());
        // A kill may have come after it was made read-only and before it had its name.
        let _ = fs::set_permissions(&path, Permissions::from_mode(0o644));
        let options = File::options().read(true).append(true).create(true).clone();
        let file = options.open(&path).map_err(disk("write", &path))?;
        let mut had = file.metadata().map_err(disk("look at", &path))?.len();
        if had > content.bytes {
            file.set_len(0).map_err(disk("write", &path))?;
            had = 0;
        }
        let mut hasher = blake3::Hasher::new();
        hash_into(&mut hasher, &file, stop).map_err(|error| not_hashed(error, &path))?;
        let last_use = LastUse::Now(self.uses);
        self.entries.insert(key, Entry { bytes: content.bytes, verified: None, last_use });
        Ok(Draft { content, path, file, hasher, had, resumed: had > 0 })
    }

    /// Keeps a content that is whole, if it is the right one. It is on the disk when this returns: nothing is left to be
    /// written while a run is timed.
    pub(super) fn keep(&mut self, draft: Draft) -> Result<PathBuf, Rejected> {
        let Draft { content, path, file, hasher, had, .. } = draft;
        let found = ContentHash(hasher.finalize().into());
        if had != content.bytes || found != content.blake3 {
            self.remove(Key::part(content)).map_err(Rejected::Disk)?;
            let what = if had == content.bytes {
                format!("its BLAKE3 hash is {found} instead of {}", content.blake3)
            } else {
                format!("it ends after {had} of {} bytes", content.bytes)
            };
            return Err(Rejected::Wrong(what));
        }
        let key = Key::of(content);
        let whole = self.root.join(key.name());
        let mode = Permissions::from_mode(if content.executable { 0o555 } else { 0o444 });
        let kept = fs::set_permissions(&path, mode)
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&path, &whole))
            .and_then(|()| File::open(&self.root)?.sync_all())
            .and_then(|()| Stamp::of(&whole));
        let stamp = kept.map_err(disk("keep", &whole)).map_err(Rejected::Disk)?;
        self.entries.remove(&Key::part(content));
        self.used(key, stamp);
        Ok(whole)
    }

    /// Gives up what there is of a content that is being taken in.
    pub(super) fn discard(&mut self, draft: &Draft) -> Result<(), StagingError> {
        self.remove(Key::part(draft.content))
    }

    fn used(&mut self, key: Key, stamp: Stamp) {
        self.uses += 1;
        let last_use = LastUse::Now(self.uses);
        self.entries.insert(key, Entry { bytes: stamp.bytes(), verified: Some(stamp), last_use });
    }

    fn held(&self) -> u64 {
        self.entries.values().map(|entry| entry.bytes).fold(0, u64::saturating_add)
    }

    fn remove(&mut self, key: Key) -> Result<(), StagingError> {
        self.entries.remove(&key);
        let path = self.root.join(key.name());
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(disk("remove", &path)(error)),
            Err(_) | Ok(()) => Ok(()),
        }
    }
}

impl Draft {
    /// How many of its bytes are here.
    pub(super) fn had(&self) -> u64 {
        self.had
    }

    pub(super) fn is_complete(&self) -> bool {
        self.had == self.content.bytes
    }

    /// Whether its beginning was taken in by an earlier start.
    pub(super) fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// Takes the next bytes in.
    pub(super) fn write(&mut self, piece: &[u8]) -> Result<(), Rejected> {
        if self.had.saturating_add(piece.len() as u64) > self.content.bytes {
            let what = format!("it goes on after its {} bytes", self.content.bytes);
            return Err(Rejected::Wrong(what));
        }
        let written = self.file.write_all(piece).map_err(disk("write", &self.path));
        written.map_err(Rejected::Disk)?;
        self.hasher.update(piece);
        self.had += piece.len() as u64;
        Ok(())
    }
}

/// Whether a file holds what it should.
fn is_whole(content: Content, path: &Path, stop: &AtomicBool) -> Result<bool, StagingError> {
    let file = File::open(path).map_err(disk("read", path))?;
    let found = hash(file, stop).map_err(|error| not_hashed(error, path))?;
    Ok(found == content.blake3)
}

fn not_hashed(error: Hashing, path: &Path) -> StagingError {
    match error {
        Hashing::Disk(error) => disk("read", path)(error),
        Hashing::Stopped => StagingError::Stopped,
    }
}
