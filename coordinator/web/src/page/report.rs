//! What an experiment shows so far. A part of a page has the verdicts in sentences, each benchmark with its speedup and
//! interval, and the share of truly faster ones; the page of a report has all of it.
//!
//! This is the one file that knows the report.

use maud::{Markup, PreEscaped, html};
use speedup_analysis::study::{
    BenchmarkReport, ComparisonReport, IntervalReport, Report, SuiteReport, Verdict,
};
use speedup_proto::v1::ExperimentStatus;
use speedup_report::html::{fragment, part as sections};
use speedup_report::{Document, share_in_words};
use tonic::Status;
use uuid::Uuid;

use super::layout::{Section, page};
use super::{counted, grouped, id_text, scrolling};
use crate::visitor::Visitor;

/// Benchmarks up to which a report is one page: a browser lays out a few thousand rows at once.
const WHOLE_BENCHMARKS: usize = 500;
/// Benchmarks of a page where there are more, and of a part.
const BENCHMARKS: usize = 50;
/// The plot reaches as far as its intervals do, and at least to a speedup of this and of its reciprocal.
const REACH: f64 = 1.1;
/// It reaches no further than this: one wild interval is not to hide all others.
const FARTHEST: f64 = 16.0;

/// The whole page: all that `speedup report` says, or of very many benchmarks their table in pages.
pub(crate) fn whole(visitor: &Visitor, status: &ExperimentStatus, json: &str, number: usize) -> Markup {
    let id = id_text(&status.experiment);
    let body = html! {
        p.crumb { a href="/" { "Experiments" } " / " a href={ "/experiments/" (id) } { (status.name) } }
        @match serde_json::from_str::<Report>(json) {
            Ok(report) if report.benchmarks.len() <= WHOLE_BENCHMARKS => {
                (PreEscaped(fragment(&Document::of(&report))))
            }
            Ok(report) => { h1 { "Report of " (status.name) } (paged(&report, &id, number)) }
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
                ul.warnings { @for warning in &report.warnings { li { (warning.sentence) } } }
            }
        }
    }
}

/// The report as part of another page.
pub(crate) fn part(json: &str, number: usize) -> Markup {
    match serde_json::from_str::<Report>(json) {
        Ok(report) => html! {
            (shown(&report, number))
            (PreEscaped(sections(&Document::of_shares(&report))))
            @if report.benchmarks.len() > BENCHMARKS {
                p.quiet { "The first " (BENCHMARKS) " of " (counted(report.benchmarks.len() as u64, "benchmark")) "." }
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
    let first = number.saturating_sub(1).saturating_mul(BENCHMARKS);
    let benchmarks: Vec<_> = report.benchmarks.iter().skip(first).take(BENCHMARKS).collect();
    let percent = 100.0 * report.head.confidence;
    html! {
        p.quiet {
            "From " (counted(report.head.measured_runs, "measured run")) " of " (grouped(report.head.planned_runs))
            ", at a confidence level of " (digits(percent)) "\u{a0}%. Baseline: " strong { (report.head.baseline) } "."
        }
        @for suite in &report.suites { (verdict(suite)) }
        @if !benchmarks.is_empty() { (table(&benchmarks)) }
    }
}

fn verdict(suite: &SuiteReport) -> Markup {
    html! {
        p.verdict.(class(suite.verdict)) { (badge(suite.verdict)) " " (suite.sentence) }
        @if let Some(share) = share_in_words(suite) { p { (share) } }
    }
}

fn table(benchmarks: &[&BenchmarkReport]) -> Markup {
    let rows: Vec<_> = benchmarks
        .iter()
        .flat_map(|benchmark| benchmark.comparisons.iter().map(|comparison| (&benchmark.name, comparison)))
        .collect();
    let reach = reach(rows.iter().map(|(_, comparison)| *comparison));
    let drawn = html! {
        table {
            caption { span { "Speedup of each candidate over the baseline, by benchmark; above 1 the candidate is faster" } }
            thead {
                tr {
                    th scope="col" { "Benchmark" }
                    th scope="col" { "Candidate" }
                    th.number scope="col" { "Runs" }
                    th scope="col" { "Verdict" }
                    th.number scope="col" { "Speedup" }
                    th scope="col" { "Interval" }
                    td.scale aria-hidden="true" { span { "slower" } span { "faster" } }
                }
            }
            tbody { @for (name, comparison) in rows { (row(name, comparison, reach)) } }
        }
    };
    scrolling("Benchmarks", &drawn)
}

fn row(name: &str, comparison: &ComparisonReport, reach: f64) -> Markup {
    let headline = comparison.headline();
    let speedup =
        headline.map(|headline| headline.speedup).or(comparison.observed.map(|observed| observed.mean));
    html! {
        tr {
            th scope="row" { (name) }
            td { (comparison.candidate) }
            td.number { (grouped(comparison.baseline_n)) " + " (grouped(comparison.candidate_n)) }
            td { (badge(comparison.verdict)) }
            td.number { @match speedup { Some(speedup) => { (factor(speedup)) "×" } None => "–" } }
            td.number {
                @match ends(comparison) {
                    Some((lower, upper)) => { "[" (factor(lower)) ", " (factor(upper)) "]" }
                    None => "–",
                }
            }
            td.plot { (plot(comparison, speedup, reach)) }
        }
    }
}

/// The interval as a line around its point, on a logarithmic scale with 1 in the middle.
fn plot(comparison: &ComparisonReport, speedup: Option<f64>, reach: f64) -> Markup {
    let place = |speedup: f64| 50.0 + 50.0 * (speedup.ln() / reach.ln()).clamp(-1.0, 1.0);
    let at = |speedup: f64| format!("{:.2}", place(speedup));
    html! {
        svg.interval.(class(comparison.verdict)) viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true"
            focusable="false" {
            line.one x1="50" y1="0" x2="50" y2="12" {}
            @if let Some((lower, upper)) = ends(comparison).filter(|(lower, upper)| *lower > 0.0 && upper.is_finite()) {
                line.span x1=(at(lower)) y1="6" x2=(at(upper)) y2="6" {}
            }
            @if let Some(speedup) = speedup.filter(|speedup| *speedup > 0.0 && speedup.is_finite()) {
                line.point x1=(at(speedup)) y1="2" x2=(at(speedup)) y2="10" {}
            }
        }
    }
}

/// How far the plot reaches on either side of 1.
fn reach<'a>(comparisons: impl Iterator<Item = &'a ComparisonReport>) -> f64 {
    let farthest = comparisons.filter_map(ends).flat_map(|(lower, upper)| [1.0 / lower, upper]);
    // A little more, so that no point lies on the edge.
    farthest.filter(|end| end.is_finite()).fold(REACH, f64::max).min(FARTHEST).powf(1.05)
}

fn ends(comparison: &ComparisonReport) -> Option<(f64, f64)> {
    match &comparison.headline()?.interval {
        IntervalReport::Bounded { lower, upper, .. } => Some((*lower, *upper)),
        IntervalReport::Missing { .. } => None,
    }
}

fn badge(verdict: Verdict) -> Markup {
    html! { span.badge.(class(verdict)) { (verdict.words()) } }
}

/// Green for what is better, red for what is worse, nothing for what is neither.
const fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Same | Verdict::Undecided | Verdict::NotEnoughData => "open",
    }
}

fn factor(speedup: f64) -> String {
    format!("{speedup:.3}")
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
        assert_eq!(factor(1.234_56), "1.235");
    }

    #[test]
    fn what_is_no_report_is_said() {
        assert!(part("{}", 1).into_string().contains("cannot be shown"));
    }
}
