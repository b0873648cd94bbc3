//! What a bisection found, in sentences.

use super::report::{BisectionReport, BisectionVerdict, CommitSetReport, NextProbes};
use crate::count::{counted, percent, ratio};
use speedup_core::experiment::metric::Metric;

/// Commits that a sentence names.
const NAMED: usize = 4;
/// Characters of a subject in a sentence.
const MOST_OF_A_SUBJECT: usize = 60;

/// Of two steps that are likelier than one.
pub(super) const PERHAPS_SEVERAL: &str = "Two steps explain the runs better than one, though not at the confidence level: bisect the parts of the range.";
/// Of what ended early.
pub(super) const CANCELLED: &str =
    "The bisection was cancelled; its probabilities hold for the runs that were measured.";
/// Of builds that differ in what no commit changed.
pub(super) const NO_MARGIN: &str = "Each commit was built once, and no margin was given: a build may be slower by chance, as by the layout of its code. \
     With --margin only larger steps count.";

/// Of commits of the set that cannot be run.
pub(super) fn passed_over(commits: usize) -> String {
    format!(
        "{} of the set could not be built or run, so the step cannot be told from that of the next commit.",
        counted(commits as u64, "commit")
    )
}

/// Of measured runs that say nothing.
pub(super) fn without_value(runs: u64, metric: &str) -> String {
    format!("{} had no positive value of {metric} and say nothing.", counted(runs, "measured run"))
}

/// Which commits were held to be likelier than others, as whoever judges the answer has to know.
pub(super) fn prior(report: &BisectionReport) -> Option<String> {
    let mut weights: Vec<f64> = report.prior.iter().map(|of| of.weight).collect();
    weights.sort_unstable_by(|one, other| f64::total_cmp(other, one));
    weights.dedup();
    let mut parts = Vec::new();
    for weight in weights {
        let paths = report.prior.iter().filter(|of| of.weight == weight);
        let paths = paths.map(|of| of.path.as_str()).collect::<Vec<_>>().join(" or ");
        // A commit weighs as much as its heaviest file: it is unlikely only if all of them are.
        let only = if weight < 1.0 { "only " } else { "" };
        parts.push(match parts.is_empty() {
            true => format!(
                "commits that change {only}{paths} were held to be {weight} times as likely to have the step as others"
            ),
            false => format!("those that change {only}{paths} {weight} times"),
        });
    }
    if parts.is_empty() {
        return None;
    }
    Some(format!(
        "Beforehand, {}. The level holds on average over commits drawn by these weights.",
        parts.join(", and ")
    ))
}

/// What was found at a confidence level; `failing` is an end that cannot be measured.
pub(super) fn sentence(report: &BisectionReport, failing: Option<&str>, level: f64) -> String {
    let at = format!("at confidence level {}", percent(level));
    match report.verdict.known() {
        Some(BisectionVerdict::Step) => {
            format!("The step is at {}, {at}. {}", set(report, &report.set), size(report))
        }
        Some(BisectionVerdict::NoStep) => {
            let margin = report.margin.map_or_else(String::new, |m| format!(" beyond ±{}", percent(m)));
            format!("There is no step{margin} between {}, {at}. {}", ends(report), size(report))
        }
        Some(BisectionVerdict::Several) => {
            let steps = report.several.as_ref().map_or_else(String::new, |several| {
                let [first, second] = [&several.first, &several.second].map(|of| set(report, of));
                format!(": one at {first}; another at {second}")
            });
            format!("There is more than one step, {at}{steps}. {}", size(report))
        }
        Some(BisectionVerdict::NoEnd) => {
            let end = failing.map_or_else(String::new, |end| name(report, end));
            format!("Nothing can be said: all runs of the end {end} failed.")
        }
        Some(BisectionVerdict::Undecided) | None if report.runs == 0 => {
            "Undecided: nothing is measured yet.".to_owned()
        }
        Some(BisectionVerdict::Undecided) | None => format!(
            "Undecided after {}, {at}: the probability that there is a step is {}; if there is one, it is at {}. {}",
            counted(report.runs, "run"),
            // To a tenth of a percent: it is no more exact.
            percent(((1.0 - report.no_step) * 1e3).round() / 1e3),
            set(report, &report.set),
            size(report)
        ),
    }
}

/// Why it goes on, for the journal.
pub(super) fn next(report: &BisectionReport, next: &NextProbes) -> String {
    let names = |numbers: &mut dyn Iterator<Item = &u32>| {
        let commit = |number: &u32| report.commits.get(*number as usize).map(|one| one.version.as_str());
        numbers.filter_map(commit).collect::<Vec<_>>().join(", ")
    };
    let what = if next.builds.is_empty() {
        let last = report.commits.len().saturating_sub(1) as u32;
        let mut probes: Vec<u32> = next.blocks.iter().flatten().copied().collect();
        probes.sort_unstable();
        probes.dedup();
        let blocks = counted(next.blocks.len() as u64, "block");
        match names(&mut probes.iter().filter(|number| ![0, last].contains(*number))) {
            probes if probes.is_empty() => format!("{blocks} of both ends"),
            probes => format!("{blocks} of both ends and {probes}"),
        }
    } else {
        format!("the build of {}", names(&mut next.builds.iter()))
    };
    format!("{} Next: {what}.", report.sentence)
}

fn size(report: &BisectionReport) -> String {
    let Some(size) = report.size else { return String::new() };
    let [lower, upper] = size.interval;
    let shown = ratio(size.ratio, Some((lower, upper)));
    if report.metric == Metric::Wall.name() {
        format!("On {}, the bad end takes {shown} the time of the good end.", report.benchmark)
    } else {
        format!("On {}, {} at the bad end is {shown} that at the good end.", report.benchmark, report.metric)
    }
}

fn ends(report: &BisectionReport) -> String {
    let of = |commit: Option<&super::LineCommit>| {
        commit.map_or_else(String::new, |commit| name(report, &commit.version))
    };
    format!("{} and {}", of(report.commits.first()), of(report.commits.last()))
}

fn set(report: &BisectionReport, set: &CommitSetReport) -> String {
    let named: Vec<String> = set.versions.iter().take(NAMED).map(|version| name(report, version)).collect();
    let commits = set.versions.len();
    match commits {
        1 => named.concat(),
        _ if commits <= NAMED => format!("one of {commits} commits: {}", named.join("; ")),
        _ => {
            let [first, last] = [set.versions.first(), set.versions.last()]
                .map(|end| end.map_or_else(String::new, |version| name(report, version)));
            let likeliest = name(report, &set.likeliest);
            format!("one of {commits} commits from {first} to {last}, the likeliest being {likeliest}")
        }
    }
}

/// A commit with its subject.
fn name(report: &BisectionReport, version: &str) -> String {
    let subject = report.commit(version).map_or("", |commit| commit.subject.as_str());
    if subject.is_empty() {
        return version.to_owned();
    }
    let mut shown: String = subject.chars().take(MOST_OF_A_SUBJECT).collect();
    if shown.len() < subject.len() {
        shown.push('…');
    }
    format!("{version} ({shown})")
}
