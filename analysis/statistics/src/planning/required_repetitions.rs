//! How many runs a plan needs, from a pilot: for an interval of a given relative half-width, or to find a speedup
//! with a given power.
//!
//! * [`MeanPrecision`], [`RatioPrecision`], [`MedianPrecision`]: for an interval;
//! * [`TrimmedDetection`]: for either, by the test that reports make;
//! * [`WelchDetection`], [`RankSumDetection`]: for a verdict;
//! * [`Effort`]: what the runs cost.
//!
//! A pilot's spread is itself an estimate: an experiment that must keep its level whatever the pilot said uses
//! [`crate::planning::two_stage`].

mod detection;
mod mean;
mod median;
mod ratio;
mod trimmed;

use crate::{inference::ConfidenceLevel, planning::power::PowerError, ratio::RatioError, sample::Sample};
pub use detection::{RankSumDetection, SpeedupGoal, WelchDetection};
pub use mean::MeanPrecision;
pub use median::MedianPrecision;
pub use ratio::RatioPrecision;
use serde::Serialize;
use thiserror::Error;
pub use trimmed::TrimmedDetection;

/// A number of runs of each version, and what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequiredRuns {
    /// The full name of the method.
    pub method: &'static str,
    pub reach: Attainability,
    /// The confidence level of the interval or test that was planned for.
    pub level: ConfidenceLevel,
    /// The power that was planned for, where a verdict is.
    pub power: Option<f64>,
    /// What was taken for granted.
    pub assumptions: Vec<PlanningAssumption>,
}

/// Whether, and with how many runs, the goal is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Attainability {
    /// The pilot is enough.
    PilotSuffices {
        /// Runs needed of each version.
        needed: u64,
        pilot: u64,
    },
    /// More runs are needed.
    MoreRuns {
        /// Runs needed of each version, those of the pilot included.
        needed: u64,
        pilot: u64,
    },
    /// The goal is not reached within the maximum.
    Unreachable {
        /// The most runs that were allowed of each version.
        maximum: u64,
    },
}

/// What a planned number of runs takes for granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum PlanningAssumption {
    /// The true spread is that of the pilot.
    SpreadOfPilot {
        runs: u64,
    },
    /// The true spread is at most the upper limit of the pilot's.
    UpperLimitOfSpread {
        runs: u64,
    },
    /// The true spread is the one that was given.
    SpreadGiven,
    /// Runs are independent and identically distributed, those of the pilot and those to come.
    IndependentRuns,
    NormalMeans,
    /// Both versions get the same number of runs.
    EqualRuns,
    /// The candidate's spread relative to its mean is the baseline's.
    SameRelativeSpread,
    /// The candidate's times are the baseline's divided by the speedup.
    ScaleShift,
    /// The statistic is as if the runs were many.
    ManyRuns,
}

