//! The Wilcoxon signed-rank test of paired observations.
//!
//! The statistic is R's V: the sum of the ranks of |d| over the positive differences d, zeros dropped first.
//! Its two laws are two types; [`SignedRank::choose`] takes one by R's rule and says why. The variant of Chen 2012,
//! which keeps the zeros, is [`ZerosKeptSignedRank`].

mod null_law;
mod zeros_kept;

use crate::distribution::normal;
use crate::{Alternative, Caveat, Continuity, PValue, Sample, SampleError};
pub use null_law::SignedRankLaw;
use serde::Serialize;
use thiserror::Error;
pub use zeros_kept::{HalfIntegers, ZerosKeptSignedRank};

/// Below this many differences the exact law is used; R's bound.
pub(crate) const EXACT_BELOW: usize = 50;

/// What differences say to a signed-rank test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SignedRankStatistic {
    /// 2V, a whole number.
    doubled_v: u64,
    /// Differences that are not zero.
    n: usize,
    zeros: usize,
    /// Σ(t³ − t) over the groups of t equal magnitudes.
    tie_term: f64,
}

/// The signed-rank test by the law that suits the data.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "law", rename_all = "snake_case")]
pub enum SignedRank {
    /// Few differences without ties and zeros.
    Exact(ExactSignedRank),
    /// Many differences, or ties, or zeros.
    Normal(NormalSignedRank),
}

/// The test by the exact law without ties and zeros.
#[derive(Clone, Debug, Serialize)]
pub struct ExactSignedRank {
    statistic: SignedRankStatistic,
    #[serde(skip)]
    law: SignedRankLaw,
}

/// The test by the normal approximation, its variance corrected for ties.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NormalSignedRank {
    statistic: SignedRankStatistic,
    continuity: Continuity,
}

/// Why a signed-rank law was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SignedRankChoice {
    /// Fewer than 50 differences, none zero, no two of equal magnitude.
    FewWithoutTies,
    /// Some differences are zero.
    Zeros,
    /// Some differences have equal magnitudes.
    Ties,
    /// 50 differences or more.
    Many,
}

/// Why differences were not tested.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum SignedRankError {
    /// Not one observation of each kind in every pair.
    #[error("{x} observations cannot be paired with {y}\nhint: use the rank-sum test, which needs no pairs")]
    Unpaired {
        /// Observations of the first sample.
        x: usize,
        /// Observations of the second sample.
        y: usize,
    },
    /// A difference that is not an observation.
    #[error("the differences of the pairs are not a sample")]
    Difference(#[source] SampleError),
    /// Nothing is left to rank.
    #[error("all differences are zero, so there is nothing to rank\nhint: use a finer clock or a longer run")]
    AllZero,
    /// The exact law assumes that no difference is zero and no two magnitudes are equal.
    #[error("the exact signed-rank law has no place for ties and zeros\nhint: use the normal law")]
    TiesOrZeros,
    /// Too few for an interval at the level asked for.
    #[error(
        "an interval at this level needs more differences than {n}\nhint: plan more runs, or ask for a lower level"
    )]
    TooFew {
        /// How many there are.
        n: usize,
    },
    /// More choices of signs than can be counted.
    #[error("the exact law of {n} differences is too large to count\nhint: use the normal law")]
    TooMany {
        /// How many there are.
        n: usize,
    },
}

impl SignedRankStatistic {
    /// Ranks the magnitudes of `differences`, zeros dropped.
    ///
    /// # Errors
    /// [`SignedRankError::AllZero`] when none is left.
    pub fn new(differences: &Sample) -> Result<Self, SignedRankError> {
        let sorted = differences.sorted();
        let negative = &sorted[..sorted.partition_point(|d| *d < 0.0)];
        let positive = &sorted[sorted.partition_point(|d| *d <= 0.0)..];
        let n = negative.len() + positive.len();
        if n == 0 {
            return Err(SignedRankError::AllZero);
        }
        let (mut doubled_v, mut tie_term) = (0, 0.0);
        // Both sides in ascending order of magnitude.
        let (mut i, mut j) = (0, 0);
        let magnitude = |j: usize| negative.len().checked_sub(j + 1).map(|k| -negative[k]);
        while i + j < n {
            let value = match (positive.get(i), magnitude(j)) {
                (Some(a), Some(b)) => a.min(b),
                (Some(a), None) => *a,
                (None, Some(b)) => b,
                (None, None) => break,
            };
            let before = i + j;
            let of_positive = positive[i..].iter().take_while(|a| **a == value).count();
            i += of_positive;
            while magnitude(j) == Some(value) {
                j += 1;
            }
            let size = i + j - before;
            doubled_v += (of_positive * (2 * before + size + 1)) as u64;
            let t = size as f64;
            tie_term += t * (t * t - 1.0);
        }
        Ok(Self { doubled_v, n, zeros: sorted.len() - n, tie_term })
    }

    /// V: the sum of the ranks of the positive differences.
    pub fn v(&self) -> f64 {
        self.doubled_v as f64 / 2.0
    }

    /// How many differences are not zero.
    pub fn n(&self) -> usize {
        self.n
    }

    /// How many differences are zero.
    pub fn zeros(&self) -> usize {
        self.zeros
    }

    /// Whether two differences that are not zero have equal magnitudes.
    pub fn has_ties(&self) -> bool {
        self.tie_term > 0.0
    }
}

