//! The other metrics: medians and their ratios, without tests.

use super::cell::CellRecords;
use serde::{Deserialize, Serialize};
use speedup_core::experiment::Metric;

/// Why there are no verdicts on these.
const SENTENCE: &str = "Medians and ratios only: these counters step (the kernel's clock ticks, pages, whole \
    events), so they tie, and the tests of this report are for continuous metrics.";

/// The medians of one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricReport {
    /// Its name.
    pub metric: String,
    /// `ns`, `bytes` or `count`.
    pub unit: String,
    /// Why there are no verdicts, in a sentence.
    pub sentence: String,
    /// One row a benchmark, in plan order.
    pub rows: Vec<MetricRow>,
}

/// The medians of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricRow {
    /// The benchmark.
    pub benchmark: String,
    /// The median of each version, in their order.
    pub medians: Vec<Option<f64>>,
    /// Baseline over candidate, of each candidate: above 1, the candidate takes less.
    pub ratios: Vec<Option<f64>>,
}

impl MetricReport {
    /// The medians of `metric` over `benchmarks`: each a name and the records of its cells.
    pub(super) fn new<'a>(
        metric: Metric,
        benchmarks: impl Iterator<Item = (&'a str, &'a [CellRecords])>,
    ) -> Self {
        let unit = match metric {
            Metric::Wall | Metric::User | Metric::System => "ns",
            Metric::MaxRss => "bytes",
            Metric::MinorFaults
            | Metric::MajorFaults
            | Metric::VoluntarySwitches
            | Metric::InvoluntarySwitches
            | Metric::BlockReads
            | Metric::BlockWrites => "count",
        };
        Self {
            metric: metric.name().to_owned(),
            unit: unit.to_owned(),
            sentence: SENTENCE.to_owned(),
            rows: benchmarks.map(|(name, cells)| MetricRow::new(metric, name, cells)).collect(),
        }
    }
}

impl MetricRow {
    fn new(metric: Metric, benchmark: &str, cells: &[CellRecords]) -> Self {
        let medians: Vec<Option<f64>> =
            cells.iter().map(|cell| cell.sample(metric).ok().map(|sample| sample.median())).collect();
        let ratio = |candidate: &Option<f64>| {
            let (baseline, candidate) = (medians.first().copied().flatten()?, (*candidate)?);
            (baseline > 0.0 && candidate > 0.0).then(|| baseline / candidate)
        };
        Self { benchmark: benchmark.to_owned(), ratios: medians.iter().skip(1).map(ratio).collect(), medians }
    }
}
