//! Metrics: what may be measured of a run, in which unit, by which of the host's interfaces, and why a metric that was
//! wanted may have no value.
//!
//! There are those that every agent knows ([`Metric`]), one value a run, a whole number; and those that a plan adds
//! ([`OwnMetric`]), whose values the program writes, as many as it iterates.

mod own;

pub use own::{
    Better, MAX_OWN_METRICS, MAX_SERIES_VALUES, OwnMetric, OwnMetricError, Pattern, Stream, Tool, ValueError,
    Wanted,
};
pub(crate) use own::{MAX_OWN_UNIT_BYTES, MAX_READ_BYTES};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Declares the metrics, each with its name, its column and its unit.
macro_rules! metrics {
    ($($(#[$means:meta])* $metric:ident = $name:literal, $column:literal, $unit:ident;)+) => {
        crate::words! {
            /// What is measured in a run.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
            #[serde(rename_all = "snake_case")]
            pub enum Metric {
                $($(#[$means])* $metric = $name,)+
            }
            /// The name in plan files and reports.
            fn name;
            /// All of them, in the order of tables and exports.
            const ALL;
        }

        impl Metric {
            /// The column of an export: the name, with the unit as its last word unless events are counted.
            pub const fn column(self) -> &'static str {
                match self {
                    $(Self::$metric => $column,)+
                }
            }

            /// The unit of its values.
            pub const fn unit(self) -> Unit {
                match self {
                    $(Self::$metric => Unit::$unit,)+
                }
            }
        }
    };
}

metrics! {
    /// Exec to exit, nanoseconds of the monotonic clock.
    Wall = "wall", "wall_ns", Nanoseconds;
    /// CPU time in user mode, nanoseconds.
    User = "user", "user_ns", Nanoseconds;
    /// CPU time in the kernel, nanoseconds.
    System = "system", "system_ns", Nanoseconds;
    /// Peak resident memory, bytes.
    MaxRss = "max_rss", "max_rss_bytes", Bytes;
    /// Page faults without I/O.
    MinorFaults = "minor_faults", "minor_faults", Count;
    /// Page faults with I/O.
    MajorFaults = "major_faults", "major_faults", Count;
    /// Context switches the program asked for by waiting.
    VoluntarySwitches = "voluntary_switches", "voluntary_switches", Count;
    /// Context switches the program did not ask for.
    InvoluntarySwitches = "involuntary_switches", "involuntary_switches", Count;
    /// Blocks of 512 bytes read.
    BlockReads = "block_reads", "block_reads", Count;
    /// Blocks of 512 bytes written.
    BlockWrites = "block_writes", "block_writes", Count;
    /// Instructions retired by the program and all that it starts.
    Instructions = "instructions", "instructions", Count;
    /// CPU cycles, as many as the clock ticked.
    Cycles = "cycles", "cycles", Count;
    /// Accesses to the last level of cache.
    CacheReferences = "cache_references", "cache_references", Count;
    /// Those that missed it.
    CacheMisses = "cache_misses", "cache_misses", Count;
    /// Branch instructions retired.
    Branches = "branches", "branches", Count;
    /// Those that were predicted wrongly.
    BranchMisses = "branch_misses", "branch_misses", Count;
    /// Time on a CPU by the scheduler's clock, nanoseconds: all that the program starts, waited for or not.
    TaskClock = "task_clock", "task_clock_ns", Nanoseconds;
    /// Moves from one CPU to another.
    CpuMigrations = "cpu_migrations", "cpu_migrations", Count;
    /// Energy of all CPU packages of the host while the run lasted, microjoules: whatever else runs there is in it.
    #[serde(rename = "energy_pkg")]
    EnergyPackage = "energy_pkg", "energy_pkg_uj", Microjoules;
    /// The same of the memory, microjoules.
    EnergyDram = "energy_dram", "energy_dram_uj", Microjoules;
    /// Peak memory of all processes of the run together, bytes: with page cache and the kernel's own on their behalf.
    MemoryPeak = "memory_peak", "memory_peak_bytes", Bytes;
    /// CPU time of all processes of the run, nanoseconds.
    TreeCpu = "tree_cpu", "tree_cpu_ns", Nanoseconds;
    /// Its part in user mode; with version 1 of control groups by the kernel's clock ticks, as the part in the kernel.
    TreeUser = "tree_user", "tree_user_ns", Nanoseconds;
    /// Its part in the kernel.
    TreeSystem = "tree_system", "tree_system_ns", Nanoseconds;
}

crate::words! {
    /// The unit of a metric's values.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Unit {
        /// Nanoseconds.
        Nanoseconds = "ns",
        /// Bytes.
        Bytes = "bytes",
        Count = "count",
        /// Microjoules.
        Microjoules = "uj",
    }
    /// Its name in reports and, as the last word, in the columns of exports.
    fn name;
}

/// Most bytes of what the host said when it could not be read; longer texts are cut where they enter.
pub const MAX_ABSENCE_BYTES: usize = 200;

crate::words! {
    /// Why a metric that was wanted has no value.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Absence {
        /// The host has no such counter, or no interface that knows it.
        Unsupported = "unsupported",
        /// The host has it, and the agent may not use it.
        NotPermitted = "not_permitted",
        /// It is not above what the agent itself uses, which the kernel counts as the program's.
        BelowFloor = "below_floor",
        /// The host's counters had to take turns: what was counted is a part, and the whole would be a guess.
        Multiplexed = "multiplexed",
        /// The counter was there and never counted.
        NotCounted = "not_counted",
        /// The run lasted so long that the counter may have begun anew more than once.
        Wrapped = "wrapped",
        Unreadable {
            /// What was tried, and what the host said.
            reason: String,
        } = "unreadable",
    }
    /// Its code name in exports and reports.
    fn code(&self);
}

impl Absence {
    /// It in words, as they follow a colon.
    pub fn words(&self) -> String {
        match self {
            Self::Unsupported => "the host has no such counter".to_owned(),
            Self::NotPermitted => "the agent is not permitted to read it".to_owned(),
            Self::BelowFloor => "not above the agent's own".to_owned(),
            Self::Multiplexed => "the counters had to take turns; collect fewer of them at once".to_owned(),
            Self::NotCounted => "the host's counter did not count".to_owned(),
            Self::Wrapped => "the run was too long for the host's counter".to_owned(),
            Self::Unreadable { reason } => format!("it could not be read: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_plan_file_and_columns_end_in_the_unit() {
        for metric in Metric::ALL {
            assert_eq!(serde_json::to_value(metric).unwrap(), metric.name());
            let expected = match metric.unit() {
                Unit::Count => metric.name().to_owned(),
                unit @ (Unit::Nanoseconds | Unit::Bytes | Unit::Microjoules) => {
                    format!("{}_{}", metric.name(), unit.name())
                }
            };
            assert_eq!(metric.column(), expected);
        }
        assert!(Metric::ALL.is_sorted());
    }
}
