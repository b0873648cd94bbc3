//! Series into versions, each with its benchmarks.
//!
//! Of several files each is a version. One file is the versions that it holds: those of its tool, of its version column, or
//! the commands of hyperfine.

use std::collections::{BTreeMap, BTreeSet};

use speedup_analysis::inquiry::{MissingBenchmark, MissingCause, NamedSample, Suite};
use speedup_formats::{Better, MissingKind, MissingResult, Name, Series, SeriesUnit, ValueOf, WALL};
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
    pub(crate) better: Option<Better>,
    /// What one value of each version stands for, where the files tell.
    pub(crate) values_of: Vec<(String, Option<ValueOf>)>,
    /// The versions, the baseline first.
    pub(crate) suites: Vec<Suite>,
}

/// Why files have no versions.
#[derive(Debug, PartialEq, Error)]
pub(crate) enum VersionsError {
    #[error("there is no metric {asked}: there are {}", metrics.join(", "))]
    NoMetric { asked: String, metrics: Vec<String> },
    #[error("there are several metrics: {}", metrics.join(", "))]
    SeveralMetrics { metrics: Vec<String> },
    #[error("{0} has none of it")]
    MetricMissing(String),
    #[error("there is no version {asked:?}: there are {}", versions.join(", "))]
    NoBaseline { asked: String, versions: Vec<String> },
    #[error("{benchmark} is measured in {first} and in {second}")]
    Units { benchmark: String, first: String, second: String },
    #[error("{benchmark} is measured in {unit} in {known} and in an unknown unit in {unknown}")]
    UnknownUnit { benchmark: String, unit: String, known: String, unknown: String },
    #[error("of {benchmark} less is better in one version, and more in another")]
    Directions { benchmark: String },
    #[error("the file {0} is given twice")]
    FileTwice(String),
    #[error("{version} has the benchmark {benchmark:?} twice")]
    BenchmarkTwice { version: String, benchmark: String },
}

speedup_core::hints! { VersionsError:
    Self::SeveralMetrics { .. } => "choose one with --metric",
    Self::NoMetric { .. } | Self::MetricMissing(_) => "choose a metric that all files have",
    Self::NoBaseline { .. } => "name one of them with --baseline, or samples from `speedup baseline list`",
    Self::Units { .. } => "give all values in one unit",
    Self::UnknownUnit { .. } => "--unit, such as --unit ms, says what the numbers without a unit are in",
    Self::Directions { .. } => "give results that are all times, or all rates",
    Self::FileTwice(_) => "a version compared with itself shows nothing: copy the file if you mean it",
}

#[derive(Debug)]
pub(crate) struct Placed<'s> {
    pub(crate) version: String,
    benchmark: String,
    pub(crate) series: &'s Series,
    /// The block of each of its runs, where blocks make pairs.
    pub(crate) blocks: Vec<Option<String>>,
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
        let better = one_direction(&placed)?;
        let mut values_of: Vec<(String, Option<ValueOf>)> = Vec::new();
        for one in &placed {
            let kind = (one.version.clone(), one.series.value_of);
            if !values_of.contains(&kind) {
                values_of.push(kind);
            }
        }
        let mut suites = suites(placed)?;
        add_missing(sources, &metric, &mut suites);
        if let Some(asked) = baseline {
            let Some(at) = suites.iter().position(|suite| suite.version == asked) else {
                let versions = suites.into_iter().map(|suite| suite.version).collect();
                return Err(VersionsError::NoBaseline { asked: asked.to_owned(), versions });
            };
            suites[..=at].rotate_right(1);
        }
        Ok(Self { metric, unit, better, values_of, suites })
    }
}

impl Versions {
    /// What one value stands for, where that is the same in all versions.
    pub(crate) fn value_of(&self) -> Option<ValueOf> {
        let (_, first) = self.values_of.first()?;
        let is_same = self.values_of.iter().all(|(_, other)| other == first);
        if is_same { *first } else { None }
    }

    /// What one value of a version stands for.
    pub(crate) fn value_of_version(&self, version: &str) -> Option<ValueOf> {
        self.values_of.iter().find(|(name, _)| name == version)?.1
    }
}

/// The series of a metric, each with its version.
pub(crate) fn placed<'s>(sources: &'s [Source], metric: &str) -> Result<Vec<Placed<'s>>, VersionsError> {
    if let Some(twice) = sources.iter().enumerate().find_map(|(at, source)| {
        sources[..at].iter().any(|other| other.name == source.name).then_some(&source.name)
    }) {
        return Err(VersionsError::FileTwice(twice.clone()));
    }
    let mut placed = Vec::new();
    for source in sources {
        let own: Vec<&Series> = of_metric(source, metric).collect();
        if own.is_empty() && !source.imported.failures.is_empty() {
            continue;
        }
        if own.is_empty() {
            return Err(VersionsError::MetricMissing(source.name.clone()));
        }
        placed.extend(match sources.len() {
            1 => of_only_file(source, &own),
            _ => of_file(source, &own),
        });
    }
    if are_single_commands(sources, metric) {
        placed.iter_mut().for_each(|one| COMMAND.clone_into(&mut one.benchmark));
    }
    Ok(placed)
}

