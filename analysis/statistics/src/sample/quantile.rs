//! A quantile of the law behind a sample, between order statistics.

use crate::distribution::{beta, beta::UnitPoint, binomial};
use crate::inference::{Alternative, ConfidenceLevel, Interval, PValue};
use crate::{number::monotone_root::least_whole, sample::Sample};

/// The quantile of a continuous law at one probability p, from a sample of n.
///
/// The observations that are not above it are binomial, whatever the law; so an interval between order statistics has a level
/// that is known (H. A. David and H. N. Nagaraja, Order Statistics, 2003, §7.1). Where the law has atoms it covers at least as often.
///
/// ```
/// use speedup_statistics::inference::ConfidenceLevel;
/// use speedup_statistics::sample::{Sample, SampleQuantile};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let times = Sample::new(vec![3.1, 2.8, 3.0, 3.4, 2.9, 3.3])?;
/// let median = SampleQuantile::new(&times, 0.5).ok_or("0.5 is a probability")?;
/// let interval = median.interval(ConfidenceLevel::USUAL);
/// // All six runs are on one side of the median with probability 2/2⁶.
/// assert_eq!((interval.lower, interval.upper), (2.8, 3.4));
/// assert_eq!(interval.level.get(), 1.0 - 2.0 / 64.0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SampleQuantile<'a> {
    sample: &'a Sample,
    probability: f64,
}

/// An end of an interval: infinite where it would take more runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuantileEnd {
    pub(crate) value: f64,
    /// The probability that the quantile lies beyond it.
    pub(crate) miss: f64,
}

impl<'a> SampleQuantile<'a> {
    /// The method's full name.
    pub const NAME: &'static str = "quantile between order statistics (exact, by the binomial law)";

    /// The quantile at `probability`; none at 0, 1 and beyond, where the sample says nothing of the law.
    pub fn new(sample: &'a Sample, probability: f64) -> Option<Self> {
        (probability > 0.0 && probability < 1.0).then_some(Self { sample, probability })
    }

    /// The median.
    pub fn median(sample: &'a Sample) -> Self {
        Self { sample, probability: 0.5 }
    }

