//! What "fresh" means: when a host may take a run, within what it counts as used, and which hosts count as identical.
//!
//! Each policy answers the same questions (`Rules`) in a file of its own, and nobody else tells policies apart: machine,
//! feasibility, work orders and the analysis ask [`Policy`] and [`Independence`]. The answers rest on small plain facts
//! ([`Traces`], [`Rest`]), so that the state of the machine and the evidence of a lease are judged alike.

mod any;
mod distinct;
mod distinct_sets;
mod reallocated;
mod rebooted;
mod rested;
#[cfg(test)]
mod tests;
mod traces;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{fingerprint::ClassId, repetition::Order, value::time::Span, value::time::Timestamp};

pub use traces::{Readings, Since, Traces};

/// Longest time a plan may have a host rest, or wait until it has: a host that is never quiet has to be noticed.
pub(crate) const MAX_REST: Span = Span::from_secs(24 * 3600);

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

    /// Nothing is asked: any host may serve any run.
    pub fn of_any_host() -> Self {
        Self::unchecked(Policy::Any, Scope::Benchmark)
    }

    /// What is against a host's being fresh for the visit that it begins.
    pub fn violation(&self, traces: &Traces) -> Option<Violation> {
        self.policy.rules().violation(traces, &self.rest)
    }

    /// How a host has to have rested before a run, where it has to.
    pub fn wanted_rest(&self) -> Option<&Rest> {
        self.policy.rules().wants_rest().then_some(&self.rest)
    }

    /// When a host has rested that has been idle since `since`, where it has to rest.
    pub(crate) fn rests_until(&self, since: Timestamp) -> Option<Timestamp> {
        self.wanted_rest().map(|rest| since + rest.idle)
    }

    /// Within what one use of a host counts. A visit of all versions of a benchmark uses its host for the benchmark.
    pub fn unit(&self, order: Order) -> Scope {
        match (self.scope, order) {
            (Scope::Cell, Order::Blocked) => Scope::Benchmark,
            (scope, Order::Randomized | Order::Interleaved | Order::Blocked) => scope,
        }
    }

    /// Whether the host of a visit of all versions of a benchmark has to boot anew between its runs.
    pub(crate) fn boots_within_blocks(&self, order: Order) -> bool {
        order == Order::Blocked && self.policy.renews_by_boot()
    }
}

/// When a host may take a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// It has served no run in the scope before.
    #[default]
    Distinct,
    /// It has not served a run in the scope together with the very same others before, and alone none.
    DistinctSets,
    /// It has booted since its last run in the scope.
    Rebooted,
    /// It sits in another allocation than at its last run in the scope.
    Reallocated,
    /// It has been idle for a time, and load, temperature and frequency are within bounds.
    Rested,
    /// Always; the report says that independence was not provided.
    Any,
}

/// What each policy answers.
trait Rules {
    /// Its name in plans, reports and exports.
    fn name(&self) -> &'static str;
    /// Whether it asks for fresh hosts at all.
    fn asks_for_freshness(&self) -> bool;
    /// What it takes before a host serves again in the scope.
    fn reuse(&self) -> Reuse;
    /// Whether a host has to rest before each run.
    fn wants_rest(&self) -> bool;
    /// What is against a host's being fresh for the visit that it begins.
    fn violation(&self, traces: &Traces, rest: &Rest) -> Option<Violation>;
    /// What a host had done before it was fresh again, in words after "had".
    fn renewed(&self) -> Option<&'static str>;
    /// The policy that asks for less, where hosts that can boot anew would do.
    fn with_reboots(&self) -> Option<Policy>;
}

/// What it takes before a host serves again in the scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// Nothing makes it fresh again.
    Never,
    /// It is fresh among other hosts.
    AmongOthers,
    /// It has to be renewed.
    After(Renewal),
    Free,
}

/// What makes a used host fresh again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// A new boot, which its agent may bring about.
    Boot,
    /// A new allocation, which only its engine gives, and never within a visit.
    Allocation,
}

/// Hosts that may be given visits, and those of them that can be renewed.
#[derive(Clone, Copy, Debug)]
pub struct Renewable {
    pub hosts: u32,
    /// Those that can boot anew.
    pub by_boot: u32,
    /// Those that an engine may allocate anew.
    pub by_allocation: u32,
}

impl Policy {
    /// All policies.
    pub const ALL: [Self; 6] =
        [Self::Distinct, Self::DistinctSets, Self::Rebooted, Self::Reallocated, Self::Rested, Self::Any];

