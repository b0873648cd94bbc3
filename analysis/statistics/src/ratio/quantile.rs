//! The speedup at a quantile, the median or a tail, with an interval that supposes nothing of the two laws.
//!
//! Each version's quantile lies between two of its order statistics, with a probability that the binomial law gives whatever
//! the law of the times (David and Nagaraja, Order Statistics, 2003, §7.1). On the logarithmic scale the ratio is a difference,
//! whose variance is recovered from the distances between the estimates and those ends (MOVER: Zou and Donner, Construction
//! of confidence limits about effect measures, Statistics in Medicine 27, 2008; Newcombe 2011). So the laws may differ in
//! shape and spread, and the times may tie. Order statistics are few, so that the level is mostly above the one asked for.
//!
//! Strata (the classes of hosts, for instance) are compared each within itself; the logarithms of their ratios are then averaged
//! by weights, and so are the squares of their distances.

use crate::inference::{Alternative, Caveat, ConfidenceLevel, Interval, PValue, RatioInterval, Unbounded};
use crate::ratio::RatioError;
use crate::ratio::mean::require_positive;
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
}

#[derive(Clone, Copy, Debug)]
struct Stratum<'a> {
    weight: f64,
    baseline: SampleQuantile<'a>,
    candidate: SampleQuantile<'a>,
}

/// Least p-value that is looked for: what is smaller is told as this.
const LEAST_RISK: f64 = 1e-300;
/// Halvings of the logarithm of a risk, after which it is known to the last digit.
const HALVINGS: usize = 64;

impl<'a> QuantileRatio<'a> {
    /// The method's full name.
    pub const NAME: &'static str =
        "ratio of quantiles, order-statistic intervals combined on the log scale (MOVER)";

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
        let mut strata = strata.into_iter().map(stratum).collect::<Result<Vec<_>, RatioError>>()?;
        let all: f64 = strata.iter().map(|stratum| stratum.weight).sum();
        strata.iter_mut().for_each(|stratum| stratum.weight /= all);
        if strata.is_empty() { Err(RatioError::TooFew { n: 0, m: 0 }) } else { Ok(Self { strata }) }
    }

    /// The ratio of two quantiles of positive times, for instance of the 99th percentiles; none where a time is not positive.
    pub fn new(baseline: SampleQuantile<'a>, candidate: SampleQuantile<'a>) -> Result<Self, RatioError> {
        Self::within([(baseline, candidate, 1.0)])
    }

    /// The ratio of the samples' quantiles (type 7), baseline over candidate.
    pub fn estimate(&self) -> f64 {
        match &self.strata[..] {
            [only] => only.baseline.estimate() / only.candidate.estimate(),
            strata => strata.iter().map(|one| one.weight * one.log_ratio()).sum::<f64>().exp(),
        }
    }

    /// The equal-tailed two-sided interval of the ratio; none where the runs are too few for an order statistic on each side of
    /// each quantile: see [`SampleQuantile::runs_needed`].
    pub fn interval(&self, level: ConfidenceLevel) -> RatioInterval {
        let limits = self.limits(level.risk().get() / 2.0);
        if limits.lower > 0.0 && limits.upper.is_finite() {
            let Limits { lower, upper, .. } = limits;
            let caveats: Vec<Caveat> = Vec::new();
            RatioInterval::Bounded(Interval { method: Self::NAME, lower, upper, level, caveats })
        } else {
            RatioInterval::Unbounded { method: Self::NAME, level, reason: Unbounded::TooFewRuns }
        }
    }

    /// The p-value of the ratio being `ratio`: the least risk at which the interval does not hold it. What is observed beyond
    /// `ratio` on the other side than `alternative` says counts as 1.
    pub fn p_value(&self, ratio: f64, alternative: Alternative) -> PValue {
        let greater = || self.least_risk(|limits| limits.lower > ratio, |limits| limits.risk_of_lower);
        let less = || self.least_risk(|limits| limits.upper < ratio, |limits| limits.risk_of_upper);
        PValue::clamped(match alternative {
            Alternative::Greater => greater(),
            Alternative::Less => less(),
            Alternative::TwoSided => 2.0 * greater().min(less()),
        })
    }

    /// The least risk beyond one end at which `excludes`, which once true stays true with more risk; 1 if it never is.
    fn least_risk(&self, excludes: impl Fn(&Limits) -> bool, achieved: impl Fn(&Limits) -> f64) -> f64 {
        let (mut too_small, mut enough) = (LEAST_RISK.ln(), 0.5_f64.ln());
        if !excludes(&self.limits(0.5)) {
            return 1.0;
        }
        for _ in 0..HALVINGS {
            let middle = too_small + (enough - too_small) / 2.0;
            if excludes(&self.limits(middle.exp())) { enough = middle } else { too_small = middle }
        }
        achieved(&self.limits(enough.exp()))
    }

    /// The limits of the ratio with at most the risk `beyond` each.
    fn limits(&self, beyond: f64) -> Limits {
        let (mut center, mut down, mut up) = (0.0, 0.0, 0.0);
        let (mut risk_of_lower, mut risk_of_upper) = (0.0_f64, 0.0_f64);
        for stratum in &self.strata {
            let [x, y] =
                [stratum.baseline, stratum.candidate].map(|quantile| Distances::new(quantile, beyond));
            center += stratum.weight * stratum.log_ratio();
            down += (stratum.weight * x.down.hypot(y.up)).powi(2);
            up += (stratum.weight * x.up.hypot(y.down)).powi(2);
            risk_of_lower = risk_of_lower.max(x.below).max(y.above);
            risk_of_upper = risk_of_upper.max(x.above).max(y.below);
        }
        let (lower, upper) = ((center - down.sqrt()).exp(), (center + up.sqrt()).exp());
        Limits { lower, upper, risk_of_lower, risk_of_upper }
    }
}

