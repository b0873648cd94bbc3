//! What was measured of one benchmark: the one type that all formats are read into and written from.

use crate::{Name, Runs};
use serde::{Deserialize, Serialize};
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
    /// Which of them are the better ones, where the file or the unit tells.
    pub better: Option<BetterWhen>,
    /// What one value stands for, where the tool tells.
    pub value_of: Option<ValueOf>,
}

impl Series {
    /// A series of which nothing is known but its values: the unit says which of them are the better ones.
    pub fn new(name: SeriesName, unit: SeriesUnit, runs: Runs) -> Self {
        let better = unit.better(&name.metric);
        Self { name, unit, runs, better, value_of: None }
    }
}

/// Which values are the better ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BetterWhen {
    /// The smaller ones: times, sizes.
    Lower,
    /// The larger ones: rates, scores.
    Higher,
}

/// What one value stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueOf {
    /// One execution of the program.
    Run,
    /// One iteration that was timed inside a process.
    Iteration,
    /// A mean, median or slope that a process made of many iterations.
    Summary,
}

/// What a series is of; no two series of a file share it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
        Self::new(benchmark, Name::of(WALL))
    }

    /// A metric of a benchmark, without version and labels.
    pub(crate) fn new(benchmark: Name, metric: Name) -> Self {
        Self { benchmark, version: None, labels: BTreeMap::new(), metric }
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

    /// The series of this name in a unit, with the power of ten from the tool's values to it.
    pub(crate) fn in_unit(self, (unit, shift): (SeriesUnit, i32)) -> Measurand {
        Measurand { name: self, unit, shift }
    }
}

/// What a tool's number measures.
#[derive(Clone, PartialEq)]
pub(crate) struct Measurand {
    pub(crate) name: SeriesName,
    pub(crate) unit: SeriesUnit,
    /// The power of ten from the tool's values to the unit.
    pub(crate) shift: i32,
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

    /// Which values of a metric in this unit are the better ones: what is counted per time is a rate, of which more is better.
    pub(crate) fn better(&self, metric: &Name) -> Option<BetterWhen> {
        match self {
            Self::Seconds | Self::Bytes => Some(BetterWhen::Lower),
            Self::BytesPerSecond => Some(BetterWhen::Higher),
            Self::Named(word) if is_rate(word.as_str()) => Some(BetterWhen::Higher),
            Self::Bare | Self::Named(_) if is_rate(metric.as_str()) => Some(BetterWhen::Higher),
            Self::Bare | Self::Named(_) => None,
        }
    }
}

/// Whether a word is a rate: it has a time in its denominator, as `MB/s`, `ops/ms` and `items_per_second`, or is known for one.
pub(crate) fn is_rate(word: &str) -> bool {
    const TIMES: &str = "s sec secs second seconds ms msec us µs μs usec ns nsec min minute hour";
    const RATES: &str = "bandwidth bps flops fps gbps gflops iops kbps mbps mflops qps rps tflops throughput";
    const AMOUNTS: &str = "time latency duration wall elapsed cpu";
    let mut parts = word.split('/');
    let amount = parts.next().unwrap_or_default();
    if has_word(RATES, word) || has_word(AMOUNTS, amount) {
        // The unit of a heading such as `time/ms` stands behind the slash.
        return has_word(RATES, word);
    }
    let (_, of_word) = word.rsplit_once("per_").or_else(|| word.rsplit_once("per ")).unwrap_or_default();
    parts.chain([of_word]).any(|divisor| has_word(TIMES, divisor.trim()))
}

fn has_word(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known.eq_ignore_ascii_case(word))
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
