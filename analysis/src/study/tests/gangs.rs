//! Runs on several hosts: which of the hosts are unlike the others, and whether sets of them are.

use super::synthetic::Synthetic;
use crate::{conclusion::ReasonCode, study::HostEffectReport, study::Report};
use speedup_core::value::seed::{Seed, shuffle};
use speedup_core::{experiment::metric::Metric, machine::event::AttemptEnd};
use std::sync::Arc;

const HOSTS: u32 = 3;

fn name(host: u32) -> String {
    format!("node-{host}")
}

/// Three benchmarks in two versions, each run on three of the hosts by `set`; those in which a host of `slow` took
/// part take a tenth longer.
fn report(set: &dyn Fn(u32) -> [u32; 3], slow: &[u32]) -> Report {
    let synthetic = Synthetic::new(3, 2, 16, "").of_ranks(HOSTS, 1);
    let mut study = synthetic.study();
    for mut ended in synthetic.with_parts(&|run, seat| Some(name(set(run)[seat as usize]))) {
        let is_slow = set(ended.lease.run.0).iter().any(|host| slow.contains(host));
        if let AttemptEnd::Reported(record) = &mut ended.end
            && let Some(wall) = Arc::make_mut(record).metrics.get_mut(&Metric::Wall)
        {
            *wall += if is_slow { *wall / 10 } else { 0 };
        }
        study.add(&ended).unwrap();
    }
    study.report(None).unwrap()
}

fn hosts(report: &Report) -> &HostEffectReport {
    &report.diagnostics.as_ref().unwrap().hosts
}

/// Three of so many hosts, drawn for each run.
fn drawn(run: u32, pool: u32) -> [u32; 3] {
    let mut of: Vec<u32> = (0..pool).collect();
    shuffle(&mut of, &mut Seed(5).child(&run.to_string()));
    [of[0], of[1], of[2]]
}

#[test]
fn a_slow_member_is_named_and_what_depends_on_it_is_told() {
    let report = report(&|run| drawn(run, 9), &[4]);
    let found = hosts(&report).outlying().expect("hosts were compared");
    let [slow] = &found.hosts[..] else { panic!("one host: {found:?}") };
    assert_eq!((slow.host.as_str(), found.compared, found.more), ("node-4", 9, 0));
    assert!((slow.slower_percent.unwrap() - 10.0).abs() < 1.0 && slow.difference > 1.0, "{slow:?}");
    assert!(slow.together.is_empty() && slow.adjusted < 1e-6, "{slow:?}");
    let runs = (0..96).filter(|run| drawn(*run, 9).contains(&4)).count() as u64;
    assert_eq!(slow.runs, runs, "all in which it took part, whatever its seat");
    assert_eq!(found.without.len(), 1);
    assert!(report.warnings.iter().any(|warning| warning.code.as_str() == "outlying_hosts"));
}

#[test]
fn alike_members_are_not_named() {
    let report = report(&|run| drawn(run, 9), &[]);
    assert!(hosts(&report).outlying().is_some_and(|found| found.compared == 9 && found.hosts.is_empty()));
}

#[test]
fn sets_of_hosts_that_serve_again_are_compared() {
    let sets = |run: u32| [0, 1, 2].map(|seat| 3 * (run % 5) + (run / 5 + seat) % 3);
    let slow = report(&sets, &[7]);
    let HostEffectReport::Tested { hosts: of, sets: Some(5), runs, share, test, outlying, .. } = hosts(&slow)
    else {
        panic!("sets served several runs: {:?}", hosts(&slow))
    };
    assert_eq!((*of, *runs), (15, 96));
    assert!(*share > 0.5 && test.adjusted < 1e-9, "{share} {test:?}");
    let [named] = &outlying.as_ref().unwrap().hosts[..] else { panic!("one: {outlying:?}") };
    assert_eq!((named.host.as_str(), &named.together), ("node-6", &vec![name(7), name(8)]));
    let said =
        &slow.warnings.iter().find(|warning| warning.code.as_str() == "outlying_hosts").unwrap().sentence;
    assert!(["node-6", "node-7", "node-8"].iter().all(|name| said.contains(name)), "{said}");
    let HostEffectReport::Tested { test, .. } = hosts(&report(&sets, &[])).clone() else { panic!("tested") };
    assert!(test.adjusted > 0.05, "{test:?}");
}

/// Of sets that never serve again nothing is said, of their hosts it is.
#[test]
fn sets_that_served_once_say_nothing_and_their_hosts_do() {
    // 7, 11 and 13 have no divisor in common, so no set comes again before run 1001.
    let once = report(&|run| [run % 7, 7 + run % 11, 18 + run % 13], &[3]);
    let HostEffectReport::NotTested { reason, outlying: Some(found) } = hosts(&once) else {
        panic!("{:?}", hosts(&once))
    };
    assert_eq!(reason.code, ReasonCode::HostServedOnce);
    assert!(reason.sentence.contains("set of hosts"), "{}", reason.sentence);
    assert_eq!(found.hosts.iter().map(|host| host.host.as_str()).collect::<Vec<_>>(), ["node-3"]);
}
