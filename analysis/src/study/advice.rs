//! How many runs it would take where no difference was shown: to show the observed one, and to know the speedup well.
//!
//! The observed difference is taken for the true one, which is a guess like any: where there is none, no number of runs
//! shows it, and an experiment that is extended until it does has no confidence level. The numbers are for planning
//! the next experiment.

use crate::conclusion::{Reason, Verdict, Word};
use crate::study::{RunUnit, compare::comparison::ComparisonReport};
use serde::{Deserialize, Serialize};
use speedup_statistics::{distribution::normal, inference::ConfidenceLevel};

/// The probability with which the observed difference is to be shown: the usual one (Cohen 1988, §2.4).
pub const POWER: f64 = 0.8;
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
    /// No number can be given; only in older reports.
    Unknown {
        /// Why.
        reason: Reason,
    },
}

impl AdviceReport {
    /// The method's full name.
    pub(super) const NAME: &'static str =
        "the width of the interval, which falls with the root of the number of runs";

    /// For a comparison that is undecided, of so many independent units; `None` for all others.
    pub(super) fn new(comparison: &ComparisonReport, units: u64, level: ConfidenceLevel) -> Option<Self> {
        if comparison.verdict != Verdict::Undecided {
            return None;
        }
        let first = comparison.first.as_ref()?;
        let (lower, upper) = first.interval.ends().filter(|(lower, _)| *lower > 0.0)?;
        let critical = normal::two_sided_critical(level.risk().get());
        let half_width = (upper / lower).ln() / 2.0;
        // The distance at which the interval leaves 1 out with this probability, in half-widths.
        let seen = 1.0 + normal::two_sided_critical(2.0 * (1.0 - POWER)) / critical;
        let unit = comparison.design.as_ref().map(|design| design.unit.clone());
        Some(Self {
            unit,
            detection: RequiredRunsReport::new(
                first.speedup,
                Some(POWER),
                units,
                seen * half_width / first.speedup.ln().abs(),
            ),
            precision: RequiredRunsReport::new(
                RELATIVE_HALF_WIDTH,
                None,
                units,
                half_width / RELATIVE_HALF_WIDTH.ln_1p(),
            ),
        })
    }
}

impl RequiredRunsReport {
    /// Where the interval is `too_wide` times what the goal allows.
    fn new(goal: f64, power: Option<f64>, units: u64, too_wide: f64) -> Self {
        // Not a number where nothing is observed and nothing varies: no number of runs shows it.
        let needed = (units as f64 * too_wide * too_wide).ceil();
        let reach = if needed <= MOST_RUNS_ADVISED as f64 {
            let needed = (needed as u64).max(1);
            if needed <= units { ReachReport::Reached { needed } } else { ReachReport::MoreRuns { needed } }
        } else {
            ReachReport::Unreachable { within: MOST_RUNS_ADVISED }
        };
        Self { goal, power, method: AdviceReport::NAME.to_owned(), reach, assumptions: Vec::new() }
    }
}
