//! Series as hyperfine's two JSON formats.

use super::{COMMAND, EXIT_CODE, METRICS, VERSION};
use crate::name::Name;
use crate::series::{MAX_RSS, SYSTEM, Series, SeriesName, SeriesUnit, USER, WALL};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

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

type Written<T> = Result<T, WriteHyperfineError>;

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
struct Outcome<'s> {
    name: &'s SeriesName,
    metrics: BTreeMap<&'s str, (&'s Series, &'s [f64])>,
}

/// What all metrics of one outcome share: benchmark, version and labels.
type Key<'s> = (&'s Name, Option<&'s Name>, &'s BTreeMap<Name, Name>);

/// Benchmarks in order of their first series, with all metrics of each.
fn outcomes(series: &[Series]) -> Written<Vec<Outcome<'_>>> {
    let mut places: BTreeMap<Key<'_>, usize> = BTreeMap::new();
    let mut outcomes: Vec<Outcome<'_>> = Vec::new();
    for one in series {
        let boxed = || Box::new(one.name.clone());
        let values = one
            .runs
            .one_value_each()
            .ok_or_else(|| WriteHyperfineError::SeveralValuesInARun { series: boxed() })?;
        let reserved = |label: &Name| label.as_str() == VERSION;
        if one.name.labels.keys().any(reserved) {
            return Err(WriteHyperfineError::NoPlace { series: boxed() });
        }
        let name = &one.name;
        let key = (&name.benchmark, name.version.as_ref(), &name.labels);
        let place = *places.entry(key).or_insert(outcomes.len());
        if place == outcomes.len() {
            outcomes.push(Outcome { name, metrics: BTreeMap::new() });
        }
        if outcomes[place].metrics.insert(name.metric.as_str(), (one, values)).is_some() {
            return Err(WriteHyperfineError::Repeated { series: boxed() });
        }
    }
    for outcome in &outcomes {
        let lengths: Vec<usize> = outcome.metrics.values().map(|(_, values)| values.len()).collect();
        if lengths.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err(WriteHyperfineError::UnevenRuns { benchmark: outcome.name.benchmark.clone() });
        }
    }
    Ok(outcomes)
}

/// The summary of a metric, as hyperfine computes it.
#[derive(Serialize)]
struct Summary {
    mean: f64,
    /// Of the values' n − 1; a single value has none.
    stddev: Option<f64>,
    median: f64,
    min: f64,
    max: f64,
}

impl Summary {
    fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().map(|value| value / n).sum::<f64>();
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Self {
            mean,
            stddev: (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt()),
            median: low / 2.0 + high / 2.0,
            min: sorted[0],
            max: sorted[sorted.len() - 1],
        }
    }
}

/// Series as hyperfine's first format.
///
/// Each benchmark needs wall times; peak memory is written for each run, user and system time as means, since the format has
/// no more of them. A version becomes the parameter `version`, labels become parameters.
///
/// # Errors
/// Other metrics; runs of several values; metrics with different numbers of runs.
pub fn write_hyperfine_1(series: &[Series]) -> Written<String> {
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
) -> Written<String> {
    let mut results = Vec::new();
    for outcome in outcomes(series)? {
        let theirs = result_1(&outcome)?;
        let mut result = outcome.metrics.get(WALL).map_or_else(Map::new, |(_, values)| more(values));
        result.extend(theirs);
        results.push(Value::Object(result));
    }
    Ok(format!("{:#}\n", json!({ "results": results })))
}

