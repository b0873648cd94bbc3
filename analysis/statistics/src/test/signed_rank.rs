//! The Wilcoxon signed-rank test of paired observations.
//!
//! The statistic is R's V: the sum of the ranks of |d| over the positive differences d, zeros dropped first.
//! Its laws are types of their own. [`SignedRank::choose`] takes an exact one wherever it can be counted, ties or not;
//! [`SignedRank::r_default`] takes one by R's rule, for whom R's numbers are wanted. Either says why. The variant of
//! Chen 2012, which keeps the zeros, is [`ZerosKeptSignedRank`].

mod null_law;
mod zeros_kept;

use crate::inference::{Alternative, Caveat, Continuity, PValue};
use crate::{distribution::normal, number::rounding::Rounded, sample::Sample, sample::SampleError};
pub use null_law::SignedRankLaw;
use null_law::TiedSignedRankLaw;
use serde::Serialize;
use thiserror::Error;
pub use zeros_kept::{HalfIntegers, ZerosKeptSignedRank};

/// Below this many differences R uses the exact law.
const R_EXACT_BELOW: usize = 50;

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
///
/// ```
/// use speedup_statistics::inference::Alternative;
/// use speedup_statistics::sample::Sample;
/// use speedup_statistics::test::SignedRank;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let baseline = Sample::new(vec![3.2, 3.8, 4.2])?;
/// let candidate = Sample::new(vec![2.5, 3.0, 3.0])?;
/// let test = SignedRank::paired(&baseline, &candidate)?;
/// // All three differences are positive: V = 1 + 2 + 3, as for 1 of the 2³ choices of signs.
/// assert_eq!(test.statistic().v(), 6.0);
/// assert!((test.p_value(Alternative::Greater).get() - 0.125).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "law", rename_all = "snake_case")]
pub enum SignedRank {
    /// Few differences without ties and zeros.
    Exact(ExactSignedRank),
    /// Few differences with ties or zeros.
    Permutation(PermutationSignedRank),
    /// Many differences, or R's answer to ties and zeros.
    Normal(NormalSignedRank),
}

/// The test by the exact law without ties and zeros.
#[derive(Clone, Debug, Serialize)]
pub struct ExactSignedRank {
    statistic: SignedRankStatistic,
    #[serde(skip)]
    law: SignedRankLaw,
}

/// The test by the law of all choices of signs given the magnitudes at hand, zeros dropped.
#[derive(Clone, Debug, Serialize)]
pub struct PermutationSignedRank {
    statistic: SignedRankStatistic,
    #[serde(skip)]
    law: TiedSignedRankLaw,
}

/// The test by the normal approximation, its variance corrected for ties.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NormalSignedRank {
    statistic: SignedRankStatistic,
    continuity: Continuity,
}

/// Why differences were not tested.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum SignedRankError {
    /// Not one observation of each kind in every pair.
    #[error("{x} observations cannot be paired with {y}")]
    Unpaired { x: usize, y: usize },
    #[error("the differences of the pairs are not a sample")]
    Difference(#[source] SampleError),
    #[error("all differences are zero, so there is nothing to rank")]
    AllZero,
    /// The exact law assumes that no difference is zero and no two magnitudes are equal.
    #[error("the exact signed-rank law has no place for ties and zeros")]
    TiesOrZeros,
    /// Too few for an interval at the level asked for.
    #[error("an interval at this level needs more differences than {n}")]
    TooFew { n: usize },
    /// More choices of signs than can be counted.
    #[error("the exact law of {n} differences is too large to count")]
    TooMany { n: usize },
}

speedup_core::hints! { SignedRankError:
    Self::Unpaired { .. } => "use the rank-sum test, which needs no pairs",
    Self::Difference(error) => error.hint(),
    Self::AllZero => "use a finer clock or a longer run",
    Self::TiesOrZeros | Self::TooMany { .. } => "use the normal law",
    Self::TooFew { .. } => "plan more runs, or ask for a lower level",
}

