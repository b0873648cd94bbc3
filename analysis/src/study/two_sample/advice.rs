//! How many runs it would take where no difference was shown: to show the observed one, and to know the speedup well.
//!
//! The observed difference is taken for the true one, which is a guess like any: where there is none, no number of runs
//! shows it, and an experiment that is extended until it does has no confidence level. The numbers are for planning
//! the next experiment.

use super::headline::{HeadlineReport, POWER};
use crate::{conclusion::Reason, conclusion::Verdict, conclusion::Word, study::design::RunUnit};
use serde::{Deserialize, Serialize};
use speedup_statistics::planning::required_repetitions::{SpeedupGoal, TrimmedDetection};
use speedup_statistics::{distribution::normal, inference::Alternative, inference::ConfidenceLevel};

/// The probability with which the limit that is planned with is above the pilot's true spread.
pub const ASSURANCE: f64 = 0.8;
/// The relative half-width of the speedup's interval: one percent is what reports of speedups tell apart.
pub const RELATIVE_HALF_WIDTH: f64 = 0.01;
/// The most runs of each version that are advised: nobody makes more of a benchmark.
pub const MOST_RUNS_ADVISED: u64 = 10_000;

/// The runs that an undecided benchmark would take, or what is independent in their place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdviceReport {
    /// What is counted where it is not runs, each with as many runs as now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Word<RunUnit>>,
    /// To show the observed difference.
    pub detection: RequiredRunsReport,
    /// To know the speedup well.
    pub precision: RequiredRunsReport,
}

/// Runs for one goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequiredRunsReport {
    /// The speedup to be shown, or the relative half-width to be reached.
    pub goal: f64,
    /// The probability of showing it, where a verdict is the goal.
    pub power: Option<f64>,
    /// The full name of the method; empty in older reports where it refused.
    pub method: String,
    /// How many runs.
    pub reach: ReachReport,
    /// The code names of what was assumed; only in older reports.
    pub assumptions: Vec<String>,
}

/// How many runs, if any number that is made suffices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ReachReport {
    /// There are enough.
    Reached {
        /// As many as there are; in older reports those that would do.
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
    /// No number can be given; only in older reports.
    Unknown {
        /// Why.
        reason: Reason,
    },
}

impl AdviceReport {
    /// The method's full name.
    pub(in crate::study) const NAME: &'static str =
        "the width of the interval, which falls with the root of the number of runs";

    /// Plans for a headline that is undecided, with `units` independent units of each version; `None` for all others. `planned` is the
    /// plan of its test, where there is one.
    pub(crate) fn new(
        first: &HeadlineReport,
        unit: Option<Word<RunUnit>>,
        planned: Option<&TrimmedDetection>,
        units: u64,
        level: ConfidenceLevel,
    ) -> Option<Self> {
        if first.verdict != Verdict::Undecided {
            return None;
        }
        let [detection, precision] = match planned {
            Some(planned) => {
                let maximum = MOST_RUNS_ADVISED;
                let alternative = Alternative::TwoSided;
                let goal = SpeedupGoal { speedup: first.speedup, alternative, level, power: POWER, maximum };
                // Where nothing is observed, no number of runs shows it.
                [planned.required(&goal), planned.precise(RELATIVE_HALF_WIDTH, level, maximum)].map(
                    |required| {
                        required
                            .map_or((TrimmedDetection::NAME, None), |runs| (runs.method, runs.reach.needed()))
                    },
                )
            }
            None => {
                let (lower, upper) = first.interval.ends().filter(|(lower, _)| *lower > 0.0)?;
                let critical = normal::two_sided_critical(level.risk().get());
                let half_width = (upper / lower).ln() / 2.0;
                // The distance at which the interval leaves 1 out with this probability, in half-widths.
                let seen = 1.0 + normal::two_sided_critical(2.0 * (1.0 - POWER)) / critical;
                let shown = seen * half_width / first.speedup.ln().abs();
                [shown, half_width / RELATIVE_HALF_WIDTH.ln_1p()].map(|too_wide| {
                    // Not a number where nothing is observed and nothing varies: no number of runs shows it.
                    let needed = (units as f64 * too_wide * too_wide).ceil();
                    (Self::NAME, (needed <= MOST_RUNS_ADVISED as f64).then_some(needed as u64))
                })
            }
        };
        Some(Self {
            unit,
            detection: RequiredRunsReport::new(first.speedup, Some(POWER), detection, units),
            precision: RequiredRunsReport::new(RELATIVE_HALF_WIDTH, None, precision, units),
        })
    }
}

impl ReachReport {
    /// The number of runs, where there is one.
    pub fn needed(&self) -> Option<u64> {
        match self {
            Self::Reached { needed } | Self::MoreRuns { needed } => Some(*needed),
            Self::Unreachable { .. } | Self::Unknown { .. } => None,
        }
    }
}

impl RequiredRunsReport {
    /// What `units` that there are lack of the number that a method gives; never fewer than there are.
    fn new(goal: f64, power: Option<f64>, (method, needed): (&str, Option<u64>), units: u64) -> Self {
        let reach = match needed {
            Some(needed) if needed <= units => ReachReport::Reached { needed: units },
            Some(needed) if needed <= MOST_RUNS_ADVISED => ReachReport::MoreRuns { needed },
            Some(_) | None => ReachReport::Unreachable { within: MOST_RUNS_ADVISED },
        };
        Self { goal, power, method: method.to_owned(), reach, assumptions: Vec::new() }
    }
}
