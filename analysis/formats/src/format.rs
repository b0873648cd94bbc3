//! The formats that can be read.

use crate::series::ValueOf;
use std::{fmt, str::FromStr};

/// What a value stands for in the formats of the list.
const RUN: Option<ValueOf> = Some(ValueOf::Run);
const ITERATION: Option<ValueOf> = Some(ValueOf::Iteration);
const SUMMARY: Option<ValueOf> = Some(ValueOf::Summary);
const NOT_TOLD: Option<ValueOf> = None;

/// Declares the formats, each with its word on a command line and what messages call it.
macro_rules! formats {
    ($($(#[$about:meta])* $format:ident = $word:literal, $title:literal, $value_of:expr;)+) => {
        /// A format of a tool.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Format {
            $($(#[$about])* $format,)+
        }

        impl Format {
            /// All of them.
            pub const ALL: [Self; [$(Self::$format),+].len()] = [$(Self::$format),+];

            /// The word for it on a command line.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$format => $word,)+
                }
            }

            /// What one value in it stands for, where that is the same in all its files.
            pub(crate) const fn value_of(self) -> Option<ValueOf> {
                match self {
                    $(Self::$format => $value_of,)+
                }
            }
        }

        impl fmt::Display for Format {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$format => $title,)+
                })
            }
        }
    };
}

formats! {
    /// `hyperfine --export-json` before version 2.
    Hyperfine1 = "hyperfine-1", "hyperfine JSON", RUN;
    /// `hyperfine --export-json` of version 2.
    Hyperfine2 = "hyperfine-2", "hyperfine JSON (version 2)", RUN;
    /// `hyperfine --export-csv`: recognised in order to be refused, since it has no values.
    HyperfineCsv = "hyperfine-csv", "hyperfine CSV", NOT_TOLD;
    /// `--benchmark_format=json` of Google Benchmark.
    GoogleBenchmark = "google-benchmark", "Google Benchmark JSON", SUMMARY;
    /// `--benchmark_format=csv` of Google Benchmark.
    GoogleBenchmarkCsv = "google-benchmark-csv", "Google Benchmark CSV", SUMMARY;
    /// What Google Benchmark prints.
    GoogleBenchmarkConsole = "google-benchmark-console", "Google Benchmark's console output", SUMMARY;
    /// `--benchmark-json` of pytest-benchmark, and its saved files.
    PytestBenchmark = "pytest-benchmark", "pytest-benchmark JSON", ITERATION;
    /// A result of airspeed velocity.
    Asv = "asv", "an asv result", SUMMARY;
    /// `-rf json` of the Java Microbenchmark Harness.
    Jmh = "jmh", "JMH JSON", SUMMARY;
    /// A JSON report of BenchmarkDotNet.
    BenchmarkDotNet = "benchmark-dotnet", "a BenchmarkDotNet report", SUMMARY;
    /// What Catch2 prints or writes as XML: recognised in order to be refused, since it has no values.
    Catch2 = "catch2", "Catch2 output", NOT_TOLD;
    /// `-o` of pyperf, packed or not.
    Pyperf = "pyperf", "pyperf JSON", SUMMARY;
    /// `sample.json` of criterion.rs.
    CriterionSample = "criterion-sample", "criterion's sample.json", SUMMARY;
    /// `estimates.json` of criterion.rs: recognised in order to be refused, since it has no values.
    CriterionEstimates = "criterion-estimates", "criterion's estimates.json", NOT_TOLD;
    /// `raw.csv` of criterion.rs.
    CriterionRaw = "criterion-raw", "criterion's raw.csv", SUMMARY;
    /// The lines of `cargo criterion --message-format=json`.
    CargoCriterion = "cargo-criterion", "messages of cargo criterion", SUMMARY;
    /// The benchmark text of `go test -bench`.
    Go = "go", "Go benchmark text", SUMMARY;
    /// The events of `go test -json -bench`.
    GoEvents = "go-json", "events of go test -json", SUMMARY;
    /// What `cargo bench` prints, of benchmarks of libtest, of criterion.rs or of both.
    CargoBench = "cargo-bench", "the text of cargo bench", SUMMARY;
    /// A performance log of ReFrame.
    ReFrame = "reframe", "a ReFrame performance log", RUN;
    /// What the I/O benchmark IOR prints.
    Ior = "ior", "the text of IOR", ITERATION;
    /// What High-Performance Linpack prints.
    Hpl = "hpl", "the text of HPL", ITERATION;
    /// What the NCCL tests print.
    Nccl = "nccl-tests", "the text of the NCCL tests", SUMMARY;
    /// What the OSU micro-benchmarks print.
    Osu = "osu", "the text of the OSU micro-benchmarks", SUMMARY;
    /// A data file of ReBench.
    ReBench = "rebench", "a ReBench data file", ITERATION;
    /// One number a line, as the Speedup-Test's samples.
    Plain = "plain", "numbers, one per line", NOT_TOLD;
    /// A table with a header.
    Csv = "csv", "a CSV table", NOT_TOLD;
    /// One JSON object a line, with the columns of a table as its fields.
    JsonLines = "json-lines", "JSON lines", NOT_TOLD;
}

/// A word that names no format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no such format; known are hyperfine-1, hyperfine-2, google-benchmark, google-benchmark-csv, google-benchmark-console, \
         pytest-benchmark, asv, jmh, benchmark-dotnet, pyperf, criterion-sample, criterion-raw, cargo-criterion, go, go-json, \
         cargo-bench, reframe, ior, hpl, nccl-tests, osu, rebench, plain, csv, json-lines"
)]
pub struct UnknownFormat;

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(word: &str) -> Result<Self, UnknownFormat> {
        Self::ALL.into_iter().find(|format| format.word() == word).ok_or(UnknownFormat)
    }
}
