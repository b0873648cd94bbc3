//! Scores of a set of benchmarks: larger is better.

use crate::{inference::Side, ratio::SuiteMember, sample::Sample, sample::SampleError};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The largest score, whose inverse is the smallest: the ratio of any two is still a double.
pub const LARGEST_SCORE: f64 = 1e150;

/// The scores of one benchmark; larger is better.
#[derive(Clone, Debug)]
pub struct ScoredBenchmark {
    /// Of the candidate: the paper's A, said to be the faster.
    pub candidate: Sample,
    /// Of the baseline: the paper's B.
    pub baseline: Sample,
}

/// The positive scores of one or more benchmarks: the paper's matrices `S_A` and `S_B`, a row a benchmark.
///
/// The two may have different numbers of runs. Differences of scores are compared between benchmarks, so the
/// scores have to be in one unit that means the same in all of them: ratios to a reference.
#[derive(Clone, Debug)]
pub struct ScoreSuite {
    benchmarks: Vec<ScoredBenchmark>,
}

/// What a time is divided into to give a score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScoreReference {
    /// The time of the baseline's first run (Chen 2012 §4.3).
    #[default]
    FirstBaselineRun,
    /// The median of the baseline's times, on which no single run weighs.
    BaselineMedian,
}

/// Why there are no scores.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum ScoreError {
    #[error("a performance test needs at least one benchmark")]
    Empty,
    /// One side has more benchmarks than the other.
    #[error("the candidate has {candidate} benchmarks and the baseline {baseline}")]
    Mismatched { candidate: usize, baseline: usize },
    /// A score or a time that is not positive.
    #[error("benchmark {} of the {} has {value}, where only positive numbers have ratios", benchmark + 1, side.name())]
    NotPositive {
        /// Its position, from 0.
        benchmark: usize,
        side: Side,
        value: f64,
    },
    /// A score outside 1e-150 to 1e150.
    #[error(
        "benchmark {} of the {} has the score {value:.1e}, whose ratios are not numbers", benchmark + 1, side.name()
    )]
    OutOfRange {
        /// Its position, from 0.
        benchmark: usize,
        side: Side,
        value: f64,
    },
    #[error("the scores of benchmark {} are not a sample", benchmark + 1)]
    NotASample {
        /// Its position, from 0.
        benchmark: usize,
        #[source]
        source: SampleError,
    },
}

speedup_core::hints! { ScoreError:
    Self::Mismatched { .. } => "compare those that both ran",
    Self::OutOfRange { .. } => "use a reference nearer to the times",
    Self::NotASample { source, .. } => source.hint(),
}

impl ScoreError {
    /// The position of the benchmark that it is about, from 0, if it is about one.
    pub fn benchmark(&self) -> Option<usize> {
        match *self {
            Self::NotPositive { benchmark, .. }
            | Self::OutOfRange { benchmark, .. }
            | Self::NotASample { benchmark, .. } => Some(benchmark),
            Self::Empty | Self::Mismatched { .. } => None,
        }
    }
}

impl ScoreSuite {
    /// The suite of `benchmarks` whose observations are scores already.
    ///
    /// # Errors
    /// [`ScoreError`] for no benchmarks, or scores that are not positive or beyond [`LARGEST_SCORE`].
    pub fn new(benchmarks: Vec<ScoredBenchmark>) -> Result<Self, ScoreError> {
        if benchmarks.is_empty() {
            return Err(ScoreError::Empty);
        }
        for (position, benchmark) in benchmarks.iter().enumerate() {
            require_scores(position, Side::Candidate, &benchmark.candidate)?;
            require_scores(position, Side::Baseline, &benchmark.baseline)?;
        }
        Ok(Self { benchmarks })
    }

    /// The suite of two matrices of scores, a row a benchmark.
    ///
    /// # Errors
    /// [`ScoreError`] for unequal numbers of rows, and those of [`ScoreSuite::new`].
    pub fn of_matrices(candidate: Vec<Sample>, baseline: Vec<Sample>) -> Result<Self, ScoreError> {
        if candidate.len() != baseline.len() {
            return Err(ScoreError::Mismatched { candidate: candidate.len(), baseline: baseline.len() });
        }
        let rows = candidate.into_iter().zip(baseline);
        Self::new(rows.map(|(candidate, baseline)| ScoredBenchmark { candidate, baseline }).collect())
    }

    /// The suite of `members` whose observations are times: each becomes reference/time, so that twice the score
    /// is half the time.
    ///
    /// # Errors
    /// [`ScoreError`] for no benchmarks, or times that are not positive or have no score.
    pub fn of_times(members: &[SuiteMember<'_>], reference: ScoreReference) -> Result<Self, ScoreError> {
        let mut benchmarks = Vec::with_capacity(members.len());
        for (position, member) in members.iter().enumerate() {
            require_positive(position, Side::Candidate, member.candidate)?;
            require_positive(position, Side::Baseline, member.baseline)?;
            let reference = match reference {
                ScoreReference::FirstBaselineRun => member.baseline.in_run_order()[0],
                ScoreReference::BaselineMedian => member.baseline.median(),
            };
            benchmarks.push(ScoredBenchmark {
                candidate: scores(member.candidate, reference, position)?,
                baseline: scores(member.baseline, reference, position)?,
            });
        }
        Self::new(benchmarks)
    }

    /// The benchmarks; at least one.
    pub fn benchmarks(&self) -> &[ScoredBenchmark] {
        &self.benchmarks
    }

    /// The geometric mean of the candidate's scores over that of the baseline's (Chen 2012 §5.1, GM-Speedup): what is
    /// commonly reported, without a confidence.
    pub fn geometric_mean_speedup(&self) -> f64 {
        let logs = self.benchmarks.iter().map(|b| mean_log(&b.candidate) - mean_log(&b.baseline));
        (logs.sum::<f64>() / self.benchmarks.len() as f64).exp()
    }
}

fn scores(times: &Sample, reference: f64, benchmark: usize) -> Result<Sample, ScoreError> {
    let scores = times.in_run_order().iter().map(|time| reference / time);
    Sample::new(scores.collect()).map_err(|source| ScoreError::NotASample { benchmark, source })
}

fn mean_log(scores: &Sample) -> f64 {
    scores.in_run_order().iter().map(|score| score.ln()).sum::<f64>() / scores.len() as f64
}

fn require_positive(benchmark: usize, side: Side, sample: &Sample) -> Result<(), ScoreError> {
    match sample.not_positive() {
        Some(value) => Err(ScoreError::NotPositive { benchmark, side, value }),
        None => Ok(()),
    }
}

fn require_scores(benchmark: usize, side: Side, sample: &Sample) -> Result<(), ScoreError> {
    require_positive(benchmark, side, sample)?;
    for value in [sample.min(), sample.max()] {
        if !(1.0 / LARGEST_SCORE..=LARGEST_SCORE).contains(&value) {
            return Err(ScoreError::OutOfRange { benchmark, side, value });
        }
    }
    Ok(())
}
