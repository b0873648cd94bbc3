//! The caveats: each code once, with the benchmarks it concerns.

use speedup_analysis::conclusion::Warning;
use speedup_analysis::study::Report;

use super::benchmarks::abbreviated;
use crate::document::{Document, Kind};

pub(super) fn write(document: &mut Document, report: &Report) {
    if report.warnings.is_empty() {
        return;
    }
    document.section(Kind::Caveats, "Caveats");
    report.warnings.iter().for_each(|warning| write_one(document, warning, report));
}

/// A caveat with the benchmarks it concerns.
pub(super) fn write_one(document: &mut Document, warning: &Warning, report: &Report) {
    let all = report.benchmarks.len() * report.suites.len();
    let whom = match warning.concerns.len() {
        0 => String::new(),
        _ => format!(" ({})", abbreviated(&warning.concerns, all)),
    };
    document.item(format!("{}{whom}: {}", warning.code, warning.sentence));
}
