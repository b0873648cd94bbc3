//! What is kept of a cell while attempts come in, in whatever order: the values, and where they are from.

use super::{
    evidence::RunLocation, mishap::FailureSummary, ranks::RanksSeen, software::Programs,
    software::SoftwareSeen,
};
use serde::{Deserialize, Serialize};
use speedup_core::experiment::metric::{Absence, Metric, OwnMetric};
use speedup_core::run::{
    conditions::Conditions, disturbance::Disturbance, record::Record, timer::TimerError,
};
use speedup_core::value::id::RunIndex;
use speedup_statistics::sample::{Sample, SampleError};
use std::{borrow::Cow, collections::BTreeMap, collections::BTreeSet};

/// What is kept of a cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct CellRecords {
    /// Where each measured run was executed.
    locations: Vec<RunLocation>,
    /// Measured runs that left processes behind.
    pub(crate) outlived: u64,
    /// The largest error of the timers that measured them, where those were tested.
    pub(crate) timer: Option<TimerError>,
    /// The conditions of the measured runs.
    pub(crate) conditions: ConditionCounts,
    pub(crate) programs: Programs,
    pub(crate) software: SoftwareSeen,
    /// What was not measured.
    pub(crate) mishaps: FailureSummary,
    /// The ranks of the attempts, where the plan has them timed.
    pub(crate) ranks: RanksSeen,
    readings: BTreeMap<Metric, Column>,
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

/// The values of a metric in the order of the locations, of which a few may have none.
#[derive(Clone, Debug, Default)]
struct Column {
    values: Values,
    /// The places of the locations that have none, ascending.
    gaps: Vec<u32>,
}

/// Values, in half the memory while all are small.
#[derive(Clone, Debug)]
enum Values {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Default for Values {
    fn default() -> Self {
        Self::Narrow(Vec::new())
    }
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::Narrow(values) => values.len(),
            Self::Wide(values) => values.len(),
        }
    }

    fn push(&mut self, value: u64) {
        match (&mut *self, u32::try_from(value)) {
            (Self::Narrow(values), Ok(value)) => values.push(value),
            (Self::Narrow(values), Err(_)) => {
                let mut wide = Vec::with_capacity(values.capacity().max(values.len() + 1));
                wide.extend(values.iter().copied().map(u64::from));
                wide.push(value);
                *self = Self::Wide(wide);
            }
            (Self::Wide(values), _) => values.push(value),
        }
    }

    fn iter(&self) -> impl Iterator<Item = u64> {
        let (narrow, wide) = match self {
            Self::Narrow(values) => (&values[..], &[][..]),
            Self::Wide(values) => (&[][..], &values[..]),
        };
        narrow.iter().copied().map(u64::from).chain(wide.iter().copied())
    }
}

impl Column {
    fn with_room(values: usize) -> Self {
        Self { values: Values::Narrow(Vec::with_capacity(values)), gaps: Vec::new() }
    }

    /// Adds the value of the location at a place beyond those before it.
    fn push(&mut self, place: usize, value: u64) {
        let next = self.values.len() + self.gaps.len();
        self.gaps.extend(next as u32..place as u32);
        self.values.push(value);
    }

    /// The values with the places of their locations.
    fn placed(&self) -> impl Iterator<Item = (usize, u64)> {
        let (mut next, mut gaps) = (0..self.values.len() + self.gaps.len(), self.gaps.iter().peekable());
        let placed = move |value| {
            let place = next.find(|place| gaps.next_if(|gap| **gap as usize == *place).is_none())?;
            Some((place, value))
        };
        self.values.iter().filter_map(placed)
    }
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

    pub(crate) fn add(&mut self, more: &Self) {
        self.runs += more.runs;
        if more.first.0 < self.first.0 {
            self.first = more.first.clone();
        }
    }
}

impl CellRecords {
    /// None yet, with room for so many runs.
    pub(crate) fn with_room(runs: usize) -> Self {
        Self { locations: Vec::with_capacity(runs), ..Self::default() }
    }

