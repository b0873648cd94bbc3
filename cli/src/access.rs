//! The access file: how a command finds the coordinator that was started on this machine, or on another with the same
//! home directory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Error, anyhow};
use serde::{Deserialize, Serialize};

use crate::directories;
use crate::failure::Failure;

/// Largest access file: an address and a little more.
const MAX_BYTES: u64 = 64 << 10;

/// What an access file says. Fields of newer releases are passed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Access {
    /// Where the coordinator is, as `http://127.0.0.1:7077`.
    pub(crate) address: String,
    /// Its process, so that it removes no file of its successor.
    pub(crate) process: u32,
}

/// Where the file is, unless `chosen`.
pub(crate) fn path(chosen: Option<&Path>) -> Result<PathBuf, Failure> {
    directories::or_state(chosen, "access.toml")
}

/// What the file says, if there is one.
pub(crate) fn read(path: &Path) -> Result<Option<Access>, Failure> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refused(path, Error::new(error))),
    };
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).map_err(|error| refused(path, Error::new(error)))?;
    toml::from_str(&text).map(Some).map_err(|error| refused(path, Error::new(error)))
}

fn refused(path: &Path, error: Error) -> Failure {
    Failure::usage(error.context(format!("cannot read the access file {}", path.display())))
        .hint("name the coordinator with --coordinator, or start it anew to have the file written again")
}

/// A written access file; removed when the coordinator ends as it should.
#[derive(Debug)]
pub(crate) struct Written {
    path: PathBuf,
    access: Access,
}

/// Writes the file at once or not at all; only its owner can read it.
pub(crate) fn write(path: &Path, address: String) -> Result<Written, Failure> {
    let access = Access { address, process: std::process::id() };
    write_whole(path, &access).map_err(|error| {
        Failure::infrastructure(error.context(format!("cannot write the access file {}", path.display())))
            .hint("choose another place with --access-file")
    })?;
    Ok(Written { path: path.to_owned(), access })
}

fn write_whole(path: &Path, access: &Access) -> Result<(), Error> {
    let directory = path.parent().ok_or_else(|| anyhow!("it has no directory"))?;
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    if !directory.as_os_str().is_empty() {
        builder.create(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    }
    let mut name = path.file_name().ok_or_else(|| anyhow!("it has no name"))?.to_owned();
    name.push(format!(".{}", access.process));
    let draft = path.with_file_name(name);
    let written = write_draft(&draft, &toml::to_string(access)?).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&draft);
    }
    Ok(written?)
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

impl Written {
    /// Removes the file, unless another coordinator has written its own since.
    pub(crate) fn remove(self) -> Result<(), Failure> {
        if read(&self.path)?.as_ref() != Some(&self.access) {
            return Ok(());
        }
        fs::remove_file(&self.path).map_err(|error| {
            let text = format!("cannot remove the access file {}", self.path.display());
            Failure::infrastructure(Error::new(error).context(text))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_is_written_is_read_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state/access.toml");
        assert_eq!(read(&path).unwrap(), None);
        let written = write(&path, "http://127.0.0.1:7077".to_owned()).unwrap();
        assert_eq!(read(&path).unwrap().unwrap().address, "http://127.0.0.1:7077");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        written.remove().unwrap();
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
    }

    #[test]
    fn the_file_of_a_successor_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("access.toml");
        let written = write(&path, "http://127.0.0.1:1".to_owned()).unwrap();
        write(&path, "http://127.0.0.1:2".to_owned()).unwrap();
        written.remove().unwrap();
        assert_eq!(read(&path).unwrap().unwrap().address, "http://127.0.0.1:2");
    }

    #[test]
    fn a_damaged_file_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("access.toml");
        fs::write(&path, "address = ").unwrap();
        assert!(read(&path).unwrap_err().error.to_string().contains("access.toml"));
    }
}
