//! The power of Student's t tests.

use super::{
    FEWEST_RUNS, MOST_RUNS, PowerError, Rejections, checked_difference, checked_power, checked_risk,
    checked_runs, checked_sd,
};
use crate::distribution::{Tails, noncentral_t, student_t};
use crate::{inference::Alternative, inference::Risk, number::monotone_root};
use serde::Serialize;

/// A t test that is planned: R's `power.t.test` (package stats 4.2.2) without its four-digit rounding of printing.
///
/// Under a true difference d the statistic has the noncentral t law with δ = d/(σ√(s/n)), s samples of n runs; the
/// power is the probability that it exceeds the critical value.
///
/// ```
/// use speedup_statistics::inference::{Alternative, ConfidenceLevel};
/// use speedup_statistics::planning::power::{MeanDesign, Rejections, TTestPower};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (alternative, rejections) = (Alternative::TwoSided, Rejections::OnTheTrueSide);
/// let (design, risk) = (MeanDesign::TwoSamples, ConfidenceLevel::USUAL.risk());
/// let test = TTestPower { design, alternative, rejections, risk };
/// // R: power.t.test(n = 20, delta = 1, sd = 1) and power.t.test(power = 0.9, delta = 1, sd = 1).
/// assert!((test.power(20.0, 1.0, 1.0)? - 0.8689528).abs() < 1e-7);
/// assert!((test.runs(1.0, 1.0, 0.9)? - 22.0211).abs() < 1e-4);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TTestPower {
    /// What is compared with what.
    pub design: MeanDesign,
    /// The alternative of the test, said of the true difference.
    pub alternative: Alternative,
    /// Which rejections count, if the test is two-sided.
    pub rejections: Rejections,
    /// The risk of the test.
    pub risk: Risk,
}

/// What a t test compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MeanDesign {
    /// Two independent samples of n runs each and one variance; the spread is that of a run.
    TwoSamples,
    /// One sample against a given mean.
    OneSample,
    /// n pairs; the spread is that of the differences within pairs.
    Pairs,
}

/// Where noncentralities end: what is beyond is certain.
const LARGEST_NONCENTRALITY: f64 = 1e150;

impl MeanDesign {
    fn samples(self) -> f64 {
        match self {
            Self::TwoSamples => 2.0,
            Self::OneSample | Self::Pairs => 1.0,
        }
    }
}

impl TTestPower {
    /// The method's full name.
    pub const NAME: &'static str = "power of Student's t test (noncentral t)";

    /// The probability that `runs` in each sample find the true difference `difference`, in the unit of the standard
    /// deviation `sd` of a run or of the differences within pairs.
    ///
    /// # Errors
    /// [`PowerError`] for numbers out of range.
    pub fn power(&self, runs: f64, difference: f64, sd: f64) -> Result<f64, PowerError> {
        checked_risk(self.risk)?;
        let (runs, difference, sd) = (checked_runs(runs)?, checked_difference(difference)?, checked_sd(sd)?);
        Ok(self.at(runs, difference / sd * self.root_of(runs)))
    }

    /// The real number of runs in each sample at which the power is `power`.
    ///
    /// # Errors
    /// [`PowerError`] for numbers out of range, a difference on which the test does not look, or an answer beyond
    /// the bounds [`FEWEST_RUNS`] and [`MOST_RUNS`].
    pub fn runs(&self, difference: f64, sd: f64, power: f64) -> Result<f64, PowerError> {
        checked_risk(self.risk)?;
        let (difference, sd) = (checked_difference(difference)?, checked_sd(sd)?);
        let power = checked_power(power)?;
        if self.alternative.of_difference(difference) <= 0.0 {
            return Err(PowerError::NothingToFind { difference });
        }
        let runs = |x: f64| 1.0 + x.exp();
        let missing = |x: f64| self.at(runs(x), difference / sd * self.root_of(runs(x))) - power;
        let ends = ((FEWEST_RUNS - 1.0).ln(), (MOST_RUNS - 1.0).ln());
        monotone_root::increasing(0.0, ends, missing).map(runs).map_err(|end| self.out_of_reach(end, power))
    }

