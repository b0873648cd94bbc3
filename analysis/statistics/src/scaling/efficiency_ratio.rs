//! Whether a version scales better than another.

use super::ScalingEffect;
use crate::inference::{ConfidenceLevel, Interval, RatioInterval, Unbounded};
use crate::ratio::RatioError;

/// The ratio of two versions' efficiencies at one number of hosts, candidate over baseline: above 1 the candidate loses less of what more hosts could
/// bring, whichever of the two is faster.
///
/// Of two independent ratios of means, each with Fieller's interval, the limits of the ratio are recovered from the distances between the logarithms of
/// estimates and ends (MOVER: G. Y. Zou and A. Donner, Construction of confidence limits about effect measures, Statistics in Medicine 27, 2008; the same authors' Closed-form confidence intervals for
/// functions of the normal mean and standard deviation, 2012). The intervals of all numbers of hosts hold together, as those of [`ScalingEffect`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EfficiencyRatio {
    baseline: ScalingEffect,
    candidate: ScalingEffect,
}

impl EfficiencyRatio {
    /// The method's full name.
    pub const NAME: &'static str =
        "MOVER of two Fieller intervals of ratios of means, on logarithms, simultaneous (Bonferroni)";

    /// The ratio at one number of hosts; none if it is another number for each version, or beside another fewest number.
    pub fn new(baseline: ScalingEffect, candidate: ScalingEffect) -> Option<Self> {
        let is_same = |of: fn(&ScalingEffect) -> f64| of(&baseline) == of(&candidate);
        let is_beside_the_same =
            baseline.hosts == candidate.hosts && is_same(|one| one.factor) && is_same(|one| one.ideal);
        is_beside_the_same.then_some(Self { baseline, candidate })
    }

    /// The number of hosts.
    pub fn hosts(&self) -> u32 {
        self.baseline.hosts
    }

    /// The candidate's efficiency over the baseline's.
    ///
    /// # Errors
    /// [`RatioError`] if either has none.
    pub fn estimate(&self) -> Result<f64, RatioError> {
        Ok(self.candidate.efficiency()? / self.baseline.efficiency()?)
    }

    /// The simultaneous interval of the ratio.
    ///
    /// # Errors
    /// As [`EfficiencyRatio::estimate`].
    pub fn interval(&self, level: ConfidenceLevel) -> Result<RatioInterval, RatioError> {
        let baseline = Logarithms::new(&self.baseline, level)?;
        let candidate = Logarithms::new(&self.candidate, level)?;
        Ok(match (baseline, candidate) {
            (Ok(below), Ok(above)) => {
                let center = above.estimate - below.estimate;
                let lower = libm::exp(center - above.down.hypot(below.up));
                let upper = libm::exp(center + above.up.hypot(below.down));
                RatioInterval::Bounded(Interval {
                    method: Self::NAME,
                    lower,
                    upper,
                    level,
                    caveats: Vec::new(),
                })
            }
            (Err(reason), _) | (_, Err(reason)) => {
                RatioInterval::Unbounded { method: Self::NAME, level, reason }
            }
        })
    }
}

/// The logarithm of an efficiency, and how far the ends of its interval are from it.
struct Logarithms {
    estimate: f64,
    down: f64,
    up: f64,
}

impl Logarithms {
    fn new(effect: &ScalingEffect, level: ConfidenceLevel) -> Result<Result<Self, Unbounded>, RatioError> {
        let efficiency = effect.efficiency()?;
        Ok(match effect.efficiency_interval(level)? {
            RatioInterval::Bounded(Interval { lower, upper, .. }) if lower > 0.0 => Ok(Self {
                estimate: libm::log(efficiency),
                down: libm::log(efficiency / lower),
                up: libm::log(upper / efficiency),
            }),
            RatioInterval::Bounded(_) => Err(Unbounded::DenominatorNearZero),
            RatioInterval::Unbounded { reason, .. } => Err(reason),
        })
    }
}
