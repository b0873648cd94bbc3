//! Scaling series: what is found of programs whose law is known.

use super::synthetic::{Synthetic, Times};
use crate::conclusion::WarningCode;
use crate::study::{EndpointVerdict, Report, ScalingReport, VersionScaling};
use speedup_core::{experiment::gang::ScalingLaw, run::record::Failure};

const HOSTS: [u32; 4] = [1, 2, 4, 8];

/// Two versions on 1, 2, 4 and 8 hosts, each with mean times by the number of hosts.
fn series(law: ScalingLaw, baseline: impl Fn(f64) -> f64, candidate: impl Fn(f64) -> f64) -> Synthetic {
    let names = HOSTS.map(|hosts| format!("solve-{hosts}hosts")).join(" ");
    let synthetic = Synthetic::named(&names, "old new", 20, "").scaling(law, &HOSTS);
    HOSTS.iter().zip(0..).fold(synthetic, |synthetic, (hosts, at)| {
        let [old, new] = [baseline(f64::from(*hosts)), candidate(f64::from(*hosts))];
        synthetic.times(at, 0, Times::normal(old * 1e9, old * 1e7)).times(
            at,
            1,
            Times::normal(new * 1e9, new * 1e7),
        )
    })
}

fn only(report: &Report) -> &ScalingReport {
    let [only] = &report.scaling[..] else { panic!("one series: {:?}", report.scaling) };
    only
}

fn covers(of: &VersionScaling, share: f64) -> bool {
    let (lower, upper) = of.serial_share.as_ref().unwrap().interval.ends().unwrap();
    (lower..=upper).contains(&share)
}

#[test]
fn a_serial_share_is_found_and_a_version_that_has_less_of_it_scales_better() {
    let amdahl = |share: f64| move |hosts: f64| share + (1.0 - share) / hosts;
    let report = series(ScalingLaw::Strong, amdahl(0.2), amdahl(0.02)).report();
    let found = only(&report);
    assert_eq!((found.series.as_str(), found.law), ("solve", ScalingLaw::Strong));
    let [old, new] = &found.versions[..] else { panic!("two versions") };
    assert!(covers(old, 0.2) && covers(new, 0.02), "{found:?}");
    assert!([old, new].iter().all(|version| !version.serial_share.as_ref().unwrap().is_rejected));
    let last = old.rows.last().unwrap();
    assert_eq!((last.hosts, last.benchmark.as_str(), last.n), (8, "solve-8hosts", 20));
    let speedup = last.speedup.as_ref().unwrap();
    assert!((speedup.estimate - 1.0 / (0.2 + 0.1)).abs() < 0.05, "{speedup:?}");
    assert!(old.rows[0].speedup.is_none() && old.rows[0].reason.is_none(), "the fewest hosts");
    let [compared] = &found.comparisons[..] else { panic!("one candidate") };
    assert!(compared.rows.iter().all(|row| row.verdict == EndpointVerdict::Better), "{compared:?}");
    assert!(compared.sentence.contains("2, 4, 8 hosts"), "{}", compared.sentence);
    assert!(old.sentence.starts_with("old: 3.3"), "{}", old.sentence);
    assert!(old.sentence.contains("serial share"), "{}", old.sentence);
    let in_suite = report.warnings.iter().find(|warning| warning.code == WarningCode::SeriesInSuite);
    assert_eq!(in_suite.map(|warning| warning.concerns.len()), Some(4), "{:?}", report.warnings);
}

/// Communication that takes longer on more hosts is no serial share, and is said to be none.
#[test]
fn a_law_that_does_not_hold_is_rejected() {
    let talks = |hosts: f64| 1.0 + 0.2 * hosts.log2().powi(2);
    let report = series(ScalingLaw::Weak, |_| 1.0, talks).report();
    let [flat, rising] = &only(&report).versions[..] else { panic!("two versions") };
    assert!(covers(flat, 0.0) && !flat.serial_share.as_ref().unwrap().is_rejected, "{flat:?}");
    let share = rising.serial_share.as_ref().unwrap();
    assert!(share.is_rejected && share.fit_p_value.unwrap() < 1e-3, "{share:?}");
    assert!(rising.sentence.contains("no constant serial"), "{}", rising.sentence);
    let efficiency = rising.rows[3].efficiency.as_ref().unwrap();
    assert!((efficiency.estimate - 1.0 / talks(8.0)).abs() < 0.01, "{efficiency:?}");
    let speedup = rising.rows[3].speedup.as_ref().unwrap();
    assert!((speedup.estimate - 8.0 * efficiency.estimate).abs() < 1e-9);
}

/// Efficiencies beside another number of hosts are not compared.
#[test]
fn a_version_without_runs_on_the_fewest_hosts_is_relative_to_the_next() {
    let exit = Failure::Exit { code: 2, expected: 0 };
    let report = series(ScalingLaw::Strong, |hosts| 1.0 / hosts, |hosts| 1.0 / hosts)
        .fail(0, 1, 20, &exit, "")
        .report();
    let found = only(&report);
    assert_eq!(found.versions.iter().map(|version| version.rows[0].hosts).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(found.versions.iter().map(|version| version.rows.len()).collect::<Vec<_>>(), [4, 3]);
    assert!(found.comparisons.is_empty(), "{:?}", found.comparisons);
}

#[test]
fn few_runs_have_speedups_and_no_serial_share() {
    let names = HOSTS.map(|hosts| format!("solve-{hosts}hosts")).join(" ");
    let report = Synthetic::named(&names, "old new", 3, "").scaling(ScalingLaw::Weak, &HOSTS).report();
    let [old, _] = &only(&report).versions[..] else { panic!("two versions") };
    assert!(old.rows[1].speedup.is_some() && old.serial_share.is_none());
    let reason = &old.reason.as_ref().unwrap().sentence;
    assert!(reason.contains("at least 5 runs") && reason.ends_with("plan more runs."), "{reason}");
}

#[test]
fn benchmarks_of_no_series_say_nothing_of_scaling() {
    let report = Synthetic::new(2, 2, 6, "").report();
    assert!(report.scaling.is_empty());
    assert!(serde_json::to_value(&report).unwrap().get("scaling").is_none());
}

/// No share of the work is more than all of it, however much slower more hosts are.
#[test]
fn what_gets_slower_has_no_serial_share() {
    let report = series(ScalingLaw::Strong, |hosts| hosts, |hosts| 1.0 / hosts).report();
    let [old, new] = &only(&report).versions[..] else { panic!("two versions") };
    let share = old.serial_share.as_ref().unwrap();
    assert!(share.estimate > 1.0 && !share.is_share(), "{share:?}");
    assert!(!old.sentence.contains("share of the work is"), "{}", old.sentence);
    let without_loss = new.serial_share.as_ref().unwrap();
    assert!(without_loss.estimate.abs() < 0.01, "{without_loss:?}");
}
