//! The typical difference of pairs, with an interval by inverting the signed-rank test.
//!
//! The Hodges–Lehmann pseudo-median is the median of the Walsh averages (dᵢ + dⱼ)/2, i ≤ j (Hollander and Wolfe
//! §3.2–3.3; R's `wilcox.test` with `conf.int`). A number is in the interval exactly when the signed-rank test
//! of the differences less that number does not reject, and the ends are two of those averages. The k-th of the
//! n(n+1)/2 is found by halving the floating-point numbers, without listing the pairs.

use crate::inference::{Caveat, ConfidenceLevel, Interval};
use crate::test::{SignedRank, SignedRankError, SignedRankLaw};
use crate::{distribution::normal, sample::Sample};

/// All the Walsh averages of differences.
///
/// ```
/// use speedup_statistics::inference::ConfidenceLevel;
/// use speedup_statistics::sample::Sample;
/// use speedup_statistics::test::PseudoMedian;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // The averages of two differences, each with itself too: −1, 0.5, 1.5, 2, 3, 4.
/// let differences = Sample::new(vec![4.0, -1.0, 2.0])?;
/// let typical = PseudoMedian::new(&differences);
/// assert_eq!(typical.estimate(), 1.75);
/// let interval = typical.interval(ConfidenceLevel::new(0.75)?)?;
/// assert_eq!((interval.lower, interval.upper), (-1.0, 4.0));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PseudoMedian<'a> {
    differences: &'a Sample,
}

impl<'a> PseudoMedian<'a> {
    /// The method's full name with few differences.
    pub const NAME_EXACT: &'static str =
        "Hodges–Lehmann pseudo-median, interval by inverting the exact signed-rank test";
    /// The method's full name with many differences.
    pub const NAME_NORMAL: &'static str =
        "Hodges–Lehmann pseudo-median, interval by inverting the normal signed-rank test";

    /// The Walsh averages of `differences`.
    pub fn new(differences: &'a Sample) -> Self {
        Self { differences }
    }

    /// The median of the averages, in the unit of the differences.
    pub fn estimate(&self) -> f64 {
        let averages = self.averages();
        let upper = self.kth_average(averages / 2 + 1);
        if averages % 2 == 1 { upper } else { self.kth_average(averages / 2).midpoint(upper) }
    }

    /// The two-sided interval at the least level not below `level` that order statistics offer.
    ///
    /// # Errors
    /// [`SignedRankError::TooFew`] where not even the extremes reach `level`.
    pub fn interval(&self, level: ConfidenceLevel) -> Result<Interval, SignedRankError> {
        let n = self.differences.len();
        let law = SignedRankLaw::new(n).ok();
        let (method, depth) = match &law {
            Some(law) => (Self::NAME_EXACT, exact_depth(law, level)),
            None => (Self::NAME_NORMAL, normal_depth(n, level)),
        };
        let (k, miss) = depth.ok_or(SignedRankError::TooFew { n })?;
        Ok(Interval {
            method,
            lower: self.kth_average(k),
            upper: self.kth_average(self.averages() + 1 - k),
            level: ConfidenceLevel::achieved(miss),
            caveats: if law.is_none() { vec![Caveat::NormalApproximation] } else { Vec::new() },
        })
    }

    /// The signed-rank test of the typical difference being `hypothesis`, by the law that suits the data. What it does not
    /// reject is in the interval.
    ///
    /// # Errors
    /// [`SignedRankError`] where all differences are `hypothesis`, or it takes them out of the range of observations.
    pub fn test(&self, hypothesis: f64) -> Result<SignedRank, SignedRankError> {
        let moved = self.differences.in_run_order().iter().map(|difference| difference - hypothesis);
        SignedRank::choose(&Sample::new(moved.collect()).map_err(SignedRankError::Difference)?)
    }

    fn averages(&self) -> u64 {
        let n = self.differences.len() as u64;
        n * (n + 1) / 2
    }

    /// The `k`-th smallest average, from 1: the least double that at least k averages do not exceed.
    fn kth_average(&self, k: u64) -> f64 {
        let mut below = place(f64::NEG_INFINITY);
        let mut enough = place(f64::INFINITY);
        while enough - below > 1 {
            let middle = below + (enough - below) / 2;
            if self.averages_at_most(double_at(middle)) >= k { enough = middle } else { below = middle }
        }
        double_at(enough)
    }

    /// How many averages are at most `bound`; along the sorted differences once, from both ends.
    fn averages_at_most(&self, bound: f64) -> u64 {
        let sorted = self.differences.sorted();
        let mut ordered_pairs = 0;
        let mut same = 0;
        let mut j = sorted.len();
        for d in sorted {
            while j > 0 && (d + sorted[j - 1]) / 2.0 > bound {
                j -= 1;
            }
            ordered_pairs += j as u64;
            same += u64::from(*d <= bound);
        }
        ordered_pairs.midpoint(same)
    }
}

/// The place of a double in the ascending order of all of them.
fn place(x: f64) -> i128 {
    let magnitude = i128::from(x.abs().to_bits());
    if x.is_sign_negative() { -magnitude } else { magnitude }
}

fn double_at(place: i128) -> f64 {
    let magnitude = f64::from_bits(place.unsigned_abs() as u64);
    if place < 0 { -magnitude } else { magnitude }
}

/// The greatest k with 2 `P[V < k]` ≤ 1 − level, and that probability.
fn exact_depth(law: &SignedRankLaw, level: ConfidenceLevel) -> Option<(u64, f64)> {
    let miss = |k: u64| 2.0 * law.at_most(k - 1);
    let mut enough = 0;
    let mut too_deep = law.largest() / 2 + 2;
    while too_deep - enough > 1 {
        let k = enough + (too_deep - enough) / 2;
        if miss(k) <= level.risk().get() { enough = k } else { too_deep = k }
    }
    if enough > 0 { Some((enough, miss(enough))) } else { None }
}

/// The same by the normal law with continuity correction, `P[V < k]` ≈ Φ((k − ½ − n(n+1)/4)/σ), σ² = n(n+1)(2n +
/// 1)/24.
fn normal_depth(n: usize, level: ConfidenceLevel) -> Option<(u64, f64)> {
    let n = n as f64;
    let mean = n * (n + 1.0) / 4.0;
    let sigma = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    let k = (mean + 0.5 - normal::two_sided_critical(level.risk().get()) * sigma).floor();
    let miss = 2.0 * normal::tails((k - 0.5 - mean) / sigma).lower;
    if k >= 1.0 { Some((k as u64, miss)) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_three_differences() {
        // Walsh averages: −1, 0.5, 1.5, 2, 3, 4.
        let differences = Sample::new(vec![4.0, -1.0, 2.0]).unwrap();
        let pseudo_median = PseudoMedian::new(&differences);
        assert_eq!(pseudo_median.estimate(), 1.75);
        let interval = pseudo_median.interval(ConfidenceLevel::new(0.75).unwrap());
        let interval = interval.unwrap();
        assert_eq!((interval.lower, interval.upper, interval.level.get()), (-1.0, 4.0, 0.75));
        let too_few = pseudo_median.interval(ConfidenceLevel::USUAL).unwrap_err();
        assert_eq!(too_few, SignedRankError::TooFew { n: 3 });
    }
}
