//! What took part and how fresh it was, by count; and what was compared where it was not independent runs.

use speedup_analysis::count::{counted, grouped, percent};
use speedup_analysis::study::{DesignKind, DesignReport, EvidenceCounts, LevelSpread, Report};

use super::benchmarks::NOTHING;
use crate::document::{Align, Column, Document, Field, Kind, LegendEntry, Table, TableRow, Tone};

/// Rows of levels that are shown; JSON has all.
const MOST_LEVELS: usize = 60;
/// Runs that are named; the JSON has more.
const MOST_NAMED: usize = 5;

pub(super) fn write(document: &mut Document, report: &Report) {
    let independence = &report.independence;
    let EvidenceCounts { visits, boots, allocations, classes, violations, violating_runs, .. } =
        &independence.evidence;
    if *visits == 0 {
        return;
    }
    document.section(Kind::Independence, "Independence, by the evidence");
    let share =
        independence.fresh_share.map_or_else(String::new, |share| percent((share * 1e3).round() / 1e3));
    // The higher the rank, the sooner a narrow page does without it.
    let cells = [
        ("policy", independence.policy.name().to_owned(), 0),
        ("runs", grouped(independence.runs), 0),
        ("fresh", grouped(independence.fresh_runs), 0),
        ("share", share, 3),
        ("visits", grouped(*visits), 1),
        ("hosts", grouped(independence.hosts), 0),
        ("boots", grouped(*boots), 1),
        ("allocations", grouped(*allocations), 2),
        ("classes", grouped(*classes), 2),
        ("most on a host", grouped(independence.most_runs_on_one_host), 3),
    ];
    let align = |name: &str| if name == "policy" { Align::Left } else { Align::Right };
    let columns = cells.each_ref().map(|(name, _, rank)| Column::new(*name, align(name), *rank));
    let fields: Vec<Field> = cells.into_iter().map(|(_, text, _)| text.into()).collect();
    document.table(Table { columns: columns.into(), rows: vec![fields.into()], ..Table::default() });
    let all: u64 = violations.values().sum();
    if all > 0 {
        let named = violating_runs
            .iter()
            .take(MOST_NAMED)
            .map(|one| (one.run, one.host_name.as_ref().unwrap_or(&one.host), one.violation.words()))
            .map(|(run, host, words)| format!("run {run} on {host}: the host {words}"));
        let named: Vec<String> = named.collect();
        let more = match all.saturating_sub(named.len() as u64) {
            0 => String::new(),
            more => format!("; and {} more", counted(more, "run")),
        };
        document.paragraph(format!("Not fresh: {}{more}.", named.join("; ")), Tone::Plain);
    }
    write_designs(document, report);
    write_levels(document, report);
}

/// What each level adds to the variance of a run.
fn write_levels(document: &mut Document, report: &Report) {
    let mut rows: Vec<TableRow> = Vec::new();
    for benchmark in &report.benchmarks {
        for comparison in &benchmark.comparisons {
            let baseline = shares(&comparison.levels, |level| level.baseline_sd_ns);
            let candidate = shares(&comparison.levels, |level| level.candidate_sd_ns);
            for ((level, baseline), candidate) in comparison.levels.iter().zip(baseline).zip(candidate) {
                let about =
                    [benchmark.name.as_str(), &comparison.candidate, level.level.as_str()].map(Field::from);
                rows.push(
                    about
                        .into_iter()
                        .chain([baseline.into(), candidate.into()])
                        .collect::<Vec<Field>>()
                        .into(),
                );
            }
        }
    }
    let more = rows.len().saturating_sub(MOST_LEVELS);
    rows.truncate(MOST_LEVELS);
    if rows.is_empty() {
        return;
    }
    let mut legend =
        "What each level adds to the variance of a run; what was not repeated is part of a neighbour."
            .to_owned();
    if more > 0 {
        legend += &format!(" And {more} rows more; --format json has all.");
    }
    document.table(Table {
        columns: vec![
            Column::new("benchmark", Align::Left, 0),
            Column::new("candidate", Align::Left, 1),
            Column::new("level", Align::Left, 0),
            Column::new("baseline's", Align::Right, 0),
            Column::new("candidate's", Align::Right, 0),
        ],
        rows,
        legend: vec![LegendEntry::always(legend)],
        ..Table::default()
    });
}

/// The share of each level in the variances of all.
fn shares(levels: &[LevelSpread], deviation: fn(&LevelSpread) -> Option<f64>) -> Vec<String> {
    let variances: Vec<Option<f64>> =
        levels.iter().map(|level| deviation(level).map(|deviation| deviation * deviation)).collect();
    let all: f64 = variances.iter().flatten().sum();
    let share = |variance: Option<f64>| match variance {
        Some(variance) if all > 0.0 => percent((variance / all * 1e3).round() / 1e3),
        Some(_) | None => NOTHING.to_owned(),
    };
    variances.into_iter().map(share).collect()
}

fn write_designs(document: &mut Document, report: &Report) {
    let comparisons = report.benchmarks.iter().flat_map(|benchmark| &benchmark.comparisons);
    let designs: Vec<&DesignReport> =
        comparisons.filter_map(|comparison| comparison.design.as_ref()).collect();
    let of = |kind| designs.iter().filter(move |design| design.kind == kind);
    let pairs: u64 = of(DesignKind::Pairs).map(|design| design.baseline_units).sum();
    if of(DesignKind::Pairs).count() > 0 {
        let incomplete: u64 = of(DesignKind::Pairs).map(|design| design.incomplete).sum();
        document.paragraph(
            format!(
                "Compared in pairs: {}; {} lack the run of one version and are left out.",
                counted(pairs, "pair"),
                counted(incomplete, "visit")
            ),
            Tone::Plain,
        );
    }
    if of(DesignKind::Classes).count() > 0 {
        let left_out: u64 = of(DesignKind::Classes).map(|design| design.incomplete).sum();
        let left_out = match left_out {
            0 => String::new(),
            some => format!("; without runs of both versions and left out: {}", grouped(some)),
        };
        document.paragraph(
            format!(
                "Compared within the classes of hosts, never across: verdicts, overall speedups and hosts go by class{left_out}."
            ),
            Tone::Plain,
        );
    }
    if of(DesignKind::Builds).count() > 0 {
        let units = |of_side: fn(&DesignReport) -> u64| of(DesignKind::Builds).map(|one| of_side(one)).min();
        let [baseline, candidate] = [units(|one| one.baseline_units), units(|one| one.candidate_units)];
        document.paragraph(
            format!(
                "Compared by builds: what is independent of a version that is built several times are its builds, not their runs; \
                 the least of a comparison are {} of the baseline and {} of the candidate.",
                grouped(baseline.unwrap_or(0)),
                grouped(candidate.unwrap_or(0))
            ),
            Tone::Plain,
        );
    }
    if let Some(first) = of(DesignKind::Levels).next() {
        let units =
            of(DesignKind::Levels).map(|design| design.baseline_units.min(design.candidate_units)).min();
        document.paragraph(
            format!(
                "Compared by levels: what is independent are {}s, at least {} of each version.",
                first.unit,
                grouped(units.unwrap_or(0))
            ),
            Tone::Plain,
        );
    }
}
