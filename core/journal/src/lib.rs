//! The files under a journal: what the pure format of speedup-core needs from a disk.
//!
//! [`Journal`] is the one writer: append records, sync the group, and only then acknowledge. A [`Reader`] reads beside
//! it, from another process too, up to the durable end. What is damage and what is the harmless rest of a power cut is
//! decided in [`speedup_core::journal`]; here are the lock, the segment files, and the order of writes and syncs:
//!
//! - a segment is written and synced under another name before it gets its own, and the one before it is complete and
//!   synced by then: so a `.seg` file always has its header, and only the last one can be torn;
//! - a group is one write and one `fdatasync`; the mark behind it is written, not synced;
//! - zeros may be written ahead of small groups; they are cut off before a segment is closed;
//! - old segments are removed oldest first, with a sync of the directory after each: so a power cut leaves no gap;
//! - the last segment is locked, each before it has its name: who finds it unlocked may write it;
//! - a write or a sync that fails is final: what the disk holds is then unknown, and only opening again can tell.
//!
//! What is assumed of the disk: a returned `fdatasync` holds, and rewriting a sector with the bytes it has keeps them.
//!
//! In reading order: [`Journal`]; recovery, which opens it; [`Replay`] and [`Reader`]; [`Checkpoints`]; segment files; the
//! lock; and [`Directory`], the seam where tests put a disk that fails. Beside them [`durable`], for small files of their own, and
//! [`private`], for directories and files that are their owner's alone.

mod checkpoint;
mod directory;
pub mod durable;
mod failure;
mod journal;
mod lock;
pub mod private;
mod recovery;
mod replay;
mod segment;

pub use checkpoint::{
    CheckpointReadError, CheckpointReader, CheckpointWriteError, CheckpointWriter, Checkpoints,
};
pub use directory::{Directory, DiskDirectory, SegmentFile};
pub use failure::JournalFailure;
pub use journal::{Journal, MAX_GROUP_BYTES, Opening, WriteError};
pub use lock::{Holder, LockError};
pub use recovery::{Cut, OpenCheck, OpenError, Options, Recovery};
pub use replay::{OwnedRecord, Reader, Replay, ReplayError};
pub use segment::{Beginning, Damaged, DamagedBy, Missing, SegmentError};
pub use speedup_core::journal::{
    DamageKind, JournalId, JournalRecord, MAX_RECORD_BYTES, PayloadVersion, Position,
};
