//! Runs to find a speedup.

use super::{Attainability, PlanningAssumption, RequiredError, RequiredRuns, given_spread, relative_spread};
use crate::distribution::{Tails, normal};
use crate::inference::{Alternative, ConfidenceLevel};
use crate::planning::power::{Group, PowerError, Rejections, WelchPower};
use crate::{number::monotone_root, ratio::mean::require_positive, sample::Sample, test::RankSumStatistic};
use serde::Serialize;

/// What is to be found, and how surely.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SpeedupGoal {
    /// The true speedup, baseline time over candidate time.
    pub speedup: f64,
    /// The alternative of the test, said of the baseline's times against the candidate's.
    pub alternative: Alternative,
    /// The confidence level of the test.
    pub level: ConfidenceLevel,
    /// The probability of finding it.
    pub power: f64,
    /// The most runs of each version that may be made.
    pub maximum: u64,
}

/// What a pilot says of the power of Welch's test.
///
/// ```
/// use speedup_statistics::inference::{Alternative, ConfidenceLevel};
/// use speedup_statistics::planning::required_repetitions::{SpeedupGoal, WelchDetection};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (alternative, level) = (Alternative::Greater, ConfidenceLevel::USUAL);
/// let goal = SpeedupGoal { speedup: 1.05, alternative, level, power: 0.9, maximum: 1_000 };
/// // A run of the baseline takes 100 ± 5.
/// let detection = WelchDetection::from_moments(100.0, 5.0)?;
/// let needed = detection.required(&goal)?.reach.needed().ok_or("a thousand runs suffice")?;
/// assert!(detection.power(needed, &goal)? >= 0.9 && detection.power(needed - 1, &goal)? < 0.9);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WelchDetection {
    baseline_spread: f64,
    candidate_spread: Option<f64>,
    pilot: usize,
}

/// What a pilot says of the power of the rank-sum test.
///
/// ```
/// use speedup_statistics::inference::{Alternative, ConfidenceLevel};
/// use speedup_statistics::planning::required_repetitions::{RankSumDetection, SpeedupGoal};
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (alternative, level) = (Alternative::Greater, ConfidenceLevel::USUAL);
/// let goal = SpeedupGoal { speedup: 2.0, alternative, level, power: 0.9, maximum: 1_000 };
/// let detection = RankSumDetection::new(&Sample::new(vec![10.0, 11.0, 12.0])?, None)?;
/// // Every run is slower than any of half the time: (1.645 + 1.282)²/6(1 − ½)² = 5.7.
/// assert_eq!(detection.probability_greater(2.0)?, 1.0);
/// assert_eq!(detection.required(&goal)?.reach.needed(), Some(6));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RankSumDetection {
    baseline: Sample,
    candidate: Option<Sample>,
}

impl SpeedupGoal {
    pub(super) fn check(&self) -> Result<(), RequiredError> {
        if !(self.speedup > 0.0 && self.speedup.is_finite() && self.speedup != 1.0) {
            return Err(RequiredError::Speedup(self.speedup));
        }
        if !(self.power > 0.0 && self.power < 1.0) {
            return Err(RequiredError::Power(PowerError::Power { power: self.power }));
        }
        // A test that looks for the other side finds this with no number of runs.
        let difference = 1.0 - 1.0 / self.speedup;
        if self.alternative.directed(difference) <= 0.0 {
            return Err(RequiredError::Power(PowerError::NothingToFind { difference }));
        }
        Ok(())
    }

    /// The risk on the side where the difference is.
    fn risk_of_side(&self) -> f64 {
        match self.alternative {
            Alternative::TwoSided => self.level.risk().get() / 2.0,
            Alternative::Greater | Alternative::Less => self.level.risk().get(),
        }
    }
}

impl WelchDetection {
    /// The method's full name.
    pub const NAME: &'static str = "runs for Welch's t test to find a speedup (noncentral t)";

    /// From a pilot of the baseline, and of the candidate if there is one.
    ///
    /// # Errors
    /// [`RequiredError`] for pilots of one run, without spread, or with times that are not positive.
    pub fn new(baseline: &Sample, candidate: Option<&Sample>) -> Result<Self, RequiredError> {
        let pilot = candidate.map_or(baseline.len(), |candidate| candidate.len().min(baseline.len()));
        Ok(Self {
            baseline_spread: relative_spread(baseline)?,
            candidate_spread: candidate.map(relative_spread).transpose()?,
            pilot,
        })
    }

    /// A mean and a standard deviation of the baseline that are known from elsewhere, in one unit.
    ///
    /// # Errors
    /// [`RequiredError`] for a mean that is not positive, or a standard deviation that is none of it.
    pub fn from_moments(mean: f64, sd: f64) -> Result<Self, RequiredError> {
        Ok(Self { baseline_spread: given_spread(mean, sd)?, candidate_spread: None, pilot: 0 })
    }

    /// The power of `runs` ≥ 2 runs of each version.
    ///
    /// # Errors
    /// [`RequiredError`] for a goal out of range.
    pub fn power(&self, runs: u64, goal: &SpeedupGoal) -> Result<f64, RequiredError> {
        goal.check()?;
        self.power_of(runs, goal).map_err(RequiredError::Power)
    }

    /// Times are in units of the baseline's mean: it is 1, the candidate's 1/δ.
    fn power_of(&self, runs: u64, goal: &SpeedupGoal) -> Result<f64, PowerError> {
        let runs = runs.max(2) as f64;
        let candidate_spread = self.candidate_spread.unwrap_or(self.baseline_spread);
        let baseline = Group { runs, sd: self.baseline_spread };
        let candidate = Group { runs, sd: candidate_spread / goal.speedup };
        let test = WelchPower {
            alternative: goal.alternative,
            rejections: Rejections::OnTheTrueSide,
            risk: goal.level.risk(),
        };
        test.power(baseline, candidate, 1.0 - 1.0 / goal.speedup)
    }

