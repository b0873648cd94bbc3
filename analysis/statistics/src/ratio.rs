//! By how much a version is faster.
//!
//! * [`MeanRatio`], [`QuantileRatio`], [`MedianRatio`], [`PairedRatio`], [`PairedMedianRatio`]: on one benchmark, each a
//!   [`Speedup`];
//! * [`Overall`], [`SuiteRatio`]: on a set of them; [`RandomEffectsMean`]: on a typical one of them, and on a further one;
//!   [`SpeedupMeans`]: what others quote of one;
//! * [`difference`]: where values may be zero, so that there is no ratio.

pub(crate) mod contrast;
pub mod difference;
pub(crate) mod fieller;
pub(crate) mod mean;
mod median;
mod overall;
mod paired;
mod paired_median;
mod quantile;
mod random_effects_mean;
mod speedup_means;
mod suite;
mod trimmed;

pub use mean::{MeanRatio, RatioError};
pub use median::MedianRatio;
pub use overall::{BenchmarkWeights, Overall, SuiteError, SuiteMember, Summary};
pub use paired::PairedRatio;
pub use paired_median::PairedMedianRatio;
pub use quantile::QuantileRatio;
pub use random_effects_mean::{HeterogeneityEstimator, LogEffect, RandomEffectsError, RandomEffectsMean};
pub use speedup_means::{SpeedupMeans, SpeedupMeansError};
pub use suite::{Clusters, SuiteRatio, SuiteRatioError};
pub use trimmed::{TrimShare, TrimShareError, TrimmedDifference, TrimmedRatio};

use crate::inference::{Alternative, ConfidenceLevel, PValue, RatioInterval};

/// A speedup that is estimated, with an interval and a test that agree: the two-sided test rejects what lies outside.
pub trait Speedup {
    /// The estimate, baseline over candidate.
    fn estimate(&self) -> f64;
    /// The equal-tailed two-sided interval.
    fn interval(&self, level: ConfidenceLevel) -> RatioInterval;
    /// The p-value of the speedup being `ratio`.
    fn p_value(&self, ratio: f64, alternative: Alternative) -> PValue;
}

macro_rules! speedups {
    ($($ratio:ty),*) => {$(
        impl Speedup for $ratio {
            fn estimate(&self) -> f64 {
                self.estimate()
            }

            fn interval(&self, level: ConfidenceLevel) -> RatioInterval {
                self.interval(level)
            }

            fn p_value(&self, ratio: f64, alternative: Alternative) -> PValue {
                self.p_value(ratio, alternative)
            }
        }
    )*};
}
speedups!(MeanRatio, QuantileRatio<'_>, PairedRatio, PairedMedianRatio, SuiteRatio, TrimmedRatio);
