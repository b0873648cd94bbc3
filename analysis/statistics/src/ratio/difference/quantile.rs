//! The difference of two quantiles, with an interval that supposes nothing of the two laws.
//!
//! The limits are those of the order statistics of each version, combined in their unit: see `ratio::contrast`.

use super::CenterDifference;
use crate::inference::{Alternative, Caveat, ConfidenceLevel, Interval, PValue, RatioInterval, Unbounded};
use crate::ratio::contrast::{Contrast, Dependence, Limits, Scale, Stratum, weighted};
use crate::sample::{Sample, SampleQuantile};

/// The difference of the quantiles of two independent samples, baseline less candidate.
///
/// ```
/// use speedup_statistics::ratio::difference::{CenterDifference, QuantileDifference};
/// use speedup_statistics::inference::{Alternative, ConfidenceLevel};
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let baseline = Sample::new(vec![3.0, 4.0, 3.0, 5.0, 4.0, 3.0])?;
/// let candidate = Sample::new(vec![0.0, 1.0, 0.0, 0.0, 2.0, 0.0])?;
/// let faults = QuantileDifference::median(&baseline, &candidate);
/// assert_eq!(faults.estimate(), 3.5);
/// let interval = faults.interval(ConfidenceLevel::USUAL);
/// // 3.5 less the distances of 3 below 3.5 and of 2 above 0.
/// assert!(interval.bounded().is_some_and(|interval| (interval.lower - (3.5 - 0.5_f64.hypot(2.0))).abs() < 1e-12));
/// assert!((faults.p_value(1.0, Alternative::TwoSided).get() - 2.0 / 64.0).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct QuantileDifference<'a> {
    /// One or more; their weights add up to 1.
    strata: Vec<Stratum<'a>>,
}

impl<'a> QuantileDifference<'a> {
    /// The method's full name.
    pub const NAME: &'static str = "difference of quantiles, order-statistic intervals combined (MOVER)";

    /// The difference of the medians.
    pub fn median(baseline: &'a Sample, candidate: &'a Sample) -> Self {
        let [baseline, candidate] = [baseline, candidate].map(SampleQuantile::median);
        Self { strata: vec![Stratum { weight: 1.0, baseline, candidate }] }
    }

    /// The weighted mean of the differences of the medians of each stratum: the baseline's sample, the candidate's, and a weight. None
    /// without strata.
    pub fn medians_within(strata: impl IntoIterator<Item = (&'a Sample, &'a Sample, f64)>) -> Option<Self> {
        let stratum = |(baseline, candidate, weight): (&'a Sample, &'a Sample, f64)| {
            let [baseline, candidate] = [baseline, candidate].map(SampleQuantile::median);
            Stratum { weight, baseline, candidate }
        };
        let strata = weighted(strata.into_iter().map(stratum).collect());
        (!strata.is_empty()).then_some(Self { strata })
    }

    fn contrast(&self, factor: f64) -> Contrast<'_, 'a> {
        Contrast { strata: &self.strata, scale: Scale::Unit { factor }, dependence: Dependence::None }
    }
}

