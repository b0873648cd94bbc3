//! What is kept of a cell while attempts come in, in whatever order: the values, and where they are from.

use super::condition::ConditionCounts;
use super::evidence::Seat;
use super::mishap::Mishaps;
use super::programs::Programs;
use super::ranks::RanksSeen;
use super::software::SoftwareSeen;
use speedup_core::experiment::metric::{Absence, Metric, OwnMetric};
use speedup_core::run::record::Record;
use speedup_core::run::timer::TimerError;
use speedup_core::value::id::RunIndex;
use speedup_statistics::sample::{Sample, SampleError};
use std::collections::{BTreeMap, BTreeSet};

/// What is kept of a cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct CellRecords {
    /// Where each measured run was executed.
    seats: Vec<Seat>,
    /// Measured runs that left processes behind.
    pub(crate) outlived: u64,
    /// The largest error of the timers that measured them, where those were tested.
    pub(crate) timer: Option<TimerError>,
    /// The conditions of the measured runs.
    pub(crate) conditions: ConditionCounts,
    /// What they executed.
    pub(crate) programs: Programs,
    /// With which software.
    pub(crate) software: SoftwareSeen,
    /// What was not measured.
    pub(crate) mishaps: Mishaps,
    /// The ranks of the attempts, where the plan has them timed.
    pub(crate) ranks: RanksSeen,
    readings: BTreeMap<Metric, Vec<Reading>>,
    /// The iterations of the runs, by the place of the own metric in the plan.
    iterations: BTreeMap<usize, Vec<Iterations>>,
    /// Measured runs in which a metric has no value, by metric and the code of the reason, with the reason of the first
    /// of them in the plan's order.
    pub(crate) absent: BTreeMap<(Metric, &'static str), Absent>,
    /// Measured runs in which a metric lacks what happened in the kernel.
    pub(crate) user_only: BTreeMap<Metric, u64>,
}

/// Runs in which a metric has no value for one reason.
#[derive(Clone, Debug)]
pub(crate) struct Absent {
    pub(crate) runs: u64,
    pub(crate) first: (RunIndex, Absence),
}

/// One observation.
#[derive(Clone, Copy, Debug)]
struct Reading {
    run: RunIndex,
    value: u64,
}

/// The iterations of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Iterations {
    pub(crate) run: RunIndex,
    pub(crate) count: usize,
    pub(crate) mean: f64,
    /// `None` of a single one.
    pub(crate) variance: Option<f64>,
}

impl Absent {
    /// None so far; `first` may be the first.
    pub(crate) fn of(first: &(RunIndex, Absence)) -> Self {
        Self { runs: 0, first: first.clone() }
    }

    /// Adds more of them.
    pub(crate) fn add(&mut self, more: &Self) {
        self.runs += more.runs;
        if more.first.0 < self.first.0 {
            self.first = more.first.clone();
        }
    }
}

impl CellRecords {
    /// Keeps the metrics of a measured run; `own` are those that the plan adds.
    pub(crate) fn measured(&mut self, seat: Seat, record: &Record, own: &[OwnMetric]) {
        let run = seat.run;
        self.seats.push(seat);
        self.programs.measured(seat.host, record);
        self.software.measured(seat.host, record);
        // Of two that are as large, always the same one: attempts come in any order.
        let size = |timer: &TimerError| (timer.near_ns(), timer.bias_ns);
        self.timer = self.timer.into_iter().chain(record.timer).max_by_key(size);
        for (metric, &value) in &record.metrics {
            self.readings.entry(*metric).or_default().push(Reading { run, value });
        }
        for (place, metric) in own.iter().enumerate() {
            let iterations = record.series.get(&metric.name).cloned().unwrap_or_default();
            if let Ok(iterations) = Sample::new(iterations) {
                self.iterations.entry(place).or_default().push(Iterations {
                    run,
                    count: iterations.len(),
                    mean: iterations.mean(),
                    variance: iterations.variance(),
                });
            }
        }
        for metric in &record.user_only {
            *self.user_only.entry(*metric).or_default() += 1;
        }
        for (metric, absence) in &record.absent {
            let one = Absent { runs: 1, first: (run, absence.clone()) };
            let all = self.absent.entry((*metric, absence.code())).or_insert_with(|| Absent::of(&one.first));
            all.add(&one);
        }
    }

    /// The metrics that have a value in some run.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = Metric> {
        self.readings.keys().copied()
    }

    /// In how many runs a metric has a value.
    pub(crate) fn count(&self, metric: Metric) -> u64 {
        self.readings.get(&metric).map_or(0, |readings| readings.len() as u64)
    }

    /// The sample of an own metric, in run order: of each run the mean of its iterations.
    pub(crate) fn means(&self, place: usize) -> Result<Sample, SampleError> {
        Sample::new(self.iterations(place).iter().map(|(_, of_run)| of_run.mean).collect())
    }

    /// The iterations of each run with a value of an own metric, in run order, and where the run was executed.
    pub(crate) fn iterations(&self, place: usize) -> Vec<(Seat, Iterations)> {
        let by_run: BTreeMap<RunIndex, Iterations> =
            self.iterations.get(&place).into_iter().flatten().map(|of_run| (of_run.run, *of_run)).collect();
        let mut seats = self.seats.clone();
        seats.sort_unstable_by_key(|seat| seat.run);
        seats.into_iter().filter_map(|seat| Some((seat, *by_run.get(&seat.run)?))).collect()
    }

    /// The sample of a metric, in run order.
    pub(crate) fn sample(&self, metric: Metric) -> Result<Sample, SampleError> {
        Sample::new(self.in_run_order(metric).iter().map(|reading| reading.value as f64).collect())
    }

    /// The measured runs.
    pub(crate) fn runs(&self) -> usize {
        self.seats.len()
    }

    /// Where each observation of a metric is from, in run order.
    pub(crate) fn seats(&self, metric: Metric) -> Vec<Seat> {
        let mut seats = self.seats.clone();
        seats.sort_unstable_by_key(|seat| seat.run);
        let has = self.in_run_order(metric);
        seats.retain(|seat| has.binary_search_by_key(&seat.run, |reading| reading.run).is_ok());
        seats
    }

    /// The value of each observation of a metric with its run, in run order.
    pub(crate) fn values_by_run(&self, metric: Metric) -> Vec<(RunIndex, f64)> {
        self.in_run_order(metric).iter().map(|reading| (reading.run, reading.value as f64)).collect()
    }

    /// All runs but these, without what else is kept: for the comparisons alone.
    pub(crate) fn without(&self, runs: &BTreeSet<RunIndex>) -> Self {
        let mut seats = self.seats.clone();
        seats.retain(|seat| !runs.contains(&seat.run));
        let kept: BTreeSet<RunIndex> = seats.iter().map(|seat| seat.run).collect();
        let readings = self.readings.iter().map(|(metric, readings)| {
            (*metric, readings.iter().filter(|reading| kept.contains(&reading.run)).copied().collect())
        });
        Self { seats, readings: readings.collect(), timer: self.timer, ..Self::default() }
    }

    fn in_run_order(&self, metric: Metric) -> Vec<Reading> {
        let mut readings = self.readings.get(&metric).cloned().unwrap_or_default();
        readings.sort_unstable_by_key(|reading| reading.run);
        readings
    }
}
