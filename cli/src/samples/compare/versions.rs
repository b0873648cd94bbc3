//! Series into versions, each with its benchmarks.
//!
//! Of several files each is a version. One file is the versions that it holds: those of its tool, of its version column, or
//! the commands of hyperfine.

use std::collections::{BTreeMap, BTreeSet};

use speedup_analysis::inquiry::{MissingBenchmark, MissingCause, NamedSample, Suite};
use speedup_formats::{BetterWhen, MissingKind, MissingResult, Name, Series, SeriesUnit, ValueOf, WALL};
use thiserror::Error;

use super::source::Source;

/// What the commands of hyperfine do, which is the same: else nobody would compare them.
const COMMAND: &str = "command";

#[derive(Debug, PartialEq)]
pub(crate) struct Versions {
    pub(crate) metric: String,
    /// Its unit, by which the values of all versions are measured.
    pub(crate) unit: SeriesUnit,
    /// Which values are the better ones, where the files tell.
    pub(crate) better: Option<BetterWhen>,
    /// A benchmark of which nothing tells, where more is better of others.
    pub(crate) undirected: Option<String>,
    /// What one value of each version stands for, where the files tell.
    pub(crate) values_of: BTreeMap<String, Option<ValueOf>>,
    /// The versions, the baseline first.
    pub(crate) suites: Vec<Suite>,
    /// The numbers of the files that they are from.
    pub(crate) origins: Vec<usize>,
}

/// Why files have no versions.
#[derive(Debug, PartialEq, Error)]
pub(crate) enum VersionsError {
    #[error("there is no metric {asked}; the metrics are {}", metrics.join(", "))]
    NoMetric { asked: String, metrics: Vec<String> },
    #[error("there are several metrics: {}", metrics.join(", "))]
    SeveralMetrics { metrics: Vec<String> },
    #[error("{file} has no metric {metric}: it has {}", metrics.join(", "))]
    MetricMissing { file: String, metric: String, metrics: Vec<String> },
    #[error("there is no version {asked:?}; the versions are {}", versions.join(", "))]
    NoBaseline { asked: String, versions: Vec<String> },
    #[error("{benchmark} is measured in {first} and in {second}")]
    Units { benchmark: String, first: String, second: String },
    #[error("{benchmark} is measured in {unit} in {known} and in an unknown unit in {unknown}")]
    UnknownUnit { benchmark: String, unit: String, known: String, unknown: String },
    #[error("less is better of {lower}, and more of {higher}")]
    Directions { lower: String, higher: String },
    #[error("the file {0} is given twice")]
    FileTwice(String),
    #[error("{version} has the benchmark {benchmark:?} twice")]
    BenchmarkTwice { version: String, benchmark: String },
}

speedup_core::hints! { VersionsError:
    Self::SeveralMetrics { .. } => "choose one with --metric",
    Self::NoMetric { .. } | Self::MetricMissing { .. } => "choose a metric that all files have",
    Self::NoBaseline { .. } => "name one of them with --baseline, or samples from `speedup baseline list`",
    Self::Units { .. } => "give all values in one unit",
    Self::UnknownUnit { .. } => "--unit, such as --unit ms, says what the numbers without a unit are in",
    Self::Directions { .. } => "give results that are all times, or all rates",
    Self::FileTwice(_) => "a version compared with itself shows nothing: copy the file if you mean it",
}

/// A series with the version that it is of.
#[derive(Debug)]
pub(crate) struct VersionSeries<'s> {
    pub(crate) version: String,
    benchmark: String,
    pub(crate) series: &'s Series,
    /// The block of each of its runs, where blocks make pairs.
    pub(crate) blocks: Vec<Option<String>>,
    /// The number of its file.
    source: usize,
}

