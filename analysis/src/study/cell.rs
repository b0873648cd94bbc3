//! What is kept of a cell while attempts come in, in whatever order: the values, and the hosts they are from.

use super::condition::ConditionCounts;
use super::mishap::Mishaps;
use crate::{Sample, SampleError};
use speedup_core::experiment::Metric;
use speedup_core::id::RunIndex;
use std::collections::BTreeMap;

/// What is kept of a cell.
#[derive(Clone, Debug, Default)]
pub(super) struct CellRecords {
    /// The host of each measured run, by its number in the study.
    pub(super) hosts: Vec<u32>,
    /// Measured runs whose host was fresh in the policy's scope.
    pub(super) fresh: u64,
    /// Measured runs that left processes behind.
    pub(super) outlived: u64,
    /// The conditions of the measured runs.
    pub(super) conditions: ConditionCounts,
    /// What was not measured.
    pub(super) mishaps: Mishaps,
    readings: BTreeMap<Metric, Vec<Reading>>,
}

/// One observation.
#[derive(Clone, Copy, Debug)]
struct Reading {
    run: RunIndex,
    value: u64,
}

impl CellRecords {
    /// Keeps the metrics of a measured run.
    pub(super) fn measured(&mut self, run: RunIndex, host: u32, metrics: &BTreeMap<Metric, u64>) {
        self.hosts.push(host);
        for (metric, &value) in metrics {
            self.readings.entry(*metric).or_default().push(Reading { run, value });
        }
    }

    /// The sample of a metric, in run order.
    pub(super) fn sample(&self, metric: Metric) -> Result<Sample, SampleError> {
        let mut readings = self.readings.get(&metric).cloned().unwrap_or_default();
        readings.sort_unstable_by_key(|reading| reading.run);
        Sample::new(readings.iter().map(|reading| reading.value as f64).collect())
    }
}
