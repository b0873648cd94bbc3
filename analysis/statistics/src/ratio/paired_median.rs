//! The median speedup of pairs, with an interval that supposes nothing of their law.

use crate::inference::{Alternative, ConfidenceLevel, PValue, RatioInterval, Unbounded};
use crate::{
    ratio::LogEffect, ratio::RatioError, ratio::mean::require_positive, sample::Sample,
    sample::SampleQuantile,
};

/// The median of the ratios within pairs, baseline over candidate: half of the pairs have a larger one.
///
/// The sign test of those ratios, and its interval, between two of them (David and Nagaraja, Order Statistics, 2003, §7.1).
///
/// ```
/// use speedup_statistics::inference::{Alternative, ConfidenceLevel};
/// use speedup_statistics::ratio::PairedMedianRatio;
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Hosts differ more than the versions do.
/// let baseline = Sample::new(vec![11.0, 22.0, 33.0, 44.0, 55.0, 66.0])?;
/// let candidate = Sample::new(vec![10.0, 20.0, 30.0, 40.0, 50.0, 60.0])?;
/// let speedup = PairedMedianRatio::new(&baseline, &candidate)?;
/// assert!((speedup.estimate() - 1.1).abs() < 1e-12);
/// assert!(speedup.interval(ConfidenceLevel::USUAL).bounded().is_some_and(|interval| interval.lower > 1.09));
/// assert!((speedup.p_value(1.0, Alternative::TwoSided).get() - 2.0 / 64.0).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PairedMedianRatio {
    logarithms: Sample,
}

impl PairedMedianRatio {
    /// The method's full name.
    pub const NAME: &'static str = "median of the ratios within pairs, between order statistics (sign test)";

    /// The ratios of the pairs that two samples of one length are, in run order.
    ///
    /// # Errors
    /// [`RatioError`] for times that are not positive, and for samples of different lengths.
    pub fn new(baseline: &Sample, candidate: &Sample) -> Result<Self, RatioError> {
        require_positive(baseline, candidate)?;
        let n = baseline.len();
        let m = candidate.len();
        let pairs = baseline.in_run_order().iter().zip(candidate.in_run_order());
        match Sample::new(pairs.map(|(x, y)| (x / y).ln()).collect()) {
            Ok(logarithms) if n == m => Ok(Self { logarithms }),
            Ok(_) | Err(_) => Err(RatioError::TooFew { n, m }),
        }
    }

    /// The median of the ratios.
    pub fn estimate(&self) -> f64 {
        self.logarithms.median().exp()
    }

    /// The equal-tailed two-sided interval, exact but for ratios that tie; none of fewer pairs than
    /// [`SampleQuantile::runs_needed`].
    pub fn interval(&self, level: ConfidenceLevel) -> RatioInterval {
        let interval = SampleQuantile::median(&self.logarithms).interval(level);
        if interval.lower.is_finite() && interval.upper.is_finite() {
            let lower = interval.lower.exp();
            let upper = interval.upper.exp();
            RatioInterval::Bounded(crate::inference::Interval {
                method: Self::NAME,
                lower,
                upper,
                ..interval
            })
        } else {
            RatioInterval::Unbounded { method: Self::NAME, level, reason: Unbounded::TooFewRuns }
        }
    }

    /// The logarithm of the median, with its bootstrap variance.
    pub fn log_effect(&self) -> LogEffect {
        let median = SampleQuantile::median(&self.logarithms);
        let df = self.logarithms.len() as f64 - 1.0;
        LogEffect { estimate: median.estimate(), variance: median.variance(), df }
    }

    /// The p-value of the median being `ratio`.
    pub fn p_value(&self, ratio: f64, alternative: Alternative) -> PValue {
        SampleQuantile::median(&self.logarithms).p_value(ratio.ln(), alternative)
    }
}