/// The differences xᵢ − yᵢ of the pairs, in run order.
///
/// # Errors
/// [`SignedRankError`] for samples of different sizes, or differences too large to be a sample.
pub fn paired_differences(x: &Sample, y: &Sample) -> Result<Sample, SignedRankError> {
    if x.len() != y.len() {
        return Err(SignedRankError::Unpaired { x: x.len(), y: y.len() });
    }
    let pairs = x.in_run_order().iter().zip(y.in_run_order());
    Sample::new(pairs.map(|(a, b)| a - b).collect()).map_err(SignedRankError::Difference)
}

impl SignedRank {
    /// The exact law for fewer than 50 differences without ties and zeros, else the corrected normal one.
    ///
    /// # Errors
    /// [`SignedRankError::AllZero`] when no difference is left to rank.
    pub fn choose(differences: &Sample) -> Result<Self, SignedRankError> {
        let statistic = SignedRankStatistic::new(differences)?;
        let exact =
            if statistic.n < EXACT_BELOW { ExactSignedRank::of_statistic(statistic).ok() } else { None };
        let continuity = Continuity::Corrected;
        Ok(exact.map_or(Self::Normal(NormalSignedRank { statistic, continuity }), Self::Exact))
    }

    /// Compares the pairs of `x` and `y`: [`SignedRank::choose`] of x − y.
    ///
    /// # Errors
    /// [`SignedRankError`] for samples of different sizes, or pairs that are all equal.
    pub fn paired(x: &Sample, y: &Sample) -> Result<Self, SignedRankError> {
        Self::choose(&paired_differences(x, y)?)
    }

    /// Why this law.
    pub fn reason(&self) -> SignedRankChoice {
        match self {
            Self::Exact(_) => SignedRankChoice::FewWithoutTies,
            Self::Normal(test) if test.statistic.zeros > 0 => SignedRankChoice::Zeros,
            Self::Normal(test) if test.statistic.has_ties() => SignedRankChoice::Ties,
            Self::Normal(_) => SignedRankChoice::Many,
        }
    }

    /// What must be known: that ties, zeros or many differences have made it a normal law's.
    pub fn caveats(&self) -> Vec<Caveat> {
        match self {
            Self::Exact(test) => test.caveats(),
            Self::Normal(test) => test.caveats(),
        }
    }

    /// The full name of the method.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Exact(_) => ExactSignedRank::NAME,
            Self::Normal(test) => test.name(),
        }
    }

    /// What the differences say.
    pub fn statistic(&self) -> &SignedRankStatistic {
        match self {
            Self::Exact(test) => &test.statistic,
            Self::Normal(test) => &test.statistic,
        }
    }

    /// The p-value against `alternative`, said of the differences against zero.
    pub fn p_value(&self, alternative: Alternative) -> PValue {
        match self {
            Self::Exact(test) => test.p_value(alternative),
            Self::Normal(test) => test.p_value(alternative),
        }
    }
}

impl ExactSignedRank {
    /// The method's full name.
    pub const NAME: &'static str = "Wilcoxon signed-rank test (exact)";

    /// Tests `differences` against zero by the exact law.
    ///
    /// # Errors
    /// [`SignedRankError`] with ties or zeros, or beyond 127 differences.
    pub fn new(differences: &Sample) -> Result<Self, SignedRankError> {
        Self::of_statistic(SignedRankStatistic::new(differences)?)
    }

    fn of_statistic(statistic: SignedRankStatistic) -> Result<Self, SignedRankError> {
        if statistic.zeros > 0 || statistic.has_ties() {
            return Err(SignedRankError::TiesOrZeros);
        }
        Ok(Self { statistic, law: SignedRankLaw::new(statistic.n)? })
    }

    /// What the differences say.
    pub fn statistic(&self) -> &SignedRankStatistic {
        &self.statistic
    }

    /// What must be known: nothing of an exact law.
    pub fn caveats(&self) -> Vec<Caveat> {
        Vec::new()
    }

    /// The p-value against `alternative`.
    pub fn p_value(&self, alternative: Alternative) -> PValue {
        let v = self.statistic.doubled_v / 2;
        alternative.p_value(self.law.at_most(v), self.law.at_least(v))
    }
}

impl NormalSignedRank {
    /// Tests `differences` against zero by the normal law.
    ///
    /// # Errors
    /// [`SignedRankError::AllZero`] when no difference is left to rank.
    pub fn new(differences: &Sample, continuity: Continuity) -> Result<Self, SignedRankError> {
        Ok(Self { statistic: SignedRankStatistic::new(differences)?, continuity })
    }

    /// The full name of the method.
    pub fn name(&self) -> &'static str {
        match self.continuity {
            Continuity::Corrected => "Wilcoxon signed-rank test (normal, tie and continuity correction)",
            Continuity::Uncorrected => "Wilcoxon signed-rank test (normal, tie correction)",
        }
    }

    /// What the differences say.
    pub fn statistic(&self) -> &SignedRankStatistic {
        &self.statistic
    }

    /// What must be known: that the law is not exact.
    pub fn caveats(&self) -> Vec<Caveat> {
        vec![Caveat::NormalApproximation]
    }

    /// The p-value against `alternative`: V has mean n(n+1)/4 and variance n(n+1)(2n+1)/24 − Σ(t³ − t)/48.
    pub fn p_value(&self, alternative: Alternative) -> PValue {
        let n = self.statistic.n as f64;
        // Positive even where all magnitudes are equal, since their signs still vary.
        let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - self.statistic.tie_term / 48.0;
        let distance = self.statistic.v() - n * (n + 1.0) / 4.0;
        let half = self.continuity.toward_mean(alternative, distance);
        let tails = normal::tails((distance - half) / variance.sqrt());
        alternative.p_value(tails.lower, tails.upper)
    }
}
