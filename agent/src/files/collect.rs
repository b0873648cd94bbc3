//! Collecting what a build made: regular files in its working directory, taken into the cache by their content. A path is
//! walked part by part and no link is followed, so that nothing else of the host can be collected.

use std::{
    collections::BTreeMap, collections::BTreeSet, fs::File, io::Read as _, io::Seek as _, io::SeekFrom,
    os::fd::OwnedFd, os::unix::fs::PermissionsExt as _, path::Path, sync::atomic::AtomicBool,
    sync::atomic::Ordering,
};

use rustix::{fs::AtFlags, fs::CWD, fs::FileType, fs::Mode, fs::OFlags, fs::openat, fs::statat, io::Errno};
use speedup_core::experiment::build::{Product, is_inside};
use speedup_core::experiment::files::{Content, MAX_FILE_BYTES};

use super::{Files, Hashing, READ_BYTES, StagingError, cache::Draft, cache::Rejected, hash};

/// Why a build's products are not here.
#[derive(Debug)]
pub(crate) enum NotCollected {
    NotMade {
        name: String,
        /// What was found instead.
        reason: String,
    },
    /// This host cannot keep them.
    NotKept(StagingError),
}

impl From<StagingError> for NotCollected {
    fn from(error: StagingError) -> Self {
        Self::NotKept(error)
    }
}

/// A product where the build left it.
struct Found<'a> {
    name: &'a str,
    file: File,
    bytes: u64,
    executable: bool,
}

impl Files {
    /// Takes what a build left at these paths of its working directory into the cache; ascending by name.
    pub(crate) fn collect(
        &mut self,
        directory: &Path,
        paths: &BTreeMap<String, String>,
        stop: &AtomicBool,
    ) -> Result<Vec<Product>, NotCollected> {
        let found = paths.iter().map(|(name, path)| {
            let not_made = |reason| NotCollected::NotMade { name: name.clone(), reason };
            find(name, directory, path).map_err(not_made)
        });
        let found = found.collect::<Result<Vec<Found<'_>>, _>>()?;
        // Before they are read, which takes as long as they are large.
        self.cache.fits(found.iter().map(|one| one.bytes))?;
        let mut products = Vec::new();
        for one in &found {
            products.push(Product { name: one.name.to_owned(), content: content(one, stop)? });
        }
        let wanted: BTreeSet<Content> = products.iter().map(|product| product.content).collect();
        for (one, product) in found.iter().zip(&products) {
            self.take(one, product.content, &wanted, stop)?;
        }
        Ok(products)
    }

    /// Takes a copy into the cache: whoever may still write to the file does not write to that.
    fn take(
        &mut self,
        found: &Found<'_>,
        content: Content,
        wanted: &BTreeSet<Content>,
        stop: &AtomicBool,
    ) -> Result<(), NotCollected> {
        if self.cache.find(content, stop)?.is_some() {
            return Ok(());
        }
        self.cache.make_room(content, wanted)?;
        let mut draft = self.cache.draft(content, stop)?;
        if draft.is_resumed() {
            self.cache.discard(&draft)?;
            draft = self.cache.draft(content, stop)?;
        }
        let copied = match copy(found, &mut draft, stop) {
            Ok(()) => self.cache.keep(draft).map(drop),
            Err(rejected) => {
                // The first error is the one to tell.
                let _ = self.cache.discard(&draft);
                Err(rejected)
            }
        };
        copied.map_err(|rejected| match rejected {
            Rejected::Wrong(_) => not_made(found, "it changed while it was collected".to_owned()),
            Rejected::Disk(error) => NotCollected::NotKept(error),
        })
    }
}

fn not_made(found: &Found<'_>, reason: String) -> NotCollected {
    NotCollected::NotMade { name: found.name.to_owned(), reason }
}

