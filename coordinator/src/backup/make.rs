//! Takes a backup, beside a coordinator that runs or of one that does not.

use std::{fs, fs::File, io, io::ErrorKind, io::Read as _, io::Write as _, path::Path, path::PathBuf};

use speedup_journal::{Position, Reader, durable, durable::parent_of, private};

use super::{BackupError, Contents, MANIFEST, disk, manifest::Manifest, manifest::SavedFile};
use crate::{blobs, provision};

/// What a copy passes through memory at once.
const PIECE: usize = 1 << 20;

/// Saves a data directory into a new directory, for its owner's eyes only.
pub fn back_up(data: &Path, to: &Path) -> Result<Contents, BackupError> {
    if to.exists() {
        return Err(BackupError::Exists(to.to_owned()));
    }
    let draft = with_suffix(to, ".part");
    match fs::remove_dir_all(&draft) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(disk("remove", &draft)(error)),
        Ok(()) | Err(_) => {}
    }
    let mut making = BackupWriter { data, draft: &draft, files: Vec::new() };
    let contents = making.make().inspect_err(|_| {
        // What is left of it is removed by the next one as well.
        let _ = fs::remove_dir_all(&draft);
    })?;
    fs::rename(&draft, to).map_err(disk("name", to))?;
    sync_directory(parent_of(to))?;
    Ok(contents)
}

struct BackupWriter<'a> {
    data: &'a Path,
    draft: &'a Path,
    files: Vec<SavedFile>,
}

impl BackupWriter<'_> {
    fn make(&mut self) -> Result<Contents, BackupError> {
        make_directory(self.draft)?;
        // First the journal: contents are put before anything names them, so that all that it names is copied after.
        let position = self.journal("journal")?;
        if self.data.join("access").exists() {
            self.journal("access/journal")?;
            for name in speedup_access::authority_files(&self.data.join("access")) {
                self.file(&format!("access/{name}"), None)?;
            }
        }
        self.file_if_there(provision::RECORD)?;
        self.file_if_there(provision::SSH_RECORD)?;
        for path in blobs::paths(self.data).map_err(disk("read", &self.data.join("blobs")))? {
            // One that no experiment names may go at a start of the coordinator.
            self.file_if_there(&path)?;
        }
        self.files.sort_by(|one, other| one.path.cmp(&other.path));
        let release = env!("CARGO_PKG_VERSION").to_owned();
        let manifest = Manifest { release, position, files: std::mem::take(&mut self.files) };
        write(&self.draft.join(MANIFEST), manifest.encode().as_bytes())?;
        sync_below(self.draft)?;
        let bytes = manifest.files.iter().map(|file| file.bytes).sum();
        Ok(Contents { position, files: manifest.files.len(), bytes })
    }

    /// Copies a journal up to what was durable, reads the copy to its end, and gives that.
    fn journal(&mut self, folder: &str) -> Result<Position, BackupError> {
        let seen = seen_by_checkpoint(&Reader::open(self.data.join(folder))?);
        let reader = Reader::open(self.data.join(folder))?;
        reader.require_whole()?;
        if seen > reader.durable_end() {
            return Err(BackupError::Short { path: self.data.join(folder), end: reader.durable_end(), seen });
        }
        for (name, bytes) in reader.files()? {
            self.file(&format!("{folder}/{name}"), Some(bytes))?;
        }
        let copy = Reader::open(self.draft.join(folder))?;
        let mut records = copy.replay(copy.first())?;
        while records.next_record()?.is_some() {}
        if copy.durable_end() < reader.durable_end() {
            let what = format!("it ends at {} instead of {}", copy.durable_end(), reader.durable_end());
            return Err(BackupError::Damaged { path: self.draft.join(folder), what });
        }
        Ok(reader.durable_end())
    }

    fn file_if_there(&mut self, path: &str) -> Result<(), BackupError> {
        match self.file(path, None) {
            Err(BackupError::Disk { what: "open", source, .. }) if source.kind() == ErrorKind::NotFound => {
                Ok(())
            }
            copied => copied,
        }
    }

    /// Copies a file, or its beginning.
    fn file(&mut self, path: &str, bytes: Option<u64>) -> Result<(), BackupError> {
        let from = self.data.join(path);
        let file = File::open(&from).map_err(disk("open", &from))?;
        let to = self.draft.join(path);
        make_directory(parent_of(&to))?;
        let (copied, hash) = copy(file.take(bytes.unwrap_or(u64::MAX)), &from, &to)?;
        if let Some(bytes) = bytes
            && copied != bytes
        {
            let what = format!("it has {copied} bytes instead of {bytes}");
            return Err(BackupError::Damaged { path: from, what });
        }
        self.files.push(SavedFile { path: path.to_owned(), bytes: copied, hash });
        Ok(())
    }
}

/// Up to where a journal's checkpoint has seen it, if it has one that can be read.
fn seen_by_checkpoint(reader: &Reader) -> Position {
    let checkpoint = reader.checkpoints().read().ok().flatten();
    checkpoint.map_or(Position::START, |checkpoint| checkpoint.position())
}

/// Copies what is left of a file into a new one, durably; gives its length and hash.
pub(super) fn copy(
    mut from: io::Take<File>,
    from_path: &Path,
    to: &Path,
) -> Result<(u64, blake3::Hash), BackupError> {
    let mut file = create(to)?;
    let mut hasher = blake3::Hasher::new();
    let mut copied = 0;
    let mut piece = vec![0; PIECE];
    loop {
        let bytes = from.read(&mut piece).map_err(disk("read", from_path))?;
        let read = &piece[..bytes];
        if read.is_empty() {
            break;
        }
        hasher.update(read);
        file.write_all(read).map_err(disk("write", to))?;
        copied += read.len() as u64;
    }
    file.sync_all().map_err(disk("sync", to))?;
    Ok((copied, hasher.finalize()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), BackupError> {
    let mut file = create(path)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(disk("write", path))
}

/// A backup has the authority's key: nobody else may read anything of it.
fn create(path: &Path) -> Result<File, BackupError> {
    private::create_file(path).map_err(disk("make", path))
}

pub(super) fn make_directory(path: &Path) -> Result<(), BackupError> {
    private::create_directories(path).map_err(disk("make", path))
}

/// Makes the names in a directory and all below it durable.
pub(super) fn sync_below(path: &Path) -> Result<(), BackupError> {
    for entry in fs::read_dir(path).map_err(disk("read", path))? {
        let entry = entry.map_err(disk("read", path))?;
        if entry.file_type().map_err(disk("read", path))?.is_dir() {
            sync_below(&entry.path())?;
        }
    }
    sync_directory(path)
}

pub(super) fn sync_directory(path: &Path) -> Result<(), BackupError> {
    durable::sync_directory(path).map_err(disk("sync", path))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
