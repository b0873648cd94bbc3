//! What comes first: which experiment, what it has shown, and what that is worth.

use speedup_analysis::count::{counted, grouped, percent};
use speedup_analysis::study::{ConditionCounts, Report, State, SuiteReport, TrueShareReport};

use super::{bisection, endpoints};
use crate::{document::Document, document::Element, document::Kind, document::Tone, share::percent_rounded};

pub(super) fn write(document: &mut Document, report: &Report) {
    write_head(document, report);
    write_verdict(document, report);
    write_disturbed(document, report);
}

/// Which experiment it is, and how far.
pub(super) fn write_head(document: &mut Document, report: &Report) {
    let head = &report.head;
    document.section(Kind::Head, document.title.clone());
    if !head.description.is_empty() {
        document.paragraph(&head.description, Tone::Plain);
    }
    // A bisection lists its commits in a table.
    if bisection::find(report).is_none() {
        for commit in &head.commits {
            document.paragraph(&commit.sentence, Tone::Plain);
        }
    }
    document.paragraph(progress(report), Tone::Plain);
}

/// The name and the id of the experiment.
pub(super) fn title(report: &Report) -> String {
    format!("{} ({})", report.head.name, report.head.experiment)
}

/// What was shown, and what that is worth.
pub(super) fn write_verdict(document: &mut Document, report: &Report) {
    document.section(Kind::Verdict, "Verdict");
    write_missing(document, report);
    for suite in &report.suites {
        document.push(Element::Verdict { text: suite.sentence.clone(), tone: suite.verdict.into() });
        if let Some(share) = share_in_words(suite) {
            document.paragraph(share, Tone::Plain);
        }
        for endpoint in &report.endpoints {
            document.paragraph(endpoints::sentence(endpoint, &suite.candidate), Tone::Plain);
        }
    }
    if let Some(found) = bisection::find(report) {
        bisection::write_verdict(document, found);
    } else if report.suites.is_empty() {
        document.paragraph("There is only one version, so nothing is compared; `speedup bench --save-baseline NAME` keeps its times for a later comparison.", Tone::Plain);
    }
    document.paragraph(&report.independence.sentence, Tone::Plain);
    if let Some(controls) = &report.controls {
        document.paragraph(&controls.sentence, Tone::Plain);
    }
    if let Some(exclusions) = &report.exclusions {
        document.paragraph(&exclusions.sentence, Tone::Plain);
    }
}

/// The runs that no sample has, which come before any ratio of those that are left: by version, with the first example, and then those
/// of bisections and controls.
fn write_missing(document: &mut Document, report: &Report) {
    let mut other_failed = report.mishaps.failed_runs;
    let mut other_abandoned = report.mishaps.abandoned_runs;
    for (at, version) in report.head.versions.iter().enumerate() {
        // One line for all benchmarks; the section on failures lists them one by one.
        let mut measured = 0;
        let mut failed = 0;
        let mut abandoned = 0;
        for cell in report.benchmarks.iter().filter_map(|benchmark| benchmark.cells.get(at)) {
            measured += cell.n;
            failed += cell.mishaps.failed_runs();
            abandoned += cell.mishaps.abandoned_runs;
        }
        let example = report.benchmarks.iter().find_map(|benchmark| {
            let first = benchmark.cells.get(at)?.mishaps.failures.values().next()?;
            let line = first.example.line.as_ref().map_or_else(String::new, |line| format!(": {line}"));
            Some(format!(" {}: {}{line}", benchmark.name, first.example.words))
        });
        other_failed = other_failed.saturating_sub(failed);
        other_abandoned = other_abandoned.saturating_sub(abandoned);
        if failed + abandoned > 0 {
            let all = counted(measured + failed + abandoned, "run");
            let missing = missing_in_words(failed, abandoned);
            let text =
                format!("{version}: of {all} {missing}; no sample has these.{}", example.unwrap_or_default());
            document.push(Element::Verdict { text, tone: Tone::Worse });
        }
    }
    if other_failed + other_abandoned > 0 {
        let missing = missing_in_words(other_failed, other_abandoned);
        let text = format!("Of the runs that are in no table of benchmarks {missing}; no sample has these.");
        document.push(Element::Verdict { text, tone: Tone::Worse });
    }
}

