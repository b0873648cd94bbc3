//! What an experiment shows so far. A part of a page has the verdicts in sentences with what they are worth, the benchmarks
//! with the largest speedups, and the share of truly faster ones; the page of a report has all of it.
//!
//! This is the one file that knows the report.

use maud::{Markup, PreEscaped, html};
use speedup_analysis::study::Report;
use speedup_proto::v1::ExperimentStatus;
use speedup_report::{Document, html::fragment, html::part as sections, html::sentences};
use tonic::Status;
use uuid::Uuid;

use super::{counted, grouped, layout::Section, layout::page};
use crate::context::Visitor;

/// Benchmarks up to which a report is one page: a browser lays out a few thousand rows at once.
const WHOLE_BENCHMARKS: usize = 500;
/// Benchmarks of a page where there are more, and of a part.
const BENCHMARKS: usize = 50;

/// The whole page: all that `speedup report` says, or of very many benchmarks their table in pages.
pub(crate) fn whole(visitor: &Visitor, status: &ExperimentStatus, json: &str, number: usize) -> Markup {
    let id = &status.experiment;
    let body = html! {
        p.crumb { a href="/" { "Experiments" } " / " a href={ "/experiments/" (id) } { (status.name) } }
        @match serde_json::from_str::<Report>(json) {
            Ok(report) if report.benchmarks.len() <= WHOLE_BENCHMARKS => {
                (PreEscaped(fragment(&Document::full(&report))))
            }
            Ok(report) => { h1 { "Report of " (status.name) } (paged(&report, id, number)) }
            Err(error) => { h1 { "Report of " (status.name) } (unread(&error)) }
        }
        p.quiet { "In other forms: " code { "speedup report " (id) " --format html|md|latex|csv|json" } }
    };
    page(visitor, Section::Experiments, &format!("Report of {}", status.name), None, &body)
}

fn paged(report: &Report, id: &str, number: usize) -> Markup {
    let pages = report.benchmarks.len().div_ceil(BENCHMARKS);
    html! {
        (shown(report, number))
        nav.pages aria-label="Pages" {
            @if number > 1 { a href={ "/experiments/" (id) "/report?page=" (number - 1) } rel="prev" { "Previous" } }
            @if number < pages { a href={ "/experiments/" (id) "/report?page=" (number + 1) } rel="next" { "Next" } }
        }
        @if !report.warnings.is_empty() {
            section aria-labelledby="h-warnings" {
                h2 #h-warnings { "What to know" }
                ul.warnings { @for warning in &report.warnings { li { (sentences(&warning.sentence)) } } }
            }
        }
    }
}

/// The report as part of another page.
pub(crate) fn part(json: &str, number: usize) -> Markup {
    match serde_json::from_str::<Report>(json) {
        Ok(report) => html! {
            (shown(&report, number))
            @if report.benchmarks.len() > BENCHMARKS {
                p.quiet {
                    "The " (BENCHMARKS) " with the largest speedups of " (counted(report.benchmarks.len() as u64, "benchmark")) "."
                }
            }
            @if !report.warnings.is_empty() {
                p.quiet {
                    a href={ "/experiments/" (report.head.experiment) "/report" } {
                        (counted(report.warnings.len() as u64, "thing")) " to know"
                    }
                    " before relying on this."
                }
            }
        },
        Err(error) => unread(&error),
    }
}

/// Where too many reports grow already.
pub(crate) fn too_many(id: Uuid) -> Markup {
    html! {
        p.empty {
            "Others are watching reports grow. "
            a #report-now href={ "/experiments/" (id) "/report" } { "Show this one as it is now" }
        }
    }
}

/// Where there is none.
pub(crate) fn failed(status: &Status) -> Markup {
    html! { p.empty { "There is no report: " (status.message().lines().next().unwrap_or_default()) } }
}

fn unread(error: &serde_json::Error) -> Markup {
    tracing::error!("the analysis sent a report that cannot be read: {error}");
    html! { p.empty { "The report cannot be shown; the coordinator's log says why." } }
}

fn shown(report: &Report, number: usize) -> Markup {
    let skipped = number.saturating_sub(1).saturating_mul(BENCHMARKS);
    let percent = 100.0 * report.head.confidence;
    html! {
        p.quiet {
            "From " (counted(report.head.measured_runs, "measured run")) " of " (grouped(report.head.planned_runs))
            ", at a confidence level of " (digits(percent)) "\u{a0}%. Baseline: " strong { (report.head.baseline) } "."
        }
        (PreEscaped(sections(&Document::page(report, skipped, BENCHMARKS))))
    }
}

/// Without zeros at the end.
fn digits(number: f64) -> String {
    format!("{number:.2}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_written_as_people_do() {
        assert_eq!([95.0, 99.9, 99.95].map(digits), ["95", "99.9", "99.95"]);
    }

    #[test]
    fn what_is_no_report_is_said() {
        assert!(part("{}", 1).into_string().contains("cannot be shown"));
    }
}