/// Why a number of runs cannot be given.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum RequiredError {
    /// A half-width that is not a positive fraction.
    #[error("a relative half-width must be strictly between 0 and 1, not {0:?}")]
    HalfWidth(f64),
    #[error("a pilot needs at least {needed} runs here, but has {runs}")]
    SmallPilot { runs: usize, needed: usize },
    /// A pilot without spread says nothing of the spread to come.
    #[error("the pilot's runs do not vary, so nothing can be planned from them")]
    ConstantPilot,
    /// The standard deviation is impossible for this mean.
    #[error("a standard deviation of {sd:?} with a mean of {mean:?} cannot be planned with")]
    Spread { mean: f64, sd: f64 },
    #[error("a relative precision needs positive values, and the least is {0:?}")]
    NotPositive(f64),
    /// A mean that was given and is not positive.
    #[error("a relative precision needs a positive mean, not {0:?}")]
    MeanNotPositive(f64),
    /// A speedup that is not a positive number, or is none.
    #[error("the speedup to find must be positive and not 1, not {0:?}")]
    Speedup(f64),
    /// The versions of the pilot have no ratio.
    #[error("the pilot has no ratio of means")]
    Ratio(#[source] RatioError),
    #[error("the power cannot be planned")]
    Power(#[source] PowerError),
}

speedup_core::hints! { RequiredError:
    Self::HalfWidth(_) => "1 % is written 0.01",
    Self::SmallPilot { .. } => "make a larger pilot",
    Self::ConstantPilot => "use a finer clock",
    Self::Spread { .. } => "both are in the unit of the values",
    Self::NotPositive(_) => "a speedup is a ratio of positive times",
    Self::MeanNotPositive(_) => "give the mean time of a run",
    Self::Speedup(_) => "5 % faster is written 1.05",
    Self::Ratio(error) => error.hint(),
    Self::Power(error) => error.hint(),
}

impl Attainability {
    /// The runs of each version that the goal needs, if it is reached.
    pub fn needed(self) -> Option<u64> {
        match self {
            Self::PilotSuffices { needed, .. } | Self::MoreRuns { needed, .. } => Some(needed),
            Self::Unreachable { .. } => None,
        }
    }

    fn new(needed: Option<u64>, pilot: usize, maximum: u64) -> Self {
        let pilot = pilot as u64;
        match needed {
            Some(needed) if needed <= pilot => Self::PilotSuffices { needed, pilot },
            Some(needed) if needed <= maximum => Self::MoreRuns { needed, pilot },
            Some(_) | None => Self::Unreachable { maximum },
        }
    }
}

impl PlanningAssumption {
    /// Of the spread of a pilot with so many runs; of a spread given without one, if there are none.
    fn spread(pilot: usize) -> Self {
        if pilot == 0 { Self::SpreadGiven } else { Self::SpreadOfPilot { runs: pilot as u64 } }
    }

    /// A sentence for a person.
    pub fn sentence(self) -> String {
        match self {
            Self::SpreadOfPilot { runs } => {
                format!("The true spread is taken to be that of the pilot's {runs} runs.")
            }
            Self::UpperLimitOfSpread { runs } => format!(
                "Planned with an upper limit of the spread that the pilot's {runs} runs show: with fewer runs it lies higher."
            ),
            Self::SpreadGiven => "The true spread is taken to be the one given.".to_owned(),
            Self::IndependentRuns => {
                "The runs to come are independent and like those of the pilot.".to_owned()
            }
            Self::NormalMeans => "The means are taken to be normally distributed.".to_owned(),
            Self::EqualRuns => "Both versions get this number of runs.".to_owned(),
            Self::SameRelativeSpread => {
                "The candidate is taken to vary by the same share of its mean as the baseline.".to_owned()
            }
            Self::ScaleShift => {
                "The candidate's times are taken to be the baseline's divided by the speedup.".to_owned()
            }
            Self::ManyRuns => "The number is by a formula for many runs; for few it is rough.".to_owned(),
        }
    }
}

/// Refuses half-widths that are not positive fractions.
fn checked_half_width(relative_half_width: f64) -> Result<f64, RequiredError> {
    if relative_half_width > 0.0 && relative_half_width < 1.0 {
        Ok(relative_half_width)
    } else {
        Err(RequiredError::HalfWidth(relative_half_width))
    }
}

/// The spread `sd` as a share of `mean`, both given.
fn given_spread(mean: f64, sd: f64) -> Result<f64, RequiredError> {
    if !(mean > 0.0 && mean.is_finite()) {
        return Err(RequiredError::MeanNotPositive(mean));
    }
    let spread = sd / mean;
    // A spread below rounding, or one that no half-width reaches within the runs that can be counted.
    if (10.0 * f64::EPSILON..=1e6).contains(&spread) {
        Ok(spread)
    } else {
        Err(RequiredError::Spread { mean, sd })
    }
}

/// The spread of positive observations as a share of their mean.
fn relative_spread(pilot: &Sample) -> Result<f64, RequiredError> {
    let Some(sd) = pilot.standard_deviation() else {
        return Err(RequiredError::SmallPilot { runs: pilot.len(), needed: 2 });
    };
    if let Some(least) = pilot.not_positive() {
        return Err(RequiredError::NotPositive(least));
    }
    // The bound of R's t.test on what is lost in the rounding of the mean.
    if sd / (pilot.len() as f64).sqrt() < 10.0 * f64::EPSILON * pilot.mean() || pilot.is_constant() {
        return Err(RequiredError::ConstantPilot);
    }
    let spread = sd / pilot.mean();
    if spread > 0.0 && spread.is_finite() { Ok(spread) } else { Err(RequiredError::ConstantPilot) }
}

/// Runs, hosts and hours of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effort {
    /// All runs, of all versions.
    pub runs: u64,
    /// Hosts that work at once.
    pub hosts: u64,
    /// Hours from the first run to the last.
    pub hours: f64,
}

/// Why an effort cannot be given.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum EffortError {
    #[error("no run is made without a host")]
    NoHosts,
    #[error("a run must take a positive number of seconds, not {0}")]
    Seconds(f64),
    #[error("{runs_each} runs of each of {versions} versions are too many to count")]
    TooMany { runs_each: u64, versions: u64 },
}

speedup_core::hints! { EffortError: Self::NoHosts => "start an agent" }

impl Effort {
    /// `runs_each` runs of each of `versions` versions, each taking a host for `run_seconds`, on `hosts` hosts at once.
    ///
    /// # Errors
    /// [`EffortError`] for no hosts, durations that are not positive, or absurd numbers.
    pub fn new(runs_each: u64, versions: u64, run_seconds: f64, hosts: u64) -> Result<Self, EffortError> {
        if hosts == 0 {
            return Err(EffortError::NoHosts);
        }
        if !(run_seconds > 0.0 && run_seconds.is_finite()) {
            return Err(EffortError::Seconds(run_seconds));
        }
        let runs = runs_each.checked_mul(versions).ok_or(EffortError::TooMany { runs_each, versions })?;
        let hours = runs.div_ceil(hosts) as f64 * (run_seconds / 3600.0);
        Ok(Self { runs, hosts: hosts.min(runs), hours })
    }
}