    /// The least number of runs of each version with the power asked for.
    ///
    /// # Errors
    /// [`RequiredError`] for a goal out of range.
    pub fn required(&self, goal: &SpeedupGoal) -> Result<RequiredRuns, RequiredError> {
        self.power(2, goal)?;
        let limit = goal.maximum.max(self.pilot as u64).min(crate::planning::power::MOST_RUNS as u64);
        let enough = |n| self.power_of(n, goal).is_ok_and(|power| power >= goal.power);
        let needed = monotone_root::least_whole(2, limit, enough);
        let mut assumptions = vec![
            PlanningAssumption::spread(self.pilot),
            PlanningAssumption::IndependentRuns,
            PlanningAssumption::NormalMeans,
            PlanningAssumption::EqualRuns,
        ];
        if self.candidate_spread.is_none() {
            assumptions.push(PlanningAssumption::SameRelativeSpread);
        }
        Ok(RequiredRuns {
            method: Self::NAME,
            reach: Attainability::new(needed, self.pilot, goal.maximum),
            level: goal.level,
            power: Some(goal.power),
            assumptions,
        })
    }
}

impl RankSumDetection {
    /// The method's full name.
    pub const NAME: &'static str = "runs for the rank-sum test to find a speedup (Noether)";

    /// From a pilot of the baseline, and of the candidate if there is one.
    ///
    /// # Errors
    /// [`RequiredError`] for pilots of one run, without spread, or with times that are not positive.
    pub fn new(baseline: &Sample, candidate: Option<&Sample>) -> Result<Self, RequiredError> {
        relative_spread(baseline)?;
        if let Some(candidate) = candidate {
            require_positive(baseline, candidate).map_err(RequiredError::Ratio)?;
            relative_spread(candidate)?;
        }
        Ok(Self { baseline: baseline.clone(), candidate: candidate.cloned() })
    }

    /// The estimate of `P[X > Y]` + ½ `P[X = Y]` if the medians have the ratio `speedup`: over the pairs of the pilot,
    /// the candidate's times scaled. Without a pilot of the candidate, over pairs of different runs of the baseline.
    ///
    /// # Errors
    /// [`RequiredError::Speedup`] when the scaled times are not times any more.
    pub fn probability_greater(&self, speedup: f64) -> Result<f64, RequiredError> {
        let (model, factor) = match &self.candidate {
            Some(candidate) => (candidate, self.baseline.median() / candidate.median() / speedup),
            None => (&self.baseline, 1.0 / speedup),
        };
        let scaled = Sample::new(model.in_run_order().iter().map(|time| time * factor).collect());
        let scaled = scaled.map_err(|_| RequiredError::Speedup(speedup))?;
        if scaled.min() <= 0.0 {
            return Err(RequiredError::Speedup(speedup));
        }
        let w = RankSumStatistic::new(&self.baseline, &scaled).w();
        let n = self.baseline.len() as f64;
        let m = scaled.len() as f64;
        if self.candidate.is_some() {
            return Ok(w / (n * m));
        }
        // A run against itself made faster is no pair of independent runs.
        let own = self.baseline.in_run_order().iter().zip(scaled.in_run_order());
        let with_itself: f64 = own
            .map(|(x, y)| {
                if x > y {
                    1.0
                } else if x < y {
                    0.0
                } else {
                    0.5
                }
            })
            .sum();
        Ok((w - with_itself) / (n * (n - 1.0)))
    }

    /// The runs of each version by Noether's formula (JASA 82, 1987, eq. 3.2) for two samples of one size, (z + z′)²/6(p −
    /// ½)², and at least as many as let an exact test reject at all: C(2n, n)⁻¹ ≤ the risk of a side.
    ///
    /// # Errors
    /// [`RequiredError`] for a goal out of range.
    pub fn required(&self, goal: &SpeedupGoal) -> Result<RequiredRuns, RequiredError> {
        goal.check()?;
        let risk = goal.risk_of_side();
        let z = normal::quantile(Tails::from_upper(risk)) + normal::quantile(Tails::from_lower(goal.power));
        let p = self.probability_greater(goal.speedup)?;
        let shift = if goal.speedup > 1.0 { p - 0.5 } else { 0.5 - p };
        let by_formula = (z.max(0.0) / shift).powi(2) / 6.0;
        let runs = if shift > 0.0 { by_formula.ceil() } else { f64::INFINITY };
        let log_orders = |n: f64| libm::lgamma(2.0 * n + 1.0) - 2.0 * libm::lgamma(n + 1.0);
        let fewest = monotone_root::least_whole(1, MOST_TO_REJECT, |n| log_orders(n as f64) >= -risk.ln());
        let needed = fewest.map_or(f64::INFINITY, |fewest| runs.max(fewest as f64));
        let countable = (needed < u64::MAX as f64).then_some(needed as u64);
        let pilot = self.candidate.as_ref().map_or(self.baseline.len(), |c| c.len().min(self.baseline.len()));
        Ok(RequiredRuns {
            method: Self::NAME,
            reach: Attainability::new(countable, pilot, goal.maximum),
            level: goal.level,
            power: Some(goal.power),
            assumptions: vec![
                PlanningAssumption::SpreadOfPilot { runs: pilot as u64 },
                PlanningAssumption::IndependentRuns,
                PlanningAssumption::EqualRuns,
                PlanningAssumption::ScaleShift,
                PlanningAssumption::ManyRuns,
            ],
        })
    }
}

/// C(2n, n) of this many runs exceeds the reciprocal of any risk that is a double.
const MOST_TO_REJECT: u64 = 1_000;
