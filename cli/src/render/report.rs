//! The report on a terminal: words first, colour second. The verdicts and what they are worth come first, then the
//! benchmarks, the suite, what went wrong, the caveats, and how all of it was made.

mod benchmarks;
mod caveats;
mod closing;
mod companions;
mod duration;
mod independence;
mod layout;
mod mishaps;
mod opening;
mod rule;
mod suite;
#[cfg(test)]
mod tests;

use comfy_table::Table;
use speedup_analysis::study::{Report, SCHEMA_VERSION};

use self::layout::Page;
use crate::console::Paint;
use crate::render::json::indented;

/// Columns where there is no terminal to ask.
const USUAL_WIDTH: usize = 100;
/// Below and above these, lines are not laid out differently.
const WIDTHS: (usize, usize) = (60, 160);

/// How much of a report is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of it.
    Whole,
    /// What was shown, what that is worth, and the times: what fits a screen.
    Brief,
}

/// The report as people read it, as wide as the terminal. `json` is what `Analysis.Report` answered; a report of a newer
/// shape is shown as it came, which says the same.
pub(crate) fn report(json: &str, extent: Extent, paint: Paint) -> Result<String, serde_json::Error> {
    #[derive(serde::Deserialize)]
    struct Shape {
        schema_version: u32,
    }
    let Shape { schema_version } = serde_json::from_str(json)?;
    if schema_version != SCHEMA_VERSION {
        return indented(json);
    }
    let report: Report = serde_json::from_str(json)?;
    let width = Table::new().width().map_or(USUAL_WIDTH, usize::from);
    Ok(match extent {
        Extent::Whole => rendered(&report, paint, width),
        Extent::Brief => brief(&report, paint, width),
    })
}

/// The report, at most `width` columns wide where the names in it allow.
pub(crate) fn rendered(report: &Report, paint: Paint, width: usize) -> String {
    let mut page = Page::new(width.clamp(WIDTHS.0, WIDTHS.1), paint);
    opening::write(&mut page, report);
    rule::write(&mut page, report);
    for at in 0..report.suites.len() {
        benchmarks::write(&mut page, report, at);
        companions::write_advice(&mut page, report, at);
    }
    for of in &report.suites {
        suite::write(&mut page, report, of);
        companions::write_multiplicity(&mut page, of);
    }
    companions::write_mixtures(&mut page, report);
    benchmarks::write_metrics(&mut page, report);
    independence::write(&mut page, report);
    companions::write_diagnostics(&mut page, report);
    companions::write_exclusions(&mut page, report);
    mishaps::write(&mut page, report);
    caveats::write(&mut page, report);
    closing::write(&mut page, report);
    // A terminal shows the end of a long text.
    if !report.suites.is_empty() {
        page.heading("In short");
        opening::write_verdict(&mut page, report);
    }
    page.into_text()
}

/// The sections of the report that somebody wants who has just compared a few commands.
pub(crate) fn brief(report: &Report, paint: Paint, width: usize) -> String {
    let mut page = Page::new(width.clamp(WIDTHS.0, WIDTHS.1), paint);
    page.heading("Verdict");
    opening::write_verdict(&mut page, report);
    rule::write(&mut page, report);
    for at in 0..report.suites.len() {
        benchmarks::write(&mut page, report, at);
    }
    mishaps::write(&mut page, report);
    caveats::write(&mut page, report);
    page.into_text()
}