impl Versions {
    /// The versions in `sources`, of the metric asked for, or of wall time, or of the only one there is.
    pub(crate) fn new(
        sources: &[Source],
        metric: Option<&str>,
        baseline: Option<&str>,
    ) -> Result<Self, VersionsError> {
        let metric = chosen_metric(sources, metric)?;
        let placed = placed(sources, &metric)?;
        let unit = one_unit(&placed)?;
        let (better, undirected) = one_direction(&placed)?;
        let mut values_of: BTreeMap<String, Option<ValueOf>> = BTreeMap::new();
        for one in &placed {
            values_of.entry(one.version.clone()).or_insert(one.series.value_of);
        }
        let mut suites = suites(placed)?;
        add_missing(sources, &metric, &mut suites);
        if let Some(asked) = baseline {
            let Some(at) = suites.iter().position(|(_, suite)| suite.version == asked) else {
                let versions = suites.into_iter().map(|(_, suite)| suite.version).collect();
                return Err(VersionsError::NoBaseline { asked: asked.to_owned(), versions });
            };
            suites[..=at].rotate_right(1);
        }
        let (origins, suites) = suites.into_iter().unzip();
        Ok(Self { metric, unit, better, undirected, values_of, suites, origins })
    }

    /// What one value stands for, where that is the same in all versions.
    pub(crate) fn value_of(&self) -> Option<ValueOf> {
        let first = *self.values_of.values().next()?;
        if self.values_of.values().all(|other| *other == first) { first } else { None }
    }
}

/// The series of a metric, each with its version.
pub(crate) fn placed<'s>(
    sources: &'s [Source],
    metric: &str,
) -> Result<Vec<VersionSeries<'s>>, VersionsError> {
    if let Some(twice) = sources.iter().enumerate().find_map(|(at, source)| {
        sources[..at].iter().any(|other| other.name == source.name).then_some(&source.name)
    }) {
        return Err(VersionsError::FileTwice(twice.clone()));
    }
    let mut placed = Vec::new();
    for (number, source) in sources.iter().enumerate() {
        let naming = ResultNaming::new(sources, number, metric);
        let is_only = sources.len() == 1;
        for series in of_metric(source, metric) {
            let name = &series.name;
            let (version, benchmark) = naming.place(name.version.as_ref(), &name.labelled_benchmark());
            let blocks = if is_only { blocks(series) } else { blocks_of_file(source, series) };
            placed.push(VersionSeries { version, benchmark, series, blocks, source: number });
        }
        if of_metric(source, metric).next().is_none() && source.imported.failures.is_empty() {
            let (file, metric) = (source.name.clone(), metric.to_owned());
            return Err(VersionsError::MetricMissing {
                file,
                metric,
                metrics: metrics(&sources[number..=number]),
            });
        }
    }
    Ok(placed)
}

/// How a file's results are named as those of a version.
pub(crate) struct ResultNaming<'s> {
    source: &'s Source,
    /// The versions that the file names, where it names several, or is the only file.
    versions: BTreeSet<String>,
    is_only: bool,
    /// Whether each of several files holds one command, so that all of them are measurements of the same thing.
    are_single_commands: bool,
}

impl<'s> ResultNaming<'s> {
    /// The naming of the file numbered `number`.
    pub(crate) fn new(sources: &'s [Source], number: usize, metric: &str) -> Self {
        let source = &sources[number];
        let is_only = sources.len() == 1;
        let named = of_metric(source, metric).map(|series| series.name.version.as_ref());
        let named: BTreeSet<Option<&Name>> = named.collect();
        let mut versions = BTreeSet::new();
        if named.len() > 1 || is_only {
            versions.extend(named.into_iter().flatten().map(|version| version_of(source, is_only, version)));
        }
        let are_single_commands = !is_only && sources.iter().all(|source| has_one_command(source, metric));
        Self { source, versions, is_only, are_single_commands }
    }

    /// The version and the benchmark of a result.
    pub(crate) fn place(&self, version: Option<&Name>, benchmark: &str) -> (String, String) {
        if let Some(version) = version
            && !self.versions.is_empty()
        {
            return (version_of(self.source, self.is_only, version), benchmark.to_owned());
        }
        if self.are_single_commands {
            return (self.source.name.clone(), COMMAND.to_owned());
        }
        if self.is_only && self.versions.is_empty() && self.source.imported.are_commands {
            return (benchmark.to_owned(), COMMAND.to_owned());
        }
        (self.source.name.clone(), benchmark.to_owned())
    }

