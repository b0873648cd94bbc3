//! Samples in files, whatever tool wrote them, compared by any method.
//!
//! In reading order: `source` (files into series), `versions` (series into versions with benchmarks), `sheet` (rows that
//! are printed as a table or as CSV), `rows` (the answers of each method as a sheet), `shown` (what stands around the
//! table), `page` (both as a document, for the forms of a report).

pub(crate) mod page;
pub(crate) mod rows;
pub(crate) mod sheet;
pub(crate) mod shown;
pub(crate) mod source;
pub(crate) mod versions;
