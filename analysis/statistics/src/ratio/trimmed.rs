//! The speedup by trimmed means of the logarithms of times: the typical run, without the tenth of the runs at either end.
//!
//! A trimmed mean is nearly as sharp as the mean where times are normal, and rare stalls do not move it as they move the mean. On the
//! logarithms it is of a ratio, so that exchanging the versions inverts it. p-value, interval and estimate are of one statistic: see
//! `contrast`.

mod contrast;
mod relabelling;

use self::contrast::{Contrast, Hypothesis, Stratum, Values, trimmed_mean};
use self::relabelling::{Labels, Relabellings};
use super::difference::CenterDifference;
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

    /// The trimmed mean of a sample, in its unit: of its own observations a whole number is left out at each end.
    pub fn mean_of(self, sample: &Sample) -> f64 {
        trimmed_mean(sample.sorted(), self.0)
    }

    /// The geometric trimmed mean of positive times, in their unit.
    pub fn time_of(self, times: &Sample) -> f64 {
        trimmed_mean(&logarithms(times.sorted()), self.0).exp()
    }
}

impl TrimmedRatio {
    /// The method's full name for independent runs.
    pub const NAME: &'static str =
        "ratio of trimmed means of log times, the wider of the studentised permutation interval and Yuen's t";
    /// The method's full name for pairs.
    pub const NAME_OF_PAIRS: &'static str = "trimmed mean of the log ratios within pairs, the wider of the studentised sign-flip interval and Yuen's t";

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
        let strata: Vec<_> = strata.into_iter().collect();
        for (baseline, candidate, _) in &strata {
            require_positive(baseline, candidate)?;
        }
        Ok(Self { contrast: apart(&strata, logarithms, share)?, method: Self::NAME })
    }

    /// The speedup within the pairs that two samples of one length are, in run order.
    ///
    /// # Errors
    /// As [`TrimmedRatio::new`], and for samples of different lengths.
    pub fn paired(baseline: &Sample, candidate: &Sample, share: TrimShare) -> Result<Self, RatioError> {
        require_positive(baseline, candidate)?;
        Ok(Self { contrast: pairs([baseline, candidate], logarithms, share)?, method: Self::NAME_OF_PAIRS })
    }

    /// Runs of each version that it takes for an interval at this level, whatever the times are; none are enough for a level that is
    /// finer than the draws of the permutation law.
    pub fn runs_needed(level: ConfidenceLevel) -> Option<u64> {
        needed(level, |runs| Labels::Choice { first: runs, all: 2 * runs })
    }

    /// The same of pairs.
    pub fn pairs_needed(level: ConfidenceLevel) -> Option<u64> {
        needed(level, Labels::Signs)
    }

    /// The ratio of the geometric trimmed means, baseline over candidate.
    pub fn estimate(&self) -> f64 {
        self.contrast.estimate().value.exp()
    }

    /// The p-value of the speedup being `ratio` against its being otherwise, greater or less.
    pub fn p_value(&self, ratio: f64, alternative: Alternative) -> PValue {
        let tails = self.contrast.tails(Hypothesis { factor: 1.0, shift: ratio.ln() });
        alternative.p_value(tails.lower, tails.upper)
    }

    /// The two-sided interval of the speedup; none where so few runs exclude nothing at this level.
    pub fn interval(&self, level: ConfidenceLevel) -> RatioInterval {
        let limits = self.contrast.limits(level.risk().get());
        interval(self.method, level, limits.map(|limits| limits.map(f64::exp)))
    }
}

/// The difference of trimmed means, baseline less candidate, in the unit of the values: where some are not positive.
///
/// ```
/// use speedup_statistics::inference::{Alternative, ConfidenceLevel};
/// use speedup_statistics::ratio::{TrimShare, TrimmedDifference, difference::CenterDifference};
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let baseline = Sample::new(vec![3.0, 4.0, 3.0, 5.0, 4.0, 3.0])?;
/// let candidate = Sample::new(vec![0.0, 1.0, 0.0, 0.0, 2.0, 0.0])?;
/// let faults = TrimmedDifference::within([(&baseline, &candidate, 1.0)], TrimShare::USUAL)?;
/// assert!((faults.estimate() - 19.0 / 6.0).abs() < 1e-12);
/// assert!(faults.interval(ConfidenceLevel::USUAL).bounded().is_some_and(|interval| interval.lower > 1.9));
/// // That the baseline has twice as many is rejected too.
/// assert!(faults.p_value(2.0, Alternative::Greater).get() < 0.01);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TrimmedDifference {
    contrast: Contrast,
    method: &'static str,
}

