//! What was planned, as the plan file says it. Not what a population or an extension makes of it: those the checker does
//! not read.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, de::IgnoredAny};

#[derive(Debug)]
pub(super) struct Planned {
    /// Benchmark and version of each cell.
    pub(super) cells: BTreeSet<(String, String)>,
    /// Runs of each cell.
    pub(super) repetitions: u32,
    /// Whether it repeats over hosts. One run of each visit: more of them would be one use of their host, which the rules of
    /// the policies do not know.
    pub(super) is_nested: bool,
    /// When a host may take a run.
    pub(super) policy: String,
    /// Within what a host counts as used.
    pub(super) scope: String,
    /// How long a host rests before each run, under the policy `rested`.
    pub(super) idle_ns: Option<u64>,
    /// Attempts that a run may have.
    pub(super) attempts: u32,
}

#[derive(Deserialize)]
struct File {
    versions: BTreeMap<String, IgnoredAny>,
    benchmarks: BTreeMap<String, IgnoredAny>,
    repetitions: Repetitions,
    #[serde(default)]
    independence: Independence,
    #[serde(default)]
    limits: Limits,
}

#[derive(Deserialize)]
struct Repetitions {
    runs: u32,
    hosts: Option<u32>,
}

#[derive(Default, Deserialize)]
struct Independence {
    policy: Option<String>,
    scope: Option<String>,
    rest: Option<Rest>,
}

#[derive(Deserialize)]
struct Rest {
    idle: Option<String>,
}

#[derive(Default, Deserialize)]
struct Limits {
    attempts: Option<u32>,
}

impl Planned {
    /// Reads a plan file.
    pub(super) fn read(text: &str) -> Result<Self, toml::de::Error> {
        let File { versions, benchmarks, repetitions, independence, limits } = toml::from_str(text)?;
        let of_benchmark = |benchmark: &String| {
            versions.keys().map(|version| (benchmark.clone(), version.clone())).collect()
        };
        Ok(Self {
            cells: benchmarks.keys().flat_map(|benchmark| -> Vec<_> { of_benchmark(benchmark) }).collect(),
            repetitions: repetitions.runs * repetitions.hosts.unwrap_or(1),
            is_nested: repetitions.hosts.is_some(),
            policy: independence.policy.unwrap_or_else(|| "distinct".to_owned()),
            scope: independence.scope.unwrap_or_else(|| "benchmark".to_owned()),
            idle_ns: independence.rest.and_then(|rest| nanoseconds(&rest.idle?)),
            attempts: limits.attempts.unwrap_or(3),
        })
    }

    /// How many runs there are.
    pub(super) fn runs(&self) -> u32 {
        self.cells.len() as u32 * self.repetitions
    }
}

/// A time in nanoseconds, milliseconds or seconds.
fn nanoseconds(text: &str) -> Option<u64> {
    let units = [("ns", 1), ("ms", 1_000_000), ("s", 1_000_000_000)];
    let of =
        |(unit, ns): (&str, u64)| text.strip_suffix(unit)?.trim().parse().ok().map(|count: u64| count * ns);
    units.into_iter().find_map(of)
}
