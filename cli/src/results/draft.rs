//! Files that are put in their place only when they are whole: half a file must not look like a whole one, so it has
//! another name until then.

use std::{fs, fs::File, io, io::ErrorKind, io::Write as _, path::Path, path::PathBuf};

use anyhow::{Context as _, Error};

use crate::{exit::Exit, exit::failure::Failure};

/// A file that is being written, and is then put in its place. A pipe or a device is written as it is: there is nothing to
/// put in its place.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    path: &'a Path,
    /// Where it lies until it is whole.
    aside: Option<PathBuf>,
}

impl<'a> Draft<'a> {
    /// Begins what is to be the file `path`.
    pub(crate) fn begin(path: &'a Path) -> Result<(File, Self), Failure> {
        let draft = Self { path, aside: (!path.exists() || path.is_file()).then(|| aside(path)) };
        let file = match &draft.aside {
            Some(aside) => File::create(aside),
            None => File::options().write(true).open(path),
        };
        Ok((file.map_err(|error| draft.refused(error))?, draft))
    }

    /// Ends it: what was written takes its place, half of it goes.
    pub(crate) fn end(self, written: Result<(), Failure>) -> Result<(), Failure> {
        let Some(aside) = &self.aside else { return written };
        let moved =
            written.and_then(|()| fs::rename(aside, self.path).map_err(|error| refused(self.path, error)));
        if moved.is_err() {
            // The first error is the one to tell.
            let _ = fs::remove_file(aside);
        }
        moved
    }

    /// That what is written cannot be written.
    pub(crate) fn refused(&self, error: io::Error) -> Failure {
        refused(self.aside.as_deref().unwrap_or(self.path), error)
    }
}

/// The name of a file that is not whole yet.
fn aside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// Puts `text` into the file `path`, in place of what was there.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let (mut file, draft) = Draft::begin(path)?;
    let written = file.write_all(text.as_bytes()).map_err(|error| draft.refused(error));
    draft.end(written)
}

/// Executes `work` with standard output going to `path`, as `> FILE` has it. Only an answer takes the place of what
/// was there, not a failure.
pub(crate) fn redirect<F>(path: &Path, work: F) -> Result<Exit, Failure>
where
    F: FnOnce() -> Result<Exit, Failure>,
{
    let (file, draft) = Draft::begin(path)?;
    let taken = rustix::stdio::dup2_stdout(&file).context("cannot redirect standard output");
    let mut exit = Exit::Done;
    let done = taken.map_err(Failure::infrastructure).and_then(|()| work());
    draft.end(done.map(|how| exit = how))?;
    Ok(exit)
}

/// A file that cannot be written: the user's to mend where it is a matter of names and rights.
fn refused(path: &Path, error: io::Error) -> Failure {
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

#[cfg(test)]
mod tests {
    use std::{io::Read as _, os::unix::fs::FileTypeExt as _};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn a_file_is_replaced_when_it_is_whole_and_half_of_it_goes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        replace(&path, "first").unwrap();
        let (mut file, draft) = Draft::begin(&path).unwrap();
        file.write_all(b"half").unwrap();
        assert!(draft.end(Err(Failure::usage(Error::msg("no more")))).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        assert!(replace(directory.path(), "text").is_err(), "a directory is no file");
    }

    #[test]
    fn a_pipe_is_written_and_stays_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let reader = std::thread::spawn({
            let path = path.clone();
            move || {
                let mut text = String::new();
                File::open(path).unwrap().read_to_string(&mut text).unwrap();
                text
            }
        });
        replace(&path, "through").unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert!(fs::metadata(&path).unwrap().file_type().is_fifo());
    }
}
