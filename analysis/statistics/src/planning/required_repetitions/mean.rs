//! Runs for an interval of the mean.

use super::{
    Attainability, PlanningAssumption, RequiredError, RequiredRuns, checked_half_width, given_spread,
    relative_spread,
};
use crate::{distribution::student_t, inference::ConfidenceLevel, number::monotone_root, sample::Sample};
use serde::Serialize;

/// What a pilot says of the precision of a mean: its spread as a share of the mean.
///
/// ```
/// use speedup_statistics::inference::ConfidenceLevel;
/// use speedup_statistics::planning::required_repetitions::MeanPrecision;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // A run takes 100 ± 5; the mean is to be known to within 1 %.
/// let plan = MeanPrecision::from_moments(100.0, 5.0)?.required(0.01, ConfidenceLevel::USUAL, 1_000)?;
/// // t₉₈·5/√99 = 0.997, and one run less leaves 1.002.
/// assert_eq!(plan.reach.needed(), Some(99));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeanPrecision {
    relative_spread: f64,
    pilot: usize,
}

impl MeanPrecision {
    /// The method's full name.
    pub const NAME: &'static str = "runs for the t interval of the mean (iterated)";

    /// The relative spread of `pilot`.
    ///
    /// # Errors
    /// [`RequiredError`] for pilots of one run, without spread, or with observations that are not positive.
    pub fn new(pilot: &Sample) -> Result<Self, RequiredError> {
        Ok(Self { relative_spread: relative_spread(pilot)?, pilot: pilot.len() })
    }

    /// A mean and a standard deviation that are known from elsewhere, in one unit.
    ///
    /// # Errors
    /// [`RequiredError`] for a mean that is not positive, or a standard deviation that is none of it.
    pub fn from_moments(mean: f64, sd: f64) -> Result<Self, RequiredError> {
        Ok(Self { relative_spread: given_spread(mean, sd)?, pilot: 0 })
    }

    /// The half-width, as a share of the mean, of the t interval from `runs` ≥ 2 runs with this spread.
    pub fn relative_half_width(&self, runs: u64, level: ConfidenceLevel) -> f64 {
        let n = runs.max(2) as f64;
        student_t::two_sided_critical(level.risk().get(), n - 1.0) * self.relative_spread / n.sqrt()
    }

    /// The least n with t₍ₙ₋₁₎·s/(x̄√n) ≤ the half-width: the fixed point of the usual iteration, found by halving
    /// (Jain, The Art of Computer Systems Performance Analysis, §13.4.3 with t for z).
    ///
    /// # Errors
    /// [`RequiredError::HalfWidth`] unless 0 < `relative_half_width` < 1.
    pub fn required(
        &self,
        relative_half_width: f64,
        level: ConfidenceLevel,
        maximum: u64,
    ) -> Result<RequiredRuns, RequiredError> {
        let goal = checked_half_width(relative_half_width)?;
        let limit = maximum.max(self.pilot as u64);
        let needed = monotone_root::least_whole(2, limit, |n| self.relative_half_width(n, level) <= goal);
        Ok(RequiredRuns {
            method: Self::NAME,
            reach: Attainability::new(needed, self.pilot, maximum),
            level,
            power: None,
            assumptions: vec![
                PlanningAssumption::spread(self.pilot),
                PlanningAssumption::IndependentRuns,
                PlanningAssumption::NormalMeans,
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn moments_say_what_their_pilot_says(times in prop::collection::vec(1.0..2.0_f64, 3..40), goal in 0.001..0.2_f64) {
            let pilot = Sample::new(times).unwrap();
            let of_pilot = MeanPrecision::new(&pilot).unwrap();
            let of_moments =
                MeanPrecision::from_moments(pilot.mean(), pilot.standard_deviation().unwrap()).unwrap();
            let needed = |precision: MeanPrecision| {
                precision.required(goal, ConfidenceLevel::USUAL, 10_000_000).unwrap().reach.needed()
            };
            prop_assert_eq!(needed(of_pilot), needed(of_moments));
        }
    }

    #[test]
    fn moments_that_are_none_are_refused() {
        let refused = |mean, sd| MeanPrecision::from_moments(mean, sd).is_err();
        assert!(refused(0.0, 1.0) && refused(-1.0, 1.0) && refused(f64::NAN, 1.0));
        assert!(refused(f64::INFINITY, 1.0));
        assert!(refused(1.0, 0.0) && refused(1.0, -1.0) && refused(1.0, f64::NAN) && refused(1e-300, 1e300));
    }
}
