//! What other benchmark tools print or write: bytes in, series out; and two of their formats out.
//!
//! [`detect`] says what a file is, [`read`] brings it into one form: [`Imported`], whose [`Series`] hold every measured value
//! in base units, grouped by run. [`write_go`], [`write_hyperfine_1`] and [`write_hyperfine_2`] write the same series, and
//! what they write is read back as it was.
//!
//! Files come from strangers. Nothing in them is executed; every input gives series or a named error with its place; memory
//! and time are bounded by the constants of [`bounds`]; texts are kept as they are and shown without control characters
//! ([`Name`]). A file that holds only means and spreads is refused, since no test can be made of them.
//!
//! ```
//! use speedup_formats::{Format, Options, SeriesUnit, detect, read};
//!
//! let bytes = br#"{"results": [{"command": "sort words", "times": [0.102, 0.101, 0.104]}]}"#;
//! let format = detect(bytes)?;
//! assert_eq!(format, Format::Hyperfine1);
//! let imported = read(bytes, format, &Options::default())?;
//! let series = &imported.series[0];
//! assert_eq!(series.name.to_string(), "sort words (wall)");
//! assert_eq!(series.unit, SeriesUnit::Seconds);
//! assert_eq!(series.runs.one_value_each(), Some(&[0.102, 0.101, 0.104][..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In reading order: the domain ([`Series`], [`Runs`], [`SeriesUnit`], [`Name`], [`Imported`]); [`Format`] and its detection; the
//! errors; the readers, one a tool; the writers. Not here: files, and what is concluded from the values.

pub mod bounds;

mod asv;
mod benchmark_dotnet;
mod caliper;
mod cargo_bench;
mod collection;
mod criterion;
mod decimal;
mod detect;
mod format;
mod go;
mod google_benchmark;
mod hyperfine;
mod imported;
mod jmh;
mod json;
mod layout;
mod name;
mod options;
mod plain;
mod problem;
mod pyperf;
mod read;
mod rebench;
mod reframe;
mod runs;
mod series;
mod table;
mod text;
mod text_table;

use collection::Collection;
pub use criterion::criterion_name;
pub use decimal::NumberProblem;
pub use detect::{DetectError, detect};
pub use format::{Format, UnknownFormat};
pub use go::write::{WriteGoError, write_go};
pub use go::{GO_COMMANDS, GoUnits};
pub use hyperfine::write::{
    Hyperfine2Header, WriteHyperfineError, write_hyperfine_1, write_hyperfine_1_with, write_hyperfine_2,
};
pub use imported::{ImportCode, ImportWarning, Imported, MachineFacts, MissingKind, MissingResult};
use json::{AtNode, Json, Misfit};
pub use name::{Name, NameTooLong};
pub use options::{BLOCK, Columns, Options, UNITS};
use problem::Fault;
pub use problem::{FilePlace, FileProblem, ReadError};
pub use read::read;
pub use runs::{Runs, RunsError};
use series::Measurand;
pub use series::{BetterWhen, MAX_RSS, SYSTEM, Series, SeriesName, SeriesUnit, USER, ValueOf, WALL};
