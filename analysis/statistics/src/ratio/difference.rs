//! By how much a version's values are larger, in their unit: where they may be zero, so that no ratio can be formed.
//!
//! * [`QuantileDifference`], [`MeanDifference`], [`TrimmedDifference`](super::TrimmedDifference): of two samples, or of strata;
//! * [`PairedMedianDifference`], [`PairedMeanDifference`]: within pairs.
//!
//! Each is a [`CenterDifference`]. A hypothesis is still one on the ratio of the centres, told without a division: that the baseline's is so
//! many times the candidate's. So a margin means what it means of a ratio.

mod mean;
mod paired;
mod quantile;

pub use mean::MeanDifference;
pub use paired::{PairedMeanDifference, PairedMedianDifference};
pub use quantile::QuantileDifference;

use crate::inference::{Alternative, ConfidenceLevel, PValue, RatioInterval};

/// A difference of centres, baseline less candidate, with an interval and tests that agree: the interval leaves 0 out where the
/// two-sided test rejects the factor 1.
pub trait CenterDifference {
    fn estimate(&self) -> f64;
    /// The equal-tailed two-sided interval.
    fn interval(&self, level: ConfidenceLevel) -> RatioInterval;
    /// The p-value of the baseline's centre being `factor` times the candidate's, which is positive, against its being more or less.
    fn p_value(&self, factor: f64, alternative: Alternative) -> PValue;
    /// The p-value of a centre being more than 1 + `margin` times the other (Schuirmann 1987). Of centres that are shown to be 0 it is
    /// small, whatever the margin; centres below 0 are never the same.
    fn p_same(&self, margin: f64) -> PValue {
        let below = self.p_value(1.0 / (1.0 + margin), Alternative::Greater);
        let above = self.p_value(1.0 + margin, Alternative::Less);
        PValue::clamped(below.told().max(above.told()))
    }
}
