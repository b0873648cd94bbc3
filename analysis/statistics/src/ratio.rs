//! By how much a version is faster.
//!
//! * [`MeanRatio`], [`QuantileRatio`], [`MedianRatio`], [`PairedRatio`]: on one benchmark;
//! * [`Overall`], [`SuiteRatio`]: on a set of them; [`RandomEffectsMean`]: on a typical one of them, and on a further one;
//!   [`SpeedupMeans`]: what others quote of one.

pub(crate) mod fieller;
pub(crate) mod mean;
mod median;
mod overall;
mod paired;
mod quantile;
mod random_effects_mean;
mod speedup_means;
mod suite;

pub use mean::{MeanRatio, RatioError};
pub use median::MedianRatio;
pub use overall::{BenchmarkWeights, Overall, SuiteError, SuiteMember, Summary};
pub use paired::PairedRatio;
pub use quantile::QuantileRatio;
pub use random_effects_mean::{HeterogeneityEstimator, LogEffect, RandomEffectsError, RandomEffectsMean};
pub use speedup_means::{SpeedupMeans, SpeedupMeansError};
pub use suite::{Clusters, SuiteRatio, SuiteRatioError};
