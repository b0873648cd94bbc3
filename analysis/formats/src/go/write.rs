//! Series as Go benchmark text.

use super::{DIMENSIONS, PREFIX, UNITS, VERSION, key_and_value, measured_in};
use crate::{BetterWhen, Name, Series, SeriesName, SeriesUnit};
use indexmap::IndexMap;
use std::{collections::BTreeMap, collections::BTreeSet, fmt::Write};

/// Series that Go benchmark text cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteGoError {
    /// A metric that would be read as another one, or has white space.
    #[error("the metric of {series} is no unit of Go benchmark text")]
    Metric { series: Box<SeriesName> },
    /// A label or version that is no `key: value` line.
    #[error("the label {key} of {series} is no configuration line of Go benchmark text")]
    Label { series: Box<SeriesName>, key: Name },
    /// Two series whose names are the same in Go benchmark text.
    #[error("{series} and another series have the same name in Go benchmark text")]
    Repeated { series: Box<SeriesName> },
}

impl WriteGoError {
    /// What the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Metric { .. } => {
                "CSV (--format csv) has a place for it; or give it a name without white space"
            }
            Self::Label { .. } => {
                "keys begin with a lower-case letter, without upper case, white space and colons"
            }
            Self::Repeated { .. } => "white space in names is written as `_`; rename one of the two",
        }
    }
}

/// The configuration under which results stand.
type Labels<'s> = BTreeMap<&'s str, &'s str>;

/// The metrics of each benchmark under each configuration, by their Go units.
type Blocks<'s> = IndexMap<(String, Labels<'s>), IndexMap<String, &'s Series>>;

/// Series as Go benchmark text, which benchstat reads.
///
/// Wall time is written in `sec/op`. Each value is a line with its iteration count 1, metrics of one benchmark share their
/// lines, and each run ends with `PASS`, as the output of each process does. White space in benchmark names is written as
/// `_` and control characters are escaped, as Go's own testing package does; apart from that, and from units with a
/// [`SeriesUnit::Named`], what is written is read back as it was. Labels `goos`, `goarch` and `cpu` that all series share come
/// back as facts of the machine.
///
/// # Errors
/// A metric, label or version that the text would not hold as it is; two series that would become one.
pub fn write_go(series: &[Series]) -> Result<String, WriteGoError> {
    let blocks = blocks(series)?;
    let runs = series.iter().map(|series| series.runs.count()).max().unwrap_or(0);
    let mut text = String::new();
    let mut directed = BTreeSet::new();
    for (unit, series) in blocks.values().flatten() {
        if let Some(better) = series.better
            && series.unit.better(&series.name.metric) != series.better
            && directed.insert(unit)
        {
            // Writing to a string cannot fail.
            let word = if better == BetterWhen::Higher { "higher" } else { "lower" };
            let _ = writeln!(text, "Unit {unit} better={word}");
        }
    }
    let mut standing = Labels::new();
    for run in 0..runs {
        for ((benchmark, labels), metrics) in &blocks {
            let metrics = metrics.iter();
            let values = metrics.filter_map(|(unit, series)| Some((unit.as_str(), series.runs.get(run)?)));
            let values: Vec<(&str, &[f64])> = values.collect();
            if !values.is_empty() {
                configure(&mut text, &mut standing, labels);
                write_run(&mut text, benchmark, &values);
            }
        }
        text.push_str("PASS\n");
    }
    Ok(text)
}

/// Changes the standing configuration into the one that is wanted.
fn configure<'s>(text: &mut String, standing: &mut Labels<'s>, wanted: &Labels<'s>) {
    for key in standing.keys().filter(|key| !wanted.contains_key(*key)) {
        text.extend([key, ":\n"]);
    }
    for (key, value) in wanted.iter().filter(|(key, value)| standing.get(*key) != Some(value)) {
        text.extend([key, ": ", value, "\n"]);
    }
    standing.clone_from(wanted);
}

/// One line a value; metrics with fewer values are missing from the last lines.
fn write_run(text: &mut String, benchmark: &str, metrics: &[(&str, &[f64])]) {
    let lines = metrics.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
    for line in 0..lines {
        text.extend([PREFIX, benchmark, "\t1"]);
        for (unit, values) in metrics {
            if let Some(value) = values.get(line) {
                // Writing to a string cannot fail.
                let _ = write!(text, "\t{value:?} {unit}");
            }
        }
        text.push('\n');
    }
}

fn blocks(series: &[Series]) -> Result<Blocks<'_>, WriteGoError> {
    let mut blocks = Blocks::new();
    for one in series {
        let unit = unit_of(one)?;
        let key = (written_name(one.name.benchmark.as_str()), labels_of(one)?);
        if blocks.entry(key).or_default().insert(unit, one).is_some() {
            return Err(WriteGoError::Repeated { series: Box::new(one.name.clone()) });
        }
    }
    Ok(blocks)
}

/// A benchmark's name as Go's testing package would write it.
fn written_name(name: &str) -> String {
    let plain = name.replace(char::is_whitespace, "_");
    plain
        .chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
        .collect()
}

/// The Go unit that is read back as the metric in its unit.
fn unit_of(series: &Series) -> Result<String, WriteGoError> {
    let metric = series.name.metric.as_str();
    let own = UNITS.iter().find(|(_, own, unit)| *own == metric && *unit == series.unit);
    let dimension = DIMENSIONS.iter().find(|(_, unit)| *unit == series.unit);
    let word = match (&series.unit, own, dimension) {
        (_, Some((word, ..)), _) => (*word).to_owned(),
        (_, None, Some((ending, _))) => format!("{metric}{ending}"),
        (SeriesUnit::Named(unit), ..) if metric != unit.as_str() => format!("{metric}-{}", unit.as_str()),
        _ => metric.to_owned(),
    };
    let is_one_word = !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c.is_control());
    let read = measured_in(&word);
    let is_named = matches!(series.unit, SeriesUnit::Named(_));
    if is_one_word && read.2 == 0 && (is_named || read.0 == metric && read.1 == series.unit) {
        Ok(word)
    } else {
        Err(WriteGoError::Metric { series: Box::new(series.name.clone()) })
    }
}

/// The labels as configuration lines, the version as the key `version`.
fn labels_of(series: &Series) -> Result<Labels<'_>, WriteGoError> {
    let name = &series.name;
    let version = name.version.iter().map(|version| (VERSION, version.as_str()));
    let others = name.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let mut labels = Labels::new();
    for (key, value) in version.chain(others) {
        let line = format!("{key}: {value}");
        let is_line = !value.is_empty() && !value.contains(char::is_control);
        if !is_line || key_and_value(&line) != Some((key, value)) || labels.insert(key, value).is_some() {
            return Err(WriteGoError::Label { series: Box::new(name.clone()), key: Name::beginning(key) });
        }
    }
    // Without a version, a label of that name would be read as one.
    if name.version.is_none() && labels.contains_key(VERSION) {
        return Err(WriteGoError::Label { series: Box::new(name.clone()), key: Name::beginning(VERSION) });
    }
    Ok(labels)
}
