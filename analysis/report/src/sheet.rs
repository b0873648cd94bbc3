//! The verdicts of a report as comma-separated values: one row a benchmark and candidate, then one for each verdict
//! on another endpoint and for each control, and one for each estimate of scaling and of ranks; one value a field,
//! times in nanoseconds, and what is not known empty.

mod estimates;

use speedup_analysis::conclusion::Reason;
use speedup_analysis::study::{
    BenchmarkReport, CellReport, ComparisonReport, ControlRow, EndpointReport, EndpointRow, IntervalReport,
    ProtocolReport, ReachReport, Report,
};

use crate::facts::written;

/// The columns, in their order.
const COLUMNS: [&str; 46] = [
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
    "finding",
    "endpoint",
    "adjusted_verdict",
    "adjusted_p_value",
    "smallest_effect",
    "difference",
    "difference_lower",
    "difference_upper",
    "series",
    "hosts",
    "estimate",
    "estimate_lower",
    "estimate_upper",
    "baseline_trimmed_mean_ns",
    "candidate_trimmed_mean_ns",
];

/// What a row is about: its column `finding`.
const HEADLINE: &str = "headline";
const ENDPOINT: &str = "endpoint";
const CONTROL: &str = "control";

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
    for endpoint in &report.endpoints {
        for found in &endpoint.rows {
            let _ = writer.write_record(endpoint_row(report, endpoint, found));
        }
    }
    for control in report.controls.iter().flat_map(|controls| &controls.rows) {
        let _ = writer.write_record(control_row(report, control));
    }
    for named in estimates::scaling_rows(report).into_iter().chain(estimates::rank_rows(report)) {
        let _ = writer.write_record(fields(report, &named));
    }
    written(writer)
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
    let advice = comparison.advice.as_ref();
    let mut row = vec![
        report.head.experiment.clone(),
        benchmark.name.clone(),
        report.head.baseline.clone(),
        comparison.candidate.clone(),
        comparison.verdict.words().to_owned(),
        comparison.by.map_or_else(String::new, |by| by.name().to_owned()),
        comparison.reason.as_ref().map_or_else(String::new, |reason| reason.code.to_string()),
        report.head.confidence.to_string(),
        number(headline.map(|headline| headline.speedup)),
        number(ends.map(|ends| ends.0)),
        number(ends.map(|ends| ends.1)),
        number(interval.map(|(_, confidence)| confidence)),
        interval.map_or_else(String::new, |(method, _)| method.to_owned()),
        number(headline.map(|headline| headline.change_percent)),
        number(headline.and_then(|headline| headline.p_value)),
        number(comparison.protocol_of_center().and_then(|protocol| protocol.best.confidence)),
        protocol_verdict(comparison.mean.as_ref()),
        protocol_verdict(comparison.median.as_ref()),
        number(comparison.probability_faster),
    ];
    row.extend(times(&benchmark.cells[0]));
    row.extend(times(&benchmark.cells[at + 1]));
    row.push(needed(advice.map(|advice| &advice.detection.reach)));
    row.push(needed(advice.map(|advice| &advice.precision.reach)));
    row.extend([HEADLINE.to_owned(), String::new()]);
    let (adjusted_verdict, adjusted_p_value) = comparison.familywise();
    row.extend([adjusted_verdict.words().to_owned(), number(adjusted_p_value)]);
    row.push(number(headline.and_then(|headline| headline.smallest_effect)));
    row.resize(COLUMNS.len() - 2, String::new());
    for cell in [&benchmark.cells[0], &benchmark.cells[at + 1]] {
        row.push(number(cell.wall_ns.as_ref().and_then(|wall| wall.trimmed_mean)));
    }
    row
}

fn protocol_verdict(report: Option<&ProtocolReport>) -> String {
    report.map_or_else(String::new, |report| report.verdict.words().to_owned())
}

fn needed(reach: Option<&ReachReport>) -> String {
    reach.and_then(ReachReport::needed).map_or_else(String::new, |needed| needed.to_string())
}

