//! The Wilcoxon–Mann–Whitney rank-sum test.
//!
//! The statistic is R's W (Mann and Whitney's U): the number of pairs with x > y, an equal pair counting one
//! half. Three laws of it are three types. [`RankSum::choose`] takes an exact one wherever it can be counted, ties or not;
//! [`RankSum::r_default`] takes one by R's rule, for whom R's numbers are wanted. Either says why.

mod null_law;
mod permutation;

use crate::inference::{Alternative, Caveat, Continuity, PValue};
use crate::{distribution::normal, sample::Sample};
pub use null_law::RankSumLaw;
pub use permutation::{LeastPValues, PermutationRankSum};
use serde::Serialize;
use thiserror::Error;

/// Below this many observations in each sample R uses the exact law.
const R_EXACT_BELOW: usize = 50;

/// What two samples say to a rank-sum test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RankSumStatistic {
    /// Twice the number of pairs with x > y plus the number of equal pairs: 2W, a whole number.
    doubled_w: u64,
    n: usize,
    m: usize,
    /// Σ(t³ − t) over the groups of t equal observations.
    tie_term: f64,
}

/// The rank-sum test by the law that suits the data.
///
/// ```
/// use speedup_statistics::inference::Alternative;
/// use speedup_statistics::sample::Sample;
/// use speedup_statistics::test::{RankSum, RankSumChoice};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let x = Sample::new(vec![5.69, 5.55, 6.42])?;
/// let y = Sample::new(vec![5.76, 4.96, 5.17])?;
/// let test = RankSum::choose(&x, &y);
/// assert_eq!(test.reason(), RankSumChoice::FewWithoutTies);
/// // x is above y in 7 of the 9 pairs; R: wilcox.test(x, y, alternative = "greater").
/// assert_eq!(test.statistic().w(), 7.0);
/// assert!((test.p_value(Alternative::Greater).get() - 0.2).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "law", rename_all = "snake_case")]
pub enum RankSum {
    /// Few observations without ties.
    Exact(ExactRankSum),
    /// Few observations with ties.
    Permutation(PermutationRankSum),
    /// Many observations, or R's answer to ties.
    Normal(NormalRankSum),
}

/// The test by the exact law without ties.
#[derive(Clone, Debug, Serialize)]
pub struct ExactRankSum {
    statistic: RankSumStatistic,
    #[serde(skip)]
    law: RankSumLaw,
}

/// The test by the normal approximation, its variance corrected for ties.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NormalRankSum {
    statistic: RankSumStatistic,
    continuity: Continuity,
    /// No p-value is below these: zero for R's.
    #[serde(skip)]
    least: LeastPValues,
}

/// Why a rank-sum law was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RankSumChoice {
    /// No two observations are equal, and the orders can be counted; by R's rule, fewer than 50 observations in each sample.
    FewWithoutTies,
    /// Some observations are equal, and the orders that this leaves can be counted.
    FewWithTies,
    /// Some observations are equal, and the law is the normal one.
    Ties,
    /// More observations than are counted; by R's rule, 50 in a sample.
    Many,
}

/// Why an exact rank-sum law was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RankSumError {
    /// The exact law assumes that no two observations are equal.
    #[error("the exact rank-sum law has no place for ties")]
    Ties,
    /// More orders than can be counted, or more work than an answer is worth.
    #[error("the exact law of {n} and {m} observations is too large to count")]
    TooLarge { n: usize, m: usize },
}

speedup_core::hints! { RankSumError:
    Self::Ties => "use the normal or the permutation law",
    Self::TooLarge { .. } => "use the normal law",
}

