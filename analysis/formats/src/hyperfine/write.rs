//! Series as hyperfine's two JSON formats.

use super::{COMMAND, EXIT_CODE, METRICS, VERSION};
use crate::{MAX_RSS, Name, SYSTEM, Series, SeriesName, SeriesUnit, USER, WALL};
use indexmap::IndexMap;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Series that hyperfine's format cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteHyperfineError {
    /// A run with several values; hyperfine has one value a run.
    #[error("{series} has several values per run, but hyperfine's format has one")]
    SeveralValuesInARun { series: Box<SeriesName> },
    /// A metric, or a metric in a unit, that the format has no place for.
    #[error("hyperfine's format has no place for {series} in this unit")]
    NoPlace { series: Box<SeriesName> },
    /// Two metrics of one benchmark have different numbers of runs, or there are no wall times.
    #[error("the metrics of {benchmark} do not have the same runs")]
    UnevenRuns { benchmark: Name },
    #[error("{series} occurs twice")]
    Repeated { series: Box<SeriesName> },
    /// Memory that is no whole number of bytes.
    #[error("{series} has a value that is no whole number of bytes")]
    NotWholeBytes { series: Box<SeriesName> },
}

impl WriteHyperfineError {
    /// What the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::SeveralValuesInARun { .. } => "Go benchmark text keeps the iterations of a run",
            Self::NoPlace { .. } => {
                "CSV (--format csv, --export-csv) and Go benchmark text (--format go) have a place for it"
            }
            Self::UnevenRuns { .. } | Self::Repeated { .. } => "write Go benchmark text",
            Self::NotWholeBytes { .. } => "write hyperfine's second format",
        }
    }
}

type WriteResult<T> = Result<T, WriteHyperfineError>;

/// What hyperfine's second format says of the program that wrote it and of the machine.
#[derive(Clone, Copy, Debug)]
pub struct Hyperfine2Header<'a> {
    /// Stands where hyperfine puts its version: name the program that writes.
    pub writer: &'a str,
    /// When the measurement began, as RFC 3339.
    pub start_time: Option<&'a str>,
    pub operating_system: Option<&'a str>,
    pub architecture: Option<&'a str>,
}

/// The metrics of one benchmark in one version with one set of labels.
type Metrics<'s> = BTreeMap<&'s str, (&'s Series, &'s [f64])>;

/// The metrics of each benchmark, by the name of its wall time, in order of their first series.
fn metrics_by_benchmark(series: &[Series]) -> WriteResult<IndexMap<SeriesName, Metrics<'_>>> {
    let mut benchmarks: IndexMap<SeriesName, Metrics<'_>> = IndexMap::new();
    for one in series {
        let name = &one.name;
        let Some(values) = one.runs.one_value_each() else {
            return Err(WriteHyperfineError::SeveralValuesInARun { series: Box::new(name.clone()) });
        };
        if name.labels.keys().any(|label| label.as_str() == VERSION) {
            return Err(no_place(one));
        }
        let metrics = benchmarks.entry(name.with_metric(Name::of(WALL))).or_default();
        if metrics.insert(name.metric.as_str(), (one, values)).is_some() {
            return Err(WriteHyperfineError::Repeated { series: Box::new(name.clone()) });
        }
    }
    for (name, metrics) in &benchmarks {
        let lengths: BTreeSet<usize> = metrics.values().map(|(_, values)| values.len()).collect();
        if lengths.len() > 1 {
            return Err(uneven_runs(name));
        }
    }
    Ok(benchmarks)
}

fn no_place(series: &Series) -> WriteHyperfineError {
    WriteHyperfineError::NoPlace { series: Box::new(series.name.clone()) }
}

fn uneven_runs(name: &SeriesName) -> WriteHyperfineError {
    WriteHyperfineError::UnevenRuns { benchmark: name.benchmark.clone() }
}

/// Adds the summary of a metric, as hyperfine computes it.
fn add_summary(object: &mut Value, values: &[f64]) {
    let n = values.len() as f64;
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    // Of the values' n − 1; a single value has none.
    let stddev = if values.len() > 1 { Some((squares / (n - 1.0)).sqrt()) } else { None };
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    object["mean"] = json!(mean);
    object["stddev"] = json!(stddev);
    object["median"] = json!(sorted[(sorted.len() - 1) / 2] / 2.0 + sorted[sorted.len() / 2] / 2.0);
    object["min"] = json!(sorted[0]);
    object["max"] = json!(sorted[sorted.len() - 1]);
}

fn mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    values.iter().map(|value| value / n).sum()
}

/// Series as hyperfine's first format.
///
/// Each benchmark needs wall times; peak memory is written for each run, user and system time as means, since the format has
/// no more of them. A version becomes the parameter `version`, labels become parameters.
///
/// # Errors
/// Other metrics; runs of several values; metrics with different numbers of runs.
pub fn write_hyperfine_1(series: &[Series]) -> WriteResult<String> {
    write_hyperfine_1_with(series, |_| Map::new())
}

/// As [`write_hyperfine_1`], with keys of the caller's beside hyperfine's in each result: `more` makes them of the wall times, in
/// seconds. hyperfine's keys go before those of the same name.
///
/// # Errors
/// As [`write_hyperfine_1`].
pub fn write_hyperfine_1_with(
    series: &[Series],
    more: impl Fn(&[f64]) -> Map<String, Value>,
) -> WriteResult<String> {
    let mut results = Vec::new();
    for (name, metrics) in metrics_by_benchmark(series)? {
        let (_, times) = metrics.get(WALL).ok_or_else(|| uneven_runs(&name))?;
        let mut result = Value::Object(more(times));
        add_metrics(&mut result, &name, &metrics)?;
        results.push(result);
    }
    Ok(format!("{:#}\n", json!({ "results": results })))
}

