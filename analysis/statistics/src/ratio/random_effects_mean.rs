//! The typical speedup: the random-effects mean of the logarithms of speedups, and the interval of a further benchmark's.
//!
//! Benchmarks differ in their speedups by more than their runs explain. If they were drawn from a population whose log speedups
//! scatter with variance τ², then the mean of these is the typical log speedup, and a further benchmark's lies about it with
//! τ² besides the error of the mean (DerSimonian and Laird, Meta-analysis in clinical trials, 1986; Higgins, Thompson and
//! Spiegelhalter, A re-evaluation of random-effects meta-analysis, JRSS A 172, 2009). The error of the mean is that of Knapp
//! and Hartung (Improved tests for a random effects meta-regression with a single covariate, Statistics in Medicine 22, 2003),
//! with Student's t, which keeps its level with few benchmarks. All of it as in R's metafor: `rma(yi, vi, method, test =
//! "knha")` and its `predict`.

use crate::inference::{ConfidenceLevel, Interval};
use crate::{distribution::student_t, number::rounding::CompensatedSum};
use thiserror::Error;

/// The estimate of a benchmark's log speedup, with its variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogEffect {
    /// The logarithm of the speedup.
    pub estimate: f64,
    /// The squared standard error of that.
    pub variance: f64,
}

/// How the variance τ² between benchmarks is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeterogeneityEstimator {
    /// By moments: DerSimonian and Laird's.
    DerSimonianLaird,
    /// By restricted maximum likelihood.
    Reml,
}

/// Why there is no typical speedup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RandomEffectsError {
    /// One benchmark has nothing to be typical of.
    #[error("a typical speedup needs at least two benchmarks, but there are {0}")]
    TooFew(usize),
    /// An estimate is not a number, or a variance not positive.
    #[error("benchmark {number} has no error that is known, so it has no weight")]
    NoVariance {
        /// Its place in the suite, from 1.
        number: usize,
    },
}

speedup_core::hints! { RandomEffectsError: Self::NoVariance { .. } => "leave it out, or measure it again" }

/// The mean of log speedups of benchmarks that differ.
///
/// ```
/// use speedup_statistics::inference::ConfidenceLevel;
/// use speedup_statistics::ratio::{HeterogeneityEstimator, LogEffect, RandomEffectsMean};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let speedups = [1.10_f64, 1.32, 1.05, 1.21];
/// let effects = speedups.map(|speedup| LogEffect { estimate: speedup.ln(), variance: 1e-4 });
/// let typical = RandomEffectsMean::new(&effects, HeterogeneityEstimator::Reml)?;
/// assert!((typical.mean().exp() - 1.165).abs() < 0.005);
/// // A further benchmark may be slower, although the typical one is not.
/// assert!(typical.prediction(ConfidenceLevel::USUAL).lower < typical.interval(ConfidenceLevel::USUAL).lower);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RandomEffectsMean {
    benchmarks: usize,
    tau_squared: f64,
    mean: f64,
    /// The squared standard error of the mean: Knapp and Hartung's.
    variance: f64,
    typical_variance: f64,
}

/// Steps of Fisher's scoring, of which a dozen do.
const STEPS: usize = 1000;

impl RandomEffectsMean {
    /// The method's full name.
    pub const NAME: &'static str = "random-effects mean of log ratios (REML, Knapp and Hartung)";

    /// The mean of `effects`, of which there must be two or more, each with a positive variance.
    ///
    /// # Errors
    /// [`RandomEffectsError`].
    pub fn new(effects: &[LogEffect], estimator: HeterogeneityEstimator) -> Result<Self, RandomEffectsError> {
        let k = effects.len();
        if k < 2 {
            return Err(RandomEffectsError::TooFew(k));
        }
        let is_unknown = |effect: &LogEffect| {
            !(effect.estimate.is_finite() && effect.variance > 0.0 && effect.variance.is_finite())
        };
        if let Some(place) = effects.iter().position(is_unknown) {
            return Err(RandomEffectsError::NoVariance { number: place + 1 });
        }
        let fixed = Weighted::new(effects, 0.0);
        let df = (k - 1) as f64;
        let by_moments = ((fixed.residual - df) / (fixed.sum - fixed.squares / fixed.sum)).max(0.0);
        let tau_squared = match estimator {
            HeterogeneityEstimator::DerSimonianLaird => by_moments,
            HeterogeneityEstimator::Reml => reml(effects),
        };
        let weighted = Weighted::new(effects, tau_squared);
        Ok(Self {
            benchmarks: k,
            tau_squared,
            mean: weighted.mean,
            variance: weighted.residual / df / weighted.sum,
            // Higgins and Thompson's: the error that a benchmark has as a rule (Statistics in Medicine 21, 2002, eq. 9).
            typical_variance: df / (fixed.sum - fixed.squares / fixed.sum),
        })
    }

    /// The mean log speedup: its exponential is the typical speedup.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// τ², the variance of the log speedups between benchmarks.
    pub fn tau_squared(&self) -> f64 {
        self.tau_squared
    }

    /// The share of the scatter of the observed log speedups that is of the benchmarks and not of the runs, I², from 0 to 1.
    pub fn heterogeneity(&self) -> f64 {
        self.tau_squared / (self.tau_squared + self.typical_variance)
    }

    /// The standard error of the mean: Knapp and Hartung's.
    pub fn standard_error(&self) -> f64 {
        self.variance.sqrt()
    }

