//! Whole-system tests over simulated hosts with addresses, boots and disks of their own. What is asserted is what the
//! checker finds in an export; the rest only waits for moments.
//!
//! It is not part of the normal test run, for it wants root, iproute2, nftables, a C compiler and libfaketime. The tests mostly wait, so
//! that many can run at once:
//!
//!     cargo test -p speedup-tests --test cluster -- --test-threads=8

mod certificates;
mod clocks;
mod scenario;

use speedup_tests::cluster::Site;

/// The command under test.
const SPEEDUP: &str = env!("CARGO_BIN_EXE_speedup-under-test");

/// Each scenario under a policy, as a module of tests. It is named by its plan's word for it.
macro_rules! under_policy {
    ($($policy:ident)*) => {$(
        mod $policy {
            under_policy!(@ $policy:
                undisturbed
                power_cuts
                hung_hosts
                long_partitions
                a_report_in_a_short_partition
                bad_cables
                the_coordinator_dies_amid_faults
                a_reboot_in_mid_run
            );
            clocks_of_hosts!($policy: clocks_step_in_mid_run clocks_step_beyond_the_certificates);
        }
    )*};
    (@ $policy:ident: $($scenario:ident)*) => {$(
        #[test]
        fn $scenario() {
            let scenario = crate::scenario::$scenario;
            scenario(&mut crate::site(stringify!($policy)));
        }
    )*};
}

/// Scenarios of hosts whose wall clocks step.
macro_rules! clocks_of_hosts {
    ($policy:ident: $($scenario:ident)*) => {$(
        #[test]
        fn $scenario() {
            let policy = stringify!($policy);
            crate::clocks::$scenario(&mut crate::Site::start_with_clocks(crate::SPEEDUP, policy, crate::HOSTS));
        }
    )*};
}

under_policy! {
    distinct
    rebooted
    reallocated
    rested
    any
}

/// What hosts do between runs to be fresh again.
mod again {
    use crate::scenario;

    #[test]
    fn hosts_reboot_between_runs() {
        scenario::hosts_reboot_between_runs(&crate::few("rebooted"));
    }

    #[test]
    fn hosts_are_given_out_anew_between_runs() {
        scenario::hosts_are_given_out_anew_between_runs(&crate::few("reallocated"));
    }

    #[test]
    fn hosts_rest_between_runs() {
        scenario::hosts_rest_between_runs(&crate::few("rested"));
    }

    #[test]
    fn a_host_that_does_not_come_back_from_its_reboot_is_given_up() {
        scenario::a_lost_reboot(&mut crate::Site::start(crate::SPEEDUP, "rebooted", 1));
    }
}

/// Fewer hosts than a plan has runs of a benchmark.
fn few(policy: &'static str) -> Site {
    Site::start(SPEEDUP, policy, 2)
}

/// Hosts of a scenario: with up to six runs of a benchmark there are two to spare under policy `distinct`.
const HOSTS: usize = 8;

fn site(policy: &'static str) -> Site {
    Site::start(SPEEDUP, policy, HOSTS)
}
