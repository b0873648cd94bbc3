//! Hosts from a real Slurm, over simulated hosts: a coordinator without privilege asks for nodes and gives them back,
//! through all that happens to jobs and nodes. What was measured is judged by the checker, from the export alone.
//!
//! It wants what the tests over simulated hosts want, and Slurm with its accounts. There is one Slurm a machine, so the tests take turns:
//!
//!     cargo test -p speedup-tests --test slurm -- --test-threads=1

mod allocation;
mod array;
mod asking;
mod bad_nodes;
mod faults;
mod forgetting;
mod gangs;
mod identity;
mod limits;
mod queues;
mod run_as;

use speedup_tests::cluster::{AfterNodeFailure, SlurmSite, Who};

/// The command under test.
const SPEEDUP: &str = env!("CARGO_BIN_EXE_speedup-under-test");

/// A coordinator of an ordinary user, and so many nodes.
fn site(policy: &'static str, nodes: usize) -> SlurmSite {
    SlurmSite::start(SPEEDUP, policy, nodes, Who::Nobody, AfterNodeFailure::Fail)
}
