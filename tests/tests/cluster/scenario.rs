//! The scenarios, each for any policy.

use std::collections::BTreeSet;

use speedup_tests::checker::{Row, Verdict};
use speedup_tests::cluster::{Cut, Gate, Host, Plan, Site};
use speedup_tests::pool::eventually;

/// Twelve runs, four of a benchmark: all hosts have something to do at first, and each benchmark has hosts to spare.
const HELD: Plan = Plan { benchmarks: 3, runs: 2, timeout: "5m", gate: Gate::Closed };

/// How long hosts have to come back where it matters that they do, however busy this machine is.
const BOOTS_WITHIN: &str = "1m";

/// Nothing happens: each run is measured at its first attempt. Under `distinct` no host is left over.
pub(crate) fn undisturbed(site: &mut Site) {
    let experiment = site.submit(Plan { runs: 4, gate: Gate::Open, ..HELD });
    let verdict = site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    let logs = site.hosts.iter().map(Host::logged);
    for log in logs {
        assert!(!log.contains("WARN") && !log.contains("ERROR"), "unexpected trouble in a log:\n{log}");
    }
}

/// The power of two hosts is cut, of one in mid-run, of the other while it is idle, so that its grant goes into the void.
/// Nobody is told; both are noticed, and others do their runs.
pub(crate) fn power_cuts(site: &mut Site) {
    let [idle, busy, ..] = &site.hosts[..] else { panic!("two hosts") };
    idle.crash();
    let experiment = site.submit(HELD);
    site.wait_for_begin(busy);
    site.wait_until_leased(idle);
    busy.crash();
    for host in [idle, busy] {
        site.wait_until_given_up(host);
    }
    site.open_gate();
    [idle, busy].into_iter().for_each(Host::boot);
    let verdict = site.finish(&experiment);
    for host in [idle, busy] {
        assert_lost_to_others(&verdict, host, "host_lost");
    }
}

/// Two hosts hang across the deadline of their leases, one in mid-run, the other before it has heard of its grant. Others do
/// their runs; when they go on, what they report is kept as late.
pub(crate) fn hung_hosts(site: &mut Site) {
    let [idle, busy, ..] = &site.hosts[..] else { panic!("two hosts") };
    idle.freeze();
    let experiment = site.submit(Plan { timeout: "15s", ..HELD });
    site.wait_for_begin(busy);
    busy.freeze();
    site.open_gate();
    for host in [idle, busy] {
        site.wait_until_given_up(host);
    }
    let verdict = site.finish(&experiment);
    for host in [idle, busy] {
        assert_lost_to_others(&verdict, host, "lease_expired");
    }
    [idle, busy].into_iter().for_each(Host::thaw);
    eventually("the late reports are kept", || (site.check(&experiment).late().count() == 2).then_some(()));
    let report = site.report(&experiment);
    assert!(report.contains("2 reports too late"), "the user is told: {report}");
}

/// Four hosts cannot be reached for longer than the coordinator waits: both ways, both ways while their report is under
/// way, and each way alone. Others do their runs; when the hosts are back, what they report is kept as late.
pub(crate) fn long_partitions(site: &mut Site) {
    let cut = &site.hosts[..4];
    let experiment = site.submit(HELD);
    cut.iter().for_each(|host| site.wait_for_begin(host));
    for (host, way) in cut.iter().zip([Cut::Both, Cut::Both, Cut::In, Cut::Out]) {
        host.cut(way);
    }
    site.open_gate_for(&cut[0]);
    cut.iter().for_each(|host| site.wait_until_given_up(host));
    site.open_gate();
    let verdict = site.finish(&experiment);
    for host in cut {
        assert_lost_to_others(&verdict, host, "host_lost");
    }
    cut.iter().for_each(Host::heal);
    eventually("the late reports are kept", || (site.check(&experiment).late().count() == 4).then_some(()));
}