impl SignedRankStatistic {
    /// Ranks the magnitudes of `differences`, zeros dropped.
    ///
    /// # Errors
    /// [`SignedRankError::AllZero`] when none is left.
    pub fn new(differences: &Sample) -> Result<Self, SignedRankError> {
        Ranks::new(differences, 0.0).map(|ranks| ranks.statistic())
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
    /// An exact law for at most 127 differences that are not zero, given their ties; else the corrected normal one.
    ///
    /// # Errors
    /// [`SignedRankError::AllZero`] when no difference is left to rank.
    pub fn choose(differences: &Sample) -> Result<Self, SignedRankError> {
        Ranks::new(differences, 0.0).map(|ranks| Self::from_ranks(&ranks))
    }

    /// [`SignedRank::choose`] of logarithms of ratios, of which those that differ by rounding are equal: ln(3/2) and ln(2/3)
    /// have one magnitude in any unit.
    ///
    /// # Errors
    /// [`SignedRankError::AllZero`] when no logarithm is left to rank.
    pub fn from_logarithms(logarithms: &Sample) -> Result<Self, SignedRankError> {
        // A ratio is right to a part, so its logarithm is to so much itself.
        Ranks::new(logarithms, 1.0).map(|ranks| Self::from_ranks(&ranks))
    }

    /// The law that R's `wilcox.test` takes: the exact one for fewer than 50 differences without ties and zeros, else the
    /// corrected normal one.
    ///
    /// # Errors
    /// [`SignedRankError::AllZero`] when no difference is left to rank.
    pub fn r_default(differences: &Sample) -> Result<Self, SignedRankError> {
        let statistic = SignedRankStatistic::new(differences)?;
        let few = statistic.n < R_EXACT_BELOW;
        let exact = if few { ExactSignedRank::from_statistic(statistic).ok() } else { None };
        let continuity = Continuity::Corrected;
        Ok(exact.map_or(Self::Normal(NormalSignedRank { statistic, continuity }), Self::Exact))
    }

    fn from_ranks(ranks: &Ranks) -> Self {
        let statistic = ranks.statistic();
        if let Ok(test) = ExactSignedRank::from_statistic(statistic) {
            return Self::Exact(test);
        }
        match TiedSignedRankLaw::new(&ranks.doubled) {
            Ok(law) => Self::Permutation(PermutationSignedRank { statistic, law }),
            Err(_) => Self::Normal(NormalSignedRank { statistic, continuity: Continuity::Corrected }),
        }
    }

    /// Compares the pairs of `x` and `y`: [`SignedRank::choose`] of x − y.
    ///
    /// # Errors
    /// [`SignedRankError`] for samples of different sizes, or pairs that are all equal.
    pub fn paired(x: &Sample, y: &Sample) -> Result<Self, SignedRankError> {
        Self::choose(&paired_differences(x, y)?)
    }

    /// What must be known: that ties, zeros or many differences have made it a normal law's.
    pub fn caveats(&self) -> Vec<Caveat> {
        match self {
            Self::Exact(test) => test.caveats(),
            Self::Permutation(test) => test.caveats(),
            Self::Normal(test) => test.caveats(),
        }
    }

    /// The full name of the method.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Exact(_) => ExactSignedRank::NAME,
            Self::Permutation(_) => PermutationSignedRank::NAME,
            Self::Normal(test) => test.name(),
        }
    }

    /// What the differences say.
    pub fn statistic(&self) -> &SignedRankStatistic {
        match self {
            Self::Exact(test) => &test.statistic,
            Self::Permutation(test) => &test.statistic,
            Self::Normal(test) => &test.statistic,
        }
    }

    /// The p-value against `alternative`, said of the differences against zero.
    pub fn p_value(&self, alternative: Alternative) -> PValue {
        match self {
            Self::Exact(test) => test.p_value(alternative),
            Self::Permutation(test) => test.p_value(alternative),
            Self::Normal(test) => test.p_value(alternative),
        }
    }

    /// The least p-value that a one-sided test of these differences can have: all of one sign, 1 of 2 to their number.
    pub fn least_p_value(&self) -> f64 {
        0.5_f64.powi(i32::try_from(self.statistic().n).unwrap_or(i32::MAX))
    }
}

impl PermutationSignedRank {
    /// The method's full name.
    pub const NAME: &'static str = "Wilcoxon signed-rank test (exact, given the ties)";

    /// What must be known: nothing, since the law is exact for the magnitudes at hand.
    pub fn caveats(&self) -> Vec<Caveat> {
        Vec::new()
    }

    /// The p-value against `alternative`.
    pub fn p_value(&self, alternative: Alternative) -> PValue {
        let doubled_v = self.statistic.doubled_v;
        alternative.p_value(self.law.at_most(doubled_v), self.law.at_least(doubled_v))
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
        Self::from_statistic(SignedRankStatistic::new(differences)?)
    }

    fn from_statistic(statistic: SignedRankStatistic) -> Result<Self, SignedRankError> {
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

/// Twice the mid-ranks of the differences that are not zero, in ascending order of their magnitudes: whole numbers.
struct Ranks {
    doubled: Vec<u64>,
    doubled_v: u64,
    zeros: usize,
    tie_term: f64,
}

impl Ranks {
    /// Ranks `differences`, zeros dropped. Where a difference was computed from numbers of some magnitude, `magnitude`
    /// beside its own, those within the rounding of that are equal; at zero only equal doubles are.
    ///
    /// # Errors
    /// [`SignedRankError::AllZero`] when none is left.
    fn new(differences: &Sample, magnitude: f64) -> Result<Self, SignedRankError> {
        let rounded = |difference: &f64| {
            let size = difference.abs();
            let of = if magnitude > 0.0 { magnitude + size } else { 0.0 };
            (Rounded::new(size, of), *difference > 0.0)
        };
        let mut sizes: Vec<(Rounded, bool)> = differences.in_run_order().iter().map(rounded).collect();
        sizes.retain(|(size, _)| !size.may_be_zero());
        if sizes.is_empty() {
            return Err(SignedRankError::AllZero);
        }
        sizes.sort_by(|(a, _), (b, _)| a.value.total_cmp(&b.value));
        let mut doubled = Vec::with_capacity(sizes.len());
        let mut doubled_v = 0;
        let mut tie_term = 0.0;
        for group in sizes.chunk_by(|(a, _), (b, _)| a.may_equal(b)) {
            let rank = (2 * doubled.len() + group.len() + 1) as u64;
            doubled.resize(doubled.len() + group.len(), rank);
            doubled_v += rank * group.iter().filter(|(_, is_positive)| *is_positive).count() as u64;
            let t = group.len() as f64;
            tie_term += t * (t * t - 1.0);
        }
        let zeros = differences.len() - doubled.len();
        Ok(Self { doubled, doubled_v, zeros, tie_term })
    }

    fn statistic(&self) -> SignedRankStatistic {
        let Self { ref doubled, doubled_v, zeros, tie_term } = *self;
        SignedRankStatistic { doubled_v, n: doubled.len(), zeros, tie_term }
    }
}
