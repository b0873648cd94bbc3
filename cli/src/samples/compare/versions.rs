//! Series into versions, each with its benchmarks.
//!
//! Of several files each is a version. One file is the versions that it holds: those of its tool, of its version column, or
//! the commands of hyperfine.

use std::collections::{BTreeMap, BTreeSet};

use speedup_analysis::inquiry::{NamedSample, Suite};
use speedup_formats::{Name, Series, SeriesUnit, WALL};
use thiserror::Error;

use super::source::Source;

/// What the commands of hyperfine do, which is the same: else nobody would compare them.
const COMMAND: &str = "command";

#[derive(Debug, PartialEq)]
pub(crate) struct Versions {
    pub(crate) metric: String,
    /// Its unit, by which the values of all versions are measured.
    pub(crate) unit: SeriesUnit,
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
        let mut suites = suites(placed)?;
        if let Some(asked) = baseline {
            let Some(at) = suites.iter().position(|suite| suite.version == asked) else {
                let versions = suites.into_iter().map(|suite| suite.version).collect();
                return Err(VersionsError::NoBaseline { asked: asked.to_owned(), versions });
            };
            suites[..=at].rotate_right(1);
        }
        Ok(Self { metric, unit, suites })
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
        if own.is_empty() {
            return Err(VersionsError::MetricMissing(source.name.clone()));
        }
        placed.extend(match sources.len() {
            1 => of_only_file(source, &own),
            _ => of_file(source, &own),
        });
    }
    let single_commands = sources.len() > 1
        && sources.iter().all(|source| source.holds_commands && of_metric(source, metric).count() == 1);
    if single_commands {
        placed.iter_mut().for_each(|one| COMMAND.clone_into(&mut one.benchmark));
    }
    Ok(placed)
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
                None if !versioned && source.holds_commands => {
                    (series.name.labelled_benchmark(), COMMAND.to_owned())
                }
                None => (source.name.clone(), series.name.labelled_benchmark()),
            };
            Placed { version, benchmark, series, blocks: blocks(series) }
        })
        .collect()
}

fn one_unit(placed: &[Placed<'_>]) -> Result<SeriesUnit, VersionsError> {
    let mut unit = SeriesUnit::Bare;
    let mut of_benchmark: BTreeMap<&str, &SeriesUnit> = BTreeMap::new();
    for one in placed.iter().filter(|one| one.series.unit != SeriesUnit::Bare) {
        let known = *of_benchmark.entry(&one.benchmark).or_insert(&one.series.unit);
        if *known != one.series.unit {
            let (first, second) = (known.to_string(), one.series.unit.to_string());
            return Err(VersionsError::Units { benchmark: one.benchmark.clone(), first, second });
        }
        unit = known.clone();
    }
    let same = of_benchmark.values().all(|of_one| **of_one == unit);
    Ok(if same { unit } else { SeriesUnit::Bare })
}

fn suites(placed: Vec<Placed<'_>>) -> Result<Vec<Suite>, VersionsError> {
    let mut suites: Vec<Suite> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut known: BTreeSet<(usize, String)> = BTreeSet::new();
    for Placed { version, benchmark, series, blocks } in placed {
        let at = *places.entry(version.clone()).or_insert_with(|| {
            suites.push(Suite { version: version.clone(), benchmarks: Vec::new() });
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
