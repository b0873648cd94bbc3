//! Runs for an interval of the median.

use super::{Attainability, PlanningAssumption, RequiredError, RequiredRuns, checked_half_width};
use crate::{distribution::normal, inference::ConfidenceLevel, sample::Sample};
use std::f64::consts::PI;

/// What a pilot says of the precision of a median.
///
/// The interval between order statistics has the half-width z·s/(2√n), s = 1/f the sparsity at the median (Mood,
/// Graybill & Boes, Introduction to the Theory of Statistics, §XI.2). The sparsity is the slope of the pilot's
/// quantiles, (Q(½ + h) − Q(½ − h))/2h, over Hall and Sheather's bandwidth h (JRSS B 50, 1988).
///
/// ```
/// use speedup_statistics::inference::ConfidenceLevel;
/// use speedup_statistics::planning::required_repetitions::{Attainability, MedianPrecision};
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pilot = Sample::new(vec![10.3, 9.8, 10.1, 10.0, 10.4, 9.7, 10.2])?;
/// let plan = MedianPrecision::new(&pilot)?.required(0.2, ConfidenceLevel::USUAL, 1_000)?;
/// // Fewer than six runs have no interval of the median at 95 %, however wide: 2·2⁻⁵ > 0.05.
/// assert_eq!(plan.reach, Attainability::PilotSuffices { needed: 6, pilot: 7 });
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct MedianPrecision {
    pilot: Sample,
}

/// Fewer runs have no quantiles beside the median.
const SMALLEST_PILOT: usize = 5;
/// The bandwidth must leave the quantiles inside the pilot.
const WIDEST_BANDWIDTH: f64 = 0.45;

impl MedianPrecision {
    /// The method's full name.
    pub const NAME: &'static str =
        "runs for the order-statistic interval of the median (sparsity with Hall and Sheather's bandwidth)";

    /// Of the quantiles of `pilot`.
    ///
    /// # Errors
    /// [`RequiredError`] for pilots below five runs or with observations that are not positive.
    pub fn new(pilot: &Sample) -> Result<Self, RequiredError> {
        if pilot.len() < SMALLEST_PILOT {
            return Err(RequiredError::SmallPilot { runs: pilot.len(), needed: SMALLEST_PILOT });
        }
        pilot
            .not_positive()
            .map_or_else(|| Ok(Self { pilot: pilot.clone() }), |least| Err(RequiredError::NotPositive(least)))
    }

    /// The sparsity as a share of the median, or a refusal where the runs around it are all equal.
    fn relative_sparsity(&self, z: f64) -> Result<f64, RequiredError> {
        // n^(−1/3) z^(2/3) (3/2 · φ(0)²)^(1/3): their h at the median, where the quantile of the normal is zero.
        let h = (z * z * 1.5 / (2.0 * PI) / self.pilot.len() as f64).cbrt().min(WIDEST_BANDWIDTH);
        let quantile = |p| self.pilot.quantile(p).unwrap_or(f64::NAN);
        let sparsity = (quantile(0.5 + h) - quantile(0.5 - h)) / (2.0 * h) / self.pilot.median();
        if sparsity > 0.0 && sparsity.is_finite() { Ok(sparsity) } else { Err(RequiredError::ConstantPilot) }
    }

    /// The runs for this half-width, and at least as many as give order statistics this level: 2·2⁻ⁿ ≤ 1 − level.
    ///
    /// # Errors
    /// [`RequiredError`] unless 0 < `relative_half_width` < 1, or when the middle of the pilot does not vary.
    pub fn required(
        &self,
        relative_half_width: f64,
        level: ConfidenceLevel,
        maximum: u64,
    ) -> Result<RequiredRuns, RequiredError> {
        let goal = checked_half_width(relative_half_width)?;
        let z = normal::two_sided_critical(level.risk().get());
        let runs = (z * self.relative_sparsity(z)? / (2.0 * goal)).powi(2).ceil();
        let fewest = 1.0 - level.risk().get().log2();
        let needed = runs.max(fewest.ceil());
        let countable = (needed <= u64::MAX as f64).then_some(needed as u64);
        Ok(RequiredRuns {
            method: Self::NAME,
            reach: Attainability::new(countable, self.pilot.len(), maximum),
            level,
            power: None,
            assumptions: vec![
                PlanningAssumption::SpreadOfPilot { runs: self.pilot.len() as u64 },
                PlanningAssumption::IndependentRuns,
                PlanningAssumption::ManyRuns,
            ],
        })
    }
}
