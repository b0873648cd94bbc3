//! What was read from one file.

use crate::{format::Format, name::Name, series::Series, series::SeriesName};
use std::fmt;

/// The contents of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// As what it was read.
    pub format: Format,
    /// The tool's version, where the file tells.
    pub tool_version: Option<Name>,
    /// What the file tells about the machine.
    pub machine: MachineFacts,
    /// The series, in order of their first value.
    pub series: Vec<Series>,
    /// The benchmarks that the tool reports as failed or skipped.
    pub failures: Vec<MissingResult>,
    /// What a reader of results from this file has to know.
    pub warnings: Vec<ImportWarning>,
}

/// What a file tells about the machine it comes from. Nothing of it is verified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineFacts {
    pub host_name: Option<Name>,
    pub operating_system: Option<Name>,
    pub architecture: Option<Name>,
    /// The model of its processor.
    pub processor: Option<Name>,
    pub processors: Option<Name>,
}

/// A benchmark without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingResult {
    pub benchmark: Name,
    pub kind: FailureKind,
    /// What the tool says about it.
    pub message: Option<Name>,
}

/// How a benchmark without a result ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    Failed,
    /// It was left out on purpose.
    Skipped,
}

/// What a reader of results from a file has to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportWarning {
    /// Some runs ended with another exit code than 0, and the tool was told to go on: their values are in the series.
    FailedRuns {
        benchmark: Name,
        /// How many runs failed.
        failed: usize,
        runs: usize,
    },
    /// Values that are NaN or infinite, left out.
    NotFinite { series: SeriesName, values: usize },
    /// A benchmark of which the file has summaries only, left out.
    SummaryOnly { benchmark: Name },
    /// The tool measured the same thing several times; the later series have the label `occurrence`.
    Repeated {
        /// The series as the tool names it.
        series: SeriesName,
    },
    /// The tool rounds what it prints to a few digits.
    Rounded,
    /// The tool left out values that it took for outliers.
    OutliersRemoved { benchmark: Name, removed: usize },
    /// A data point whose end was never written: the tool was stopped in it. Left out.
    Unfinished { benchmark: Name, values: usize },
    /// The runs come from several machines.
    SeveralHosts,
    /// Runs with the same word in this column are one observation.
    Units {
        /// The column or field.
        column: Name,
    },
    /// What the table's blocks of runs are taken for.
    Blocks(BlockUse),
}

/// What the blocks of a table are taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockUse {
    /// The runs of two versions in one block are a pair, those of one version one observation.
    Pairs,
    /// No block has runs of two versions: the runs of each are one observation.
    Units,
    /// Nothing: another column connects runs, or no block has two of them.
    Nothing,
}

impl fmt::Display for ImportWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FailedRuns { benchmark, failed, runs } => {
                write!(
                    f,
                    "{benchmark}: {failed} of {runs} runs did not end with exit code 0; their values are kept"
                )
            }
            Self::NotFinite { series, values } => {
                write!(f, "{series}: values that are not finite were left out: {values}")
            }
            Self::SummaryOnly { benchmark } => {
                write!(f, "{benchmark}: only summaries, no values; left out")
            }
            Self::Repeated { series } => {
                write!(f, "{series} was measured several times; the later ones are labelled `occurrence`")
            }
            Self::Rounded => f.write_str(
                "the console shows times with three digits and no exact counters; --benchmark_out=FILE has all of them",
            ),
            Self::OutliersRemoved { benchmark, removed } => write!(
                f,
                "{benchmark}: values that the tool took for outliers and left out: {removed}; OutlierMode.DontRemove keeps them"
            ),
            Self::Unfinished { benchmark, values } => {
                write!(f, "{benchmark}: a data point is unfinished; values left out: {values}")
            }
            Self::SeveralHosts => f.write_str("the runs come from several machines"),
            Self::Units { column } => {
                write!(
                    f,
                    "runs with the same `{column}` depend on each other, so they are one observation together"
                )
            }
            Self::Blocks(BlockUse::Pairs) => f.write_str(
                "runs of two versions in the same `block` are a pair, and those of one version one observation together",
            ),
            Self::Blocks(BlockUse::Units) => f.write_str(
                "runs with the same `block` depend on each other, so they are one observation together; no block has runs of two \
                 versions, so they make no pairs",
            ),
            Self::Blocks(BlockUse::Nothing) => {
                f.write_str("`block` is not used: another column connects runs, or it makes neither pairs nor groups of them")
            }
        }
    }
}
