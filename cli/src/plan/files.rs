//! The files and commits that a plan names: looked at when the plan is read, sent to the coordinator before it is submitted.

use std::{collections::BTreeMap, fs::File, io, io::Seek as _, path::Path, path::PathBuf, sync::Arc};

use anyhow::{Context as _, Error, anyhow};
use speedup_core::experiment::Experiment;
use speedup_core::experiment::commit::Commit;
use speedup_core::experiment::files::{Content, ContentHash, FileSource, contents};
use speedup_core::plan::file::{FoundCommit, PlanLook, Unusable, WantedAt, WantedCommit, WantedFile};
use speedup_proto::{convert::Blob, pieces::Pieces, v1};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::connection::Connection;
use crate::console::Console;
use crate::exit::failure::Failure;
use crate::plan::commits::{LocalCommit, without_submodules};
use crate::plan::repository::{GitRefusal, Repository};

/// Pieces of a file that may wait for the connection.
const WAITING_PIECES: usize = 4;
/// Smaller files are sent without a word.
const WORTH_A_WORD: u64 = 8 << 20;

/// Where the files lie whose content travels.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalFiles {
    directory: PathBuf,
    found: BTreeMap<Blob, Bytes>,
    /// What the user should know of them, each once.
    notes: Vec<String>,
}

/// Where the content of a file is.
#[derive(Clone, Debug)]
enum Bytes {
    At(PathBuf),
    /// In a file without a name.
    Held {
        file: Arc<File>,
        /// What it is, as people are told.
        what: String,
    },
}

impl LocalFiles {
    pub(crate) fn beside(plan: &Path) -> Self {
        let directory = plan.parent().unwrap_or(Path::new("")).to_owned();
        Self { directory, ..Self::default() }
    }

    /// Warns of what the user should know of them.
    pub(crate) fn warn(&self, console: &Console) {
        self.notes.iter().for_each(|note| console.warn(note));
    }

    /// Sends the coordinator what it does not have of an experiment's files.
    pub(crate) async fn send(
        &self,
        connection: &Connection,
        experiment: &Experiment,
        console: &Console,
    ) -> Result<(), Failure> {
        const TRIED: &str = "cannot ask the coordinator which files it has";
        let blobs: Vec<v1::Blob> =
            contents(&experiment.files).into_iter().map(|content| Blob::from(content).into()).collect();
        if blobs.is_empty() {
            return Ok(());
        }
        let answer = connection.files().missing(v1::MissingRequest { blobs }).await;
        let missing = answer.map_err(|status| Failure::status(TRIED, &status))?.into_inner().blobs;
        for blob in missing {
            let blob = Blob::try_from(blob).map_err(|error| Failure::malformed(TRIED, error))?;
            let Some(bytes) = self.found.get(&blob) else {
                let error = anyhow!("the coordinator asks for a file that the plan does not name");
                return Err(Failure::infrastructure(error));
            };
            if blob.bytes >= WORTH_A_WORD {
                console.talk(format_args!("sending {} ({} MiB)", bytes.what(), blob.bytes >> 20));
            }
            put(connection, blob, bytes).await?;
        }
        Ok(())
    }
}

impl LocalFiles {
    /// A directory that the plan names, else its own.
    pub(crate) fn relative(&self, directory: Option<String>) -> PathBuf {
        directory.map_or_else(|| self.directory.clone(), |below| self.directory.join(below))
    }

    /// Keeps the source of a commit, to be sent with the plan.
    pub(crate) fn keep_source(
        &mut self,
        repository: &Repository,
        commit: &Commit,
    ) -> Result<Content, GitRefusal> {
        let source = repository.source(commit)?;
        self.note(without_submodules(commit, source.submodules()));
        self.hold(commit, source.archive()?)
    }

    fn hold(&mut self, commit: &Commit, archive: File) -> Result<Content, GitRefusal> {
        let short = || commit.short().to_owned();
        let (blake3, bytes) = hashed(&archive).map_err(|error| GitRefusal::Disk { short: short(), error })?;
        let source = Content { blake3, bytes, executable: false };
        let what = format!("the source of {}", short());
        self.found.insert(source.into(), Bytes::Held { file: Arc::new(archive), what });
        Ok(source)
    }

    fn note(&mut self, notes: impl IntoIterator<Item = String>) {
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}

impl PlanLook for LocalFiles {
    fn file(&mut self, wanted: &WantedFile) -> Result<FileSource, Unusable> {
        match &wanted.at {
            WantedAt::Here { path, executable } => {
                let path = self.directory.join(path);
                let (blake3, bytes) = look(&path).map_err(|error| Unusable {
                    cause: format!("cannot read the file {}: {error:#}", path.display()),
                    hint: "its path is relative to the plan file".to_owned(),
                })?;
                let content = Content { blake3, bytes, executable: *executable };
                self.found.insert(content.into(), Bytes::At(path));
                Ok(FileSource::Content(content))
            }
            WantedAt::Shared { path } => {
                let (blake3, bytes) = look(Path::new(path)).map_err(|error| Unusable {
                    cause: format!("cannot read the shared file {path}: {error:#}"),
                    hint: "where this machine does not have it, say its hash: blake3 = \"…\", as `b3sum` prints it on a \
                           host"
                        .to_owned(),
                })?;
                Ok(FileSource::Shared { path: path.clone(), blake3, bytes: Some(bytes) })
            }
        }
    }

