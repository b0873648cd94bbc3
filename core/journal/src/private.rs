//! Directories and files for their owner alone: who else could read them would be who they make, and who else could
//! write them could change what is believed.
//!
//! A directory of ours that others may read is closed, whoever made it. One that others may write, or that another user
//! owns, is refused: what lies in it may be somebody else's.

use std::fmt;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::durable::{create_directories as create_durably, parent_of, sync_directory};
use crate::failure::JournalFailure;

/// Mode of a file that only its owner reads and writes.
pub const FILE_MODE: u32 = 0o600;
/// Mode of a directory that only its owner enters.
pub const DIRECTORY_MODE: u32 = 0o700;

/// What group and others may do.
const OTHERS: u32 = 0o077;
/// How group and others may change something.
const OTHERS_WRITE: u32 = 0o022;
/// How group and others reach what lies in a directory.
const OTHERS_PASS: u32 = 0o011;
const MODE_BITS: u32 = 0o7777;

/// What users other than its owner may do with a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    Nothing,
    /// Pass through it to what is given to them below, without listing it: programs of another user execute there.
    Pass,
}

/// What was open to other users and is not any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    pub path: PathBuf,
    pub mode: u32,
}

/// Why a directory is not taken for its owner's alone.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NotPrivate {
    /// Another user may change it at any time.
    #[error(
        "{} belongs to user {owner}, and this process is user {user}: `chown -R {user} {}` makes it this user's",
        path.display(), path.display()
    )]
    Foreign { path: PathBuf, owner: u32, user: u32 },
    #[error(
        "other users may write to {}: its mode is {mode:04o}; `chmod go-rwx {}` closes it",
        path.display(), path.display()
    )]
    Writable { path: PathBuf, mode: u32 },
    #[error(transparent)]
    Failed(#[from] JournalFailure),
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Closed { path, mode } = self;
        write!(f, "closed {} to other users, who could enter it: its mode was {mode:04o}", path.display())
    }
}

speedup_core::hints! { NotPrivate:
    Self::Foreign { .. } =>
        "nothing was changed: run as the user who owns it, choose another directory, or give it to this user \
            with the command above if all in it can be trusted",
    Self::Writable { .. } =>
        "nothing was changed: check whether somebody else has written there (shared home directories are \
            often writable for the group), then close it with the command above and start again",
    Self::Failed(failure) => failure.hint(),
}

impl Others {
    fn allowed(self) -> u32 {
        match self {
            Others::Nothing => 0,
            Others::Pass => OTHERS_PASS,
        }
    }
}

/// Takes a directory for this user alone. It is made, durably, if it is not there; one of this user that others may read
/// is closed, and so is all below it that is named in `below`, files too. Says what was open to others before.
pub fn claim(path: &Path, others: Others, below: &[&str]) -> Result<Option<Closed>, NotPrivate> {
    make_directory(path, DIRECTORY_MODE | others.allowed()).map_err(JournalFailure::of("make", path))?;
    let seen = fs::metadata(path).map_err(JournalFailure::of("look at", path))?;
    if !seen.is_dir() {
        return Err(JournalFailure::of("use", path)(ErrorKind::NotADirectory.into()).into());
    }
    let mode = seen.mode() & MODE_BITS;
    require_own(path, &seen)?;
    if mode & OTHERS_WRITE != 0 {
        return Err(NotPrivate::Writable { path: path.to_owned(), mode });
    }
    // What others could not reach, they cannot have changed, however it was made.
    let reach = if mode & OTHERS_PASS != 0 { Reach::Open } else { Reach::Closed };
    let named: Vec<PathBuf> = below.iter().map(|name| path.join(name)).collect();
    for each in &named {
        check_below(each, reach)?;
    }
    for each in &named {
        close_below(each)?;
    }
    let wanted = mode & !OTHERS | others.allowed();
    if wanted != mode {
        fs::set_permissions(path, Permissions::from_mode(wanted))
            .map_err(JournalFailure::of("set the mode of", path))?;
    }
    let was_open = mode & !wanted != 0;
    Ok(was_open.then(|| Closed { path: path.to_owned(), mode }))
}

