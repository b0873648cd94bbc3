//! The contents of staged files, each kept once under its hash:
//!
//! ```text
//! DIR/blobs/ab/cdef…       a content, whole, verified and durable
//! DIR/blobs/partial/ID     one that is being put; removed at the next start
//! ```
//!
//! A content is kept while an experiment of the store names it, as a file of the plan or as a product of a build. What no
//! experiment names is removed at a start and at no other time, so that a content that a user has put is there when the
//! experiment is submitted; and at no start while something is being built, so that a product is there when it is reported.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use speedup_access::Identity;
use speedup_core::experiment::files::{ContentHash, MAX_FILE_BYTES};
use speedup_core::value::{bounded::share, causes::with_causes};
use speedup_journal::private;
use speedup_proto::{convert::Blob, limits::MAX_PIECE_BYTES};
use thiserror::Error;
use uuid::Uuid;

use crate::component::{ComponentFailures, CoordinatorComponent};
use crate::fault::{Broken, Fault};

/// Most bytes of all contents together, those being put included: a coordinator shares its disk with its journal. Each user and
/// host has a share of it for what it puts from one start to the next.
const MAX_BLOBS_BYTES: u64 = 1 << 40;
/// Bytes that are stored to see whether contents can be stored.
const TRIAL_BYTES: usize = 4_096;
/// The folder of the contents in a data directory.
const FOLDER: &str = "blobs";
/// The folder of what is being put.
const PARTIAL: &str = "partial";

/// Why a content cannot be kept or read.
#[derive(Debug, Error)]
pub(crate) enum BlobError {
    #[error("{bytes} bytes are more than the {MAX_FILE_BYTES} that one file may have")]
    TooLarge { bytes: u64 },
    #[error("the coordinator keeps {kept} bytes of files already, and at most {MAX_BLOBS_BYTES} in all")]
    Full { kept: u64 },
    #[error(
        "{who} has put {put} bytes of files since the coordinator started, and the share of one is {most}"
    )]
    Share { who: Identity, put: u64, most: u64 },
    #[error("the content is not {expected}: {what}")]
    Differs { expected: ContentHash, what: String },
    #[error("there is no file {0} here")]
    Missing(ContentHash),
    #[error("cannot {what} {}", path.display())]
    Disk { what: &'static str, path: PathBuf, source: io::Error },
}

/// The contents of a data directory. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Blobs {
    root: PathBuf,
    taken: Arc<Mutex<Usage>>,
    /// Told whether contents can be stored.
    failing: ComponentFailures,
    fault: Fault,
    /// Held while a content gets its name, until that is durable.
    naming: Arc<Mutex<()>>,
}

/// Bytes of contents, and those announced by what is being put.
#[derive(Debug, Default)]
struct Usage {
    all: u64,
    /// Those since the start, by who put them.
    by_identity: HashMap<Identity, u64>,
}

/// What becomes of contents that no experiment names, at a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnnamedBlobs {
    /// They stay: a build that is under way may have put them.
    Keep,
    Remove,
}

/// A content that is being put. What is not finished leaves nothing behind.
#[derive(Debug)]
pub(crate) struct Upload {
    blobs: Blobs,
    blob: Blob,
    by: Option<Identity>,
    path: PathBuf,
    file: File,
    hasher: blake3::Hasher,
    written: u64,
    is_kept: bool,
}

