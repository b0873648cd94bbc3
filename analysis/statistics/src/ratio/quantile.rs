//! The speedup at a quantile, the median or a tail, with an interval that supposes nothing of the two laws.
//!
//! The limits are those of the order statistics of each version, combined on the logarithmic scale, on which the ratio is a difference:
//! see `contrast`. So the laws may differ in shape and spread, and the times may tie. Order statistics are few, so that the level is
//! mostly above the one asked for.
//!
//! Strata (the classes of hosts, for instance) are compared each within itself, and the logarithms of their ratios averaged.

use crate::inference::{Alternative, Caveat, ConfidenceLevel, Interval, PValue, RatioInterval, Unbounded};
use crate::ratio::contrast::{Contrast, Dependence, Limits, Scale, Stratum, weighted};
use crate::ratio::{LogEffect, RatioError, mean::require_positive};
use crate::sample::{Sample, SampleQuantile};

/// The ratio of the quantiles of two independent samples of positive numbers, baseline over candidate.
///
/// ```
/// use speedup_statistics::inference::{Alternative, ConfidenceLevel};
/// use speedup_statistics::ratio::QuantileRatio;
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let baseline = Sample::new(vec![20.1, 19.8, 20.4, 20.0, 19.9, 25.3])?;
/// let candidate = Sample::new(vec![10.2, 9.9, 10.0, 10.1, 10.3, 9.8])?;
/// let speedup = QuantileRatio::median(&baseline, &candidate)?;
/// assert!((speedup.estimate() - 20.05 / 10.05).abs() < 1e-12);
/// let interval = speedup.interval(ConfidenceLevel::USUAL);
/// assert!(interval.bounded().is_some_and(|interval| interval.lower > 1.9));
/// // Six runs each are the fewest for 95 %: the probability of six on one side of the median, on either side.
/// assert!((speedup.p_value(1.0, Alternative::TwoSided).get() - 2.0 / 64.0).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct QuantileRatio<'a> {
    /// One or more; their weights add up to 1.
    strata: Vec<Stratum<'a>>,
    dependence: Dependence,
}

impl<'a> QuantileRatio<'a> {
    /// The method's full name.
    pub const NAME: &'static str =
        "ratio of quantiles, order-statistic intervals combined on the log scale (MOVER)";
    /// The method's full name for versions that may depend on each other.
    const NAME_DEPENDENT: &'static str = "ratio of quantiles of versions that may depend on each other, order-statistic intervals at half the risk each (Bonferroni)";

    /// The ratio of the medians of `baseline` and `candidate`.
    ///
    /// # Errors
    /// [`RatioError::NotPositive`] for times that are not positive.
    pub fn median(baseline: &'a Sample, candidate: &'a Sample) -> Result<Self, RatioError> {
        let [baseline, candidate] = [baseline, candidate].map(SampleQuantile::median);
        Self::new(baseline, candidate)
    }

    /// The weighted geometric mean of the ratios of the quantiles of each stratum: the baseline's, the candidate's, and a weight.
    ///
    /// # Errors
    /// [`RatioError`] for times that are not positive, and without strata.
    pub fn within(
        strata: impl IntoIterator<Item = (SampleQuantile<'a>, SampleQuantile<'a>, f64)>,
    ) -> Result<Self, RatioError> {
        let stratum = |(baseline, candidate, weight): (SampleQuantile<'a>, SampleQuantile<'a>, f64)| {
            require_positive(baseline.sample(), candidate.sample())?;
            Ok(Stratum { weight, baseline, candidate })
        };
        let strata = weighted(strata.into_iter().map(stratum).collect::<Result<Vec<_>, RatioError>>()?);
        if strata.is_empty() {
            return Err(RatioError::TooFew { n: 0, m: 0 });
        }
        Ok(Self { strata, dependence: Dependence::None })
    }

    /// The ratio of two quantiles of positive times, for instance of the 99th percentiles; none where a time is not positive.
    pub fn new(baseline: SampleQuantile<'a>, candidate: SampleQuantile<'a>) -> Result<Self, RatioError> {
        Self::within([(baseline, candidate, 1.0)])
    }

    /// The same of two versions that may depend on each other in any way, as those do that were measured on the same hosts; the runs of
    /// one version are independent of each other. Its ends take as many runs as [`SampleQuantile::runs_needed`] says at half the risk.
    ///
    /// # Errors
    /// [`RatioError::NotPositive`] for times that are not positive.
    pub fn dependent(
        baseline: SampleQuantile<'a>,
        candidate: SampleQuantile<'a>,
    ) -> Result<Self, RatioError> {
        Ok(Self { dependence: Dependence::Any, ..Self::new(baseline, candidate)? })
    }

