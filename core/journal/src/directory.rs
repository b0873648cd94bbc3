//! The seam under the journal: one directory and its files. Tests put a failing or forgetful disk behind it.

use std::{fmt::Debug, fs, fs::File, fs::OpenOptions, io, os::unix::fs::FileExt, path::Path, path::PathBuf};

use crate::lock::release;
use rustix::{fs::FlockOperation, fs::flock, io::Errno};

use crate::{durable::sync_directory, private};

/// The directory of one journal; files are named within it.
pub trait Directory: Debug + Send + Sync {
    fn path(&self) -> &Path;
    /// Names of all files, in any order.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Makes an empty file, also in place of an older one of that name, and opens it for writing.
    fn create(&self, name: &str) -> io::Result<Box<dyn SegmentFile>>;
    /// Opens a file for reading, and beside a running service for nothing else.
    fn open_to_read(&self, name: &str) -> io::Result<Box<dyn SegmentFile>>;
    fn open_to_write(&self, name: &str) -> io::Result<Box<dyn SegmentFile>>;
    /// Gives a file another name, at once and as a whole.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes all names made, changed and removed before durable.
    fn sync(&self) -> io::Result<()>;
}

/// One open file.
pub trait SegmentFile: Debug + Send {
    fn length(&self) -> io::Result<u64>;
    /// Reads from `offset` on; fewer bytes than the buffer takes are no error, and none are the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes at `offset`; fewer bytes than given are no error.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    fn truncate(&self, length: u64) -> io::Result<()>;
    /// Makes all bytes written before, and the length, durable (`fdatasync`).
    fn sync(&self) -> io::Result<()>;
    /// Locks the file, under whatever name, against every other who locks it, until it is closed. Gives whether it was to
    /// be had. A disk that only one process knows needs no locks.
    fn lock(&self) -> io::Result<bool> {
        Ok(true)
    }
}

/// A directory on a real disk.
#[derive(Debug)]
pub struct DiskDirectory {
    path: PathBuf,
}

impl DiskDirectory {
    /// Names a directory that should exist.
    pub fn new(path: impl Into<PathBuf>) -> DiskDirectory {
        DiskDirectory { path: path.into() }
    }
}

impl Directory for DiskDirectory {
    fn path(&self) -> &Path {
        &self.path
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            // A name that is no UTF-8 is none of ours.
            names.extend(entry?.file_name().into_string().ok());
        }
        Ok(names)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn SegmentFile>> {
        Ok(Box::new(DiskFile(private::create_file_anew(&self.path.join(name))?)))
    }

    fn open_to_read(&self, name: &str) -> io::Result<Box<dyn SegmentFile>> {
        Ok(Box::new(DiskFile(File::open(self.path.join(name))?)))
    }

    fn open_to_write(&self, name: &str) -> io::Result<Box<dyn SegmentFile>> {
        Ok(Box::new(DiskFile(OpenOptions::new().read(true).write(true).open(self.path.join(name))?)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync(&self) -> io::Result<()> {
        sync_directory(&self.path)
    }
}

#[derive(Debug)]
struct DiskFile(File);

impl Drop for DiskFile {
    fn drop(&mut self) {
        release(&self.0);
    }
}

impl SegmentFile for DiskFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.0.write_at(bytes, offset)
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn lock(&self) -> io::Result<bool> {
        match flock(&self.0, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Writes all of `bytes`, however many writes the disk needs for it.
pub(crate) fn write_all_at(file: &dyn SegmentFile, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write_at(bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = bytes.get(written..).unwrap_or_default();
                offset += written as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Fills `buffer` from `offset` on, as far as the file goes, and says how far that was.
pub(crate) fn read_full_at(file: &dyn SegmentFile, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    /// Takes and gives a byte at a time, and is interrupted before each.
    #[derive(Debug, Default)]
    struct Interrupted {
        bytes: RefCell<Vec<u8>>,
        calls: Cell<u32>,
    }

    impl Interrupted {
        fn is_interrupted(&self) -> io::Result<()> {
            self.calls.set(self.calls.get() + 1);
            if self.calls.get() % 2 == 1 { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
        }
    }

    impl SegmentFile for Interrupted {
        fn length(&self) -> io::Result<u64> {
            Ok(self.bytes.borrow().len() as u64)
        }

        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            self.is_interrupted()?;
            let bytes = self.bytes.borrow();
            let Some(byte) = bytes.get(offset as usize) else { return Ok(0) };
            buffer[0] = *byte;
            Ok(1)
        }

        fn write_at(&self, bytes: &[u8], _: u64) -> io::Result<usize> {
            self.is_interrupted()?;
            self.bytes.borrow_mut().push(bytes[0]);
            Ok(1)
        }

        fn truncate(&self, _: u64) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn sync(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn who_is_interrupted_goes_on_and_another_error_ends_it() {
        let file = Interrupted::default();
        write_all_at(&file, b"whole", 0).unwrap();
        let mut buffer = [0; 8];
        assert_eq!(read_full_at(&file, &mut buffer, 0).unwrap(), 5);
        assert_eq!(&buffer[..5], b"whole");
        let directory = tempfile::tempdir().unwrap();
        let disk = DiskDirectory::new(directory.path());
        drop(disk.create("file").unwrap());
        let read_only = disk.open_to_read("file").unwrap();
        assert!(write_all_at(&*read_only, b"x", 0).is_err());
        let write_only =
            DiskFile(OpenOptions::new().write(true).open(directory.path().join("file")).unwrap());
        assert!(read_full_at(&write_only, &mut buffer, 0).is_err());
    }
}
