//! The report that fits a screen: what was shown, what that is worth, the times, the caveats that weigh most, and what to do
//! next. Everything else stands in the whole report.

use speedup_analysis::conclusion::{Warning, WarningCode, Word};
use speedup_analysis::count::{counted, grouped, percent, rough};
use speedup_analysis::study::{
    ComparisonReport, IndependenceKind, RELATIVE_HALF_WIDTH, Report, ReportPhase, UndecidedAdvice,
};

use super::{benchmarks, bisection, closing, endpoints, mishaps, opening, scaling};
use crate::document::{Document, Element, Kind, Section, Tone};

/// Caveats that are shown.
const MOST_CAVEATS: usize = 3;
/// Items and rows of other lists that are shown.
const MOST_LISTED: usize = 3;
/// Caveats by their weight, the heaviest first: what makes numbers wrong, then what they may be taken for, then what is good
/// to know. Others come after these.
const BY_WEIGHT: [WarningCode; 20] = [
    WarningCode::Only,
    WarningCode::IndependenceBroken,
    WarningCode::ProgramChanged,
    WarningCode::EnvironmentDiffers,
    WarningCode::ImageDiffers,
    WarningCode::ControlsAlarmed,
    WarningCode::TimeoutsCensor,
    WarningCode::FailedRuns,
    WarningCode::RetriesCanBias,
    WarningCode::OrderDependence,
    WarningCode::EnvironmentUnmet,
    WarningCode::NetworkFileSystem,
    WarningCode::ContainerTimed,
    WarningCode::DisturbedUnevenly,
    WarningCode::NearTimer,
    WarningCode::UnlikeShapes,
    WarningCode::CenterMatters,
    WarningCode::DominatedByOne,
    WarningCode::MeanOfDoubtfulLaw,
    WarningCode::HostDisturbed,
];
/// What the line on independence says already.
const SAID: [WarningCode; 3] =
    [WarningCode::IndependenceNotProvided, WarningCode::HostsRepeat, WarningCode::DependentThroughHost];

impl Document {
    /// What fits a screen.
    pub fn brief(report: &Report) -> Self {
        let mut document = Self::new(opening::title(report));
        opening::write_head(&mut document, report);
        opening::write_verdict(&mut document, report);
        closing::write_rule(&mut document, report);
        bisection::write_commits(&mut document, report);
        for at in 0..report.suites.len() {
            benchmarks::write(&mut document, report, at);
            endpoints::write(&mut document, report, at);
        }
        scaling::write(&mut document, report);
        mishaps::write(&mut document, report);
        document.sections.iter_mut().filter(|section| shortens(section.kind)).for_each(shorten);
        write_caveats(&mut document, &report.warnings, report);
        document.section(Kind::Next, "Next");
        document.paragraph(next(report), Tone::Plain);
        document
    }
}

/// Whether only the first of what a section lists is shown.
fn shortens(kind: Kind) -> bool {
    matches!(kind, Kind::Rule | Kind::Mishaps)
}

fn shorten(section: &mut Section) {
    // Items and rows that are left out are counted together: the line under them leads to both.
    let mut left_out = 0;
    let mut items = 0;
    section.blocks.retain(|block| match block {
        Element::Item(_) => {
            items += 1;
            left_out += usize::from(items > MOST_LISTED);
            items <= MOST_LISTED
        }
        Element::Paragraph { .. }
        | Element::Verdict { .. }
        | Element::Command(_)
        | Element::Table(_)
        | Element::Figure(_) => true,
    });
    for block in &mut section.blocks {
        if let Element::Table(table) = block {
            left_out += table.rows.len().saturating_sub(MOST_LISTED);
            table.rows.truncate(MOST_LISTED);
        }
    }
    if left_out > 0 {
        let text = format!("and {left_out} more: --section {}", section.kind.slug());
        section.blocks.push(Element::Paragraph { text, tone: Tone::Plain });
    }
}

fn write_caveats(document: &mut Document, warnings: &[Warning], report: &Report) {
    let mut others: Vec<&Warning> =
        warnings.iter().filter(|warning| SAID.iter().all(|code| warning.code != *code)).collect();
    // Stable: what has no weight stays in the order of the report.
    others.sort_by_key(|warning| {
        BY_WEIGHT.iter().position(|code| warning.code == *code).unwrap_or(BY_WEIGHT.len())
    });
    if others.is_empty() {
        return;
    }
    document.section(Kind::Caveats, "Caveats");
    for warning in others.iter().take(MOST_CAVEATS) {
        closing::write_caveat(document, warning, report);
    }
    if let Some(more) = others.len().checked_sub(MOST_CAVEATS).filter(|more| *more > 0) {
        document.paragraph(format!("and {more} more: --section caveats"), Tone::Plain);
    }
}

