//! What is kept of a cell while attempts come in, in whatever order: the values, and the hosts they are from.

use super::condition::ConditionCounts;
use super::mishap::Mishaps;
use crate::{Sample, SampleError};
use speedup_core::experiment::Metric;
use speedup_core::id::RunIndex;
use speedup_core::record::Record;
use speedup_core::timer::TimerError;
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
    /// The largest error of the timers that measured them, where those were tested.
    pub(super) timer: Option<TimerError>,
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
    host: u32,
    value: u64,
}

impl CellRecords {
    /// Keeps the metrics of a measured run.
    pub(super) fn measured(&mut self, run: RunIndex, host: u32, record: &Record) {
        self.hosts.push(host);
        // Of two that are as large, always the same one: attempts come in any order.
        let size = |timer: &TimerError| (timer.near_ns(), timer.bias_ns);
        self.timer = self.timer.into_iter().chain(record.timer).max_by_key(size);
        for (metric, &value) in &record.metrics {
            self.readings.entry(*metric).or_default().push(Reading { run, host, value });
        }
    }

    /// The sample of a metric, in run order.
    pub(super) fn sample(&self, metric: Metric) -> Result<Sample, SampleError> {
        Sample::new(self.in_run_order(metric).iter().map(|reading| reading.value as f64).collect())
    }

    /// The host of each observation of a metric, in run order, by its number in the study.
    pub(super) fn hosts_in_run_order(&self, metric: Metric) -> Vec<u32> {
        self.in_run_order(metric).iter().map(|reading| reading.host).collect()
    }

    fn in_run_order(&self, metric: Metric) -> Vec<Reading> {
        let mut readings = self.readings.get(&metric).cloned().unwrap_or_default();
        readings.sort_unstable_by_key(|reading| reading.run);
        readings
    }
}
