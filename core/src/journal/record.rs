//! A record and its place in the journal.

use std::fmt;

/// The number of a record: the first of a journal is 0, and each next one is one more, over all segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position(pub u64);

impl Position {
    /// Of the first record of every journal.
    pub const START: Position = Position(0);

    /// Of the record after this one.
    pub fn next(self) -> Position {
        // 2^64 records at a million a second are half a million years; saturating keeps hostile bytes from a panic.
        Position(self.0.saturating_add(1))
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which encoding a payload has. The journal keeps it beside the payload and gives it no meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PayloadVersion(pub u8);

/// One record, its payload borrowed from the bytes it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalRecord<'a> {
    pub position: Position,
    pub version: PayloadVersion,
    /// What was appended; opaque here.
    pub payload: &'a [u8],
}
