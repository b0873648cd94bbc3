//! How the report was made.

use speedup_analysis::study::count::percent;
use speedup_analysis::study::{Report, scope_name};

use crate::document::{Document, Kind, Tone};

pub(super) fn write(document: &mut Document, report: &Report) {
    let (method, independence) = (&report.method, &report.independence);
    document.section(Kind::Method, "Method");
    document.paragraph(
        &format!(
            "{}; seed {}; confidence level {} (from the {}); weights {}; precision {}; policy {}, scope {}; report schema {}.",
            method.software,
            method.seed,
            percent(method.confidence),
            method.confidence_from,
            method.weights,
            percent(method.precision),
            independence.policy.name(),
            scope_name(independence.scope),
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
}
