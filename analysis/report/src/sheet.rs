//! The table of the benchmarks as comma-separated values: one row a benchmark and candidate, one value a field, times in
//! nanoseconds, and what is not known empty.

use speedup_analysis::study::{
    BenchmarkReport, CellReport, ComparisonReport, IntervalReport, ProtocolReport, ReachReport, Report,
    SampleReport,
};

/// The columns, in their order.
const COLUMNS: [&str; 31] = [
    "experiment",
    "benchmark",
    "baseline",
    "candidate",
    "verdict",
    "by",
    "reason",
    "confidence",
    "speedup",
    "speedup_lower",
    "speedup_upper",
    "interval_confidence",
    "interval_method",
    "change_percent",
    "p_value",
    "best_confidence",
    "verdict_by_mean",
    "verdict_by_median",
    "probability_faster",
    "baseline_runs",
    "baseline_median_ns",
    "baseline_mean_ns",
    "baseline_sd_ns",
    "baseline_min_ns",
    "candidate_runs",
    "candidate_median_ns",
    "candidate_mean_ns",
    "candidate_sd_ns",
    "candidate_min_ns",
    "runs_to_show",
    "runs_to_one_percent",
];

/// The table, with a heading.
pub fn csv(report: &Report) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing into memory does not fail, and rows are as long as their heading.
    let _ = writer.write_record(COLUMNS);
    for benchmark in &report.benchmarks {
        for (at, comparison) in benchmark.comparisons.iter().enumerate() {
            let _ = writer.write_record(row(report, benchmark, comparison, at));
        }
    }
    writer.into_inner().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

fn row(
    report: &Report,
    benchmark: &BenchmarkReport,
    comparison: &ComparisonReport,
    at: usize,
) -> Vec<String> {
    let headline = comparison.headline();
    let headline = headline.as_ref();
    let ends = headline.and_then(|headline| headline.interval.ends());
    let interval = headline.and_then(|headline| match &headline.interval {
        IntervalReport::Bounded { method, confidence, .. } => Some((method.as_str(), *confidence)),
        IntervalReport::Missing { .. } => None,
    });
    let protocol = |report: &Option<ProtocolReport>| {
        report.as_ref().map_or_else(String::new, |report| report.verdict.words().to_owned())
    };
    let needed = |reach: Option<&ReachReport>| match reach {
        Some(ReachReport::Reached { needed } | ReachReport::MoreRuns { needed }) => needed.to_string(),
        Some(ReachReport::Unreachable { .. } | ReachReport::Unknown { .. }) | None => String::new(),
    };
    let advice = comparison.advice.as_ref();
    let mut row = vec![
        report.head.experiment.clone(),
        benchmark.name.clone(),
        report.head.baseline.clone(),
        comparison.candidate.clone(),
        comparison.verdict.words().to_owned(),
        comparison.by.map_or_else(String::new, |by| by.name().to_owned()),
        comparison.reason.as_ref().map_or_else(String::new, |reason| reason.code.clone()),
        report.head.confidence.to_string(),
        number(headline.map(|headline| headline.speedup)),
        number(ends.map(|ends| ends.0)),
        number(ends.map(|ends| ends.1)),
        number(interval.map(|(_, confidence)| confidence)),
        interval.map_or_else(String::new, |(method, _)| method.to_owned()),
        number(headline.map(|headline| headline.change_percent)),
        number(headline.and_then(|headline| headline.p_value)),
        number(comparison.by.and_then(|by| comparison.of(by)).and_then(|protocol| protocol.best.confidence)),
        protocol(&comparison.mean),
        protocol(&comparison.median),
        number(comparison.probability_faster),
    ];
    row.extend(times(&benchmark.cells[0]));
    row.extend(times(&benchmark.cells[at + 1]));
    row.push(needed(advice.map(|advice| &advice.detection.reach)));
    row.push(needed(advice.map(|advice| &advice.precision.reach)));
    row
}

fn times(cell: &CellReport) -> [String; 5] {
    let of = |pick: fn(&SampleReport) -> f64| number(cell.wall_ns.as_ref().map(pick));
    let deviation = cell.wall_ns.as_ref().and_then(|wall| wall.standard_deviation);
    [cell.n.to_string(), of(|wall| wall.median), of(|wall| wall.mean), number(deviation), of(|wall| wall.min)]
}

/// All digits that the number has.
fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
