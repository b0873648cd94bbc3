//! The power of the comparison of two proportions.

use super::{MOST_RUNS, PowerError, Rejections, checked_power, checked_risk};
use crate::distribution::{Tails, normal};
use crate::{inference::Alternative, inference::Risk, number::monotone_root};
use serde::Serialize;

/// The normal test of two proportions of n trials each, planned: R's `power.prop.test` (package stats 4.2.2).
///
/// The power is Φ((√n·d − z√(2p̄q̄))/√(p₁q₁ + p₂q₂)), d the difference in the direction of the alternative, p̄ the
/// mean proportion (Fleiss, Levin & Paik, Statistical Methods for Rates and Proportions, §4.2).
///
/// ```
/// use speedup_statistics::inference::{Alternative, ConfidenceLevel};
/// use speedup_statistics::planning::power::{ProportionTestPower, Rejections};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (alternative, rejections) = (Alternative::TwoSided, Rejections::OnTheTrueSide);
/// let test = ProportionTestPower { alternative, rejections, risk: ConfidenceLevel::USUAL.risk() };
/// // R: power.prop.test(n = 50, p1 = 0.5, p2 = 0.75) and power.prop.test(p1 = 0.5, p2 = 0.75, power = 0.9).
/// assert!((test.power(50.0, 0.75, 0.5)? - 0.740).abs() < 5e-4);
/// assert!((test.trials(0.75, 0.5, 0.9)? - 76.7).abs() < 0.05);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ProportionTestPower {
    /// The alternative of the test, said of the first proportion less the second.
    pub alternative: Alternative,
    /// Which rejections count, if the test is two-sided.
    pub rejections: Rejections,
    pub risk: Risk,
}

impl ProportionTestPower {
    /// The method's full name.
    pub const NAME: &'static str = "power of the normal test of two proportions";

    /// The probability that `trials` in each group find that the proportions are `first` and `second`.
    ///
    /// # Errors
    /// [`PowerError`] for numbers out of range.
    pub fn power(&self, trials: f64, first: f64, second: f64) -> Result<f64, PowerError> {
        checked_risk(self.risk)?;
        if !(trials > 0.0 && trials <= MOST_RUNS) {
            return Err(PowerError::Runs { runs: trials });
        }
        check_proportion(first)?;
        check_proportion(second)?;
        if first == second && (first == 0.0 || first == 1.0) {
            return Err(PowerError::NothingToFind { difference: 0.0 });
        }
        Ok(self.at(trials, first, second))
    }

    /// The real number of trials in each group at which the power is `power`.
    ///
    /// # Errors
    /// [`PowerError`] for numbers out of range, equal proportions or ones on the other side, and answers out of
    /// reach.
    pub fn trials(&self, first: f64, second: f64, power: f64) -> Result<f64, PowerError> {
        checked_risk(self.risk)?;
        check_proportion(first)?;
        check_proportion(second)?;
        let power = checked_power(power)?;
        let difference = first - second;
        if self.alternative.directed(difference) <= 0.0 {
            return Err(PowerError::NothingToFind { difference });
        }
        let missing = |x: f64| self.at(x.exp(), first, second) - power;
        let ends = (FEWEST_TRIALS.ln(), MOST_RUNS.ln());
        monotone_root::increasing(0.0, ends, missing)
            .map(f64::exp)
            .map_err(|end| self.out_of_reach(end, power))
    }

    /// The second proportion that `trials` in each group tell from `first` with the probability `power`: above
    /// `first`, unless the alternative is that the first is greater.
    ///
    /// # Errors
    /// [`PowerError`] for numbers out of range, and proportions out of reach.
    pub fn second(&self, trials: f64, first: f64, power: f64) -> Result<f64, PowerError> {
        checked_risk(self.risk)?;
        check_proportion(first)?;
        if !(trials > 0.0 && trials <= MOST_RUNS) {
            return Err(PowerError::Runs { runs: trials });
        }
        let power = checked_power(power)?;
        let farthest = match self.alternative {
            Alternative::Greater => 0.0,
            Alternative::TwoSided | Alternative::Less => 1.0,
        };
        let second = |share: f64| first + share * (farthest - first);
        let missing = |share: f64| self.at(trials, first, second(share)) - power;
        monotone_root::increasing(0.0, (0.0, 1.0), missing)
            .map(second)
            .map_err(|end| self.out_of_reach(end, power))
    }

    fn out_of_reach(&self, end: f64, power: f64) -> PowerError {
        if end > 0.0 { PowerError::Unreachable { power } } else { PowerError::AlwaysExceeded { power } }
    }

    fn at(&self, trials: f64, first: f64, second: f64) -> f64 {
        let difference = self.alternative.directed(first - second);
        let mean = (first + second) / 2.0;
        let under_null = (2.0 * mean * (1.0 - mean)).sqrt();
        let under_truth = (first * (1.0 - first) + second * (1.0 - second)).sqrt();
        let risk = match self.alternative {
            Alternative::TwoSided => self.risk.get() / 2.0,
            Alternative::Greater | Alternative::Less => self.risk.get(),
        };
        let threshold = normal::quantile(Tails::from_upper(risk)) * under_null;
        let shift = trials.sqrt() * difference;
        // Proportions of 0 and 1 do not vary: the test finds them, or it does not.
        let beyond = |distance: f64| {
            if under_truth > 0.0 {
                normal::tails(distance / under_truth).lower
            } else {
                f64::from(u8::from(distance > 0.0))
            }
        };
        let both = self.alternative == Alternative::TwoSided && self.rejections == Rejections::OnEitherSide;
        beyond(shift - threshold) + if both { beyond(-shift - threshold) } else { 0.0 }
    }
}

/// Where the search for a number of trials ends below.
const FEWEST_TRIALS: f64 = 1e-6;

fn check_proportion(proportion: f64) -> Result<(), PowerError> {
    if (0.0..=1.0).contains(&proportion) { Ok(()) } else { Err(PowerError::Proportion { proportion }) }
}
