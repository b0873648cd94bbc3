//! The other metrics: medians and their ratios. Verdicts on them are [`super::endpoint`]s.

use super::own_metric::{IterationReport, OwnComparison};
use crate::{study::Study, study::gather::cell::CellRecords};
use serde::{Deserialize, Serialize};
use speedup_core::experiment::Rule;
use speedup_core::experiment::metric::{Better, Metric, OwnMetric, Unit};
use speedup_statistics::{inference::ConfidenceLevel, sample::Sample};

/// Why there are no verdicts on these.
const SENTENCE: &str = "Medians and ratios only: these counters step (the kernel's clock ticks, pages, whole \
    events), so they tie, and the tests of this report are for continuous metrics.";
/// What is said of one with verdicts.
const WITH_VERDICTS: &str = "The verdicts on it stand with the endpoints.";
/// What the values of an own metric are.
const OWN_VALUES: &str = "A run's value is the mean of the iterations that its output tells.";
/// What the intervals of an own metric are.
const OWN_INTERVAL: &str =
    "The interval is of the ratio of means, over what is independent by the plan's design";
/// Why it has none.
const NO_INTERVAL: &str = "There is no interval, as looks at the wall times decided how many runs there are";

/// The medians of one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricReport {
    /// Its name.
    pub metric: String,
    /// `ns`, `bytes`, `count` or `uj`; of an own metric what the plan says, which may be nothing.
    pub unit: String,
    /// What its values are, and where its verdicts stand or why there are none.
    pub sentence: String,
    /// Which values are good: `lower` or `higher`.
    #[serde(default)]
    pub better: Better,
    /// Whether the plan added it.
    #[serde(default)]
    pub own: bool,
    /// One row per benchmark, in plan order.
    pub rows: Vec<MetricRow>,
}

/// The medians of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricRow {
    /// The benchmark.
    pub benchmark: String,
    /// The median of each version, in their order.
    pub medians: Vec<Option<f64>>,
    /// Of an own metric, whose interval is of the ratio of means, the mean of each version; empty of others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub means: Vec<Option<f64>>,
    /// Of each candidate, above 1 when it is the better: baseline over candidate, or candidate over baseline where higher
    /// values are better. `None` where one of the two is not positive.
    pub ratios: Vec<Option<f64>>,
    /// Of an own metric, the means of each candidate against the baseline's with their interval; empty of others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<OwnComparison>,
    /// Of an own metric, where the values of each version vary; empty of others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub iterations: Vec<Option<IterationReport>>,
}

impl MetricReport {
    /// The unit, where it is one of ours; an own metric may call its unit as it likes.
    pub fn built_in_unit(&self) -> Option<Unit> {
        let all = [Unit::Nanoseconds, Unit::Bytes, Unit::Count, Unit::Microjoules];
        all.into_iter().find(|unit| !self.own && unit.name() == self.unit)
    }

    /// The medians of `metric` over `benchmarks`: each a name and the records of its cells.
    pub(crate) fn new<'a>(
        study: &Study,
        metric: Metric,
        benchmarks: impl Iterator<Item = (&'a str, &'a [CellRecords])>,
    ) -> Self {
        let median = |cell: &CellRecords| cell.median(metric);
        let row = |(name, cells): (&str, &[CellRecords])| {
            MetricRow::new(name, cells.iter().map(median).collect(), Better::Lower)
        };
        Self {
            metric: metric.name().to_owned(),
            unit: metric.unit().name().to_owned(),
            sentence: if is_declared(study, metric.name()) { WITH_VERDICTS } else { SENTENCE }.to_owned(),
            better: Better::Lower,
            own: false,
            rows: benchmarks.map(row).collect(),
        }
    }

    /// The same of the own metric at `place` in the plan.
    pub(crate) fn of_own<'a>(
        study: &Study,
        place: usize,
        metric: &OwnMetric,
        benchmarks: impl Iterator<Item = (&'a str, &'a [CellRecords])>,
        level: ConfidenceLevel,
    ) -> Self {
        let is_by_size = study.plan.experiment.analysis.center.is_none();
        let row = |(name, cells): (&str, &[CellRecords])| {
            let samples: Vec<Option<Sample>> = cells.iter().map(|cell| cell.means(place).ok()).collect();
            let medians = samples.iter().map(|sample| sample.as_ref().map(Sample::median)).collect();
            let means = samples.iter().map(|sample| sample.as_ref().map(Sample::mean)).collect();
            let compare = |candidate: &CellRecords| {
                OwnComparison::new(study, place, metric.better, [&cells[0], candidate], level)
            };
            MetricRow {
                comparisons: cells.iter().skip(1).map(compare).collect(),
                iterations: cells.iter().map(|cell| IterationReport::new(cell, place)).collect(),
                // Experiments from before the centre was written down keep their reports.
                means: if is_by_size { Vec::new() } else { means },
                ..MetricRow::new(name, medians, metric.better)
            }
        };
        let is_by_looks = matches!(study.plan.experiment.rule, Rule::Sequential { .. });
        let interval = if is_by_looks { NO_INTERVAL } else { OWN_INTERVAL };
        Self {
            metric: metric.name.clone(),
            unit: metric.unit.clone(),
            sentence: match is_declared(study, &metric.name) {
                true => format!("{OWN_VALUES} {interval}. {WITH_VERDICTS}"),
                false => format!("{OWN_VALUES} {interval}; there is no verdict on these."),
            },
            better: metric.better,
            own: true,
            rows: benchmarks.map(row).collect(),
        }
    }
}

/// Whether the plan declares a verdict on it.
fn is_declared(study: &Study, metric: &str) -> bool {
    study.plan.experiment.analysis.verdicts.iter().any(|verdict| verdict.metric == metric)
}

impl MetricRow {
    fn new(benchmark: &str, medians: Vec<Option<f64>>, better: Better) -> Self {
        Self {
            benchmark: benchmark.to_owned(),
            ratios: (1..medians.len()).map(|version| ratio(&medians, version, better)).collect(),
            medians,
            means: Vec::new(),
            comparisons: Vec::new(),
            iterations: Vec::new(),
        }
    }

    /// The ratio of the means of the candidate `at` this place, above 1 when it is the better.
    pub fn ratio_of_means(&self, at: usize, better: Better) -> Option<f64> {
        ratio(&self.means, at + 1, better)
    }
}

/// The ratio of a version's value to the baseline's, above 1 when the version is the better; none where one is not positive.
fn ratio(values: &[Option<f64>], version: usize, better: Better) -> Option<f64> {
    let (baseline, candidate) = (values.first().copied().flatten()?, values.get(version).copied().flatten()?);
    let ratio = match better {
        Better::Lower => baseline / candidate,
        Better::Higher => candidate / baseline,
    };
    (baseline > 0.0 && candidate > 0.0).then_some(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_above_one_is_always_the_better_candidate() {
        let of = |better| MetricRow::new("b", vec![Some(10.0), Some(20.0), Some(-1.0), None], better).ratios;
        assert_eq!(of(Better::Lower), [Some(0.5), None, None]);
        assert_eq!(of(Better::Higher), [Some(2.0), None, None]);
    }
}
