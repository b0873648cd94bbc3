//! The files of a host: read within bounds, and never outside the root.

use std::{fs::File, io, io::Read as _, os::fd::OwnedFd, path::Path, path::PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags, ResolveFlags, fstat, open, openat2, readlinkat};

/// Most bytes of a file with one value: the kernel gives a page, of up to 64 KiB.
const MAX_VALUE_BYTES: usize = 64 << 10;
/// Most bytes of `/proc/cpuinfo`: 8 KiB for each of 8,192 CPUs.
const MAX_TABLE_BYTES: usize = 64 << 20;
/// Most bytes of a library in which a version is looked for: libc has two or three megabytes.
const MAX_LIBRARY_BYTES: usize = 16 << 20;
/// Most bytes of a program that is hashed: one with all that debuggers want has a few hundred megabytes.
const MAX_PROGRAM_BYTES: u64 = 4 << 30;
/// Most names in a folder: 8,192 CPUs and what lies beside them.
const MAX_NAMES: usize = 16 << 10;

/// What a file holds: nothing where the host has no such thing, or why it cannot be read.
pub(super) type Reading<T = String> = Result<Option<T>, String>;

/// The files of a host.
#[derive(Debug)]
pub(super) struct System {
    root: PathBuf,
    /// The root where it is another than this process's: links of another machine's tree lead within it.
    within: Option<OwnedFd>,
}

impl System {
    /// Those below a root, `/` for this host's own.
    pub(super) fn at(root: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let within = open(root, flags, Mode::empty())?;
        Ok(Self { root: root.to_owned(), within: (root != Path::new("/")).then_some(within) })
    }

    /// The first line of a file, without the space around it; an empty one is absent.
    pub(super) fn line(&self, path: &str) -> Reading {
        let text = self.text(path, MAX_VALUE_BYTES)?;
        let line = text.as_deref().and_then(|text| text.lines().next()).unwrap_or_default().trim();
        if line.chars().any(|c| c.is_control() && c != '\t') {
            return Err(format!("/{path}: is not text"));
        }
        Ok((!line.is_empty()).then(|| line.to_owned()))
    }

    /// A whole file of lines.
    pub(super) fn lines(&self, path: &str) -> Reading {
        self.text(path, MAX_TABLE_BYTES)
    }

    /// The texts of a property of a device tree, each of which ends with a zero byte.
    pub(super) fn property(&self, path: &str) -> Reading {
        let text = self.text(path, MAX_VALUE_BYTES)?.unwrap_or_default();
        let texts: Vec<&str> = text.split('\0').map(str::trim).filter(|text| !text.is_empty()).collect();
        if texts.iter().any(|text| text.chars().any(char::is_control)) {
            return Err(format!("/{path}: is not text"));
        }
        Ok((!texts.is_empty()).then(|| texts.join(" ")))
    }

    /// The bytes of a library.
    pub(super) fn shared_object(&self, path: &str) -> Reading<Vec<u8>> {
        self.bytes(path, MAX_LIBRARY_BYTES)
    }

    /// The BLAKE3 of a program, in hex.
    pub(super) fn hash(&self, path: &str) -> Reading {
        let Some(file) = self.file(path)? else { return Ok(None) };
        let mut hasher = blake3::Hasher::new();
        // In pieces that BLAKE3 takes at once: every start of an agent waits for the hash of its own program.
        hasher
            .update_reader(file.take(MAX_PROGRAM_BYTES + 1))
            .map_err(|error| format!("/{path}: {error}"))?;
        if hasher.count() > MAX_PROGRAM_BYTES {
            return Err(longer(path, MAX_PROGRAM_BYTES));
        }
        Ok(Some(hasher.finalize().to_hex().to_string()))
    }

    /// The names in a folder, in order.
    pub(super) fn names(&self, path: &str) -> Reading<Vec<String>> {
        let Some(folder) = self.open(path, OFlags::DIRECTORY)? else { return Ok(None) };
        let failed = |errno: rustix::io::Errno| format!("/{path}: {}", io::Error::from(errno));
        let mut names = Vec::new();
        for entry in Dir::read_from(folder).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
            if names.len() > MAX_NAMES {
                return Err(format!("/{path}: has more than {MAX_NAMES} entries"));
            }
        }
        names.sort_unstable();
        Ok(Some(names))
    }

    /// Whether there is such a file, folder or link.
    pub(super) fn has(&self, path: &str) -> Result<bool, String> {
        self.open(path, OFlags::PATH | OFlags::NOFOLLOW).map(|opened| opened.is_some())
    }

    /// The last name of what a link leads to.
    pub(super) fn link(&self, path: &str) -> Reading {
        let Some(link) = self.open(path, OFlags::PATH | OFlags::NOFOLLOW)? else { return Ok(None) };
        let target = readlinkat(link, "", Vec::new()).map_err(|errno| format!("/{path}: {errno}"))?;
        let target = target.to_string_lossy();
        Ok(target.rsplit('/').next().filter(|name| !name.is_empty()).map(str::to_owned))
    }

    fn text(&self, path: &str, most: usize) -> Reading {
        let Some(bytes) = self.bytes(path, most)? else { return Ok(None) };
        String::from_utf8(bytes).map(Some).map_err(|_| format!("/{path}: is not text"))
    }

    fn bytes(&self, path: &str, most: usize) -> Reading<Vec<u8>> {
        let Some(file) = self.file(path)? else { return Ok(None) };
        let mut bytes = Vec::new();
        let bound = most as u64;
        file.take(bound + 1).read_to_end(&mut bytes).map_err(|error| format!("/{path}: {error}"))?;
        if bytes.len() > most {
            return Err(longer(path, bound));
        }
        Ok(Some(bytes))
    }

    /// A file that ends: a pipe or a device could be waited for without end.
    fn file(&self, path: &str) -> Reading<File> {
        let Some(opened) = self.open(path, OFlags::NONBLOCK | OFlags::NOCTTY)? else { return Ok(None) };
        let status = fstat(&opened).map_err(|errno| format!("/{path}: {}", io::Error::from(errno)))?;
        match FileType::from_raw_mode(status.st_mode) {
            FileType::RegularFile => Ok(Some(opened.into())),
            other => Err(format!("/{path}: is no file but {}", what(other))),
        }
    }

    fn open(&self, path: &str, flags: OFlags) -> Reading<OwnedFd> {
        let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC;
        let opened = match &self.within {
            Some(within) => openat2(within, path, flags, Mode::empty(), ResolveFlags::IN_ROOT),
            None => open(self.root.join(path), flags, Mode::empty()),
        };
        match opened {
            Ok(opened) => Ok(Some(opened)),
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(format!("/{path}: {}", io::Error::from(errno))),
        }
    }
}

fn longer(path: &str, most: u64) -> String {
    format!("/{path}: is longer than {most} bytes")
}

fn what(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "a directory",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::RegularFile | FileType::Symlink | FileType::Unknown => "of another kind",
    }
}
