//! What a plan achieves in a given time, beside the design that repeats everything from the top (004 §8.5,
//! Table VIII).

use super::{LARGEST_TIME, PlanError, RepetitionPlan};
use crate::ConfidenceLevel;
use crate::distribution::student_t;
use serde::Serialize;

/// A plan with the repetitions of its highest level, and the interval to expect.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BudgetedPlan {
    /// The count of each level, the lowest first.
    pub repetitions: Vec<u64>,
    /// What it costs, in measurements; at most the budget.
    pub cost: f64,
    /// Half the width of the interval of the mean, in the unit of the observations.
    pub half_width: f64,
    /// The same relative to the mean; infinite if the pilot's mean is zero.
    pub relative_half_width: f64,
    /// The design of one level for the same budget, if that buys two observations.
    pub one_level: Option<OneLevelDesign>,
}

/// The usual design: every observation from a new unit of every level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OneLevelDesign {
    /// How many observations the budget buys.
    pub repetitions: u64,
    /// What they cost, in measurements.
    pub cost: f64,
    /// Half the width of the interval of the mean, in the unit of the observations.
    pub half_width: f64,
    /// The same relative to the mean; infinite if the pilot's mean is zero.
    pub relative_half_width: f64,
}

impl RepetitionPlan {
    /// The plan for a `budget` in measurements: the highest level as often as it allows, and the two-sided
    /// t interval at `level` to expect of the mean if the variances are as in the pilot.
    ///
    /// # Errors
    /// [`PlanError::Budget`] if the budget is none, [`PlanError::BudgetTooSmall`] if two units of the highest level cost more.
    pub fn within(&self, budget: f64, level: ConfidenceLevel) -> Result<BudgetedPlan, PlanError> {
        if !(0.0..=LARGEST_TIME).contains(&budget) {
            return Err(PlanError::Budget(budget));
        }
        let one = self.cost_with(1)?;
        let two = self.cost_with(2)?;
        let affordable = affordable(budget - one, two - one).saturating_add(1);
        if !(budget >= two && affordable >= 2) {
            return Err(PlanError::BudgetTooSmall { budget, needed: two });
        }
        let mut repetitions = self.repetitions.clone();
        repetitions[self.highest - 1] = affordable;
        let cost = self.costs.total(&repetitions)?;
        let variance = self.components.variance_of_mean(&repetitions);
        let half_width = half_width(affordable, variance, level);
        let relative_half_width = half_width / self.components.mean.abs();
        let one_level = self.one_level(budget, level);
        Ok(BudgetedPlan { repetitions, cost, half_width, relative_half_width, one_level })
    }

    fn cost_with(&self, highest: u64) -> Result<f64, PlanError> {
        let mut repetitions = self.repetitions.clone();
        repetitions[self.highest - 1] = highest;
        self.costs.total(&repetitions)
    }

    fn one_level(&self, budget: f64, level: ConfidenceLevel) -> Option<OneLevelDesign> {
        let each = 1.0 + self.costs.0.iter().sum::<f64>();
        let repetitions = affordable(budget, each);
        if repetitions < 2 {
            return None;
        }
        let variance = self.components.variances.iter().sum::<f64>() / repetitions as f64;
        let half_width = half_width(repetitions, variance, level);
        let relative_half_width = half_width / self.components.mean.abs();
        Some(OneLevelDesign { repetitions, cost: each * repetitions as f64, half_width, relative_half_width })
    }
}

/// How many units of cost `each` a budget buys.
fn affordable(budget: f64, each: f64) -> u64 {
    // A conversion to an integer saturates; a budget that is no number buys nothing.
    (budget / each).floor() as u64
}

fn half_width(units: u64, variance: f64, level: ConfidenceLevel) -> f64 {
    student_t::two_sided_critical(level.risk().get(), (units - 1) as f64) * variance.sqrt()
}
