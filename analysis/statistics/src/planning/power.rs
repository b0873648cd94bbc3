//! The power of a test: how probable it is that a difference which is there will be found.
//!
//! * [`WelchPower`]: two samples of different sizes and variances;
//! * [`ProportionTestPower`]: two proportions, R's `power.prop.test`.
//!
//! Numbers of runs are real here, as in R; [`crate::planning::required_repetitions`] rounds them up. A risk is a [`Risk`]
//! rather than a confidence level because 1 − level would lose the digits of a small one.

mod proportions;
mod welch;

use crate::inference::Risk;
pub use proportions::ProportionTestPower;
use serde::Serialize;
use thiserror::Error;
pub use welch::{Group, WelchPower};

/// The fewest runs at which the laws are evaluated: a hundredth of a degree of freedom is left.
pub const FEWEST_RUNS: f64 = 1.01;
/// More runs than anyone will make; ends the search for absurd answers.
pub const MOST_RUNS: f64 = 1e12;

/// Which rejections of a two-sided test count as finding the difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rejections {
    /// Those on the side of the true difference: R's default.
    OnTheTrueSide,
    /// Those on either side: R's `strict = TRUE`.
    OnEitherSide,
}

/// Why a power, or what a power needs, cannot be given.
#[derive(Clone, Copy, Debug, PartialEq, Error, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PowerError {
    #[error("a number of runs must be between {FEWEST_RUNS} and {MOST_RUNS:e} here, not {runs}")]
    Runs { runs: f64 },
    /// A standard deviation that is not positive and finite.
    #[error("a standard deviation must be positive and finite, not {sd}")]
    StandardDeviation { sd: f64 },
    #[error("a difference must be a finite number, not {difference}")]
    Difference { difference: f64 },
    /// A power not strictly between 0 and 1.
    #[error("a power must be strictly between 0 and 1, not {power}")]
    Power { power: f64 },
    #[error("a test at risk 0 never rejects")]
    NoRisk,
    #[error("a proportion must be between 0 and 1, not {proportion}")]
    Proportion { proportion: f64 },
    /// The true difference is none, or on the side for which the test does not look.
    #[error("no number of runs finds a difference of {difference}")]
    NothingToFind { difference: f64 },
    /// Not enough at the end of the search.
    #[error("the power {power} is not reached within the limits of the search")]
    Unreachable { power: f64 },
    /// The power asked for is exceeded whatever the unknown is.
    #[error("the power {power} is exceeded by every answer")]
    AlwaysExceeded { power: f64 },
}

speedup_core::hints! { PowerError:
    Self::StandardDeviation { .. } => "measure a pilot that varies",
    Self::Power { .. } => "90 % is written 0.9",
    Self::NoRisk => "a risk of 5 % is written 0.05",
    Self::NothingToFind { .. } => "plan for the difference that matters",
    Self::AlwaysExceeded { .. } => "ask for a power above the risk",
}

fn checked_power(power: f64) -> Result<f64, PowerError> {
    if power > 0.0 && power < 1.0 { Ok(power) } else { Err(PowerError::Power { power }) }
}

fn checked_risk(risk: Risk) -> Result<f64, PowerError> {
    if risk.get() > 0.0 { Ok(risk.get()) } else { Err(PowerError::NoRisk) }
}

fn checked_runs(runs: f64) -> Result<f64, PowerError> {
    if (FEWEST_RUNS..=MOST_RUNS).contains(&runs) { Ok(runs) } else { Err(PowerError::Runs { runs }) }
}

fn checked_difference(difference: f64) -> Result<f64, PowerError> {
    if difference.is_finite() { Ok(difference) } else { Err(PowerError::Difference { difference }) }
}
