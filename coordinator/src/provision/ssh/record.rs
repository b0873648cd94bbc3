//! What is kept over a restart: the hosts, and how each is reached. One small file, put in place whole.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};
use speedup_core::value::id::HostId;

use super::destination::Destination;
use crate::provision::record::{RecordError, VersionedText, write};

pub(crate) const NAME: &str = "ssh.json";
/// The form that this release reads and writes.
const VERSION: u32 = 1;
/// Most bytes of it: the most hosts, each with the most options, would have more; what people write has less.
const MAX_BYTES: u64 = 64 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SshHost {
    pub(crate) destination: Destination,
    pub(crate) options: Vec<String>,
    /// Where everything lies there, relative to the home directory or absolute.
    pub(crate) directory: String,
    /// Whether a port of its loopback is to lead to the coordinator, where it has no other way.
    pub(crate) tunnel: bool,
    pub(crate) reboot_command: Option<String>,
    pub(crate) by: String,
}

impl SshHost {
    /// As the event log says it.
    pub(super) fn in_words(&self) -> String {
        let Self { destination, options, directory: _, tunnel, reboot_command, by: _ } = self;
        let mut words = [&[destination.to_string()], &options[..]].concat().join(" ");
        if *tunnel {
            words += ", through a tunnel";
        }
        if let Some(command) = reboot_command {
            words += &format!(", rebooted by {command}");
        }
        words
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    version: u32,
    /// By what this coordinator's directories are told from those of others on the same hosts.
    pub(super) name: String,
    pub(super) hosts: BTreeMap<HostId, SshHost>,
}

impl Record {
    /// One without hosts.
    pub(super) fn new(name: String) -> Self {
        Self { version: VERSION, name, hosts: BTreeMap::new() }
    }

    /// Reads the record of a data directory, if there is one.
    pub(super) fn read(data: &Path) -> Result<Option<Self>, RecordError> {
        let path = data.join(NAME);
        match VersionedText::read(&path, MAX_BYTES)? {
            None => Ok(None),
            Some(file) if file.version == VERSION => file.parse().map(Some),
            Some(file) => Err(file.unknown_version(VERSION)),
        }
    }

    /// Stores it, durably.
    pub(super) fn write(&self, data: &Path) -> Result<(), RecordError> {
        write(data.join(NAME), self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let host = SshHost {
            destination: "alice@node1".parse().unwrap(),
            options: vec!["-p".to_owned(), "2222".to_owned()],
            directory: ".local/state/speedup/ssh".to_owned(),
            tunnel: true,
            reboot_command: None,
            by: "a".to_owned(),
        };
        let mut record = Record::new("speedup-1".to_owned());
        record.hosts.insert(host.destination.host().clone(), host);
        record
    }

    #[test]
    fn version_1_is_read_for_ever() {
        let data = tempfile::tempdir().unwrap();
        assert_eq!(Record::read(data.path()).unwrap(), None);
        let golden = concat!(
            r#"{"version":1,"name":"speedup-1","hosts":{"node1":{"destination":"alice@node1","options":["-p","2222"],"#,
            r#""directory":".local/state/speedup/ssh","tunnel":true,"reboot_command":null,"by":"a"}}}"#
        );
        std::fs::write(data.path().join(NAME), golden).unwrap();
        assert_eq!(Record::read(data.path()).unwrap(), Some(record()));
        record().write(data.path()).unwrap();
        assert_eq!(std::fs::read_to_string(data.path().join(NAME)).unwrap(), golden);
    }

    #[test]
    fn what_is_not_understood_is_refused_and_stays() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join(NAME);
        std::fs::write(&path, r#"{"version":2,"more":[]}"#).unwrap();
        assert!(matches!(Record::read(data.path()), Err(RecordError::Version { found: 2, .. })));
        let host = r#"{"version":1,"name":"s","hosts":{"a":{"destination":"-oProxyCommand=x"}}}"#;
        std::fs::write(&path, host).unwrap();
        assert!(matches!(Record::read(data.path()), Err(RecordError::Form { .. })));
        assert!(path.exists());
    }
}
