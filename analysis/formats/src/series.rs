//! What was measured of one benchmark: the one type that all formats are read into and written from.

use crate::name::Name;
use crate::runs::Runs;
use crate::unit::SeriesUnit;
use std::collections::BTreeMap;
use std::fmt;

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
    /// What was measured.
    pub name: SeriesName,
    /// In what.
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