fn disk(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BlobError {
    let path = path.to_owned();
    move |source| BlobError::Disk { what, path, source }
}

impl Blobs {
    /// Opens the contents of a data directory; removes what was left half put, and, if that is to go, what nobody names.
    pub(crate) fn open(
        data: &Path,
        named: &BTreeSet<[u8; 32]>,
        unnamed: UnnamedBlobs,
        failing: ComponentFailures,
        fault: Fault,
    ) -> Result<Self, BlobError> {
        let root = data.join(FOLDER);
        let partial = root.join(PARTIAL);
        match fs::remove_dir_all(&partial) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(disk("remove", &partial)(error));
            }
            Err(_) | Ok(()) => {}
        }
        private::create_directories(&partial).map_err(disk("make", &partial))?;
        let mut taken = Usage::default();
        for (hash, path, bytes) in kept(&root)? {
            if unnamed == UnnamedBlobs::Keep || named.contains(&hash.0) {
                taken.all += bytes;
            } else {
                tracing::info!(file = %hash, "removed a file that no experiment names");
                fs::remove_file(&path).map_err(disk("remove", &path))?;
            }
        }
        Ok(Self { root, taken: Arc::new(Mutex::new(taken)), failing, fault, naming: Arc::default() })
    }

    /// Bytes of the contents that are here, and of those announced by what is being put.
    pub(crate) fn kept_bytes(&self) -> u64 {
        self.taken().all
    }

    /// Whether a content is here, durably.
    pub(crate) fn has(&self, blob: Blob) -> bool {
        let _none_is_named = self.naming.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_there(blob)
    }

    fn is_there(&self, blob: Blob) -> bool {
        fs::metadata(self.path(blob)).is_ok_and(|there| there.is_file() && there.len() == blob.bytes)
    }

    /// Begins to put a content, in the share of who puts it.
    pub(crate) fn put(&self, blob: Blob, by: Option<Identity>) -> Result<Upload, BlobError> {
        if blob.bytes > MAX_FILE_BYTES {
            return Err(BlobError::TooLarge { bytes: blob.bytes });
        }
        self.take(blob.bytes, by.as_ref())?;
        let path = self.root.join(PARTIAL).join(Uuid::new_v4().to_string());
        let made = self.noted(private::create_file(&path).map_err(disk("make", &path)));
        let file = made.inspect_err(|_| self.give_back(blob.bytes, by.as_ref()))?;
        let hasher = blake3::Hasher::new();
        Ok(Upload { blobs: self.clone(), blob, by, path, file, hasher, written: 0, is_kept: false })
    }

    /// Opens a content, to be read from an offset on.
    pub(crate) fn read(&self, blob: Blob, offset: u64) -> Result<File, BlobError> {
        let path = self.path(blob);
        match File::open(&path) {
            Ok(mut file) => {
                file.seek(SeekFrom::Start(offset)).map_err(disk("read", &path))?;
                Ok(file)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(BlobError::Missing(ContentHash(blob.blake3)))
            }
            Err(error) => Err(disk("read", &path)(error)),
        }
    }

    /// Stores a few bytes and removes them, to see whether contents can be stored again.
    pub(crate) fn try_out(&self) {
        let path = self.root.join(PARTIAL).join(Uuid::new_v4().to_string());
        let written = private::create_file(&path).and_then(|mut file| {
            file.write_all(&[0; TRIAL_BYTES])?;
            file.sync_all()
        });
        let removed = fs::remove_file(&path);
        self.failing.note(CoordinatorComponent::Files, written.is_ok() && removed.is_ok());
    }

    /// Notes whether contents can be stored, by the latest step of one that is put.
    fn noted<T>(&self, done: Result<T, BlobError>) -> Result<T, BlobError> {
        match &done {
            Ok(_) => self.failing.note(CoordinatorComponent::Files, true),
            Err(BlobError::Disk { .. }) => self.failing.note(CoordinatorComponent::Files, false),
            Err(_) => {}
        }
        done
    }

    fn path(&self, blob: Blob) -> PathBuf {
        let hex = ContentHash(blob.blake3).to_string();
        let (folder, name) = hex.split_at(2);
        self.root.join(folder).join(name)
    }

    fn take(&self, bytes: u64, by: Option<&Identity>) -> Result<(), BlobError> {
        let mut taken = self.taken();
        if taken.all.saturating_add(bytes) > MAX_BLOBS_BYTES {
            return Err(BlobError::Full { kept: taken.all });
        }
        if let Some(who) = by {
            let put = taken.by_identity.get(who).copied().unwrap_or_default();
            let most = share(MAX_BLOBS_BYTES, taken.all - put);
            if put.saturating_add(bytes) > most {
                return Err(BlobError::Share { who: who.clone(), put, most });
            }
            *taken.by_identity.entry(who.clone()).or_default() += bytes;
        }
        taken.all += bytes;
        Ok(())
    }

    fn give_back(&self, bytes: u64, by: Option<&Identity>) {
        let mut taken = self.taken();
        taken.all = taken.all.saturating_sub(bytes);
        if let Some(put) = by.and_then(|who| taken.by_identity.get_mut(who)) {
            *put = put.saturating_sub(bytes);
        }
    }

    fn taken(&self) -> MutexGuard<'_, Usage> {
        // A number is whole whoever panicked beside it.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Upload {
    pub(crate) fn write(&mut self, piece: &[u8]) -> Result<(), BlobError> {
        self.written = self.written.saturating_add(piece.len() as u64);
        if self.written > self.blob.bytes {
            let what = format!("it has more than the {} bytes announced", self.blob.bytes);
            return Err(self.differs(what));
        }
        self.hasher.update(piece);
        let written = self.file.write_all(piece).map_err(disk("write", &self.path));
        self.blobs.noted(written)
    }

    /// Keeps the content for good, if it is what was announced. It is durable when this returns.
    pub(crate) fn finish(mut self) -> Result<(), BlobError> {
        if self.written < self.blob.bytes {
            let what = format!("it ends after {} of {} bytes", self.written, self.blob.bytes);
            return Err(self.differs(what));
        }
        let found = ContentHash(self.hasher.finalize().into());
        if found.0 != self.blob.blake3 {
            return Err(self.differs(format!("its hash is {found}")));
        }
        let kept = self.keep();
        self.blobs.noted(kept)
    }

    /// Gives the content its name, durably.
    fn keep(&mut self) -> Result<(), BlobError> {
        self.file.sync_all().map_err(disk("sync", &self.path))?;
        let path = self.blobs.path(self.blob);
        let folder = path.parent().unwrap_or(&self.blobs.root).to_owned();
        private::create_directories(&folder).map_err(disk("make", &folder))?;
        // One at a time: who puts what is there already does not count again, and relies on its being durable.
        let blobs = self.blobs.clone();
        let _one = blobs.naming.lock().unwrap_or_else(PoisonError::into_inner);
        if blobs.is_there(self.blob) {
            return Ok(());
        }
        fs::rename(&self.path, &path).map_err(disk("keep", &path))?;
        let synced = sync_directory(&folder).and_then(|()| sync_directory(&blobs.root));
        if let Err(error) = synced {
            // The next sync would succeed, whatever is on the disk: what has its name would pass for durable.
            if let Err(failed) = fs::rename(&path, &self.path) {
                let both = format!("{}; cannot take back {}: {failed}", with_causes(&error), path.display());
                blobs.fault.report(Broken::Blobs(both));
            }
            return Err(error);
        }
        self.is_kept = true;
        Ok(())
    }

    fn differs(&self, what: String) -> BlobError {
        BlobError::Differs { expected: ContentHash(self.blob.blake3), what }
    }
}

