//! What the reference shows against itself, and which change a point finds.

use crate::{inference::ConfidenceLevel, sample::Sample, sample::SampleError, sample::SampleQuantile};
use serde::Serialize;
use thiserror::Error;

/// The noise floor of a benchmark, from controls: for each point the median over its blocks of the logarithm of reference over reference.
///
/// Both questions are answered by quantiles of the controls, whatever their law; it is supposed to be symmetric, as it is where the order within blocks is
/// drawn, and independent from point to point. What varies from build to build of a commit is not in it.
///
/// ```
/// use speedup_statistics::inference::ConfidenceLevel;
/// use speedup_statistics::track::NoiseFloor;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let controls: Vec<f64> = (0..100).map(|point| 0.0001 * f64::from((point * 37) % 101 - 50)).collect();
/// let floor = NoiseFloor::new(&controls)?;
/// // In 95 % of points the reference is within 0.48 % of itself.
/// assert!((floor.usual(ConfidenceLevel::USUAL).ratio - 1.0048).abs() < 0.0002);
/// // A verdict with that risk finds a change of 0.78 % in 80 % of points.
/// let smallest = floor.smallest_found(ConfidenceLevel::USUAL, 0.8)?;
/// assert!((smallest.ratio - 1.0078).abs() < 0.0003);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct NoiseFloor {
    sizes: Sample,
}

/// A ratio that is not below 1, with an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NoiseFloorInterval {
    /// The estimate.
    pub ratio: f64,
    /// The lower end at the confidence level.
    pub lower: f64,
    /// The upper end; infinite where it would take more points.
    pub upper: f64,
}

/// Why there is no noise floor.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NoiseFloorError {
    #[error("the controls of a benchmark give no noise floor")]
    Controls(#[source] SampleError),
    /// A power at which half of the changes are found in any case, or all must be.
    #[error("the power of a noise floor must be above 0.5 and below 1, not {0}")]
    Power(f64),
}

speedup_core::hints! { NoiseFloorError:
    Self::Controls(error) => error.hint(),
    Self::Power(_) => "0.8 and 0.9 are usual",
}

impl NoiseFloor {
    /// Of `controls`, one logarithm for each point.
    ///
    /// # Errors
    /// [`NoiseFloorError::Controls`] where there are none, or one is not finite.
    pub fn new(controls: &[f64]) -> Result<Self, NoiseFloorError> {
        let sizes = controls.iter().map(|control| control.abs()).collect();
        Ok(Self { sizes: Sample::new(sizes).map_err(NoiseFloorError::Controls)? })
    }

    /// Within which ratio the reference is of itself, in the share `level` of points; and its interval at the same level.
    pub fn usual(&self, level: ConfidenceLevel) -> NoiseFloorInterval {
        self.sum_of(&[level.get()], level)
    }

    /// The smallest ratio that a point tells from the reference with the probability `power`, if it takes for a change what the reference shows
    /// against itself in less than 1 − `level` of points; and its interval at the same level.
    ///
    /// With controls c symmetric about zero, a change δ is found if δ + c exceeds the quantile of |c| at the level: so δ is that and the quantile of c
    /// at the power, which is the one of |c| at 2·power − 1.
    ///
    /// # Errors
    /// [`NoiseFloorError::Power`] for a power that is not between ½ and 1.
    pub fn smallest_found(
        &self,
        level: ConfidenceLevel,
        power: f64,
    ) -> Result<NoiseFloorInterval, NoiseFloorError> {
        if !(power > 0.5 && power < 1.0) {
            return Err(NoiseFloorError::Power(power));
        }
        Ok(self.sum_of(&[level.get(), 2.0 * power - 1.0], level))
    }

    /// The sum of quantiles of the sizes; the risk of its interval is divided equally among their ends (Bonferroni).
    fn sum_of(&self, probabilities: &[f64], level: ConfidenceLevel) -> NoiseFloorInterval {
        let beyond = level.risk().get() / 2.0 / probabilities.len() as f64;
        let mut estimate = 0.0;
        let mut lower = 0.0;
        let mut upper = 0.0;
        for quantile in probabilities.iter().filter_map(|at| SampleQuantile::new(&self.sizes, *at)) {
            let [below, above] = quantile.ends(beyond);
            estimate += quantile.estimate();
            lower += below.value.max(0.0);
            upper += above.value;
        }
        let [ratio, lower, upper] = [estimate, lower, upper].map(libm::exp);
        NoiseFloorInterval { ratio, lower, upper }
    }
}