/// Makes a directory for its owner alone, and those above it that are missing.
pub fn create_directories(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path)
}

/// Makes a file for its owner alone where none is, and opens it for writing.
pub fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(FILE_MODE).open(path)
}

/// The same in place of an older one, or of a symbolic link, which is not followed.
pub fn create_file_anew(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    create_file(path)
}

/// Puts a file in its place durably, for its owner alone, as a whole or not at all: until then it lies beside it, as `.part` in place of its
/// extension.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("part");
    if draft == path {
        return Err(ErrorKind::InvalidFilename.into());
    }
    let mut file = create_file_anew(&draft)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    sync_directory(parent_of(path))
}

/// Whether others could reach what lies in a directory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Open,
    Closed,
}

/// Those above may be others' way to theirs; one that is there is its owner's choice.
fn make_directory(path: &Path, mode: u32) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    create_durably(parent_of(path))?;
    match DirBuilder::new().mode(mode).create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => sync_directory(parent_of(path)),
    }
}

fn require_own(path: &Path, seen: &Metadata) -> Result<(), NotPrivate> {
    let owner = seen.uid();
    let user = rustix::process::geteuid().as_raw();
    if owner == user {
        return Ok(());
    }
    Err(NotPrivate::Foreign { path: path.to_owned(), owner, user })
}

/// Refuses what others own, or may have changed.
fn check_below(path: &Path, reach: Reach) -> Result<(), NotPrivate> {
    visit(path, &mut |path, seen| {
        require_own(path, seen)?;
        let mode = seen.mode() & MODE_BITS;
        if seen.is_dir() && mode & OTHERS_WRITE != 0 && reach == Reach::Open {
            return Err(NotPrivate::Writable { path: path.to_owned(), mode });
        }
        Ok(())
    })
}

fn close_below(path: &Path) -> Result<(), NotPrivate> {
    visit(path, &mut |path, seen| {
        let mode = seen.mode() & MODE_BITS;
        if mode & OTHERS != 0 {
            let closed = fs::set_permissions(path, Permissions::from_mode(mode & !OTHERS));
            closed.map_err(JournalFailure::of("close to other users", path))?;
        }
        Ok(())
    })
}

