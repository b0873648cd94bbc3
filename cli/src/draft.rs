//! Files that are put in their place only when they are whole: half a file must not look like a whole one, so it has
//! another name until then.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::Error;

use crate::failure::Failure;

/// The name of a file that is not whole yet.
pub(crate) fn draft_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// Puts `text` into the file `path`, in place of what was there.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    if path.exists() && !path.is_file() {
        // A directory refuses by itself; a pipe or a device has nothing to be put in place of.
        return fs::write(path, text).map_err(|error| refused(path, error));
    }
    let draft = draft_of(path);
    let written = fs::write(&draft, text).map_err(|error| refused(&draft, error));
    let moved = written.and_then(|()| fs::rename(&draft, path).map_err(|error| refused(path, error)));
    if moved.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&draft);
    }
    moved
}

/// A file that cannot be written: the user's to mend where it is a matter of names and rights.
pub(crate) fn refused(path: &Path, error: io::Error) -> Failure {
    let mendable = matches!(
        error.kind(),
        ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::PermissionDenied
    );
    let error = Error::new(error).context(format!("cannot write {}", path.display()));
    if mendable { Failure::usage(error) } else { Failure::infrastructure(error) }
}