impl Stratum<'_> {
    fn log_ratio(&self) -> f64 {
        (self.baseline.estimate() / self.candidate.estimate()).ln()
    }
}

/// How far the ends of a quantile's interval are from its estimate, on the log scale, and the risk beyond each.
struct Distances {
    down: f64,
    up: f64,
    below: f64,
    above: f64,
}

impl Distances {
    fn new(quantile: SampleQuantile<'_>, beyond: f64) -> Self {
        let center = quantile.estimate();
        let [lower, upper] = quantile.ends(beyond);
        // An end that takes more runs is at no distance that is known.
        let down = if lower.value.is_finite() { (center / lower.value).ln() } else { f64::INFINITY };
        let up = if upper.value.is_finite() { (upper.value / center).ln() } else { f64::INFINITY };
        Self { down: down.max(0.0), up: up.max(0.0), below: lower.miss, above: upper.miss }
    }
}

/// The limits of a ratio, and the risk beyond each: the larger of the two order statistics that it is made of.
struct Limits {
    lower: f64,
    upper: f64,
    risk_of_lower: f64,
    risk_of_upper: f64,
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
        let (x, y) = (sample(&x), sample(&y));
        let ratio = QuantileRatio::median(&x, &y).unwrap();
        let interval = ratio.interval(ConfidenceLevel::USUAL);
        let interval = interval.bounded().unwrap();
        let (of_x, of_y) = (55.0_f64.ln(), 105.5_f64.ln());
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
        let (slow, fast) = (sample(&[4.0; 8]), sample(&[2.0; 9]));
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

    proptest! {
        /// The p-value is below the risk exactly where the interval leaves the ratio out, and exchanging the versions turns
        /// all around; the unit does not matter.
        #[test]
        fn p_value_and_interval_agree(
            x in prop::collection::vec(1_u16..400, 6..40), y in prop::collection::vec(1_u16..400, 6..40),
            risk in 0.01..0.3_f64, scale in 1e-6..1e6_f64,
        ) {
            let of = |values: &[u16], scale: f64| {
                Sample::new(values.iter().map(|value| f64::from(*value) * scale).collect()).unwrap()
            };
            let (a, b) = (of(&x, 1.0), of(&y, 1.0));
            let ratio = QuantileRatio::median(&a, &b).unwrap();
            let back = QuantileRatio::median(&b, &a).unwrap();
            let level = ConfidenceLevel::new(1.0 - risk).unwrap();
            let p = ratio.p_value(1.0, Alternative::TwoSided).get();
            prop_assert!((p - back.p_value(1.0, Alternative::TwoSided).get()).abs() < 1e-9);
            if let Some(interval) = ratio.interval(level).bounded() {
                let leaves_out = interval.lower > 1.0 || interval.upper < 1.0;
                prop_assert_eq!(leaves_out, p <= level.risk().get(), "{:?}, p {}", interval, p);
                let inverse = back.interval(level);
                let inverse = inverse.bounded().unwrap();
                prop_assert!((interval.lower * inverse.upper - 1.0).abs() < 1e-12);
                let (c, d) = (of(&x, scale), of(&y, scale));
                let scaled = QuantileRatio::median(&c, &d).unwrap().interval(level);
                let scaled = scaled.bounded().unwrap();
                prop_assert!((scaled.lower / interval.lower - 1.0).abs() < 1e-9);
            }
        }
    }
}