/// Visits a directory and all files and directories below it, or a file, if it is there. Links are not followed.
fn visit(
    path: &Path,
    look: &mut dyn FnMut(&Path, &Metadata) -> Result<(), NotPrivate>,
) -> Result<(), NotPrivate> {
    let seen = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        seen => seen.map_err(JournalFailure::of("look at", path))?,
    };
    if seen.is_dir() {
        look(path, &seen)?;
        for entry in fs::read_dir(path).map_err(JournalFailure::of("list", path))? {
            let entry = entry.map_err(JournalFailure::of("list", path))?;
            visit(&entry.path(), look)?;
        }
    } else if seen.is_file() {
        look(path, &seen)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use speedup_core::value::hint::Hinted as _;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & MODE_BITS
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_directory_that_is_made_is_its_owners_alone_and_stays_so() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("above/data");
        for _ in 0..2 {
            assert_eq!(claim(&data, Others::Nothing, &["journal"]).unwrap(), None);
            assert_eq!(mode(&data), DIRECTORY_MODE);
        }
        let passable = folder.path().join("state");
        assert_eq!(claim(&passable, Others::Pass, &[]).unwrap(), None);
        assert_eq!(mode(&passable), 0o711);
    }

    #[test]
    fn what_others_may_read_is_closed_and_said_once() {
        let data = tempfile::tempdir().unwrap();
        let (inner, file) = (data.path().join("journal/deep"), data.path().join("journal/deep/file"));
        fs::create_dir_all(&inner).unwrap();
        fs::write(&file, "").unwrap();
        let elsewhere = tempfile::NamedTempFile::new().unwrap();
        set(elsewhere.path(), 0o644);
        std::os::unix::fs::symlink(elsewhere.path(), inner.join("link")).unwrap();
        for (path, mode) in [(data.path(), 0o755), (&inner, 0o755), (&file, 0o664)] {
            set(path, mode);
        }
        let said = Closed { path: data.path().to_owned(), mode: 0o755 };
        assert_eq!(claim(data.path(), Others::Nothing, &["journal", "absent"]).unwrap(), Some(said));
        assert_eq!((mode(data.path()), mode(&inner), mode(&file)), (0o700, 0o700, 0o600));
        assert_eq!(mode(elsewhere.path()), 0o644, "a link is not followed");
        assert_eq!(claim(data.path(), Others::Nothing, &["journal"]).unwrap(), None);
        for (before, is_said) in [(0o755, true), (0o700, false)] {
            set(data.path(), before);
            assert_eq!(claim(data.path(), Others::Pass, &[]).unwrap().is_some(), is_said);
            assert_eq!(mode(data.path()), 0o711);
        }
    }

    #[test]
    fn what_others_may_write_is_refused_and_left_as_it_is() {
        let data = tempfile::tempdir().unwrap();
        let inner = data.path().join("journal");
        fs::create_dir(&inner).unwrap();
        for open in [0o777, 0o770, 0o702] {
            set(data.path(), open);
            let refused = claim(data.path(), Others::Pass, &["journal"]).unwrap_err();
            let said = refused.to_string();
            assert!(matches!(&refused, NotPrivate::Writable { mode, .. } if *mode == open), "{said}");
            assert!(said.contains(&format!("chmod go-rwx {}", data.path().display())), "{said}");
            assert!(refused.hint().is_some());
            assert_eq!(mode(data.path()), open);
        }
        // What is inside matters where others could reach it.
        set(&inner, 0o775);
        set(data.path(), 0o755);
        let refused = claim(data.path(), Others::Nothing, &["journal"]).unwrap_err();
        assert!(matches!(&refused, NotPrivate::Writable { path, .. } if *path == inner), "{refused}");
        assert_eq!((mode(data.path()), mode(&inner)), (0o755, 0o775));
        set(data.path(), 0o700);
        assert_eq!(claim(data.path(), Others::Nothing, &["journal"]).unwrap(), None);
        assert_eq!(mode(&inner), 0o700);
    }

    #[test]
    fn what_another_user_owns_is_refused() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let data = tempfile::tempdir().unwrap();
        let inner = data.path().join("journal");
        fs::create_dir(&inner).unwrap();
        for path in [inner.as_path(), data.path()] {
            std::os::unix::fs::chown(path, Some(65_534), None).unwrap();
            let refused = claim(data.path(), Others::Nothing, &["journal"]).unwrap_err();
            assert!(
                matches!(&refused, NotPrivate::Foreign { owner: 65_534, path: found, .. } if found == path)
            );
            assert!(refused.to_string().contains("chown -R 0 "), "{refused}");
        }
    }

    #[test]
    fn a_file_in_the_place_of_a_directory_is_refused_and_a_link_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "kept").unwrap();
        assert!(matches!(claim(&file, Others::Nothing, &[]), Err(NotPrivate::Failed(_))));
        assert!(claim(&file.join("data"), Others::Nothing, &[]).is_err());
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(create_file(&link).is_err());
        drop(create_file_anew(&link).unwrap());
        assert_eq!((mode(&link), fs::read_to_string(&file).unwrap().as_str()), (FILE_MODE, "kept"));
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_leaves_no_draft() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("record.json");
        for content in ["first and longer", "second"] {
            replace(&path, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        assert_eq!(parent_of(Path::new("name")), Path::new("."));
    }
}
