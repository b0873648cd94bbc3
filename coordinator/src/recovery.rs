//! Recovery: the journal is replayed into a new machine, by the same `evolve` that ran when it was written, and into
//! the store, from where the store is. Where a checkpoint can be believed and the store holds all before it, the replay
//! begins there.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use speedup_core::causes::with_causes;
use speedup_core::machine::{Machine, Settings};
use speedup_journal::{Journal, JournalId, OpenCheck, OpenError, Options, Position, ReadError};
use speedup_proto::journal_payload;
use speedup_proto::payload::PayloadError;
use thiserror::Error;

use crate::backup::RESTORING;
use crate::checkpoint;
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
    /// A restore of a backup has not ended.
    #[error("{} holds what a restore has not put in place", .0.display())]
    Restoring(PathBuf),
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
    /// What the journal made of its records knows of more than it has: they had been acknowledged.
    #[error("the journal in {} ends at position {next}, but {witness} has seen it up to position {seen}: what \
             was acknowledged is missing", path.display())]
    Short {
        /// Whose.
        path: PathBuf,
        /// The position after its last record.
        next: Position,
        /// Who has seen more.
        witness: &'static str,
        /// Up to where.
        seen: Position,
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
            Self::Restoring(_) => Some("empty the data directory and restore the backup again"),
            Self::Directory { .. } => Some("choose another with --data"),
            Self::Short { .. } => Some(
                "nothing was changed: restore the journal's last segments from a backup, or remove the directory `store` \
                 and the file `journal/checkpoint` to go on without the missing records; and check the disk",
            ),
            Self::Store(_) => Some("the journal has everything; the store's directory may be deleted"),
        }
    }
}

/// What recovery gives.
pub(crate) struct Recovered {
    pub(crate) journal: Journal,
    pub(crate) machine: Machine,
    pub(crate) store: Store,
    /// The records before this one were not read.
    pub(crate) unread: Position,
}

/// Recovers a data directory, or begins a new one.
pub(crate) fn recover(
    data: &Path,
    id_if_new: JournalId,
    settings: Settings,
) -> Result<Recovered, RecoveryError> {
    let (directory, restoring) = (data.join("journal"), data.join(RESTORING));
    if restoring.exists() {
        return Err(RecoveryError::Restoring(restoring));
    }
    let made = make_private(data).and_then(|()| fs::create_dir_all(&directory));
    made.map_err(|source| RecoveryError::Directory { path: directory.clone(), source })?;
    let options = Options { check: OpenCheck::LastSegment, ..Options::new(id_if_new) };
    let (journal, recovery) = Journal::open(&directory, &options).map_err(RecoveryError::Open)?;
    if let Some(cut) = &recovery.cut {
        tracing::warn!(file = %cut.file.display(), at_byte = cut.at_byte, bytes = cut.bytes,
            "cut off the torn tail of the journal; nothing of it had been acknowledged");
    }
    let Opened { store, applied, rebuilt } = Store::open(&data.join("store"), journal.id())?;
    if let Some(reason) = rebuilt {
        tracing::warn!("the store is built anew from the journal: {reason}");
    }
    let short = |witness, seen| {
        let (path, next) = (directory.clone(), journal.next());
        RecoveryError::Short { path, next, witness, seen }
    };
    if applied > journal.next() {
        return Err(short("the store", applied));
    }
    let applied = if applied < journal.first() { Position::START } else { applied };
    let checkpoint = checkpoint_of(&journal, settings);
    if let Some((seen, _)) = &checkpoint
        && *seen > journal.next()
    {
        return Err(short("its checkpoint", *seen));
    }
    let (from, machine) = checkpoint
        .filter(|(position, _)| is_usable(&journal, *position, applied))
        .unwrap_or_else(|| (journal.first(), Machine::new(settings)));
    let replaying = Replaying { journal: &journal, path: &directory, store: &store, applied, from };
    let machine = replaying.run(machine)?;
    Ok(Recovered { machine, store, unread: from, journal })
}

/// What it holds is its owner's alone. The directories above may be others' way to theirs; one that is there is its owner's choice.
fn make_private(data: &Path) -> io::Result<()> {
    if let Some(above) = data.parent() {
        fs::create_dir_all(above)?;
    }
    match DirBuilder::new().mode(0o700).create(data) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The checkpoint, if there is one that can be read.
fn checkpoint_of(journal: &Journal, settings: Settings) -> Option<(Position, Machine)> {
    let error = match checkpoint::read(&journal.checkpoints(), settings) {
        Ok(checkpoint) => return checkpoint,
        Err(error) => error,
    };
    tracing::warn!(
        "the whole journal is replayed, because its checkpoint is not believed: {}",
        with_causes(&error)
    );
    if let Err(error) = journal.checkpoints().remove() {
        tracing::warn!("{}", with_causes(&error));
    }
    None
}

/// Whether the checkpoint belongs to these segments and spares nothing that the store lacks.
fn is_usable(journal: &Journal, position: Position, applied: Position) -> bool {
    if !journal.is_boundary(position) {
        tracing::warn!(
            "the whole journal is replayed: no segment begins at its checkpoint's position, {position}"
        );
        return false;
    }
    if position > applied {
        tracing::info!("the whole journal is replayed, because the store lacks what its checkpoint spares");
        return false;
    }
    true
}

/// The replay of the journal.
struct Replaying<'a> {
    journal: &'a Journal,
    path: &'a Path,
    store: &'a Store,
    /// The end of what the store holds.
    applied: Position,
    /// Where the machine is.
    from: Position,
}

impl Replaying<'_> {
    fn run(&self, mut machine: Machine) -> Result<Machine, RecoveryError> {
        let mut writes = Writes::default();
        let mut end = self.applied;
        let boundary = self.journal.closed_end();
        let mut is_due = boundary > self.from;
        let mut records = self.journal.replay(self.from).map_err(RecoveryError::Read)?;
        while let Some(record) = records.next_record().map_err(RecoveryError::Read)? {
            if is_due && record.position >= boundary {
                is_due = false;
                self.store.apply(std::mem::take(&mut writes), end)?;
                self.keep(boundary, &machine)?;
            }
            let event = journal_payload::decode(record.version.0, record.payload).map_err(|source| {
                RecoveryError::Record { path: self.path.to_owned(), position: record.position, source }
            })?;
            if record.position >= self.applied {
                end = record.position.next();
                machine.ended_by(&event).iter().for_each(|ended| writes.ended(ended));
                writes.event(&event);
            }
            machine.replay(&event);
            if writes.len() >= GATHERED {
                self.store.apply(std::mem::take(&mut writes), end)?;
            }
        }
        self.store.apply(writes, end)?;
        if is_due {
            self.keep(boundary, &machine)?;
        }
        Ok(machine)
    }

    /// Keeps the machine as the checkpoint, so that the next start begins there.
    fn keep(&self, boundary: Position, machine: &Machine) -> Result<(), RecoveryError> {
        self.store.flush()?;
        if let Err(error) = checkpoint::write(&self.journal.checkpoints(), boundary, machine) {
            tracing::warn!("no checkpoint was made, the next start takes as long: {}", with_causes(&error));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_data_directory_that_is_made_is_closed_to_others_and_one_that_is_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let data = folder.path().join("above/data");
        make_private(&data).unwrap();
        assert_eq!(mode(&data), 0o700);
        fs::set_permissions(&data, fs::Permissions::from_mode(0o750)).unwrap();
        make_private(&data).unwrap();
        assert_eq!(mode(&data), 0o750);
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(make_private(&folder.path().join("file/data")).is_err());
    }
}
