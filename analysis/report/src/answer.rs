//! An answer on plain samples for people: what each candidate is in a sentence, the table, and what must be known of it. Each
//! method's findings are rendered in a file of its own.

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

use speedup_analysis::conclusion::{Reason, Warning, WarningCode};
use speedup_analysis::{
    count, inquiry::Answer, inquiry::FasterShare, inquiry::Findings, inquiry::IntervalAnswer,
    inquiry::Preference, with_findings,
};

use crate::document::{Kind, Tone};
use crate::{Document, facts::Sheet, facts::SheetCell, markdown::escaped, section::control_sheet};

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

/// Findings of a method that people read; `versions` are those of the answer, the baseline first.
trait Render {
    /// The findings as rows: the verdict first, then what it is about.
    fn sheet(&self, versions: &[String]) -> Sheet;

    /// What each candidate is, where the method concludes on all benchmarks.
    fn verdict(&self, _better: Preference) -> Vec<VerdictLine> {
        Vec::new()
    }

    /// A second table with its heading, for what does not go into the rows of [`Render::sheet`].
    fn second_sheet(&self, _versions: &[String]) -> Option<(&'static str, Sheet)> {
        None
    }
}

fn as_render(findings: &Findings) -> &dyn Render {
    with_findings!(findings, found => found)
}

/// A line of the verdict.
struct VerdictLine {
    text: String,
    tone: Tone,
    /// How many levels it stands in under the sentence that it explains.
    depth: usize,
}

impl VerdictLine {
    fn plain(text: impl Into<String>) -> Self {
        Self::toned(text, Tone::Plain)
    }

    fn toned(text: impl Into<String>, tone: impl Into<Tone>) -> Self {
        Self { text: text.into(), tone: tone.into(), depth: 0 }
    }

    fn inner(depth: usize, text: String) -> Self {
        Self { text, tone: Tone::Plain, depth }
    }
}

/// All rows of an answer, for programs.
pub fn sheet(answer: &Answer) -> Sheet {
    match (&answer.findings, &answer.controls) {
        (Findings::Ratio(suites), Some(controls)) => ratio::sheet_with_controls(suites, controls),
        (findings, _) => as_render(findings).sheet(&answer.versions),
    }
}

