//! Go benchmark text, as the Go project's proposal 14313 defines it and benchstat reads it.
//!
//! A line `key: value` holds until it is changed and becomes a label of every later result, the key `version` its version. A
//! line `Benchmark… iterations value unit…` is one result with one value for each unit. `Unit` lines say how units are
//! compared, which changes no value. Everything else is ignored, as the format demands, except that a line `PASS`, `FAIL` or
//! `ok` ends a process: results behind it belong to another run.
//!
//! `goos`, `goarch` and `cpu` say on what machine a process ran. Where one value holds for all results they are facts of that
//! machine, not part of a benchmark's name: two hosts measure the same benchmark. Where they change, they are labels like the
//! others, and the results come from several machines.
//!
//! `ns/op` is the wall time and `B/op` is bytes. Other units are metrics of that name, tidied as benchstat does: `ns` to
//! `sec`, `MB` to `B`, where they are factors of the numerator; with `x-sec`, `x-B` and `x-B/s` the metric is `x`.

mod events;
mod write;

pub(crate) use events::read_events;
pub use write::{WriteGoError, write_go};

use crate::{
    collection::Collection, collection::check_labels, decimal, imported::FailureKind,
    imported::ImportWarning, imported::MissingResult, name::Name, problem::Fault, problem::FileProblem,
    series::SeriesName, series::SeriesUnit, series::WALL, text::column, text::fields, text::lines,
};
use std::collections::{BTreeMap, BTreeSet};

/// What to do with the units of Go benchmark text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GoUnits {
    /// To base units: seconds and bytes.
    #[default]
    Base,
    /// Values and units as they are written; the metric is the unit.
    AsWritten,
}

const PREFIX: &str = "Benchmark";
const VERSION: &str = "version";

/// Go's own units and what they measure in base units.
const WALL_UNIT: &str = "sec/op";
const MEMORY_UNIT: &str = "B/op";
const RATE_UNIT: &str = "B/s";

/// The endings by which a unit tells its dimension, and the dimension.
const DIMENSIONS: [(&str, SeriesUnit); 3] =
    [("-sec", SeriesUnit::Seconds), ("-B/s", SeriesUnit::BytesPerSecond), ("-B", SeriesUnit::Bytes)];

pub(crate) fn read(text: &str, units: GoUnits) -> Result<Collection, Fault> {
    collect(&lines(text).collect::<Vec<_>>(), units)
}

/// Reads lines, each with its number in the file.
fn collect(lines: &[(usize, &str)], units: GoUnits) -> Result<Collection, Fault> {
    let mut collection = Collection::default();
    let machine = Machine::of(lines);
    let mut configuration = Configuration::default();
    let mut run = 0;
    for &(line, content) in lines {
        if is_result(content) {
            result(content, line, run, &configuration, units, &mut collection)?;
        } else if let Some((key, value)) = key_and_value(content).filter(|(key, _)| !machine.tells(key)) {
            configuration.set(key, value).map_err(|problem| Fault::at(line, 1, problem))?;
        } else if ends_process(content) {
            run += 1;
        } else if let Some((benchmark, kind)) = failure(content) {
            let failure = MissingResult { benchmark: Name::beginning(benchmark), kind, message: None };
            collection.fail(failure).map_err(|problem| Fault::at(line, 1, problem))?;
        }
    }
    let fact = |key| machine.fact(key).map(|value| Name::new(value).map_err(Fault::of_file)).transpose();
    collection.machine.operating_system = fact("goos")?;
    collection.machine.architecture = fact("goarch")?;
    collection.machine.processor = fact("cpu")?;
    if machine.is_several() {
        collection.warn(ImportWarning::SeveralHosts).map_err(Fault::of_file)?;
    }
    Ok(collection)
}

/// The keys that tell of the machine.
const MACHINE: [&str; 3] = ["goos", "goarch", "cpu"];

/// What the lines say of the machine: the different values of each key.
struct Machine<'t>(BTreeMap<&'t str, BTreeSet<&'t str>>);

impl<'t> Machine<'t> {
    fn of(lines: &[(usize, &'t str)]) -> Self {
        let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let told = lines.iter().filter_map(|(_, content)| key_and_value(content));
        for (key, value) in told.filter(|(key, _)| MACHINE.contains(key)) {
            values.entry(key).or_default().insert(value);
        }
        Self(values)
    }

    /// The value of a key, if it has one for all results.
    fn fact(&self, key: &str) -> Option<&'t str> {
        self.0.get(key).filter(|values| values.len() == 1)?.first().copied()
    }

    /// Whether a key is no label.
    fn tells(&self, key: &str) -> bool {
        self.fact(key).is_some()
    }

    fn is_several(&self) -> bool {
        self.0.values().any(|values| values.iter().filter(|value| !value.is_empty()).count() > 1)
    }
}

/// What holds for the results that follow.
#[derive(Default)]
struct Configuration {
    version: Option<Name>,
    labels: BTreeMap<Name, Name>,
}

impl Configuration {
    /// An empty value takes the key away.
    fn set(&mut self, key: &str, value: &str) -> Result<(), FileProblem> {
        let value = if value.is_empty() { None } else { Some(Name::new(value)?) };
        if key == VERSION {
            self.version = value;
        } else if let Some(value) = value {
            self.labels.insert(Name::new(key)?, value);
            check_labels(&self.labels)?;
        } else {
            self.labels.remove(&Name::new(key)?);
        }
        Ok(())
    }
}

/// A line `key: value`: the key begins with a lower-case letter and has neither upper-case letters nor white space.
fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let begins_low = key.chars().next().is_some_and(char::is_lowercase);
    let is_key = begins_low && !key.chars().any(|c| c.is_whitespace() || c.is_uppercase());
    let separated = value.is_empty() || value.starts_with([' ', '\t']);
    (is_key && separated).then(|| (key, value.trim_start_matches([' ', '\t'])))
}

