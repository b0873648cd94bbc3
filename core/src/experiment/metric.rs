//! Metrics: what may be measured of a run, in which unit, by which of the host's interfaces, and why a metric that was
//! wanted may have no value.
//!
//! There are those that every agent knows ([`Metric`]), one value a run, a whole number; and those that a plan adds
//! ([`OwnMetric`]), whose values the program writes, as many as it iterates.

mod own;
mod pointer;

pub use own::{
    Better, MAX_OWN_METRICS, MAX_OWN_UNIT_BYTES, MAX_PATTERN_BYTES, MAX_READ_BYTES, MAX_SERIES_VALUES,
    OwnMetric, OwnMetricError, Pattern, Stream, Tool, ValueError, Wanted,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is measured in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Exec to exit, nanoseconds of the monotonic clock.
    Wall,
    /// CPU time in user mode, nanoseconds.
    User,
    /// CPU time in the kernel, nanoseconds.
    System,
    /// Peak resident memory, bytes.
    MaxRss,
    /// Page faults without I/O.
    MinorFaults,
    /// Page faults with I/O.
    MajorFaults,
    /// Context switches the program asked for by waiting.
    VoluntarySwitches,
    /// Context switches the program did not ask for.
    InvoluntarySwitches,
    /// Blocks of 512 bytes read.
    BlockReads,
    /// Blocks of 512 bytes written.
    BlockWrites,
    /// Instructions retired by the program and all that it starts.
    Instructions,
    /// CPU cycles, as many as the clock ticked.
    Cycles,
    /// Accesses to the last level of cache.
    CacheReferences,
    /// Those that missed it.
    CacheMisses,
    /// Branch instructions retired.
    Branches,
    /// Those that were predicted wrongly.
    BranchMisses,
    /// Time on a CPU by the scheduler's clock, nanoseconds: all that the program starts, waited for or not.
    TaskClock,
    /// Moves from one CPU to another.
    CpuMigrations,
    /// Energy of all CPU packages of the host while the run lasted, microjoules: whatever else runs there is in it.
    #[serde(rename = "energy_pkg")]
    EnergyPackage,
    /// The same of the memory, microjoules.
    EnergyDram,
    /// Peak memory of all processes of the run together, bytes: with page cache and the kernel's own on their behalf.
    MemoryPeak,
    /// CPU time of all processes of the run, nanoseconds.
    TreeCpu,
    /// Its part in user mode; with version 1 of control groups by the kernel's clock ticks, as the part in the kernel.
    TreeUser,
    /// Its part in the kernel.
    TreeSystem,
}

/// The unit of a metric's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    Count,
    /// Microjoules.
    Microjoules,
}

impl Metric {
    /// All of them, in the order of tables and exports.
    pub const ALL: [Self; 24] = [
        Self::Wall,
        Self::User,
        Self::System,
        Self::MaxRss,
        Self::MinorFaults,
        Self::MajorFaults,
        Self::VoluntarySwitches,
        Self::InvoluntarySwitches,
        Self::BlockReads,
        Self::BlockWrites,
        Self::Instructions,
        Self::Cycles,
        Self::CacheReferences,
        Self::CacheMisses,
        Self::Branches,
        Self::BranchMisses,
        Self::TaskClock,
        Self::CpuMigrations,
        Self::EnergyPackage,
        Self::EnergyDram,
        Self::MemoryPeak,
        Self::TreeCpu,
        Self::TreeUser,
        Self::TreeSystem,
    ];

