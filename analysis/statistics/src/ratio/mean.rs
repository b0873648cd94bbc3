//! The speedup of the mean, with Fieller's interval.
//!
//! θ = μₓ/μᵧ is in the interval exactly when a t test does not reject μₓ − θμᵧ = 0. Kalibera 2012 §7.3.2 (lemma 7.7,
//! eq. 12) gives the ends; for two independent samples the covariance is zero. Kalibera 2012 takes n − 1 degrees of
//! freedom for balanced experiments; here the samples may differ in size and variance, so they are
//! Satterthwaite's at the estimated ratio (Dilba et al. 2007), which for one size and one variance lie
//! between n − 1 and 2(n − 1); or those of the smaller sample, as with few runs against many Satterthwaite's are too many.

use crate::inference::{Alternative, Caveat, ConfidenceLevel, Interval, PValue, RatioInterval, Side};
use crate::ratio::{LogEffect, fieller, fieller::Estimate};
use crate::{distribution::student_t, sample::Sample, test::t_test::satterthwaite};
use serde::Serialize;
use thiserror::Error;

/// The ratio of the means of two independent samples of positive numbers, baseline over candidate.
///
/// ```
/// use speedup_statistics::inference::{Alternative, ConfidenceLevel};
/// use speedup_statistics::ratio::MeanRatio;
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let baseline = Sample::new(vec![2.799, 2.046, 1.259, 1.877, 2.244])?;
/// let candidate = Sample::new(vec![1.046, 0.259, 0.877, 1.244, 1.799])?;
/// let speedup = MeanRatio::new(&baseline, &candidate)?;
/// // Touati 2010 §6.3.2, benchmark 2.
/// assert!((speedup.estimate() - 1.957).abs() < 5e-4);
/// let interval = speedup.interval(ConfidenceLevel::USUAL);
/// let interval = interval.bounded().ok_or("the candidate's mean is not near zero")?;
/// // The interval ends where the test rejects.
/// assert!((speedup.p_value(interval.lower, Alternative::TwoSided).get() - 0.05).abs() < 1e-9);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeanRatio {
    baseline_mean: f64,
    candidate_mean: f64,
    /// Squared standard error of each mean.
    baseline_error: f64,
    candidate_error: f64,
    df: f64,
    /// Those of the smaller sample.
    smaller_df: f64,
    method: &'static str,
}

/// Why a ratio of two samples has no interval.
#[derive(Clone, Copy, Debug, PartialEq, Error, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RatioError {
    #[error("a speedup is a ratio of positive numbers, and the {} has {value}", side.name())]
    NotPositive {
        /// The sample.
        side: Side,
        /// Its smallest observation.
        value: f64,
    },
    #[error("the error of a mean needs at least 2 runs of each version, but there are {n} and {m}")]
    TooFew { n: usize, m: usize },
    #[error("all runs of each version took the same time, so the ratio has no error")]
    Constant,
    /// The observations do not vary beyond the rounding of their means.
    #[error("the runs of each version took the same time but for rounding, so the ratio has no error")]
    EssentiallyConstant,
}

speedup_core::hints! { RatioError:
    Self::TooFew { .. } => "plan more runs",
    Self::Constant => "use a finer clock",
    Self::EssentiallyConstant => "use a finer clock or a longer run",
}

/// Refuses samples that have no ratio.
pub(crate) fn require_positive(baseline: &Sample, candidate: &Sample) -> Result<(), RatioError> {
    for (side, sample) in [(Side::Baseline, baseline), (Side::Candidate, candidate)] {
        if let Some(value) = sample.not_positive() {
            return Err(RatioError::NotPositive { side, value });
        }
    }
    Ok(())
}

impl MeanRatio {
    /// The method's full name.
    pub const NAME: &'static str =
        "Fieller interval of the ratio of means (Satterthwaite degrees of freedom)";
    /// The method's full name with the degrees of freedom of the smaller sample.
    pub const NAME_BY_SMALLER_SIDE: &'static str =
        "Fieller interval of the ratio of means (degrees of freedom of the version with fewer runs)";

    /// The ratio of the means of `baseline` and `candidate`.
    ///
    /// # Errors
    /// [`RatioError`] for times that are not positive, single runs, or no variation beyond rounding.
    pub fn new(baseline: &Sample, candidate: &Sample) -> Result<Self, RatioError> {
        require_positive(baseline, candidate)?;
        let n = baseline.len();
        let m = candidate.len();
        let (Some(vx), Some(vy)) = (baseline.variance(), candidate.variance()) else {
            return Err(RatioError::TooFew { n, m });
        };
        if vx == 0.0 && vy == 0.0 {
            return Err(RatioError::Constant);
        }
        let above = Estimate { mean: baseline.mean(), squared_error: vx / n as f64 };
        let below = Estimate { mean: candidate.mean(), squared_error: vy / m as f64 };
        if fieller::is_rounding(above, below) {
            return Err(RatioError::EssentiallyConstant);
        }
        let ((x, _), (y, _)) = (above.in_own_unit(), below.in_own_unit());
        let ratio = x.mean / y.mean;
        Ok(Self {
            baseline_mean: above.mean,
            candidate_mean: below.mean,
            baseline_error: above.squared_error,
            candidate_error: below.squared_error,
            df: satterthwaite(x.squared_error, n, ratio * ratio * y.squared_error, m),
            smaller_df: (n.min(m) - 1) as f64,
            method: Self::NAME,
        })
    }

    /// The same with the degrees of freedom of the smaller sample, min(n, m) − 1, which keeps the level of normal times with few runs of one
    /// version against many of the other.
    #[must_use]
    pub fn by_smaller_side(self) -> Self {
        Self { df: self.smaller_df, method: Self::NAME_BY_SMALLER_SIDE, ..self }
    }

    /// The observed speedup of the mean, x̄/ȳ (Touati 2010 §3.1).
    pub fn estimate(&self) -> f64 {
        self.baseline_mean / self.candidate_mean
    }

    /// The p-value of the speedup being `ratio` against its being otherwise, greater or less.
    pub fn p_value(&self, ratio: f64, alternative: Alternative) -> PValue {
        let [baseline, candidate] = self.estimates();
        let tails = student_t::tails(fieller::statistic(baseline, candidate, ratio), self.df);
        alternative.p_value(tails.lower, tails.upper)
    }

    /// The two-sided interval of the speedup; unbounded when the candidate's mean cannot be told from zero.
    pub fn interval(&self, level: ConfidenceLevel) -> RatioInterval {
        let t = student_t::two_sided_critical(level.risk().get(), self.df);
        let [baseline, candidate] = self.estimates();
        let interval = match fieller::limits(baseline, candidate, t) {
            Ok([lower, upper]) => {
                let caveats: Vec<Caveat> = Vec::new();
                RatioInterval::Bounded(Interval { method: self.method, lower, upper, level, caveats })
            }
            Err(reason) => RatioInterval::Unbounded { method: self.method, level, reason },
        };
        interval.cut_at_zero()
    }

    /// The logarithm of the ratio, with its error by the delta method.
    pub fn log_effect(&self) -> LogEffect {
        let variance = self.estimates().iter().map(|estimate| estimate.relative()).sum();
        LogEffect { estimate: self.estimate().ln(), variance, df: self.df }
    }

    fn estimates(&self) -> [Estimate; 2] {
        [
            Estimate { mean: self.baseline_mean, squared_error: self.baseline_error },
            Estimate { mean: self.candidate_mean, squared_error: self.candidate_error },
        ]
    }
}