    /// The equal-tailed interval of the mean log speedup: Knapp and Hartung's, by Student's t.
    pub fn interval(&self, level: ConfidenceLevel) -> Interval {
        self.about(Self::NAME, self.t(level) * self.standard_error(), level)
    }

    /// The interval in which the true log speedup of a further benchmark of the population lies with probability `level`.
    pub fn prediction(&self, level: ConfidenceLevel) -> Interval {
        let spread = (self.tau_squared + self.variance).sqrt();
        self.about("prediction interval of a further benchmark (Student's t)", self.t(level) * spread, level)
    }

    fn about(&self, method: &'static str, half_width: f64, level: ConfidenceLevel) -> Interval {
        let (lower, upper) = (self.mean - half_width, self.mean + half_width);
        Interval { method, lower, upper, level, caveats: Vec::new() }
    }

    fn df(&self) -> f64 {
        (self.benchmarks - 1) as f64
    }

    fn t(&self, level: ConfidenceLevel) -> f64 {
        student_t::two_sided_critical(level.risk().get(), self.df())
    }
}

/// Sums over the benchmarks by the weights 1/(v + τ²).
struct Weighted {
    /// Σ w.
    sum: f64,
    /// Σ w².
    squares: f64,
    /// Σ w³.
    cubes: f64,
    mean: f64,
    /// Σ w (y − μ)².
    residual: f64,
    /// Σ w² (y − μ)².
    squared_residual: f64,
}

impl Weighted {
    fn new(effects: &[LogEffect], tau_squared: f64) -> Self {
        let over = |of: &dyn Fn(f64, f64) -> f64| {
            CompensatedSum::of(effects.iter().map(|one| of(1.0 / (one.variance + tau_squared), one.estimate)))
        };
        let sum = over(&|w, _| w);
        let mean = over(&|w, y| w * y) / sum;
        Self {
            sum,
            squares: over(&|w, _| w * w),
            cubes: over(&|w, _| w * w * w),
            mean,
            residual: over(&|w, y| w * (y - mean) * (y - mean)),
            squared_residual: over(&|w, y| w * w * (y - mean) * (y - mean)),
        }
    }
}

/// τ² of the greatest restricted likelihood, by Fisher's scoring from Hedges' estimate, as R's metafor looks for it.
fn reml(effects: &[LogEffect]) -> f64 {
    let k = effects.len() as f64;
    let mean = CompensatedSum::of(effects.iter().map(|one| one.estimate)) / k;
    let scatter = CompensatedSum::of(effects.iter().map(|one| (one.estimate - mean).powi(2))) / (k - 1.0);
    let error = CompensatedSum::of(effects.iter().map(|one| one.variance)) / k;
    let least = effects.iter().map(|one| one.variance).fold(f64::INFINITY, f64::min);
    let mut tau_squared = (scatter - error).max(0.0);
    for _ in 0..STEPS {
        let at = Weighted::new(effects, tau_squared);
        let trace = at.sum - at.squares / at.sum;
        let information = at.squares - 2.0 * at.cubes / at.sum + (at.squares / at.sum).powi(2);
        let next = (tau_squared + (at.squared_residual - trace) / information).max(0.0);
        let step = (next - tau_squared).abs();
        tau_squared = next;
        if step <= 1e-14 * (tau_squared + least) {
            break;
        }
    }
    tau_squared
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_has_no_weight_is_refused() {
        let one = LogEffect { estimate: 0.1, variance: 0.01 };
        let new = |effects: &[LogEffect]| RandomEffectsMean::new(effects, HeterogeneityEstimator::Reml);
        assert_eq!(new(&[one]), Err(RandomEffectsError::TooFew(1)));
        let without = LogEffect { variance: 0.0, ..one };
        assert_eq!(new(&[one, without]), Err(RandomEffectsError::NoVariance { number: 2 }));
        let nowhere = LogEffect { estimate: f64::NAN, ..one };
        assert_eq!(new(&[nowhere, one]), Err(RandomEffectsError::NoVariance { number: 1 }));
    }

    #[test]
    fn equal_effects_have_no_scatter() {
        let effects = [LogEffect { estimate: 0.2, variance: 0.01 }; 5];
        for estimator in [HeterogeneityEstimator::DerSimonianLaird, HeterogeneityEstimator::Reml] {
            let typical = RandomEffectsMean::new(&effects, estimator).unwrap();
            assert_eq!((typical.tau_squared(), typical.heterogeneity()), (0.0, 0.0));
            assert!((typical.mean() - 0.2).abs() < 1e-15);
        }
    }

    proptest! {
        /// No τ² near by has a greater restricted likelihood.
        #[test]
        fn the_likelihood_is_greatest_there(
            effects in prop::collection::vec((-1.0..1.0_f64, 1e-4..0.1_f64), 3..30)
        ) {
            let of = |(estimate, variance): &(f64, f64)| LogEffect { estimate: *estimate, variance: *variance };
            let effects: Vec<LogEffect> = effects.iter().map(of).collect();
            let likelihood = |tau_squared: f64| {
                let at = Weighted::new(&effects, tau_squared);
                let logs: f64 = effects.iter().map(|one| (one.variance + tau_squared).ln()).sum();
                -0.5 * (logs + at.sum.ln() + at.residual)
            };
            let best = reml(&effects);
            let here = likelihood(best);
            for factor in [0.8, 0.95, 1.05, 1.2] {
                prop_assert!(likelihood(best * factor) <= here + 1e-9, "{best} {factor}");
            }
        }
    }
}
