//! What was seen of the hosts beside the runs: the canary, and hosts that were taken out of service.

use super::{codes, sentence, synthetic::Synthetic};
use crate::{study::validity::canary::Canary, study::*};
use rand::RngExt as _;
use speedup_core::run::record::{Outcome, Record};
use speedup_core::value::{id::LeaseEpoch, seed::Seed, time::Span, time::Timestamp};
use speedup_core::{host::Exclusion, host::ExclusionCause, machine::event::AttemptEnd};
use speedup_statistics::inference::ConfidenceLevel;
use std::sync::Arc;

const CANARY: &str = "[canary]\nshell = \"sleep 0\"\n";

/// Noise of one percent, and on some hosts a drift: by what factor, told the host and the share of the experiment that is over.
fn report(synthetic: &Synthetic, drift: impl Fn(&str, f64) -> f64) -> Report {
    let attempts = synthetic.attempts();
    let all = attempts.len() as f64;
    let mut random = Seed(5).child("canary");
    let mut changed: Vec<_> = attempts.into_iter().zip(0_u32..).collect();
    for (attempt, at) in &mut changed {
        let factor =
            drift(attempt.lease.host.as_str(), f64::from(*at) / all) * random.random_range(0.99..1.01);
        let AttemptEnd::Reported(record) = &mut attempt.end else { panic!("reported") };
        Arc::make_mut(record).canary = Some(Span((1e7 * factor) as u64));
    }
    // In whatever order they come.
    synthetic.study_of(changed.iter().rev().map(|(attempt, _)| attempt)).report(None).unwrap()
}

#[test]
fn a_host_that_becomes_slower_is_named_with_by_how_much() {
    let hosts = Synthetic::new(2, 2, 20, CANARY).hosts(8);
    let report = report(&hosts, |host, over| if host == "host-3" { 1.0 + 0.1 * over } else { 1.0 });
    let canary = report.canary.as_ref().unwrap();
    assert_eq!(
        (canary.outcome, canary.readings, canary.hosts, canary.tested),
        (CanaryOutcome::Drift, 80, 8, 8)
    );
    let [host] = &canary.drifting[..] else { panic!("{:?}", canary.drifting) };
    assert_eq!((host.host.as_str(), host.readings), ("host-3", 10));
    assert!((host.change_percent - 9.0).abs() < 2.5 && host.tau > 0.8, "{host:?}");
    assert!(host.last_ns > host.first_ns && host.adjusted <= 0.05 && host.p_value < host.adjusted);
    assert!(sentence(&report, "canary_drift").contains("host-3 +"), "{}", canary.sentence);
}

#[test]
fn a_drift_of_all_hosts_is_seen_though_none_has_enough_readings() {
    let hosts = Synthetic::new(2, 2, 12, CANARY).hosts(16);
    let rising = report(&hosts, |_, over| 1.0 + 0.2 * over);
    let canary = rising.canary.as_ref().unwrap();
    assert_eq!((canary.outcome, canary.tested), (CanaryOutcome::Drift, 0));
    let pool = canary.pool.as_ref().unwrap();
    assert_eq!((pool.over, pool.hosts, pool.change_percent), (TrendOver::WithinHosts, 16, None));
    // Every run on a host of its own: the pool's first readings, in their order.
    let fresh =
        Synthetic::new(2, 2, 12, &format!("{CANARY}[independence]\npolicy = \"distinct\"\n")).visits();
    let rising = report(&fresh, |_, over| 1.0 + 0.2 * over);
    let pool = rising.canary.as_ref().unwrap().pool.as_ref().unwrap();
    assert_eq!((pool.over, pool.hosts), (TrendOver::AcrossHosts, 48));
    assert!((pool.change_percent.unwrap() - 18.0).abs() < 2.0, "{pool:?}");
    let quiet = report(&fresh, |_, _| 1.0);
    let canary = quiet.canary.as_ref().unwrap();
    assert_eq!((canary.outcome, canary.readings, canary.hosts), (CanaryOutcome::NoneSeen, 48, 48));
    assert!(canary.sentence.contains("1 test"), "{}", canary.sentence);
    assert!(!codes(&quiet).contains(&"canary_drift"));
}

#[test]
fn too_few_readings_are_said_to_be_and_no_canary_is_none() {
    let few = report(&Synthetic::new(1, 2, 2, CANARY).hosts(2), |_, _| 1.0);
    assert_eq!(few.canary.as_ref().unwrap().outcome, CanaryOutcome::TooFew);
    assert_eq!(Synthetic::new(1, 2, 2, "").report().canary, None);
}

/// Without a drift the report speaks of one in at most a twentieth of experiments.
#[test]
fn a_steady_canary_is_said_to_drift_in_at_most_a_twentieth() {
    const EXPERIMENTS: u64 = 2_000;
    let alarms = (0..EXPERIMENTS).filter(|experiment| {
        let mut random = Seed(*experiment).child("steady");
        let mut canary = Canary::default();
        for lease in 1..=96_u64 {
            let time = 1e7 * (1.0 - 0.01 * random.random_range(1e-9..1.0_f64).ln());
            let record = Record { canary: Some(Span(time as u64)), ..Record::bare(Outcome::Measured) };
            canary.keep((lease % 12) as u32, LeaseEpoch(lease), &record);
        }
        let names = (0..12).map(|host| (host, format!("host-{host}"))).collect();
        canary.report(&names, |_| None, ConfidenceLevel::USUAL).outcome == CanaryOutcome::Drift
    });
    // Of 2000 at 5 %, at most 131 with a probability of 99.9 %; the law of eight readings is discrete: 49 are expected.
    let alarms = alarms.count();
    assert!((25..=131).contains(&alarms), "{alarms}");
}

#[test]
fn hosts_out_of_service_are_told_with_their_observations() {
    let synthetic = Synthetic::new(2, 2, 20, "").hosts(8);
    let exclusion = |host: &str, cause, resumed| Exclusion {
        host: host.parse().unwrap(),
        at: Timestamp(1_790_000_030_000_000_000),
        cause,
        resumed,
    };
    let (by, reason) = ("coordinator".to_owned(), "fan broken".to_owned());
    let mut study = synthetic.study().with_exclusions(vec![
        exclusion("host-1", ExclusionCause::Quarantined { by, reason }, None),
        exclusion(
            "host-1",
            ExclusionCause::Drained { by: "ann".to_owned() },
            Some(Timestamp(1_790_000_040_000_000_000)),
        ),
        exclusion("never-used", ExclusionCause::Drained { by: "ann".to_owned() }, None),
    ]);
    synthetic.attempts().iter().for_each(|attempt| study.add(attempt).unwrap());
    let report = study.report(None).unwrap();
    let found = report.exclusions.as_ref().unwrap();
    assert_eq!((found.quarantined, found.drained, found.observations, found.hosts.len()), (1, 2, 10, 3));
    let of: Vec<_> =
        found.hosts.iter().map(|one| (one.host.as_str(), one.cause.as_str(), one.observations)).collect();
    assert_eq!(of, [("host-1", "quarantined", 10), ("host-1", "drained", 10), ("never-used", "drained", 0)]);
    assert_eq!(found.hosts[0].reason.as_deref(), Some("fan broken"));
    assert_eq!((found.hosts[0].at.as_str(), &found.hosts[0].resumed), ("2026-09-21T14:13:50Z", &None));
    assert!(found.hosts[1].resumed.is_some());
    for part in ["1 host quarantined", "2 hosts drained", " 10 "] {
        assert!(found.sentence.contains(part), "{part}: {}", found.sentence);
    }
    assert_eq!(synthetic.report().exclusions, None);
}