impl CenterDifference for QuantileDifference<'_> {
    fn estimate(&self) -> f64 {
        self.strata.iter().map(|one| one.weight * self.contrast(1.0).difference(one)).sum()
    }

    fn interval(&self, level: ConfidenceLevel) -> RatioInterval {
        let Limits { lower, upper, .. } = self.contrast(1.0).limits(level.risk().get() / 2.0);
        let method = Self::NAME;
        if lower.is_finite() && upper.is_finite() {
            let caveats: Vec<Caveat> = Vec::new();
            RatioInterval::Bounded(Interval { method, lower, upper, level, caveats })
        } else {
            RatioInterval::Unbounded { method, level, reason: Unbounded::TooFewRuns }
        }
    }

    fn p_value(&self, factor: f64, alternative: Alternative) -> PValue {
        self.contrast(factor).p_value(0.0, alternative)
    }

    fn p_same(&self, margin: f64) -> PValue {
        // At the margin they are the same: what is left out is below 0 and above it.
        let below = self.contrast(1.0 / (1.0 + margin)).p_value(-f64::MIN_POSITIVE, Alternative::Greater);
        let above = self.contrast(1.0 + margin).p_value(f64::MIN_POSITIVE, Alternative::Less);
        PValue::clamped(below.told().max(above.told()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(values: &[u8]) -> Sample {
        Sample::new(values.iter().map(|value| f64::from(*value)).collect()).unwrap()
    }

    #[test]
    fn what_is_zero_throughout_is_the_same_within_any_margin() {
        let zeros = sample(&[0; 8]);
        let difference = QuantileDifference::median(&zeros, &zeros);
        let interval = difference.interval(ConfidenceLevel::USUAL);
        assert!(interval.bounded().is_some_and(|interval| (interval.lower, interval.upper) == (0.0, 0.0)));
        assert_eq!(difference.p_value(1.0, Alternative::TwoSided).get(), 1.0);
        assert!((difference.p_same(0.01).get() - 1.0 / 256.0).abs() < 1e-12);
        let five = sample(&[0; 5]);
        assert!(
            QuantileDifference::median(&five, &five).interval(ConfidenceLevel::USUAL).bounded().is_none()
        );
        // Half of the values are 0, and the median lies anywhere up to 40: no margin of it shows anything.
        let mixed = sample(&[0, 0, 0, 0, 0, 0, 0, 40, 40, 40, 40, 40]);
        assert!(QuantileDifference::median(&mixed, &mixed).p_same(0.5).get() > 0.05);
    }

    #[test]
    fn a_stratum_twice_is_itself_with_less_error() {
        let x = sample(&[0, 3, 4, 4, 5, 7, 9]);
        let y = sample(&[0, 0, 1, 2, 2, 3, 8]);
        let one = QuantileDifference::median(&x, &y);
        let both = QuantileDifference::medians_within([(&x, &y, 2.0), (&x, &y, 2.0)]).unwrap();
        assert_eq!(one.estimate(), both.estimate());
        let width = |difference: &QuantileDifference<'_>| {
            let interval = difference.interval(ConfidenceLevel::USUAL);
            let interval = interval.bounded().unwrap();
            interval.upper - interval.lower
        };
        assert!((width(&both) * 2.0_f64.sqrt() / width(&one) - 1.0).abs() < 1e-12);
        assert!(QuantileDifference::medians_within([]).is_none());
    }

    proptest! {
        /// The p-value is below the risk exactly where the interval leaves 0 out; exchanging the versions turns all around, a shift of
        /// both changes nothing, and the unit multiplies.
        #[test]
        fn p_value_and_interval_agree(
            x in prop::collection::vec(0_u8..20, 6..40), y in prop::collection::vec(0_u8..20, 6..40),
            risk in 0.01..0.3_f64, scale in 1e-6..1e6_f64, shift in 0_u8..100,
        ) {
            let a = sample(&x);
            let b = sample(&y);
            let difference = QuantileDifference::median(&a, &b);
            let back = QuantileDifference::median(&b, &a);
            let level = ConfidenceLevel::new(1.0 - risk).unwrap();
            let p = difference.p_value(1.0, Alternative::TwoSided).get();
            prop_assert!((p - back.p_value(1.0, Alternative::TwoSided).get()).abs() < 1e-12);
            if let Some(interval) = difference.interval(level).bounded() {
                let leaves_out = interval.lower > 0.0 || interval.upper < 0.0;
                prop_assert_eq!(leaves_out, p <= level.risk().get(), "{:?}, p {}", interval, p);
                let inverse = back.interval(level);
                let inverse = inverse.bounded().unwrap();
                prop_assert_eq!(interval.lower, -inverse.upper);
                let moved = |values: &[u8], scale: f64, by: u8| {
                    Sample::new(values.iter().map(|value| scale * f64::from(*value) + f64::from(by)).collect()).unwrap()
                };
                let c = moved(&x, 1.0, shift);
                let d = moved(&y, 1.0, shift);
                let shifted = QuantileDifference::median(&c, &d).interval(level);
                prop_assert!((shifted.bounded().unwrap().lower - interval.lower).abs() < 1e-9);
                let c = moved(&x, scale, 0);
                let d = moved(&y, scale, 0);
                let scaled = QuantileDifference::median(&c, &d).interval(level);
                prop_assert!((scaled.bounded().unwrap().upper - scale * interval.upper).abs() <= 1e-9 * scale);
            }
        }

        /// What is the same within a margin is within a larger one, and what is shown to differ by it is not the same.
        #[test]
        fn sameness_grows_with_the_margin(
            x in prop::collection::vec(0_u8..9, 6..30), y in prop::collection::vec(0_u8..9, 6..30), margin in 0.01..0.9_f64,
        ) {
            let a = sample(&x);
            let b = sample(&y);
            let difference = QuantileDifference::median(&a, &b);
            prop_assert!(difference.p_same(1.5 * margin).get() <= difference.p_same(margin).get() + 1e-12);
            let beyond = difference.p_value(1.0 + margin, Alternative::Greater).get();
            prop_assert!(beyond > 0.05 || difference.p_same(margin).get() > 0.05);
        }
    }
}
