//! Versions, and what was measured of them.

use super::InquiryError;
use super::refusal::{LARGEST_VALUE, LEAST_VALUE};
use serde::{Deserialize, Serialize};
use speedup_statistics::{levels::LevelTree, sample::Sample};
use std::collections::BTreeSet;

/// A version with its benchmarks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// What the version is called.
    pub version: String,
    /// Its benchmarks, in the order in which they are to be shown.
    pub benchmarks: Vec<NamedSample>,
    /// The benchmarks that it has no result of, or whose runs failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingBenchmark>,
}

/// The positive values of one benchmark in one version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedSample {
    /// What the benchmark is called.
    pub benchmark: String,
    /// The values of each run, in order. A run is one execution of the program; several values of one were measured
    /// inside it.
    pub runs: Vec<Vec<f64>>,
    /// The block of each run, where the design ran the versions in blocks: the runs of two versions in one block are a pair. Each
    /// block stands once; a run that is of none has none. Empty without blocks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Option<String>>,
}

/// A benchmark of which a version has no result, or some runs that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingBenchmark {
    pub benchmark: String,
    #[serde(flatten)]
    pub cause: MissingCause,
    /// What the source says about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Why a result is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum MissingCause {
    /// The program or its benchmark failed.
    Failed,
    /// Some or all of its runs failed; their values are not in the sample.
    FailedRuns { failed: u64, runs: u64 },
    /// Its values cannot be compared: they are not positive, or out of range.
    Unusable,
    /// What should be its result cannot be read as one.
    Unreadable,
    /// It was left out on purpose.
    Skipped,
}

fn is_in_range(value: f64) -> bool {
    (LEAST_VALUE..=LARGEST_VALUE).contains(&value)
}

/// How values became observations that count as independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grouping {
    /// Every run has one value.
    OneEach,
    /// The mean of every run.
    RunMeans,
    /// The values of the only run.
    OneRun,
}

/// A sample that was checked.
#[derive(Clone, Debug)]
pub(super) struct ObservedSample<'a> {
    pub(super) named: &'a NamedSample,
    /// The observations for methods that know one level.
    pub(super) sample: Sample,
    pub(super) grouping: Grouping,
}

impl Suite {
    /// A version with one benchmark whose runs gave one value each.
    pub fn single(version: impl Into<String>, benchmark: impl Into<String>, values: Vec<f64>) -> Self {
        let runs = values.into_iter().map(|value| vec![value]).collect();
        Self::new(version, vec![NamedSample::new(benchmark, runs)])
    }

    /// A version of which nothing is missing.
    pub fn new(version: impl Into<String>, benchmarks: Vec<NamedSample>) -> Self {
        Self { version: version.into(), benchmarks, missing: Vec::new() }
    }
}

impl NamedSample {
    /// Runs that are of no blocks.
    pub fn new(benchmark: impl Into<String>, runs: Vec<Vec<f64>>) -> Self {
        Self { benchmark: benchmark.into(), runs, blocks: Vec::new() }
    }

    /// The observations for methods that know one level: the values of runs with one each, or of the only run; else the
    /// means of the runs, since values of one run depend on each other.
    ///
    /// # Errors
    /// [`InquiryError`] for values of `version` that are not positive or out of range, or none at all.
    pub fn sample(&self, version: &str) -> Result<Sample, InquiryError> {
        self.observed(version).map(|observed| observed.sample)
    }

    /// The values with runs as a level above them; one level where each run has one value, or there is one run.
    ///
    /// # Errors
    /// [`InquiryError`] for values that are not positive or out of range, or none at all.
    pub fn levels(&self) -> Result<LevelTree, InquiryError> {
        self.observed("the pilot")?.levels()
    }

    pub(super) fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.runs.iter().flatten().copied()
    }

    /// Whether each run has one block of its own, if any.
    fn has_sound_blocks(&self) -> bool {
        let mut seen = BTreeSet::new();
        self.blocks.iter().flatten().all(|block| seen.insert(block))
            && [0, self.runs.len()].contains(&self.blocks.len())
    }

    fn check(&self, version: &str) -> Result<(), InquiryError> {
        let has_no_values = self.runs.is_empty() || self.runs.iter().any(Vec::is_empty);
        let out_of_range = (1..).zip(self.values()).find(|(_, value)| !is_in_range(*value));
        if !has_no_values && out_of_range.is_none() && self.has_sound_blocks() {
            return Ok(());
        }
        let version = version.to_owned();
        let benchmark = self.benchmark.clone();
        Err(match out_of_range {
            _ if has_no_values => InquiryError::NoValues { version, benchmark },
            None => InquiryError::Blocks { version, benchmark },
            Some((at, value)) if !value.is_finite() => {
                InquiryError::NotFinite { version, benchmark, at, value }
            }
            Some((at, value)) if value <= 0.0 => InquiryError::NotPositive { version, benchmark, at, value },
            Some((at, value)) => InquiryError::OutOfRange { version, benchmark, at, value },
        })
    }

    /// The observations, if every value is a positive number in range.
    pub(super) fn observed<'a>(&'a self, version: &str) -> Result<ObservedSample<'a>, InquiryError> {
        self.check(version)?;
        let (grouping, values) = if self.runs.iter().all(|run| run.len() == 1) {
            (Grouping::OneEach, self.values().collect())
        } else if let ([only], []) = (self.runs.as_slice(), self.blocks.as_slice()) {
            (Grouping::OneRun, only.clone())
        } else {
            let mut means = Vec::with_capacity(self.runs.len());
            for run in &self.runs {
                means.push(Sample::new(run.clone()).map_err(InquiryError::Sample)?.mean());
            }
            (Grouping::RunMeans, means)
        };
        let sample = Sample::new(values).map_err(InquiryError::Sample)?;
        Ok(ObservedSample { named: self, sample, grouping })
    }
}

impl ObservedSample<'_> {
    /// Runs as a level above their values, where there are several of each; else one level.
    pub(super) fn levels(&self) -> Result<LevelTree, InquiryError> {
        let levels = match self.grouping {
            Grouping::OneEach | Grouping::OneRun => {
                LevelTree::balanced(self.sample.in_run_order().to_vec(), &[self.sample.len()])
            }
            Grouping::RunMeans => {
                let counts = self.named.runs.iter().map(Vec::len).collect();
                LevelTree::from_counts(self.named.values().collect(), &[counts, vec![self.named.runs.len()]])
            }
        };
        levels.map_err(InquiryError::Levels)
    }

    /// The samples within which there is a first: the runs' own values, or all runs where each has one.
    pub(super) fn groups(&self) -> Vec<Sample> {
        match self.grouping {
            Grouping::OneEach | Grouping::OneRun => vec![self.sample.clone()],
            Grouping::RunMeans => {
                self.named.runs.iter().filter_map(|run| Sample::new(run.clone()).ok()).collect()
            }
        }
    }
}