/// Contents of an answer, which every form for people has in this order.
struct AnswerContents {
    method: &'static str,
    /// The level, the metric and the baseline, in a line.
    setting: String,
    verdict: Vec<VerdictLine>,
    sheet: Sheet,
    /// Further tables, each under a heading of its own.
    further_sheets: Vec<(Kind, &'static str, Sheet)>,
    notes: Vec<String>,
    sources: String,
}

impl AnswerContents {
    fn new(answer: &Answer, subject: Subject<'_>) -> Self {
        let findings = as_render(&answer.findings);
        let mut further_sheets = Vec::new();
        if let Some((heading, sheet)) = findings.second_sheet(&answer.versions) {
            further_sheets.push((Kind::Metric, heading, sheet));
        }
        if let Some(controls) = &answer.controls {
            further_sheets.push((Kind::Controls, "Controls, where nothing differs", control_sheet(controls)));
        }
        further_sheets.retain(|(_, _, sheet)| !sheet.rows.is_empty());
        Self {
            method: answer.method.name,
            setting: setting(answer, subject),
            verdict: verdict(answer),
            sheet: findings.sheet(&answer.versions),
            further_sheets,
            notes: notes(answer),
            sources: format!("Sources: {}.", answer.method.sources.join("; ")),
        }
    }
}

/// The answer as text; `table` draws a table.
pub fn text(answer: &Answer, subject: Subject<'_>, table: impl Fn(&Sheet) -> String) -> String {
    let contents = AnswerContents::new(answer, subject);
    let mut parts = vec![format!("{}\n{}", contents.method, contents.setting)];
    if !contents.verdict.is_empty() {
        let lines = contents.verdict.iter().map(|line| format!("{}{}", "  ".repeat(line.depth), line.text));
        parts.push(lines.collect::<Vec<_>>().join("\n"));
    }
    parts.push(table(&contents.sheet));
    parts.extend(contents.further_sheets.iter().map(|(_, _, sheet)| table(sheet)));
    if !contents.notes.is_empty() {
        parts.push(contents.notes.join("\n"));
    }
    parts.push(contents.sources);
    parts.join("\n\n")
}

/// The answer as Markdown: the same words, and every column of the table.
pub fn markdown(answer: &Answer, subject: Subject<'_>) -> String {
    let contents = AnswerContents::new(answer, subject);
    let mut parts = vec![format!("# {}", escaped(contents.method)), escaped(&contents.setting)];
    let verdict = contents.verdict.iter().map(|line| {
        // One level of list is enough on a page of a forge.
        let indent = if line.depth > 0 { "  " } else { "" };
        format!("{indent}- {}", escaped(&line.text))
    });
    parts.push(verdict.collect::<Vec<_>>().join("\n"));
    parts.push(contents.sheet.markdown());
    parts.extend(contents.further_sheets.iter().map(|(_, _, sheet)| sheet.markdown()));
    let notes = contents.notes.iter().flat_map(|note| note.lines());
    parts.push(notes.map(|line| format!("- {}", escaped(line))).collect::<Vec<_>>().join("\n"));
    parts.push(escaped(&contents.sources));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

/// The answer as a document, for the forms that a report has: the same words, and every column of the table.
pub fn document(answer: &Answer, subject: Subject<'_>) -> Document {
    let contents = AnswerContents::new(answer, subject);
    // The kinds are those of a report, so that a page folds and orders the sections alike.
    let mut document = Document::new(format!("Comparison of {}", answer.versions.join(", ")));
    document.section(Kind::Head, document.title.clone());
    document.paragraph(format!("{}; {}", contents.method, contents.setting), Tone::Plain);
    if !contents.verdict.is_empty() {
        document.section(Kind::Verdict, "Verdict");
        for line in contents.verdict {
            match line.depth {
                0 => document.paragraph(line.text, line.tone),
                _ => document.item(line.text),
            }
        }
    }
    document.section(Kind::Benchmarks, "Benchmarks");
    document.table(contents.sheet.table());
    for (kind, heading, sheet) in contents.further_sheets {
        document.section(kind, heading);
        document.table(sheet.table());
    }
    if !contents.notes.is_empty() {
        document.section(Kind::Caveats, "Caveats");
        contents.notes.into_iter().for_each(|note| document.item(note));
    }
    document.section(Kind::Method, "Method");
    document.paragraph(contents.sources, Tone::Plain);
    document
}

/// The confidence level, what was compared with what, and the seed.
fn setting(answer: &Answer, subject: Subject<'_>) -> String {
    let mut text =
        format!("confidence level {}, {}", count::percent(answer.confidence.get()), subject.metric);
    if !subject.unit.is_empty() {
        text.push_str(&format!(" in {}", subject.unit));
    }
    if !subject.per.is_empty() {
        text.push_str(&format!(" {}", subject.per));
    }
    let has_candidates = answer.versions.len() > 1;
    match answer.better {
        Preference::Higher => text.push_str(", more is better"),
        Preference::Lower if subject.is_direction_assumed && has_candidates => {
            text.push_str(", less is better (assumed)");
        }
        Preference::Lower => {}
    }
    if has_candidates {
        text.push_str(&format!(", baseline {}", answer.versions[0]));
    }
    if let Some(seed) = answer.seed {
        text.push_str(&format!(", seed {seed}"));
    }
    text
}

/// The codes of what stands before any ratio: a program that crashed is not faster.
const FIRST: [WarningCode; 2] = [WarningCode::FailedRuns, WarningCode::UnmatchedBenchmarks];

/// What failed or is missing, as sentences.
pub fn missing(answer: &Answer) -> impl Iterator<Item = &str> {
    let missing = answer.caveats.iter().filter(|caveat| FIRST.iter().any(|code| caveat.code == *code));
    missing.map(|caveat| caveat.sentence.as_str())
}

/// The missing results, then the findings for each candidate.
fn verdict(answer: &Answer) -> Vec<VerdictLine> {
    let mut lines: Vec<VerdictLine> = missing(answer).map(VerdictLine::plain).collect();
    lines.extend(as_render(&answer.findings).verdict(answer.better));
    lines.extend(answer.faster_shares.iter().map(|share| VerdictLine::plain(share_in_words(share, answer))));
    if let Some(controls) = &answer.controls {
        lines.push(VerdictLine::plain(&controls.sentence));
    }
    lines
}

fn share_in_words(share: &FasterShare, answer: &Answer) -> String {
    let FasterShare { candidate, benchmarks, shown, excluded, observed, .. } = share;
    let baseline = answer.versions.first().map_or("", String::as_str);
    let faster = if share.by == 0.0 {
        "faster".to_owned()
    } else {
        format!("faster by at least {}", count::percent(share.by))
    };
    let (lower, upper) = share.band();
    let mut number = shown.to_string();
    let mut percent = count::percent(lower);
    // Any benchmark that no test excludes may be faster.
    let most = benchmarks - excluded;
    if most > *shown {
        number.push_str(&format!(" to {most}"));
        percent.push_str(&format!(" to {}", count::percent(upper)));
    }
    let all = count::counted(*benchmarks as u64, "benchmark");
    let level = count::percent(answer.confidence.get());
    format!(
        "{candidate} is {faster} than {baseline} on {number} of {all} ({percent}), at confidence level {level}; measured so: {observed}."
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

fn reason(reason: Option<&Reason>) -> SheetCell {
    reason.map_or(SheetCell::Absent, |reason| SheetCell::text(reason.code.as_str()))
}

/// The ends of an interval, the level that it achieves, and the full name of its method.
fn interval_cells(interval: &IntervalAnswer) -> [SheetCell; 4] {
    match interval {
        IntervalAnswer::Bounded { lower, upper, confidence, method, .. } => [
            SheetCell::optional(*lower),
            SheetCell::optional(*upper),
            SheetCell::Number(*confidence),
            SheetCell::text(method),
        ],
        IntervalAnswer::Missing { .. } => [const { SheetCell::Absent }; 4],
    }
}

fn lower(interval: &IntervalAnswer) -> SheetCell {
    let [lower, ..] = interval_cells(interval);
    lower
}

fn upper(interval: &IntervalAnswer) -> SheetCell {
    let [_, upper, ..] = interval_cells(interval);
    upper
}

fn achieved(interval: &IntervalAnswer) -> SheetCell {
    let [.., achieved, _] = interval_cells(interval);
    achieved
}

fn method(interval: &IntervalAnswer) -> SheetCell {
    let [.., method] = interval_cells(interval);
    method
}

/// The codes of warnings, each once.
fn codes<'a>(warnings: impl IntoIterator<Item = &'a Warning>) -> SheetCell {
    SheetCell::codes(warnings.into_iter().map(|warning| warning.code.as_str()))
}
