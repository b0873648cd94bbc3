//! Recovery: the journal is replayed into a new machine, by the same `evolve` that ran when it was written, and into
//! the store, from where the store is.

use std::path::{Path, PathBuf};

use speedup_core::machine::{Machine, Settings};
use speedup_journal::{Journal, JournalId, OpenCheck, OpenError, Options, Position, ReadError};
use speedup_proto::journal_payload;
use speedup_proto::payload::PayloadError;
use thiserror::Error;

use crate::store::{Opened, Store, StoreError, Writes};

/// Writes gathered before they are applied to the store.
const GATHERED: usize = 1_024;

/// Why a data directory cannot be recovered.
#[derive(Debug, Error)]
pub enum RecoveryError {
    /// The directory cannot be made.
    #[error("cannot make the data directory {}", path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The journal cannot be opened.
    #[error("cannot open the journal")]
    Open(#[source] OpenError),
    /// The journal cannot be read.
    #[error("cannot read the journal")]
    Read(#[source] ReadError),
    /// A record cannot be understood.
    #[error("cannot understand record {position} of the journal in {}", path.display())]
    Record {
        /// Whose.
        path: PathBuf,
        /// Which.
        position: Position,
        /// Why not.
        source: PayloadError,
    },
    /// The store cannot be written.
    #[error("cannot bring the store up to date")]
    Store(#[from] StoreError),
}

impl RecoveryError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Open(error) => error.hint(),
            Self::Read(error) => error.hint(),
            Self::Record { source, .. } => source.hint(),
            Self::Directory { .. } => Some("choose another with --data"),
            Self::Store(_) => Some("the journal has everything; the store's directory may be deleted"),
        }
    }
}

/// What recovery gives.
pub(crate) struct Recovered {
    pub(crate) journal: Journal,
    pub(crate) machine: Machine,
    pub(crate) store: Store,
}

/// Recovers a data directory, or begins a new one.
pub(crate) fn recover(
    data: &Path,
    id_if_new: JournalId,
    settings: Settings,
) -> Result<Recovered, RecoveryError> {
    let directory = data.join("journal");
    let made = std::fs::create_dir_all(&directory);
    made.map_err(|source| RecoveryError::Directory { path: directory.clone(), source })?;
    let options = Options { check: OpenCheck::LastSegment, ..Options::new(id_if_new) };
    let (journal, recovery) = Journal::open(&directory, &options).map_err(RecoveryError::Open)?;
    if let Some(cut) = &recovery.cut {
        tracing::warn!(file = %cut.file.display(), at_byte = cut.at_byte, bytes = cut.bytes,
            "cut off the torn tail of the journal; nothing of it had been acknowledged");
    }
    let Opened { store, mut applied, rebuilt } = Store::open(&data.join("store"), journal.id())?;
    if let Some(reason) = rebuilt {
        tracing::warn!("the store is built anew from the journal: {reason}");
    }
    if applied > journal.next() {
        tracing::warn!("the store is ahead of the journal and is built anew");
        store.mark_for_rebuilding();
        let path = data.join("store");
        drop(store);
        let Opened { store, .. } = Store::open(&path, journal.id())?;
        let machine = replay(&journal, &directory, settings, &store, Position::START)?;
        return Ok(Recovered { journal, machine, store });
    }
    if applied < journal.first() {
        applied = Position::START;
    }
    let machine = replay(&journal, &directory, settings, &store, applied)?;
    Ok(Recovered { journal, machine, store })
}

fn replay(
    journal: &Journal,
    path: &Path,
    settings: Settings,
    store: &Store,
    applied: Position,
) -> Result<Machine, RecoveryError> {
    let mut machine = Machine::new(settings);
    let mut writes = Writes::default();
    let mut end = applied;
    let mut records = journal.replay(journal.first()).map_err(RecoveryError::Read)?;
    while let Some(record) = records.next_record().map_err(RecoveryError::Read)? {
        let event = journal_payload::decode(record.version.0, record.payload).map_err(|source| {
            RecoveryError::Record { path: path.to_owned(), position: record.position, source }
        })?;
        if record.position >= applied {
            end = record.position.next();
            machine.ended_by(&event).iter().for_each(|ended| writes.ended(ended));
            writes.event(&event);
        }
        machine.replay(&event);
        if writes.len() >= GATHERED {
            store.apply(std::mem::take(&mut writes), end)?;
        }
    }
    store.apply(writes, end)?;
    Ok(machine)
}