/// Opens a product; what is none is told in words.
fn find<'a>(name: &'a str, directory: &Path, path: &str) -> Result<Found<'a>, String> {
    // Who sent the order is not asked: the agent may read more than the program could.
    if !is_inside(path) {
        return Err(format!("{path:?} is no path within its working directory"));
    }
    let file = File::from(open_inside(directory, path)?);
    let seen = file.metadata().map_err(|error| format!("cannot look at {path}: {error}"))?;
    if !seen.is_file() {
        return Err(format!("{path} is no regular file"));
    }
    let bytes = seen.len();
    if bytes > MAX_FILE_BYTES {
        return Err(format!("{path} has {bytes} bytes, but at most {MAX_FILE_BYTES} are allowed"));
    }
    Ok(Found { name, file, bytes, executable: seen.permissions().mode() & 0o111 != 0 })
}

/// Opens a regular file by its path in a directory. Nothing else is opened: to open a pipe may wait, and a device may act.
fn open_inside(directory: &Path, path: &str) -> Result<OwnedFd, String> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = openat(CWD, directory, flags | OFlags::DIRECTORY, Mode::empty());
    let mut at = opened.map_err(|errno| format!("cannot open the working directory: {errno}"))?;
    let mut parts = path.split('/').peekable();
    let mut walked = 0;
    while let Some(part) = parts.next() {
        walked += part.len();
        let so_far = &path[..walked];
        walked += 1;
        let seen = statat(&at, part, AtFlags::SYMLINK_NOFOLLOW).map_err(|errno| match errno {
            Errno::NOENT => format!("there is no {so_far} in its working directory"),
            _ => format!("cannot look at {so_far}: {errno}"),
        })?;
        let is_last = parts.peek().is_none();
        let wanted = if is_last { FileType::RegularFile } else { FileType::Directory };
        let is = FileType::from_raw_mode(seen.st_mode);
        if is != wanted {
            return Err(format!("{so_far} is {}, not {}", in_words(is), in_words(wanted)));
        }
        let flags = if is_last { flags } else { flags | OFlags::DIRECTORY };
        at = openat(&at, part, flags, Mode::empty())
            .map_err(|errno| format!("cannot open {so_far}: {errno}"))?;
    }
    Ok(at)
}

fn in_words(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a regular file",
        FileType::Directory => "a directory",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "something unknown",
    }
}

/// What a product holds.
fn content(found: &Found<'_>, stop: &AtomicBool) -> Result<Content, NotCollected> {
    let Found { bytes, executable, .. } = *found;
    let blake3 = hash((&found.file).take(bytes), stop).map_err(|error| match error {
        Hashing::Disk(error) => not_made(found, format!("it cannot be read: {error}")),
        Hashing::Stopped => StagingError::Stopped.into(),
    })?;
    Ok(Content { blake3, bytes, executable })
}

/// Copies a product, which its draft verifies.
fn copy(found: &Found<'_>, draft: &mut Draft, stop: &AtomicBool) -> Result<(), Rejected> {
    let changed = |error: std::io::Error| Rejected::Wrong(error.to_string());
    let mut from = (&found.file).take(found.bytes.saturating_add(1));
    from.get_mut().seek(SeekFrom::Start(0)).map_err(changed)?;
    let mut room = vec![0; READ_BYTES];
    while !stop.load(Ordering::Acquire) {
        match from.read(&mut room) {
            Ok(0) => return Ok(()),
            Ok(bytes) => draft.write(&room[..bytes])?,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(changed(error)),
        }
    }
    Err(Rejected::Disk(StagingError::Stopped))
}

#[cfg(test)]
mod tests {
    use std::{fs, fs::Permissions, os::unix::fs::symlink};

    use rustix::fs::mknodat;

    use super::*;

    static GO: AtomicBool = AtomicBool::new(false);

