//! Whether it matters on which host a run was made.
//!
//! * [`CellsAndHosts`]: the share of the variance within many cells that lies between hosts, with its test;
//! * [`HostRanks`]: hosts whose runs are slower or faster than those of the others in the same cells, seen over many;
//! * [`ClusterHosts`]: whether the clusters of a mixture are hosts.

mod cells_and_hosts;
mod cluster_hosts;
mod host_ranks;
mod permutation_law;

pub use cells_and_hosts::CellsAndHosts;
pub use cluster_hosts::{ClusterHosts, ClusterHostsError, ENOUGH_AS_LARGE, MOST_DRAWS, Shuffles};
pub use host_ranks::{HostRank, HostRanks};
use serde::Serialize;
use thiserror::Error;

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
