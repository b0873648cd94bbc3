//! An answer on plain samples for people: what each candidate is in a sentence, the table, and what must be known of it. What
//! each method found is told in a file of its own.

mod diagnostics;
mod distribution;
mod earlier;
mod effect;
mod mixture;
mod performance_test;
mod rank;
mod ratio;
mod speedup_test;

use std::collections::BTreeSet;

use speedup_analysis::conclusion::{Reason, Verdict, Warning, WarningCode};
use speedup_analysis::{
    count, inquiry::Answer, inquiry::FasterShare, inquiry::Findings, inquiry::IntervalAnswer,
    inquiry::Preference, with_findings,
};

use crate::document::{Align, Column, Field, Kind, Table, TableRow, Tone};
use crate::{
    Document, facts::Label, facts::Sheet, facts::SheetCell, markdown::escaped, section::of_controls,
};

/// What the values are that were compared, which an answer does not know.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    pub metric: &'a str,
    /// Its unit; empty for numbers alone.
    pub unit: &'a str,
    /// What one value stands for, as in "per run"; empty where nothing tells.
    pub per: &'a str,
    /// Whether nothing told which values are the better ones.
    pub is_direction_assumed: bool,
}

/// What a method found, for people; `versions` are those of the answer, the baseline first.
trait Told {
    /// The findings as rows: the verdict first, then what it is about.
    fn sheet(&self, versions: &[String]) -> Sheet;

    /// What each candidate is, where the method concludes on all benchmarks.
    fn sentences(&self, _better: Preference) -> Vec<String> {
        Vec::new()
    }

    /// What does not go into the rows of [`Told::sheet`]: its heading, and rows of its own.
    fn beside(&self, _versions: &[String]) -> Option<(&'static str, Sheet)> {
        None
    }
}

fn told(findings: &Findings) -> &dyn Told {
    with_findings!(findings, of => of)
}

/// All rows of an answer, for programs.
pub fn sheet(answer: &Answer) -> Sheet {
    let sheet = told(&answer.findings).sheet(&answer.versions);
    match &answer.controls {
        Some(controls) => ratio::with_controls(sheet, controls),
        None => sheet,
    }
}

