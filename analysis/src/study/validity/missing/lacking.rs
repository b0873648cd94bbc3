//! What is lacking in the other metrics: values, or a part of them. Said for each metric with its counts, for a median of
//! some runs is not one of all.

use crate::study::gather::cell::{Absent, CellRecords};
use crate::{conclusion::WarningCode, conclusion::Warnings, count::counted, count::grouped};
use speedup_core::experiment::metric::{Absence, Metric, OwnMetric};
use std::collections::{BTreeMap, BTreeSet};

/// Raises the caveats of `benchmarks`: each a name and the records of its cells.
pub(crate) fn warn<'a>(
    benchmarks: &[(&'a str, &'a [CellRecords])],
    own: &[OwnMetric],
    warnings: &mut Warnings,
) {
    warn_of_absence(benchmarks, warnings);
    warn_of_user_mode(benchmarks, warnings);
    warn_of_own(benchmarks, own, warnings);
}

/// Whether a reader has to know of a cell's runs without a value. A program that takes no more memory than the agent never
/// shows its peak, and where others do the table of memory says so. But where some runs of the cell show it and some do
/// not, the median is one of the larger; and where nothing shows it there is no table.
fn matters(cell: &CellRecords, metric: Metric, absent: &Absent, is_shown: bool) -> bool {
    let is_below = absent.first.1 == Absence::BelowFloor;
    !is_below || !is_shown || cell.count(metric) > 0
}

fn warn_of_absence(benchmarks: &[(&str, &[CellRecords])], warnings: &mut Warnings) {
    let mut told: BTreeMap<(Metric, &str), Absent> = BTreeMap::new();
    let mut concerned = Vec::new();
    let all = || benchmarks.iter().flat_map(|(_, cells)| *cells);
    let shown: BTreeSet<Metric> = all().flat_map(CellRecords::metrics).collect();
    for (name, cells) in benchmarks {
        for cell in *cells {
            let matters = |metric, absent| matters(cell, metric, absent, shown.contains(&metric));
            let of_cell = cell.absent.iter().filter(|((metric, _), absent)| matters(*metric, absent));
            for ((metric, code), absent) in of_cell {
                told.entry((*metric, code)).or_insert_with(|| Absent::of(&absent.first)).add(absent);
                concerned.push(*name);
            }
        }
    }
    let measured: u64 = all().map(|cell| cell.runs() as u64).sum();
    let clauses = told.iter().map(|((metric, _), Absent { runs, first: (_, absence) })| {
        let of = format!("{} of {}", grouped(*runs), counted(measured, "run"));
        format!("{}: absent in {of}: {}", metric.name(), absence.words())
    });
    let sentence = clauses.collect::<Vec<_>>().join("; ");
    for name in concerned {
        let sentence = || format!("{sentence}. An absent value is not zero, and no median includes it.");
        warnings.concern(WarningCode::MetricAbsent, name, sentence);
    }
}

fn warn_of_user_mode(benchmarks: &[(&str, &[CellRecords])], warnings: &mut Warnings) {
    let mut runs: BTreeMap<Metric, (u64, u64)> = BTreeMap::new();
    for cell in benchmarks.iter().flat_map(|(_, cells)| *cells) {
        for (metric, count) in &cell.user_only {
            let entry = runs.entry(*metric).or_default();
            entry.0 += count;
        }
    }
    for (metric, entry) in &mut runs {
        entry.1 = benchmarks.iter().flat_map(|(_, cells)| *cells).map(|cell| cell.count(*metric)).sum();
    }
    if runs.is_empty() {
        return;
    }
    let clause = |(metric, (some, all)): (&Metric, &(u64, u64))| {
        format!("{} in {} of {}", metric.name(), grouped(*some), counted(*all, "run"))
    };
    let clauses: Vec<String> = runs.iter().map(clause).collect();
    let is_mixed = runs.values().any(|(some, all)| some < all);
    let consequence = match is_mixed {
        true => "its runs are not comparable, as others have both parts",
        false => "what the program does in the kernel is missing",
    };
    let sentence = format!(
        "Counted in user mode only: {}; {consequence}: set kernel.perf_event_paranoid to 1 on the hosts.",
        clauses.join(", ")
    );
    warnings.raise(WarningCode::CountedInUserModeOnly, sentence);
}

/// Every measured run has values of all own metrics, but what is too large to compute with has no mean.
fn warn_of_own(benchmarks: &[(&str, &[CellRecords])], own: &[OwnMetric], warnings: &mut Warnings) {
    for (place, metric) in own.iter().enumerate() {
        for (name, cells) in benchmarks {
            let lacks = |cell: &CellRecords| cell.means(place).map_or(0, |sample| sample.len()) < cell.runs();
            if cells.iter().any(lacks) {
                warnings.concern(WarningCode::OwnMetricLacksRuns, name, || {
                    format!(
                        "Measured runs have no value of {} that can be computed with, and are not in its medians: look \
                         at the values in the export.",
                        metric.name
                    )
                });
            }
        }
    }
}
