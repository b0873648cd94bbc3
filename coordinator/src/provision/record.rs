//! Stores the queues over a restart: which engines are asked, within which limits, and their ledgers. One small file,
//! replaced as a whole; that jobs exist at all is known from the engines, by their names.

use std::{collections::BTreeMap, fs, io, io::ErrorKind, path::Path, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use speedup_core::machine::provision::{Ledger, ProvisionLimits};
use speedup_core::value::bounded::read_text_at_most;
use speedup_core::value::id::QueueName;
use speedup_core::value::time::Span;
use speedup_journal::{durable::sync_directory, private::replace};
use thiserror::Error;
use tokio::sync::Mutex;

use super::{command::blocking, spec::Spec};

pub(crate) const NAME: &str = "provision.json";
/// The form that this release writes.
const VERSION: u32 = 2;
/// Most bytes of it: a thousand jobs that each exclude thousands of nodes have less.
const MAX_BYTES: u64 = 256 << 20;

/// What a user says of a queue, but for its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QueueConfig {
    pub(crate) spec: Spec,
    pub(crate) limits: ProvisionLimits,
    /// How often the engine is asked what its jobs do.
    pub(crate) look_every: Duration,
    pub(crate) by: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Queue {
    pub(crate) name: QueueName,
    /// What marks its jobs as its own.
    pub(crate) job_name: String,
    #[serde(flatten)]
    pub(crate) config: QueueConfig,
    /// How long its jobs last at most, where they have a limit and it is known; nothing in files of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) longest_job: Option<Span>,
    /// What is remembered of the jobs.
    pub(crate) ledger: Ledger,
}

/// What is kept of all queues. Whoever changes one puts the file in place.
#[derive(Debug)]
pub(crate) struct Record {
    data: PathBuf,
    queues: Mutex<BTreeMap<QueueName, Queue>>,
}

#[derive(Serialize, Deserialize)]
struct File {
    version: u32,
    queues: Vec<Queue>,
}

/// The file of release 0.1.0, which knew one queue without a name.
#[derive(Deserialize)]
struct File1 {
    name: String,
    #[serde(flatten)]
    config: QueueConfig,
    ledger: Ledger,
}

/// Why the record cannot be read or kept.
#[derive(Debug, Error)]
pub enum RecordError {
    #[error("cannot {what} {}", path.display())]
    Disk { what: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is not a record of provisioning that this release understands", path.display())]
    Form { path: PathBuf, source: serde_json::Error },
    #[error("{} is of version {found}, and this release knows versions up to {known}", path.display())]
    Version {
        path: PathBuf,
        found: u32,
        /// The latest that this release knows.
        known: u32,
    },
}

impl Record {
    /// The record of a data directory; of no queue, if there is none.
    pub(crate) fn read(data: &Path) -> Result<Self, RecordError> {
        let queues = read(&data.join(NAME))?.into_iter().map(|queue| (queue.name.clone(), queue)).collect();
        Ok(Self { data: data.to_owned(), queues: Mutex::new(queues) })
    }

    pub(crate) async fn queues(&self) -> Vec<Queue> {
        self.queues.lock().await.values().cloned().collect()
    }

    /// Keeps a queue as it is now, durably.
    pub(crate) async fn put(&self, queue: Queue) -> Result<(), RecordError> {
        let mut queues = self.queues.lock().await;
        queues.insert(queue.name.clone(), queue);
        self.write(&queues).await
    }

    pub(crate) async fn forget(&self, queue: &QueueName) -> Result<(), RecordError> {
        let mut queues = self.queues.lock().await;
        queues.remove(queue);
        self.write(&queues).await
    }

    async fn write(&self, queues: &BTreeMap<QueueName, Queue>) -> Result<(), RecordError> {
        let path = self.data.join(NAME);
        let file = File { version: VERSION, queues: queues.values().cloned().collect() };
        blocking(move || if file.queues.is_empty() { remove(path) } else { write(path, &file) }).await
    }
}

fn read(path: &Path) -> Result<Vec<Queue>, RecordError> {
    let Some(file) = VersionedText::read(path, MAX_BYTES)? else { return Ok(Vec::new()) };
    match file.version {
        1 => Ok(vec![file.parse::<File1>()?.into()]),
        VERSION => Ok(file.parse::<File>()?.queues),
        _ => Err(file.unknown_version(VERSION)),
    }
}

/// A file of JSON that begins with a version. The version is read first: the rest may be anything.
pub(super) struct VersionedText<'a> {
    path: &'a Path,
    pub(super) version: u32,
    text: String,
}

#[derive(Deserialize)]
struct Head {
    version: u32,
}

impl<'a> VersionedText<'a> {
    /// Reads a file of at most `most` bytes, if there is one.
    pub(super) fn read(path: &'a Path, most: u64) -> Result<Option<Self>, RecordError> {
        let text = match fs::File::open(path).and_then(|file| read_text_at_most(file, most)) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(RecordError::Disk { what: "read", path: path.to_owned(), source }),
        };
        let mut file = Self { path, version: 0, text };
        file.version = file.parse::<Head>()?.version;
        Ok(Some(file))
    }

    pub(super) fn parse<T: DeserializeOwned>(&self) -> Result<T, RecordError> {
        let form = |source| RecordError::Form { path: self.path.to_owned(), source };
        serde_json::from_str(&self.text).map_err(form)
    }

    /// The error of a release that knows versions up to `known`.
    pub(super) fn unknown_version(&self, known: u32) -> RecordError {
        RecordError::Version { path: self.path.to_owned(), found: self.version, known }
    }
}

