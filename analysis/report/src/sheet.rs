//! The verdicts of a report as comma-separated values: one row a benchmark and candidate, then one for each verdict
//! on another endpoint and for each control, and one for each estimate of scaling and of ranks; one value a field,
//! times in nanoseconds, and what is not known empty.

mod estimates;

use speedup_analysis::conclusion::Reason;
use speedup_analysis::study::{
    BenchmarkReport, ComparisonReport, ControlRow, EndpointReport, EndpointRow, IntervalReport,
    ProtocolReport, ReachReport, Report,
};

use crate::facts::csv_text;

/// The columns, in their order.
const COLUMNS: &str = "experiment,benchmark,baseline,candidate,verdict,by,reason,confidence,speedup,speedup_lower,\
    speedup_upper,interval_confidence,interval_method,change_percent,p_value,best_confidence,\
    verdict_by_mean,verdict_by_median,probability_faster,baseline_runs,baseline_median_ns,\
    baseline_mean_ns,baseline_sd_ns,baseline_min_ns,candidate_runs,candidate_median_ns,\
    candidate_mean_ns,candidate_sd_ns,candidate_min_ns,runs_to_show,runs_to_one_percent,finding,\
    endpoint,adjusted_verdict,adjusted_p_value,smallest_effect,difference,difference_lower,\
    difference_upper,series,hosts,estimate,estimate_lower,estimate_upper,baseline_trimmed_mean_ns,\
    candidate_trimmed_mean_ns";

/// What a row is about: its column `finding`.
const HEADLINE: &str = "headline";
const ENDPOINT: &str = "endpoint";
const CONTROL: &str = "control";

/// The table, with a heading.
pub fn csv(report: &Report) -> String {
    let mut rows = Vec::new();
    for benchmark in &report.benchmarks {
        for (at, comparison) in benchmark.comparisons.iter().enumerate() {
            rows.push(headline_row(benchmark, comparison, at));
        }
    }
    for endpoint in &report.endpoints {
        rows.extend(endpoint.rows.iter().map(|found| endpoint_row(endpoint, found)));
    }
    if let Some(controls) = &report.controls {
        rows.extend(controls.rows.iter().map(control_row));
    }
    rows.extend(estimates::scaling_rows(report));
    rows.extend(estimates::rank_rows(report));
    let headings = COLUMNS.split(',').map(str::to_owned).collect();
    csv_text(headings, rows.iter().map(|row| fields(report, row)))
}

fn headline_row(benchmark: &BenchmarkReport, comparison: &ComparisonReport, at: usize) -> Vec<NamedField> {
    let headline = comparison.headline();
    let headline = headline.as_ref();
    let advice = comparison.advice.as_ref();
    let (adjusted_verdict, adjusted_p_value) = comparison.familywise();
    let center_protocol = comparison.protocol_of_center();
    let mut named =
        ratio_fields(headline.map(|headline| headline.speedup), headline.map(|headline| &headline.interval));
    named.extend([
        ("benchmark", benchmark.name.clone()),
        ("candidate", comparison.candidate.clone()),
        ("verdict", comparison.verdict.words().to_owned()),
        ("by", comparison.by.map_or_else(String::new, |by| by.name().to_owned())),
        ("reason", code(comparison.reason.as_ref())),
        ("change_percent", number(headline.map(|headline| headline.change_percent))),
        ("p_value", number(headline.and_then(|headline| headline.p_value))),
        ("best_confidence", number(center_protocol.and_then(|protocol| protocol.best.confidence))),
        ("verdict_by_mean", protocol_verdict(comparison.mean.as_ref())),
        ("verdict_by_median", protocol_verdict(comparison.median.as_ref())),
        ("probability_faster", number(comparison.probability_faster)),
        ("runs_to_show", needed(advice.map(|advice| &advice.detection.reach))),
        ("runs_to_one_percent", needed(advice.map(|advice| &advice.precision.reach))),
        ("finding", HEADLINE.to_owned()),
        ("adjusted_verdict", adjusted_verdict.words().to_owned()),
        ("adjusted_p_value", number(adjusted_p_value)),
        ("smallest_effect", number(headline.and_then(|headline| headline.smallest_effect))),
    ]);
    let baseline = &benchmark.cells[0];
    let wall = baseline.wall_ns.as_ref();
    named.extend([
        ("baseline_runs", baseline.n.to_string()),
        ("baseline_median_ns", number(wall.map(|wall| wall.median))),
        ("baseline_mean_ns", number(wall.map(|wall| wall.mean))),
        ("baseline_sd_ns", number(wall.and_then(|wall| wall.standard_deviation))),
        ("baseline_min_ns", number(wall.map(|wall| wall.min))),
        ("baseline_trimmed_mean_ns", number(wall.and_then(|wall| wall.trimmed_mean))),
    ]);
    let candidate = &benchmark.cells[at + 1];
    let wall = candidate.wall_ns.as_ref();
    named.extend([
        ("candidate_runs", candidate.n.to_string()),
        ("candidate_median_ns", number(wall.map(|wall| wall.median))),
        ("candidate_mean_ns", number(wall.map(|wall| wall.mean))),
        ("candidate_sd_ns", number(wall.and_then(|wall| wall.standard_deviation))),
        ("candidate_min_ns", number(wall.map(|wall| wall.min))),
        ("candidate_trimmed_mean_ns", number(wall.and_then(|wall| wall.trimmed_mean))),
    ]);
    named
}

fn protocol_verdict(report: Option<&ProtocolReport>) -> String {
    report.map_or_else(String::new, |report| report.verdict.words().to_owned())
}

fn needed(reach: Option<&ReachReport>) -> String {
    reach.and_then(ReachReport::needed).map_or_else(String::new, |needed| needed.to_string())
}

/// The verdict on an endpoint: its ratio stands where a headline's speedup does, above 1 where the candidate is the better.
fn endpoint_row(endpoint: &EndpointReport, found: &EndpointRow) -> Vec<NamedField> {
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
    named
}

fn control_row(control: &ControlRow) -> Vec<NamedField> {
    let mut named = ratio_fields(control.ratio, control.interval.as_ref());
    named.extend([
        ("benchmark", control.benchmark.clone()),
        ("candidate", control.version.clone()),
        ("verdict", control.verdict.words().to_owned()),
        ("reason", code(control.reason.as_ref())),
        ("finding", CONTROL.to_owned()),
        ("smallest_effect", number(control.smallest_effect)),
    ]);
    named
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
    let mut fields = Vec::new();
    for column in COLUMNS.split(',') {
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

/// All digits that the number has.
fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
