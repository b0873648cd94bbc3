//! What was in the program that a run executed. Before the run the file is looked at, which reads nothing of it and so warms
//! nothing; it is read when the run is over, once as long as it looks the same.

use std::{collections::BTreeMap, fs::File, io, path::Path, path::PathBuf, sync::atomic::AtomicBool};

use speedup_core::experiment::files::ContentHash;
use speedup_core::run::program::{MAX_HASHED_BYTES, MAX_PATH_BYTES, Program, ProgramContent};

use super::{Hashing, Stamp, hash};

/// Most programs of which the hash is remembered: more than a plan has benchmarks and versions. Beyond, all are read again.
const MAX_KNOWN: usize = 4_096;

/// The contents of programs, as they were when they were read.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    known: BTreeMap<PathBuf, (Stamp, ContentHash)>,
}

/// A program as it looked before it was executed.
#[derive(Debug)]
pub(crate) struct ProgramStamp {
    path: PathBuf,
    stamp: io::Result<Stamp>,
}

impl ProgramStamp {
    /// How the file looks now.
    pub(crate) fn at(path: PathBuf) -> Self {
        let stamp = Stamp::of(&path);
        Self { path, stamp }
    }
}

impl Programs {
    /// What was in a program that has been executed since it was seen.
    pub(crate) fn content(&mut self, seen: ProgramStamp, stop: &AtomicBool) -> Program {
        let ProgramStamp { path, stamp } = seen;
        let content = match stamp.map_err(|error| error.to_string()) {
            Ok(before) => self.hashed(&path, before, stop),
            Err(reason) => Err(reason),
        };
        let content = match content {
            Ok(hash) => ProgramContent::Blake3(hash),
            Err(reason) => ProgramContent::Unknown { reason },
        };
        let mut path = path.to_string_lossy().into_owned();
        path.truncate(path.floor_char_boundary(MAX_PATH_BYTES));
        Program { path, content }
    }

    fn hashed(&mut self, path: &Path, before: Stamp, stop: &AtomicBool) -> Result<ContentHash, String> {
        let words = |error: io::Error| error.to_string();
        let changed = || "the file changed while it was executed or read".to_owned();
        if Stamp::of(path).map_err(words)? != before {
            return Err(changed());
        }
        if let Some((_, hash)) = self.known.get(path).filter(|(stamp, _)| *stamp == before) {
            return Ok(*hash);
        }
        if before.bytes() > MAX_HASHED_BYTES {
            return Err(format!(
                "it has {} bytes, more than the {MAX_HASHED_BYTES} that are read",
                before.bytes()
            ));
        }
        let read = File::open(path).map_err(Hashing::Disk).and_then(|file| hash(file, stop));
        let hash = read.map_err(|why| match why {
            Hashing::Disk(error) => format!("cannot read it: {error}"),
            Hashing::Stopped => "the agent was stopped while it was read".to_owned(),
        })?;
        if Stamp::of(path).map_err(words)? != before {
            return Err(changed());
        }
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        self.known.insert(path.to_owned(), (before, hash));
        Ok(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt as _};

    static GO: AtomicBool = AtomicBool::new(false);

    fn executed(programs: &mut Programs, path: &Path) -> Program {
        programs.content(ProgramStamp::at(path.to_owned()), &GO)
    }

    fn hash_of(content: &[u8]) -> ProgramContent {
        ProgramContent::Blake3(ContentHash(blake3::hash(content).into()))
    }

    #[test]
    fn a_program_is_its_content_and_read_again_when_that_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prog");
        let mut programs = Programs::default();
        fs::write(&path, "one").unwrap();
        assert_eq!(executed(&mut programs, &path).content, hash_of(b"one"));
        assert_eq!(executed(&mut programs, &path).path, path.to_str().unwrap());
        // As long, and put in its place under its name.
        fs::write(folder.path().join("new"), "two").unwrap();
        fs::rename(folder.path().join("new"), &path).unwrap();
        assert_eq!(executed(&mut programs, &path).content, hash_of(b"two"));
        // What is known is not read: of another reading nothing would be known.
        let stopped = AtomicBool::new(true);
        assert_eq!(programs.content(ProgramStamp::at(path), &stopped).content, hash_of(b"two"));
    }

    #[test]
    fn what_is_not_known_is_told_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prog");
        let mut programs = Programs::default();
        let mut reason_of = |seen: ProgramStamp, stop: &AtomicBool| {
            programs.content(seen, stop).unknown().expect("nothing is known").to_owned()
        };
        assert!(reason_of(ProgramStamp::at(path.clone()), &GO).contains("No such file"));
        fs::write(&path, "one").unwrap();
        let seen = ProgramStamp::at(path.clone());
        fs::write(&path, "another").unwrap();
        assert!(reason_of(seen, &GO).contains("changed"));
        assert!(reason_of(ProgramStamp::at(path.clone()), &AtomicBool::new(true)).contains("stopped"));
        File::create(&path).unwrap().set_len(MAX_HASHED_BYTES + 1).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(reason_of(ProgramStamp::at(path), &GO).contains("more than the 1073741824"));
    }
}
