//! The source of a commit: its files as Git keeps them. No filter is applied, no line end converted, no attribute of `git archive` heeded, so
//! the same commit is the same bytes on every machine. It becomes an archive that travels, or a directory.

use std::{
    ffi::OsStr, fs, fs::File, fs::OpenOptions, io, io::BufRead, io::BufReader, io::BufWriter, io::Read,
    io::Seek as _, io::Write as _, os::unix::ffi::OsStrExt as _, os::unix::fs::OpenOptionsExt as _,
    os::unix::fs::symlink, path::Path, process::ChildStdin, process::Stdio, thread, time::Duration,
    time::SystemTime,
};

use speedup_core::experiment::commit::Commit;
use tar::{Builder, EntryType, Header};

use super::invocation::{Answer, git};
use super::listing::{Entry, Flaw, Kind, Listing};
use super::{GitRefusal, MAX_ANSWER_BYTES, Repository};

/// Most bytes of a listing: a million files with paths of 200 bytes.
const MAX_LISTING_BYTES: u64 = 256 << 20;
/// Most bytes of the line before a content: id, kind and size.
const MAX_HEADER_BYTES: u64 = 256;
/// What a file that Git LFS replaced begins with.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
/// How long such a file is at most, by its specification.
const MAX_POINTER_BYTES: u64 = 1_024;
/// The earliest and latest moment of a file, in seconds since the Unix epoch: from 1980 on as archives of other kinds know it, as far as tar's header goes.
const MOMENTS: std::ops::RangeInclusive<u64> = 315_619_200..=0x1_FFFF_FFFF;

#[derive(Debug)]
pub(crate) struct CommitSource<'r> {
    repository: &'r Repository,
    short: String,
    listing: Listing,
    /// When it was committed, in seconds: the time of all files.
    committed: u64,
}

impl Repository {
    pub(crate) fn source(&self, commit: &Commit) -> Result<CommitSource<'_>, GitRefusal> {
        let short = commit.short().to_owned();
        let read = |arguments: &[&str], most| {
            let answer = Answer::wait_for(git(&self.directory, arguments), most)?;
            match answer.is_success {
                true => Ok(answer),
                false => {
                    Err(GitRefusal::failed(&format!("list the files of commit {short}"), answer.words()))
                }
            }
        };
        let listed = read(&["ls-tree", "-r", "-l", "-z", "--full-tree", &commit.id], MAX_LISTING_BYTES)?;
        let listing = Listing::parse(&listed.output).map_err(|flaw| refused(flaw, &short))?;
        let told = read(&["rev-list", "--max-count=1", "--format=%ct", &commit.id], MAX_ANSWER_BYTES)?;
        let committed: u64 = told.text().lines().nth(1).and_then(|line| line.parse().ok()).unwrap_or(0);
        let committed = committed.clamp(*MOMENTS.start(), *MOMENTS.end());
        Ok(CommitSource { repository: self, short, listing, committed })
    }
}

impl CommitSource<'_> {
    /// Where the commit has other repositories: nothing is there.
    pub(crate) fn submodules(&self) -> &[String] {
        &self.listing.submodules
    }

    /// As a tar archive, in a file that has no name: it is gone with this process, however that ends.
    pub(crate) fn archive(&self) -> Result<File, GitRefusal> {
        let file = tempfile::tempfile().map_err(|error| self.disk(error))?;
        let mut builder = Builder::new(BufWriter::new(file));
        self.each(|entry, content| self.append(&mut builder, entry, content))?;
        let written = builder.into_inner().and_then(|writer| writer.into_inner().map_err(Into::into));
        let rewound = written.and_then(|mut file| file.rewind().map(|()| file));
        rewound.map_err(|error| self.disk(error))
    }

    fn append(
        &self,
        builder: &mut Builder<BufWriter<File>>,
        entry: &Entry,
        content: &mut dyn Read,
    ) -> io::Result<()> {
        let path = Path::new(OsStr::from_bytes(&entry.path));
        let mut header = Header::new_gnu();
        header.set_mtime(self.committed);
        header.set_mode(mode(entry.kind));
        match entry.kind {
            Kind::File { .. } => {
                header.set_size(entry.bytes);
                builder.append_data(&mut header, path, content)
            }
            Kind::Link => {
                let target = target(content)?;
                header.set_entry_type(EntryType::Symlink);
                header.set_size(0);
                builder.append_link(&mut header, path, Path::new(OsStr::from_bytes(&target)))
            }
        }
    }

    /// In a directory that is empty and that nobody else can write to.
    pub(crate) fn unpack(&self, into: &Path) -> Result<(), GitRefusal> {
        let committed = SystemTime::UNIX_EPOCH + Duration::from_secs(self.committed);
        self.each(|entry, content| {
            let path = into.join(OsStr::from_bytes(&entry.path));
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            match entry.kind {
                Kind::Link => symlink(OsStr::from_bytes(&target(content)?), path),
                Kind::File { .. } => {
                    let mut file =
                        OpenOptions::new().write(true).create_new(true).mode(mode(entry.kind)).open(path)?;
                    io::copy(content, &mut file)?;
                    file.set_modified(committed)
                }
            }
        })
    }

    /// Reads the content of each file, in their order.
    fn each(&self, mut take: impl FnMut(&Entry, &mut dyn Read) -> io::Result<()>) -> Result<(), GitRefusal> {
        let mut command = git(&self.repository.directory, &["cat-file", "--batch"]);
        let child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.map_err(GitRefusal::NoGit)?;
        let (asked, answered) = (child.stdin.take(), child.stdout.take());
        let entries = &self.listing.entries;
        let read = thread::scope(|scope| {
            scope.spawn(|| {
                if let Some(asked) = asked {
                    ask(entries, asked);
                }
            });
            // Gone at the end of this, so that git does not wait for a reader.
            let mut answered = answered.map(BufReader::new);
            let answered = answered.as_mut();
            answered
                .map_or(Ok(()), |from| entries.iter().try_for_each(|entry| self.one(entry, from, &mut take)))
        });
        let _ = child.kill();
        child.wait().map_err(GitRefusal::NoGit)?;
        read
    }

    fn one(
        &self,
        entry: &Entry,
        from: &mut impl BufRead,
        take: &mut impl FnMut(&Entry, &mut dyn Read) -> io::Result<()>,
    ) -> Result<(), GitRefusal> {
        let lacking = |words: &str| GitRefusal::Lacking {
            short: self.short.clone(),
            path: String::from_utf8_lossy(&entry.path).into_owned(),
            words: words.to_owned(),
        };
        let mut header = Vec::new();
        from.by_ref()
            .take(MAX_HEADER_BYTES)
            .read_until(b'\n', &mut header)
            .map_err(|error| self.disk(error))?;
        if !announces(&header, entry) {
            let header = String::from_utf8_lossy(&header);
            return Err(lacking(if header.trim().is_empty() { "git ended" } else { header.trim() }));
        }
        let mut content = from.by_ref().take(entry.bytes);
        if is_like_a_pointer(entry) {
            let mut small = Vec::new();
            content.read_to_end(&mut small).map_err(|error| self.disk(error))?;
            if small.starts_with(POINTER) {
                let path = String::from_utf8_lossy(&entry.path).into_owned();
                return Err(GitRefusal::Pointer { short: self.short.clone(), path });
            }
            if (small.len() as u64) < entry.bytes {
                return Err(lacking("it ends early"));
            }
            take(entry, &mut &small[..]).map_err(|error| self.disk(error))?;
        } else {
            take(entry, &mut content).map_err(|error| self.disk(error))?;
            if content.limit() > 0 {
                return Err(lacking("it ends early"));
            }
        }
        let mut end = [0];
        from.read_exact(&mut end).map_err(|_| lacking("it ends early"))
    }

    fn disk(&self, error: io::Error) -> GitRefusal {
        GitRefusal::Disk { short: self.short.clone(), error }
    }
}

