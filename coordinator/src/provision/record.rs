//! What is kept over a restart: which engine is asked, within which limits, and the ledger. One small file, put in place
//! whole; that jobs exist at all is known from the engine, by their name.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use speedup_core::machine::provision::{Ledger, ProvisionLimits};
use speedup_core::value::bounded::read_text_at_most;
use speedup_core::value::time::Span;
use speedup_journal::durable::sync_directory;
use speedup_journal::private::replace;
use thiserror::Error;

/// Its name in the data directory.
pub(crate) const NAME: &str = "provision.json";
/// The form that this release reads and writes.
const VERSION: u32 = 1;
/// Most bytes of it: a thousand jobs that each exclude thousands of nodes have less.
const MAX_BYTES: u64 = 256 << 20;

/// Which engine is asked, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Spec {
    /// Slurm, with these options of `sbatch`.
    Slurm {
        /// As the user gave them.
        options: Vec<String>,
    },
    /// Processes of this machine.
    Local,
}

impl Spec {
    /// The kinds of engines there are.
    pub(crate) const KINDS: [&str; 2] = ["slurm", "local"];

    /// Which kind of engine it is: one of [`Self::KINDS`].
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Slurm { .. } => "slurm",
            Self::Local => "local",
        }
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slurm { options } if options.is_empty() => f.write_str("slurm"),
            Self::Slurm { options } => write!(f, "slurm {}", options.join(" ")),
            Self::Local => f.write_str("local"),
        }
    }
}

/// What is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    version: u32,
    /// What marks its jobs as its own.
    pub(crate) name: String,
    /// Which engine is asked.
    pub(crate) spec: Spec,
    /// What the user allows.
    pub(crate) limits: ProvisionLimits,
    /// How often the engine is asked what its jobs do.
    pub(crate) look_every: Duration,
    /// Who asked for it.
    pub(crate) by: String,
    /// How long its jobs last at most, where they have a limit and it is known; nothing in files of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) longest_job: Option<Span>,
    /// What is remembered of the jobs.
    pub(crate) ledger: Ledger,
}

/// Why the record cannot be read or kept.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The disk refused.
    #[error("cannot {what} {}", path.display())]
    Disk {
        /// What was tried.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// It is not what this release writes.
    #[error("{} is not a record of provisioning that this release understands", path.display())]
    Form {
        /// Which file.
        path: PathBuf,
        /// Why not.
        source: serde_json::Error,
    },
    /// A later release wrote it.
    #[error("{} is of version {found}, and this release knows version {VERSION}", path.display())]
    Version {
        /// Which file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
}

impl Record {
    /// A new one.
    pub(crate) fn new(
        name: String,
        spec: Spec,
        limits: ProvisionLimits,
        look_every: Duration,
        by: String,
    ) -> Self {
        let ledger = Ledger::default();
        Self { version: VERSION, name, spec, limits, look_every, by, longest_job: None, ledger }
    }

    /// The record of a data directory, if there is one.
    pub(crate) fn read(data: &Path) -> Result<Option<Self>, RecordError> {
        let path = data.join(NAME);
        let disk = |source| RecordError::Disk { what: "read", path: path.clone(), source };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(disk(error)),
        };
        let text = read_text_at_most(file, MAX_BYTES).map_err(disk)?;
        let form = |source| RecordError::Form { path: path.clone(), source };
        // The version is looked at first: the rest may be anything.
        let Head { version } = serde_json::from_str(&text).map_err(form)?;
        if version != VERSION {
            return Err(RecordError::Version { path, found: version });
        }
        serde_json::from_str(&text).map(Some).map_err(form)
    }

    /// Puts it in place, durably.
    pub(crate) fn write(&self, data: &Path) -> Result<(), RecordError> {
        let path = data.join(NAME);
        let text =
            serde_json::to_string(self).map_err(|source| RecordError::Form { path: path.clone(), source })?;
        replace(&path, text.as_bytes()).map_err(|source| RecordError::Disk { what: "write", path, source })
    }

    /// Forgets the record of a data directory.
    pub(crate) fn remove(data: &Path) -> Result<(), RecordError> {
        let path = data.join(NAME);
        match fs::remove_file(&path).and_then(|()| sync_directory(data)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(RecordError::Disk { what: "remove", path, source: error })
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

#[derive(Deserialize)]
struct Head {
    version: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let limits = ProvisionLimits { jobs: 3, queued: 2, node_time: None };
        let spec = Spec::Slurm { options: vec!["-p".to_owned(), "main".to_owned()] };
        let mut record =
            Record::new("speedup-1".to_owned(), spec, limits, Duration::from_secs(5), "a".to_owned());
        record.ledger.asked("7".parse().unwrap(), ["n1".parse().unwrap()].into());
        record
    }

    #[test]
    fn what_is_written_is_read_and_removed() {
        let data = tempfile::tempdir().unwrap();
        assert_eq!(Record::read(data.path()).unwrap(), None);
        record().write(data.path()).unwrap();
        assert_eq!(Record::read(data.path()).unwrap(), Some(record()));
        Record::remove(data.path()).unwrap();
        Record::remove(data.path()).unwrap();
        assert_eq!(Record::read(data.path()).unwrap(), None);
    }

    #[test]
    fn version_1_is_read_for_ever() {
        let data = tempfile::tempdir().unwrap();
        let golden = concat!(
            r#"{"version":1,"name":"speedup-1","spec":{"slurm":{"options":["-p","main"]}},"#,
            r#""limits":{"jobs":3,"queued":2,"node_time":null},"look_every":{"secs":5,"nanos":0},"by":"a","#,
            r#""ledger":{"node_time":0,"failures_in_a_row":0,"futile_in_a_row":0,"stopped":null,"#,
            r#""cannot_reboot":null,"jobs":{"7":{"excluded":["n1"],"started":null,"ends":null,"joined":false,"#,
            r#""has_served":false,"silent_since":null,"idle_since":null,"cancelled":null}},"rebooting":{}}}"#
        );
        fs::write(data.path().join(NAME), golden).unwrap();
        assert_eq!(Record::read(data.path()).unwrap(), Some(record()));
    }

    #[test]
    fn what_is_not_understood_is_refused_and_stays() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join(NAME);
        fs::write(&path, r#"{"version":2,"more":[]}"#).unwrap();
        assert!(matches!(Record::read(data.path()), Err(RecordError::Version { found: 2, .. })));
        fs::write(&path, "{").unwrap();
        assert!(matches!(Record::read(data.path()), Err(RecordError::Form { .. })));
        assert!(path.exists());
    }

    #[test]
    fn one_byte_more_than_may_be_is_refused_as_such() {
        let data = tempfile::tempdir().unwrap();
        let file = File::create(data.path().join(NAME)).unwrap();
        // It is a hole, of which no disk keeps anything.
        file.set_len(MAX_BYTES + 1).unwrap();
        let refused = Record::read(data.path()).unwrap_err();
        let RecordError::Disk { source, .. } = refused else { panic!("{refused}") };
        assert_eq!(source.kind(), ErrorKind::FileTooLarge);
    }
}
