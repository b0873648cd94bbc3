//! Files that only their owner may read: keys, and what is as good as one. They are written as a whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Largest such file: a few certificates and a key.
const MAX_BYTES: u64 = 64 << 10;

/// Why such a file cannot be used.
#[derive(Debug, Error)]
pub enum PrivateFileError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} may be read or changed by others: its mode is {mode:03o}", path.display())]
    Open { path: PathBuf, mode: u32 },
    #[error("{} is larger than {MAX_BYTES} bytes", path.display())]
    TooLarge { path: PathBuf },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

speedup_core::hints! { PrivateFileError:
    Self::Open { .. } =>
        "see who may have read it; if nobody has, `chmod 600` the file, otherwise revoke what it holds",
    Self::Read { .. } | Self::Write { .. } => "look at owner and permissions of the file",
}

/// What is in it, if it is there; refused when others may read it.
pub fn read(path: &Path) -> Result<Option<String>, PrivateFileError> {
    read_if(path, |mode| mode & 0o077 == 0)
}

/// What is in a file without secrets, as a certificate, if it is there. Its mode does not matter.
pub fn read_public(path: &Path) -> Result<Option<String>, PrivateFileError> {
    read_if(path, |_| true)
}

fn read_if(path: &Path, is_private: fn(u32) -> bool) -> Result<Option<String>, PrivateFileError> {
    let failed = |source| PrivateFileError::Read { path: path.to_owned(), source };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o777;
    if !is_private(mode) {
        return Err(PrivateFileError::Open { path: path.to_owned(), mode });
    }
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(PrivateFileError::TooLarge { path: path.to_owned() });
    }
    Ok(Some(text))
}

/// Writes it, durably, and its directory where that is not there.
pub fn write(path: &Path, text: &str) -> Result<(), PrivateFileError> {
    write_whole(path, text).map_err(|source| PrivateFileError::Write { path: path.to_owned(), source })
}

fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let directory = match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let mut name = path.file_name().ok_or(ErrorKind::InvalidFilename)?.to_owned();
    name.push(format!(".{}", std::process::id()));
    let draft = path.with_file_name(name);
    let written = write_draft(&draft, text).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&draft);
    }
    written?;
    File::open(directory)?.sync_all()
}

fn write_draft(draft: &Path, text: &str) -> io::Result<()> {
    // A draft of a process that had this number before.
    match fs::remove_file(draft) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_by_its_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep/down/key");
        assert_eq!(read(&path).unwrap(), None);
        write(&path, "secret").unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some("secret"));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let refused = read(&path).unwrap_err();
        assert!(matches!(refused, PrivateFileError::Open { mode: 0o640, .. }), "{refused}");
        assert_eq!(read_public(&path).unwrap().as_deref(), Some("secret"));
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        write(&path, &"x".repeat(MAX_BYTES as usize + 1)).unwrap();
        assert!(matches!(read(&path), Err(PrivateFileError::TooLarge { .. })));
    }
}
