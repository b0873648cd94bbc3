//! The caveats: each code once, with the benchmarks it concerns.

use speedup_analysis::study::Report;

use super::benchmarks::abbreviated;
use crate::document::{Document, Kind};

pub(super) fn write(document: &mut Document, report: &Report) {
    if report.warnings.is_empty() {
        return;
    }
    document.section(Kind::Caveats, "Caveats");
    let all = report.benchmarks.len() * report.suites.len();
    for warning in &report.warnings {
        let whom = match warning.concerns.len() {
            0 => String::new(),
            _ => format!(" ({})", abbreviated(&warning.concerns, all)),
        };
        document.item(format!("{}{whom}: {}", warning.code, warning.sentence));
    }
}
