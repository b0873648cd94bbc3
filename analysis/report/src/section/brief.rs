//! The report that fits a screen: what was shown, what that is worth, the times, the caveats that weigh most, and what to do
//! next. Everything else stands in the whole report.

use speedup_analysis::conclusion::{Warning, WarningCode, Word};
use speedup_analysis::count::{counted, grouped, percent};
use speedup_analysis::study::{AdviceReport, IndependenceKind, RELATIVE_HALF_WIDTH, ReachReport, Report};

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
    let weight = |warning: &&Warning| {
        BY_WEIGHT.iter().position(|code| warning.code == *code).unwrap_or(BY_WEIGHT.len())
    };
    let mut others: Vec<&Warning> =
        warnings.iter().filter(|warning| SAID.iter().all(|code| warning.code != *code)).collect();
    others.sort_by_key(weight);
    if others.is_empty() {
        return;
    }
    document.section(Kind::Caveats, "Caveats");
    others.iter().take(MOST_CAVEATS).for_each(|warning| closing::write_caveat(document, warning, report));
    if let Some(more) = others.len().checked_sub(MOST_CAVEATS).filter(|more| *more > 0) {
        document.paragraph(format!("and {more} more: --section caveats"), Tone::Plain);
    }
}

/// What to do next, in one sentence or two.
fn next(report: &Report) -> String {
    if let Some(next) = bisection::of(report).and_then(bisection::next) {
        return next;
    }
    if report.mishaps.failed_runs > 0 {
        return "Find out why runs failed: `speedup export --format jsonl` has each with its output."
            .to_owned();
    }
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
    let comparisons = report.benchmarks.iter().flat_map(|benchmark| &benchmark.comparisons);
    let advised: Vec<(&AdviceReport, u64)> = comparisons
        .filter_map(|one| Some((one.advice.as_ref()?, one.baseline_n.min(one.candidate_n))))
        .collect();
    let now = advised.iter().map(|(_, runs)| *runs).min()?;
    let all = report.benchmarks.len() * report.suites.len();
    let which = match all {
        1 => "This is undecided".to_owned(),
        all => format!(
            "{} of {} are undecided",
            grouped(advised.len() as u64),
            counted(all as u64, "comparison")
        ),
    };
    let unit = advised.iter().find_map(|(advice, _)| advice.unit.as_ref()).map_or("run", Word::as_str);
    let needed = advised.iter().map(|(advice, _)| match advice.precision.reach {
        ReachReport::Reached { needed } | ReachReport::MoreRuns { needed } => Some(needed),
        ReachReport::Unreachable { .. } | ReachReport::Unknown { .. } => None,
    });
    let goal = percent(RELATIVE_HALF_WIDTH);
    let has = if unit == "run" { format!(" (now {})", grouped(now)) } else { String::new() };
    let takes = match needed.collect::<Option<Vec<u64>>>().and_then(|all| all.into_iter().max()) {
        Some(needed) => format!("{} of each version give the speedup to ±{goal}{has}", counted(needed, unit)),
        None => format!("no practical number of {unit}s gives every speedup to ±{goal}"),
    };
    Some(format!(
        "{which}: {takes}. Plan a new experiment: repeating until a difference shows has no confidence level."
    ))
}
