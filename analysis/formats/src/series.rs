//! What was measured of one benchmark: the one type that all formats are read into and written from.

use crate::{name::Name, runs::Runs};
use std::{collections::BTreeMap, fmt};

/// The metric of elapsed time, whatever the tool calls it (`time`, `real_time`, `ns/op`, `total`).
pub const WALL: &str = "wall";
/// The metric of CPU time in user mode.
pub const USER: &str = "user";
/// The metric of CPU time in the kernel.
pub const SYSTEM: &str = "system";
/// The metric of peak resident memory.
pub const MAX_RSS: &str = "max_rss";

/// The values of one metric of one benchmark, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub name: SeriesName,
    pub unit: SeriesUnit,
    /// The values, by run. Times are for one execution of what is measured: a tool's total over n iterations is divided
    /// by n.
    pub runs: Runs,
}

/// What a series is of; no two series of a file share it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeriesName {
    /// The benchmark, as the tool names it; hyperfine's is the command or the name given to it.
    pub benchmark: Name,
    /// The version, where the tool has such a thing: ReBench's executor, criterion's baseline, a parameter, key or column
    /// called `version`.
    pub version: Option<Name>,
    /// What else distinguishes it: hyperfine's parameters, Go's configuration, ReBench's variables.
    pub labels: BTreeMap<Name, Name>,
    /// The metric: [`WALL`], [`USER`], [`SYSTEM`] and [`MAX_RSS`] where it is one of these, else the tool's word.
    pub metric: Name,
}

impl SeriesName {
    /// A benchmark's wall time, without version and labels.
    pub fn wall(benchmark: Name) -> Self {
        Self { benchmark, version: None, labels: BTreeMap::new(), metric: Name::of(WALL) }
    }

    /// The benchmark with what else distinguishes it.
    pub fn labelled_benchmark(&self) -> String {
        let labels = self.labels.iter().map(|(key, value)| format!(", {key} {value}"));
        std::iter::once(self.benchmark.to_string()).chain(labels).collect()
    }

    /// The same benchmark in another metric.
    pub fn with_metric(&self, metric: Name) -> Self {
        Self { metric, ..self.clone() }
    }
}

impl fmt::Display for SeriesName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.benchmark)?;
        if let Some(version) = &self.version {
            write!(f, " in version {version}")?;
        }
        for (key, value) in &self.labels {
            write!(f, ", {key} {value}")?;
        }
        write!(f, " ({})", self.metric)
    }
}

/// The unit of every value of a series. Readers bring what they can to these base units, exactly.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SeriesUnit {
    Seconds,
    Bytes,
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
