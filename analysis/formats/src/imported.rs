//! What was read from one file.

use crate::{Format, Json, Name, Series};
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
    /// Whether its benchmarks are commands (hyperfine's), of which one file holds versions of one thing.
    pub are_commands: bool,
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

impl MachineFacts {
    /// Takes what is not known yet from an object: host, system, architecture, processor and number of processors, each by the way
    /// to it; none where that is empty.
    pub(crate) fn complete(&mut self, object: &Json<'_>, ways: [&str; 5]) {
        let Self { host_name, operating_system, architecture, processor, processors } = self;
        let facts = [host_name, operating_system, architecture, processor, processors];
        for (fact, way) in facts.into_iter().zip(ways) {
            *fact = fact.take().or_else(|| object.fact(way));
        }
    }
}

/// A benchmark without a result, or with runs that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingResult {
    /// The benchmark with its labels, as [`crate::SeriesName::labelled_benchmark`] has them.
    pub benchmark: Name,
    /// The version, where the tool has such a thing.
    pub version: Option<Name>,
    pub kind: MissingKind,
    /// What the tool says about it.
    pub message: Option<Name>,
}

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingKind {
    /// The tool says that it failed.
    Failed,
    /// It was left out on purpose.
    Skipped,
    /// What should be its result cannot be read as one.
    Unreadable,
    /// Some or all of its runs failed; their values are left out. `runs` counts all of them.
    FailedRuns { failed: u64, runs: u64 },
}

/// What a reader of results from a file has to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportWarning {
    pub code: ImportCode,
    /// The benchmark, series or column that it is about; absent for all of the file.
    pub subject: Option<Name>,
    /// How many values it is about, where they are counted.
    pub count: u64,
}

/// Declares what files are warned of, each with its code and its text, in which `{count}` and `{subject}` stand for the warning's.
macro_rules! import_codes {
    ($($(#[$about:meta])* $code:ident = $word:literal, $text:literal;)+) => {
        /// What a file is warned of.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ImportCode {
            $($(#[$about])* $code,)+
        }

        impl ImportCode {
            /// All of them.
            pub const ALL: [Self; [$(Self::$code),+].len()] = [$(Self::$code),+];

            /// A word that stays the same between releases.
            pub const fn as_str(self) -> &'static str {
                self.word_and_text().0
            }

            const fn word_and_text(self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$code => ($word, $text),)+
                }
            }
        }
    };
}

import_codes! {
    /// Values that are NaN or infinite, left out.
    NotFinite = "values_not_finite", "values that are not finite were left out: {count}";
    /// A benchmark of which the file has summaries only, left out.
    SummaryOnly = "summary_only", "only summaries, no values; left out";
    /// The tool measured the same thing several times; the later series have the label `occurrence`.
    Repeated = "measured_repeatedly", "measured several times; the later ones are labelled `occurrence`";
    /// The tool rounds what it prints to a few digits.
    Rounded = "rounded_by_tool",
        "the console shows times with three digits and no exact counters; --benchmark_out=FILE has all of them";
    /// The tool left out values that it took for outliers.
    OutliersRemoved = "outliers_removed",
        "values that the tool took for outliers and left out: {count}; OutlierMode.DontRemove keeps them";
    /// A data point whose end was never written: the tool was stopped in it. Left out.
    Unfinished = "unfinished_data_point", "a data point is unfinished; values left out: {count}";
    /// The runs come from several machines.
    SeveralHosts = "several_hosts", "the runs come from several machines";
    /// Runs with the same word in this column are one observation.
    Units = "grouped_by_column",
        "runs with the same `{subject}` depend on each other, so they are one observation together";
    /// The runs of two versions in one block are a pair, those of one version one observation.
    BlocksPair = "blocks_pair",
        "runs of two versions in the same `block` are a pair, and those of one version one observation together";
    /// No block has runs of two versions: the runs of each are one observation.
    BlocksGroup = "blocks_group",
        "runs with the same `block` depend on each other, so they are one observation together; no block has runs of two \
         versions, so they make no pairs";
    /// Blocks are not used: another column connects runs, or no block has two of them.
    BlocksUnused = "blocks_unused",
        "`block` is not used: another column connects runs, or it makes neither pairs nor groups of them";
}

impl ImportCode {
    /// Whether it says how runs were grouped.
    pub fn is_of_grouping(self) -> bool {
        matches!(self, Self::Units | Self::BlocksPair | Self::BlocksGroup | Self::BlocksUnused)
    }
}

impl ImportWarning {
    /// A warning about one subject.
    pub fn about(code: ImportCode, subject: &Name) -> Self {
        Self { code, subject: Some(subject.clone()), count: 0 }
    }
}

impl From<ImportCode> for ImportWarning {
    fn from(code: ImportCode) -> Self {
        Self { code, subject: None, count: 0 }
    }
}

impl fmt::Display for ImportWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = self.subject.as_ref().map(Name::to_string).unwrap_or_default();
        // A column is named within the text.
        if self.subject.is_some() && self.code != ImportCode::Units {
            write!(f, "{subject}: ")?;
        }
        let text = self.code.word_and_text().1.replace("{count}", &self.count.to_string());
        f.write_str(&text.replace("{subject}", &subject))
    }
}