    fn commit(&mut self, wanted: &WantedCommit) -> Result<FoundCommit, Unusable> {
        let unusable = |refusal: &GitRefusal| Unusable { cause: refusal.to_string(), hint: refusal.hint() };
        let found = LocalCommit::find(&self.directory, wanted).map_err(|refusal| unusable(&refusal))?;
        let LocalCommit { commit, archive, notes } = found;
        let source = self.hold(&commit, archive).map_err(|refusal| unusable(&refusal))?;
        self.note(notes);
        Ok(FoundCommit { commit, source })
    }
}

impl Bytes {
    fn what(&self) -> String {
        match self {
            Self::At(path) => path.display().to_string(),
            Self::Held { what, .. } => what.clone(),
        }
    }

    /// The content from its beginning.
    fn open(&self) -> io::Result<File> {
        match self {
            Self::At(path) => File::open(path),
            Self::Held { file, .. } => {
                let mut file = file.try_clone()?;
                file.rewind()?;
                Ok(file)
            }
        }
    }
}

async fn put(connection: &Connection, blob: Blob, bytes: &Bytes) -> Result<(), Failure> {
    let tried = format!("cannot send {}", bytes.what());
    let unread = |error: io::Error| Failure::usage(Error::new(error).context(tried.clone()));
    let file = bytes.open().map_err(unread)?;
    let (sender, pieces) = mpsc::channel(WAITING_PIECES);
    let reading = tokio::task::spawn_blocking(move || read_pieces(file, blob, &sender));
    let sent = connection.files().put(ReceiverStream::new(pieces)).await;
    let read = reading.await.context("cannot read a file").map_err(Failure::infrastructure)?;
    match (sent, read) {
        (Ok(_), _) => Ok(()),
        // What could not be read is why the rest is missing there.
        (Err(_), Err(error)) => Err(unread(error)),
        (Err(status), Ok(())) => {
            let failure = Failure::status(&tried, &status);
            Err(match status.code() {
                tonic::Code::InvalidArgument => failure
                    .hint("it changed while it was read: submit the plan again when nothing writes to it"),
                _ => failure,
            })
        }
    }
}

/// Reads a file as it was looked at; ends early when nobody takes the pieces any more.
fn read_pieces(file: File, blob: Blob, to: &mpsc::Sender<v1::PutRequest>) -> io::Result<()> {
    for message in Pieces::of(blob, file) {
        if to.blocking_send(message?).is_err() {
            break;
        }
    }
    Ok(())
}

/// The hash and the length of a regular file.
fn look(path: &Path) -> Result<(ContentHash, u64), Error> {
    // Not opened unless it is a file: a pipe would keep us waiting.
    if !path.metadata()?.is_file() {
        return Err(anyhow!("it is not a regular file"));
    }
    Ok(hashed(&File::open(path)?)?)
}

/// The hash and the length of what a file holds.
fn hashed(file: &File) -> io::Result<(ContentHash, u64)> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file)?;
    Ok((ContentHash(hasher.finalize().into()), hasher.count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here(path: &str) -> WantedFile {
        WantedFile { name: "f".to_owned(), at: WantedAt::Here { path: path.to_owned(), executable: true } }
    }

    #[test]
    fn a_file_is_found_beside_its_plan() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("data")).unwrap();
        std::fs::write(directory.path().join("data/words"), "words").unwrap();
        let mut files = LocalFiles::beside(&directory.path().join("plan.toml"));
        let blake3 = ContentHash(blake3::hash(b"words").into());
        let content = Content { blake3, bytes: 5, executable: true };
        assert_eq!(files.file(&here("data/words")), Ok(FileSource::Content(content)));
        assert_eq!(
            files.found[&content.into()].what(),
            directory.path().join("data/words").display().to_string()
        );
        for (path, told) in [("words", "No such file"), ("data", "not a regular file")] {
            let unusable = files.file(&here(path)).unwrap_err();
            assert!(unusable.cause.contains(told) && unusable.hint.contains("relative"), "{unusable:?}");
        }
    }

    #[test]
    fn a_shared_file_that_this_machine_lacks_wants_its_hash() {
        let at = WantedAt::Shared { path: "/nowhere/words".to_owned() };
        let unusable = LocalFiles::default().file(&WantedFile { name: "f".to_owned(), at }).unwrap_err();
        assert!(unusable.hint.contains("blake3 ="), "{unusable:?}");
    }
}
