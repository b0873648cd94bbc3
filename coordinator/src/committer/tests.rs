//! A journal whose disk fails under the running committer.

use std::{io, path::Path, sync::Arc, sync::atomic::AtomicUsize, sync::atomic::Ordering};

use rustix::io::Errno;
use speedup_core::value::time::Timestamp;
use speedup_journal::{Directory, DiskDirectory, JournalId, Options, SegmentFile};

use super::*;
use crate::indexer::backlog;

/// What the disk says when it fails.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// No write takes more than a few bytes, and then there is no space.
    NoSpace,
    Sync,
}

/// A disk on which so many writes or syncs succeed.
#[derive(Debug)]
struct Failing {
    disk: DiskDirectory,
    fault: Fault,
    left: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct FailingFile {
    file: Box<dyn SegmentFile>,
    fault: Fault,
    left: Arc<AtomicUsize>,
}

impl Failing {
    fn wrap(&self, file: io::Result<Box<dyn SegmentFile>>) -> io::Result<Box<dyn SegmentFile>> {
        let (fault, left) = (self.fault, self.left.clone());
        file.map(|file| Box::new(FailingFile { file, fault, left }) as Box<dyn SegmentFile>)
    }
}

impl Directory for Failing {
    fn path(&self) -> &Path {
        self.disk.path()
    }
    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }
    fn create(&self, name: &str) -> io::Result<Box<dyn SegmentFile>> {
        self.wrap(self.disk.create(name))
    }
    fn open_to_read(&self, name: &str) -> io::Result<Box<dyn SegmentFile>> {
        self.wrap(self.disk.open_to_read(name))
    }
    fn open_to_write(&self, name: &str) -> io::Result<Box<dyn SegmentFile>> {
        self.wrap(self.disk.open_to_write(name))
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }
    fn sync(&self) -> io::Result<()> {
        self.disk.sync()
    }
}

impl FailingFile {
    fn use_up(&self) -> bool {
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

impl SegmentFile for FailingFile {
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        match self.fault {
            Fault::NoSpace if self.use_up() => self.file.write_at(&bytes[..bytes.len().min(7)], offset),
            Fault::NoSpace => Err(io::ErrorKind::StorageFull.into()),
            Fault::Sync => self.file.write_at(bytes, offset),
        }
    }
    fn truncate(&self, length: u64) -> io::Result<()> {
        self.file.truncate(length)
    }
    fn sync(&self) -> io::Result<()> {
        match self.fault {
            Fault::Sync if !self.use_up() => Err(Errno::IO.into()),
            Fault::Sync | Fault::NoSpace => self.file.sync(),
        }
    }
}

/// Gives a committer twenty groups on a failing disk; how many were answered, and what the journal then holds.
fn commit_until_it_fails(fault: Fault, left: usize) -> (usize, u64) {
    let folder = tempfile::tempdir().unwrap();
    let left = Arc::new(AtomicUsize::new(left));
    let disk = DiskDirectory::new(folder.path());
    let options = Options::new(JournalId([1; 16]));
    // The header is written whole.
    drop(Journal::open(folder.path(), &options).unwrap());
    let journal = Journal::open_on(Arc::new(Failing { disk, fault, left }), &options).unwrap().0;
    let (durable, seen) = watch::channel(journal.durable_end());
    let (index, indexed) = backlog();
    let mut committer = Committer::new(journal, durable, index, Metrics::default());
    let answered = Arc::new(AtomicUsize::new(0));
    let group = |at| {
        let count = answered.clone();
        CommitBatch {
            events: vec![Event { at: Timestamp(at), change: Change::CoordinatorStarted }],
            answers: vec![Box::new(move || {
                count.fetch_add(1, Ordering::Relaxed);
            })],
            ..CommitBatch::default()
        }
    };
    let error = (0..20).find_map(|at| committer.commit(group(at)).err()).expect("the failure is told");
    assert!(matches!(committer.commit(group(20)), Err(WriteError::Failed(_))), "it is final");
    drop(committer);
    assert!(matches!(error, WriteError::Failed(_)), "{error:?}");
    let answered = answered.load(Ordering::Relaxed);
    let indexed = indexed.take(usize::MAX, Duration::ZERO).unwrap_or_default();
    assert_eq!(indexed.len(), answered, "what is not durable is not indexed");
    assert_eq!(seen.borrow().0, answered as u64, "nor said to be durable");
    (answered, Journal::open(folder.path(), &options).unwrap().0.next().0)
}

#[test]
fn nothing_is_answered_after_a_failure_and_all_that_was_answered_is_there() {
    let mut different = std::collections::BTreeSet::new();
    // A group takes one sync, and some nine writes of a few bytes.
    for groups in 1..20 {
        for (fault, left) in [(Fault::Sync, groups), (Fault::NoSpace, 8 * groups)] {
            let (answered, there) = commit_until_it_fails(fault, left);
            assert!(answered < 20 && there >= answered as u64, "{fault:?} after {left}: {answered}, {there}");
            different.insert(answered);
        }
    }
    assert!(different.len() > 10, "{different:?}");
}
