//! What a number of hosts brings beside the fewest.

use crate::inference::{ConfidenceLevel, Interval, RatioInterval, Unbounded};
use crate::ratio::{MeanRatio, RatioError};

/// Speedup, efficiency and serial fraction at one number of hosts, each a monotone function of one ratio of mean times.
///
/// The intervals of all effects of a curve hold together at the level asked for: each takes an equal part of the risk (Bonferroni), since the times
/// on the fewest hosts are in all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScalingEffect {
    pub(super) hosts: u32,
    /// p = k/k₁.
    pub(super) factor: f64,
    /// The ideal time here in that on the fewest hosts.
    pub(super) ideal: f64,
    /// The number of effects of the curve.
    pub(super) family: usize,
    /// T₁/T.
    pub(super) ratio: Result<MeanRatio, RatioError>,
}

impl ScalingEffect {
    /// The method's full name.
    pub const NAME: &'static str = "Fieller interval of the ratio of means (Satterthwaite degrees of freedom), simultaneous (Bonferroni)";

    /// The number of hosts.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// E, 1 if each host is as fast as those of the fewest.
    ///
    /// # Errors
    /// [`RatioError`] for times that have no ratio, the fewest hosts as the baseline and these as the candidate.
    pub fn efficiency(&self) -> Result<f64, RatioError> {
        self.ratio.map(|ratio| self.ideal * ratio.estimate())
    }

    /// The simultaneous interval of the efficiency.
    ///
    /// # Errors
    /// As [`ScalingEffect::efficiency`].
    pub fn efficiency_interval(&self, level: ConfidenceLevel) -> Result<RatioInterval, RatioError> {
        let of_one = ConfidenceLevel::achieved(level.risk().get() / self.family as f64);
        Ok(match self.ratio?.interval(of_one) {
            RatioInterval::Bounded(Interval { lower, upper, caveats, .. }) => {
                let [lower, upper] = [lower, upper].map(|end| self.ideal * end);
                RatioInterval::Bounded(Interval { method: Self::NAME, lower, upper, level, caveats })
            }
            RatioInterval::Unbounded { reason, .. } => {
                RatioInterval::Unbounded { method: Self::NAME, level, reason }
            }
        })
    }

    /// p·E: how many times as much work is done in a time as on the fewest hosts. For weak scaling this is the scaled speedup.
    ///
    /// # Errors
    /// As [`ScalingEffect::efficiency`].
    pub fn speedup(&self) -> Result<f64, RatioError> {
        self.efficiency().map(|efficiency| self.factor * efficiency)
    }

    /// The simultaneous interval of the speedup.
    ///
    /// # Errors
    /// As [`ScalingEffect::efficiency`].
    pub fn speedup_interval(&self, level: ConfidenceLevel) -> Result<RatioInterval, RatioError> {
        let times_factor = |[lower, upper]: [f64; 2]| Ok([self.factor * lower, self.factor * upper]);
        self.efficiency_interval(level).map(|interval| interval.with_ends(times_factor))
    }

    /// The experimentally determined serial fraction, (1/S − 1/p)/(1 − 1/p) with S the speedup (A. H. Karp and H. P. Flatt, Measuring parallel processor
    /// performance, CACM 33, 1990). Where it grows with the hosts, something other than serial work takes time; it is negative where the speedup exceeds p.
    ///
    /// # Errors
    /// As [`ScalingEffect::efficiency`].
    pub fn serial_fraction(&self) -> Result<f64, RatioError> {
        self.efficiency().map(|efficiency| self.fraction_at(efficiency))
    }

    /// The simultaneous interval of the serial fraction.
    ///
    /// # Errors
    /// As [`ScalingEffect::efficiency`].
    pub fn serial_fraction_interval(&self, level: ConfidenceLevel) -> Result<RatioInterval, RatioError> {
        let at_ends = |[lower, upper]: [f64; 2]| match lower > 0.0 {
            true => Ok([self.fraction_at(upper), self.fraction_at(lower)]),
            false => Err(Unbounded::DenominatorNearZero),
        };
        self.efficiency_interval(level).map(|interval| interval.with_ends(at_ends))
    }

    /// With S = p·E Karp and Flatt's fraction is (1/E − 1)/(p − 1).
    fn fraction_at(&self, efficiency: f64) -> f64 {
        (1.0 / efficiency - 1.0) / (self.factor - 1.0)
    }
}
