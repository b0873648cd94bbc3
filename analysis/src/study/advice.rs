//! How many runs it would take where no difference was shown: to show the observed one, and to know the speedup well.
//!
//! The observed difference is taken for the true one, which is a guess like any: where there is none, no number of runs
//! shows it, and an experiment that is extended until it does has no confidence level. The numbers are for planning
//! the next experiment.

use super::verdict::{Protocol, Reason, Verdict};
use crate::study::compare::comparison::ComparisonReport;
use serde::{Deserialize, Serialize};
use speedup_statistics::inference::{Alternative, ConfidenceLevel};
use speedup_statistics::planning::required_repetitions::{
    Attainability, RankSumDetection, RatioPrecision, RequiredError, RequiredRuns, SpeedupGoal, WelchDetection,
};
use speedup_statistics::sample::Sample;

/// The probability with which the observed difference is to be shown: the usual one (Cohen 1988, §2.4).
pub const POWER: f64 = 0.8;
/// The relative half-width of the speedup's interval: one percent is what reports of speedups tell apart.
pub const RELATIVE_HALF_WIDTH: f64 = 0.01;
/// The most runs of each version that are advised: nobody makes more of a benchmark.
pub const MOST_RUNS_ADVISED: u64 = 10_000;

/// The runs that an undecided benchmark would take, or the builds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdviceReport {
    /// What is counted where it is not runs: `build`, each with as many visits as now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// To show the observed difference.
    pub detection: RequiredRunsReport,
    /// To know the speedup of the mean.
    pub precision: RequiredRunsReport,
}

/// Runs for one goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequiredRunsReport {
    /// The speedup to be shown, or the relative half-width to be reached.
    pub goal: f64,
    /// The probability of showing it, where a verdict is the goal.
    pub power: Option<f64>,
    /// The full name of the method; empty where it refused.
    pub method: String,
    /// How many runs.
    pub reach: ReachReport,
    /// The code names of what was taken for granted.
    pub assumptions: Vec<String>,
}

/// How many runs, if any number that is made suffices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ReachReport {
    /// There are enough.
    Reached {
        /// Runs needed of each version.
        needed: u64,
    },
    /// More are needed.
    MoreRuns {
        /// Runs needed of each version, in all.
        needed: u64,
    },
    /// Not within this many runs of each version.
    Unreachable {
        /// [`MOST_RUNS_ADVISED`].
        within: u64,
    },
    /// No number can be given.
    Unknown {
        /// Why.
        reason: Reason,
    },
}

impl AdviceReport {
    /// For a comparison that shows no difference; `None` for all others.
    pub(super) fn new(
        comparison: &ComparisonReport,
        baseline: &Sample,
        candidate: &Sample,
        level: ConfidenceLevel,
    ) -> Option<Self> {
        if comparison.verdict != Verdict::NoDifferenceShown {
            return None;
        }
        let by = comparison.by?;
        let speedup = comparison.of(by)?.speedup;
        let goal = SpeedupGoal {
            speedup,
            alternative: if speedup > 1.0 { Alternative::Greater } else { Alternative::Less },
            level,
            power: POWER,
            maximum: MOST_RUNS_ADVISED,
        };
        let detection = match by {
            Protocol::Mean => {
                WelchDetection::new(baseline, Some(candidate)).and_then(|pilot| pilot.required(&goal))
            }
            Protocol::Median => {
                RankSumDetection::new(baseline, Some(candidate)).and_then(|pilot| pilot.required(&goal))
            }
        };
        let precision = RatioPrecision::new(baseline, candidate)
            .and_then(|pilot| pilot.required(RELATIVE_HALF_WIDTH, level, MOST_RUNS_ADVISED));
        let unit = comparison.design.as_ref().map(|design| design.unit.clone());
        Some(Self {
            unit,
            detection: RequiredRunsReport::new(speedup, Some(POWER), detection),
            precision: RequiredRunsReport::new(RELATIVE_HALF_WIDTH, None, precision),
        })
    }
}

impl RequiredRunsReport {
    fn new(goal: f64, power: Option<f64>, required: Result<RequiredRuns, RequiredError>) -> Self {
        match required {
            Ok(required) => Self {
                goal,
                power,
                method: required.method.to_owned(),
                reach: required.reach.into(),
                assumptions: required.assumptions.iter().map(|one| one.code().to_owned()).collect(),
            },
            Err(error) => Self {
                goal,
                power,
                method: String::new(),
                reach: ReachReport::Unknown { reason: Reason::from(&error) },
                assumptions: Vec::new(),
            },
        }
    }
}

impl From<Attainability> for ReachReport {
    fn from(reach: Attainability) -> Self {
        match reach {
            Attainability::PilotSuffices { needed, .. } => Self::Reached { needed },
            Attainability::MoreRuns { needed, .. } => Self::MoreRuns { needed },
            Attainability::Unreachable { maximum } => Self::Unreachable { within: maximum },
        }
    }
}

impl From<&RequiredError> for Reason {
    fn from(error: &RequiredError) -> Self {
        let code = match error {
            RequiredError::HalfWidth(_) => "half_width",
            RequiredError::SmallPilot { .. } => "small_pilot",
            RequiredError::ConstantPilot => "constant_pilot",
            RequiredError::Spread { .. } => "spread",
            RequiredError::NotPositive(_) | RequiredError::MeanNotPositive(_) => "not_positive",
            RequiredError::Speedup(_) => "speedup",
            RequiredError::Ratio(_) => "no_ratio",
            RequiredError::Power(_) => "power",
        };
        Self::new(code, error)
    }
}
