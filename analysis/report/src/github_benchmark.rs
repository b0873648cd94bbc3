//! A report as github-action-benchmark takes it from any tool, as `customSmallerIsBetter`: the mean time of each benchmark in each
//! version with its interval, and the medians of other metrics of which less is better.

use serde::Serialize;
use speedup_analysis::{count, study::Report};
use speedup_core::value::foreign::escaped;

use crate::tracked::{BenchmarkMean, benchmark_means};

/// One line of a chart.
#[derive(Debug, Serialize)]
struct ChartValue {
    name: String,
    unit: String,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    extra: String,
}

/// The report as JSON.
pub fn json(report: &Report) -> String {
    let all = benchmark_means(report);
    let values: Vec<ChartValue> = all.iter().flat_map(|tracked| values(report, tracked)).collect();
    // Names are text and numbers are finite.
    escaped(&serde_json::to_string_pretty(&values).unwrap_or_default()).into_owned()
}

fn values(report: &Report, tracked: &BenchmarkMean<'_>) -> Vec<ChartValue> {
    let level = count::percent(report.head.confidence);
    let about = format!("experiment {}", report.head.experiment);
    let mut extra = format!("mean of {} runs", tracked.runs);
    if tracked.half_ns.is_some() {
        extra.push_str(&format!(", {level} interval by Student's t"));
    }
    if let Some(deviation) = tracked.standard_deviation_ns {
        extra.push_str(&format!("\nstandard deviation {deviation:.0} ns"));
    }
    if let Some((speedup, ends)) = tracked.speedup {
        extra.push_str(&format!("\nspeedup over {}: {}", report.head.baseline, count::ratio(speedup, ends)));
    }
    let time = ChartValue {
        name: tracked.name.clone(),
        unit: "ns".to_owned(),
        value: tracked.mean_ns,
        range: tracked.half_ns.map(|half| format!("± {half:.0}")),
        extra: format!("{extra}\n{about}"),
    };
    let smaller = tracked.metrics.iter().filter(|metric| metric.lower_is_better);
    let others = smaller.map(|metric| ChartValue {
        name: format!("{}: {}", tracked.name, metric.name),
        unit: metric.unit.to_owned(),
        value: metric.median,
        range: None,
        extra: format!("median of {} runs\n{about}", tracked.runs),
    });
    std::iter::once(time).chain(others).collect()
}