    /// The versions and the benchmark of a result that is missing: without a version it is one of all that the file holds.
    pub(crate) fn places(&self, missing: &MissingResult) -> Vec<(String, String)> {
        let benchmark = missing.benchmark.as_str();
        if missing.version.is_none() && !self.versions.is_empty() {
            return self.versions.iter().map(|version| (version.clone(), benchmark.to_owned())).collect();
        }
        vec![self.place(missing.version.as_ref(), benchmark)]
    }
}

fn version_of(source: &Source, is_only: bool, version: &Name) -> String {
    if is_only { version.to_string() } else { format!("{} {version}", source.name) }
}

/// Whether a file holds a single command, whatever became of it.
fn has_one_command(source: &Source, metric: &str) -> bool {
    let measured = of_metric(source, metric).map(|series| series.name.labelled_benchmark());
    let missing = source.imported.failures.iter().map(|one| one.benchmark.as_str().to_owned());
    let commands: BTreeSet<String> = measured.chain(missing).collect();
    source.imported.are_commands && commands.len() == 1 && of_metric(source, metric).count() <= 1
}

/// The blocks of one file are none of another.
fn blocks_of_file(source: &Source, series: &Series) -> Vec<Option<String>> {
    let blocks = series.runs.blocks().iter();
    blocks.map(|block| block.as_ref().map(|block| format!("{} {block}", source.name))).collect()
}

/// Adds to each version what its file says to be missing.
fn add_missing(sources: &[Source], metric: &str, suites: &mut Vec<(usize, Suite)>) {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (at, (_, suite)) in suites.iter().enumerate() {
        places.insert(suite.version.clone(), at);
    }
    for (number, source) in sources.iter().enumerate() {
        let naming = ResultNaming::new(sources, number, metric);
        for failure in &source.imported.failures {
            for (version, benchmark) in naming.places(failure) {
                let at = *places.entry(version.clone()).or_insert_with(|| {
                    suites.push((number, Suite::new(version, Vec::new())));
                    suites.len() - 1
                });
                suites[at].1.missing.push(missing_benchmark(benchmark, failure));
            }
        }
    }
    // A file of failures alone stands where it was given.
    suites.sort_by_key(|(source, _)| *source);
}

fn missing_benchmark(benchmark: String, failure: &MissingResult) -> MissingBenchmark {
    let cause = match failure.kind {
        MissingKind::Failed => MissingCause::Failed,
        MissingKind::Skipped => MissingCause::Skipped,
        MissingKind::Unreadable => MissingCause::Unreadable,
        MissingKind::FailedRuns { failed, runs } => MissingCause::FailedRuns { failed, runs },
    };
    MissingBenchmark { benchmark, cause, message: failure.message.as_ref().map(ToString::to_string) }
}

/// The metrics of all files, in the order in which they come.
pub(crate) fn metrics(sources: &[Source]) -> Vec<String> {
    let mut metrics: Vec<String> = Vec::new();
    for series in sources.iter().flat_map(|source| &source.imported.series) {
        let metric = series.name.metric.as_str();
        if metrics.iter().all(|known| known != metric) {
            metrics.push(metric.to_owned());
        }
    }
    metrics
}

fn of_metric<'s>(source: &'s Source, metric: &str) -> impl Iterator<Item = &'s Series> {
    source.imported.series.iter().filter(move |series| series.name.metric.as_str() == metric)
}