fn result_1(outcome: &Outcome<'_>) -> Written<Map<String, Value>> {
    let name = outcome.name;
    let mut fields = Map::new();
    fields.insert("command".to_owned(), json!(name.benchmark.as_str()));
    if !outcome.metrics.contains_key(WALL) {
        return Err(WriteHyperfineError::UnevenRuns { benchmark: name.benchmark.clone() });
    }
    for (metric, (series, values)) in &outcome.metrics {
        let boxed = || Box::new(series.name.clone());
        match (*metric, &series.unit) {
            (WALL, SeriesUnit::Seconds) => {
                if let Value::Object(summary) = json!(Summary::of(values)) {
                    fields.extend(summary);
                }
                fields.insert("times".to_owned(), json!(values));
            }
            (USER | SYSTEM, SeriesUnit::Seconds) => {
                fields.insert((*metric).to_owned(), json!(Summary::of(values).mean));
            }
            (MAX_RSS, SeriesUnit::Bytes) => {
                let whole: Option<Vec<u64>> = values.iter().map(|value| whole(*value)).collect();
                let whole = whole.ok_or_else(|| WriteHyperfineError::NotWholeBytes { series: boxed() })?;
                fields.insert("memory_usage_byte".to_owned(), json!(whole));
            }
            _ => return Err(WriteHyperfineError::NoPlace { series: boxed() }),
        }
    }
    let parameters: BTreeMap<&str, &str> = parameters(name).collect();
    if !parameters.is_empty() {
        fields.insert("parameters".to_owned(), json!(parameters));
    }
    Ok(fields)
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
pub fn write_hyperfine_2(series: &[Series], header: &Hyperfine2Header<'_>) -> Written<String> {
    let mut results = Vec::new();
    let mut primary = None;
    for outcome in outcomes(series)? {
        let first = outcome.metrics.keys().next().map_or(WALL, |metric| *metric);
        primary.get_or_insert(if outcome.metrics.contains_key(WALL) { WALL } else { first });
        results.push(result_2(&outcome)?);
    }
    let mut metadata = Map::new();
    metadata.insert("hyperfine_version".to_owned(), json!(header.writer));
    if let Some(start_time) = header.start_time {
        metadata.insert("start_time".to_owned(), json!(start_time));
    }
    let platform = [("os", header.operating_system), ("architecture", header.architecture)];
    let platform: BTreeMap<_, _> =
        platform.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    metadata.insert("platform".to_owned(), json!(platform));
    let document = json!({
        "schema_version": 2,
        "metadata": metadata,
        "primary_metric": their_word(primary.unwrap_or(WALL)),
        "results": results,
    });
    Ok(format!("{document:#}\n"))
}

fn result_2(outcome: &Outcome<'_>) -> Written<Value> {
    let name = outcome.name;
    let mut measurements: Vec<Map<String, Value>> = Vec::new();
    let mut summaries = Map::new();
    for (metric, (series, values)) in &outcome.metrics {
        let unit = unit_word(series)?;
        let metric = their_word(metric);
        if metric == EXIT_CODE || their_word(series.name.metric.as_str()) != metric || is_theirs(series) {
            return Err(WriteHyperfineError::NoPlace { series: Box::new(series.name.clone()) });
        }
        let with_unit = |mut fields: Map<String, Value>| {
            fields.extend(unit.map(|unit| ("unit".to_owned(), json!(unit))));
            Value::Object(fields)
        };
        measurements.resize_with(values.len(), Map::new);
        for (measurement, value) in measurements.iter_mut().zip(*values) {
            let fields = Map::from_iter([("value".to_owned(), json!(value))]);
            measurement.insert(metric.to_owned(), with_unit(fields));
        }
        let mut summary = Map::from_iter([("count".to_owned(), json!(values.len()))]);
        if let Value::Object(fields) = json!(Summary::of(values)) {
            summary.extend(fields);
        }
        summaries.insert(metric.to_owned(), with_unit(summary));
    }
    let is_command = |(key, _): &(&str, &str)| *key == COMMAND;
    let command = parameters(name).find(is_command).map(|(_, command)| command);
    let others = parameters(name).filter(|parameter| !is_command(parameter));
    let parameters: Map<String, Value> =
        others.map(|(key, value)| (key.to_owned(), json!({ "value": value }))).collect();
    let mut fields = Map::new();
    fields.insert("command".to_owned(), json!(command.unwrap_or(name.benchmark.as_str())));
    if command.is_some() {
        fields.insert("name".to_owned(), json!(name.benchmark.as_str()));
    }
    fields.insert("measurements".to_owned(), json!(measurements));
    if !parameters.is_empty() {
        fields.insert("parameters".to_owned(), Value::Object(parameters));
    }
    fields.insert("summary".to_owned(), Value::Object(summaries));
    Ok(Value::Object(fields))
}

/// hyperfine's word for a metric.
fn their_word(metric: &str) -> &str {
    METRICS.iter().find(|(_, ours)| *ours == metric).map_or(metric, |(theirs, _)| theirs)
}

/// Whether a series of ours bears hyperfine's word for another metric of ours, and would be read as that.
fn is_theirs(series: &Series) -> bool {
    METRICS.iter().any(|(theirs, _)| *theirs == series.name.metric.as_str())
}

/// The unit's word, unless it would be read as another unit.
fn unit_word(series: &Series) -> Written<Option<&str>> {
    match &series.unit {
        SeriesUnit::Seconds => Ok(Some("second")),
        SeriesUnit::Bytes => Ok(Some("byte")),
        SeriesUnit::BytesPerSecond => Ok(Some("byte/second")),
        SeriesUnit::Bare => Ok(None),
        SeriesUnit::Named(word) if SeriesUnit::of_word(word) == (series.unit.clone(), 0) => {
            Ok(Some(word.as_str()))
        }
        SeriesUnit::Named(_) => Err(WriteHyperfineError::NoPlace { series: Box::new(series.name.clone()) }),
    }
}
