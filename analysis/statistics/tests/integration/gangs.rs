//! What is said of the ranks, hosts and switches of runs on several hosts: against scipy (`gangs/reference.py`, scipy
//! 1.17.1), laws, and false alarms by simulation.

#[path = "gangs/members.rs"]
mod members;
#[path = "gangs/placement.rs"]
mod placement;
#[path = "gangs/ranks.rs"]
mod ranks;

fn assert_close(got: f64, expected: f64, what: &str) {
    assert!((got - expected).abs() <= 1e-11 * expected.abs(), "{what}: got {got:e}, expected {expected:e}");
}
