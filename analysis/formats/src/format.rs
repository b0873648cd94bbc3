//! The formats that can be read.

use std::{fmt, str::FromStr};

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
    /// `--benchmark_format=csv` of Google Benchmark.
    GoogleBenchmarkCsv,
    /// What Google Benchmark prints.
    GoogleBenchmarkConsole,
    /// `--benchmark-json` of pytest-benchmark, and its saved files.
    PytestBenchmark,
    /// A result of airspeed velocity.
    Asv,
    /// `-rf json` of the Java Microbenchmark Harness.
    Jmh,
    /// A JSON report of BenchmarkDotNet.
    BenchmarkDotNet,
    /// What Catch2 prints or writes as XML: recognised in order to be refused, since it has no values.
    Catch2,
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
    /// The events of `go test -json -bench`.
    GoEvents,
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
    pub const ALL: [Self; 22] = [
        Self::Hyperfine1,
        Self::Hyperfine2,
        Self::HyperfineCsv,
        Self::GoogleBenchmark,
        Self::GoogleBenchmarkCsv,
        Self::GoogleBenchmarkConsole,
        Self::PytestBenchmark,
        Self::Asv,
        Self::Jmh,
        Self::BenchmarkDotNet,
        Self::Catch2,
        Self::Pyperf,
        Self::CriterionSample,
        Self::CriterionEstimates,
        Self::CriterionRaw,
        Self::CargoCriterion,
        Self::Go,
        Self::GoEvents,
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
            Self::GoogleBenchmarkCsv => "google-benchmark-csv",
            Self::GoogleBenchmarkConsole => "google-benchmark-console",
            Self::PytestBenchmark => "pytest-benchmark",
            Self::Asv => "asv",
            Self::Jmh => "jmh",
            Self::BenchmarkDotNet => "benchmark-dotnet",
            Self::Catch2 => "catch2",
            Self::Pyperf => "pyperf",
            Self::CriterionSample => "criterion-sample",
            Self::CriterionEstimates => "criterion-estimates",
            Self::CriterionRaw => "criterion-raw",
            Self::CargoCriterion => "cargo-criterion",
            Self::Go => "go",
            Self::GoEvents => "go-json",
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
            Self::GoogleBenchmarkCsv => "Google Benchmark CSV",
            Self::GoogleBenchmarkConsole => "Google Benchmark's console output",
            Self::PytestBenchmark => "pytest-benchmark JSON",
            Self::Asv => "an asv result",
            Self::Jmh => "JMH JSON",
            Self::BenchmarkDotNet => "a BenchmarkDotNet report",
            Self::Catch2 => "Catch2 output",
            Self::Pyperf => "pyperf JSON",
            Self::CriterionSample => "criterion's sample.json",
            Self::CriterionEstimates => "criterion's estimates.json",
            Self::CriterionRaw => "criterion's raw.csv",
            Self::CargoCriterion => "messages of cargo criterion",
            Self::Go => "Go benchmark text",
            Self::GoEvents => "events of go test -json",
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
    "no such format; known are hyperfine-1, hyperfine-2, google-benchmark, google-benchmark-csv, google-benchmark-console, \
         pytest-benchmark, asv, jmh, benchmark-dotnet, pyperf, criterion-sample, criterion-raw, cargo-criterion, go, go-json, \
         rebench, plain, csv, json-lines"
)]
pub struct UnknownFormat;

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(word: &str) -> Result<Self, UnknownFormat> {
        Self::ALL.into_iter().find(|format| format.word() == word).ok_or(UnknownFormat)
    }
}
