//! In what a series is measured.

use crate::name::Name;
use std::fmt;

/// The unit of every value of a series. Readers bring what they can to these base units, exactly.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SeriesUnit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Bytes in a second.
    BytesPerSecond,
    /// A number alone: a count, a ratio, or a metric whose unit the tool does not say.
    Bare,
    /// Another unit, by the tool's name for it; the values are as the tool wrote them.
    Named(Name),
}

impl SeriesUnit {
    /// The unit that a tool's word means, and the power of ten from the tool's values to it.
    ///
    /// Words that mean different factors to different tools (`kB`, `MB`) stay as they are.
    pub(crate) fn of_word(word: &Name) -> (Self, i32) {
        match word.as_str() {
            "s" | "sec" | "second" | "seconds" => (Self::Seconds, 0),
            "ms" | "millisecond" | "milliseconds" => (Self::Seconds, -3),
            "us" | "µs" | "μs" | "microsecond" | "microseconds" => (Self::Seconds, -6),
            "ns" | "nanosecond" | "nanoseconds" => (Self::Seconds, -9),
            "B" | "byte" | "bytes" => (Self::Bytes, 0),
            "B/s" | "byte/second" => (Self::BytesPerSecond, 0),
            "" | "integer" => (Self::Bare, 0),
            _ => (Self::Named(word.clone()), 0),
        }
    }
}

impl fmt::Display for SeriesUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seconds => f.write_str("s"),
            Self::Bytes => f.write_str("B"),
            Self::BytesPerSecond => f.write_str("B/s"),
            Self::Bare => Ok(()),
            Self::Named(name) => name.fmt(f),
        }
    }
}