impl RankSumStatistic {
    /// Counts the pairs of `x` and `y` with x > y, in O((n + m) log(n + m)).
    pub fn new(x: &Sample, y: &Sample) -> Self {
        let mut doubled_w = 0_u64;
        let mut tie_term = 0.0;
        let mut below_y = 0_u64;
        for group in tie_groups(x.sorted(), y.sorted()) {
            doubled_w += group.of_x * (2 * below_y + group.of_y);
            below_y += group.of_y;
            let t = (group.of_x + group.of_y) as f64;
            tie_term += t * (t * t - 1.0);
        }
        Self { doubled_w, n: x.len(), m: y.len(), tie_term }
    }

    /// 2W, a whole number.
    pub(crate) fn doubled_w(&self) -> u64 {
        self.doubled_w
    }

    /// W: the pairs with x > y, equal pairs counting one half.
    pub fn w(&self) -> f64 {
        self.doubled_w as f64 / 2.0
    }

    /// The estimate of `P[X > Y]` + ½ `P[X = Y]`, W/(nm) (Touati 2010 App. D): above ½, a run of y is the faster more
    /// often.
    pub fn probability_greater(&self) -> f64 {
        self.w() / (self.n as f64 * self.m as f64)
    }

    /// The variance of W where the versions do not differ, given the ties: nm/12 (N + 1 − Σ(t³ − t)/(N(N − 1))).
    pub(crate) fn variance(&self) -> f64 {
        let n = self.n as f64;
        let m = self.m as f64;
        let total = n + m;
        n * m / 12.0 * (total + 1.0 - self.tie_term / (total * (total - 1.0)))
    }

    /// Whether any two observations are equal, within or between the samples.
    pub fn has_ties(&self) -> bool {
        self.tie_term > 0.0
    }
}

/// How many observations of each sample share one value.
struct TieGroup {
    of_x: u64,
    of_y: u64,
}

/// The groups of equal values of two sorted samples, in ascending order.
fn tie_groups<'a>(x: &'a [f64], y: &'a [f64]) -> impl Iterator<Item = TieGroup> + 'a {
    let mut i = 0;
    let mut j = 0;
    std::iter::from_fn(move || {
        let value = match (x.get(i), y.get(j)) {
            (None, None) => return None,
            (Some(a), None) => *a,
            (None, Some(b)) => *b,
            (Some(a), Some(b)) => a.min(*b),
        };
        let of_x = x[i..].iter().take_while(|a| **a == value).count();
        let of_y = y[j..].iter().take_while(|b| **b == value).count();
        (i, j) = (i + of_x, j + of_y);
        Some(TieGroup { of_x: of_x as u64, of_y: of_y as u64 })
    })
}

impl RankSum {
    /// An exact law wherever it can be counted, given the ties: up to some 65 observations in each sample. Else the
    /// corrected normal one, whose p-value is never below the least that the ties allow.
    pub fn choose(x: &Sample, y: &Sample) -> Self {
        let statistic = RankSumStatistic::new(x, y);
        if let Ok(test) = ExactRankSum::from_statistic(statistic) {
            return Self::Exact(test);
        }
        if let Ok(test) = PermutationRankSum::chosen(x, y) {
            return Self::Permutation(test);
        }
        let continuity = Continuity::Corrected;
        let least = LeastPValues::new(x, y);
        Self::Normal(NormalRankSum { statistic, continuity, least })
    }

    /// The law that R's `wilcox.test` takes: the exact one for fewer than 50 observations in each sample and no ties, else
    /// the corrected normal one.
    pub fn r_default(x: &Sample, y: &Sample) -> Self {
        let few = x.len() < R_EXACT_BELOW && y.len() < R_EXACT_BELOW;
        let exact = if few { ExactRankSum::new(x, y).ok() } else { None };
        exact.map_or_else(|| Self::Normal(NormalRankSum::new(x, y, Continuity::Corrected)), Self::Exact)
    }

    /// Why this law.
    pub fn reason(&self) -> RankSumChoice {
        match self {
            Self::Exact(_) => RankSumChoice::FewWithoutTies,
            Self::Permutation(_) => RankSumChoice::FewWithTies,
            Self::Normal(test) if test.statistic.has_ties() => RankSumChoice::Ties,
            Self::Normal(_) => RankSumChoice::Many,
        }
    }