fn chosen_metric(sources: &[Source], asked: Option<&str>) -> Result<String, VersionsError> {
    let mut metrics = metrics(sources);
    let has = |metric: &str| metrics.iter().any(|known| known == metric);
    match asked {
        Some(asked) if has(asked) => Ok(asked.to_owned()),
        Some(asked) => Err(VersionsError::NoMetric { asked: asked.to_owned(), metrics }),
        None if has(WALL) => Ok(WALL.to_owned()),
        None if metrics.len() == 1 => Ok(metrics.swap_remove(0)),
        None if metrics.is_empty() => Ok(WALL.to_owned()),
        None => Err(VersionsError::SeveralMetrics { metrics }),
    }
}

pub(crate) fn blocks(series: &Series) -> Vec<Option<String>> {
    series.runs.blocks().iter().map(|name| name.as_ref().map(ToString::to_string)).collect()
}

/// The unit of all values, if they have one: each benchmark is in the same unit in all versions.
fn one_unit(placed: &[VersionSeries<'_>]) -> Result<SeriesUnit, VersionsError> {
    let mut of_benchmark: BTreeMap<&str, &VersionSeries<'_>> = BTreeMap::new();
    for one in placed {
        let known = *of_benchmark.entry(&one.benchmark).or_insert(one);
        let (first, second) = (&known.series.unit, &one.series.unit);
        if first == second {
            continue;
        }
        let benchmark = one.benchmark.clone();
        let (with_unit, without) = match (first, second) {
            (_, SeriesUnit::Bare) => (known, one),
            (SeriesUnit::Bare, _) => (one, known),
            _ => {
                let (first, second) = (first.to_string(), second.to_string());
                return Err(VersionsError::Units { benchmark, first, second });
            }
        };
        return Err(VersionsError::UnknownUnit {
            benchmark,
            unit: with_unit.series.unit.to_string(),
            known: with_unit.version.clone(),
            unknown: without.version.clone(),
        });
    }
    let mut units = placed.iter().map(|one| &one.series.unit);
    let unit = units.next().unwrap_or(&SeriesUnit::Bare);
    Ok(if units.all(|other| other == unit) { unit.clone() } else { SeriesUnit::Bare })
}

/// Which values are the better ones, the same in all that tell; and a benchmark of which nothing tells beside others of which
/// more is better.
fn one_direction(
    placed: &[VersionSeries<'_>],
) -> Result<(Option<BetterWhen>, Option<String>), VersionsError> {
    let mut lower = None;
    let mut higher = None;
    let mut directed = BTreeSet::new();
    for one in placed {
        match one.series.better {
            Some(BetterWhen::Lower) => lower = lower.or(Some(&one.benchmark)),
            Some(BetterWhen::Higher) => higher = higher.or(Some(&one.benchmark)),
            None => continue,
        }
        directed.insert(&one.benchmark);
    }
    match (lower, higher) {
        (Some(lower), Some(higher)) => {
            Err(VersionsError::Directions { lower: lower.clone(), higher: higher.clone() })
        }
        (Some(_), None) => Ok((Some(BetterWhen::Lower), None)),
        (None, None) => Ok((None, None)),
        (None, Some(_)) => {
            let undirected = placed.iter().find(|one| !directed.contains(&one.benchmark));
            Ok((Some(BetterWhen::Higher), undirected.map(|one| one.benchmark.clone())))
        }
    }
}

/// The versions in the order in which they come, each with the number of its file.
fn suites(placed: Vec<VersionSeries<'_>>) -> Result<Vec<(usize, Suite)>, VersionsError> {
    let mut suites: Vec<(usize, Suite)> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut known: BTreeSet<(usize, String)> = BTreeSet::new();
    for VersionSeries { version, benchmark, series, blocks, source } in placed {
        let at = *places.entry(version.clone()).or_insert_with(|| {
            suites.push((source, Suite::new(version.clone(), Vec::new())));
            suites.len() - 1
        });
        if !known.insert((at, benchmark.clone())) {
            return Err(VersionsError::BenchmarkTwice { version, benchmark });
        }
        let runs = series.runs.iter().map(<[f64]>::to_vec).collect();
        suites[at].1.benchmarks.push(NamedSample { benchmark, runs, blocks });
    }
    Ok(suites)
}
