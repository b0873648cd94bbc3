//! Wall clocks of hosts that step, forward and back, while their runs are timed and between runs.

use speedup_tests::checker::Verdict;
use speedup_tests::cluster::{Cut, Gate, Host, Plan, Site};
use speedup_tests::pool::eventually;

const DAY: i64 = 86_400;
/// Beyond every certificate of hosts and coordinator.
const YEARS: i64 = 3 * 365 * DAY;
/// An hour in nanoseconds: no run lasts as long, and every step is much longer.
const HOUR_NS: i128 = 3_600_000_000_000;

const HELD: Plan = Plan { benchmarks: 3, runs: 2, timeout: "5m", gate: Gate::Closed };

/// Two clocks step in mid-run, a day forward and a day back, and the other way round before the runs end. All runs are
/// measured at their first attempt, and none is a day long.
pub(crate) fn clocks_step_in_mid_run(site: &mut Site) {
    let [ahead, behind, ..] = &site.hosts[..] else { panic!("two hosts") };
    let experiment = site.submit(HELD);
    for (host, step) in [(ahead, DAY), (behind, -DAY)] {
        site.wait_for_begin(host);
        host.step_clock(step);
    }
    site.open_gate_for(ahead);
    site.open_gate_for(behind);
    [ahead, behind].into_iter().for_each(|host| site.wait_for_end(host));
    ahead.step_clock(-DAY);
    behind.step_clock(DAY);
    site.open_gate();
    let verdict = site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    assert_times_are_sound(&verdict);
    for host in [ahead, behind] {
        assert!(
            offsets(&verdict, host).iter().any(|offset| offset.abs() > HOUR_NS),
            "its clock stepped: {verdict:?}"
        );
    }
}

/// Clocks step beyond the validity of the certificates: a connection that stands goes on; a host that has to connect anew is
/// not let in by its own judgement, keeps its report, and hands it over when its clock is right again.
pub(crate) fn clocks_step_beyond_the_certificates(site: &mut Site) {
    let [ahead, behind, connected, ..] = &site.hosts[..] else { panic!("three hosts") };
    let experiment = site.submit(HELD);
    for (host, step) in [(ahead, YEARS), (behind, -DAY), (connected, YEARS)] {
        site.wait_for_begin(host);
        host.step_clock(step);
    }
    for host in [ahead, behind] {
        host.cut(Cut::Both);
        site.wait_until_given_up(host);
    }
    site.open_gate();
    [ahead, behind].into_iter().for_each(|host| site.wait_for_end(host));
    [ahead, behind].into_iter().for_each(Host::heal);
    for (host, words) in [(ahead, "certificate expired"), (behind, "certificate not valid yet")] {
        eventually("it says why it is not let in", || host.logged().contains(words).then_some(()));
    }
    let verdict = site.finish(&experiment);
    assert_eq!(verdict.late().count(), 0, "what they have to report is with them: {verdict:?}");
    for host in [ahead, behind] {
        assert!(
            verdict.lost().any(|row| row.host() == host.id()),
            "{} lost its run: {verdict:?}",
            host.name()
        );
        host.step_clock(0);
    }
    assert!(!verdict.lost().any(|row| row.host() == connected.id()), "nothing happened to it: {verdict:?}");
    eventually("the late reports are kept", || (site.check(&experiment).late().count() == 2).then_some(()));
    assert_times_are_sound(&site.check(&experiment));
}

/// Whatever the clocks of hosts say, no run took longer than the test.
fn assert_times_are_sound(verdict: &Verdict) {
    for row in verdict.rows.iter().filter(|row| row.counts || row.is_late()) {
        let wall = i128::from(row.wall_ns.expect("a time"));
        assert!((1..HOUR_NS).contains(&wall), "{row} took {wall} ns");
    }
}

/// By how many nanoseconds the clock of a host was ahead when its runs began.
fn offsets(verdict: &Verdict, host: &Host) -> Vec<i128> {
    let rows = verdict.rows.iter().filter(|row| row.is_attempt() && row.host() == host.id());
    rows.filter_map(|row| Some(i128::from(row.host_clock_ns?) - i128::from(row.granted_ns?))).collect()
}
