//! A report as Bencher Metric Format, which `bencher run --adapter json` reads: of each benchmark in each version the latency in
//! nanoseconds with its interval, a candidate's speedup with its interval, and the medians of other metrics.

use std::collections::BTreeMap;

use serde::Serialize;
use speedup_analysis::study::Report;
use speedup_core::value::foreign::escaped;

use crate::tracked::{BenchmarkMean, benchmark_means};

/// The measure of times, one of those that every project there has.
const LATENCY: &str = "latency";
/// The measure of a candidate's speedup.
const SPEEDUP: &str = "speedup";

/// A value of a measure.
#[derive(Debug, PartialEq, Serialize)]
struct BencherMetric {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

/// The values of a benchmark, by measure.
type Measures = BTreeMap<String, BencherMetric>;

/// The report as JSON.
pub fn json(report: &Report) -> String {
    let all = benchmark_means(report);
    let benchmarks: BTreeMap<&str, Measures> =
        all.iter().map(|tracked| (tracked.name.as_str(), measures(tracked))).collect();
    // Names are text and numbers are finite, or null.
    escaped(&serde_json::to_string_pretty(&benchmarks).unwrap_or_default()).into_owned()
}

fn measures(tracked: &BenchmarkMean<'_>) -> Measures {
    let mean = tracked.mean_ns;
    let around = tracked.half_ns.map(|half| (mean - half, mean + half));
    let mut measures = Measures::from([(LATENCY.to_owned(), metric(mean, around))]);
    if let Some((speedup, ends)) = tracked.speedup {
        measures.insert(SPEEDUP.to_owned(), metric(speedup, ends));
    }
    for one in &tracked.metrics {
        measures.entry(slug(one.name)).or_insert_with(|| metric(one.median, None));
    }
    measures
}

fn metric(value: f64, ends: Option<(f64, f64)>) -> BencherMetric {
    let ends = ends.filter(|(lower, upper)| lower.is_finite() && upper.is_finite());
    let (lower_value, upper_value) = ends.unzip();
    BencherMetric { value, lower_value, upper_value }
}

/// Measures are named with dashes there.
fn slug(name: &str) -> String {
    name.replace('_', "-")
}
