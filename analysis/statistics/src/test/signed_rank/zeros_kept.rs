//! The signed-rank test of Chen 2012 §4.1: differences of zero are kept, ranked lowest, half to each side.

use crate::inference::{Alternative, PValue};
use crate::{distribution::normal, sample::Sample, test::SignedRankLaw};
use serde::{Deserialize, Serialize};

/// Below this many differences the exact law is used; Chen 2012's bound.
const EXACT_BELOW: usize = 25;

/// What the exact law does with a sum of ranks that is not whole.
///
/// The law has whole sums only; a tie or a split zero can put the observed one half-way between two. The paper
/// does not say what then: its confidence of 0.64 (Chen 2012 §5.1) needs the first reading, its 0.95-Speedup of 1.76
/// the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HalfIntegers {
    /// The loser's sum R is rounded down: `P[W ≤ ⌊R⌋]`.
    #[default]
    RoundedDown,
    /// R must be "no larger than" a whole critical value to the letter, so it is rounded up: `P[W ≤ ⌈R⌉]`.
    RoundedUp,
}

/// The signed-rank test with zeros kept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ZerosKeptSignedRank {
    /// 2R of the positive differences, a whole number.
    doubled_positive: u64,
    n: usize,
}

impl ZerosKeptSignedRank {
    /// Ranks `differences`.
    pub fn new(differences: &Sample) -> Self {
        let values = differences.in_run_order();
        Self::with_noise(values, &vec![0.0; values.len()]).test
    }

    /// The ranks of the magnitudes of `differences`, in run order from 1, equal ones sharing their mean.
    pub fn ranks(differences: &Sample) -> Vec<f64> {
        let values = differences.in_run_order();
        let ranked = Self::with_noise(values, &vec![0.0; values.len()]);
        ranked.doubled_ranks.into_iter().map(|doubled| doubled as f64 / 2.0).collect()
    }

    /// The test's full name.
    pub fn name(&self) -> &'static str {
        if self.n < EXACT_BELOW {
            "Wilcoxon signed-rank test, zeros kept and split (exact, Chen 2012 §4.1)"
        } else {
            "Wilcoxon signed-rank test, zeros kept and split (normal, Chen 2012 §4.1)"
        }
    }

    /// R of the positive differences: the sum of their ranks and half of the zeros' (Chen 2012 §4.1, `R_A`).
    pub fn positive_sum(&self) -> f64 {
        self.doubled_positive as f64 / 2.0
    }

    /// z of the positive differences, (R − n(n+1)/4) / √(n(n+1)(2n+1)/24), without corrections (Chen 2012 §4.1).
    pub fn z(&self) -> f64 {
        let n = self.n as f64;
        (self.positive_sum() - n * (n + 1.0) / 4.0) / (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt()
    }

    /// The p-value: against [`Alternative::Greater`], of positive differences prevailing. Two-sided is twice
    /// the smaller, at most 1.
    pub fn p_value(&self, alternative: Alternative, half_integers: HalfIntegers) -> PValue {
        let law = if self.n < EXACT_BELOW { SignedRankLaw::new(self.n).ok() } else { None };
        let (of_positive, of_negative) = match law {
            Some(law) => {
                let tail = |doubled| law.at_most(half_integers.whole(doubled));
                (tail(self.doubled_negative()), tail(self.doubled_positive))
            }
            None => {
                let tails = normal::tails(self.z());
                (tails.upper, tails.lower)
            }
        };
        alternative.p_value(of_negative, of_positive)
    }

    fn doubled_negative(&self) -> u64 {
        (self.n * (self.n + 1)) as u64 - self.doubled_positive
    }

    /// Ranks `differences` each known to within its `noise`: those whose magnitudes may be equal share a rank,
    /// and those that may be zero are.
    pub(crate) fn with_noise(differences: &[f64], noise: &[f64]) -> Ranked {
        let n = differences.len();
        let magnitude = |i: usize| if differences[i].abs() <= noise[i] { 0.0 } else { differences[i].abs() };
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_unstable_by(|a, b| magnitude(*a).total_cmp(&magnitude(*b)));
        let mut doubled_ranks = vec![0; n];
        let mut doubled_positive = 0;
        let mut start = 0;
        while start < n {
            let first = order[start];
            let same = |i: &&usize| match magnitude(first) {
                0.0 => magnitude(**i) == 0.0,
                least => magnitude(**i) - least <= noise[first] + noise[**i],
            };
            let end = start + order[start..].iter().take_while(same).count().max(1);
            // The mid-rank of positions start + 1 to end, doubled.
            let doubled = (start + 1 + end) as u64;
            for &i in &order[start..end] {
                doubled_ranks[i] = doubled;
                doubled_positive += match magnitude(i) {
                    0.0 => 0,
                    _ if differences[i] > 0.0 => doubled,
                    _ => 0,
                };
            }
            if magnitude(first) == 0.0 {
                // Half of the zeros' ranks, (1 + … + k)/2, doubled.
                doubled_positive += (end * (end + 1) / 2) as u64;
            }
            start = end;
        }
        Ranked { test: Self { doubled_positive, n }, doubled_ranks }
    }
}

/// The test, and twice the mid-rank of each difference.
pub(crate) struct Ranked {
    pub(crate) test: ZerosKeptSignedRank,
    pub(crate) doubled_ranks: Vec<u64>,
}

impl HalfIntegers {
    /// Half of `doubled` as a whole number.
    fn whole(self, doubled: u64) -> u64 {
        match self {
            Self::RoundedDown => doubled / 2,
            Self::RoundedUp => doubled.div_ceil(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_split_and_ties_share_a_rank() {
        let differences = Sample::new(vec![0.0, -2.0, 2.0, -0.0, 5.0]).unwrap();
        let test = ZerosKeptSignedRank::new(&differences);
        // Ranks 1.5, 3.5, 3.5, 1.5, 5: the zeros give 1.5 to each side.
        assert_eq!((test.doubled_positive, test.doubled_negative()), (20, 10));
    }

    #[test]
    fn noise_makes_ties_and_zeros() {
        let ranked = ZerosKeptSignedRank::with_noise(&[1e-17, 3.0, -3.0 - 1e-15, 4.0], &[1e-15; 4]);
        assert_eq!(ranked.doubled_ranks, [2, 5, 5, 8]);
        assert_eq!(ranked.test.positive_sum(), 0.5 + 2.5 + 4.0);
    }
}
