//! How often: the levels at which an experiment repeats, the order of its runs, and the rule by which their number is
//! found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::value::time::Span;

/// Most units of one level: more is a mistake.
pub(crate) const MAX_OF_A_LEVEL: u32 = 100_000;
/// Most looks of a group-sequential experiment: what more looks could save is nothing (Jennison & Turnbull 2000, §2.3).
pub(crate) const MAX_LOOKS: u32 = 50;

/// The order in which runs are given out, always drawn from the seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// All runs in one random order.
    #[default]
    Randomized,
    /// In rounds: each has every benchmark in every version once, in a random order of its own.
    Interleaved,
    /// Each host serves every version of a benchmark, in random order; analysed as pairs.
    Blocked,
}

/// The levels above the run at which an experiment repeats. Without hosts and boots each run is a visit of its own: the
/// policy alone says which host serves it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Levels {
    /// Hosts that visit each cell.
    pub hosts: Option<u32>,
    /// Boots of each of these hosts.
    pub boots: Option<u32>,
}

impl Levels {
    /// Hosts that visit each cell, 1 where the plan does not say.
    pub fn hosts(self) -> u32 {
        self.hosts.unwrap_or(1)
    }

    /// Boots of a visit, 1 where the plan does not say.
    pub fn boots(self) -> u32 {
        self.boots.unwrap_or(1)
    }

    /// Whether several runs share a host by design.
    pub fn are_nested(self) -> bool {
        self.hosts.is_some() || self.boots.is_some()
    }
}

/// How often a cell is repeated before the rule asks for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetition {
    /// In so many runs, each a visit of its own.
    Runs(u32),
    /// Over levels: each host visits the cell once, for all its boots and runs.
    Nested {
        /// Hosts that visit the cell.
        hosts: u32,
        boots: u32,
        runs: u32,
    },
}

impl Repetition {
    /// Visits of a cell.
    pub const fn visits(self) -> u32 {
        match self {
            Self::Runs(runs) => runs,
            Self::Nested { hosts, .. } => hosts,
        }
    }

    /// Runs of a cell in one visit.
    pub(crate) const fn runs_of_a_visit(self) -> u32 {
        match self {
            Self::Runs(_) => 1,
            Self::Nested { boots, runs, .. } => boots.saturating_mul(runs),
        }
    }

    /// Runs of a cell in all its visits.
    pub fn runs(self) -> u64 {
        match self {
            Self::Runs(runs) => u64::from(runs),
            Self::Nested { hosts, boots, runs } => {
                u64::from(hosts).saturating_mul(u64::from(boots)).saturating_mul(u64::from(runs))
            }
        }
    }
}

/// The rule by which the number of runs is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Rule {
    /// The plan says it.
    #[default]
    Fixed,
    /// From a pilot (Stein, Annals of Mathematical Statistics 16, 1945): as many runs as its spread asks for.
    Pilot {
        /// Half the width of the interval of the difference to the baseline, as a share of the baseline's mean.
        precision: f64,
        /// Most runs of each cell.
        maximum: u32,
    },
    /// As many as it takes to conclude, looked at in groups with one stated risk (Lan & DeMets, Biometrika 70, 1983).
    Sequential {
        /// How often is looked, the last time included.
        looks: u32,
        /// Runs of each cell at the last look.
        maximum: u32,
        /// How the risk is spent over the looks.
        spending: Spending,
    },
    /// As many as fit a time on hosts, split over the levels (Kalibera & Jones, TR 4-12 §9, 2012).
    Budget {
        /// The time on hosts, summed over them.
        time: Span,
        /// Most runs of each cell.
        maximum: u32,
    },
    /// Until it is known at which version of a line a step is: the versions are the commits of a history in their order, each built before its
    /// first runs, and a posterior over them says which are run next, in blocks with both ends.
    Bisection(Bisection),
}

/// Most versions of a bisection: the source of each travels with the plan.
pub const MAX_LINE: usize = 256;
/// Fewest runs of a block: both ends, and a version between them.
pub const FEWEST_OF_A_BLOCK: u32 = 3;
/// Most runs of a block: what one host serves in one visit.
pub(crate) const MAX_OF_A_BLOCK: u32 = 64;
/// Most blocks of a round.
pub(crate) const MAX_BLOCKS: u32 = 1_000;

/// How a bisection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bisection {
    /// Most runs in all, builds not counted.
    pub maximum: u32,
    /// Runs of a block, which one host serves: one of each end, the others of versions between them.
    pub block: u32,
    /// Blocks that are run before it is looked where the step may be.
    pub blocks: u32,
}

/// How a group-sequential experiment spends its risk over its looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spending {
    /// Little early, nearly all at the end.
    #[default]
    ObrienFleming,
    /// Nearly alike at each look.
    Pocock,
}
