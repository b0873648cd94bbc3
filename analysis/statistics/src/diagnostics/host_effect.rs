//! Whether it matters on which host a run was made.
//!
//! * [`VarianceShare`]: the share of the variance that lies between hosts, with its test and interval;
//! * [`CellsAndHosts`]: the same seen over many cells at once;
//! * [`OutlyingHosts`]: hosts whose means are unlike those of the others, among hosts that differ;
//! * [`HostRanks`]: hosts whose runs are slower or faster than those of the others in the same cells, seen over many;
//! * [`ClusterHosts`]: whether the clusters of a mixture are hosts.

mod cells_and_hosts;
mod cluster_hosts;
mod host_ranks;
mod outlying_hosts;
mod permutation_law;
mod variance_share;

use crate::sample::Sample;
pub use cells_and_hosts::CellsAndHosts;
pub use cluster_hosts::{ClusterHosts, ClusterHostsError, ENOUGH_AS_LARGE, MOST_DRAWS, Shuffles};
pub use host_ranks::{HostRank, HostRanks};
pub use outlying_hosts::{HostVerdict, OutlyingHosts};
use serde::Serialize;
use std::collections::BTreeMap;
use thiserror::Error;
pub use variance_share::VarianceShare;

/// The runs of a cell by the hosts that made them.
#[derive(Clone, Debug)]
pub struct ByHost {
    /// In ascending order of the host.
    groups: Vec<HostRuns>,
    runs: usize,
    /// The largest distance from the mean of all runs, in the unit of the observations.
    scale: f64,
}

/// The runs of one host, as distances from the mean of all runs in units of the largest: the statistics do not
/// depend on unit and origin, and squares stay doubles.
#[derive(Clone, Debug)]
struct HostRuns {
    host: u32,
    deviations: Sample,
}

/// Why an effect of hosts cannot be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HostEffectError {
    #[error("{runs} runs and {hosts} hosts are named, but every run has one")]
    Unmatched { runs: usize, hosts: usize },
    #[error("this needs runs on at least {needed} hosts, but has {hosts}")]
    FewHosts { hosts: usize, needed: usize },
    /// No host made two runs, so nothing separates it from its run.
    #[error("no host made two runs, so host and run cannot be told apart")]
    Unrepeated,
    /// The spread that the method divides by is nothing.
    #[error("the runs do not vary within or between hosts")]
    Constant,
}

speedup_core::hints! { HostEffectError:
    Self::FewHosts { .. } => "add hosts to the pool",
    Self::Unrepeated => "let hosts make several runs of a cell (policy \"any\") in an experiment of its own",
    Self::Constant => "use a finer clock or a longer run",
}

impl ByHost {
    /// The runs of `sample`, each made by the host of the same position.
    ///
    /// # Errors
    /// [`HostEffectError`] when the lengths differ, or all runs are equal.
    pub fn new(sample: &Sample, hosts: &[u32]) -> Result<Self, HostEffectError> {
        if sample.len() != hosts.len() {
            return Err(HostEffectError::Unmatched { runs: sample.len(), hosts: hosts.len() });
        }
        let scale = (sample.max() - sample.mean()).max(sample.mean() - sample.min());
        if sample.is_constant() || scale <= 10.0 * f64::EPSILON * sample.mean().abs() {
            return Err(HostEffectError::Constant);
        }
        let mut by_host: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (host, value) in hosts.iter().zip(sample.in_run_order()) {
            by_host.entry(*host).or_default().push((value - sample.mean()) / scale);
        }
        let group = |(host, values)| Sample::new(values).ok().map(|deviations| HostRuns { host, deviations });
        let groups = by_host.into_iter().filter_map(group).collect();
        Ok(Self { groups, runs: sample.len(), scale })
    }

    /// The number of hosts.
    pub fn hosts(&self) -> usize {
        self.groups.len()
    }

    fn require_hosts(&self, needed: usize) -> Result<(), HostEffectError> {
        if self.hosts() < needed {
            return Err(HostEffectError::FewHosts { hosts: self.hosts(), needed });
        }
        Ok(())
    }
}