    /// Keeps the metrics of a measured run on a host; `own` are those that the plan adds.
    pub(crate) fn measured(&mut self, location: RunLocation, host: u32, record: &Record, own: &[OwnMetric]) {
        let (run, place, room) = (location.run, self.locations.len(), self.locations.capacity());
        self.locations.push(location);
        self.programs.measured(host, record);
        self.software.measured(host, record);
        // Of two that are as large, always the same one: attempts come in any order.
        let size = |timer: &TimerError| (timer.near_ns(), timer.bias_ns);
        self.timer = self.timer.into_iter().chain(record.timer).max_by_key(size);
        for (metric, &value) in &record.metrics {
            self.readings.entry(*metric).or_insert_with(|| Column::with_room(room)).push(place, value);
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
        self.readings.get(&metric).map_or(0, |column| column.values.len() as u64)
    }

    /// The sample of an own metric, in run order: of each run the mean of its iterations.
    pub(crate) fn means(&self, place: usize) -> Result<Sample, SampleError> {
        Sample::new(self.iterations(place).iter().map(|(_, of_run)| of_run.mean).collect())
    }

    /// The iterations of each run with a value of an own metric, in run order, and where the run was executed.
    pub(crate) fn iterations(&self, place: usize) -> Vec<(RunLocation, Iterations)> {
        let by_run: BTreeMap<RunIndex, Iterations> =
            self.iterations.get(&place).into_iter().flatten().map(|of_run| (of_run.run, *of_run)).collect();
        let mut locations = self.locations.clone();
        locations.sort_unstable_by_key(|location| location.run);
        locations.into_iter().filter_map(|location| Some((location, *by_run.get(&location.run)?))).collect()
    }

    /// The sample of a metric, in run order.
    pub(crate) fn sample(&self, metric: Metric) -> Result<Sample, SampleError> {
        Sample::new(self.of_each(metric, |(_, value)| value as f64))
    }

    /// The median of a metric, where it has values.
    pub(crate) fn median(&self, metric: Metric) -> Option<f64> {
        let mut values: Vec<u64> = self.readings.get(&metric)?.values.iter().collect();
        let half = values.len() / 2;
        let is_even = values.len().is_multiple_of(2);
        (!values.is_empty()).then_some(())?;
        let (below, upper, _) = values.select_nth_unstable(half);
        let upper = *upper as f64;
        let lower = below.iter().max().filter(|_| is_even);
        Some(lower.map_or(upper, |lower| (*lower as f64 + upper) / 2.0))
    }

    pub(crate) fn runs(&self) -> usize {
        self.locations.len()
    }

    /// Where each observation of a metric is from, in run order.
    pub(crate) fn locations(&self, metric: Metric) -> Cow<'_, [RunLocation]> {
        if self.count(metric) == self.locations.len() as u64 && self.is_in_run_order() {
            return Cow::Borrowed(&self.locations);
        }
        Cow::Owned(self.of_each(metric, |(location, _)| location))
    }

    /// The value of each observation of a metric with its run, in run order.
    pub(crate) fn values_by_run(&self, metric: Metric) -> Vec<(RunIndex, f64)> {
        self.of_each(metric, |(location, value)| (location.run, value as f64))
    }

    /// All runs but these, without what else is kept: for the comparisons alone.
    pub(crate) fn without(&self, runs: &BTreeSet<RunIndex>) -> Self {
        let is_kept = |place: usize| !runs.contains(&self.locations[place].run);
        let places: Vec<usize> = (0..self.locations.len()).filter(|place| is_kept(*place)).collect();
        let kept = |column: &Column| {
            let mut kept = Column::default();
            for (place, value) in column.placed().filter(|(place, _)| is_kept(*place)) {
                kept.push(places.partition_point(|other| *other < place), value);
            }
            kept
        };
        Self {
            locations: places.iter().map(|place| self.locations[*place]).collect(),
            readings: self.readings.iter().map(|(metric, column)| (*metric, kept(column))).collect(),
            timer: self.timer,
            ..Self::default()
        }
    }

    /// What a function makes of each observation of a metric and where it is from, in run order.
    fn of_each<T>(&self, metric: Metric, of: impl FnMut((RunLocation, u64)) -> T) -> Vec<T> {
        let mut all = Vec::with_capacity(self.count(metric) as usize);
        all.extend(self.in_run_order(metric).map(of));
        all
    }

