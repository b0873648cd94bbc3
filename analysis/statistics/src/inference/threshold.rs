//! Whether a difference is of a size that matters.
//!
//! Kalibera 2012 §4.2: who cares only about differences above δ concludes that two versions differ when the whole
//! interval of the ratio lies beyond 1 ∓ δ. That they do not differ by more is a conclusion of its own, drawn
//! only when the whole interval lies within; anything else means that the data do not decide.

use crate::inference::RatioInterval;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The least relative difference of the times that matters, δ in [0, 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Threshold(f64);

/// A threshold out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("a threshold must be at least 0 and below 1, not {0}")]
pub struct ThresholdError(f64);

speedup_core::hints! { ThresholdError: _ => "3 % is written 0.03" }

speedup_core::words! {
    /// What an interval says of the candidate.
    ///
    /// ```
    /// use speedup_statistics::inference::{Threshold, ThresholdDecision};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // Less than 3 % does not matter.
    /// let threshold = Threshold::new(0.03)?;
    /// let decision = |interval| ThresholdDecision::from_speedup_between(interval, threshold);
    /// assert_eq!(decision((1.05, 1.20)), ThresholdDecision::Faster);
    /// assert_eq!(decision((0.99, 1.02)), ThresholdDecision::WithinThreshold);
    /// assert_eq!(decision((1.01, 1.20)), ThresholdDecision::NotEnoughData);
    /// # Ok(())
    /// # }
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ThresholdDecision {
        /// Its times are below 1 − δ of the baseline's.
        Faster = "faster",
        /// Its times are above 1 + δ of the baseline's.
        Slower = "slower",
        /// Its times are within ±δ of the baseline's.
        WithinThreshold = "within_threshold",
        /// The interval reaches over a threshold, or has no ends.
        NotEnoughData = "not_enough_data",
    }
    /// A short name that stays the same between releases.
    fn code;
}

impl Threshold {
    /// Any difference matters.
    pub const NONE: Self = Self(0.0);

    /// The threshold δ, a fraction: 0.03 for 3 %.
    ///
    /// # Errors
    /// [`ThresholdError`] unless 0 ≤ `delta` < 1.
    pub fn new(delta: f64) -> Result<Self, ThresholdError> {
        if (0.0..1.0).contains(&delta) { Ok(Self(delta)) } else { Err(ThresholdError(delta)) }
    }

    /// δ as a fraction.
    pub fn get(self) -> f64 {
        self.0
    }

    /// Whether any difference matters.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// The speedup of a candidate that is slower by exactly δ, 1/(1 + δ).
    pub fn slowest(self) -> f64 {
        1.0 / (1.0 + self.0)
    }
}

impl TryFrom<f64> for Threshold {
    type Error = ThresholdError;

    fn try_from(delta: f64) -> Result<Self, ThresholdError> {
        Self::new(delta)
    }
}

impl From<Threshold> for f64 {
    fn from(threshold: Threshold) -> Self {
        threshold.0
    }
}

impl ThresholdDecision {
    /// The decision by an interval of the ratio of times, candidate over baseline.
    pub fn from_time_ratio(interval: &RatioInterval, threshold: Threshold) -> Self {
        let least = 1.0 - threshold.0;
        let most = 1.0 + threshold.0;
        interval.bounded().map_or(Self::NotEnoughData, |interval| {
            Self::between((interval.lower, interval.upper), least, most, Self::Faster, Self::Slower)
        })
    }

    /// The decision by an interval of the speedup, baseline over candidate. The threshold is still one of
    /// times: 1/(1 + δ) to 1/(1 − δ) as a speedup.
    pub fn from_speedup(interval: &RatioInterval, threshold: Threshold) -> Self {
        interval.bounded().map_or(Self::NotEnoughData, |interval| {
            Self::from_speedup_between((interval.lower, interval.upper), threshold)
        })
    }

    /// The same by the two ends of the interval.
    pub fn from_speedup_between(ends: (f64, f64), threshold: Threshold) -> Self {
        let least = 1.0 / (1.0 + threshold.0);
        let most = 1.0 / (1.0 - threshold.0);
        Self::between(ends, least, most, Self::Slower, Self::Faster)
    }

    fn between((lower, upper): (f64, f64), least: f64, most: f64, below: Self, above: Self) -> Self {
        if upper < least {
            below
        } else if lower > most {
            above
        } else if least <= lower && upper <= most {
            Self::WithinThreshold
        } else {
            Self::NotEnoughData
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::{ConfidenceLevel, Interval, Unbounded};

    fn interval(lower: f64, upper: f64) -> RatioInterval {
        let method = "given";
        let level = ConfidenceLevel::USUAL;
        let caveats = Vec::new();
        RatioInterval::Bounded(Interval { method, lower, upper, level, caveats })
    }

    #[test]
    fn only_the_whole_interval_decides() {
        let threshold = Threshold::new(0.03).unwrap();
        for (lower, upper, decision) in [
            (0.90, 0.96, ThresholdDecision::Faster),
            (0.90, 0.98, ThresholdDecision::NotEnoughData),
            (0.98, 1.02, ThresholdDecision::WithinThreshold),
            (0.98, 1.04, ThresholdDecision::NotEnoughData),
            (1.01, 1.04, ThresholdDecision::NotEnoughData),
            (1.04, 1.20, ThresholdDecision::Slower),
        ] {
            assert_eq!(ThresholdDecision::from_time_ratio(&interval(lower, upper), threshold), decision);
            let speedup = interval(1.0 / upper, 1.0 / lower);
            assert_eq!(ThresholdDecision::from_speedup(&speedup, threshold), decision);
        }
        let unbounded = RatioInterval::Unbounded {
            method: "given",
            level: ConfidenceLevel::USUAL,
            reason: Unbounded::NoRatioExcluded,
        };
        assert_eq!(
            ThresholdDecision::from_time_ratio(&unbounded, threshold),
            ThresholdDecision::NotEnoughData
        );
    }

    #[test]
    fn without_a_threshold_sameness_is_never_shown() {
        assert_eq!(
            ThresholdDecision::from_time_ratio(&interval(0.999, 1.001), Threshold::NONE),
            ThresholdDecision::NotEnoughData
        );
        for delta in [-0.1, 1.0, f64::NAN] {
            assert!(Threshold::new(delta).is_err());
        }
    }
}