/// A run ends and is reported while its host cannot be reached: nothing is lost when that does not last.
pub(crate) fn a_report_in_a_short_partition(site: &mut Site) {
    let experiment = site.submit(HELD);
    let cut = &site.hosts[..3];
    cut.iter().for_each(|host| site.wait_for_begin(host));
    for (host, way) in cut.iter().zip([Cut::Both, Cut::In, Cut::Out]) {
        host.cut(way);
    }
    site.open_gate();
    cut.iter().for_each(|host| site.wait_for_end(host));
    cut.iter().for_each(Host::heal);
    let verdict = site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
}

/// A third of all packets is lost each way, half of all that want an answer, and one host has a slow cable.
pub(crate) fn bad_cables(site: &mut Site) {
    let (slow, lossy) = site.hosts.split_last().expect("hosts");
    lossy.iter().for_each(|host| host.lose(30));
    slow.slow_down(64);
    let experiment = site.submit(Plan { gate: Gate::Open, ..HELD });
    site.finish(&experiment);
}

/// The coordinator is killed, twice, while hosts crash, hang, reboot, cannot be reached and lose packets; runs end while
/// it is away.
pub(crate) fn the_coordinator_dies_amid_faults(site: &mut Site) {
    site.pool.set_grace(BOOTS_WITHIN);
    let experiment = site.submit(HELD);
    for host in &site.hosts {
        site.wait_for_begin(host);
    }
    let [crashed, hung, cut, rebooted, lossy, ..] = &site.hosts[..] else { panic!("five hosts") };
    lossy.lose(30);
    hung.freeze();
    cut.cut(Cut::Both);
    crashed.crash();
    site.pool.kill_coordinator();
    rebooted.reboot();
    site.open_gate();
    site.wait_for_end(cut);
    site.pool.start_coordinator();
    let [crashed, hung, cut, ..] = &site.hosts[..] else { panic!("three hosts") };
    crashed.boot();
    site.pool.wait_for_hosts(3);
    cut.heal();
    hung.thaw();
    site.pool.kill_coordinator();
    site.pool.start_coordinator();
    let verdict = site.finish(&experiment);
    // Under policy `any` a host that is the only one to have come back to a new coordinator may try again itself.
    for host in [&site.hosts[0], &site.hosts[3]] {
        assert_lost(&verdict, host, site.loss_by_restart());
    }
}

/// Two hosts serve six runs of one benchmark, each in a boot of its own, which the coordinator asks for and their agents
/// bring about by their owner's command.
pub(crate) fn hosts_reboot_between_runs(site: &Site) {
    let experiment = site.submit(Plan { benchmarks: 1, runs: 3, timeout: "5m", gate: Gate::Open });
    let verdict = site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    let boots: BTreeSet<&str> = verdict.rows.iter().map(Row::boot).collect();
    assert_eq!(boots.len(), 6, "each run has a boot of its own: {boots:?}");
    let logs: Vec<String> = site.hosts.iter().map(Host::logged).collect();
    let reboots: usize = logs.iter().map(|log| log.matches("this host reboots").count()).sum();
    assert!(reboots >= 4, "the agents said that they reboot their hosts, and why: {logs:?}");
    assert!(logs.iter().all(|log| !log.contains("did not reboot")), "{logs:?}");
}

/// Two hosts serve six runs of one benchmark, each as another job of an engine, without any reboot.
pub(crate) fn hosts_are_given_out_anew_between_runs(site: &Site) {
    let experiment = site.submit(Plan { benchmarks: 1, runs: 3, timeout: "5m", gate: Gate::Open });
    for served in 1..=2 {
        // A host that has served in its job is given no other run, so that this ends none.
        site.hosts.iter().for_each(|host| site.wait_until_served(host, served));
        site.hosts.iter().for_each(|host| site.end_job(host));
    }
    let verdict = site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    let of_each = |of: fn(&Row) -> Option<&str>| -> BTreeSet<(&str, Option<&str>)> {
        verdict.rows.iter().map(|row| (row.host(), of(row))).collect()
    };
    let allocations = of_each(|row| row.allocation.as_deref());
    assert_eq!(allocations.len(), 6, "each run has an allocation of its own: {allocations:?}");
    assert!(
        allocations.iter().all(|(_, job)| job.is_some_and(|job| job.starts_with("slurm:"))),
        "{allocations:?}"
    );
    assert_eq!(of_each(|row| row.boot.as_deref()).len(), 2, "no host has booted anew");
}

