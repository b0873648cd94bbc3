//! The formats that can be read.

use std::fmt;
use std::str::FromStr;

/// A format of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// `hyperfine --export-json` before version 2.
    Hyperfine1,
    /// `hyperfine --export-json` of version 2.
    Hyperfine2,
    /// `hyperfine --export-csv`: recognised in order to be refused, since it has no values.
    HyperfineCsv,
    /// `--benchmark_format=json` of Google Benchmark.
    GoogleBenchmark,
    /// `-o` of pyperf, packed or not.
    Pyperf,
    /// `sample.json` of criterion.rs.
    CriterionSample,
    /// `estimates.json` of criterion.rs: recognised in order to be refused, since it has no values.
    CriterionEstimates,
    /// `raw.csv` of criterion.rs.
    CriterionRaw,
    /// The lines of `cargo criterion --message-format=json`.
    CargoCriterion,
    /// The benchmark text of `go test -bench`.
    Go,
    /// A data file of ReBench.
    ReBench,
    /// One number a line, as the Speedup-Test's samples.
    Plain,
    /// A table with a header.
    Csv,
    /// One JSON object a line, with the columns of a table as its fields.
    JsonLines,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Hyperfine1,
        Self::Hyperfine2,
        Self::HyperfineCsv,
        Self::GoogleBenchmark,
        Self::Pyperf,
        Self::CriterionSample,
        Self::CriterionEstimates,
        Self::CriterionRaw,
        Self::CargoCriterion,
        Self::Go,
        Self::ReBench,
        Self::Plain,
        Self::Csv,
        Self::JsonLines,
    ];

    /// The word for it on a command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Hyperfine1 => "hyperfine-1",
            Self::Hyperfine2 => "hyperfine-2",
            Self::HyperfineCsv => "hyperfine-csv",
            Self::GoogleBenchmark => "google-benchmark",
            Self::Pyperf => "pyperf",
            Self::CriterionSample => "criterion-sample",
            Self::CriterionEstimates => "criterion-estimates",
            Self::CriterionRaw => "criterion-raw",
            Self::CargoCriterion => "cargo-criterion",
            Self::Go => "go",
            Self::ReBench => "rebench",
            Self::Plain => "plain",
            Self::Csv => "csv",
            Self::JsonLines => "json-lines",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hyperfine1 => "hyperfine JSON",
            Self::Hyperfine2 => "hyperfine JSON (version 2)",
            Self::HyperfineCsv => "hyperfine CSV",
            Self::GoogleBenchmark => "Google Benchmark JSON",
            Self::Pyperf => "pyperf JSON",
            Self::CriterionSample => "criterion's sample.json",
            Self::CriterionEstimates => "criterion's estimates.json",
            Self::CriterionRaw => "criterion's raw.csv",
            Self::CargoCriterion => "messages of cargo criterion",
            Self::Go => "Go benchmark text",
            Self::ReBench => "a ReBench data file",
            Self::Plain => "numbers, one per line",
            Self::Csv => "a CSV table",
            Self::JsonLines => "JSON lines",
        })
    }
}

/// A word that names no format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no such format; known are hyperfine-1, hyperfine-2, google-benchmark, pyperf, criterion-sample, criterion-raw, \
         cargo-criterion, go, rebench, plain, csv, json-lines"
)]
pub struct UnknownFormat;

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(word: &str) -> Result<Self, UnknownFormat> {
        Self::ALL.into_iter().find(|format| format.word() == word).ok_or(UnknownFormat)
    }
}