    /// What is collected from this path of a directory that was filled so.
    fn collected(fill: impl Fn(&Path), path: &str, bound: u64) -> Result<Product, NotCollected> {
        let state = tempfile::tempdir().unwrap();
        let work = state.path().join("work");
        fs::create_dir(&work).unwrap();
        fill(&work);
        let mut files = Files::open(state.path(), bound).unwrap();
        let paths = [("prog".to_owned(), path.to_owned())].into();
        let products = files.collect(&work, &paths, &GO)?;
        let [product] = &products[..] else { panic!("{products:?}") };
        let kept = files.cache.find(product.content, &GO).unwrap().expect("it is in the cache");
        assert_eq!(fs::metadata(&kept).unwrap().len(), product.content.bytes);
        let mode = if product.content.executable { 0o555 } else { 0o444 };
        assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, mode);
        Ok(product.clone())
    }

    fn why_not(fill: impl Fn(&Path), path: &str) -> String {
        match collected(fill, path, 100).unwrap_err() {
            NotCollected::NotMade { name, reason } if name == "prog" => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_file_becomes_a_content_with_its_hash_and_its_mode() {
        for executable in [false, true] {
            let fill = |work: &Path| {
                fs::create_dir_all(work.join("out/bin")).unwrap();
                fs::write(work.join("out/bin/prog"), "words").unwrap();
                let mode = if executable { 0o700 } else { 0o600 };
                fs::set_permissions(work.join("out/bin/prog"), Permissions::from_mode(mode)).unwrap();
            };
            let product = collected(fill, "out/bin/prog", 5).unwrap();
            let blake3 = speedup_core::experiment::files::ContentHash(blake3::hash(b"words").into());
            assert_eq!(product.content, Content { blake3, bytes: 5, executable });
        }
        assert_eq!(
            collected(|work| fs::write(work.join("a"), "").unwrap(), "a", 5).unwrap().content.bytes,
            0
        );
    }

    #[test]
    fn what_is_no_regular_file_in_the_directory_is_not_collected() {
        assert_eq!(why_not(|_| (), "out/prog"), "there is no out in its working directory");
        let directory = |work: &Path| fs::create_dir_all(work.join("prog")).unwrap();
        assert_eq!(why_not(directory, "prog"), "prog is a directory, not a regular file");
        assert_eq!(why_not(directory, "prog/x"), "there is no prog/x in its working directory");
        let file = |work: &Path| fs::write(work.join("out"), "").unwrap();
        assert_eq!(why_not(file, "out/prog"), "out is a regular file, not a directory");
        let pipe = |work: &Path| {
            mknodat(CWD, work.join("prog"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        };
        assert_eq!(why_not(pipe, "prog"), "prog is a pipe, not a regular file");
    }

    #[test]
    fn no_link_is_followed_wherever_it_leads() {
        let outside = |work: &Path| {
            symlink("/etc/passwd", work.join("prog")).unwrap();
            symlink("/etc", work.join("out")).unwrap();
        };
        assert_eq!(why_not(outside, "prog"), "prog is a symbolic link, not a regular file");
        assert_eq!(why_not(outside, "out/passwd"), "out is a symbolic link, not a directory");
        let inside = |work: &Path| {
            fs::write(work.join("real"), "words").unwrap();
            symlink("real", work.join("prog")).unwrap();
        };
        assert_eq!(why_not(inside, "prog"), "prog is a symbolic link, not a regular file");
        let replaced = |work: &Path| {
            fs::remove_dir(work).unwrap();
            symlink("/etc", work).unwrap();
        };
        assert!(why_not(replaced, "passwd").contains("cannot open the working directory"));
    }

    #[test]
    fn what_is_larger_than_possible_is_not_read() {
        let sparse = |work: &Path, bytes| File::create(work.join("prog")).unwrap().set_len(bytes).unwrap();
        let large = collected(|work| sparse(work, 1 << 40), "prog", 100).unwrap_err();
        let NotCollected::NotMade { reason, .. } = &large else { panic!("{large:?}") };
        assert!(reason.contains("1099511627776 bytes, but at most"), "{reason}");
        // The host's own bound is no failure of the build.
        let large = collected(|work| sparse(work, 101), "prog", 100).unwrap_err();
        let fits = StagingError::TooLarge { wanted: 101, bound: 100 };
        assert!(
            matches!(&large, NotCollected::NotKept(error) if error.to_string() == fits.to_string()),
            "{large:?}"
        );
    }

    #[test]
    fn what_an_earlier_start_left_half_collected_is_collected_anew() {
        let half = |work: &Path| {
            fs::write(work.join("prog"), "words").unwrap();
            let files = work.with_file_name("files");
            fs::create_dir(&files).unwrap();
            fs::write(files.join(format!("{}.part", blake3::hash(b"words"))), "wrong").unwrap();
        };
        assert_eq!(collected(half, "prog", 100).unwrap().content.bytes, 5);
    }
}