fn ends_process(line: &str) -> bool {
    matches!(line.split_whitespace().next(), Some("PASS" | "FAIL" | "ok"))
}

fn failure(line: &str) -> Option<(&str, FailureKind)> {
    let (marker, name) = line.strip_prefix("--- ")?.split_once(": ")?;
    let kind = match marker {
        "FAIL" => FailureKind::Failed,
        "SKIP" => FailureKind::Skipped,
        _ => return None,
    };
    Some((name.split_whitespace().next()?.strip_prefix(PREFIX)?, kind))
}

/// Whether a line reports a benchmark without a result.
pub(crate) fn is_failure(line: &str) -> bool {
    failure(line).is_some()
}

/// Whether a line is a result: its first word begins with `Benchmark`, its second is a count. Other lines that begin so are
/// talk ("Benchmarking …") or a name whose result stands elsewhere.
pub(crate) fn is_result(line: &str) -> bool {
    let mut words = line.split_whitespace();
    line.starts_with(PREFIX)
        && words.next().is_some()
        && words.next().is_some_and(|count| count.bytes().all(|byte| byte.is_ascii_digit()))
}

fn result(
    content: &str,
    line: usize,
    run: u64,
    configuration: &Configuration,
    units: GoUnits,
    collection: &mut Collection,
) -> Result<(), Fault> {
    let mut fields = fields(content);
    let benchmark = fields.next().map_or("", |(_, name)| &name[PREFIX.len()..]);
    let benchmark = Name::new(benchmark).map_err(|problem| Fault::at(line, 1, problem))?;
    let mut series = SeriesName {
        benchmark,
        version: configuration.version.clone(),
        labels: configuration.labels.clone(),
        metric: Name::of(WALL),
    };
    let _iterations = fields.next();
    let mut measurements = 0;
    while let Some((offset, text)) = fields.next() {
        let at = |problem| Fault::at(line, column(content, offset), problem);
        let (_, word) = fields.next().ok_or_else(|| at(FileProblem::Truncated { expected: "a unit" }))?;
        let (metric, unit, shift) = match units {
            GoUnits::Base => measured_in(word),
            GoUnits::AsWritten => (word.to_owned(), SeriesUnit::Named(Name::beginning(word)), 0),
        };
        series.metric = Name::new(metric).map_err(|problem| at(problem.into()))?;
        let pushed = match decimal::read(text, shift) {
            Ok(value) => collection.push(&series, &unit, run, value),
            Err(decimal::NumberProblem::NotFinite) => collection.leave_out(&series),
            Err(problem) => Err(FileProblem::Number { text: Name::beginning(text), problem }),
        };
        pushed.map_err(at)?;
        measurements += 1;
    }
    if measurements == 0 {
        let end = column(content, content.len());
        return Err(Fault::at(line, end, FileProblem::Truncated { expected: "a value and its unit" }));
    }
    Ok(())
}

/// Metric and unit of a Go unit, and the power of ten to the unit.
fn measured_in(word: &str) -> (String, SeriesUnit, i32) {
    let (tidy, shift) = tidied(word);
    match tidy.as_str() {
        WALL_UNIT => return (WALL.to_owned(), SeriesUnit::Seconds, shift),
        MEMORY_UNIT => return (tidy, SeriesUnit::Bytes, shift),
        RATE_UNIT => return (tidy, SeriesUnit::BytesPerSecond, shift),
        _ => {}
    }
    for (ending, unit) in DIMENSIONS {
        if let Some(metric) = tidy.strip_suffix(ending).filter(|metric| !metric.is_empty()) {
            return (metric.to_owned(), unit, shift);
        }
    }
    (tidy, SeriesUnit::Bare, shift)
}

/// A unit in base units, and the power of ten to them: `ns` and `MB` change where they are whole factors of the numerator.
fn tidied(word: &str) -> (String, i32) {
    let (mut tidy, mut shift, mut in_denominator) = (String::with_capacity(word.len()), 0_i32, false);
    for piece in word.split_inclusive(['*', '/', '-']) {
        let factor = piece.trim_end_matches(['*', '/', '-']);
        match factor {
            "ns" if !in_denominator => {
                tidy.push_str("sec");
                shift = shift.saturating_sub(9);
            }
            "MB" if !in_denominator => {
                tidy.push('B');
                shift = shift.saturating_add(6);
            }
            other => tidy.push_str(other),
        }
        let separator = &piece[factor.len()..];
        tidy.push_str(separator);
        in_denominator = match separator {
            "/" => true,
            "*" => false,
            _ => in_denominator,
        };
    }
    (tidy, shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_tidied_in_the_numerator_only() {
        let cases = [
            ("ns/op", "sec/op", -9),
            ("MB/s", "B/s", 6),
            ("p50-ns", "p50-sec", -9),
            ("widgets/ns", "widgets/ns", 0),
            ("x/ns-MB", "x/ns-MB", 0),
            ("x/ns*MB", "x/ns*B", 6),
            ("ns*ns", "sec*sec", -18),
            ("turns", "turns", 0),
        ];
        for (word, tidy, shift) in cases {
            assert_eq!(tidied(word), (tidy.to_owned(), shift), "{word}");
        }
    }

    #[test]
    fn keys_are_told_from_talk() {
        assert_eq!(key_and_value("pkg: example.org/x"), Some(("pkg", "example.org/x")));
        assert_eq!(key_and_value("commit:"), Some(("commit", "")));
        for talk in ["Note: x", "two words: x", "http://x", "camelCase: x", ": x", ""] {
            assert_eq!(key_and_value(talk), None, "{talk}");
        }
    }
}
