//! Hosts that cannot reach the coordinator.

use std::net::Ipv4Addr;

use speedup_tests::cluster::{Gate, Plan, SshHostKeys, SshKey, SshSite};

use crate::SPEEDUP;

/// A coordinator on loopback is reached through ssh, also when it was killed and has started again: no tunnel of before is in the way.
#[test]
fn a_coordinator_on_loopback_is_reached_by_a_tunnel() {
    let mut on = SshSite::start(SPEEDUP, Ipv4Addr::LOCALHOST.into(), "distinct", 2);
    let address = on.site.hosts[0].address();
    let output = on.try_to_add(&[&address], SshKey::Known, SshHostKeys::Known);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("no other host"), "{said}");
    assert!(said.contains("--tunnel"), "{said}");

    on.add(&["--tunnel"]);
    let two = Plan { benchmarks: 1, runs: 1, timeout: "1m", gate: Gate::Open };
    let experiment = on.site.submit(two);
    on.site.finish(&experiment);
    on.site.pool.kill_coordinator();
    on.site.pool.start_coordinator();
    on.site.hosts.iter().for_each(|host| drop(on.wait_until_serving(host, 0)));
    let experiment = on.site.submit(two);
    on.site.finish(&experiment);
}
