//! The sections of a report, each from the data of the analysis.

mod benchmarks;
mod bisection;
mod brief;
mod closing;
mod companions;
mod controls;
mod endpoints;
mod independence;
mod mishaps;
mod opening;
mod ranks;
mod scaling;
mod speedup_test;
mod suite;

use speedup_analysis::study::Report;

use crate::{document::Document, figure::forest::by_effect};

pub(crate) use self::endpoints::sentence as endpoint_sentence;
pub(crate) use self::{controls::sheet as control_sheet, opening::share_in_words};

impl Document {
    /// All of a report.
    pub fn full(report: &Report) -> Self {
        let mut document = Self::new(opening::title(report));
        opening::write(&mut document, report);
        closing::write_rule(&mut document, report);
        bisection::write_commits(&mut document, report);
        // First the tables of all candidates, which most people look for; then what is behind each of them.
        for at in 0..report.suites.len() {
            benchmarks::write(&mut document, report, at);
            companions::write_advice(&mut document, report, at);
        }
        for at in 0..report.suites.len() {
            endpoints::write(&mut document, report, at);
        }
        scaling::write(&mut document, report);
        ranks::write(&mut document, report);
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
        closing::write_caveats(&mut document, report);
        closing::write_runs(&mut document, report);
        closing::write(&mut document, report);
        document.repeats_verdict = !report.suites.is_empty();
        document
    }

    /// What somebody wants who looks at it while it grows: what was shown, what that is worth, `most` benchmarks of
    /// each candidate by their speedups after the first `skipped`, what more hosts bring and what ranks took, and the
    /// shares of those that are truly faster where benchmarks are drawn from a population.
    pub fn page(report: &Report, skipped: usize, most: usize) -> Self {
        let mut document = Self::new(opening::title(report));
        opening::write_verdict(&mut document, report);
        bisection::write_commits(&mut document, report);
        for at in 0..report.suites.len() {
            let benchmarks: Vec<_> = by_effect(report, at).into_iter().skip(skipped).take(most).collect();
            benchmarks::write_some(&mut document, report, at, &benchmarks);
        }
        scaling::write(&mut document, report);
        ranks::write(&mut document, report);
        if report.benchmarks.len() > 1 {
            report.suites.iter().for_each(|suite| suite::write_shares(&mut document, report, suite));
        }
        document
    }
}
