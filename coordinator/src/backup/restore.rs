//! Restores a backup into an empty data directory.

use std::{fs, fs::File, io::ErrorKind, io::Read as _, path::Path};

use speedup_core::value::bounded::read_at_most;
use speedup_journal::{Reader, durable::parent_of};

use super::make::{copy, make_directory, sync_below, sync_directory};
use super::manifest::{MAX_BYTES, Manifest, SavedFile};
use super::{BackupError, Contents, MANIFEST, ManifestError, disk};

/// The folder of a data directory in which a restore gathers what it has checked. No coordinator starts while it is there.
pub(crate) const RESTORING: &str = "restoring";
/// The directory that mkfs makes; a data directory with nothing else is empty.
const OF_THE_DISK: &str = "lost+found";

/// Restores a backup. Every file is checked while it is copied; nothing is put in place before all are.
pub fn restore(from: &Path, data: &Path) -> Result<Contents, BackupError> {
    let manifest = read(&from.join(MANIFEST))?;
    make_directory(data)?;
    for entry in fs::read_dir(data).map_err(disk("read", data))? {
        let name = entry.map_err(disk("read", data))?.file_name();
        if name != OF_THE_DISK {
            let found = name.to_string_lossy().into_owned();
            return Err(BackupError::NotEmpty { path: data.to_owned(), found });
        }
    }
    let gathered = data.join(RESTORING);
    gather(&manifest, from, &gathered).inspect_err(|_| {
        // What is left of it keeps the next restore and every start away, which say so.
        let _ = fs::remove_dir_all(&gathered);
    })?;
    for entry in fs::read_dir(&gathered).map_err(disk("read", &gathered))? {
        let entry = entry.map_err(disk("read", &gathered))?;
        let to = data.join(entry.file_name());
        fs::rename(entry.path(), &to).map_err(disk("name", &to))?;
    }
    sync_directory(data)?;
    fs::remove_dir(&gathered).map_err(disk("remove", &gathered))?;
    sync_directory(data)?;
    let bytes = manifest.files.iter().map(|file| file.bytes).sum();
    Ok(Contents { position: manifest.position, files: manifest.files.len(), bytes })
}

fn gather(manifest: &Manifest, from: &Path, gathered: &Path) -> Result<(), BackupError> {
    make_directory(gathered)?;
    for saved in &manifest.files {
        check(saved, from, gathered)?;
    }
    let journal = Reader::open(gathered.join("journal"))?;
    journal.require_whole()?;
    let admissions = gathered.join("access/journal");
    if admissions.exists() {
        Reader::open(admissions)?.require_whole()?;
    }
    if journal.durable_end() < manifest.position {
        let what = format!("it ends at {} instead of {}", journal.durable_end(), manifest.position);
        return Err(BackupError::Damaged { path: from.join("journal"), what });
    }
    sync_below(gathered)
}

/// Copies a file that is what was saved.
fn check(saved: &SavedFile, from: &Path, gathered: &Path) -> Result<(), BackupError> {
    let path = from.join(&saved.path);
    let damaged = |what: String| BackupError::Damaged { path: path.clone(), what };
    let file = match File::open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(damaged("it is missing".to_owned())),
        file => file.map_err(disk("open", &path))?,
    };
    let bytes = file.metadata().map_err(disk("read", &path))?.len();
    if bytes != saved.bytes {
        return Err(damaged(format!("it has {bytes} bytes instead of {}", saved.bytes)));
    }
    let to = gathered.join(&saved.path);
    make_directory(parent_of(&to))?;
    let (_, hash) = copy(file.take(saved.bytes), &path, &to)?;
    if hash != saved.hash {
        return Err(damaged("its content has changed".to_owned()));
    }
    Ok(())
}

fn read(path: &Path) -> Result<Manifest, BackupError> {
    let file = File::open(path).map_err(disk("open", path))?;
    let bytes = read_at_most(file, MAX_BYTES).map_err(disk("read", path))?;
    let believed = |source| BackupError::Manifest { path: path.to_owned(), source };
    let text = String::from_utf8(bytes).map_err(|_| believed(ManifestError::Changed))?;
    Manifest::decode(&text).map_err(believed)
}
