//! What the ranks of runs on several hosts took, where the plan has them timed.

use speedup_analysis::count::{counted, decimals, percent, ratio};
use speedup_analysis::study::{RankValue, RanksReport, Report};

use super::benchmarks::NOTHING;
use crate::document::{Align, Column, Document, Field, Kind, LegendEntry, Table, TableRow, Tone};
use crate::duration::Unit;

/// A section for each benchmark.
pub(super) fn write(document: &mut Document, report: &Report) {
    for of in &report.ranks {
        let on = format!("{} on {}", counted(of.ranks, "rank"), counted(of.hosts.into(), "host"));
        document.section(Kind::Ranks, format!("Ranks: {}, {on}", of.benchmark));
        document.table(values(of, &report.head.baseline, report.head.confidence));
        for version in of.versions.iter().filter(|version| !version.sentence.is_empty()) {
            document.paragraph(version.sentence.as_str(), Tone::Plain);
        }
    }
}

/// A row for each version.
fn values(of: &RanksReport, baseline: &str, confidence: f64) -> Table {
    let slowest = of.versions.iter().filter_map(|version| version.slowest_ns.as_ref());
    let unit = Unit::fitting(slowest.map(|value| value.estimate));
    let skews = of.versions.iter().filter_map(|version| version.skew_ns.as_ref());
    let unit_of_skew = Unit::fitting(skews.map(|value| value.estimate).filter(|skew| *skew > 0.0));
    let columns = vec![
        Column::new("version", Align::Left, 0),
        Column::new("n", Align::Right, 3),
        Column::new(format!("slowest rank, {}", unit.name), Align::Left, 0),
        Column::new("speedup", Align::Left, 2),
        Column::new(format!("skew, {}", unit_of_skew.name), Align::Left, 0),
        Column::new("imbalance", Align::Left, 1),
    ];
    let mut rows = Vec::new();
    for version in &of.versions {
        rows.push(TableRow::from(vec![
            Field::name(&version.version),
            version.n.to_string().into(),
            shown(version.slowest_ns.as_ref(), |value| in_digits(value, |ns| unit.convert(ns), "")),
            shown(version.speedup.as_ref(), |value| ratio(value.estimate, value.interval.ends())),
            shown(version.skew_ns.as_ref(), |value| in_digits(value, |ns| unit_of_skew.convert(ns), "")),
            shown(version.imbalance.as_ref(), |value| in_digits(value, |share| 100.0 * share, "\u{a0}%")),
        ]));
    }
    let text = format!(
        "Slowest rank: the wall time of a run's slowest rank, the mean over runs. Speedup: that of {baseline} over that of the version, above 1 faster. Skew: by how much it \
         exceeds the fastest rank's, imbalance: by how much it exceeds the mean of all ranks; medians over runs. Intervals: two-sided at {}, each by itself; no gate goes \
         by them. More often than chance: were all ranks alike, each would be the slowest of a run as often as any other.",
        percent(confidence)
    );
    Table { columns, rows, legend: vec![LegendEntry::always(text)], tells_left_out: true }
}

fn shown(value: Option<&RankValue>, as_text: impl Fn(&RankValue) -> String) -> Field {
    value.map_or_else(|| NOTHING.to_owned(), as_text).into()
}

/// "61.2 [60.8, 61.6]", with as many digits as the interval bears.
fn in_digits(value: &RankValue, to_unit: impl Fn(f64) -> f64, unit: &str) -> String {
    let estimate = to_unit(value.estimate);
    match value.interval.ends() {
        Some((lower, upper)) => {
            let [lower, upper] = [lower, upper].map(to_unit);
            let digits = decimals((upper - lower) / 10.0, 4);
            format!("{estimate:.digits$}{unit} [{lower:.digits$}, {upper:.digits$}]")
        }
        None => {
            let digits = if estimate == 0.0 { 0 } else { decimals(estimate / 100.0, 3) };
            format!("{estimate:.digits$}{unit}")
        }
    }
}
