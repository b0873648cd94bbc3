//! The speedup by trimmed means of the logarithms of times: the typical run, without the tenth of the runs at either end.
//!
//! A trimmed mean is nearly as sharp as the mean where times are normal, and rare stalls do not move it as they move the mean. On the
//! logarithms it is of a ratio, so that exchanging the versions inverts it. p-value, interval and estimate are of one statistic: see
//! `contrast`.

mod contrast;
mod relabelling;

use self::contrast::{Contrast, Hypothesis, Stratum, Values};
use crate::inference::{Alternative, Caveat, ConfidenceLevel, Interval, PValue, RatioInterval, Unbounded};
use crate::ratio::{RatioError, mean::require_positive};
use crate::sample::Sample;
use thiserror::Error;

/// The share of a sample that is left out at each end, at most a quarter.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct TrimShare(f64);

/// A share that is no [`TrimShare`].
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("the share to leave out at each end must be between 0 and 0.25, not {0}")]
pub struct TrimShareError(pub f64);

/// The ratio of the trimmed means of the logarithms of times, told as a speedup.
///
/// ```
/// use speedup_statistics::inference::{Alternative, ConfidenceLevel};
/// use speedup_statistics::ratio::{TrimShare, TrimmedRatio};
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // One of ten runs was disturbed.
/// let baseline = Sample::new(vec![103.0, 101.0, 104.0, 99.0, 102.0, 98.0, 100.0, 300.0, 101.5, 99.5])?;
/// let candidate = Sample::new(vec![93.0, 91.0, 94.0, 89.0, 92.0, 88.0, 90.0, 92.5, 91.5, 89.5])?;
/// let speedup = TrimmedRatio::new(&baseline, &candidate, TrimShare::USUAL)?;
/// assert!((speedup.estimate() - 1.112).abs() < 1e-3);
/// let interval = speedup.interval(ConfidenceLevel::USUAL);
/// assert!(interval.bounded().is_some_and(|interval| interval.lower > 1.07 && interval.upper < 1.17));
/// assert!(speedup.p_value(1.0, Alternative::TwoSided).get() < 0.01);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TrimmedRatio {
    contrast: Contrast,
    method: &'static str,
}

impl TrimShare {
    /// A tenth at each end.
    pub const USUAL: Self = Self(0.1);

    /// The share `share`, a fraction.
    ///
    /// # Errors
    /// [`TrimShareError`] unless 0 ≤ `share` ≤ 0.25: two observations of each sample are always left.
    pub fn new(share: f64) -> Result<Self, TrimShareError> {
        if (0.0..=0.25).contains(&share) { Ok(Self(share)) } else { Err(TrimShareError(share)) }
    }

    /// The share as a fraction.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TrimmedRatio {
    /// The method's full name for independent runs.
    pub const NAME: &'static str =
        "ratio of trimmed means of log times, the wider of the studentised permutation interval and Yuen's t";
    /// The method's full name for pairs.
    pub const NAME_OF_PAIRS: &'static str =
        "trimmed mean of the log ratios within pairs, the wider of the studentised sign-flip interval and Yuen's t";

    /// The speedup from `baseline` to `candidate`, which are independent.
    ///
    /// # Errors
    /// [`RatioError`] for times that are not positive, single runs, or no variation in what is left.
    pub fn new(baseline: &Sample, candidate: &Sample, share: TrimShare) -> Result<Self, RatioError> {
        Self::within([(baseline, candidate, 1.0)], share)
    }

    /// The mean of the speedups within strata, each a baseline's sample, a candidate's and a weight; versions are relabelled within each.
    ///
    /// # Errors
    /// As [`TrimmedRatio::new`]; a stratum in which a version has a single run is left out, and all of them are too few.
    pub fn within<'a>(
        strata: impl IntoIterator<Item = (&'a Sample, &'a Sample, f64)>,
        share: TrimShare,
    ) -> Result<Self, RatioError> {
        let mut kept = Vec::new();
        let (mut n, mut m) = (0, 0);
        for (baseline, candidate, weight) in strata {
            require_positive(baseline, candidate)?;
            (n, m) = (n.max(baseline.len()), m.max(candidate.len()));
            if baseline.len() < 2 || candidate.len() < 2 {
                continue;
            }
            let [baseline, candidate] = [baseline, candidate].map(|sample| logarithms(sample.sorted()));
            kept.push(Stratum { weight, values: Values::Apart { baseline, candidate } });
        }
        if kept.is_empty() {
            return Err(RatioError::TooFew { n, m });
        }
        Self::of(kept, share, Self::NAME)
    }

    /// The speedup within the pairs that two samples of one length are, in run order.
    ///
    /// # Errors
    /// As [`TrimmedRatio::new`], and for samples of different lengths.
    pub fn of_pairs(baseline: &Sample, candidate: &Sample, share: TrimShare) -> Result<Self, RatioError> {
        require_positive(baseline, candidate)?;
        let (n, m) = (baseline.len(), candidate.len());
        if n != m || n < 2 {
            return Err(RatioError::TooFew { n, m });
        }
        let [baseline, candidate] = [baseline, candidate].map(|sample| logarithms(sample.in_run_order()));
        Self::of(vec![Stratum { weight: 1.0, values: Values::Pairs { baseline, candidate } }], share, Self::NAME_OF_PAIRS)
    }

    fn of(mut strata: Vec<Stratum>, share: TrimShare, method: &'static str) -> Result<Self, RatioError> {
        let all: f64 = strata.iter().map(|stratum| stratum.weight).sum();
        for stratum in &mut strata {
            stratum.weight /= all;
        }
        let contrast = Contrast::new(strata, share.get());
        let (_, squared_error) = contrast.estimate();
        // Logarithms of times that differ in their last digits only.
        if squared_error <= (10.0 * f64::EPSILON).powi(2) {
            return Err(RatioError::EssentiallyConstant);
        }
        Ok(Self { contrast, method })
    }

    /// The ratio of the geometric trimmed means, baseline over candidate.
    pub fn estimate(&self) -> f64 {
        self.contrast.estimate().0.exp()
    }

    /// The p-value of the speedup being `ratio` against its being otherwise, greater or less.
    pub fn p_value(&self, ratio: f64, alternative: Alternative) -> PValue {
        let tails = self.contrast.tails(Hypothesis { factor: 1.0, shift: ratio.ln() });
        alternative.p_value(tails.lower, tails.upper)
    }

    /// The two-sided interval of the speedup; none where so few runs exclude nothing at this level.
    pub fn interval(&self, level: ConfidenceLevel) -> RatioInterval {
        let method = self.method;
        match self.contrast.limits(level.risk().get()) {
            Some([lower, upper]) => {
                let caveats: Vec<Caveat> = Vec::new();
                RatioInterval::Bounded(Interval { method, lower: lower.exp(), upper: upper.exp(), level, caveats })
            }
            None => RatioInterval::Unbounded { method, level, reason: Unbounded::TooFewRuns },
        }
    }
}

fn logarithms(times: &[f64]) -> Vec<f64> {
    times.iter().map(|time| time.ln()).collect()
}

#[cfg(test)]
mod tests;
