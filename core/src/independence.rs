//! What "fresh" means: when a host may take a run, within what it counts as used, and which hosts count as identical.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Span;

/// Longest time a plan may have a host rest, or wait until it has: a host that is never quiet has to be noticed.
pub const MAX_REST: Span = Span::from_secs(24 * 3600);

/// What "fresh" means, and within what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Independence {
    /// When a host may take a run.
    pub policy: Policy,
    /// Within what a host counts as used.
    pub scope: Scope,
    /// Which hosts may take part.
    pub hosts: Sameness,
    /// When a host has rested, for [`Policy::Rested`].
    pub rest: Rest,
}

impl Independence {
    /// A policy within a scope, on whatever hosts there are.
    pub fn unchecked(policy: Policy, scope: Scope) -> Self {
        Self { policy, scope, hosts: Sameness::Unchecked, rest: Rest::default() }
    }
}

/// When a host may take a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// It has served no run in the scope before.
    Distinct,
    /// It has booted since its last run in the scope.
    Rebooted,
    /// It sits in another allocation than at its last run in the scope.
    Reallocated,
    /// It has been idle for a time, and load, temperature and frequency are within bounds.
    Rested,
    /// Always; the report says that independence was not provided.
    Any,
}

impl Policy {
    /// Its name in plans, reports and exports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Distinct => "distinct",
            Self::Rebooted => "rebooted",
            Self::Reallocated => "reallocated",
            Self::Rested => "rested",
            Self::Any => "any",
        }
    }
}

/// Within what a host counts as used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// A host serves one run of a benchmark, in one version.
    Benchmark,
    /// A host serves one run.
    Experiment,
    /// A host serves one run of a cell, so both versions may meet on it.
    Cell,
}

/// Which hosts may take part in an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sameness {
    /// Those of one fingerprint class, and those that a person approved.
    Identical,
    /// Those of any class; the classes are blocks of the analysis.
    Classes,
    /// All; nothing is said of how alike they are.
    #[serde(rename = "any")]
    Unchecked,
}

/// When a host has rested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rest {
    /// How long it has served no run.
    pub idle: Span,
    /// The one-minute load average at most, in percent: 100 is one task.
    pub load_percent: Option<u32>,
    /// The processor's temperature at most, in thousandths of a degree Celsius.
    pub temperature_mc: Option<i32>,
    /// The mean frequency of its CPUs at least, in percent of the highest that they offer.
    pub frequency_percent: Option<u32>,
    /// How long a host may take to come within the bounds before the attempt is given up.
    pub patience: Span,
}

impl Default for Rest {
    /// Ten seconds without work, on a host where nothing else runs for long.
    fn default() -> Self {
        Self {
            idle: Span::from_secs(10),
            load_percent: None,
            temperature_mc: None,
            frequency_percent: None,
            patience: Span::from_secs(600),
        }
    }
}