/// Adds hyperfine's keys to a result of its first format.
fn add_metrics(result: &mut Value, name: &SeriesName, metrics: &Metrics<'_>) -> WriteResult<()> {
    result["command"] = json!(name.benchmark.as_str());
    for (metric, (series, values)) in metrics {
        match (*metric, &series.unit) {
            (WALL, SeriesUnit::Seconds) => {
                add_summary(result, values);
                result["times"] = json!(values);
            }
            (USER | SYSTEM, SeriesUnit::Seconds) => result[*metric] = json!(mean(values)),
            (MAX_RSS, SeriesUnit::Bytes) => {
                let bytes: Option<Vec<u64>> = values.iter().map(|value| whole(*value)).collect();
                let refusal = WriteHyperfineError::NotWholeBytes { series: Box::new(series.name.clone()) };
                result["memory_usage_byte"] = json!(bytes.ok_or(refusal)?);
            }
            _ => return Err(no_place(series)),
        }
    }
    let parameters: BTreeMap<&str, &str> = parameters(name).collect();
    if !parameters.is_empty() {
        result["parameters"] = json!(parameters);
    }
    Ok(())
}

/// The value as a whole number, if it is one that a 64-bit float holds exactly.
fn whole(value: f64) -> Option<u64> {
    const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;
    let is_whole = (0.0..=LARGEST_EXACT).contains(&value) && value.fract() == 0.0;
    is_whole.then_some(value as u64)
}

fn parameters(name: &SeriesName) -> impl Iterator<Item = (&str, &str)> {
    let version = name.version.iter().map(|version| (VERSION, version.as_str()));
    version.chain(name.labels.iter().map(|(key, value)| (key.as_str(), value.as_str())))
}

/// Series as hyperfine's second format, with every metric of every run.
///
/// A version becomes the parameter `version`, labels become parameters; a label `command` becomes the command line, and the
/// benchmark the name of the result.
///
/// # Errors
/// Runs of several values; metrics with different numbers of runs; a metric or unit that the format would read as another.
pub fn write_hyperfine_2(series: &[Series], header: &Hyperfine2Header<'_>) -> WriteResult<String> {
    let mut results = Vec::new();
    let mut primary = None;
    for (name, metrics) in metrics_by_benchmark(series)? {
        let first = metrics.keys().next().map_or(WALL, |metric| *metric);
        primary.get_or_insert(if metrics.contains_key(WALL) { WALL } else { first });
        results.push(result_2(&name, &metrics)?);
    }
    let mut metadata = json!({ "hyperfine_version": header.writer, "platform": {} });
    if let Some(start_time) = header.start_time {
        metadata["start_time"] = json!(start_time);
    }
    for (key, fact) in [("os", header.operating_system), ("architecture", header.architecture)] {
        if let Some(fact) = fact {
            metadata["platform"][key] = json!(fact);
        }
    }
    let document = json!({
        "schema_version": 2,
        "metadata": metadata,
        "primary_metric": their_word(primary.unwrap_or(WALL)),
        "results": results,
    });
    Ok(format!("{document:#}\n"))
}

fn result_2(name: &SeriesName, metrics: &Metrics<'_>) -> WriteResult<Value> {
    let mut measurements: Vec<Value> = Vec::new();
    let mut summaries = json!({});
    for (metric, (series, values)) in metrics {
        let unit = unit_word(series)?;
        // A metric of ours that bears hyperfine's word for another would be read as that.
        let is_theirs = METRICS.iter().any(|(theirs, _)| theirs == metric);
        let metric = their_word(metric);
        if metric == EXIT_CODE || is_theirs {
            return Err(no_place(series));
        }
        measurements.resize(values.len(), json!({}));
        for (measurement, value) in measurements.iter_mut().zip(*values) {
            measurement[metric] = with_unit(json!({ "value": value }), unit);
        }
        let mut summary = json!({ "count": values.len() });
        add_summary(&mut summary, values);
        summaries[metric] = with_unit(summary, unit);
    }
    let benchmark = name.benchmark.as_str();
    let mut result = json!({ "command": benchmark, "measurements": measurements, "summary": summaries });
    for (key, value) in parameters(name) {
        if key == COMMAND {
            result["command"] = json!(value);
            result["name"] = json!(benchmark);
        } else {
            result["parameters"][key] = json!({ "value": value });
        }
    }
    Ok(result)
}

fn with_unit(mut measured: Value, unit: Option<&str>) -> Value {
    if let Some(unit) = unit {
        measured["unit"] = json!(unit);
    }
    measured
}

/// hyperfine's word for a metric.
fn their_word(metric: &str) -> &str {
    METRICS.iter().find(|(_, ours)| *ours == metric).map_or(metric, |(theirs, _)| theirs)
}

/// The unit's word, unless it would be read as another unit.
fn unit_word(series: &Series) -> WriteResult<Option<&str>> {
    let word = match &series.unit {
        SeriesUnit::Seconds => "second",
        SeriesUnit::Bytes => "byte",
        SeriesUnit::BytesPerSecond => "byte/second",
        SeriesUnit::Bare => return Ok(None),
        SeriesUnit::Named(word) if SeriesUnit::of_word(word).0 == series.unit => word.as_str(),
        SeriesUnit::Named(_) => return Err(no_place(series)),
    };
    Ok(Some(word))
}