    fn rules(self) -> &'static dyn Rules {
        match self {
            Self::Distinct => &distinct::Distinct,
            Self::DistinctSets => &distinct_sets::DistinctSets,
            Self::Rebooted => &rebooted::Rebooted,
            Self::Reallocated => &reallocated::Reallocated,
            Self::Rested => &rested::Rested,
            Self::Any => &any::Any,
        }
    }

    /// Its name in plans, reports and exports.
    pub fn name(self) -> &'static str {
        self.rules().name()
    }

    /// Whether it asks for fresh hosts at all.
    pub fn asks_for_freshness(self) -> bool {
        self.rules().asks_for_freshness()
    }

    /// What it takes before a host serves again in the scope.
    pub(crate) fn reuse(self) -> Reuse {
        self.rules().reuse()
    }

    /// Whether it is the sets of hosts that are fresh, and not each host.
    pub fn is_of_sets(self) -> bool {
        self.reuse() == Reuse::AmongOthers
    }

    /// Whether a boot makes a used host fresh again.
    pub(crate) fn renews_by_boot(self) -> bool {
        self.reuse() == Reuse::After(Renewal::Boot)
    }

    /// Whether a host may serve several visits in the scope; else a plan needs a host for each.
    pub fn reuses_hosts(self) -> bool {
        self.reuse() != Reuse::Never
    }

    /// How many of these hosts may be fresh more than once.
    pub fn reusable(self, of: Renewable) -> u32 {
        match self.reuse() {
            Reuse::Never => 0,
            Reuse::After(Renewal::Boot) => of.hosts.min(of.by_boot),
            Reuse::After(Renewal::Allocation) => of.hosts.min(of.by_allocation),
            Reuse::AmongOthers | Reuse::Free => of.hosts,
        }
    }

    /// Whether a visit may have several runs: each of them finds its host as the policy wants it.
    pub(crate) fn allows_longer_visits(self) -> bool {
        self.reuse() != Reuse::After(Renewal::Allocation)
    }

    /// What a host had done before it was fresh again, in words after "had"; nothing where no host is made fresh again.
    pub fn renewed(self) -> Option<&'static str> {
        self.rules().renewed()
    }

    /// The policy that asks for less, where hosts that can boot anew would do.
    pub(crate) fn with_reboots(self) -> Option<Self> {
        self.rules().with_reboots()
    }
}

crate::words! {
    /// Within what a host counts as used.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Scope {
        /// A host serves one run of a benchmark, in one version.
        #[default]
        Benchmark = "benchmark",
        /// A host serves one run.
        Experiment = "experiment",
        /// A host serves one run of a cell, so both versions may meet on it.
        Cell = "cell",
    }
    /// Its name in plans.
    fn name;
}

impl Scope {
    /// The number of the experiment, the benchmark or the cell that a cell is of, where there are so many versions.
    pub const fn number(self, cell: u32, versions: u32) -> u32 {
        match self {
            Self::Experiment => 0,
            Self::Benchmark => cell / versions,
            Self::Cell => cell,
        }
    }
}

/// Which hosts may take part in an experiment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sameness {
    /// Those of one fingerprint class, and those that a person approved.
    #[default]
    Identical,
    /// Those of any class; the classes are blocks of the analysis.
    Classes,
    /// All; nothing is said of how alike they are.
    #[serde(rename = "any")]
    Unchecked,
}

impl Sameness {
    /// Whether an experiment takes the hosts of pinned classes alone.
    pub(crate) const fn pins_classes(self) -> bool {
        match self {
            Self::Identical => true,
            Self::Classes | Self::Unchecked => false,
        }
    }

    /// Whether hosts of a class may take part, where these are pinned; before the first is, any may.
    pub fn admits(self, pinned: &BTreeSet<ClassId>, class: ClassId) -> bool {
        !self.pins_classes() || pinned.is_empty() || pinned.contains(&class)
    }
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

crate::words! {
    /// What is against a run having found a fresh host.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Violation {
        /// Its host had served in the scope before.
        HostUsed = "had served in the scope before",
        /// Its hosts had served in the scope together before.
        SetUsed = "had served in the scope before, with the same others",
        /// Its host had not booted since it last served in the scope.
        NotRebooted = "had not booted since it last served",
        /// Its host sat in the allocation in which it last served in the scope.
        NotReallocated = "was in the same allocation as before",
        /// Its host named no allocation, now or when it last served in the scope.
        NoAllocation = "named no allocation, now or before",
        /// Its host had served a run of the experiment more recently than the plan allows.
        NotRested = "had not rested as long as asked",
        /// A reading of its host was beyond the plan's bounds.
        BeyondBounds = "read beyond the bounds",
        /// A reading that the plan bounds is not there.
        NoReadings = "gave no reading of what is bounded",
        /// The plan has it in another boot of its visit than the run before, and its host had not booted.
        BootKept = "had not booted between the boots of a visit",
    }
    /// What happened, in words after "the host".
    fn words;
}