impl TrimmedDifference {
    /// The method's full name for independent runs.
    pub const NAME: &'static str =
        "difference of trimmed means, the wider of the studentised permutation interval and Yuen's t";
    /// The method's full name for pairs.
    pub const NAME_OF_PAIRS: &'static str = "trimmed mean of the differences within pairs, the wider of the studentised sign-flip interval and Yuen's t";

    /// The mean of the differences within strata, as [`TrimmedRatio::within`].
    ///
    /// # Errors
    /// [`RatioError`] for single runs, or no variation in what is left.
    pub fn within<'a>(
        strata: impl IntoIterator<Item = (&'a Sample, &'a Sample, f64)>,
        share: TrimShare,
    ) -> Result<Self, RatioError> {
        let strata: Vec<_> = strata.into_iter().collect();
        Ok(Self { contrast: apart(&strata, <[f64]>::to_vec, share)?, method: Self::NAME })
    }

    /// The difference within the pairs that two samples of one length are, in run order.
    ///
    /// # Errors
    /// As [`TrimmedDifference::within`], and for samples of different lengths.
    pub fn paired(baseline: &Sample, candidate: &Sample, share: TrimShare) -> Result<Self, RatioError> {
        Ok(Self {
            contrast: pairs([baseline, candidate], <[f64]>::to_vec, share)?,
            method: Self::NAME_OF_PAIRS,
        })
    }
}

impl CenterDifference for TrimmedDifference {
    fn estimate(&self) -> f64 {
        self.contrast.estimate().value
    }

    fn interval(&self, level: ConfidenceLevel) -> RatioInterval {
        interval(self.method, level, self.contrast.limits(level.risk().get()))
    }

    fn p_value(&self, factor: f64, alternative: Alternative) -> PValue {
        let tails = self.contrast.tails(Hypothesis { factor, shift: 0.0 });
        alternative.p_value(tails.lower, tails.upper)
    }
}

/// The contrast of independent samples on the scale that `scaled` takes values to.
fn apart(
    strata: &[(&Sample, &Sample, f64)],
    scaled: fn(&[f64]) -> Vec<f64>,
    share: TrimShare,
) -> Result<Contrast, RatioError> {
    let mut kept = Vec::new();
    let mut n = 0;
    let mut m = 0;
    for (baseline, candidate, weight) in strata {
        n = n.max(baseline.len());
        m = m.max(candidate.len());
        if baseline.len() < 2 || candidate.len() < 2 {
            continue;
        }
        let [baseline, candidate] = [baseline, candidate].map(|sample| scaled(sample.sorted()));
        kept.push(Stratum { weight: *weight, values: Values::Apart { baseline, candidate } });
    }
    if kept.is_empty() {
        return Err(RatioError::TooFew { n, m });
    }
    varying(kept, share)
}

/// The contrast of pairs on the scale that `scaled` takes values to.
fn pairs(
    samples: [&Sample; 2],
    scaled: fn(&[f64]) -> Vec<f64>,
    share: TrimShare,
) -> Result<Contrast, RatioError> {
    let [n, m] = samples.map(Sample::len);
    if n != m || n < 2 {
        return Err(RatioError::TooFew { n, m });
    }
    let [baseline, candidate] = samples.map(|sample| scaled(sample.in_run_order()));
    varying(vec![Stratum { weight: 1.0, values: Values::Pairs { baseline, candidate } }], share)
}

fn varying(mut strata: Vec<Stratum>, share: TrimShare) -> Result<Contrast, RatioError> {
    let all: f64 = strata.iter().map(|stratum| stratum.weight).sum();
    for stratum in &mut strata {
        stratum.weight /= all;
    }
    let contrast = Contrast::new(strata, share.get());
    if contrast.is_rounding() { Err(RatioError::EssentiallyConstant) } else { Ok(contrast) }
}

/// The fewest observations whose relabellings can reject with half of the risk on either side.
fn needed(level: ConfidenceLevel, labels: fn(usize) -> Labels) -> Option<u64> {
    let is_enough =
        |runs: &usize| Relabellings::new(vec![labels(*runs)]).finest() <= level.risk().get() / 2.0;
    (2..=MOST_NEEDED).find(is_enough).map(|runs| runs as u64)
}

/// With so many observations the law is by draws, which are no finer with more of them.
const MOST_NEEDED: usize = 20;

fn interval(method: &'static str, level: ConfidenceLevel, limits: Option<[f64; 2]>) -> RatioInterval {
    match limits {
        Some([lower, upper]) => {
            let caveats: Vec<Caveat> = Vec::new();
            RatioInterval::Bounded(Interval { method, lower, upper, level, caveats })
        }
        None => RatioInterval::Unbounded { method, level, reason: Unbounded::TooFewRuns },
    }
}

fn logarithms(times: &[f64]) -> Vec<f64> {
    times.iter().map(|time| time.ln()).collect()
}

#[cfg(test)]
mod tests;
