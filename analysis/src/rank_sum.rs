//! The Wilcoxon–Mann–Whitney rank-sum test.
//!
//! The statistic is R's W (Mann and Whitney's U): the number of pairs with x > y, an equal pair counting one
//! half. Three laws of it are three types; [`RankSum::choose`] takes one by R's rule and says why.

mod null_law;

use crate::distribution::normal;
use crate::{Alternative, Caveat, Continuity, PValue, Sample};
pub use null_law::RankSumLaw;
use serde::Serialize;
use thiserror::Error;

/// Below this many observations in each sample the exact law is used; R's bound.
pub(crate) const EXACT_BELOW: usize = 50;

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
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "law", rename_all = "snake_case")]
pub enum RankSum {
    /// Few observations without ties.
    Exact(ExactRankSum),
    /// Many observations, or ties.
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
}

/// The test by the permutation law given the ties at hand.
#[derive(Clone, Debug)]
pub struct PermutationRankSum {
    statistic: RankSumStatistic,
    lower: f64,
    upper: f64,
    two_sided: f64,
}

/// Why a rank-sum law was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RankSumChoice {
    /// Both samples have fewer than 50 observations and none are equal.
    FewWithoutTies,
    /// Some observations are equal.
    Ties,
    /// A sample has 50 observations or more.
    Many,
}

/// Why an exact rank-sum law was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RankSumError {
    /// The exact law assumes that no two observations are equal.
    #[error("the exact rank-sum law has no place for ties\nhint: use the normal or the permutation law")]
    Ties,
    /// More orders than can be counted, or more work than an answer is worth.
    #[error("the exact law of {n} and {m} observations is too large to count\nhint: use the normal law")]
    TooLarge {
        /// Observations of the first sample.
        n: usize,
        /// Observations of the second sample.
        m: usize,
    },
}

impl RankSumStatistic {
    /// Counts the pairs of `x` and `y` with x > y, in O((n + m) log(n + m)).
    pub fn new(x: &Sample, y: &Sample) -> Self {
        let (mut doubled_w, mut tie_term) = (0_u64, 0.0);
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
        let (n, m) = (self.n as f64, self.m as f64);
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
    let (mut i, mut j) = (0, 0);
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
    /// The exact law for fewer than 50 observations in each sample and no ties, else the corrected normal
    /// one.
    pub fn choose(x: &Sample, y: &Sample) -> Self {
        let statistic = RankSumStatistic::new(x, y);
        let few = x.len() < EXACT_BELOW && y.len() < EXACT_BELOW;
        let exact = if few { ExactRankSum::of_statistic(statistic).ok() } else { None };
        exact
            .map_or(Self::Normal(NormalRankSum { statistic, continuity: Continuity::Corrected }), Self::Exact)
    }

    /// Why this law.
    pub fn reason(&self) -> RankSumChoice {
        match self {
            Self::Exact(_) => RankSumChoice::FewWithoutTies,
            Self::Normal(test) if test.statistic.has_ties() => RankSumChoice::Ties,
            Self::Normal(_) => RankSumChoice::Many,
        }
    }

    /// What must be known: that ties or many observations have made it a normal law's.
    pub fn caveats(&self) -> Vec<Caveat> {
        match self {
            Self::Exact(test) => test.caveats(),
            Self::Normal(test) => test.caveats(),
        }
    }

    /// The full name of the method.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Exact(_) => ExactRankSum::NAME,
            Self::Normal(test) => test.name(),
        }
    }

    /// What the samples say.
    pub fn statistic(&self) -> &RankSumStatistic {
        match self {
            Self::Exact(test) => &test.statistic,
            Self::Normal(test) => &test.statistic,
        }
    }

    /// The p-value against `alternative`.
    pub fn p_value(&self, alternative: Alternative) -> PValue {
        match self {
            Self::Exact(test) => test.p_value(alternative),
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
        Self::of_statistic(RankSumStatistic::new(x, y))
    }

    fn of_statistic(statistic: RankSumStatistic) -> Result<Self, RankSumError> {
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
        Self { statistic: RankSumStatistic::new(x, y), continuity }
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
        let (n, m) = (self.statistic.n as f64, self.statistic.m as f64);
        let variance = self.statistic.variance();
        if variance <= 0.0 {
            return PValue::clamped(1.0);
        }
        let distance = self.statistic.w() - n * m / 2.0;
        let half = self.continuity.toward_mean(alternative, distance);
        let tails = normal::tails((distance - half) / variance.sqrt());
        alternative.p_value(tails.lower, tails.upper)
    }
}

impl PermutationRankSum {
    /// The method's full name.
    pub const NAME: &'static str = "Wilcoxon–Mann–Whitney rank-sum test (permutations, given the ties)";

    /// Compares `x` and `y` by counting all assignments of the mid-ranks at hand.
    ///
    /// # Errors
    /// [`RankSumError::TooLarge`] beyond a hundred million steps of counting.
    pub fn new(x: &Sample, y: &Sample) -> Result<Self, RankSumError> {
        let doubled_ranks = doubled_mid_ranks(x, y);
        let law = null_law::permutation_law(&doubled_ranks, x.len(), y.len())?;
        let statistic = RankSumStatistic::new(x, y);
        let observed = (statistic.doubled_w as usize) + x.len() * (x.len() + 1);
        let centre = x.len() * (x.len() + y.len() + 1);
        let sum = |keep: &dyn Fn(usize) -> bool| -> f64 {
            law.iter().enumerate().filter(|(s, _)| keep(*s)).map(|(_, p)| p).sum()
        };
        Ok(Self {
            statistic,
            lower: sum(&|s| s <= observed),
            upper: sum(&|s| s >= observed),
            two_sided: sum(&|s| s.abs_diff(centre) >= observed.abs_diff(centre)),
        })
    }

    /// What the samples say.
    pub fn statistic(&self) -> &RankSumStatistic {
        &self.statistic
    }

    /// What must be known: nothing, since the law is exact for the ties at hand.
    pub fn caveats(&self) -> Vec<Caveat> {
        Vec::new()
    }

    /// The p-value against `alternative`; two-sided, the probability of a rank sum as far from its mean.
    pub fn p_value(&self, alternative: Alternative) -> PValue {
        PValue::clamped(match alternative {
            Alternative::TwoSided => self.two_sided,
            Alternative::Greater => self.upper,
            Alternative::Less => self.lower,
        })
    }
}

/// Twice the mid-rank of every observation of both samples: whole numbers.
fn doubled_mid_ranks(x: &Sample, y: &Sample) -> Vec<usize> {
    let mut ranks = Vec::with_capacity(x.len() + y.len());
    for group in tie_groups(x.sorted(), y.sorted()) {
        let size = (group.of_x + group.of_y) as usize;
        let doubled = 2 * ranks.len() + size + 1;
        ranks.resize(ranks.len() + size, doubled);
    }
    ranks
}
