//! What a bisection found: at which commit of the line the step is.

use speedup_analysis::count::{counted, percent};
use speedup_analysis::study::{BisectionReport, LineCommit, LineCommitState, Report};
use speedup_core::experiment::metric::Metric;

use super::benchmarks::NOTHING;
use crate::document::{
    Align, Column, Document, Element, Field, Kind, LegendEntry, Table, TableRow, TextLimit, Tone,
};
use crate::duration::{Unit, four_digits};

/// Probabilities below this one are not shown in a row.
const WORTH_A_ROW: f64 = 0.001;
/// Characters of a subject where there is little room.
const MOST_OF_A_SUBJECT: usize = 40;

/// What the report's rule found, where that is a bisection.
pub(super) fn find(report: &Report) -> Option<&BisectionReport> {
    report.rule.as_ref()?.bisection.as_ref()
}

pub(super) fn write_verdict(document: &mut Document, bisection: &BisectionReport) {
    let text = bisection.sentence.clone();
    let tone = Tone::from(bisection.gated());
    document.push(Element::Verdict { text, tone });
    for caveat in &bisection.caveats {
        document.paragraph(caveat, Tone::Plain);
    }
}

/// The commits in their order: those that were run or tried, and those that may have the step.
pub(super) fn write_commits(document: &mut Document, report: &Report) {
    let Some(bisection) = find(report) else { return };
    let is_wall = bisection.metric == Metric::Wall.name();
    let unit = Unit::fitting(bisection.commits.iter().filter_map(|commit| commit.median));
    let values = if is_wall { format!("wall time in {}", unit.name) } else { bisection.metric.clone() };
    document.section(Kind::Benchmarks, format!("Commits: {}, {values}", bisection.benchmark));
    let mut columns = vec![
        Column::new("commit", Align::Left, 0),
        Column::new("subject", Align::Left, 1),
        Column::new("runs", Align::Right, 0),
        Column::new("median", Align::Right, 0),
    ];
    if !bisection.prior.is_empty() {
        columns.push(Column::new("beforehand", Align::Right, 0));
    }
    columns.push(Column::new("step here", Align::Right, 0));
    let last = bisection.commits.len().saturating_sub(1);
    let mut rows = Vec::new();
    for (at, commit) in bisection.commits.iter().enumerate() {
        // Hundreds of commits may be of no interest.
        let is_end = at == 0 || at == last;
        if is_end || commit.state != LineCommitState::NotProbed || commit.probability >= WORTH_A_ROW {
            rows.push(row(at, commit, is_wall.then_some(unit)));
        }
    }
    let left_out = bisection.commits.len() - rows.len();
    let text = format!(
        "From the good end to the bad one. Median: of the measured runs{}. Step here: the probability that the commit has the step, \
         if there is one{}.",
        if is_wall { format!(", in {}", unit.name) } else { String::new() },
        if bisection.prior.is_empty() { "" } else { "; beforehand: the same by the prior" }
    );
    document.table(Table { columns, rows, legend: vec![LegendEntry::always(text)], tells_left_out: false });
    if left_out > 0 {
        let text =
            format!("{} were not probed and hardly have the step.", counted(left_out as u64, "commit"));
        document.paragraph(text, Tone::Plain);
    }
}

fn row(at: usize, commit: &LineCommit, unit: Option<Unit>) -> TableRow {
    let median = match (commit.state.known(), commit.median) {
        (Some(LineCommitState::NotBuilt), _) => "not built".to_owned(),
        (Some(LineCommitState::Failing), _) => "fails".to_owned(),
        (_, None) => NOTHING.to_owned(),
        (_, Some(median)) => unit.map_or_else(|| four_digits(median), |unit| unit.plain(median)),
    };
    let subject = Field { limit: TextLimit::Characters(MOST_OF_A_SUBJECT), ..commit.subject.clone().into() };
    let runs = if commit.runs == 0 { NOTHING.to_owned() } else { commit.runs.to_string() };
    let mut fields = vec![Field::name(&commit.version), subject, runs.into(), median.into()];
    fields.extend(commit.beforehand.map(|beforehand| step_here(at, beforehand).into()));
    fields.push(step_here(at, commit.probability).into());
    TableRow::from(fields)
}

/// The probability that a commit has the step, to a tenth of a percent. The good end has none.
fn step_here(at: usize, probability: f64) -> String {
    if at == 0 {
        return NOTHING.to_owned();
    }
    match (probability * 1e3).round() / 1e3 {
        0.0 => "< 0.1\u{a0}%".to_owned(),
        rounded => percent(rounded),
    }
}

/// Whether no commit from the first of the set to the last but one is of use to a run.
fn are_alike(bisection: &BisectionReport) -> bool {
    let set = &bisection.set.versions;
    let [first, last] = [set.first(), set.last()].map(|end| {
        let end = end.and_then(|end| bisection.commits.iter().position(|commit| commit.version == *end));
        end.unwrap_or(0)
    });
    bisection.commits.iter().take(last).skip(first).all(|commit| {
        matches!(commit.state.known(), Some(LineCommitState::NotBuilt | LineCommitState::Failing))
    })
}

/// What to do next.
pub(super) fn next(bisection: &BisectionReport) -> Option<String> {
    let set = &bisection.set.versions;
    Some(match bisection.verdict.as_str() {
        "step" if set.len() == 1 => format!("See what it changed: `git show {}`.", set[0]),
        "step" if are_alike(bisection) => {
            "No run tells the commits of the set apart: `git log -p` shows what they changed.".to_owned()
        }
        "step" => "More runs make the set smaller (--max-runs).".to_owned(),
        "several" => {
            "Bisect each part of the range by itself, as from the good end to a commit between the steps."
                .to_owned()
        }
        "undecided" => {
            "More runs decide it (--max-runs), or a margin (--margin) says which steps do not matter."
                .to_owned()
        }
        "no_end" => "Find out why its runs failed: `speedup export --format jsonl` has each with its output."
            .to_owned(),
        _ => return None,
    })
}
