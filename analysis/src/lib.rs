//! Concludes: from the records of experiments, or from plain samples, to verdicts with their reasons.
//!
//! The methods are those of `speedup_statistics`; here they are applied. No files, clocks or global randomness.
//!
//! In reading order:
//! * [`conclusion`]: verdicts, reasons and warnings, which both of the next conclude with;
//! * [`study`]: from the attempts of an experiment to its report;
//! * [`track`]: what the commits of a branch say, each measured beside references that stay;
//! * [`inquiry`]: any method on plain samples, asked and answered as data;
//! * [`gate`]: whether a regression was shown, for scripts;
//! * [`count`]: numbers as sentences show them.

pub mod conclusion;
pub mod count;
pub mod gate;
pub mod inquiry;
pub mod study;
pub mod track;
