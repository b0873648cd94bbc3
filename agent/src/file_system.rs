//! Which file system a directory is on, by the kernel's list of mounts: its names tell apart what one number of `statfs` does
//! not, such as the programs behind FUSE.

use std::{
    ffi::OsString, fs::File, io::Read as _, os::unix::ffi::OsStrExt as _, os::unix::ffi::OsStringExt as _,
    os::unix::fs::MetadataExt as _, path::Path, path::PathBuf,
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use speedup_core::run::conditions::{FileSystem, Location, MAX_KIND_BYTES};

/// The kernel's list of mounts, as this process sees them.
const MOUNTS: &str = "/proc/self/mountinfo";
/// What most lists fit into.
const USUAL_BYTES: usize = 16 << 10;
/// Kinds whose files are on other hosts, or on disks that several hosts share. Those of clusters first, then those of
/// virtual machines, whose files are the hypervisor's.
const NETWORK: [&str; 28] = [
    "nfs",
    "nfs4",
    "lustre",
    "gpfs",
    "mmfs",
    "beegfs",
    "fhgfs",
    "ceph",
    "panfs",
    "pvfs2",
    "orangefs",
    "wekafs",
    "dvs",
    "glusterfs",
    "cifs",
    "smb3",
    "smbfs",
    "afs",
    "auristorfs",
    "coda",
    "ncpfs",
    "gfs2",
    "ocfs2",
    "acfs",
    "9p",
    "virtiofs",
    "vboxsf",
    "prl_fs",
];

/// The file system of a directory; none where the kernel does not tell.
pub(crate) fn file_system(directory: &Path) -> Option<FileSystem> {
    Mounts::default().of(directory)
}

/// The list of mounts, and what it says of the directory that was asked for last: it is read again when it has changed.
#[derive(Debug, Default)]
pub(crate) struct Mounts {
    list: Option<File>,
    known: Option<(Place, FileSystem)>,
}

/// A directory, by whatever links it is reached.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl Mounts {
    /// The file system of a directory; none where the kernel does not tell.
    pub(crate) fn of(&mut self, directory: &Path) -> Option<FileSystem> {
        let there = std::fs::metadata(directory).ok()?;
        let place = Place { path: directory.to_owned(), device: there.dev(), inode: there.ino() };
        match self.known.take().filter(|(known, _)| *known == place) {
            Some(known) if !self.have_changed() => self.known = Some(known),
            Some(_) | None => self.known = Some((place, self.read(directory)?)),
        }
        self.known.as_ref().map(|(_, found)| found.clone())
    }

    fn read(&mut self, directory: &Path) -> Option<FileSystem> {
        let real = directory.canonicalize().ok()?;
        // The kernel tells of changes since the list was opened.
        let list = self.list.insert(File::open(MOUNTS).ok()?);
        let mut mounts = Vec::with_capacity(USUAL_BYTES);
        list.read_to_end(&mut mounts).ok()?;
        kind_in(&mounts, &real).map(|kind| FileSystem { location: location(&kind), kind })
    }

    /// Whether something was mounted or unmounted since the list was read (proc(5): it polls as exceptional then).
    fn have_changed(&self) -> bool {
        let Some(list) = &self.list else { return true };
        let mut entry = [PollFd::new(list, PollFlags::PRI)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut entry, Some(&at_once)) != Ok(0)
    }
}

/// The kind of the mount that a path is below. Of several at one place the last hides the others.
fn kind_in(mounts: &[u8], real: &Path) -> Option<String> {
    let mounts = mounts.split(|byte| *byte == b'\n').filter_map(mount);
    let above = mounts.filter(|(point, _)| real.starts_with(point));
    above.max_by_key(|(point, _)| point.as_os_str().len()).map(|(_, kind)| kind)
}

/// The mount point and the kind of a line (proc(5): fields 5 and, after a lone `-`, the next).
fn mount(line: &[u8]) -> Option<(PathBuf, String)> {
    let mut fields = line.split(|byte| *byte == b' ');
    let point = unescaped(fields.nth(4)?);
    let mut after = fields.skip_while(|field| *field != b"-");
    let mut kind = String::from_utf8_lossy(after.nth(1)?).into_owned();
    kind.truncate(kind.floor_char_boundary(MAX_KIND_BYTES));
    Some((point, kind))
}

/// Space, tab, line feed and backslash are written as three octal digits.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, more)) = rest.split_first() {
        let octal =
            more.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &more[3..] } else { more };
    }
    OsString::from_vec(bytes).into()
}

fn location(kind: &str) -> Location {
    if NETWORK.contains(&kind) {
        Location::Network
    } else if kind == "fuse" || kind.starts_with("fuse.") {
        Location::Program
    } else {
        Location::Local
    }
}

/// Whether programs in a directory can be executed at all.
pub(crate) fn allows_execution(directory: &Path) -> bool {
    rustix::fs::statvfs(directory).is_ok_and(|is| !is.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC))
}

/// A part of a directory's name that is the same for the same path, and another for another.
pub(crate) fn mark_of(path: &Path) -> String {
    /// Hexadecimal digits: 64 bits, so that two of a user's directories are never taken for one.
    const DIGITS: usize = 16;
    let mut mark = blake3::hash(path.as_os_str().as_bytes()).to_hex().to_string();
    mark.truncate(DIGITS);
    mark
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLUSTER: &[u8] = b"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
        40 22 0:35 / /home rw,relatime shared:2 master:1 - nfs4 server:/home rw\n\
        41 40 0:36 / /home/a\\040b rw - fuse.sshfs c@d: rw\n\
        42 22 0:37 / /scratch rw - lustre ost@tcp:/x rw\n\
        43 22 0:38 / /mnt rw - nfs server:/mnt rw\n\
        44 22 0:39 / /mnt rw - tmpfs tmpfs rw\n";

    #[test]
    fn a_path_is_on_the_mount_next_above_it() {
        for (path, kind, location) in [
            ("/tmp/x", "ext4", Location::Local),
            ("/home", "nfs4", Location::Network),
            ("/home/ab", "nfs4", Location::Network),
            ("/home/a b/c", "fuse.sshfs", Location::Program),
            ("/homestead", "ext4", Location::Local),
            ("/scratch/d", "lustre", Location::Network),
            ("/mnt/d", "tmpfs", Location::Local),
        ] {
            let found = kind_in(CLUSTER, Path::new(path)).unwrap();
            assert_eq!((found.as_str(), super::location(&found)), (kind, location), "{path}");
        }
    }

    #[test]
    fn lines_that_are_no_mounts_tell_nothing() {
        for line in ["", "22 1 8:1 /", "22 1 8:1 / / rw", "22 1 8:1 / / rw - "] {
            assert!(
                kind_in(line.as_bytes(), Path::new("/tmp")).is_none_or(|kind| kind.is_empty()),
                "{line:?}"
            );
        }
        assert!(
            file_system(Path::new("/proc")).is_some_and(|found| found.kind == "proc" && found.is_local())
        );
        assert_eq!(file_system(Path::new("/no/such/directory")), None);
    }
}
