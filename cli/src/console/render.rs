//! How answers look: tables, sentences, JSON with line breaks, lists as CSV, and the report.

pub(crate) mod csv;
pub(crate) mod explanation;
pub(crate) mod json;
pub(crate) mod report;
pub(crate) mod table;

pub(crate) use speedup_core::value::count::counted;
