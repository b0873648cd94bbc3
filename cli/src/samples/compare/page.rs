//! An answer as a document, for the forms that a report has: a page, and LaTeX.

use speedup_analysis::inquiry::{Answer, Findings};
use speedup_report::Document;
use speedup_report::document::{Align, Column, Field, Kind, Table, TableRow, Tone};

use super::rows;
use super::sheet::Sheet;
use super::shown::{notes, opening, sentences};
use super::versions::Versions;

/// The same words and every column of the table.
pub(crate) fn document(answer: &Answer, versions: &Versions) -> Document {
    let opening = opening(answer, versions);
    let (name, of) = opening.split_once('\n').unwrap_or((opening.as_str(), ""));
    let mut document = Document::new(format!("Comparison of {}", answer.versions.join(", ")));
    document.section(Kind::Head, document.title.clone());
    document.paragraph(format!("{name}; {of}"), Tone::Plain);
    if let Some(text) = sentences(answer) {
        document.section(Kind::Verdict, "Verdict");
        for line in text.lines() {
            match line.strip_prefix("  ") {
                Some(inner) => document.item(inner.trim_start()),
                None => document.paragraph(line, tone(line)),
            }
        }
    }
    document.section(Kind::Benchmarks, "Benchmarks");
    document.table(table(&rows::sheet(answer)));
    if let Findings::Mixture(of) = &answer.findings {
        let metrics = rows::metrics(of, &answer.versions);
        if !metrics.rows.is_empty() {
            document.section(Kind::Metric, "Metrics of variability");
            document.table(table(&metrics));
        }
    }
    let notes = notes(answer);
    if !notes.is_empty() {
        document.section(Kind::Caveats, "Caveats");
        notes.into_iter().for_each(|note| document.item(note));
    }
    document.section(Kind::Method, "Method");
    document.paragraph(format!("Sources: {}.", answer.method.sources.join("; ")), Tone::Plain);
    document
}

/// What the sentence of a candidate, "NAME: VERDICT, …", means.
fn tone(sentence: &str) -> Tone {
    let said = sentence.rsplit_once(": ").map_or(sentence, |(_, said)| said);
    if said.starts_with("faster") {
        Tone::Better
    } else if said.starts_with("slower") {
        Tone::Worse
    } else {
        Tone::Plain
    }
}

fn table(sheet: &Sheet) -> Table {
    let shown = |heading: &crate::console::render::table::Column| {
        let align = if heading.is_number() { Align::Right } else { Align::Left };
        Column::new(heading.heading(), align, 0)
    };
    let fields = |row: Vec<String>| {
        let field = |text: String| {
            let tone = match text.as_str() {
                "faster" => Tone::Better,
                "slower" => Tone::Worse,
                _ => Tone::Plain,
            };
            Field { tone, ..Field::from(text) }
        };
        TableRow::from(row.into_iter().map(field).collect::<Vec<_>>())
    };
    Table {
        columns: sheet.columns().iter().map(shown).collect(),
        rows: sheet.shown_rows().map(fields).collect(),
        ..Table::default()
    }
}