/// Whether each of several files holds one command, so that all of them are measurements of the same thing.
fn are_single_commands(sources: &[Source], metric: &str) -> bool {
    let has_one = |source: &Source| source.imported.are_commands && of_metric(source, metric).count() == 1;
    sources.len() > 1 && sources.iter().all(has_one)
}

/// Adds to each version what its file says to be missing.
fn add_missing(sources: &[Source], metric: &str, suites: &mut Vec<Suite>) {
    let single_commands = are_single_commands(sources, metric);
    for source in sources {
        let is_versioned = of_metric(source, metric).any(|series| series.name.version.is_some());
        for failure in &source.imported.failures {
            let mut benchmark = failure.benchmark.to_string();
            let version = match &failure.version {
                Some(version) if sources.len() == 1 => version.to_string(),
                Some(version) if is_versioned => format!("{} {version}", source.name),
                None if sources.len() == 1 && source.imported.are_commands && !is_versioned => {
                    std::mem::replace(&mut benchmark, COMMAND.to_owned())
                }
                Some(_) | None => source.name.clone(),
            };
            if single_commands {
                COMMAND.clone_into(&mut benchmark);
            }
            let missing = missing_benchmark(benchmark, failure);
            match suites.iter_mut().find(|suite| suite.version == version) {
                Some(suite) => suite.missing.push(missing),
                None => suites.push(Suite { missing: vec![missing], ..Suite::new(version, Vec::new()) }),
            }
        }
    }
    // A file of failures alone stands where it was given.
    if sources.len() > 1 {
        suites.sort_by_key(|suite| {
            sources.iter().position(|source| {
                let rest = suite.version.strip_prefix(&source.name);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            })
        });
    }
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
        None => Err(VersionsError::SeveralMetrics { metrics }),
    }
}

/// Of several files each is a version; one that holds several is so many.
fn of_file<'s>(source: &Source, own: &[&'s Series]) -> Vec<Placed<'s>> {
    let several = own.iter().any(|series| series.name.version != own[0].name.version);
    own.iter()
        .map(|&series| {
            let version = match &series.name.version {
                Some(version) if several => format!("{} {version}", source.name),
                Some(_) | None => source.name.clone(),
            };
            // The blocks of one file are none of another.
            let block = |name: &Option<Name>| name.as_ref().map(|name| format!("{} {name}", source.name));
            let blocks = series.runs.blocks().iter().map(block).collect();
            Placed { version, benchmark: series.name.labelled_benchmark(), series, blocks }
        })
        .collect()
}

pub(crate) fn blocks(series: &Series) -> Vec<Option<String>> {
    series.runs.blocks().iter().map(|name| name.as_ref().map(ToString::to_string)).collect()
}

/// One file is the versions that it holds.
fn of_only_file<'s>(source: &Source, own: &[&'s Series]) -> Vec<Placed<'s>> {
    let versioned = own.iter().any(|series| series.name.version.is_some());
    own.iter()
        .map(|&series| {
            let (version, benchmark) = match &series.name.version {
                Some(version) => (version.to_string(), series.name.labelled_benchmark()),
                None if !versioned && source.imported.are_commands => {
                    (series.name.labelled_benchmark(), COMMAND.to_owned())
                }
                None => (source.name.clone(), series.name.labelled_benchmark()),
            };
            Placed { version, benchmark, series, blocks: blocks(series) }
        })
        .collect()
}

/// The unit of all values, if they have one: each benchmark is in the same unit in all versions.
fn one_unit(placed: &[Placed<'_>]) -> Result<SeriesUnit, VersionsError> {
    let mut of_benchmark: BTreeMap<&str, &Placed<'_>> = BTreeMap::new();
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

/// Which values are the better ones: the same in all that tell.
fn one_direction(placed: &[Placed<'_>]) -> Result<Option<Better>, VersionsError> {
    let mut known = None;
    for one in placed {
        let Some(better) = one.series.better else { continue };
        if *known.get_or_insert(better) != better {
            return Err(VersionsError::Directions { benchmark: one.benchmark.clone() });
        }
    }
    Ok(known)
}

fn suites(placed: Vec<Placed<'_>>) -> Result<Vec<Suite>, VersionsError> {
    let mut suites: Vec<Suite> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut known: BTreeSet<(usize, String)> = BTreeSet::new();
    for Placed { version, benchmark, series, blocks } in placed {
        let at = *places.entry(version.clone()).or_insert_with(|| {
            suites.push(Suite::new(version.clone(), Vec::new()));
            suites.len() - 1
        });
        if !known.insert((at, benchmark.clone())) {
            return Err(VersionsError::BenchmarkTwice { version, benchmark });
        }
        let runs = series.runs.iter().map(<[f64]>::to_vec).collect();
        suites[at].benchmarks.push(NamedSample { benchmark, runs, blocks });
    }
    Ok(suites)
}