/// A table under a heading of its own.
type Beside = (Kind, &'static str, Sheet);

/// The tables of an answer for people: its rows, and what stands beside them.
fn sheets(answer: &Answer) -> (Sheet, Vec<Beside>) {
    let told = told(&answer.findings);
    let beside = told.beside(&answer.versions).map(|(heading, sheet)| (Kind::Metric, heading, sheet));
    let controls = answer.controls.as_ref();
    let controls = controls.map(|of| (Kind::Controls, "Controls, where nothing differs", of_controls(of)));
    let beside = beside.into_iter().chain(controls).filter(|(_, _, sheet)| !sheet.rows.is_empty());
    (told.sheet(&answer.versions), beside.collect())
}

/// The answer as text; `table` draws a table.
pub fn text(answer: &Answer, subject: Subject<'_>, table: impl Fn(&Sheet) -> String) -> String {
    let mut parts = vec![opening(answer, subject)];
    parts.extend(sentences(answer));
    let (sheet, beside) = sheets(answer);
    parts.push(table(&sheet));
    parts.extend(beside.iter().map(|(_, _, sheet)| table(sheet)));
    let notes = notes(answer);
    if !notes.is_empty() {
        parts.push(notes.join("\n"));
    }
    parts.push(sources(answer));
    parts.join("\n\n")
}

/// The answer as Markdown: the same words, and every column of the table.
pub fn markdown(answer: &Answer, subject: Subject<'_>) -> String {
    let opening = opening(answer, subject);
    let (name, of) = opening.split_once('\n').unwrap_or((opening.as_str(), ""));
    let mut parts = vec![format!("# {}", escaped(name)), escaped(of)];
    let listed = |lines: &mut dyn Iterator<Item = &str>| -> String {
        let item = |line: &str| {
            let inner = if line.starts_with("  ") { "  " } else { "" };
            format!("{inner}- {}", escaped(line.trim_start()))
        };
        lines.map(item).collect::<Vec<_>>().join("\n")
    };
    parts.extend(sentences(answer).map(|text| listed(&mut text.lines())));
    let (sheet, beside) = sheets(answer);
    parts.push(sheet.markdown());
    parts.extend(beside.iter().map(|(_, _, sheet)| sheet.markdown()));
    parts.push(listed(&mut notes(answer).iter().flat_map(|note| note.lines())));
    parts.push(escaped(&sources(answer)));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

/// The answer as a document, for the forms that a report has: the same words, and every column of the table.
pub fn document(answer: &Answer, subject: Subject<'_>) -> Document {
    let opening = opening(answer, subject);
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
    let (sheet, beside) = sheets(answer);
    document.section(Kind::Benchmarks, "Benchmarks");
    document.table(table(&sheet));
    for (kind, heading, sheet) in beside {
        document.section(kind, heading);
        document.table(table(&sheet));
    }
    let notes = notes(answer);
    if !notes.is_empty() {
        document.section(Kind::Caveats, "Caveats");
        notes.into_iter().for_each(|note| document.item(note));
    }
    document.section(Kind::Method, "Method");
    document.paragraph(sources(answer), Tone::Plain);
    document
}

fn sources(answer: &Answer) -> String {
    format!("Sources: {}.", answer.method.sources.join("; "))
}

fn opening(answer: &Answer, subject: Subject<'_>) -> String {
    let baseline = answer.versions.first().map_or("", String::as_str);
    let mut unit = if subject.unit.is_empty() { String::new() } else { format!(" in {}", subject.unit) };
    if !subject.per.is_empty() {
        unit.push_str(&format!(" {}", subject.per));
    }
    match answer.better {
        Preference::Higher => unit.push_str(", more is better"),
        Preference::Lower if subject.is_direction_assumed && answer.versions.len() > 1 => {
            unit.push_str(", less is better (assumed)");
        }
        Preference::Lower => {}
    }
    let seed = answer.seed.map_or_else(String::new, |seed| format!(", seed {seed}"));
    let level = count::percent(answer.confidence.get());
    let against = if answer.versions.len() > 1 { format!(", baseline {baseline}") } else { String::new() };
    format!("{}\nconfidence level {level}, {}{unit}{against}{seed}", answer.method.name, subject.metric)
}

/// The codes of what stands before any ratio: a program that crashed is not faster.
const FIRST: [WarningCode; 2] = [WarningCode::FailedRuns, WarningCode::UnmatchedBenchmarks];

/// What failed or is missing, as sentences.
pub fn missing(answer: &Answer) -> impl Iterator<Item = &str> {
    let first = answer.caveats.iter().filter(|caveat| FIRST.iter().any(|code| caveat.code == *code));
    first.map(|caveat| caveat.sentence.as_str())
}

fn sentences(answer: &Answer) -> Option<String> {
    let mut lines: Vec<String> = missing(answer).map(str::to_owned).collect();
    lines.extend(told(&answer.findings).sentences(answer.better));
    lines.extend(answer.faster_shares.iter().map(|share| in_words(share, answer)));
    lines.extend(answer.controls.as_ref().map(|controls| controls.sentence.clone()));
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn in_words(share: &FasterShare, answer: &Answer) -> String {
    let FasterShare { candidate, benchmarks, shown, excluded, observed, .. } = share;
    let baseline = answer.versions.first().map_or("", String::as_str);
    let faster = if share.by == 0.0 {
        "faster".to_owned()
    } else {
        format!("faster by at least {}", count::percent(share.by))
    };
    let most = benchmarks - excluded;
    let (lower, upper) = share.band();
    let (mut number, mut share) = (shown.to_string(), count::percent(lower));
    if most > *shown {
        number.push_str(&format!(" to {most}"));
        share.push_str(&format!(" to {}", count::percent(upper)));
    }
    let all = count::counted(*benchmarks as u64, "benchmark");
    let level = count::percent(answer.confidence.get());
    format!(
        "{candidate} is {faster} than {baseline} on {number} of {all} ({share}), at confidence level {level}; measured so: {observed}."
    )
}

/// Caveats and reasons, each code once, as sentences.
fn notes(answer: &Answer) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut notes = Vec::new();
    let mut note = |code: &str, sentence: &str| {
        if seen.insert(format!("{code} {sentence}")) {
            notes.push(format!("{code}: {sentence}"));
        }
    };
    for Reason { code, sentence } in answer.findings.reasons() {
        note(code.as_str(), &sentence);
    }
    for Warning { code, sentence, .. } in answer.caveats.iter().cloned().chain(answer.findings.caveats()) {
        if FIRST.iter().all(|first| code != *first) {
            note(code.as_str(), &sentence);
        }
    }
    notes
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
    let shown = |label: &Label| {
        let align = if label.is_number() { Align::Right } else { Align::Left };
        Column::new(label.heading(), align, 0)
    };
    let fields = |row: Vec<String>| {
        let field = |text: String| {
            let tone = match text.as_str() {
                "faster" | "better" => Tone::Better,
                "slower" | "worse" => Tone::Worse,
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

fn reason(reason: Option<&Reason>) -> SheetCell {
    reason.map_or(SheetCell::Absent, |reason| SheetCell::text(reason.code.as_str()))
}

fn lower(interval: &IntervalAnswer) -> SheetCell {
    match interval {
        IntervalAnswer::Bounded { lower, .. } => SheetCell::of(*lower),
        IntervalAnswer::Missing { .. } => SheetCell::Absent,
    }
}

fn upper(interval: &IntervalAnswer) -> SheetCell {
    match interval {
        IntervalAnswer::Bounded { upper, .. } => SheetCell::of(*upper),
        IntervalAnswer::Missing { .. } => SheetCell::Absent,
    }
}

/// The level that an interval achieves.
fn achieved(interval: &IntervalAnswer) -> SheetCell {
    match interval {
        IntervalAnswer::Bounded { confidence, .. } => SheetCell::Number(*confidence),
        IntervalAnswer::Missing { .. } => SheetCell::Absent,
    }
}

/// The full name of what made it.
fn method(interval: &IntervalAnswer) -> SheetCell {
    match interval {
        IntervalAnswer::Bounded { method, .. } => SheetCell::text(method),
        IntervalAnswer::Missing { .. } => SheetCell::Absent,
    }
}

/// The codes of warnings, each once.
fn codes<'a>(warnings: impl IntoIterator<Item = &'a Warning>) -> SheetCell {
    SheetCell::codes(warnings.into_iter().map(|warning| warning.code.as_str()))
}

fn verdict(verdict: Verdict) -> SheetCell {
    SheetCell::text(verdict.words())
}
