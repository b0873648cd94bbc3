//! Agents are started and kept running.

use speedup_tests::cluster::{Cut, Gate, Plan};
use speedup_tests::pool::eventually;

use crate::site;

/// One benchmark in two versions, a run each, which wait until they may go on.
const TWO: Plan = Plan { benchmarks: 1, runs: 1, timeout: "1m", gate: Gate::Closed };

/// Three hosts are added and serve a plan; an agent is killed in mid-run, a host boots anew and another is cut off: each serves again
/// without anybody's help, and what was lost is repeated.
#[test]
fn agents_are_started_and_kept_running() {
    let on = site("distinct", 3);
    on.add(&[]);
    let [first, second, third] = &on.site.hosts[..] else { panic!("three hosts") };
    for host in &on.site.hosts {
        let shown = on.wait_until_serving(host, 1);
        assert_eq!((&shown["starts"], &shown["error"]), (&1.into(), &serde_json::Value::Null), "{shown}");
    }

    let experiment = on.site.submit(TWO);
    let busy = eventually("a run begins", || on.site.hosts.iter().find(|host| on.site.has_begun(host)));
    on.kill_agent(busy);
    let shown = on.wait_until_serving(busy, 2);
    assert!(shown["error"].as_str().is_some_and(|error| error.contains("its agent ended")), "{shown}");
    on.site.open_gate();
    let verdict = on.site.finish(&experiment);
    assert!(verdict.lost().any(|row| row.host() == busy.address()), "{verdict:?}");

    let starts = |host| on.wait_until_serving(host, 1)["starts"].as_u64().expect("a number");
    let (before, untouched) = (starts(second), starts(third));
    second.reboot();
    on.wait_until_serving(second, before + 1);
    third.cut(Cut::Both);
    eventually("it is missed", || (on.shown(third)?["state"] != "serving").then_some(()));
    third.heal();
    on.wait_until_serving(third, untouched);
    assert_eq!(starts(third), untouched, "an agent that goes on is not started again");

    on.wait_until_serving(first, 1);
    let experiment = on.site.submit(Plan { gate: Gate::Open, ..TWO });
    on.site.finish(&experiment);
}

/// A coordinator that was killed keeps its hosts at the next start: agents that went on are taken as they are.
#[test]
fn hosts_stay_over_a_restart_of_the_coordinator() {
    let mut on = site("any", 1);
    on.add(&[]);
    let experiment = on.site.submit(TWO);
    on.site.wait_for_begin(&on.site.hosts[0]);
    on.site.pool.kill_coordinator();
    on.site.pool.start_coordinator();
    // An agent that measures is silent until its run has ended. Meanwhile it is looked at, and left alone.
    let host = &on.site.hosts[0];
    eventually("it is looked at", || (on.shown(host)?["state"] == "starting").then_some(()));
    on.site.open_gate();
    let verdict = on.site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    let shown = on.wait_until_serving(host, 0);
    assert_eq!(shown["starts"], 0, "its agent went on: {shown}");
}

/// A program that lost its right to be executed, as one that is gone, is copied again when an agent has to be started.
#[test]
fn a_program_that_cannot_be_executed_is_copied_again() {
    let on = site("any", 1);
    on.add(&[]);
    let host = &on.site.hosts[0];
    host.enter("chmod -x /var/lib/speedup-cluster/own/ssh/bin/*/speedup");
    on.kill_agent(host);
    on.wait_until_serving(host, 2);
}