/// What to do next, in one sentence or two.
fn next(report: &Report) -> String {
    if let Some(next) = bisection::find(report).and_then(bisection::next) {
        return next;
    }
    if report.mishaps.failed_runs > 0 {
        return "Find out why runs failed: `speedup export --format jsonl` has each with its output."
            .to_owned();
    }
    let mut comparisons = report.benchmarks.iter().flat_map(|benchmark| &benchmark.comparisons);
    if report.head.awaits_runs() || comparisons.any(ComparisonReport::is_so_far) {
        // While it is paused nothing comes that could be watched.
        let is_paused = report.head.phase == ReportPhase::Paused;
        let rest = if is_paused {
            "The rest is measured once the experiment is resumed."
        } else {
            "Wait for the rest: `speedup watch`."
        };
        return rest.to_owned();
    }
    let is_missing_runs = report.head.measured_runs < report.head.planned_runs;
    let is_cancelled =
        report.head.phase == ReportPhase::Cancelling || report.head.phase == ReportPhase::Cancelled;
    let missing = if is_missing_runs && !is_cancelled {
        "Find out why runs are missing: `speedup explain`, and --section failures. "
    } else {
        ""
    };
    format!("{missing}{}", next_of_results(report))
}

/// The next step that the results ask for.
fn next_of_results(report: &Report) -> String {
    if let Some(words) = undecided(report) {
        return words;
    }
    match report.independence.kind {
        IndependenceKind::NotProvided | IndependenceKind::SharedMachine => {
            "To claim it for more than this machine, run the plan on several hosts (`speedup coordinator start`) under \
             policy = \"distinct\"."
        }
        IndependenceKind::Broken => "Find out why hosts were not fresh: --section independence.",
        IndependenceKind::NoRuns => "Wait for the first runs: `speedup watch`.",
        IndependenceKind::SingleRun => "Make several runs of each version: one has no spread.",
        IndependenceKind::Provided
        | IndependenceKind::Renewed
        | IndependenceKind::Sets
        | IndependenceKind::Pairs
        | IndependenceKind::Levels
        | IndependenceKind::WithinCells => {
            "Publish it: --format html, md or latex; `speedup bundle` packs what anyone needs to check it."
        }
    }
    .to_owned()
}

/// What undecided benchmarks take.
fn undecided(report: &Report) -> Option<String> {
    let advice = UndecidedAdvice::new(report)?;
    let all = report.benchmarks.len() * report.suites.len();
    let which = match all {
        1 => "This is undecided".to_owned(),
        all => {
            let are = if advice.undecided == 1 { "is" } else { "are" };
            format!("{} of {} {are} undecided", grouped(advice.undecided), counted(all as u64, "comparison"))
        }
    };
    let goal = percent(RELATIVE_HALF_WIDTH);
    if advice.is_precise {
        return Some(format!(
            "{which}, and known to ±{goal} or better: if less does not matter, declare a margin, within which versions count as the same."
        ));
    }
    let unit = advice.unit.map_or("run", Word::as_str);
    let takes = match (advice.typical.map(rough), advice.noisiest.map(rough)) {
        (Some(typical), Some(noisiest)) if typical == noisiest => {
            format!("about {} of each version give the speedup to ±{goal}", counted(typical, unit))
        }
        (Some(typical), noisiest) => {
            let noisiest = noisiest
                .map_or_else(|| "no practical number".to_owned(), |runs| format!("about {}", grouped(runs)));
            format!(
                "about {} of each version give the speedup of the typical one to ±{goal}, {noisiest} that of the noisiest",
                counted(typical, unit)
            )
        }
        (None, _) => {
            let which = if advice.undecided == 1 { "" } else { " of the typical one" };
            format!("no practical number of {unit}s gives the speedup{which} to ±{goal}")
        }
    };
    let now = if unit == "run" { format!(" (now {})", grouped(advice.now)) } else { String::new() };
    Some(format!(
        "{which}: {takes}{now}. Plan a new experiment: repeating until a difference shows has no confidence level."
    ))
}
