//! What took part and how fresh it was, by count; and what was compared where it was not independent runs.

use speedup_analysis::count::{counted, grouped, percent};
use speedup_analysis::study::{DesignKind, DesignReport, EvidenceCounts, Report};

use crate::document::{Align, Column, Document, Field, Kind, Table, Tone};

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
            .map(|one| format!("run {} on {}: the host {}", one.run, one.host, one.violation.words()));
        let named: Vec<String> = named.collect();
        let more = match all.saturating_sub(named.len() as u64) {
            0 => String::new(),
            more => format!("; and {} more", counted(more, "run")),
        };
        document.paragraph(format!("Not fresh: {}{more}.", named.join("; ")), Tone::Plain);
    }
    write_designs(document, report);
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
