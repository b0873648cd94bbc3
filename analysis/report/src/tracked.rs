//! What a service that tracks benchmarks over time is told of a report: one mean time of each benchmark in each version, and
//! the speedup of each candidate.

use speedup_analysis::study::{CellReport, ComparisonReport, Report};
use speedup_core::experiment::metric::Better;
use speedup_statistics::distribution::student_t;

/// The mean time of a benchmark in a version.
pub(crate) struct BenchmarkMean<'a> {
    /// The benchmark, as it is called there: with its version.
    pub(crate) name: String,
    pub(crate) runs: u64,
    pub(crate) mean_ns: f64,
    /// Half of the mean's interval at the report's confidence level (Student's t); of one run there is none.
    pub(crate) half_ns: Option<f64>,
    pub(crate) standard_deviation_ns: Option<f64>,
    /// The speedup over the baseline and its interval, of a candidate.
    pub(crate) speedup: Option<(f64, Option<(f64, f64)>)>,
    /// The medians of other metrics.
    pub(crate) metrics: Vec<TrackedMetric<'a>>,
}

/// The median of another metric.
pub(crate) struct TrackedMetric<'a> {
    pub(crate) name: &'a str,
    pub(crate) unit: &'a str,
    pub(crate) median: f64,
    pub(crate) lower_is_better: bool,
}

/// What a report tells, benchmark by benchmark, the baseline first. Cells without measured runs are left out.
pub(crate) fn benchmark_means(report: &Report) -> Vec<BenchmarkMean<'_>> {
    let mut all = Vec::new();
    for benchmark in &report.benchmarks {
        for (at, cell) in benchmark.cells.iter().enumerate() {
            let Some(wall) = &cell.wall_ns else { continue };
            let comparison = at.checked_sub(1).and_then(|at| benchmark.comparisons.get(at));
            let headline = comparison.and_then(ComparisonReport::headline);
            all.push(BenchmarkMean {
                name: name(&benchmark.name, &cell.version),
                runs: cell.n,
                mean_ns: wall.mean,
                half_ns: half_width(cell, report.head.confidence),
                standard_deviation_ns: wall.standard_deviation,
                speedup: headline.map(|headline| (headline.speedup, headline.interval.ends())),
                metrics: metrics(report, &benchmark.name, at),
            });
        }
    }
    all
}

/// What a benchmark in a version is called where there is one name for both.
pub(crate) fn name(benchmark: &str, version: &str) -> String {
    format!("{benchmark} ({version})")
}

fn metrics<'a>(report: &'a Report, benchmark: &str, version: usize) -> Vec<TrackedMetric<'a>> {
    let mut metrics = Vec::new();
    for metric in &report.metrics {
        let row = metric.rows.iter().find(|row| row.benchmark == benchmark);
        let median = row.and_then(|row| row.medians.get(version).copied().flatten());
        if let Some(median) = median.filter(|median| median.is_finite()) {
            let lower_is_better = metric.better == Better::Lower;
            metrics.push(TrackedMetric { name: &metric.metric, unit: &metric.unit, median, lower_is_better });
        }
    }
    metrics
}

/// Half the width of Student's interval of the mean: t · s/√n.
fn half_width(cell: &CellReport, confidence: f64) -> Option<f64> {
    let deviation = cell.wall_ns.as_ref()?.standard_deviation?;
    let n = cell.n as f64;
    let half = student_t::two_sided_critical(1.0 - confidence, n - 1.0) * deviation / n.sqrt();
    (cell.n > 1 && half.is_finite()).then_some(half)
}
