//! Samples in files, whatever tool wrote them, compared by any method.
//!
//! In reading order: `source` (files into series), `versions` (series into versions with benchmarks). How an answer is told
//! stands in `speedup_report::answer`.

pub(crate) mod source;
pub(crate) mod versions;
