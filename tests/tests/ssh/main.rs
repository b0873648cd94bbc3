//! Hosts that a coordinator reaches by a real ssh, over simulated hosts with an OpenSSH server each: the program is copied, agents are
//! kept running through all that happens to hosts, and nothing is left of them. What was measured is judged by the checker, from the
//! export alone.
//!
//! It wants what the tests over simulated hosts want, and Debian's openssh-server and openssh-client:
//!
//!     cargo test -p speedup-tests --test ssh -- --test-threads=4

mod gangs;
mod keeping;
mod refusals;
mod removing;
mod tunnel;

use speedup_tests::cluster::{Cluster, SshSite};

/// The command under test.
const SPEEDUP: &str = env!("CARGO_BIN_EXE_speedup-under-test");

/// A coordinator that so many hosts can reach.
fn site(policy: &'static str, hosts: usize) -> SshSite {
    SshSite::start(SPEEDUP, Cluster::address(), policy, hosts)
}