    fn is_in_run_order(&self) -> bool {
        self.locations.is_sorted_by_key(|location| location.run)
    }

    /// The values of a metric with where they are from, by runs: as they came, which is mostly their order.
    fn in_run_order(&self, metric: Metric) -> Box<dyn Iterator<Item = (RunLocation, u64)> + '_> {
        let placed = self.readings.get(&metric).into_iter().flat_map(Column::placed);
        let observed = placed.map(|(place, value)| (self.locations[place], value));
        if self.is_in_run_order() {
            return Box::new(observed);
        }
        let mut observed: Vec<(RunLocation, u64)> = observed.collect();
        observed.sort_unstable_by_key(|(location, _)| location.run);
        Box::new(observed.into_iter())
    }
}

/// The conditions of the measured runs of a cell. All of these runs are in the sample; none is dropped for its conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionCounts {
    /// Runs whose conditions were recorded.
    pub recorded: u64,
    /// Those of them that were disturbed.
    pub disturbed: u64,
    /// Runs by the code name of what disturbed them; one run may be in several.
    pub disturbances: BTreeMap<String, u64>,
    /// Runs by the name of a setting that their host had not.
    pub unmet: BTreeMap<String, u64>,
    /// Runs by the kind of the file system on which they stood, where that was no disk or memory of their host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_local: BTreeMap<String, u64>,
}

impl ConditionCounts {
    /// Counts a measured run.
    pub(crate) fn measured(&mut self, conditions: Option<&Conditions>) {
        let Some(conditions) = conditions else { return };
        self.recorded += 1;
        self.disturbed += u64::from(!conditions.disturbances.is_empty());
        let codes: BTreeSet<&str> = conditions.disturbances.iter().map(Disturbance::code).collect();
        let unmet: BTreeSet<&str> = conditions.unmet.iter().map(|unmet| unmet.setting.name()).collect();
        codes.into_iter().for_each(|code| count(&mut self.disturbances, code, 1));
        unmet.into_iter().for_each(|name| count(&mut self.unmet, name, 1));
        if let Some(stood_on) = conditions.file_system.as_ref().filter(|stood_on| !stood_on.is_local()) {
            count(&mut self.not_local, &stood_on.kind, 1);
        }
    }

    /// The counts of several cells together.
    #[must_use]
    pub fn sum<'a>(cells: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for cell in cells {
            sum.recorded += cell.recorded;
            sum.disturbed += cell.disturbed;
            cell.disturbances.iter().for_each(|(code, runs)| count(&mut sum.disturbances, code, *runs));
            cell.unmet.iter().for_each(|(name, runs)| count(&mut sum.unmet, name, *runs));
            cell.not_local.iter().for_each(|(kind, runs)| count(&mut sum.not_local, kind, *runs));
        }
        sum
    }
}

fn count(counts: &mut BTreeMap<String, u64>, name: &str, runs: u64) {
    *counts.entry(name.to_owned()).or_default() += runs;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_the_places_of_their_seats_where_some_have_none() {
        let mut column = Column::with_room(2);
        let large = u64::from(u32::MAX) + 1;
        let values = [(2, 20), (3, u64::from(u32::MAX)), (6, large), (7, 70), (9, u64::MAX)];
        for (place, value) in values {
            column.push(place, value);
        }
        assert_eq!(column.gaps, [0, 1, 4, 5, 8]);
        assert_eq!(column.placed().collect::<Vec<_>>(), values);
    }

    #[test]
    fn the_median_is_that_of_the_sample() {
        for values in [vec![7], vec![9, 2], vec![5, 1, 4], vec![3, 3, 8, u64::MAX, 0, 1]] {
            let mut column = Column::default();
            values.iter().enumerate().for_each(|(place, value)| column.push(place, *value));
            let cell = CellRecords { readings: [(Metric::Wall, column)].into(), ..CellRecords::default() };
            let sample = Sample::new(values.iter().map(|value| *value as f64).collect()).unwrap();
            assert_eq!(cell.median(Metric::Wall), Some(sample.median()), "{values:?}");
        }
        assert_eq!(CellRecords::default().median(Metric::Wall), None);
    }
}
