//! Recovery: the journal is replayed into a new machine, by the same `evolve` that ran when it was written, and into
//! the store, from where the store is. Where a checkpoint can be believed and the store holds all before it, the replay
//! begins there.

mod replaying;

use std::{fs, path::Path, path::PathBuf};

use speedup_core::{machine::Machine, machine::Settings, value::causes::with_causes};
use speedup_journal::private::{self, NotPrivate, Others};
use speedup_journal::{
    Checkpoints, Cut, Journal, JournalId, OpenCheck, OpenError, Options, Position, ReplayError,
};
use speedup_proto::payload::PayloadError;
use thiserror::Error;

use crate::backup::RESTORING;
use crate::checkpoint::{self, Disbelief};
use crate::store::{OpenedStore, Store, StoreCache, StoreError};

use self::replaying::Replayer;

/// Zeros ahead of the journal's records: those of some hundred runs.
const BYTES_AHEAD: usize = 256 << 10;

/// What a coordinator makes in its data directory, and closes where an earlier release left it open. Not the keys: one that
/// others could read is refused.
const CLOSED: [&str; 5] = ["journal", "store", "access/journal", "blobs", "provision.json"];

/// Why a data directory cannot be recovered.
#[derive(Debug, Error)]
pub enum RecoveryError {
    #[error("cannot make the data directory private to this user")]
    Directory(#[from] NotPrivate),
    #[error("there is no journal in {}, but {} was made beside one", path.display(), witness.display())]
    NoJournal { path: PathBuf, witness: PathBuf },
    #[error("the checkpoint in {} belongs to another journal: data directories were mixed", path.display())]
    ForeignCheckpoint { path: PathBuf, source: Disbelief },
    #[error("{} has files of an unfinished restore", .0.display())]
    Restoring(PathBuf),
    #[error("cannot open the journal")]
    Open(#[source] OpenError),
    #[error("cannot read the journal")]
    Read(#[source] ReplayError),
    #[error("cannot decode record {position} of the journal in {}", path.display())]
    Record { path: PathBuf, position: Position, source: PayloadError },
    /// What the journal made of its records knows of more than it has: they had been acknowledged.
    #[error("the journal in {} ends at position {next}, but {witness} has seen it up to position {seen}: what \
             was acknowledged is missing", path.display())]
    Short {
        path: PathBuf,
        /// The position after its last record.
        next: Position,
        /// Who has seen more.
        witness: &'static str,
        seen: Position,
    },
    #[error("cannot bring the store up to date")]
    Store(#[from] StoreError),
}

speedup_core::hints! { RecoveryError:
    Self::Open(error) => error.hint(),
    Self::Read(error) => error.hint(),
    Self::Record { source, .. } => source.hint(),
    Self::Restoring(_) => "empty the data directory and restore the backup again",
    Self::Directory(error) => error.hint(),
    Self::NoJournal { .. } =>
        "nothing was changed: check whether the file system of the journal is mounted, and bring its \
            segments (*.seg) back from where they were moved, or restore a backup; to start over, \
            choose an empty directory with --data",
    Self::ForeignCheckpoint { .. } =>
        "nothing was changed: bring the segments of its journal back; or, if these are the right ones, move the file \
            `journal/checkpoint` away, and the journal is replayed instead",
    Self::Short { .. } =>
        "nothing was changed: restore the journal's last segments from a backup, or remove the directory `store` \
            and the file `journal/checkpoint` to go on without the missing records; and check the disk",
    Self::Store(error) => error.hint(),
}

pub(crate) struct RecoveredState {
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
    cache: StoreCache,
) -> Result<RecoveredState, RecoveryError> {
    let directory = data.join("journal");
    let restoring = data.join(RESTORING);
    if restoring.exists() {
        return Err(RecoveryError::Restoring(restoring));
    }
    if let Some(closed) = private::claim(data, Others::Nothing, &CLOSED)? {
        tracing::warn!("{closed}");
    }
    require_journal(data, &directory)?;
    let options =
        Options { check: OpenCheck::LastSegment, bytes_ahead: BYTES_AHEAD, ..Options::new(id_if_new) };
    let opening = Journal::begin(&directory, &options).map_err(RecoveryError::Open)?;
    let found = opening.recovery().clone();
    let short =
        |witness, seen| RecoveryError::Short { path: directory.clone(), next: found.next, witness, seen };
    let OpenedStore { store, applied, rebuilt } = Store::open(&data.join("store"), found.id, cache)?;
    if applied > found.next {
        return Err(short("the store", applied));
    }
    let checkpoint = checkpoint_of(&opening.checkpoints(), &directory, settings)?;
    if let Some((seen, _)) = &checkpoint
        && *seen > found.next
    {
        return Err(short("its checkpoint", *seen));
    }
    // Nobody who kept something of the journal knows of more than it has: now its end may be cut.
    let journal = opening.open().map_err(RecoveryError::Open)?;
    if let Some(cut) = &found.cut {
        tell(cut, applied);
    }
    if let Some(reason) = rebuilt {
        tracing::warn!("the store is rebuilt from the journal: {reason}");
    }
    let (from, machine) = match checkpoint {
        Some((position, machine)) if is_usable(&journal, position, applied) => (position, machine),
        Some(_) | None => (journal.first(), Machine::new(settings)),
    };
    let replaying = Replayer { journal: &journal, path: &directory, store: &store, applied, from };
    let machine = replaying.run(machine)?;
    Ok(RecoveredState { machine, store, unread: from, journal })
}

/// A journal that is missing beside what was made of it has not begun anew: it is not mounted, or was moved away. All
/// that is made beside a journal is made after its first segment is durable.
fn require_journal(data: &Path, directory: &Path) -> Result<(), RecoveryError> {
    let mut witnesses = Vec::new();
    for folder in [data.join("store"), data.join("access")] {
        if fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some()) {
            witnesses.push(folder);
        }
    }
    if Checkpoints::lies_in(directory) {
        witnesses.push(directory.join("checkpoint"));
    }
    match witnesses.into_iter().next() {
        Some(witness) if !Journal::lies_in(directory).map_err(RecoveryError::Open)? => {
            Err(RecoveryError::NoJournal { path: directory.to_owned(), witness })
        }
        Some(_) | None => Ok(()),
    }
}

/// Says what was cut off the journal, and what is known of it. Whether it had been acknowledged only the disk knows, which
/// keeps what it says to be synced, or does not.
fn tell(cut: &Cut, applied: Position) {
    let known = if applied == Position::START {
        "there is no store that would know whether it had been acknowledged".to_owned()
    } else {
        format!("nothing of it was in the store, which holds the records before position {applied}")
    };
    tracing::warn!(file = %cut.file.display(), at_byte = cut.at_byte, bytes = cut.bytes, position = %cut.position,
        "truncated the journal: its last group was incomplete, as after a power cut; {known}");
}

/// The checkpoint, if there is one that can be read.
fn checkpoint_of(
    checkpoints: &Checkpoints,
    directory: &Path,
    settings: Settings,
) -> Result<Option<(Position, Machine)>, RecoveryError> {
    let error = match checkpoint::read(checkpoints, settings) {
        Ok(checkpoint) => return Ok(checkpoint),
        Err(source) if source.is_foreign() => {
            return Err(RecoveryError::ForeignCheckpoint { path: directory.to_owned(), source });
        }
        Err(error) => error,
    };
    let kept = match checkpoints.set_aside() {
        Ok(aside) => format!("it is kept as {}", aside.display()),
        Err(error) => with_causes(&error),
    };
    tracing::warn!(
        "the whole journal is replayed, because its checkpoint cannot be trusted: {}; {kept}",
        with_causes(&error)
    );
    Ok(None)
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
