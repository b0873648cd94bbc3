//! The overall gain and speedup of a set of benchmarks (Touati 2010 §3.2).
//!
//! G = Σ w(x − y)/Σ w x and S = Σ w x/Σ w y = 1/(1 − G), where x and y are the times of a benchmark in the
//! baseline and the candidate, summarised by their minimum, mean or median. It is no mean of speedups, which
//! would weigh a benchmark of seconds like one of days ([`crate::ratio::SpeedupMeans`]).

use crate::ratio::{RatioError, mean::require_positive};
use crate::{number::rounding::CompensatedSum, sample::Sample};
use serde::{Deserialize, Serialize};
use speedup_core::value::count::counted;
use thiserror::Error;

speedup_core::words! {
    /// What stands for the times of a benchmark.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Summary {
        /// The least; not reproducible (Touati 2010 App. A).
        Min = "min",
        /// The arithmetic mean.
        Mean = "mean",
        /// The median.
        Median = "median",
    }
    fn name;
    const ALL;
}

/// What each benchmark counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "weights", rename_all = "snake_case")]
pub enum BenchmarkWeights {
    /// The same.
    Equal,
    /// Its share of the baseline's time (Touati 2010 eq. 1).
    Fraction,
    /// A given positive number, one a benchmark.
    Custom(Vec<f64>),
}

/// The times of one benchmark.
#[derive(Clone, Copy, Debug)]
pub struct SuiteMember<'a> {
    pub baseline: &'a Sample,
    pub candidate: &'a Sample,
}

/// The overall gain and speedup by one summary.
///
/// ```
/// use speedup_statistics::ratio::{BenchmarkWeights, Overall, SuiteMember, Summary};
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Touati 2010 §3.2, example 3.1: one program goes from 3 to 1, the other from 3600 to 3428.
/// let [a, b] = [Sample::new(vec![3.0])?, Sample::new(vec![1.0])?];
/// let [c, d] = [Sample::new(vec![3600.0])?, Sample::new(vec![3428.0])?];
/// let members = [SuiteMember { baseline: &a, candidate: &b }, SuiteMember { baseline: &c, candidate: &d }];
/// let overall = Overall::new(&members, Summary::Median, &BenchmarkWeights::Equal)?;
/// assert!((overall.gain - 174.0 / 3603.0).abs() < 1e-12);
/// assert!((overall.speedup - 3603.0 / 3429.0).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overall {
    /// What stands for the times.
    pub summary: Summary,
    /// G: the share of the weighted baseline time that is saved; below 1, negative for a loss.
    pub gain: f64,
    /// S = 1/(1 − G): above 1, the candidate is faster.
    pub speedup: f64,
    /// The weights, summing to 1.
    pub weights: Vec<f64>,
}

/// Why a suite has no overall speedup.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum SuiteError {
    #[error("an overall speedup needs at least one benchmark")]
    Empty,
    #[error("got {} for {}", counted(*weights as u64, "weight"), counted(*benchmarks as u64, "benchmark"))]
    WeightCount { weights: usize, benchmarks: usize },
    /// A weight that is not positive and finite.
    #[error("the weight of benchmark {index} is {weight}, which is not a positive number")]
    Weight {
        /// Its position, from 0.
        index: usize,
        weight: f64,
    },
    #[error("benchmark {index} has no speedup")]
    Ratio {
        /// Its position, from 0.
        index: usize,
        #[source]
        source: RatioError,
    },
}

speedup_core::hints! { SuiteError: Self::Ratio { source, .. } => source.hint() }

impl Summary {
    /// The summary of `sample`, in its unit.
    pub fn of(self, sample: &Sample) -> f64 {
        match self {
            Self::Min => sample.min(),
            Self::Mean => sample.mean(),
            Self::Median => sample.median(),
        }
    }
}

impl BenchmarkWeights {
    /// The coefficients of `members`, not normalised: what the original program prints as Coef.
    ///
    /// # Errors
    /// [`SuiteError`] for weights that do not fit the benchmarks.
    pub fn coefficients(
        &self,
        summary: Summary,
        members: &[SuiteMember<'_>],
    ) -> Result<Vec<f64>, SuiteError> {
        match self {
            Self::Equal => Ok(vec![1.0; members.len()]),
            Self::Fraction => Ok(members.iter().map(|member| summary.of(member.baseline)).collect()),
            Self::Custom(weights) if weights.len() != members.len() => {
                Err(SuiteError::WeightCount { weights: weights.len(), benchmarks: members.len() })
            }
            Self::Custom(weights) => match weights.iter().position(|w| !(w.is_finite() && *w > 0.0)) {
                Some(index) => Err(SuiteError::Weight { index, weight: weights[index] }),
                None => Ok(weights.clone()),
            },
        }
    }
}

impl Overall {
    /// The overall gain and speedup of the accelerated benchmarks alone, one flag a member, each with the weight that it has
    /// among all; absent where none is.
    ///
    /// Touati 2010 §3.2 allows this where the proportion of accelerated benchmarks is studied beside it (§5): it says nothing of what
    /// the others lose.
    ///
    /// # Errors
    /// As [`Overall::new`]; flags that are not one a member are [`SuiteError::WeightCount`].
    pub fn from_accelerated(
        members: &[SuiteMember<'_>],
        accelerated: &[bool],
        summary: Summary,
        weights: &BenchmarkWeights,
    ) -> Result<Option<Self>, SuiteError> {
        if accelerated.len() != members.len() {
            return Err(SuiteError::WeightCount { weights: accelerated.len(), benchmarks: members.len() });
        }
        let coefficients = weights.coefficients(summary, members)?;
        let kept =
            || accelerated.iter().zip(members.iter().zip(coefficients.iter())).filter(|(kept, _)| **kept);
        let members: Vec<SuiteMember<'_>> = kept().map(|(_, (member, _))| *member).collect();
        if members.is_empty() {
            return Ok(None);
        }
        let weights = BenchmarkWeights::Custom(kept().map(|(_, (_, coefficient))| *coefficient).collect());
        Self::new(&members, summary, &weights).map(Some)
    }

    /// The overall gain and speedup of `members` by `summary`.
    ///
    /// # Errors
    /// [`SuiteError`] for no benchmarks, weights that do not fit, or times that are not positive.
    pub fn new(
        members: &[SuiteMember<'_>],
        summary: Summary,
        weights: &BenchmarkWeights,
    ) -> Result<Self, SuiteError> {
        if members.is_empty() {
            return Err(SuiteError::Empty);
        }
        for (index, member) in members.iter().enumerate() {
            require_positive(member.baseline, member.candidate)
                .map_err(|source| SuiteError::Ratio { index, source })?;
        }
        let coefficients = weights.coefficients(summary, members)?;
        let total = CompensatedSum::sum(coefficients.iter().copied());
        let weights: Vec<f64> = coefficients.iter().map(|c| c / total).collect();
        let weighted = |time: fn(&SuiteMember<'_>, Summary) -> f64| {
            CompensatedSum::sum(members.iter().zip(&weights).map(|(member, w)| w * time(member, summary)))
        };
        let baseline = weighted(|member, summary| summary.of(member.baseline));
        let candidate = weighted(|member, summary| summary.of(member.candidate));
        let saved = weighted(|member, summary| summary.of(member.baseline) - summary.of(member.candidate));
        Ok(Self { summary, gain: saved / baseline, speedup: baseline / candidate, weights })
    }
}
