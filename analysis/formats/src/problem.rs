//! Why a file is refused, and where in it.

use crate::bounds::{
    MAX_COLUMNS, MAX_FILE_BYTES, MAX_JSON_NODES, MAX_LABEL_BYTES, MAX_LABELS, MAX_NESTING, MAX_REMARKS,
    MAX_SERIES, MAX_VALUES,
};
use crate::{Format, Name, NameTooLong, NumberProblem, SeriesName, SeriesUnit, name::write_escaped};
use std::fmt;

/// A file that could not be read: as what it was read, where it went wrong, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not readable as {format}: {place}{problem}")]
pub struct ReadError {
    pub format: Format,
    pub place: FilePlace,
    pub problem: FileProblem,
}

impl ReadError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self.problem {
            FileProblem::SummaryOnly { .. } => Some(self.format.instead_of_summaries()),
            _ => self.problem.hint(),
        }
    }
}

/// Where in a file. Displayed with what separates it from the problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilePlace {
    /// The file as a whole.
    File,
    /// A line and a character of it, or a field of a table, both from 1.
    Line { line: usize, column: usize },
    /// A JSON pointer (RFC 6901), empty for the text as a whole, and the line where the JSON text begins if the file has several.
    Pointer { line: Option<usize>, pointer: String },
}

impl fmt::Display for FilePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => Ok(()),
            Self::Line { line, column } => write!(f, "line {line}, column {column}: "),
            Self::Pointer { line, pointer } => {
                if let Some(line) = line {
                    write!(f, "line {line}, ")?;
                }
                f.write_str("at ")?;
                write_escaped(f, if pointer.is_empty() { "the outermost value" } else { pointer })?;
                f.write_str(": ")
            }
        }
    }
}

/// Why a file, or a part of it, is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileProblem {
    /// More bytes than a file may have, packed or unpacked.
    #[error("more than {MAX_FILE_BYTES} bytes")]
    TooManyBytes,
    /// A byte that is no UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    #[error("damaged gzip data")]
    DamagedGzip,
    #[error("expected {expected}, found {found:?}")]
    Unexpected { expected: &'static str, found: char },
    /// The text ends inside a value: the file was cut off.
    #[error("the text ends where {expected} is expected")]
    Truncated { expected: &'static str },
    #[error("arrays and objects are nested deeper than {MAX_NESTING}")]
    TooDeep,
    #[error("more than {MAX_JSON_NODES} JSON values")]
    TooManyNodes,
    /// An object names something twice; readers of JSON differ in which one they take.
    #[error("the key {key} occurs twice in one object")]
    DuplicateKey { key: Name },
    #[error("{field} is missing")]
    Missing { field: &'static str },
    #[error("expected {expected}")]
    Expected { expected: &'static str },
    /// A text that is no number, or none that can be measured.
    #[error("{text} {problem}")]
    Number { text: Name, problem: NumberProblem },
    /// A name longer than names may be.
    #[error(transparent)]
    Name(#[from] NameTooLong),
    /// A version of the format that is not known.
    #[error("version {version} of the format is unknown; known: {known}")]
    UnknownVersion { version: Name, known: &'static str },
    /// The file has means and spreads, not the values they come from.
    #[error("it has summaries only: {what}")]
    SummaryOnly { what: &'static str },
    #[error("{left} has {left_length} entries, {right} has {right_length}")]
    LengthsDiffer { left: &'static str, left_length: usize, right: &'static str, right_length: usize },
    /// A table without a column that is asked for, or with two of that name.
    #[error("the header has no column {column}, or several")]
    NoColumn { column: Name },
    /// A table in which more than one column has numbers only.
    #[error("{first} and {second} can both be the values")]
    SeveralColumns { first: Name, second: Name },
    /// A column of words that nothing uses, in a table whose benchmarks have no names.
    #[error("no column is the benchmark, and the words of {column} may name benchmarks")]
    UnusedColumn { column: Name },
    /// A row with more or fewer fields than the header.
    #[error("the row has {fields} fields, the header has {header}")]
    RowLength { fields: usize, header: usize },
    #[error("more than one number on a line")]
    SecondNumber,
    #[error("invocation {run}, iteration {iteration} of {series} occurs twice")]
    RepeatedDataPoint { run: u64, iteration: u64, series: Name },
    /// One metric of one benchmark in two units.
    #[error("{series} is in `{before}` before and in `{now}` here")]
    UnitChanged { series: Name, before: Name, now: Name },
    #[error("more than {MAX_VALUES} values")]
    TooManyValues,
    #[error("more than {MAX_SERIES} series")]
    TooManySeries,
    /// A table with more columns than are kept.
    #[error("more than {MAX_COLUMNS} columns")]
    TooManyColumns,
    #[error("more than {MAX_LABELS} labels, or labels of more than {MAX_LABEL_BYTES} bytes")]
    TooManyLabels,
    #[error("more than {MAX_REMARKS} failures or warnings")]
    TooManyRemarks,
    /// A file without a single value and without a failure.
    #[error("it has no measured value")]
    NoValues,
}

impl FileProblem {
    pub(crate) fn unit_changed(series: &SeriesName, before: &SeriesUnit, now: &SeriesUnit) -> Self {
        Self::UnitChanged { series: Name::shown(series), before: Name::shown(before), now: Name::shown(now) }
    }

    pub(crate) fn number(text: &str, problem: NumberProblem) -> Self {
        Self::Number { text: Name::beginning(text), problem }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        let hint = match self {
            Self::TooManyBytes | Self::TooManyNodes | Self::TooManyValues | Self::TooManySeries => {
                "split the file by benchmark"
            }
            Self::Truncated { .. } | Self::DamagedGzip => "copy the file again, or let the tool finish",
            Self::UnknownVersion { .. } => "export the file again with a version of the tool that is known",
            Self::NoColumn { .. } => {
                "name it: --column (values), --benchmark-column, --version-column, --run-column"
            }
            Self::SeveralColumns { .. } => "name the column of the values with --column NAME",
            Self::UnusedColumn { .. } => "--benchmark-column NAME takes it, and --ignore NAME leaves it out",
            Self::SecondNumber => "for tables, write a header and name the columns",
            Self::NotUtf8 => "save the file as UTF-8",
            Self::Number { problem, .. } => problem.hint(),
            Self::RowLength { .. } => "empty fields keep their commas, and a field with a comma is quoted",
            // What to do about summaries differs by tool: ReadError says it.
            _ => return None,
        };
        Some(hint)
    }
}

/// A problem at its place, before it is known as what the file was read.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) place: FilePlace,
    pub(crate) problem: FileProblem,
}

impl Fault {
    pub(crate) fn of_file(problem: impl Into<FileProblem>) -> Self {
        Self { place: FilePlace::File, problem: problem.into() }
    }

    pub(crate) fn at(line: usize, column: usize, problem: impl Into<FileProblem>) -> Self {
        Self { place: FilePlace::Line { line, column }, problem: problem.into() }
    }
}