    /// What must be known: that ties or many observations have made it a normal law's.
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
            Self::Exact(_) => ExactRankSum::NAME,
            Self::Permutation(_) => PermutationRankSum::NAME,
            Self::Normal(test) => test.name(),
        }
    }

    /// What the samples say.
    pub fn statistic(&self) -> &RankSumStatistic {
        match self {
            Self::Exact(test) => &test.statistic,
            Self::Permutation(test) => test.statistic(),
            Self::Normal(test) => &test.statistic,
        }
    }

    /// The p-value against `alternative`.
    pub fn p_value(&self, alternative: Alternative) -> PValue {
        match self {
            Self::Exact(test) => test.p_value(alternative),
            Self::Permutation(test) => test.p_value(alternative),
            Self::Normal(test) => test.p_value(alternative),
        }
    }
}

impl ExactRankSum {
    /// The method's full name.
    pub const NAME: &'static str = "Wilcoxon–Mann–Whitney rank-sum test (exact)";

    /// Compares `x` and `y` by the exact law.
    ///
    /// # Errors
    /// [`RankSumError`] with ties, or when the orders are too many to count.
    pub fn new(x: &Sample, y: &Sample) -> Result<Self, RankSumError> {
        Self::from_statistic(RankSumStatistic::new(x, y))
    }

    fn from_statistic(statistic: RankSumStatistic) -> Result<Self, RankSumError> {
        if statistic.has_ties() {
            return Err(RankSumError::Ties);
        }
        let law = RankSumLaw::new(statistic.n, statistic.m)?;
        Ok(Self { statistic, law })
    }

    /// What the samples say.
    pub fn statistic(&self) -> &RankSumStatistic {
        &self.statistic
    }

    /// What must be known: nothing of an exact law.
    pub fn caveats(&self) -> Vec<Caveat> {
        Vec::new()
    }

    /// The p-value against `alternative`.
    pub fn p_value(&self, alternative: Alternative) -> PValue {
        let w = self.statistic.doubled_w / 2;
        alternative.p_value(self.law.at_most(w), self.law.at_least(w))
    }
}

impl NormalRankSum {
    /// Compares `x` and `y` by the normal law.
    pub fn new(x: &Sample, y: &Sample, continuity: Continuity) -> Self {
        Self { statistic: RankSumStatistic::new(x, y), continuity, least: LeastPValues::default() }
    }

    /// The full name of the method.
    pub fn name(&self) -> &'static str {
        match self.continuity {
            Continuity::Corrected => {
                "Wilcoxon–Mann–Whitney rank-sum test (normal, tie and continuity correction)"
            }
            Continuity::Uncorrected => "Wilcoxon–Mann–Whitney rank-sum test (normal, tie correction)",
        }
    }

    /// What the samples say.
    pub fn statistic(&self) -> &RankSumStatistic {
        &self.statistic
    }

    /// What must be known: that the law is not exact, and whether that is for ties.
    pub fn caveats(&self) -> Vec<Caveat> {
        vec![if self.statistic.has_ties() { Caveat::Ties } else { Caveat::NormalApproximation }]
    }

    /// The p-value against `alternative`; 1 when all observations are equal, where W has no spread.
    pub fn p_value(&self, alternative: Alternative) -> PValue {
        let n = self.statistic.n as f64;
        let m = self.statistic.m as f64;
        let variance = self.statistic.variance();
        if variance <= 0.0 {
            return PValue::clamped(1.0);
        }
        let distance = self.statistic.w() - n * m / 2.0;
        let half = self.continuity.toward_mean(alternative, distance);
        let tails = normal::tails((distance - half) / variance.sqrt());
        let p_value = alternative.p_value(tails.lower, tails.upper).get();
        PValue::clamped(p_value.max(self.least.against(alternative)))
    }
}
