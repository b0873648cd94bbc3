//! The statement on independence: true where it is true, and broken by a single run that found no fresh host.

use super::{codes, synthetic::Synthetic};
use crate::study::*;
use speedup_core::{fingerprint::HardwareId, independence::Violation, machine::event::EndedAttempt};

fn plan(policy: &str, scope: &str, more: &str) -> Synthetic {
    let independence = format!("[independence]\npolicy = \"{policy}\"\nscope = \"{scope}\"\n");
    Synthetic::new(1, 2, 12, &(independence + more))
}

fn said(synthetic: &Synthetic) -> IndependenceReport {
    synthetic.report().independence
}

#[test]
fn hosts_that_booted_before_each_run_are_renewed_and_one_that_did_not_is_named() {
    for (policy, violation) in
        [("rebooted", Violation::NotRebooted), ("reallocated", Violation::NotReallocated)]
    {
        let kept = said(&plan(policy, "experiment", "").in_turn(6, None));
        assert_eq!(
            (kept.kind, kept.runs, kept.hosts, kept.fresh_runs),
            (IndependenceKind::Renewed, 24, 6, 24)
        );
        assert_eq!((kept.evidence.boots, kept.evidence.allocations, kept.evidence.visits), (24, 24, 24));
        assert!(kept.evidence.violating_runs.is_empty() && kept.sentence.contains("24 runs on 6 hosts"));
        let report = plan(policy, "experiment", "").in_turn(6, Some(13)).report();
        let broken = &report.independence;
        assert_eq!((broken.kind, broken.fresh_runs), (IndependenceKind::Broken, 23), "{policy}");
        let run = &broken.evidence.violating_runs[..];
        assert_eq!(
            run,
            [ViolatingRun { run: 13, attempt: 1, host: "host-1".to_owned(), host_name: None, violation }]
        );
        assert!(broken.sentence.contains("The host of run 13, host-1, "), "{}", broken.sentence);
        assert!(codes(&report).contains(&"independence_broken"));
    }
}

#[test]
fn hosts_that_serve_once_are_fresh_by_every_policy() {
    for policy in ["distinct", "rebooted", "reallocated", "rested", "any"] {
        for scope in ["benchmark", "experiment", "cell"] {
            let found = said(&plan(policy, scope, "").visits());
            let expected = (IndependenceKind::Provided, 24, 24);
            assert_eq!((found.kind, found.hosts, found.fresh_runs), expected, "{policy} {scope}");
            assert!(found.sentence.contains("24 hosts"), "{}", found.sentence);
        }
    }
}

/// The lease alone does not say so here: a coordinator that counted wrongly would be found out.
#[test]
fn a_host_that_served_twice_is_seen_in_the_attempts_themselves() {
    let broken = said(&plan("distinct", "experiment", "").shared_between_versions());
    assert_eq!((broken.kind, broken.fresh_runs), (IndependenceKind::Broken, 12));
    assert_eq!(broken.evidence.violations, [(Violation::HostUsed, 12)].into_iter().collect());
    let within = said(&plan("distinct", "cell", "").shared_between_versions());
    assert_eq!((within.kind, within.evidence.hosts_of_several_versions), (IndependenceKind::WithinCells, 12));
}

#[test]
fn rest_is_counted_from_the_end_of_the_run_before() {
    let rest = "rest = { idle = \"10s\" }\n";
    let short = said(&plan("rested", "experiment", rest).hosts(1).idle(9));
    assert_eq!((short.kind, short.fresh_runs), (IndependenceKind::Broken, 1));
    assert_eq!(short.evidence.violations, [(Violation::NotRested, 23)].into_iter().collect());
    let long = said(&plan("rested", "experiment", rest).hosts(1).idle(10));
    assert_eq!((long.kind, long.fresh_runs), (IndependenceKind::Renewed, 24));
}

#[test]
fn a_bound_without_a_reading_is_not_kept() {
    let asked = said(&plan("rested", "experiment", "rest = { load = 0.5 }\n").visits());
    assert_eq!(asked.kind, IndependenceKind::Broken);
    assert_eq!(asked.evidence.violations, [(Violation::NoReadings, 24)].into_iter().collect());
}

#[test]
fn visits_are_fresh_as_a_whole_and_boots_within_them_are_seen() {
    let nested = || {
        Synthetic::nested(1, 2, "hosts = 4\nboots = 2\nruns = 3\n", "[independence]\npolicy = \"distinct\"\n")
    };
    let found = said(&nested().visits());
    assert_eq!((found.kind, found.fresh_runs, found.runs), (IndependenceKind::Levels, 48, 48));
    assert_eq!((found.hosts, found.evidence.visits, found.evidence.boots), (8, 8, 16));
    let broken = said(&nested().visits_without_boots());
    assert_eq!(broken.kind, IndependenceKind::Broken);
    assert_eq!(broken.evidence.violations, [(Violation::BootKept, 24)].into_iter().collect());
}

/// What is said of a synthetic experiment whose attempts are changed, with the codes of its caveats.
fn said_of(synthetic: &Synthetic, change: impl Fn(&mut EndedAttempt)) -> (IndependenceReport, Vec<String>) {
    let mut attempts = synthetic.attempts();
    attempts.iter_mut().for_each(change);
    let report = synthetic.study_of(&attempts).report(None).unwrap();
    let codes = codes(&report).into_iter().map(ToString::to_string).collect();
    (report.independence, codes)
}

fn hardware(serial: u32) -> Option<HardwareId> {
    HardwareId::from_marks([("serial", serial.to_string().as_str())])
}

#[test]
fn hosts_in_one_boot_or_of_one_hardware_are_one_machine() {
    let fresh = || plan("distinct", "experiment", "").visits();
    let apart = said_of(&fresh(), |attempt| attempt.lease.evidence.machine = hardware(attempt.lease.run.0)).0;
    assert_eq!((apart.kind, apart.evidence.machines), (IndependenceKind::Provided, 24));

    let boot = |attempt: &mut EndedAttempt| attempt.lease.evidence.boot = "one".parse().unwrap();
    let serial = |attempt: &mut EndedAttempt| attempt.lease.evidence.machine = hardware(0);
    for change in [boot, serial] {
        let (one, codes) = said_of(&fresh(), change);
        assert_eq!((one.kind, one.hosts, one.fresh_runs), (IndependenceKind::SharedMachine, 24, 24));
        assert_eq!((one.evidence.machines, one.evidence.most_hosts_on_one_machine), (1, 24));
        assert!(one.sentence.contains("one machine"), "{}", one.sentence);
        assert!(codes.contains(&"independence_not_provided".to_owned()), "{codes:?}");
    }
}

/// Runs 0 and 1 share a boot, 1 and 2 hardware: all three are one machine. One such machine is enough.
#[test]
fn what_two_hosts_share_with_a_third_they_share() {
    let (some, _) = said_of(&plan("distinct", "experiment", "").visits(), |attempt| {
        let run = attempt.lease.run.0;
        if run < 2 {
            attempt.lease.evidence.boot = "shared".parse().unwrap();
        }
        attempt.lease.evidence.machine = hardware(if run == 1 { 2 } else { run });
    });
    assert_eq!(some.kind, IndependenceKind::SharedMachine);
    assert_eq!((some.evidence.machines, some.evidence.most_hosts_on_one_machine), (22, 3));
    assert!(some.sentence.contains("22 machines"), "{}", some.sentence);
}
