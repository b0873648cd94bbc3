//! How the report was made.

use speedup_analysis::study::count::percent;
use speedup_analysis::study::{Report, scope_name};

use super::layout::{Page, Tone};

pub(super) fn write(page: &mut Page, report: &Report) {
    let (method, independence) = (&report.method, &report.independence);
    page.heading("Method");
    page.paragraph(
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
        page.hanging("- ", &format!("{}: {}{source}", note.subject, note.sentence), Tone::Plain);
    }
    for rule in &method.rules {
        page.hanging("- ", rule, Tone::Plain);
    }
}