/// Asks for the content of each file. Whoever reads the answers sees where that ends early.
fn ask(entries: &[Entry], asked: ChildStdin) {
    let mut asked = BufWriter::new(asked);
    let _ =
        entries.iter().try_for_each(|entry| writeln!(asked, "{}", entry.object)).and_then(|()| asked.flush());
}

/// Whether the line before a content says that it is that of a file.
fn announces(header: &[u8], entry: &Entry) -> bool {
    header == format!("{} blob {}\n", entry.object, entry.bytes).as_bytes()
}

/// Whether a file is as short as what Git LFS puts in the place of one.
fn is_like_a_pointer(entry: &Entry) -> bool {
    matches!(entry.kind, Kind::File { .. }) && entry.bytes <= MAX_POINTER_BYTES
}

/// Where a link leads; its length was checked.
fn target(content: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut target = Vec::new();
    content.read_to_end(&mut target)?;
    Ok(target)
}

/// The permissions of a file: those that Git gives one in a checkout.
const fn mode(kind: Kind) -> u32 {
    match kind {
        Kind::File { executable: false } => 0o644,
        Kind::File { executable: true } | Kind::Link => 0o755,
    }
}

fn refused(flaw: Flaw, short: &str) -> GitRefusal {
    let short = short.to_owned();
    match flaw {
        Flaw::Malformed => GitRefusal::failed(
            &format!("list the files of commit {short}"),
            "its answer is malformed".to_owned(),
        ),
        Flaw::TooMany => GitRefusal::TooManyFiles { short },
        Flaw::TooLarge(bytes) => GitRefusal::TooLarge { short, bytes },
        Flaw::Path(path, why) => GitRefusal::BadPath { short, path, why },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(bytes: u64) -> Entry {
        Entry { path: b"a".to_vec(), kind: Kind::File { executable: false }, object: "0a".repeat(20), bytes }
    }

    #[test]
    fn only_the_content_that_was_listed_is_announced() {
        let id = "0a".repeat(20);
        assert!(announces(format!("{id} blob 7\n").as_bytes(), &entry(7)));
        for other in [
            format!("{id} blob 8\n"),
            format!("{id} missing\n"),
            format!("{id} tree 7\n"),
            format!("{id} blob 7"),
            String::new(),
        ] {
            assert!(!announces(other.as_bytes(), &entry(7)), "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_git_answers_is_read_or_refused(bytes in 0_u64..2_000, answer in proptest::collection::vec(any::<u8>(), 0..2_000)) {
            let repository = Repository { directory: ".".into(), prefix: "".into(), is_shallow: false };
            let source = CommitSource { repository: &repository, short: "0a".to_owned(), listing: Listing::default(), committed: 0 };
            let entry = entry(bytes);
            let mut taken = Vec::new();
            let mut read = |from: &[u8]| {
                taken.clear();
                let mut take = |_: &Entry, content: &mut dyn Read| content.read_to_end(&mut taken).map(drop);
                source.one(&entry, &mut &from[..], &mut take).map(|()| taken.clone())
            };
            prop_assert!(read(&answer).is_err());
            let header = format!("{} blob {bytes}\n", entry.object).into_bytes();
            let whole = [&header[..], &answer].concat();
            match read(&whole) {
                Ok(content) => prop_assert_eq!(&content[..], &answer[..usize::try_from(bytes).unwrap()]),
                Err(_) => prop_assert!((answer.len() as u64) < bytes + 1),
            }
        }
    }
}
