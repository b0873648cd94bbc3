//! Methods: the statistics of program speed, numbers in and numbers out.
//!
//! Pure functions of samples. They know nothing of hosts, plans, journals and reports; all randomness comes from a seed that
//! is an argument.
//!
//! In reading order:
//! * [`sample`]: the observations of a cell, in run order;
//! * [`inference`]: levels, p-values, intervals and caveats: what is asked of a method, and what it answers with;
//! * [`test`](mod@test): tests of hypotheses, one file a method;
//! * [`ratio`]: by how much a version is faster, on a benchmark and on a set of them; below it [`ratio::difference`]: by how much its
//!   values are larger, where they may be zero;
//! * [`protocol`]: whether it is, by the protocols of the papers;
//! * [`levels`]: experiments that repeat at several levels;
//! * [`mixture`]: run times that cluster, and what users feel of them;
//! * [`bisection`]: at which of many commits a program became slower;
//! * [`track`]: whether it became slower, commit after commit, with few false alarms a year;
//! * [`scaling`]: what more hosts bring;
//! * [`planning`]: how many runs, and when to look;
//! * [`diagnostics`]: whether the runs are what the methods take them for;
//! * [`distribution`], [`number`]: the functions under all of these.
//!
//! ```
//! use speedup_statistics::inference::ConfidenceLevel;
//! use speedup_statistics::protocol::speedup_test::{Question, SpeedupTest};
//! use speedup_statistics::ratio::MeanRatio;
//! use speedup_statistics::sample::Sample;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let baseline = Sample::new(vec![2.799, 2.046, 1.259, 1.877, 2.244])?;
//! let candidate = Sample::new(vec![1.046, 0.259, 0.877, 1.244, 1.799])?;
//!
//! let test = SpeedupTest::new(&baseline, &candidate)?;
//! let conclusion = test.mean.at(Question::CandidateFaster, ConfidenceLevel::USUAL);
//! assert!(conclusion.is_significant());
//! assert_eq!(test.mean.best(Question::CandidateFaster).confidence().map(|c| c > 0.98), Some(true));
//!
//! let interval = MeanRatio::new(&baseline, &candidate)?.interval(ConfidenceLevel::USUAL);
//! assert!(interval.bounded().is_some_and(|interval| interval.lower > 1.0));
//! # Ok(())
//! # }
//! ```

pub mod bisection;
pub mod diagnostics;
pub mod distribution;
pub mod inference;
pub mod levels;
pub mod mixture;
pub mod number;
pub mod planning;
pub mod protocol;
pub mod ratio;
pub mod sample;
pub mod scaling;
pub mod test;
pub mod track;