fn sync_directory(path: &Path) -> Result<(), BlobError> {
    let synced = File::open(path).and_then(|directory| directory.sync_all());
    synced.map_err(disk("sync", path))
}

impl Drop for Upload {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        self.blobs.give_back(self.blob.bytes, self.by.as_ref());
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), "cannot remove half a file: {error}");
        }
    }
}

/// The next piece of a content; empty at its end.
pub(crate) fn next_piece(file: &mut File) -> io::Result<Vec<u8>> {
    let mut piece = Vec::with_capacity(MAX_PIECE_BYTES);
    file.take(MAX_PIECE_BYTES as u64).read_to_end(&mut piece)?;
    Ok(piece)
}

/// The paths of the contents below a data directory; none where it has no folder of them.
pub(crate) fn paths(data: &Path) -> io::Result<Vec<String>> {
    let root = data.join(FOLDER);
    match kept(&root) {
        Ok(kept) => {
            let below = kept.iter().filter_map(|(_, path, _)| path.strip_prefix(data).ok());
            Ok(below.map(|path| path.to_string_lossy().into_owned()).collect())
        }
        Err(BlobError::Disk { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// All contents with their sizes. Whatever else lies there is not ours and is left alone.
fn kept(root: &Path) -> Result<Vec<(ContentHash, PathBuf, u64)>, BlobError> {
    let mut kept = Vec::new();
    for folder in fs::read_dir(root).map_err(disk("read", root))? {
        let folder = folder.map_err(disk("read", root))?;
        let prefix = folder.file_name().to_string_lossy().into_owned();
        if prefix.len() != 2 {
            continue;
        }
        for entry in fs::read_dir(folder.path()).map_err(disk("read", root))? {
            let entry = entry.map_err(disk("read", root))?;
            let name = entry.file_name();
            let Some(hash) = ContentHash::from_hex(&format!("{prefix}{}", name.to_string_lossy())) else {
                continue;
            };
            kept.push((hash, entry.path(), entry.metadata().map_err(disk("read", root))?.len()));
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use speedup_access::Role;

    use super::*;

    fn blob(content: &[u8]) -> Blob {
        Blob { blake3: blake3::hash(content).into(), bytes: content.len() as u64 }
    }

    fn open(data: &Path, named: &BTreeSet<[u8; 32]>, unnamed: UnnamedBlobs) -> Blobs {
        Blobs::open(data, named, unnamed, ComponentFailures::default(), Fault::none()).unwrap()
    }

    fn put(blobs: &Blobs, announced: Blob, pieces: &[&[u8]]) -> Result<(), BlobError> {
        let mut upload = blobs.put(announced, None)?;
        pieces.iter().try_for_each(|piece| upload.write(piece))?;
        upload.finish()
    }

    fn partial(data: &Path) -> usize {
        fs::read_dir(data.join("blobs").join(PARTIAL)).unwrap().count()
    }

    #[test]
    fn a_content_is_kept_once_under_its_hash_and_read_from_anywhere() {
        let data = tempfile::tempdir().unwrap();
        let blobs = open(data.path(), &BTreeSet::new(), UnnamedBlobs::Remove);
        let words = blob(b"words");
        assert!(!blobs.has(words));
        assert!(matches!(blobs.read(words, 0), Err(BlobError::Missing(_))));
        for _ in 0..2 {
            put(&blobs, words, &[b"wo", b"", b"rds"]).unwrap();
            assert!(blobs.has(words));
            assert_eq!((partial(data.path()), blobs.kept_bytes()), (0, 5));
        }
        let hex = ContentHash(words.blake3).to_string();
        assert_eq!(fs::read(data.path().join("blobs").join(&hex[..2]).join(&hex[2..])).unwrap(), b"words");
        let mut file = blobs.read(words, 3).unwrap();
        assert_eq!(next_piece(&mut file).unwrap(), b"ds".to_vec());
        assert_eq!(next_piece(&mut file).unwrap(), Vec::<u8>::new());
    }

    #[test]
    fn what_is_not_what_was_announced_leaves_nothing() {
        let data = tempfile::tempdir().unwrap();
        let blobs = open(data.path(), &BTreeSet::new(), UnnamedBlobs::Remove);
        for pieces in [&[b"other".as_slice()][..], &[b"word"], &[b"words", b"!"]] {
            let refused = put(&blobs, blob(b"words"), pieces).unwrap_err();
            assert!(matches!(refused, BlobError::Differs { .. }), "{refused}");
        }
        drop(blobs.put(blob(b"words"), None).unwrap());
        assert_eq!((partial(data.path()), blobs.kept_bytes(), blobs.has(blob(b"words"))), (0, 0, false));
    }

    #[test]
    fn contents_are_bounded_one_by_one_and_together() {
        let data = tempfile::tempdir().unwrap();
        let blobs = open(data.path(), &BTreeSet::new(), UnnamedBlobs::Remove);
        let of = |bytes| Blob { blake3: [7; 32], bytes };
        assert!(matches!(blobs.put(of(MAX_FILE_BYTES + 1), None), Err(BlobError::TooLarge { .. })));
        let announced: Vec<Upload> = (0..MAX_BLOBS_BYTES / MAX_FILE_BYTES)
            .map(|_| blobs.put(of(MAX_FILE_BYTES), None).unwrap())
            .collect();
        assert!(matches!(blobs.put(of(1), None), Err(BlobError::Full { .. })));
        drop(announced);
        assert!(blobs.put(of(1), None).is_ok());
    }

    #[test]
    fn one_user_leaves_room_for_the_files_of_others() {
        let data = tempfile::tempdir().unwrap();
        let blobs = open(data.path(), &BTreeSet::new(), UnnamedBlobs::Remove);
        let user = |name| Some(Identity::new(name, Role::Submitter).unwrap());
        let of = |bytes| Blob { blake3: [7; 32], bytes };
        let mut announced = Vec::new();
        while let Ok(upload) = blobs.put(of(MAX_FILE_BYTES), user("a")) {
            announced.push(upload);
        }
        assert_eq!(announced.len() as u64, MAX_BLOBS_BYTES / MAX_FILE_BYTES / 4);
        assert!(matches!(blobs.put(of(1), user("a")), Err(BlobError::Share { .. })));
        assert!(blobs.put(of(MAX_FILE_BYTES), user("b")).is_ok());
        drop(announced);
        assert!(blobs.put(of(1), user("a")).is_ok());
    }

    #[test]
    fn a_start_removes_what_is_half_put_and_what_nobody_names() {
        let data = tempfile::tempdir().unwrap();
        let blobs = open(data.path(), &BTreeSet::new(), UnnamedBlobs::Remove);
        let (named, forgotten) = (blob(b"named"), blob(b"forgotten"));
        put(&blobs, named, &[b"named"]).unwrap();
        put(&blobs, forgotten, &[b"forgotten"]).unwrap();
        let mut half = blobs.put(blob(b"half"), None).unwrap();
        half.write(b"ha").unwrap();
        // As a kill would leave it.
        std::mem::forget(half);
        fs::write(data.path().join("blobs/README"), "not ours").unwrap();
        let names = BTreeSet::from([named.blake3]);
        let building = open(data.path(), &names, UnnamedBlobs::Keep);
        assert!(building.has(named) && building.has(forgotten));
        assert_eq!((partial(data.path()), building.kept_bytes()), (0, 14));
        let again = open(data.path(), &names, UnnamedBlobs::Remove);
        assert!(again.has(named) && !again.has(forgotten));
        assert_eq!((partial(data.path()), again.kept_bytes()), (0, 5));
        assert!(data.path().join("blobs/README").exists());
    }
}