/// Two hosts serve six runs of one benchmark, and rest in between.
pub(crate) fn hosts_rest_between_runs(site: &Site) {
    let experiment = site.submit(Plan { benchmarks: 1, runs: 3, timeout: "5m", gate: Gate::Open });
    let verdict = site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    let after_rest = verdict.rows.iter().filter(|row| row.idle_ns.is_some()).count();
    assert!(after_rest >= 4, "what the checker finds to be true is said of most: {verdict:?}");
}

/// The only host is asked to boot anew and does not come back: after the limit it is given up with the reason, and the plan
/// goes on once there is another.
pub(crate) fn a_lost_reboot(site: &mut Site) {
    site.pool.stop_coordinator();
    site.pool.set_reboot_limit("3s");
    site.pool.start_coordinator();
    site.pool.wait_for_hosts(1);
    // It boots, but nothing is started there any more.
    site.hosts[0].set_service("exit 0");
    let experiment = site.submit(Plan { benchmarks: 1, runs: 1, timeout: "5m", gate: Gate::Open });
    let reason = site.wait_for_quarantine(&site.hosts[0]);
    assert!(reason.contains("reboot"), "{reason}");
    site.add_host();
    let verdict = site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    let hosts: BTreeSet<&str> = verdict.rows.iter().map(Row::host).collect();
    assert_eq!(hosts.len(), 2, "each served once: {verdict:?}");
}

/// A host reboots by itself in mid-run. Another does the run; the host comes back in a new boot and serves other runs.
pub(crate) fn a_reboot_in_mid_run(site: &mut Site) {
    site.pool.stop_coordinator();
    site.pool.set_grace(BOOTS_WITHIN);
    site.pool.start_coordinator();
    site.pool.wait_for_hosts(site.hosts.len());
    // Whatever the host has held, most of the ten runs that wait are of other benchmarks.
    let experiment = site.submit(Plan { runs: 3, ..HELD });
    let host = &site.hosts[0];
    for host in &site.hosts {
        site.wait_for_begin(host);
    }
    site.forget_begin(host);
    host.reboot();
    site.wait_for_begin(host);
    site.open_gate();
    let verdict = site.finish(&experiment);
    assert_lost_to_others(&verdict, host, site.loss_by_restart());
    let id = host.id();
    let boots: BTreeSet<&str> =
        verdict.rows.iter().filter(|row| row.is_attempt() && row.host() == id).map(Row::boot).collect();
    assert_eq!(boots.len(), 2, "it served in two boots: {boots:?}");
}

/// Asserts that a host lost a run for this reason.
fn assert_lost(verdict: &Verdict, host: &Host, reason: &str) {
    let id = host.id();
    let mut lost = verdict.lost().filter(|row| row.host() == id);
    assert!(
        lost.any(|row| row.loss.as_deref() == Some(reason)),
        "{} lost a run by {reason}: {verdict:?}",
        host.name()
    );
}

/// The same, and that another host settled each run that it lost.
fn assert_lost_to_others(verdict: &Verdict, host: &Host, reason: &str) {
    assert_lost(verdict, host, reason);
    let id = host.id();
    for row in verdict.lost().filter(|row| row.host() == id) {
        let settled = verdict.settled(row.run).expect("the checker found it settled");
        assert_ne!(settled.host(), id, "{row} was lost, and another host settled it");
    }
}