    /// The true difference that `runs` in each sample find with the probability `power`, in the unit of `sd`; of the
    /// sign for which the test looks. Below the risk a one-sided test gives one of the other sign, as R does.
    ///
    /// # Errors
    /// [`PowerError`] for numbers out of range, or a two-sided power that even no difference exceeds.
    pub fn difference(&self, runs: f64, sd: f64, power: f64) -> Result<f64, PowerError> {
        let (runs, sd) = (checked_runs(runs)?, checked_sd(sd)?);
        Ok(self.noncentrality(runs, power)? / self.root_of(runs) * sd)
    }

    /// The standard deviation with which `runs` in each sample find `difference` with the probability `power`, in
    /// the unit of the difference.
    ///
    /// # Errors
    /// [`PowerError`] for numbers out of range, or a difference and power that no spread makes.
    pub fn standard_deviation(&self, runs: f64, difference: f64, power: f64) -> Result<f64, PowerError> {
        let (runs, difference) = (checked_runs(runs)?, checked_difference(difference)?);
        if self.alternative.of_difference(difference) <= 0.0 {
            return Err(PowerError::NothingToFind { difference });
        }
        let delta = self.noncentrality(runs, power)?;
        if self.alternative.of_difference(delta) <= 0.0 {
            return Err(PowerError::AlwaysExceeded { power });
        }
        Ok(difference.abs() * self.root_of(runs) / delta.abs())
    }

    /// δ at which the power is `power`.
    fn noncentrality(&self, runs: f64, power: f64) -> Result<f64, PowerError> {
        checked_risk(self.risk)?;
        let power = checked_power(power)?;
        let sign = match self.alternative {
            Alternative::TwoSided | Alternative::Greater => 1.0,
            Alternative::Less => -1.0,
        };
        let least = if self.alternative == Alternative::TwoSided { 0.0 } else { -WIDEST_SEARCH };
        let missing = |x: f64| self.at(runs, sign * x.sinh()) - power;
        monotone_root::increasing(0.0, (least, WIDEST_SEARCH), missing)
            .map(|x| sign * x.sinh())
            .map_err(|end| self.out_of_reach(end, power))
    }

    fn out_of_reach(&self, end: f64, power: f64) -> PowerError {
        if end > 0.0 { PowerError::Unreachable { power } } else { PowerError::AlwaysExceeded { power } }
    }

    /// √(n/s).
    fn root_of(&self, runs: f64) -> f64 {
        (runs / self.design.samples()).sqrt()
    }

    fn at(&self, runs: f64, noncentrality: f64) -> f64 {
        let df = (runs - 1.0) * self.design.samples();
        power_at(self.alternative, self.rejections, self.risk, df, noncentrality)
    }
}

/// sinh of this is 1e17: a larger noncentrality is no plan.
const WIDEST_SEARCH: f64 = 40.0;

/// The probability that a noncentral t rejects.
pub(super) fn power_at(
    alternative: Alternative,
    rejections: Rejections,
    risk: Risk,
    df: f64,
    noncentrality: f64,
) -> f64 {
    let delta = noncentrality.clamp(-LARGEST_NONCENTRALITY, LARGEST_NONCENTRALITY);
    let critical = |risk| student_t::quantile(Tails::from_upper(risk), df);
    match alternative {
        Alternative::Greater => noncentral_t::tails(critical(risk.get()), df, delta).upper,
        Alternative::Less => noncentral_t::tails(critical(risk.get()), df, -delta).upper,
        Alternative::TwoSided => {
            let critical = critical(risk.get() / 2.0);
            let true_side = noncentral_t::tails(critical, df, delta.abs()).upper;
            match rejections {
                Rejections::OnTheTrueSide => true_side,
                Rejections::OnEitherSide => true_side + noncentral_t::tails(-critical, df, delta.abs()).lower,
            }
        }
    }
}
