//! Agents are started and kept running.

use std::collections::BTreeSet;

use speedup_tests::checker::Row;
use speedup_tests::cluster::{Cut, Gate, Host, Plan};
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

/// Two hosts serve four runs of one benchmark, each in a boot of its own: agents boot their hosts by the owner's command, and are started
/// again after each boot. The event log has who added the hosts, and each start of an agent.
#[test]
fn hosts_boot_anew_between_runs() {
    let on = site("rebooted", 2);
    on.add(&["--reboot-command", &Host::reboot_program().display().to_string()]);
    let experiment = on.site.submit(Plan { runs: 2, gate: Gate::Open, ..TWO });
    let verdict = on.site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    let boots: BTreeSet<&str> = verdict.rows.iter().map(Row::boot).collect();
    assert_eq!(boots.len(), 4, "each run has a boot of its own: {boots:?}");
    for host in &on.site.hosts {
        let shown = on.wait_until_serving(host, 1);
        assert_eq!(
            shown["error"],
            serde_json::Value::Null,
            "a boot that a plan asks for is no failure: {shown}"
        );
        let events = on.site.pool.json(&["events", "--limit", "0"]).expect("events");
        let about = |what: &str| {
            let events = events.as_array().into_iter().flatten();
            let about = events.filter(|event| event["what"] == what && event["host"] == host.address());
            about.map(|event| event["words"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
        };
        let [added] = &about("host added by ssh")[..] else { panic!("{events}") };
        assert!(added.starts_with(&format!("root@{}", host.address())), "{added}");
        assert!(added.contains(", rebooted by "), "{added}");
        let started = about("agent started by ssh");
        assert_eq!(started.len() as u64, shown["starts"].as_u64().expect("a number"), "{started:?}");
        let (last, booted) = started.split_last().expect("the first start, in a log that is newest first");
        assert_eq!(last, "there was none");
        assert!(booted.iter().all(|why| why == "its host booted anew"), "{started:?}");
    }
}