/// Replaces a file by a value as JSON, durably.
pub(super) fn write(path: PathBuf, value: &impl Serialize) -> Result<(), RecordError> {
    let text =
        serde_json::to_string(value).map_err(|source| RecordError::Form { path: path.clone(), source })?;
    replace(&path, text.as_bytes()).map_err(|source| RecordError::Disk { what: "write", path, source })
}

impl From<File1> for Queue {
    fn from(File1 { name: job_name, config, ledger }: File1) -> Self {
        let name = config.spec.usual_name().unwrap_or_else(|| "1".parse().expect("a number is a name"));
        Self { name, job_name, config, longest_job: None, ledger }
    }
}

fn remove(path: PathBuf) -> Result<(), RecordError> {
    let directory = path.parent().unwrap_or(Path::new("."));
    match fs::remove_file(&path).and_then(|()| sync_directory(directory)) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(RecordError::Disk { what: "remove", path, source: error })
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use speedup_core::machine::provision::QUEUE_PATIENCE;

    use super::*;
    use crate::provision::script::Surroundings;

    /// What release 0.1.0 wrote.
    const GOLDEN_1: &str = include_str!("record/golden/version-1.json");
    /// What this release writes.
    const GOLDEN_2: &str = include_str!("record/golden/version-2.json");

    fn queue(name: &str) -> Queue {
        let options = vec!["-p".to_owned(), "main".to_owned()];
        let config = QueueConfig {
            spec: Spec::Slurm { options, around: Surroundings::default() },
            limits: ProvisionLimits { jobs: 3, queued: 2, node_time: None, patience: QUEUE_PATIENCE },
            look_every: Duration::from_secs(5),
            by: "a".to_owned(),
        };
        let mut ledger = Ledger::default();
        ledger.asked("7".parse().unwrap(), ["n1".parse().unwrap()].into());
        let job_name = "speedup-1".to_owned();
        Queue { name: name.parse().unwrap(), job_name, config, longest_job: None, ledger }
    }

    async fn kept(data: &Path) -> Vec<Queue> {
        Record::read(data).unwrap().queues().await
    }

    #[tokio::test]
    async fn what_is_written_is_read_and_forgotten() {
        let data = tempfile::tempdir().unwrap();
        let record = Record::read(data.path()).unwrap();
        assert_eq!(record.queues().await, []);
        record.put(queue("long")).await.unwrap();
        record.put(queue("main")).await.unwrap();
        assert_eq!(kept(data.path()).await, [queue("long"), queue("main")]);
        record.forget(&queue("long").name).await.unwrap();
        record.forget(&queue("long").name).await.unwrap();
        assert_eq!(kept(data.path()).await, [queue("main")]);
        record.forget(&queue("main").name).await.unwrap();
        assert!(!data.path().join(NAME).exists());
    }

    #[tokio::test]
    async fn every_version_is_read_for_ever() {
        let data = tempfile::tempdir().unwrap();
        fs::write(data.path().join(NAME), GOLDEN_1).unwrap();
        assert_eq!(kept(data.path()).await, [queue("main")], "named by its partition");
        fs::write(data.path().join(NAME), GOLDEN_2).unwrap();
        assert_eq!(kept(data.path()).await, [queue("long"), queue("main")]);
        Record::read(data.path()).unwrap().put(queue("main")).await.unwrap();
        let written = fs::read_to_string(data.path().join(NAME)).unwrap();
        assert_eq!(written, GOLDEN_2.trim_end(), "as it is written");
    }

    #[test]
    fn what_is_not_understood_is_refused_and_stays() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join(NAME);
        fs::write(&path, r#"{"version":3,"more":[]}"#).unwrap();
        assert!(matches!(Record::read(data.path()), Err(RecordError::Version { found: 3, .. })));
        fs::write(&path, "{").unwrap();
        assert!(matches!(Record::read(data.path()), Err(RecordError::Form { .. })));
        assert!(path.exists());
    }

    #[test]
    fn one_byte_more_than_may_be_is_refused_as_such() {
        let data = tempfile::tempdir().unwrap();
        let file = fs::File::create(data.path().join(NAME)).unwrap();
        // It is a hole, of which no disk keeps anything.
        file.set_len(MAX_BYTES + 1).unwrap();
        let refused = Record::read(data.path()).unwrap_err();
        let RecordError::Disk { source, .. } = refused else { panic!("{refused}") };
        assert_eq!(source.kind(), ErrorKind::FileTooLarge);
    }
}
