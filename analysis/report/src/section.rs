//! The sections of a report, each from the data of the analysis.

mod benchmarks;
mod caveats;
mod closing;
mod companions;
mod controls;
mod endpoints;
mod independence;
mod mishaps;
mod opening;
mod rule;
mod runs;
mod speedup_test;
mod suite;

use speedup_analysis::study::Report;

use crate::document::Document;

pub(crate) use self::controls::sheet as of_controls;
pub(crate) use self::endpoints::sentence as of_endpoint;
pub use self::opening::share_in_words;
pub(crate) use self::opening::{ends, percent_rounded};
pub(crate) use self::suite::factor;

impl Document {
    /// All of a report.
    pub fn of(report: &Report) -> Self {
        let mut document = Self::new(opening::title(report));
        opening::write(&mut document, report);
        rule::write(&mut document, report);
        for at in 0..report.suites.len() {
            benchmarks::write(&mut document, report, at);
            companions::write_advice(&mut document, report, at);
        }
        for at in 0..report.suites.len() {
            endpoints::write(&mut document, report, at);
        }
        for of in &report.suites {
            suite::write(&mut document, report, of);
            companions::write_multiplicity(&mut document, of);
        }
        for at in 0..report.suites.len() {
            speedup_test::write(&mut document, report, at);
        }
        companions::write_mixtures(&mut document, report);
        benchmarks::write_metrics(&mut document, report);
        independence::write(&mut document, report);
        controls::write(&mut document, report);
        companions::write_diagnostics(&mut document, report);
        companions::write_exclusions(&mut document, report);
        mishaps::write(&mut document, report);
        caveats::write(&mut document, report);
        runs::write(&mut document, report);
        closing::write(&mut document, report);
        document.repeats_verdict = !report.suites.is_empty();
        document
    }

    /// The shares of benchmarks that are truly faster, where benchmarks are drawn from a population.
    pub fn of_shares(report: &Report) -> Self {
        let mut document = Self::new(opening::title(report));
        if report.benchmarks.len() > 1 {
            report.suites.iter().for_each(|suite| suite::write_shares(&mut document, report, suite));
        }
        document
    }

    /// What somebody wants who has just compared a few commands: what was shown, what that is worth, and the times.
    pub fn brief(report: &Report) -> Self {
        let mut document = Self::new(opening::title(report));
        opening::write_verdict(&mut document, report);
        rule::write(&mut document, report);
        for at in 0..report.suites.len() {
            benchmarks::write(&mut document, report, at);
            endpoints::write(&mut document, report, at);
        }
        mishaps::write(&mut document, report);
        caveats::write(&mut document, report);
        document
    }
}
