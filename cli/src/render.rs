//! How answers look: tables, sentences, JSON with line breaks, and the report.

pub(crate) mod explanation;
pub(crate) mod json;
pub(crate) mod report;
pub(crate) mod table;

/// A count with its noun: 1 run, 2 runs.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
