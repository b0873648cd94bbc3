//! Metrics: the built-in ones, those that a plan defines, and why one has no value.

use std::collections::{BTreeMap, BTreeSet};

use speedup_core::experiment::metric::{
    Absence, Better, MAX_ABSENCE_BYTES, MAX_OWN_METRICS, MAX_SERIES_VALUES, Metric, OwnMetric, Pattern,
    Stream,
};

use crate::convert::wire::field::at_most;
use crate::convert::wire::malformed::{Malformed, Why, Within};
use crate::convert::wire::{Cut, Wire, enumeration, oneof, structure};
use crate::v1;
use v1::absent_metric::{self as wire, Why as WireWhy};
use v1::own_metric::Pattern as WirePattern;

enumeration! {
    Metric,
    v1::Metric,
    [
        Wall, User, System, MaxRss, MinorFaults, MajorFaults, VoluntarySwitches, InvoluntarySwitches,
        BlockReads, BlockWrites, Instructions, Cycles, CacheReferences, CacheMisses, Branches,
        BranchMisses, TaskClock, CpuMigrations, EnergyPackage, EnergyDram, MemoryPeak, TreeCpu, TreeUser,
        TreeSystem
    ]
}
enumeration!(Stream, v1::Stream, [Stdout, Stderr]);
enumeration!(Better, v1::Better, [Lower, Higher]);

structure!(OwnMetric, v1::OwnMetric, [pattern, name, from, unit, better]);
oneof! {
    Pattern, WirePattern, [
        Regex(text) = Regex(text),
        Pointer(text) = Pointer(text),
        GoogleBenchmark(text) = GoogleBenchmark(text),
        Go(text) = Go(text),
    ]
}
oneof!(Absence, WireWhy, [
    Unsupported = Unsupported(wire::Unsupported {}),
    NotPermitted = NotPermitted(wire::NotPermitted {}),
    BelowFloor = BelowFloor(wire::BelowFloor {}),
    Multiplexed = Multiplexed(wire::Multiplexed {}),
    NotCounted = NotCounted(wire::NotCounted {}),
    Wrapped = Wrapped(wire::Wrapped {}),
    Unreadable { reason => Cut(MAX_ABSENCE_BYTES) } = Unreadable(reason),
]);

/// Encodes the values of metrics, and which of them do not count the kernel.
pub(in crate::convert) fn values_out(
    values: &BTreeMap<Metric, u64>,
    user_only: &BTreeSet<Metric>,
) -> Vec<v1::MetricValue> {
    values
        .iter()
        .map(|(metric, value)| v1::MetricValue {
            metric: metric.to_wire(),
            value: *value,
            user_only: user_only.contains(metric),
        })
        .collect()
}

/// Reads the values of metrics. Each may come once, which also limits their number.
pub(in crate::convert) fn values_in(
    wire: &[v1::MetricValue],
) -> Result<(BTreeMap<Metric, u64>, BTreeSet<Metric>), Malformed> {
    let mut values = BTreeMap::new();
    let mut user_only = BTreeSet::new();
    for (index, value) in wire.iter().enumerate() {
        let metric = Metric::from_wire(value.metric, "metric").within_nth("metrics", index)?;
        if values.insert(metric, value.value).is_some() {
            return Err(Malformed::new("metric", Why::Twice)).within_nth("metrics", index);
        }
        if value.user_only {
            user_only.insert(metric);
        }
    }
    Ok((values, user_only))
}

pub(in crate::convert) fn absent_out(absent: &BTreeMap<Metric, Absence>) -> Vec<v1::AbsentMetric> {
    absent
        .iter()
        .map(|(metric, absence)| v1::AbsentMetric { metric: metric.to_wire(), why: absence.to_wire() })
        .collect()
}

/// Reads why metrics are absent. Each may come once, and none that has a value.
pub(in crate::convert) fn absent_in(
    wire: Vec<v1::AbsentMetric>,
    values: &BTreeMap<Metric, u64>,
) -> Result<BTreeMap<Metric, Absence>, Malformed> {
    let mut absent = BTreeMap::new();
    for (index, entry) in wire.into_iter().enumerate() {
        let (metric, absence) = absence_in(entry).within_nth("absent", index)?;
        if values.contains_key(&metric) || absent.insert(metric, absence).is_some() {
            return Err(Malformed::new("metric", Why::Twice)).within_nth("absent", index);
        }
    }
    Ok(absent)
}

fn absence_in(entry: v1::AbsentMetric) -> Result<(Metric, Absence), Malformed> {
    let absence = Absence::from_wire(entry.why, "why")?;
    Ok((Metric::from_wire(entry.metric, "metric")?, absence))
}

pub(in crate::convert) fn series_out(series: &BTreeMap<String, Vec<f64>>) -> Vec<v1::Series> {
    series
        .iter()
        .map(|(metric, values)| v1::Series { metric: metric.clone(), values: values.clone() })
        .collect()
}

/// Reads the values of a plan's own metrics. Each metric may come once, all values are finite, and both are limited in number.
pub(in crate::convert) fn series_in(wire: Vec<v1::Series>) -> Result<BTreeMap<String, Vec<f64>>, Malformed> {
    at_most(wire.len(), MAX_OWN_METRICS, "series")?;
    at_most(wire.iter().map(|series| series.values.len()).sum(), MAX_SERIES_VALUES, "series.values")?;
    let mut all = BTreeMap::new();
    for (index, v1::Series { metric, values }) in wire.into_iter().enumerate() {
        if values.iter().any(|value| !value.is_finite()) {
            return Err(Malformed::new("values", Why::NotFinite)).within_nth("series", index);
        }
        if all.insert(metric, values).is_some() {
            return Err(Malformed::new("metric", Why::Twice)).within_nth("series", index);
        }
    }
    Ok(all)
}
