//! Where in the network runs were: whether that mattered, and whether the versions were placed alike.

use super::synthetic::Synthetic;
use crate::{conclusion::Verdict, study::PlacementReport, study::Report};
use speedup_core::machine::event::{AttemptEnd, EndedAttempt};
use speedup_core::{experiment::metric::Metric, value::seed::Seed, value::seed::below};
use std::sync::Arc;

const BENCHMARKS: usize = 3;

fn synthetic() -> Synthetic {
    Synthetic::new(BENCHMARKS, 2, 20, "").of_ranks(4, 1)
}

/// Two versions of three benchmarks on fresh hosts; each run over as many leaf switches as `spans` says of run and
/// version, for each of which beyond the first it takes longer by this factor.
fn attempts(spans: &dyn Fn(u32, u32) -> u32, factor: f64) -> Vec<EndedAttempt> {
    let plan = synthetic().study().plan().clone();
    let mut attempts = synthetic().with_parts(&|run, seat| Some(format!("node-{run}-{seat}")));
    for ended in &mut attempts {
        let version = plan.cell(ended.lease.run).unwrap().version.0;
        let spans = spans(ended.lease.run.0, version);
        let seat = ended.lease.seat.as_ref().unwrap().number;
        ended.lease.evidence.switches = Some(format!("top.leaf-{}", seat % spans).parse().unwrap());
        if let AttemptEnd::Reported(record) = &mut ended.end
            && let Some(wall) = Arc::make_mut(record).metrics.get_mut(&Metric::Wall)
        {
            *wall = (*wall as f64 * factor.powf(f64::from(spans - 1))) as u64;
        }
    }
    attempts
}

fn report(attempts: &[EndedAttempt]) -> Report {
    synthetic().study_of(attempts).report(None).unwrap()
}

fn placement(report: &Report) -> &PlacementReport {
    report.diagnostics.as_ref().unwrap().placement.as_ref().expect("the placement varies")
}

fn raised(report: &Report, code: &str) -> bool {
    report.warnings.iter().any(|warning| warning.code.as_str() == code)
}

/// One to three switches, whatever the version.
fn drawn(run: u32, _: u32) -> u32 {
    1 + below(3, &mut Seed(11).child(&run.to_string())) as u32
}

#[test]
fn what_a_further_switch_costs_is_found() {
    let report = report(&attempts(&drawn, 1.05));
    let found = placement(&report);
    assert_eq!((found.cells, found.runs, found.unknown), (6, 120, 0));
    assert!((found.factor.unwrap() - 1.05).abs() < 0.002, "{found:?}");
    assert!(found.test.unwrap().statistic > 5.0 && raised(&report, "placement_effect"), "{found:?}");
    let [old, new] = &found.versions[..] else { panic!("two versions") };
    assert!(old.test.is_none() && new.test.is_some() && !raised(&report, "placements_differ"));
    assert!((old.mean_switches.unwrap() - 2.0).abs() < 0.3, "{old:?}");
    for part in ["p-value < 0.0001", "120 runs in 6 cells"] {
        assert!(found.sentence().contains(part), "{part}: {}", found.sentence());
    }
    let plain = self::report(&attempts(&drawn, 1.0));
    assert!(!raised(&plain, "placement_effect") && (placement(&plain).factor.unwrap() - 1.0).abs() < 0.005);
}

/// The candidate was placed worse: it looks slower, and among runs of equal placement it is not.
#[test]
fn a_version_that_was_placed_worse_is_told() {
    let worse = |run: u32, version: u32| if run.is_multiple_of(4) { 2 - version } else { 1 + version };
    let report = report(&attempts(&worse, 1.1));
    let found = placement(&report);
    assert!(raised(&report, "placements_differ"), "{found:?}");
    assert!(found.versions[1].test.unwrap().statistic > 3.0, "{found:?}");
    assert_eq!(report.suites[0].verdict, Verdict::Slower, "so it looks");
    for (benchmark, within) in report.benchmarks.iter().zip(&found.within) {
        assert_eq!((&benchmark.name, within.candidate.as_str()), (&within.benchmark, "v1"));
        assert_eq!(within.verdict, Verdict::Undecided, "{within:?}");
        assert!((within.speedup - 1.0).abs() < 0.01 && within.runs + within.left_out == 40, "{within:?}");
    }
    assert_eq!(found.within.len(), BENCHMARKS);
}

/// Runs of which a host's switch is not known are counted; where no number varies nothing is said.
#[test]
fn what_is_not_known_or_does_not_vary_is_not_told() {
    let mut some = attempts(&drawn, 1.05);
    some.iter_mut().filter(|ended| ended.lease.run.0 < 10 && ended.lease.is_of_member()).for_each(|ended| {
        ended.lease.evidence.switches = None;
    });
    let with_unknown = report(&some);
    assert_eq!((placement(&with_unknown).unknown, placement(&with_unknown).runs), (10, 110));
    assert!(placement(&with_unknown).sentence().contains("Of 10 runs"));
    some.reverse();
    assert_eq!(placement(&with_unknown), placement(&report(&some)), "in whatever order attempts come");
    let same = report(&attempts(&|_, _| 2, 1.05));
    assert_eq!(same.diagnostics.as_ref().unwrap().placement, None);
    let json = serde_json::to_value(synthetic().report()).unwrap();
    assert!(json["diagnostics"].get("placement").is_none());
}