fn missing_in_words(failed: u64, abandoned: u64) -> String {
    match (grouped(failed), grouped(abandoned)) {
        (failed, _) if abandoned == 0 => format!("{failed} failed"),
        (_, abandoned) if failed == 0 => format!("{abandoned} lost all attempts"),
        (failed, abandoned) => format!("{failed} failed and {abandoned} lost all attempts"),
    }
}

/// Whether hosts were disturbed.
fn write_disturbed(document: &mut Document, report: &Report) {
    let cells = report.benchmarks.iter().flat_map(|benchmark| &benchmark.cells);
    let conditions = match &report.head.conditions {
        Some(conditions) => conditions.clone(),
        // Reports from before the head had them.
        None => ConditionCounts::sum(cells.map(|cell| &cell.conditions)),
    };
    if conditions.disturbed > 0 {
        let (disturbed, measured) =
            (grouped(conditions.disturbed), counted(conditions.recorded, "measured run"));
        let text =
            format!("The host was disturbed during {disturbed} of {measured}; all are in their samples.");
        document.paragraph(text, Tone::Plain);
    }
}

fn progress(report: &Report) -> String {
    let head = &report.head;
    let mut measured =
        format!("{} of {} runs measured", grouped(head.measured_runs), grouped(head.planned_runs));
    for (count, words) in
        [(report.mishaps.failed_runs, "failed"), (report.mishaps.abandoned_runs, "abandoned")]
    {
        if count > 0 {
            measured += &format!(", {} {words}", grouped(count));
        }
    }
    let planned = head.planned_runs_per_cell.filter(|planned| *planned != head.runs_per_cell);
    let submitted =
        planned.map_or_else(String::new, |planned| format!(" ({} when submitted)", grouped(planned)));
    let per_cell = match bisection::find(report) {
        Some(found) => format!(
            "{} from {} to {}",
            counted(found.commits.len() as u64, "commit"),
            found.commits.first().map_or("", |commit| &commit.version),
            found.commits.last().map_or("", |commit| &commit.version)
        ),
        // A rule asks for other numbers of each benchmark.
        None if report.rule.is_some() => "runs of each cell by its rule".to_owned(),
        None => format!("{} of each cell{submitted}", counted(head.runs_per_cell, "run")),
    };
    let state = match head.state {
        State::Complete => "complete",
        State::Partial => "partial",
        State::Empty => "empty",
    };
    let since = match &head.finished {
        Some(end) => format!("submitted {}, {} {end}", head.submitted, head.phase),
        None => format!("submitted {}, {}", head.submitted, head.phase),
    };
    let tags = if head.tags.is_empty() { String::new() } else { format!("; tags {}", head.tags.join(" ")) };
    let selection = match head.selection.as_str() {
        "" => String::new(),
        selection => format!("; benchmarks chosen by {selection}"),
    };
    format!("{state}: {measured}; {per_cell}; {since}; seed {}{tags}{selection}", head.seed)
}

/// How many benchmarks of several are called faster, and what share is.
pub(crate) fn share_in_words(suite: &SuiteReport) -> Option<String> {
    let accelerated = suite.proportions.first().filter(|one| one.benchmarks > 1 && !one.nothing_known())?;
    let called = format!(
        "Called faster: {} of {} benchmarks, {}; slower: {}.",
        grouped(accelerated.count),
        grouped(accelerated.benchmarks),
        percent_rounded(accelerated.estimate),
        grouped(suite.benchmarks.slower)
    );
    Some(match suite.true_share.as_ref().filter(|share| share.valid) {
        Some(TrueShareReport { faster, risk_of_each, .. }) => format!(
            "{called} Truly faster: {} to {} of the population, at confidence level {}.",
            percent_rounded(faster.lower),
            percent_rounded(faster.upper),
            percent(1.0 - 2.0 * risk_of_each)
        ),
        None if accelerated.valid => called,
        None => format!(
            "{called} No interval holds for other programs: the benchmarks were chosen, not drawn at random."
        ),
    })
}
