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

pub(crate) mod events;
pub(crate) mod write;

use crate::{
    BetterWhen, Collection, Fault, FileProblem, ImportCode, MissingKind, Name, SeriesName, SeriesUnit, WALL,
    collection::check_labels, decimal, text::column, text::fields, text::lines,
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
const PACKAGE: &str = "pkg";
/// What programs and go test print before a colon, which is no key.
const TALK: [&str; 9] = ["panic", "fatal", "error", "warning", "info", "debug", "note", "exit", "goroutine"];

/// Go's own units, and the metrics that they measure in base units.
const UNITS: [(&str, &str, SeriesUnit); 3] = [
    ("sec/op", WALL, SeriesUnit::Seconds),
    ("B/op", "B/op", SeriesUnit::Bytes),
    ("B/s", "B/s", SeriesUnit::BytesPerSecond),
];

/// The endings by which a unit tells its dimension, and the dimension.
const DIMENSIONS: [(&str, SeriesUnit); 3] =
    [("-sec", SeriesUnit::Seconds), ("-B/s", SeriesUnit::BytesPerSecond), ("-B", SeriesUnit::Bytes)];

pub(crate) fn read(text: &str, units: GoUnits) -> Result<Collection, Fault> {
    collect(&lines(text).collect::<Vec<_>>(), units)
}

/// Reads lines, each with its number in the file.
fn collect(lines: &[(usize, &str)], units: GoUnits) -> Result<Collection, Fault> {
    let machine = Machine::new(lines);
    let mut reader = Reader { units, ..Reader::default() };
    for &(line, content) in lines {
        reader.take(line, content, &machine)?;
    }
    let mut collection = reader.finish()?;
    collection.machine.operating_system = machine.fact("goos").map(Name::beginning);
    collection.machine.architecture = machine.fact("goarch").map(Name::beginning);
    collection.machine.processor = machine.fact("cpu").map(Name::beginning);
    if machine.is_several() {
        collection.warn(ImportCode::SeveralHosts).map_err(Fault::of_file)?;
    }
    Ok(collection)
}

/// What was read so far.
#[derive(Default)]
struct Reader<'t> {
    collection: Collection,
    units: GoUnits,
    /// What holds for the results that follow.
    version: Option<Name>,
    labels: BTreeMap<Name, Name>,
    /// The number of the process.
    run: u64,
    /// The directions that `Unit` lines declare, by metric.
    directions: BTreeMap<String, BetterWhen>,
    /// The benchmarks that have results.
    measured: BTreeSet<&'t str>,
    /// A benchmark that has begun: what it printed stands between its name and its result.
    begun: Option<(usize, &'t str)>,
    missing: Vec<(usize, SeriesName, MissingKind)>,
    /// The packages that failed as a whole.
    packages: Vec<(usize, Name)>,
    /// How many of the missing are of packages that have ended.
    placed: usize,
    /// Whether the package has results.
    has_results: bool,
    has_panicked: bool,
}

impl<'t> Reader<'t> {
    fn take(&mut self, line: usize, content: &'t str, machine: &Machine<'t>) -> Result<(), Fault> {
        if is_result(content) {
            self.end_begun();
            self.result(line, content)?;
            self.measured.extend(content.split_whitespace().next());
        } else if content.starts_with("panic: ") || content.contains("\tpanic: ") {
            self.has_panicked = true;
            let begun = self.begun.take().map(|(_, name)| name);
            if let Some(name) = begun.or(beginning(content)) {
                self.miss(line, &name[PREFIX.len()..], MissingKind::Failed);
            }
        } else if let Some(benchmark) = benchmark_in_trace(content)
            && self.has_panicked
        {
            self.miss(line, benchmark, MissingKind::Failed);
        } else if let Some(name) = beginning(content) {
            self.end_begun();
            self.begun = Some((line, name));
        } else if let Some((_, name)) = self.begun
            && is_end_of_result(content)
        {
            self.begun = None;
            self.result(line, &format!("{name} {content}"))?;
            self.measured.insert(name);
        } else if content == GO_COMMANDS {
            self.collection.are_commands = true;
        } else if let Some((unit, better)) = direction(content) {
            self.directions.insert(measured_in(unit).0, better);
        } else if let Some((key, value)) = key_and_value(content)
            && machine.fact(key).is_none()
        {
            self.configure(key, value).map_err(|problem| Fault::at(line, 1, problem))?;
        } else if let Some("PASS" | "FAIL" | "ok") = content.split_whitespace().next() {
            self.end_begun();
            self.run += 1;
            self.end_package(line, content);
        } else if let Some((benchmark, kind)) = failure(content) {
            self.begun = None;
            self.miss(line, benchmark, kind);
        }
        Ok(())
    }

    fn result(&mut self, line: usize, content: &str) -> Result<(), Fault> {
        let mut fields = fields(content).peekable();
        let benchmark = fields.next().map_or("", |(_, name)| &name[PREFIX.len()..]);
        let benchmark = Name::new(benchmark).map_err(|problem| Fault::at(line, 1, problem))?;
        self.has_results = true;
        let mut series = self.series_name(benchmark).in_unit((SeriesUnit::Bare, 0));
        let _iterations = fields.next();
        if fields.peek().is_none() {
            let end = column(content, content.len());
            return Err(Fault::at(line, end, FileProblem::Truncated { expected: "a value and its unit" }));
        }
        while let Some((offset, text)) = fields.next() {
            let Some((_, word)) = fields.next() else {
                let at = column(content, offset);
                return Err(Fault::at(line, at, FileProblem::Truncated { expected: "a unit" }));
            };
            let (metric, unit, shift) = match self.units {
                GoUnits::Base => measured_in(word),
                GoUnits::AsWritten => (word.to_owned(), SeriesUnit::Named(Name::beginning(word)), 0),
            };
            // `Unit` lines stand above the results that they are about.
            let better = self.directions.get(&metric).copied();
            // The column is counted only for an error: a line may hold a million results.
            let metric = Name::new(metric);
            series.name.metric =
                metric.map_err(|problem| Fault::at(line, column(content, offset), problem))?;
            series = series.name.in_unit((unit, shift));
            self.collection.declare(&series.name, better, None);
            let pushed = self.collection.push_text(&series, self.run, text);
            pushed.map_err(|problem| Fault::at(line, column(content, offset), problem))?;
        }
        Ok(())
    }

    fn series_name(&self, benchmark: Name) -> SeriesName {
        let labels = self.labels.clone();
        SeriesName { version: self.version.clone(), labels, ..SeriesName::wall(benchmark) }
    }

    /// Sets a key of the configuration; an empty value takes it away.
    fn configure(&mut self, key: &str, value: &str) -> Result<(), FileProblem> {
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

    /// A benchmark that has begun and whose result did not come is missing.
    fn end_begun(&mut self) {
        if let Some((line, name)) = self.begun.take() {
            self.miss(line, &name[PREFIX.len()..], MissingKind::Unreadable);
        }
    }

    /// Places what is missing in the package that a line `ok NAME …` or `FAIL NAME …` ends: go test names a package before its first
    /// result only. One that failed without a result has failed as a whole, as where it did not build.
    fn end_package(&mut self, line: usize, content: &str) {
        let mut words = content.split_whitespace();
        let verdict = words.next();
        let Some(package) = words.next() else { return };
        let package = Name::beginning(package);
        for (_, name, _) in &mut self.missing[self.placed..] {
            name.labels.insert(Name::of(PACKAGE), package.clone());
        }
        if verdict == Some("FAIL") && (self.has_panicked || !self.has_results) {
            let whole = Name::beginning(&format!("{PACKAGE} {package}"));
            self.packages.push((line, whole));
        }
        self.placed = self.missing.len();
        self.has_results = false;
        self.has_panicked = false;
    }

    fn miss(&mut self, line: usize, benchmark: &str, kind: MissingKind) {
        self.missing.push((line, self.series_name(Name::beginning(benchmark)), kind));
    }

    fn finish(mut self) -> Result<Collection, Fault> {
        self.end_begun();
        // Results end in the number of processors, unless it is one; the names of failures do not.
        let suffixes: BTreeSet<&str> = self.measured.iter().map(|name| processors(name)).collect();
        let suffix = if suffixes.len() == 1 { suffixes.first().map_or("", |only| only) } else { "" };
        for (line, mut name, kind) in self.missing {
            let is_bare = processors(name.benchmark.as_str()).is_empty();
            if is_bare && matches!(kind, MissingKind::Failed | MissingKind::Skipped) {
                name.benchmark = Name::beginning(&format!("{}{suffix}", name.benchmark.as_str()));
            }
            let message = Some(Name::beginning(&format!("line {line}")));
            let missed = self.collection.miss_series(&name, kind, message);
            missed.map_err(|problem| Fault::at(line, 1, problem))?;
        }
        for (line, package) in self.packages {
            let missed = self.collection.miss(package, MissingKind::Failed, None);
            missed.map_err(|problem| Fault::at(line, 1, problem))?;
        }
        Ok(self.collection)
    }
}

/// The name on a line of a benchmark that begins: a tab ends it, and no count follows.
fn beginning(line: &str) -> Option<&str> {
    let (name, _) = line.split_once('\t')?;
    let name = name.trim_end_matches(' ');
    let rest = name.strip_prefix(PREFIX)?;
    if rest.is_empty() || rest.contains(char::is_whitespace) || rest.starts_with(char::is_lowercase) {
        return None;
    }
    Some(name)
}

/// The benchmark whose function a line of a stack trace names, as in `q/p.BenchmarkSum(0xc0000aa6c0)`.
fn benchmark_in_trace(line: &str) -> Option<&str> {
    let (_, function) = line.strip_suffix(')')?.split_once(".Benchmark")?;
    function.split(['(', '.']).next()
}

/// Whether a line is what stands behind the name of a result: a count, a value and its unit.
fn is_end_of_result(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(3).collect();
    let [count, value, unit] = words[..] else { return false };
    decimal::are_digits(count) && decimal::read(value, 0).is_ok() && unit.contains('/')
}

/// The ending of a name that is the number of processors, as `-8`; empty where there is none.
fn processors(name: &str) -> &str {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if stem.len() < name.len() && stem.ends_with('-') { &name[stem.len() - 1..] } else { "" }
}

/// What a line `Unit UNIT key=value…` says of a unit's direction.
fn direction(line: &str) -> Option<(&str, BetterWhen)> {
    let mut words = line.strip_prefix("Unit ")?.split_whitespace();
    let unit = words.next()?;
    words.find_map(|word| match word {
        "better=higher" => Some((unit, BetterWhen::Higher)),
        "better=lower" => Some((unit, BetterWhen::Lower)),
        _ => None,
    })
}

/// The keys that tell of the machine.
const MACHINE: [&str; 3] = ["goos", "goarch", "cpu"];

/// The line that says that benchmarks are commands, of which one file holds versions of one thing.
pub const GO_COMMANDS: &str = "tool: hyperfine";

/// What the lines say of the machine: the different values of each key.
struct Machine<'t>(BTreeMap<&'t str, BTreeSet<&'t str>>);

impl<'t> Machine<'t> {
    fn new(lines: &[(usize, &'t str)]) -> Self {
        let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (_, content) in lines {
            if let Some((key, value)) = key_and_value(content)
                && MACHINE.contains(&key)
            {
                values.entry(key).or_default().insert(value);
            }
        }
        Self(values)
    }

    /// The value of a key, if it has one for all results.
    fn fact(&self, key: &str) -> Option<&'t str> {
        self.0.get(key).filter(|values| values.len() == 1)?.first().copied()
    }

    fn is_several(&self) -> bool {
        self.0.values().any(|values| values.iter().filter(|value| !value.is_empty()).count() > 1)
    }
}

/// A line `key: value`: the key begins with a lower-case letter and has neither upper-case letters nor white space.
fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let begins_low = key.chars().next().is_some_and(char::is_lowercase);
    let is_key =
        begins_low && !TALK.contains(&key) && !key.chars().any(|c| c.is_whitespace() || c.is_uppercase());
    let separated = value.is_empty() || value.starts_with([' ', '\t']);
    if is_key && separated { Some((key, value.trim_start_matches([' ', '\t']))) } else { None }
}

/// The benchmark of a line that reports one without a result.
pub(crate) fn failure(line: &str) -> Option<(&str, MissingKind)> {
    let (marker, name) = line.strip_prefix("--- ")?.split_once(": ")?;
    let kind = match marker {
        "FAIL" => MissingKind::Failed,
        "SKIP" => MissingKind::Skipped,
        _ => return None,
    };
    Some((name.split_whitespace().next()?.strip_prefix(PREFIX)?, kind))
}

/// Whether a line is a result: its first word begins with `Benchmark`, its second is a count. Other lines that begin so are
/// talk ("Benchmarking …") or a name whose result stands elsewhere.
pub(crate) fn is_result(line: &str) -> bool {
    line.starts_with(PREFIX) && line.split_whitespace().nth(1).is_some_and(decimal::are_digits)
}

/// Metric and unit of a Go unit, and the power of ten to the unit.
fn measured_in(word: &str) -> (String, SeriesUnit, i32) {
    let (tidy, shift) = tidied(word);
    for (word, metric, unit) in UNITS {
        if tidy == word {
            return (metric.to_owned(), unit, shift);
        }
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
    let mut tidy = String::with_capacity(word.len());
    let mut shift = 0_i32;
    let mut is_denominator = false;
    for piece in word.split_inclusive(['*', '/', '-']) {
        let factor = piece.trim_end_matches(['*', '/', '-']);
        let (base, power) = match factor {
            "ns" if !is_denominator => ("sec", -9),
            "MB" if !is_denominator => ("B", 6),
            other => (other, 0),
        };
        let separator = &piece[factor.len()..];
        tidy.extend([base, separator]);
        shift = shift.saturating_add(power);
        is_denominator = separator == "/" || separator != "*" && is_denominator;
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
