//! The caveats: each code once, with the benchmarks it concerns.

use speedup_analysis::study::Report;

use super::benchmarks::abbreviated;
use super::layout::{Page, Tone};

pub(super) fn write(page: &mut Page, report: &Report) {
    if report.warnings.is_empty() {
        return;
    }
    page.heading("Caveats");
    let all = report.benchmarks.len() * report.suites.len();
    for warning in &report.warnings {
        let whom = match warning.concerns.len() {
            0 => String::new(),
            _ => format!(" ({})", abbreviated(&warning.concerns, all)),
        };
        page.hanging("- ", &format!("{}{whom}: {}", warning.code, warning.sentence), Tone::Plain);
    }
}