    /// The sample.
    pub fn sample(&self) -> &'a Sample {
        self.sample
    }

    /// The fewest runs that give an interval with two ends at `level`: with n of them all are on one side of the quantile at p
    /// with probability pⁿ or (1 − p)ⁿ, which must be at most half of the risk.
    pub fn runs_needed(probability: f64, level: ConfidenceLevel) -> u64 {
        let nearest = probability.max(1.0 - probability);
        ((level.risk().get() / 2.0).ln() / nearest.ln()).ceil().max(1.0) as u64
    }

    /// That of the sample, by type 7 as in R, in the unit of the observations.
    pub fn estimate(&self) -> f64 {
        self.sample.quantile(self.probability).unwrap_or(f64::NAN)
    }

    /// The shortest interval whose sides each have at most half of the risk of `level`, with the level that it has. An end that
    /// would take more runs is infinite.
    pub fn interval(&self, level: ConfidenceLevel) -> Interval {
        let [lower, upper] = self.ends(level.risk().get() / 2.0);
        Interval {
            method: Self::NAME,
            lower: lower.value,
            upper: upper.value,
            level: ConfidenceLevel::new(1.0 - lower.miss - upper.miss).unwrap_or(level),
            caveats: Vec::new(),
        }
    }

    /// The ends between which the quantile lies, each missed with at most the risk `beyond`, and with which: below the first,
    /// above the second.
    pub(crate) fn ends(&self, beyond: f64) -> [QuantileEnd; 2] {
        let sorted = self.sample.sorted();
        let n = sorted.len() as u64;
        // Of ranks from 1: that the law's quantile is below the one of rank r, and above it.
        let below = |rank: u64| if rank == 0 { 0.0 } else { self.at_most(rank as usize - 1).lower };
        let above = |rank: u64| if rank > n { 0.0 } else { self.at_most(rank as usize - 1).upper };
        let lower = least_whole(1, n, |rank| below(rank) > beyond).map_or(n, |rank| rank - 1);
        let upper = least_whole(1, n, |rank| above(rank) <= beyond).unwrap_or(n + 1);
        let end = |rank: u64, open: f64| {
            rank.checked_sub(1).and_then(|at| sorted.get(at as usize)).copied().unwrap_or(open)
        };
        [
            QuantileEnd { value: end(lower, f64::NEG_INFINITY), miss: below(lower) },
            QuantileEnd { value: end(upper, f64::INFINITY), miss: above(upper) },
        ]
    }

    /// The variance of the sample's quantile, in the squared unit of the observations: of the median of an odd number exactly what a bootstrap
    /// estimates, else nearly (Maritz and Jarrett, A note on estimating the variance of the sample median, JASA 73, 1978).
    pub fn variance(&self) -> f64 {
        self.variance_of(|value| value)
    }

    /// The same of the logarithm.
    pub(crate) fn variance_of_logarithm(&self) -> f64 {
        self.variance_of(f64::ln)
    }

    fn variance_of(&self, scale: fn(f64) -> f64) -> f64 {
        let sorted = self.sample.sorted();
        let n = sorted.len() as f64;
        // The rank of the quantile among n + 1 gaps makes it beta.
        let a = (n + 1.0) * self.probability;
        let b = (n + 1.0) * (1.0 - self.probability);
        let up_to = |rank: usize| beta::tails(UnitPoint::new(rank as f64 / n), a, b).lower;
        // Squares of what is left of the estimate keep the digits of a small spread.
        let center = scale(self.estimate());
        let mut mean = 0.0;
        let mut square = 0.0;
        for (rank, value) in sorted.iter().enumerate() {
            let share = up_to(rank + 1) - up_to(rank);
            let off = scale(*value) - center;
            mean += share * off;
            square += share * off * off;
        }
        (square - mean * mean).max(0.0)
    }

    /// The p-value of the quantile being `hypothesis`, by the sign test: of the observations that are not above it, and of those
    /// below it.
    pub fn p_value(&self, hypothesis: f64, alternative: Alternative) -> PValue {
        let sorted = self.sample.sorted();
        let not_above = sorted.partition_point(|x| *x <= hypothesis);
        let below = sorted.partition_point(|x| *x < hypothesis);
        let so_many = below.checked_sub(1).map_or(1.0, |count| self.at_most(count).upper);
        alternative.p_value(so_many, self.at_most(not_above).lower)
    }

    /// The law of the number of observations that are not above the quantile.
    fn at_most(&self, count: usize) -> crate::distribution::Tails {
        binomial::tails(count as u64, self.sample.len() as u64, self.probability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ranks(n: usize, probability: f64, level: f64) -> (f64, f64, f64) {
        let sample = Sample::new((1..=n).map(|rank| rank as f64).collect()).unwrap();
        let quantile = SampleQuantile::new(&sample, probability).unwrap();
        let interval = quantile.interval(ConfidenceLevel::new(level).unwrap());
        (interval.lower, interval.upper, interval.level.get())
    }

    /// R: `qbinom(0.025, n, p)`, `qbinom(0.975, n, p) + 1`, and `pbinom` for the level.
    #[test]
    fn ranks_and_levels_are_those_of_the_binomial_law() {
        let (lower, upper, level) = ranks(30, 0.5, 0.95);
        assert_eq!((lower, upper), (10.0, 21.0));
        assert!((level - 0.957_226_054_742_932_3).abs() < 1e-12, "{level}");
        // 6 runs for a median at 95 %, and no fewer: 1 - 2/2^6.
        assert_eq!(ranks(6, 0.5, 0.95), (1.0, 6.0, 0.96875));
        assert_eq!(ranks(5, 0.5, 0.95).0, f64::NEG_INFINITY);
        // The 99th percentile of 100 runs is open above: 0.99^100 is more than 0.025.
        assert_eq!(ranks(100, 0.99, 0.95).1, f64::INFINITY);
        assert!(SampleQuantile::new(&Sample::new(vec![1.0]).unwrap(), 1.0).is_none());
        // The fewest runs with two ends.
        for (probability, needed) in [(0.5, 6), (0.9, 36), (0.99, 368)] {
            assert_eq!(SampleQuantile::runs_needed(probability, ConfidenceLevel::USUAL), needed);
            assert!(ranks(needed as usize, probability, 0.95).1.is_finite());
            assert!(!ranks(needed as usize - 1, probability, 0.95).1.is_finite());
        }
    }

    /// R: `pbinom(19, 30, 0.5)`: the 20th of 30 is above the median with 95.06 %.
    #[test]
    fn an_end_is_rejected_with_its_risk() {
        let sample = Sample::new((1..=30).map(f64::from).collect()).unwrap();
        let median = SampleQuantile::new(&sample, 0.5).unwrap();
        for (end, alternative) in [(20.5, Alternative::Less), (10.5, Alternative::Greater)] {
            let p = median.p_value(end, alternative).get();
            assert!((p + 0.950_631_426_647_305_5 - 1.0).abs() < 1e-12, "{alternative:?}: {p}");
        }
    }

    proptest! {
        #[test]
        fn no_narrower_interval_has_the_level(n in 1_usize..200, p in 0.001..0.999_f64, risk in 0.001..0.9_f64) {
            let level = 1.0 - risk;
            let (lower, upper, achieved) = ranks(n, p, level);
            prop_assert!(achieved >= level - 1e-12);
            let law = |count: f64| binomial::tails(count as u64, n as u64, p);
            // The next rank inward would leave more than half of the risk on its side.
            let inward = if lower.is_finite() { lower + 1.0 } else { 1.0 };
            prop_assert!(inward > n as f64 || law(inward - 1.0).lower > risk / 2.0);
            let inward = if upper.is_finite() { upper - 1.0 } else { n as f64 };
            prop_assert!(inward < 1.0 || law(inward - 1.0).upper > risk / 2.0);
        }
    }
}