    fn name(&self) -> &'static str {
        match self.dependence {
            Dependence::None => Self::NAME,
            Dependence::Any => Self::NAME_DEPENDENT,
        }
    }

    /// The ratio of the samples' quantiles (type 7), baseline over candidate.
    pub fn estimate(&self) -> f64 {
        match &self.strata[..] {
            [only] => only.baseline.estimate() / only.candidate.estimate(),
            strata => {
                strata.iter().map(|one| one.weight * self.contrast().difference(one)).sum::<f64>().exp()
            }
        }
    }

    /// The equal-tailed two-sided interval of the ratio; none where the runs are too few for an order statistic on each side of
    /// each quantile: see [`SampleQuantile::runs_needed`].
    pub fn interval(&self, level: ConfidenceLevel) -> RatioInterval {
        let Limits { lower, upper, .. } = self.contrast().limits(level.risk().get() / 2.0);
        let method = self.name();
        if lower > 0.0 && upper.is_finite() {
            let caveats: Vec<Caveat> = Vec::new();
            RatioInterval::Bounded(Interval { method, lower, upper, level, caveats })
        } else {
            RatioInterval::Unbounded { method, level, reason: Unbounded::TooFewRuns }
        }
    }

    /// The p-value of the ratio being `ratio`: the least risk at which the interval does not hold it. What is observed beyond
    /// `ratio` on the other side than `alternative` says counts as 1.
    pub fn p_value(&self, ratio: f64, alternative: Alternative) -> PValue {
        self.contrast().p_value(ratio, alternative)
    }

    /// The logarithm of the ratio, with its error by the bootstrap variances of the quantiles of the logarithms.
    pub fn log_effect(&self) -> LogEffect {
        let mut variance = 0.0;
        let mut df = f64::INFINITY;
        for Stratum { weight, baseline, candidate } in &self.strata {
            let [x, y] = [baseline, candidate].map(|quantile| quantile.variance_of_logarithm().sqrt());
            let error = match self.dependence {
                Dependence::None => x.hypot(y),
                Dependence::Any => x + y,
            };
            variance += (weight * error).powi(2);
            let fewest = baseline.sample().len().min(candidate.sample().len());
            df = df.min(fewest as f64 - 1.0);
        }
        LogEffect { estimate: self.estimate().ln(), variance, df }
    }

    fn contrast(&self) -> Contrast<'_, 'a> {
        Contrast { strata: &self.strata, scale: Scale::Logarithms, dependence: self.dependence }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).unwrap()
    }

    /// By hand: ranks 2 and 9 of 10 (`qbinom(0.025, 10, 0.5)` is 2).
    #[test]
    fn the_ends_are_those_of_the_order_statistics() {
        let x: Vec<f64> = (1..=10).map(|i| f64::from(i) * 10.0).collect();
        let y: Vec<f64> = (1..=10).map(|i| 100.0 + f64::from(i)).collect();
        let x = sample(&x);
        let y = sample(&y);
        let ratio = QuantileRatio::median(&x, &y).unwrap();
        let interval = ratio.interval(ConfidenceLevel::USUAL);
        let interval = interval.bounded().unwrap();
        let of_x = 55.0_f64.ln();
        let of_y = 105.5_f64.ln();
        let lower = of_x - of_y - (of_x - 20.0_f64.ln()).hypot(109.0_f64.ln() - of_y);
        let upper = of_x - of_y + (90.0_f64.ln() - of_x).hypot(of_y - 102.0_f64.ln());
        assert!((interval.lower - lower.exp()).abs() < 1e-14, "{interval:?}");
        assert!((interval.upper - upper.exp()).abs() < 1e-14, "{interval:?}");
    }

    #[test]
    fn five_runs_are_too_few_and_times_that_tie_are_not() {
        let five = sample(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let ratio = QuantileRatio::median(&five, &five).unwrap();
        assert!(ratio.interval(ConfidenceLevel::USUAL).bounded().is_none());
        assert_eq!(ratio.p_value(1.0, Alternative::TwoSided).get(), 1.0);
        let slow = sample(&[4.0; 8]);
        let fast = sample(&[2.0; 9]);
        let ratio = QuantileRatio::median(&slow, &fast).unwrap();
        let interval = ratio.interval(ConfidenceLevel::USUAL);
        assert!(interval.bounded().is_some_and(|interval| (interval.lower - 2.0).abs() < 1e-15));
        // 2/2⁸: of the eight runs, all on one side.
        assert!((ratio.p_value(1.0, Alternative::TwoSided).get() - 2.0 / 256.0).abs() < 1e-12);
    }

    #[test]
    fn equal_strata_are_as_one_with_less_error() {
        let x: Vec<f64> = (1..=12).map(|i| 100.0 + f64::from(i * i % 13)).collect();
        let y: Vec<f64> = (1..=12).map(|i| 90.0 + f64::from(i * 5 % 13)).collect();
        let strata = [(sample(&x), sample(&y)), (sample(&x), sample(&y))];
        let one = QuantileRatio::median(&strata[0].0, &strata[0].1).unwrap();
        let weighted = |(x, y)| (SampleQuantile::median(x), SampleQuantile::median(y), 3.0);
        let both = QuantileRatio::within(strata.iter().map(|(x, y)| weighted((x, y)))).unwrap();
        assert!((one.estimate() / both.estimate() - 1.0).abs() < 1e-14);
        let log_width = |ratio: &QuantileRatio<'_>| {
            let interval = ratio.interval(ConfidenceLevel::USUAL);
            let interval = interval.bounded().unwrap();
            (interval.upper / interval.lower).ln()
        };
        assert!((log_width(&both) * 2.0_f64.sqrt() / log_width(&one) - 1.0).abs() < 1e-12);
        assert!(QuantileRatio::within([]).is_err());
    }

    /// Twice the distance where both are as far, and 42 runs for p90: 2/4 of the risk at each of four ends.
    #[test]
    fn versions_that_may_depend_on_each_other_keep_half_of_the_risk_each() {
        let x: Vec<f64> = (1..=42).map(f64::from).collect();
        let x = sample(&x);
        let half = ConfidenceLevel::new(0.975).unwrap();
        assert_eq!(SampleQuantile::runs_needed(0.9, half), 42);
        let p90 = SampleQuantile::new(&x, 0.9).unwrap();
        let [lower, upper] = p90.ends(0.0125).map(|end| end.value);
        let interval = QuantileRatio::dependent(p90, p90).unwrap().interval(ConfidenceLevel::USUAL);
        let interval = interval.bounded().unwrap();
        assert_eq!(interval.method, QuantileRatio::NAME_DEPENDENT);
        assert!((interval.lower - lower / upper).abs() < 1e-14);
        assert!((interval.upper - upper / lower).abs() < 1e-14);
        let fewer: Vec<f64> = (1..=41).map(f64::from).collect();
        let fewer = sample(&fewer);
        let p90 = SampleQuantile::new(&fewer, 0.9).unwrap();
        assert!(
            QuantileRatio::dependent(p90, p90).unwrap().interval(ConfidenceLevel::USUAL).bounded().is_none()
        );
    }

    proptest! {
        /// The p-value is below the risk exactly where the interval leaves the ratio out, and exchanging the versions turns
        /// all around; the unit does not matter.
        #[test]
        fn p_value_and_interval_agree(
            x in prop::collection::vec(1_u16..400, 6..40), y in prop::collection::vec(1_u16..400, 6..40),
            risk in 0.01..0.3_f64, scale in 1e-6..1e6_f64, dependent: bool,
        ) {
            let of = |values: &[u16], scale: f64| {
                Sample::new(values.iter().map(|value| f64::from(*value) * scale).collect()).unwrap()
            };
            let a = of(&x, 1.0);
            let b = of(&y, 1.0);
            let median = |x, y| {
                let [x, y] = [x, y].map(SampleQuantile::median);
                if dependent { QuantileRatio::dependent(x, y) } else { QuantileRatio::new(x, y) }.unwrap()
            };
            let ratio = median(&a, &b);
            let back = median(&b, &a);
            let level = ConfidenceLevel::new(1.0 - risk).unwrap();
            let p = ratio.p_value(1.0, Alternative::TwoSided).get();
            prop_assert!((p - back.p_value(1.0, Alternative::TwoSided).get()).abs() < 1e-9);
            if let Some(interval) = ratio.interval(level).bounded() {
                let leaves_out = interval.lower > 1.0 || interval.upper < 1.0;
                prop_assert_eq!(leaves_out, p <= level.risk().get(), "{:?}, p {}", interval, p);
                let inverse = back.interval(level);
                let inverse = inverse.bounded().unwrap();
                prop_assert!((interval.lower * inverse.upper - 1.0).abs() < 1e-12);
                let c = of(&x, scale);
                let d = of(&y, scale);
                let scaled = median(&c, &d).interval(level);
                let scaled = scaled.bounded().unwrap();
                prop_assert!((scaled.lower / interval.lower - 1.0).abs() < 1e-9);
            }
        }
    }
}
