//! How the report was made.

use speedup_analysis::count::percent;
use speedup_analysis::study::{LevelSource, Report};

use crate::document::{Document, Element, Kind, Tone};

pub(super) fn write(document: &mut Document, report: &Report) {
    let (method, independence) = (&report.method, &report.independence);
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
