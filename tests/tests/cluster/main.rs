//! Whole-system tests over simulated hosts with addresses, boots and disks of their own. What is asserted is what the
//! checker finds in an export; the rest only waits for moments.
//!
//! It is not part of the normal test run, for it wants root, iproute2, nftables and a C compiler. The tests mostly wait, so
//! that many can run at once:
//!
//!     cargo test -p speedup-tests --features cluster --test cluster -- --test-threads=8

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

under_policy! {
    distinct
    any
}

/// Hosts of a scenario: with up to six runs of a benchmark there are two to spare under policy `distinct`.
const HOSTS: usize = 8;

fn site(policy: &'static str) -> Site {
    Site::start(SPEEDUP, policy, HOSTS)
}
