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
pub use random_effects_mean::{RandomEffectsError, RandomEffectsMean};
pub use speedup_means::{SpeedupMeans, SpeedupMeansError};
pub use suite::{Clusters, SuiteRatio, SuiteRatioError};
pub(crate) use trimmed::trimmed_mean;
pub use trimmed::{TrimShare, TrimShareError, TrimmedDifference, TrimmedPower, TrimmedRatio};

use crate::distribution::{Tails, normal};
use crate::inference::{Alternative, ConfidenceLevel, PValue, RatioInterval};

/// A speedup that is estimated, with an interval and a test that agree: the two-sided test rejects what lies outside.
pub trait Speedup {
    /// The estimate, baseline over candidate.
    fn estimate(&self) -> f64;
    /// The equal-tailed two-sided interval.
    fn interval(&self, level: ConfidenceLevel) -> RatioInterval;
    /// The p-value of the speedup being `ratio`.
    fn p_value(&self, ratio: f64, alternative: Alternative) -> PValue;

    /// About the smallest speedup above 1 that samples with such numbers of runs and such a spread show with the probability `power`: by
    /// the width of the interval, as of a normal estimate. `None` where the interval has no ends above 0, or no width.
    fn smallest_shown(&self, level: ConfidenceLevel, power: f64) -> Option<f64> {
        let interval = self.interval(level);
        let interval =
            interval.bounded().filter(|interval| 0.0 < interval.lower && interval.lower < interval.upper)?;
        let critical = normal::two_sided_critical(level.risk().get());
        let beyond = normal::quantile(Tails::from_lower(power));
        let half_width = (interval.upper / interval.lower).ln() / 2.0;
        Some((half_width * (1.0 + beyond / critical)).exp())
    }
    /// The logarithm of the estimate with its estimated error.
    fn log_effect(&self) -> LogEffect;
}

/// The logarithm of a speedup, with the error that is estimated from the runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogEffect {
    pub estimate: f64,
    /// The squared standard error of the estimate.
    pub variance: f64,
    /// The degrees of freedom of that error.
    pub df: f64,
}

/// Hands what the types have on to the trait, and takes `own` methods in the place of those that it provides.
macro_rules! speedups {
    ($($ratio:ty { $($own:item)? })*) => {$(
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

            fn log_effect(&self) -> LogEffect {
                self.log_effect()
            }

            $($own)?
        }
    )*};
}
speedups! {
    MeanRatio {}
    QuantileRatio<'_> {}
    PairedRatio {}
    PairedMedianRatio {}
    SuiteRatio {}
    TrimmedRatio {
        fn smallest_shown(&self, level: ConfidenceLevel, power: f64) -> Option<f64> {
            self.power().smallest(level.risk(), power)
        }
    }
}
