//! What a plan achieves in a given time, beside the design that repeats everything from the top (Kalibera 2012 §8.5,
//! Table VIII).

use super::LARGEST_TIME;
use crate::planning::{RepetitionPlan, RepetitionPlanError};
use crate::{distribution::student_t, inference::ConfidenceLevel};
use serde::Serialize;

/// A plan with the repetitions of its highest level, and the interval to expect.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BudgetedPlan {
    /// The count of each level, the lowest first.
    pub repetitions: Vec<u64>,
    /// Whether counts are below the optimal ones, with which two units of the highest level would cost more than the
    /// budget.
    pub lowered: bool,
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
    /// t interval at `level` to expect of the mean if the variances are as in the pilot. Where the optimal counts leave no
    /// room for two units, the lower counts with which the interval is narrowest.
    ///
    /// # Errors
    /// [`RepetitionPlanError::Budget`] if the budget is none, [`RepetitionPlanError::BudgetTooSmall`] if two units of the highest level cost
    /// more whatever the counts below.
    pub fn within(&self, budget: f64, level: ConfidenceLevel) -> Result<BudgetedPlan, RepetitionPlanError> {
        if !(0.0..=LARGEST_TIME).contains(&budget) {
            return Err(RepetitionPlanError::Budget(budget));
        }
        let optimal = self.most_within(self.repetitions.clone(), self.highest - 1, budget)?;
        let lowered = optimal[self.highest - 1] < 2;
        let repetitions = if lowered { self.lowered(budget, level)? } else { optimal };
        let cost = self.costs.total(&repetitions)?;
        let half_width = self.half_width_of(&repetitions, level);
        let relative_half_width = half_width / self.components.mean.abs();
        let one_level = self.one_level(budget, level);
        Ok(BudgetedPlan { repetitions, lowered, cost, half_width, relative_half_width, one_level })
    }

    /// These `repetitions` with as many at the position `at` as the budget allows; one if it allows none.
    fn most_within(
        &self,
        mut repetitions: Vec<u64>,
        at: usize,
        budget: f64,
    ) -> Result<Vec<u64>, RepetitionPlanError> {
        let mut cost_with = |count| {
            repetitions[at] = count;
            self.costs.total(&repetitions)
        };
        let one = cost_with(1)?;
        let two = cost_with(2)?;
        repetitions[at] =
            if budget >= two { affordable(budget - one, two - one).saturating_add(1) } else { 1 };
        Ok(repetitions)
    }

    /// The narrowest interval with counts below the optimal ones: for each number of units of the highest level, the
    /// lowest levels are cut first, whose repetition gains least.
    fn lowered(&self, budget: f64, level: ConfidenceLevel) -> Result<Vec<u64>, RepetitionPlanError> {
        let mut least = vec![1; self.repetitions.len()];
        least[self.highest - 1] = 2;
        let needed = self.costs.total(&least)?;
        let mut best: Option<(f64, Vec<u64>)> = None;
        for units in 2..=MOST_UNITS_TRIED {
            let mut repetitions = self.repetitions.clone();
            repetitions[self.highest - 1] = units;
            for at in 0..self.highest - 1 {
                if self.costs.total(&repetitions)? > budget {
                    let most = repetitions[at];
                    repetitions = self.most_within(repetitions, at, budget)?;
                    repetitions[at] = repetitions[at].min(most);
                }
            }
            if self.costs.total(&repetitions)? > budget {
                break;
            }
            let half_width = self.half_width_of(&repetitions, level);
            if best.as_ref().is_none_or(|(narrowest, _)| half_width < *narrowest) {
                best = Some((half_width, repetitions));
            }
        }
        best.map(|(_, repetitions)| repetitions).ok_or(RepetitionPlanError::BudgetTooSmall { budget, needed })
    }

    fn half_width_of(&self, repetitions: &[u64], level: ConfidenceLevel) -> f64 {
        half_width(repetitions[self.highest - 1], self.components.variance_of_mean(repetitions), level)
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

/// From so many units on, the t value hardly falls any more; two did not fit with the optimal counts, so few do at all.
const MOST_UNITS_TRIED: u64 = 100;

/// How many units of cost `each` a budget buys.
fn affordable(budget: f64, each: f64) -> u64 {
    // A conversion to an integer saturates; a budget that is no number buys nothing.
    (budget / each).floor() as u64
}

fn half_width(units: u64, variance: f64, level: ConfidenceLevel) -> f64 {
    student_t::two_sided_critical(level.risk().get(), (units - 1) as f64) * variance.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planning::{Costs, VarianceComponents};

    fn plan(variances: [f64; 3], costs: [f64; 2]) -> RepetitionPlan {
        let components = VarianceComponents::new(10.0, variances.to_vec()).unwrap();
        RepetitionPlan::new(components, Costs::new(costs.to_vec()).unwrap()).unwrap()
    }

    /// 2000 measurements by formula in each of two units do not fit, and fewer do.
    #[test]
    fn a_budget_for_two_smaller_units_buys_an_interval() {
        let components = VarianceComponents::new(10.0, vec![4.0, 0.0001]).unwrap();
        let plan = RepetitionPlan::new(components, Costs::new(vec![100.0]).unwrap()).unwrap();
        assert_eq!(plan.repetitions(), [2000]);
        let within = plan.within(1000.0, ConfidenceLevel::USUAL).unwrap();
        assert!(within.lowered && within.cost <= 1000.0 && within.repetitions[1] >= 2, "{within:?}");
        // Each design of so many units, by itself.
        let narrowest = (2..=9_u64).map(|units| {
            let each = ((1000 / units).saturating_sub(100)).max(1);
            half_width(units, 4.0 / (each * units) as f64 + 0.0001 / units as f64, ConfidenceLevel::USUAL)
        });
        let narrowest = narrowest.fold(f64::INFINITY, f64::min);
        assert!((within.half_width / narrowest - 1.0).abs() < 1e-12, "{within:?}, {narrowest}");
        assert!(within.half_width < within.one_level.unwrap().half_width);
    }

    #[test]
    fn counts_are_lowered_only_where_two_units_do_not_fit() {
        let plan = plan([4.0, 1.0, 0.01], [50.0, 1000.0]);
        let two = plan.costs.total(&[plan.repetitions()[0], plan.repetitions()[1], 2]).unwrap();
        assert!(!plan.within(two, ConfidenceLevel::USUAL).unwrap().lowered);
        let below = plan.within(two - 1.0, ConfidenceLevel::USUAL).unwrap();
        assert!(below.lowered && below.cost <= two - 1.0, "{below:?}");
        let least = plan.costs.total(&[1, 1, 2]).unwrap();
        assert_eq!(plan.within(least, ConfidenceLevel::USUAL).unwrap().repetitions, [1, 1, 2]);
        assert_eq!(
            plan.within(least - 1.0, ConfidenceLevel::USUAL),
            Err(RepetitionPlanError::BudgetTooSmall { budget: least - 1.0, needed: least })
        );
    }
}
