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
    let mut columns = Vec::new();
    let mut fields: Vec<Field> = Vec::new();
    // The higher the rank, the sooner a narrow page does without it.
    for (name, text, rank) in [
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
    ] {
        let align = if name == "policy" { Align::Left } else { Align::Right };
        columns.push(Column::new(name, align, rank));
        fields.push(text.into());
    }
    document.table(Table { columns, rows: vec![fields.into()], ..Table::default() });
    let all: u64 = violations.values().sum();
    if all > 0 {
        let mut named = Vec::new();
        for one in violating_runs.iter().take(MOST_NAMED) {
            let host = one.host_name.as_ref().unwrap_or(&one.host);
            named.push(format!("run {} on {host}: the host {}", one.run, one.violation.words()));
        }
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
                rows.push(TableRow::from(vec![
                    benchmark.name.as_str().into(),
                    comparison.candidate.as_str().into(),
                    level.level.as_str().into(),
                    baseline.into(),
                    candidate.into(),
                ]));
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

/// Describes what was compared where the units are not independent runs.
fn write_designs(document: &mut Document, report: &Report) {
    for kind in [DesignKind::Pairs, DesignKind::Classes, DesignKind::Builds, DesignKind::Levels] {
        let comparisons = report.benchmarks.iter().flat_map(|benchmark| &benchmark.comparisons);
        let all = comparisons.filter_map(|comparison| comparison.design.as_ref());
        let designs: Vec<&DesignReport> = all.filter(|design| design.kind == kind).collect();
        if let Some(first) = designs.first() {
            document.paragraph(design_in_words(kind, first.unit.as_str(), &designs), Tone::Plain);
        }
    }
}

fn design_in_words(kind: DesignKind, unit: &str, designs: &[&DesignReport]) -> String {
    let incomplete: u64 = designs.iter().map(|design| design.incomplete).sum();
    match kind {
        DesignKind::Pairs => {
            let pairs: u64 = designs.iter().map(|design| design.baseline_units).sum();
            format!(
                "Compared in pairs: {}; {} lack the run of one version and are left out.",
                counted(pairs, "pair"),
                counted(incomplete, "visit")
            )
        }
        DesignKind::Classes => {
            let left_out = match incomplete {
                0 => String::new(),
                some => format!("; without runs of both versions and left out: {}", grouped(some)),
            };
            format!(
                "Compared within the classes of hosts, never across: verdicts, overall speedups and hosts go by class{left_out}."
            )
        }
        DesignKind::Builds => format!(
            "Compared by builds: what is independent of a version that is built several times are its builds, not their runs; \
             the least of a comparison are {} of the baseline and {} of the candidate.",
            grouped(designs.iter().map(|design| design.baseline_units).min().unwrap_or(0)),
            grouped(designs.iter().map(|design| design.candidate_units).min().unwrap_or(0))
        ),
        DesignKind::Levels => {
            let units = designs.iter().map(|design| design.baseline_units.min(design.candidate_units));
            format!(
                "Compared by levels: what is independent are {unit}s, at least {} of each version.",
                grouped(units.min().unwrap_or(0))
            )
        }
    }
}