/// The verdict on an endpoint: its ratio stands where a headline's speedup does, above 1 where the candidate is the better.
fn endpoint_row(report: &Report, endpoint: &EndpointReport, found: &EndpointRow) -> Vec<String> {
    let by = match (endpoint.quantile, endpoint.center) {
        (Some(probability), _) => probability.to_string(),
        (None, center) => center.map_or_else(String::new, |center| center.name().to_owned()),
    };
    let (adjusted_verdict, adjusted_p_value) = found.familywise();
    let mut named = ratio_fields(found.ratio, found.interval.as_ref());
    let difference = found.difference.as_ref();
    let ends = difference.and_then(|difference| difference.interval.ends());
    named.extend([
        ("difference", number(difference.map(|difference| difference.estimate))),
        ("difference_lower", number(ends.map(|ends| ends.0))),
        ("difference_upper", number(ends.map(|ends| ends.1))),
        ("benchmark", found.benchmark.clone()),
        ("candidate", found.candidate.clone()),
        ("verdict", found.verdict.words().to_owned()),
        ("by", by),
        ("reason", code(found.reason.as_ref())),
        ("p_value", number(found.p_value)),
        ("finding", ENDPOINT.to_owned()),
        ("endpoint", endpoint.name()),
        ("adjusted_verdict", adjusted_verdict.words().to_owned()),
        ("adjusted_p_value", number(adjusted_p_value)),
    ]);
    fields(report, &named)
}

fn control_row(report: &Report, control: &ControlRow) -> Vec<String> {
    let mut named = ratio_fields(control.ratio, control.interval.as_ref());
    named.extend([
        ("benchmark", control.benchmark.clone()),
        ("candidate", control.version.clone()),
        ("verdict", control.verdict.words().to_owned()),
        ("reason", code(control.reason.as_ref())),
        ("finding", CONTROL.to_owned()),
        ("smallest_effect", number(control.smallest_effect)),
    ]);
    fields(report, &named)
}

/// A field and the column that it stands in.
type NamedField = (&'static str, String);

fn ratio_fields(ratio: Option<f64>, interval: Option<&IntervalReport>) -> Vec<NamedField> {
    let ends = interval.and_then(IntervalReport::ends);
    let (method, confidence) = match interval {
        Some(IntervalReport::Bounded { method, confidence, .. }) => (method.clone(), Some(*confidence)),
        Some(IntervalReport::Missing { .. }) | None => (String::new(), None),
    };
    vec![
        ("speedup", number(ratio)),
        ("speedup_lower", number(ends.map(|ends| ends.0))),
        ("speedup_upper", number(ends.map(|ends| ends.1))),
        ("interval_confidence", number(confidence)),
        ("interval_method", method),
    ]
}

fn code(reason: Option<&Reason>) -> String {
    reason.map_or_else(String::new, |reason| reason.code.to_string())
}

/// A row that has these fields, and those of the whole report.
fn fields(report: &Report, named: &[NamedField]) -> Vec<String> {
    let mut fields = Vec::with_capacity(COLUMNS.len());
    for column in COLUMNS {
        fields.push(match column {
            "experiment" => report.head.experiment.clone(),
            "baseline" => report.head.baseline.clone(),
            "confidence" => report.head.confidence.to_string(),
            column => {
                let named = named.iter().find(|(name, _)| *name == column);
                named.map_or_else(String::new, |(_, field)| field.clone())
            }
        });
    }
    fields
}

fn times(cell: &CellReport) -> [String; 5] {
    let wall = cell.wall_ns.as_ref();
    [
        cell.n.to_string(),
        number(wall.map(|wall| wall.median)),
        number(wall.map(|wall| wall.mean)),
        number(wall.and_then(|wall| wall.standard_deviation)),
        number(wall.map(|wall| wall.min)),
    ]
}

/// All digits that the number has.
fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
