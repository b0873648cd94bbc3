//! Runs for an interval of the speedup of the mean.

use super::{
    Attainability, PlanningAssumption, RequiredError, RequiredRuns, checked_half_width, given_spread,
    relative_spread,
};
use crate::ratio::mean::require_positive;
use crate::{distribution::student_t, inference::ConfidenceLevel, number::monotone_root, sample::Sample};
use serde::Serialize;

/// What a pilot of both versions says of the precision of the ratio of their means.
///
/// ```
/// use speedup_statistics::inference::ConfidenceLevel;
/// use speedup_statistics::planning::required_repetitions::RatioPrecision;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Runs of both versions take 100 ± 5; the speedup is to be known to within 1 %.
/// let precision = RatioPrecision::from_moments(100.0, 5.0)?;
/// let plan = precision.required(0.01, ConfidenceLevel::USUAL, 1_000)?;
/// let needed = plan.reach.needed().ok_or("a thousand runs suffice")?;
/// assert!(precision.relative_half_width(needed, ConfidenceLevel::USUAL) <= 0.01);
/// assert!(precision.relative_half_width(needed - 1, ConfidenceLevel::USUAL) > 0.01);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RatioPrecision {
    baseline_spread: f64,
    candidate_spread: f64,
    pilot: usize,
}

impl RatioPrecision {
    /// The method's full name.
    pub const NAME: &'static str = "runs for the Fieller interval of the ratio of means (iterated)";

    /// The relative spreads of both versions; a version without spread is taken to have none.
    ///
    /// # Errors
    /// [`RequiredError`] for a version with one run or times that are not positive, or when neither varies.
    pub fn new(baseline: &Sample, candidate: &Sample) -> Result<Self, RequiredError> {
        require_positive(baseline, candidate).map_err(RequiredError::Ratio)?;
        let spread = |sample: &Sample| match relative_spread(sample) {
            Err(RequiredError::ConstantPilot) => Ok(0.0),
            other => other,
        };
        let baseline_spread = spread(baseline)?;
        let candidate_spread = spread(candidate)?;
        if baseline_spread == 0.0 && candidate_spread == 0.0 {
            return Err(RequiredError::ConstantPilot);
        }
        Ok(Self { baseline_spread, candidate_spread, pilot: baseline.len().min(candidate.len()) })
    }

    /// A mean and a standard deviation that are known from elsewhere, the relative spread of both versions.
    ///
    /// # Errors
    /// [`RequiredError`] for a mean that is not positive, or a standard deviation that is none of it.
    pub fn from_moments(mean: f64, sd: f64) -> Result<Self, RequiredError> {
        let spread = given_spread(mean, sd)?;
        Ok(Self { baseline_spread: spread, candidate_spread: spread, pilot: 0 })
    }

    /// Half the width of [`crate::ratio::MeanRatio`]'s interval from `runs` ≥ 2 runs of each version, as a share of the
    /// ratio: t√(a + b − t²ab)/(1 − t²b), a and b the squared relative errors; infinite while it has no ends.
    pub fn relative_half_width(&self, runs: u64, level: ConfidenceLevel) -> f64 {
        let n = runs.max(2) as f64;
        let total = self.baseline_spread.hypot(self.candidate_spread);
        let shares = [self.baseline_spread, self.candidate_spread].map(|s| (s / total).powi(2));
        // Satterthwaite's for one size: between n − 1 and 2(n − 1).
        let df = (n - 1.0) / (shares[0] * shares[0] + shares[1] * shares[1]);
        let t = student_t::two_sided_critical(level.risk().get(), df);
        let [a, b] = [self.baseline_spread, self.candidate_spread].map(|s| (t * s / n.sqrt()).powi(2));
        if b < 1.0 { (a + b - a * b).max(0.0).sqrt() / (1.0 - b) } else { f64::INFINITY }
    }

    /// The least number of runs of each version with which the interval is as narrow as asked for.
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
                PlanningAssumption::EqualRuns,
            ],
        })
    }
}
