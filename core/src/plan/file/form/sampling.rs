//! How often, in which order, on which hosts, and up to which bounds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::{Order, Policy, Rest, Sameness, Scope, Spending};

/// How often: runs alone; or pilot with precision or budget; or looks. Each of the last three needs a maximum.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::plan::file) struct RepetitionsForm {
    /// Runs of each benchmark in each version; on each boot of each host where hosts or boots are given. 31 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) runs: Option<u32>,
    /// Hosts that visit each benchmark in each version, each for all its boots and runs; without it the policy alone says
    /// which host serves a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) hosts: Option<u32>,
    /// Boots of each of these hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) boots: Option<u32>,
    /// Runs of each benchmark in each version from which the number of runs is then computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) pilot: Option<u32>,
    /// After the pilot: half the width of the interval of the speedup (`center = "trimmed"`), or of the difference of the means as a
    /// share of the baseline's mean, e.g. "1%".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) precision: Option<String>,
    /// After the pilot: the time on hosts, summed over them, that is split over the levels, e.g. "12h".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) budget: Option<String>,
    /// How often a group-sequential experiment is looked at, the last time included; it stops when it can conclude.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) looks: Option<u32>,
    /// How the looks spend the risk: "obrien_fleming", little early, or "pocock", nearly alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) spending: Option<Spending>,
    /// Most runs of each benchmark in each version, whatever is computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) maximum: Option<u32>,
}

/// The order of the runs.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::plan::file) struct DesignForm {
    /// The order of the runs: "randomized", all in one random order; "interleaved", in rounds of every benchmark in every
    /// version; "blocked", each host serves every version of a benchmark in random order, analysed as pairs.
    pub(in crate::plan::file) order: Order,
}

/// When a host may take a run.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::plan::file) struct IndependenceForm {
    /// When a host may take a run: "distinct", when it has served none in the scope before; "distinct_sets", when
    /// it has served none together with the same others; "rebooted", when it has booted
    /// since; "reallocated", when it sits in another allocation since; "rested", when it was idle; or "any", always.
    pub(in crate::plan::file) policy: Policy,
    /// Within what a host counts as used: "benchmark", "experiment" or "cell".
    pub(in crate::plan::file) scope: Scope,
    /// Which hosts may take part: "identical", of one fingerprint class; "classes", of any, analysed as blocks; "any".
    pub(in crate::plan::file) hosts: Sameness,
    /// When a host has rested, for policy "rested".
    pub(in crate::plan::file) rest: RestForm,
}

/// When a host has rested.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::plan::file) struct RestForm {
    /// How long it has served no run, e.g. "10s".
    pub(in crate::plan::file) idle: String,
    /// The one-minute load average at most, e.g. 0.5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) load: Option<f64>,
    /// The processor's temperature at most, degrees Celsius.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) temperature: Option<f64>,
    /// The mean frequency of its CPUs at least, percent of the highest that they offer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) frequency: Option<u32>,
    /// How long a host may take to come within these bounds before the run goes to another, e.g. "10m".
    pub(in crate::plan::file) wait: String,
}

/// Bounds of the experiment.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::plan::file) struct LimitsForm {
    /// Attempts a run may have before it is abandoned, without those that an engine ended.
    pub(in crate::plan::file) attempts: u32,
    /// Attempts that all runs may have together; what then waits is cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) all_attempts: Option<u64>,
    /// Time on hosts that all attempts may take together, e.g. "100h"; what then waits is cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) host_time: Option<String>,
}

impl Default for RestForm {
    fn default() -> Self {
        let Rest { idle, patience, .. } = Rest::default();
        let idle = idle.to_string();
        let wait = patience.to_string();
        Self { idle, load: None, temperature: None, frequency: None, wait }
    }
}

impl Default for LimitsForm {
    fn default() -> Self {
        Self { attempts: 3, all_attempts: None, host_time: None }
    }
}
