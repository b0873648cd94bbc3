//! The exact law of the rank-sum statistic without ties under the null hypothesis, by counting.

use crate::test::RankSumError;

/// The law of W without ties: how many of the C(n+m, n) orders give each value.
///
/// The counts are the coefficients of the Gaussian binomial [n+m over n] (Mann and Whitney 1947), held as
/// 128-bit whole numbers, so no tail is ever a difference of rounded numbers.
#[derive(Clone, Debug)]
pub struct RankSumLaw {
    /// How many orders have W ≤ k, for k up to the middle; the law is symmetric.
    at_most: Vec<u128>,
    orders: u128,
    largest: u64,
}

impl RankSumLaw {
    /// The law for samples of `n` and `m` observations.
    ///
    /// # Errors
    /// [`RankSumError::TooLarge`] when the orders do not fit 128 bits (about 65 + 65 observations), or W has
    /// more than a million values.
    pub fn new(n: usize, m: usize) -> Result<Self, RankSumError> {
        let too_large = RankSumError::TooLarge { n, m };
        let largest = n.checked_mul(m).filter(|values| *values <= MOST_VALUES).ok_or(too_large)?;
        let orders = binomial(n, m).ok_or(too_large)?;
        let small = n.min(m);
        let large = n.max(m);
        let mut counts = vec![0_u128; largest / 2 + 1];
        counts[0] = 1;
        for i in 1..=small {
            // × (1 − q^(large+i)) ÷ (1 − qⁱ). Whole numbers modulo 2¹²⁸: what a difference borrows, the
            // quotient returns.
            for k in (large + i..counts.len()).rev() {
                counts[k] = counts[k].wrapping_sub(counts[k - large - i]);
            }
            for k in i..counts.len() {
                counts[k] = counts[k].wrapping_add(counts[k - i]);
            }
        }
        for k in 1..counts.len() {
            counts[k] += counts[k - 1];
        }
        Ok(Self { at_most: counts, orders, largest: largest as u64 })
    }

    /// `P[W ≤ w]`.
    pub fn at_most(&self, w: u64) -> f64 {
        self.orders_at_most(w) as f64 / self.orders as f64
    }

    /// `P[W ≥ w]`.
    pub fn at_least(&self, w: u64) -> f64 {
        if w > self.largest {
            return 0.0;
        }
        self.at_most(self.largest - w)
    }

    /// The largest value of W, n·m.
    pub fn largest(&self) -> u64 {
        self.largest
    }

    fn orders_at_most(&self, w: u64) -> u128 {
        if w >= self.largest {
            return self.orders;
        }
        match self.at_most.get(w as usize) {
            Some(orders) => *orders,
            None => self.orders - self.at_most[(self.largest - w - 1) as usize],
        }
    }
}

/// The longest law that is counted: 8 MB.
const MOST_VALUES: usize = 1_000_000;

/// C(n + m, n), unless beyond 128 bits.
fn binomial(n: usize, m: usize) -> Option<u128> {
    let small = n.min(m);
    let total = n + m;
    let mut ways: u128 = 1;
    for i in 1..=small {
        // Divide by the common factor first: the product itself need not fit.
        let numerator = (total - small + i) as u128;
        let denominator = i as u128;
        let common = greatest_common_divisor(ways, denominator);
        ways = (ways / common).checked_mul(numerator / (denominator / common))?;
    }
    Some(ways)
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_hand() {
        // Two against two: W = 0, 1, 2, 2, 3, 4.
        let law = RankSumLaw::new(2, 2).unwrap();
        let sixths: Vec<f64> = (0..=4).map(|w| (law.at_most(w) * 6.0).round()).collect();
        assert_eq!(sixths, [1.0, 2.0, 4.0, 5.0, 6.0]);
        assert_eq!(law.at_least(5), 0.0);
        assert_eq!(law.at_least(0), 1.0);
    }

    #[test]
    fn the_middle_and_the_ends_of_a_large_law() {
        let law = RankSumLaw::new(49, 49).unwrap();
        assert!((law.at_most(1200) - 0.5).abs() < 1e-15, "an odd number of values: {}", law.at_most(1200));
        assert!((law.at_most(0) * 25_477_612_258_980_856_902_730_428_600.0 - 1.0).abs() < 1e-15);
        assert!(RankSumLaw::new(70, 70).is_err());
        assert!(RankSumLaw::new(1, usize::MAX).is_err());
    }
}