    /// The name in plan files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::User => "user",
            Self::System => "system",
            Self::MaxRss => "max_rss",
            Self::MinorFaults => "minor_faults",
            Self::MajorFaults => "major_faults",
            Self::VoluntarySwitches => "voluntary_switches",
            Self::InvoluntarySwitches => "involuntary_switches",
            Self::BlockReads => "block_reads",
            Self::BlockWrites => "block_writes",
            Self::Instructions => "instructions",
            Self::Cycles => "cycles",
            Self::CacheReferences => "cache_references",
            Self::CacheMisses => "cache_misses",
            Self::Branches => "branches",
            Self::BranchMisses => "branch_misses",
            Self::TaskClock => "task_clock",
            Self::CpuMigrations => "cpu_migrations",
            Self::EnergyPackage => "energy_pkg",
            Self::EnergyDram => "energy_dram",
            Self::MemoryPeak => "memory_peak",
            Self::TreeCpu => "tree_cpu",
            Self::TreeUser => "tree_user",
            Self::TreeSystem => "tree_system",
        }
    }

    /// The column of an export: the name, with the unit as its last word unless events are counted.
    pub const fn column(self) -> &'static str {
        match self {
            Self::Wall => "wall_ns",
            Self::User => "user_ns",
            Self::System => "system_ns",
            Self::MaxRss => "max_rss_bytes",
            Self::TaskClock => "task_clock_ns",
            Self::EnergyPackage => "energy_pkg_uj",
            Self::EnergyDram => "energy_dram_uj",
            Self::MemoryPeak => "memory_peak_bytes",
            Self::TreeCpu => "tree_cpu_ns",
            Self::TreeUser => "tree_user_ns",
            Self::TreeSystem => "tree_system_ns",
            Self::MinorFaults
            | Self::MajorFaults
            | Self::VoluntarySwitches
            | Self::InvoluntarySwitches
            | Self::BlockReads
            | Self::BlockWrites
            | Self::Instructions
            | Self::Cycles
            | Self::CacheReferences
            | Self::CacheMisses
            | Self::Branches
            | Self::BranchMisses
            | Self::CpuMigrations => self.name(),
        }
    }

    /// The unit of its values.
    pub const fn unit(self) -> Unit {
        match self {
            Self::Wall
            | Self::User
            | Self::System
            | Self::TaskClock
            | Self::TreeCpu
            | Self::TreeUser
            | Self::TreeSystem => Unit::Nanoseconds,
            Self::MaxRss | Self::MemoryPeak => Unit::Bytes,
            Self::EnergyPackage | Self::EnergyDram => Unit::Microjoules,
            Self::MinorFaults
            | Self::MajorFaults
            | Self::VoluntarySwitches
            | Self::InvoluntarySwitches
            | Self::BlockReads
            | Self::BlockWrites
            | Self::Instructions
            | Self::Cycles
            | Self::CacheReferences
            | Self::CacheMisses
            | Self::Branches
            | Self::BranchMisses
            | Self::CpuMigrations => Unit::Count,
        }
    }
}

impl Unit {
    /// Its name in reports and, as the last word, in the columns of exports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Bytes => "bytes",
            Self::Count => "count",
            Self::Microjoules => "uj",
        }
    }
}

/// Most bytes of what the host said when it could not be read; longer texts are cut where they enter.
pub const MAX_ABSENCE_BYTES: usize = 200;

/// Why a metric that was wanted has no value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Absence {
    /// The host has no such counter, or no interface that knows it.
    Unsupported,
    /// The host has it, and the agent may not use it.
    NotPermitted,
    /// It is not above what the agent itself uses, which the kernel counts as the program's.
    BelowFloor,
    /// The host's counters had to take turns: what was counted is a part, and the whole would be a guess.
    Multiplexed,
    /// The counter was there and never counted.
    NotCounted,
    /// The run lasted so long that the counter may have begun anew more than once.
    Wrapped,
    Unreadable {
        /// What was tried, and what the host said.
        reason: String,
    },
}

impl Absence {
    /// Its code name in exports and reports.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unsupported => "unsupported",
            Self::NotPermitted => "not_permitted",
            Self::BelowFloor => "below_floor",
            Self::Multiplexed => "multiplexed",
            Self::NotCounted => "not_counted",
            Self::Wrapped => "wrapped",
            Self::Unreadable { .. } => "unreadable",
        }
    }

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
