//! The exact law of the signed-rank statistic under the null hypothesis, by counting.

use crate::test::SignedRankError;

/// The law of V without ties and zeros: how many of the 2ⁿ choices of signs give each sum of ranks.
///
/// The counts are the coefficients of Π(1 + qⁱ), i = 1..n (Wilcoxon 1945), held as 128-bit whole numbers, so
/// no tail is ever a difference of rounded numbers.
#[derive(Clone, Debug)]
pub struct SignedRankLaw {
    /// How many choices of signs have V ≤ k, for k up to the middle; the law is symmetric.
    at_most: Vec<u128>,
    choices: u128,
    largest: u64,
}

/// The most differences whose choices of signs fit 128 bits.
const MOST_DIFFERENCES: usize = 127;

impl SignedRankLaw {
    /// The law for `n` differences.
    ///
    /// # Errors
    /// [`SignedRankError::TooMany`] beyond 127 differences.
    pub fn new(n: usize) -> Result<Self, SignedRankError> {
        if n > MOST_DIFFERENCES {
            return Err(SignedRankError::TooMany { n });
        }
        let largest = n * (n + 1) / 2;
        let mut counts = vec![0_u128; largest / 2 + 1];
        counts[0] = 1;
        for rank in 1..=n {
            for sum in (rank..counts.len()).rev() {
                counts[sum] += counts[sum - rank];
            }
        }
        for sum in 1..counts.len() {
            counts[sum] += counts[sum - 1];
        }
        Ok(Self { at_most: counts, choices: 1 << n, largest: largest as u64 })
    }

    /// `P[V ≤ v]`.
    pub fn at_most(&self, v: u64) -> f64 {
        self.choices_at_most(v) as f64 / self.choices as f64
    }

    /// `P[V ≥ v]`.
    pub fn at_least(&self, v: u64) -> f64 {
        if v > self.largest { 0.0 } else { self.at_most(self.largest - v) }
    }

    /// The largest value of V, n(n + 1)/2.
    pub fn largest(&self) -> u64 {
        self.largest
    }

    fn choices_at_most(&self, v: u64) -> u128 {
        if v >= self.largest {
            return self.choices;
        }
        match self.at_most.get(v as usize) {
            Some(choices) => *choices,
            None => self.choices - self.at_most[(self.largest - v - 1) as usize],
        }
    }
}

/// The law of 2V given the ties: how many of the 2ⁿ choices of signs give each sum of the doubled mid-ranks at hand.
#[derive(Clone, Debug)]
pub(super) struct TiedSignedRankLaw {
    /// How many choices of signs have 2V ≤ k, for k up to the largest.
    at_most: Vec<u128>,
    choices: u128,
}

impl TiedSignedRankLaw {
    /// The law for differences with these doubled mid-ranks.
    ///
    /// # Errors
    /// [`SignedRankError::TooMany`] beyond 127 differences.
    pub(super) fn new(doubled_ranks: &[u64]) -> Result<Self, SignedRankError> {
        let n = doubled_ranks.len();
        if n > MOST_DIFFERENCES {
            return Err(SignedRankError::TooMany { n });
        }
        let mut counts = vec![0_u128; n * (n + 1) + 1];
        counts[0] = 1;
        for rank in doubled_ranks.iter().map(|rank| *rank as usize) {
            for sum in (rank..counts.len()).rev() {
                counts[sum] += counts[sum - rank];
            }
        }
        for sum in 1..counts.len() {
            counts[sum] += counts[sum - 1];
        }
        Ok(Self { at_most: counts, choices: 1 << n })
    }

    /// `P[2V ≤ v]`.
    pub(super) fn at_most(&self, v: u64) -> f64 {
        self.at_most.get(v as usize).map_or(1.0, |choices| *choices as f64 / self.choices as f64)
    }

    /// `P[2V ≥ v]`: turning all signs over makes it the other tail.
    pub(super) fn at_least(&self, v: u64) -> f64 {
        let largest = self.at_most.len() as u64 - 1;
        if v > largest { 0.0 } else { self.at_most(largest - v) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_hand() {
        // Three differences: V = 0, 1, 2, 3, 3, 4, 5, 6.
        let law = SignedRankLaw::new(3).unwrap();
        let eighths: Vec<f64> = (0..=6).map(|v| law.at_most(v) * 8.0).collect();
        assert_eq!(eighths, [1.0, 2.0, 3.0, 5.0, 6.0, 7.0, 8.0]);
        assert_eq!((law.at_least(0), law.at_least(6), law.at_least(7)), (1.0, 0.125, 0.0));
    }

    #[test]
    fn ties_by_hand() {
        // Magnitudes 1, 1, 2: doubled ranks 3, 3, 6; sums 0, 3, 3, 6, 6, 9, 9, 12.
        let law = TiedSignedRankLaw::new(&[3, 3, 6]).unwrap();
        let eighths: Vec<f64> = [0, 2, 3, 6, 9, 12].map(|v| law.at_most(v) * 8.0).into();
        assert_eq!(eighths, [1.0, 1.0, 3.0, 5.0, 7.0, 8.0]);
        assert_eq!((law.at_least(12), law.at_least(9), law.at_least(13)), (0.125, 0.375, 0.0));
        let untied = SignedRankLaw::new(127).unwrap();
        let doubled: Vec<u64> = (1..=127).map(|rank| 2 * rank).collect();
        let law = TiedSignedRankLaw::new(&doubled).unwrap();
        assert_eq!(law.at_most(2 * 3000), untied.at_most(3000));
    }

    #[test]
    fn the_largest_law_and_the_next() {
        let law = SignedRankLaw::new(127).unwrap();
        assert_eq!(law.at_most(4064), law.at_least(4064));
        assert_eq!(law.at_most(0), 2.0_f64.powi(-127));
        assert!(matches!(SignedRankLaw::new(128), Err(SignedRankError::TooMany { n: 128 })));
    }
}
