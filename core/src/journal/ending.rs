//! How a segment ends: clean, torn, or damaged.

use super::record::Position;

/// How a segment ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentEnd {
    /// With its last frame, and zeros behind it, if anything.
    Clean,
    /// With the remains of a group that was never acknowledged; they are to be cut.
    TornTail(TornTail),
    /// With damage to what was synced; the segment is not to be written to.
    Damaged(Damage),
}

/// The remains of an unacknowledged group, to be cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TornTail {
    /// Byte of the segment to cut at.
    pub at: u64,
    /// Byte after the last of them: behind it are zeros, if anything.
    pub end: u64,
    /// The position that the first lost record would have had.
    pub position: Position,
    /// Intact frames behind the tear: unacknowledged like the rest, and cut with it.
    pub intact_beyond: u64,
}

/// Where acknowledged bytes are no longer what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {at}, where the record at position {position} is expected")]
pub struct Damage {
    /// Byte of the segment.
    pub at: u64,
    /// Position of the first record that cannot be read.
    pub position: Position,
    /// What is wrong there.
    pub kind: DamageKind,
}

/// What is wrong with a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DamageKind {
    /// The bytes are not those that were written.
    #[error("a checksum does not match")]
    Checksum,
    /// The file is shorter than what was synced, or the next segment is missing.
    #[error("the segment ends too early")]
    EndsEarly,
    /// An intact record, but not the one that belongs there.
    #[error("a record is out of order")]
    OutOfOrder,
    /// A search for valid frames met too many that nearly were; to be safe, nothing is cut.
    #[error("unreadable bytes that may hide synced records")]
    Unclear,
}
