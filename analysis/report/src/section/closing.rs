//! The end of a report: its caveats, the runs drawn, and how it was made.

use speedup_analysis::{conclusion::Warning, count::percent, study::LevelSource, study::Report};

use super::benchmarks::abbreviated;
use crate::document::{Document, Element, Kind, Tone};
use crate::figure::{Figure, Panels};
use speedup_analysis::study::RuleState;

/// Writes the caveats: each code once, with the benchmarks it concerns.
pub(super) fn write_caveats(document: &mut Document, report: &Report) {
    if report.warnings.is_empty() {
        return;
    }
    document.section(Kind::Caveats, "Caveats");
    report.warnings.iter().for_each(|warning| write_caveat(document, warning, report));
}

/// A caveat with the benchmarks it concerns.
pub(super) fn write_caveat(document: &mut Document, warning: &Warning, report: &Report) {
    let all = report.benchmarks.len() * report.suites.len();
    let whom = match warning.concerns.len() {
        0 => String::new(),
        _ => format!(" ({})", abbreviated(&warning.concerns, all)),
    };
    document.item(format!("{}{whom}: {}", warning.code, warning.sentence));
}

/// Draws the runs of the benchmarks, where the report has what that takes.
pub(super) fn write_runs(document: &mut Document, report: &Report) {
    let Some(figures) = &report.figures else { return };
    let panels = Panels::all(report, figures);
    if panels.is_empty() {
        return;
    }
    document.section(Kind::Runs, "The runs, drawn");
    document.paragraph(figures.sentence.as_str(), Tone::Plain);
    for of in panels {
        document.push(Element::Figure(Box::new(Figure::Panels(of))));
    }
}

pub(super) fn write(document: &mut Document, report: &Report) {
    let method = &report.method;
    let independence = &report.independence;
    document.section(Kind::Method, "Method");
    document.paragraph(
        format!(
            "{}; seed {}; confidence level {} (from the {}); weights {}; precision {}; policy {}, scope {}; report schema {}.",
            method.software,
            method.seed,
            percent(method.confidence),
            method.confidence_from.name(),
            method.weights,
            percent(method.precision),
            independence.policy.name(),
            independence.scope.name(),
            report.schema_version
        ),
        Tone::Plain,
    );
    for note in &method.notes {
        let source = if note.source.is_empty() { String::new() } else { format!(" [{}]", note.source) };
        document.item(format!("{}: {}{source}", note.subject, note.sentence));
    }
    for rule in &method.rules {
        document.item(rule.as_str());
    }
    write_again(document, report);
}

/// What makes the same report again, and what it is from.
fn write_again(document: &mut Document, report: &Report) {
    let experiment = &report.head.experiment;
    let level = match report.method.confidence_from {
        LevelSource::Plan => String::new(),
        LevelSource::Request => format!(" --confidence {}", report.method.confidence),
    };
    let cells = report.benchmarks.iter().flat_map(|benchmark| &benchmark.cells);
    let mixtures = if cells.into_iter().any(|cell| cell.mixture.is_some()) { " --mixtures" } else { "" };
    document.paragraph(
        "To print this report and its observations again where the experiment is kept (a plan with the same seed \
            gives the same order of runs):",
        Tone::Plain,
    );
    document.push(Element::Command(format!("speedup report {experiment}{level}{mixtures}")));
    document.push(Element::Command(format!("speedup export {experiment} -o observations.csv")));
}

/// Comparisons that are shown one by one; JSON has all.
const MOST_RULE_ROWS: usize = 50;

pub(super) fn write_rule(document: &mut Document, report: &Report) {
    // What a bisection found is the verdict.
    let Some(rule) = report.rule.as_ref().filter(|rule| rule.bisection.is_none()) else { return };
    document.section(Kind::Rule, "Rule of repetition");
    let state = match rule.state {
        RuleState::Pending => "pending",
        RuleState::Further => "asks for further runs",
        RuleState::Enough => "has enough",
        RuleState::Exhausted => "ended without all that it was to show",
        RuleState::BrokenOff => "broken off",
    };
    document.paragraph(format!("{} ({state}). {}. {}", rule.rule, rule.method, rule.words), Tone::Plain);
    for row in rule.rows.iter().take(MOST_RULE_ROWS) {
        document.item(row.sentence.as_str());
    }
    if let Some(more) = rule.rows.len().checked_sub(MOST_RULE_ROWS).filter(|more| *more > 0) {
        document.paragraph(format!("and {more} more; --format json has all"), Tone::Plain);
    }
}
