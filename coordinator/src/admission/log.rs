//! The journal of admissions as people read it: the newest first, in pages.

use std::path::{Path, PathBuf};

use prost::Message as _;
use speedup_journal::{Position, Reader, ReplayError};
use speedup_proto::{convert::timestamp_of_seconds, journal::v1 as wire, v1::EventKind, v1::LoggedEvent};
use thiserror::Error;

use super::event::{AccessEvent, Change, MalformedEvent, Uses};

/// Why the log of admissions cannot be read.
#[derive(Debug, Error)]
pub(crate) enum LogError {
    #[error("the journal of admissions cannot be read")]
    Read(#[from] ReplayError),
    #[error("record {0} of the journal of admissions cannot be decoded")]
    Decode(Position, #[source] prost::DecodeError),
    #[error("record {0} of the journal of admissions is not valid")]
    Event(Position, #[source] MalformedEvent),
}

#[derive(Clone, Debug)]
pub(crate) struct AdmissionLog {
    path: PathBuf,
}

#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) events: Vec<LoggedEvent>,
    /// Before which record there are more.
    pub(crate) before: Option<Position>,
}

impl AdmissionLog {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Up to `limit` records before a position. It reads no further back than that.
    pub(crate) fn read(&self, before: Option<Position>, limit: usize) -> Result<Page, LogError> {
        let reader = Reader::open(&self.path)?;
        let end = before.map_or(reader.durable_end(), |before| before.min(reader.durable_end()));
        let from = Position(end.0.saturating_sub(limit as u64)).max(reader.first());
        let mut events = Vec::new();
        if from < end {
            let mut records = reader.replay(from)?;
            while let Some(record) = records.next_record()?
                && record.position < end
            {
                let read = wire::AccessEvent::decode(record.payload);
                let read = read.map_err(|error| LogError::Decode(record.position, error))?;
                let event =
                    AccessEvent::try_from(read).map_err(|error| LogError::Event(record.position, error))?;
                events.push(logged(&event));
            }
        }
        events.reverse();
        Ok(Page { events, before: (from > reader.first()).then_some(from) })
    }
}

fn logged(event: &AccessEvent) -> LoggedEvent {
    // The kind is for programs, the words are for people.
    let (kind, words) = match &event.change {
        Change::TokenCreated { token, role, name, uses, .. } => {
            let whom = name.as_deref().map_or_else(String::new, |name| format!(" {name}"));
            let uses = match uses {
                Uses::Times(1) => "once".to_owned(),
                Uses::Times(times) => format!("{times} times"),
                Uses::Unlimited => "again and again".to_owned(),
            };
            (EventKind::TokenCreated, format!("{token} for {role}{whom}, {uses}"))
        }
        Change::TokenRevoked { token } => (EventKind::TokenRevoked, token.to_string()),
        Change::CertificateIssued { serial, identity, token, .. } => {
            let how = token.map_or_else(String::new, |token| format!(", with token {token}"));
            (EventKind::CertificateIssued, format!("{serial} of {identity}{how}"))
        }
        Change::CertificateRevoked { serial } => (EventKind::CertificateRevoked, serial.to_string()),
    };
    LoggedEvent {
        at: Some(timestamp_of_seconds(event.at)),
        kind: kind.into(),
        by: event.by.clone(),
        words,
        ..LoggedEvent::default()
    }
}
