//! The speedup by trimmed means of the logarithms of times: the typical run, without the tenth of the runs at either end.
//!
//! A trimmed mean is nearly as sharp as the mean where times are normal, and rare stalls do not move it as they move the mean. On the
//! logarithms it is of a ratio, so that exchanging the versions inverts it. p-value, interval and estimate are of one statistic: see
//! `contrast`.

mod contrast;
mod power;
mod relabelling;

pub(crate) use self::contrast::trimmed_mean;
use self::contrast::{Contrast, Estimate, Hypothesis, Stratum, Values};
pub use self::power::TrimmedPower;
use self::relabelling::{Labels, Relabellings};
use super::difference::CenterDifference;
use crate::inference::{
    Alternative, Caveat, ConfidenceLevel, Interval, PValue, RatioInterval, Risk, Unbounded,
};
use crate::ratio::{LogEffect, RatioError, mean::require_positive};
use crate::sample::Sample;
use serde::Serialize;
use thiserror::Error;

/// The share of a sample that is left out at each end, at most a quarter.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct TrimShare(f64);

/// A trimmed mean with its squared error by the winsorised variance (Yuen 1974).
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrimmedMean {
    pub(crate) value: f64,
    pub(crate) squared_error: f64,
    /// The observations that are not left out.
    pub(crate) left: f64,
}

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
    /// Nothing is left out: the trimmed mean is the mean.
    pub const NONE: Self = Self(0.0);

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

    /// The largest share that is a whole number of `fewest` observations, and at most this one.
    #[must_use]
    pub fn whole(self, fewest: usize) -> Self {
        let fewest = fewest as f64;
        Self((self.0 * fewest + 1e-9).floor() / fewest)
    }

    /// The trimmed mean of a sample, in its unit. It loses the share that is a whole number of `fewest` observations, those of the smallest
    /// sample that it is compared with.
    pub fn mean_of(self, sample: &Sample, fewest: usize) -> f64 {
        trimmed_mean(sample.sorted(), self.whole(fewest).0).value
    }

    /// The trimmed means of samples, each of two observations or more. All lose the same share, a whole number of the smallest.
    pub(crate) fn estimates(self, samples: &[&Sample]) -> Vec<TrimmedMean> {
        let Self(share) = self.whole(samples.iter().map(|sample| sample.len()).min().unwrap_or(1));
        samples.iter().map(|sample| trimmed_mean(sample.sorted(), share)).collect()
    }

    /// The geometric trimmed mean of positive times, in their unit, likewise: of two samples the ratio is that of [`TrimmedRatio::new`].
    pub fn time_of(self, times: &Sample, fewest: usize) -> f64 {
        trimmed_mean(&logarithms(times.sorted()), self.whole(fewest).0).value.exp()
    }

    /// How much less the candidate's geometric trimmed mean is than the baseline's, in the unit of the times.
    pub fn saved(self, baseline: &Sample, candidate: &Sample) -> f64 {
        let fewest = baseline.len().min(candidate.len());
        self.time_of(baseline, fewest) - self.time_of(candidate, fewest)
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

    /// The same, with draws enough for p-values that are compared with `risk`, two-sided: a family's least, as Holm's risk/66 of 65
    /// benchmarks and their total. They are enough for 0.001 in any case. A p-value of more than a few times the least has the same digits either way. An
    /// interval at a smaller risk draws for that.
    #[must_use]
    pub fn compared_at(self, risk: Risk) -> Self {
        Self { contrast: self.contrast.with_finest(risk.get() / 2.0), ..self }
    }

    /// Runs of each version that it takes for an interval at this level where `share` is left out, whatever the times are; none where no
    /// number of draws reaches it.
    pub fn runs_needed(level: ConfidenceLevel, share: TrimShare) -> Option<u64> {
        needed(level, share, |runs| Labels::Choice { first: runs, all: 2 * runs })
    }

    /// The same of pairs.
    pub fn pairs_needed(level: ConfidenceLevel, share: TrimShare) -> Option<u64> {
        needed(level, share, Labels::Signs)
    }

    /// The ratio of the geometric trimmed means, baseline over candidate.
    pub fn estimate(&self) -> f64 {
        self.contrast.estimate().value.exp()
    }

    /// The logarithm of the ratio, with its error by the winsorised variances (Yuen 1974).
    pub fn log_effect(&self) -> LogEffect {
        let Estimate { value, squared_error } = self.contrast.estimate();
        LogEffect { estimate: value, variance: squared_error, df: self.contrast.df() }
    }

    /// The p-value of the speedup being `ratio` against its being otherwise, greater or less.
    pub fn p_value(&self, ratio: f64, alternative: Alternative) -> PValue {
        let tails = self.contrast.tails(Hypothesis { factor: 1.0, shift: ratio.ln() });
        alternative.p_value(tails.lower, tails.upper)
    }

    /// What the test finds with such numbers of runs, if the spread is the observed one.
    pub fn power(&self) -> TrimmedPower {
        self.contrast.power()
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

    /// As [`TrimmedRatio::compared_at`].
    #[must_use]
    pub fn compared_at(self, risk: Risk) -> Self {
        Self { contrast: self.contrast.with_finest(risk.get() / 2.0), ..self }
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
    let contrast = Contrast::new(strata, share);
    if contrast.is_rounding() { Err(RatioError::EssentiallyConstant) } else { Ok(contrast) }
}

/// The fewest observations whose relabellings can reject with half of the risk on either side.
fn needed(level: ConfidenceLevel, share: TrimShare, labels: fn(usize) -> Labels) -> Option<u64> {
    let is_enough = |runs: &usize| {
        let labels = labels(*runs);
        let cut = (share.whole(*runs).0 * *runs as f64).round() as usize;
        let finest = Relabellings::new(vec![labels], String::new()).finest(labels.hidden([cut; 2]));
        finest <= level.risk().get() / 2.0
    };
    (2..=MOST_NEEDED).find(is_enough).map(|runs| runs as u64)
}

/// So many reach any level that differs from 1.
const MOST_NEEDED: usize = 30;

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
