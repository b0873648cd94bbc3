//! What stands beside the verdicts: adjusted ones, diagnostics, hosts, advice, mixtures.

use super::{codes, only, sentence, synthetic::Synthetic, synthetic::Times, two};
use crate::conclusion::{ReasonCode, Verdict, WarningCode, Warnings};
use crate::study::gather::evidence::RunLocations;
use crate::study::validity::diagnostic::DiagnosedCell;
use crate::study::validity::diagnostics::conclude;
use crate::study::*;
use rand::RngExt as _;
use speedup_core::{machine::event::EndedAttempt, run::record::Failure, value::seed::Seed};
use speedup_statistics::distribution::{Tails, normal};
use speedup_statistics::{inference::ConfidenceLevel, sample::Sample};

const OF_DIAGNOSTICS: &str = "autocorrelation runs_in_series drift first_run modes_are_hosts modes_are_classes host_effect \
    outlying_hosts losses_differ failures_differ";

fn raised(report: &Report) -> Vec<&str> {
    codes(report).into_iter().filter(|code| OF_DIAGNOSTICS.split(' ').any(|one| one == *code)).collect()
}

#[test]
fn adjusted_verdicts_are_among_the_plain_ones() {
    let mut many = two(20, 30);
    for benchmark in 0..20 {
        // From a clear difference to none.
        let candidate = 100e6 - 2e6 * f64::from(20 - benchmark) / 20.0;
        many = many.times(benchmark, 1, Times::normal(candidate, 1e6));
    }
    let report = many.report();
    let suite = &report.suites[0];
    let [holm, discovery] = &suite.multiplicity[..] else { panic!("two adjustments") };
    assert_eq!((holm.tests, discovery.tests, holm.benchmarks.total()), (20, 20, 20));
    let counts = [holm.benchmarks.faster, discovery.benchmarks.faster, suite.benchmarks.faster];
    assert!(0 < counts[0] && counts.is_sorted() && counts[0] < counts[2], "{counts:?}");
    for comparison in report.benchmarks.iter().map(|benchmark| &benchmark.comparisons[0]) {
        let plain = comparison.headline().unwrap().p_value.unwrap();
        for adjusted in &comparison.adjusted {
            assert!(adjusted.p_value >= plain);
            assert!(adjusted.verdict == comparison.verdict || !adjusted.verdict.is_conclusive());
        }
    }
    assert!(holm.sentence.contains("20 benchmarks and"), "their total too: {}", holm.sentence);
}

#[test]
fn one_benchmark_is_not_adjusted_and_one_without_runs_is_not_counted() {
    let one = two(1, 20).times(0, 1, Times::normal(80e6, 1e6)).report();
    assert!(only(&one).adjusted.is_empty() && one.suites[0].multiplicity.is_empty());
    let exit = Failure::Exit { code: 1, expected: 0 };
    let three = two(3, 10).fail(2, 1, 10, &exit, "").report();
    assert_eq!(three.suites[0].multiplicity[0].tests, 2);
    assert_eq!(three.suites[0].multiplicity[0].benchmarks.not_enough_data, 1);
    assert!(three.benchmarks[2].comparisons[0].adjusted.is_empty());
}

#[test]
fn a_drift_is_named_and_random_order_is_not() {
    let drifting = two(3, 30).in_order().report();
    // A host that serves one repetition of all benchmarks is, in this order, fast or slow throughout.
    let expected = ["autocorrelation", "runs_in_series", "drift", "host_effect", "outlying_hosts"];
    assert_eq!(raised(&drifting), expected);
    let cell = drifting.benchmarks[0].cells[0].diagnostics.as_ref().unwrap();
    assert!(cell.drift.unwrap().statistic == 1.0 && cell.slope_ns.unwrap() > 1e4, "{cell:?}");
    let concerned =
        &drifting.warnings.iter().find(|warning| warning.code == WarningCode::Drift).unwrap().concerns;
    assert_eq!(concerned, &["b0", "b1", "b2"]);
    let summary = drifting.diagnostics.as_ref().unwrap();
    assert_eq!((summary.tests, summary.significant["drift"]), (3 * 2 * 3 + 2, 6));
    let quiet = two(3, 30).report();
    assert_eq!(raised(&quiet), Vec::<&str>::new());
    assert_eq!(quiet.benchmarks[0].cells[0].diagnostics.as_ref().unwrap().slope_ns, None);
}

#[test]
fn slow_first_runs_are_seen_over_many_cells() {
    let report = two(12, 8).hosts(1).slow_first(1.2).report();
    assert_eq!(raised(&report), ["first_run"]);
    let pooled = report.diagnostics.as_ref().unwrap().first_run.unwrap();
    assert!(pooled.statistic > 1.0 && pooled.adjusted < 1e-6, "{pooled:?}");
}

/// The promise of the module, for a law with heavy tails, whose autocorrelation is farthest from its normal law.
#[test]
fn undisturbed_experiments_raise_nothing_in_all_but_a_twentieth() {
    let mut random = Seed(11).child("undisturbed");
    let level = ConfidenceLevel::USUAL;
    let mut alarms = [0; 2];
    for _ in 0..300 {
        for (sigma, alarms) in [0.02, 1.5].into_iter().zip(&mut alarms) {
            let samples: Vec<Sample> = (0..20)
                .map(|_| {
                    let mut time = || {
                        let z = normal::quantile(Tails::from_lower(random.random_range(1e-12..1.0)));
                        1e8 * (sigma * z).exp()
                    };
                    Sample::new((0..30).map(|_| time()).collect()).unwrap()
                })
                .collect();
            let locations = RunLocations::in_turn(30, 6);
            let cells: Vec<_> = samples
                .iter()
                .map(|sample| DiagnosedCell {
                    gangs: &[],
                    about: "b",
                    sample,
                    locations: &locations,
                    builds: &[],
                    independent: sample,
                    classes_are_blocks: false,
                })
                .collect();
            let mut reports: Vec<_> = cells.iter().map(DiagnosticsReport::new).collect();
            let mut reports: Vec<_> = reports.iter_mut().map(Option::as_mut).collect();
            let names: Vec<_> = (0..6).map(|host| (format!("host-{host}"), None)).collect();
            let mut warnings = Warnings::default();
            let mut attempts = |of: u64| {
                let mut missing = || (0..of).filter(|_| random.random_range(0.0..1.0) < 0.1).count() as u64;
                let (lost, failed) = (missing(), missing());
                AttemptCounts { attempts: of, lost, settled: of, failed, timeouts: 0 }
            };
            let missing = vec![MissingReport::new("v1", [attempts(600), attempts(600)])];
            let summary = conclude(&cells, &mut reports, &names, None, missing, level, &mut warnings);
            assert_eq!(summary.tests, 20 * 4 + 1 + 2 + 2);
            *alarms += u32::from(!warnings.into_list().is_empty());
        }
    }
    // Of 300 at 5 %, at most 29 with a probability of 99.9 %.
    assert!(alarms.iter().all(|alarms| *alarms <= 29), "{alarms:?}");
}

#[test]
fn coarse_times_are_named() {
    let steps = Times::TwoClusters { means: [40e6, 50e6], deviation: 0.0, share: 0.5 };
    let report = two(1, 20).times(0, 0, steps).times(0, 1, steps).report();
    assert!(sentence(&report, "coarse_times").contains("finer clock"));
    let granularity = report.benchmarks[0].cells[0].diagnostics.as_ref().unwrap().granularity;
    assert_eq!(granularity.kind, GranularityKind::Discrete);
    assert!(!codes(&two(1, 20).report()).contains(&"coarse_times"));
}

#[test]
fn a_slow_host_is_found_and_named() {
    let report = two(6, 24).hosts(8).slow_host(3, 1.05).report();
    let HostEffectReport::Tested { hosts, runs, share, test, outlying, .. } =
        &report.diagnostics.as_ref().unwrap().hosts
    else {
        panic!("hosts served several runs")
    };
    assert_eq!((*hosts, *runs), (8, 288));
    assert!(*share > 0.2 && test.adjusted < 1e-9, "{share} {test:?}");
    let outlying = outlying.as_ref().unwrap();
    assert_eq!(outlying.hosts.iter().map(|host| host.host.as_str()).collect::<Vec<_>>(), ["host-3"]);
    assert!(outlying.hosts[0].difference > 1.0);
    assert!(raised(&report).ends_with(&["host_effect", "outlying_hosts"]), "{:?}", raised(&report));
    assert!(sentence(&report, "outlying_hosts").contains("look into it"));
    assert_eq!(raised(&two(6, 24).hosts(8).report()), Vec::<&str>::new());
}

#[test]
fn where_hosts_served_once_nothing_is_said_of_them() {
    let reason = |report: &Report| match &report.diagnostics.as_ref().unwrap().hosts {
        HostEffectReport::NotTested { reason, outlying: None } => reason.clone(),
        HostEffectReport::NotTested { .. } => panic!("outlying hosts without repetition"),
        HostEffectReport::Tested { .. } => panic!("a host effect without repetition"),
    };
    let once = two(1, 20).report();
    assert_eq!(reason(&once).code, ReasonCode::HostServedOnce);
    assert!(reason(&once).sentence.contains("cannot be tested"));
    assert_eq!(reason(&two(2, 20).hosts(1).report()).code, ReasonCode::OneHost);
    // A host that serves many benchmarks once each can be told from its runs.
    let shared = two(5, 20).report();
    assert!(matches!(shared.diagnostics.unwrap().hosts, HostEffectReport::Tested { .. }));
}

#[test]
fn undecided_benchmarks_have_advice() {
    let report = two(3, 12)
        .times(0, 1, Times::normal(99.6e6, 1e6))
        .times(1, 1, Times::normal(80e6, 1e6))
        .times(2, 0, Times::normal(100e6, 3e7))
        .times(2, 1, Times::normal(99.99e6, 3e7))
        .report();
    let advice = |at: usize| report.benchmarks[at].comparisons[0].advice.as_ref();
    let close = advice(0).unwrap();
    let ReachReport::MoreRuns { needed } = close.detection.reach else { panic!("{close:?}") };
    assert!((13..2_000).contains(&needed), "{needed}");
    assert_eq!((close.detection.power, close.precision.goal), (Some(POWER), RELATIVE_HALF_WIDTH));
    assert_eq!(advice(1), None, "what is decided needs no advice");
    let hopeless = advice(2).unwrap();
    let is_far = |reach: &ReachReport| match reach {
        ReachReport::MoreRuns { needed } => *needed > 1_000,
        ReachReport::Unreachable { within } => *within == MOST_RUNS_ADVISED,
        ReachReport::Reached { .. } | ReachReport::Unknown { .. } => false,
    };
    assert!(is_far(&hopeless.detection.reach), "{hopeless:?}");
    let constant = two(1, 10).times(0, 0, Times::Constant(5e6)).times(0, 1, Times::Constant(5e6)).report();
    let none = only(&constant).advice.as_ref().unwrap();
    assert_eq!(
        none.detection.reach,
        ReachReport::Unreachable { within: MOST_RUNS_ADVISED },
        "equal times stay equal"
    );
    assert_eq!(none.precision.reach, ReachReport::Reached { needed: 10 }, "never fewer than there are");
}

/// From ten runs of each version, the number for the typical benchmark is about the one that it takes, and that for the noisiest is larger.
#[test]
fn the_typical_and_the_noisiest_benchmark_have_numbers_of_runs() {
    let mut many = Synthetic::new(39, 2, 10, "[analysis]\ncenter = \"trimmed\"\n");
    for benchmark in 0..39 {
        let alike = || Times::normal(100e6, 4e6);
        many = many.times(benchmark, 0, alike()).times(benchmark, 1, alike());
    }
    let report = many.report();
    let advice = UndecidedAdvice::new(&report).unwrap();
    // (1.96·√(2·1.06)·4 %/ln 1.01)² = 132.
    let [typical, noisiest] = [advice.typical, advice.noisiest].map(Option::unwrap);
    assert!((90..190).contains(&typical) && typical < noisiest && noisiest < 5 * 132, "{advice:?}");
    assert_eq!((advice.now, advice.is_precise, advice.unit), (10, false, None));
    let mut effects = Vec::new();
    for comparison in report.benchmarks.iter().map(|benchmark| &benchmark.comparisons[0]) {
        if comparison.verdict == Verdict::Undecided {
            effects.push(comparison.first.as_ref().unwrap().smallest_effect.unwrap());
        }
    }
    effects.sort_by(f64::total_cmp);
    // With the true spread 6.2 %.
    let median = effects[effects.len() / 2];
    assert!((0.05..0.075).contains(&median) && advice.undecided == effects.len() as u64, "{median}");
    // Versions that are known to less than ±1 % take no more runs.
    let quiet = || Times::normal(100e6, 0.2e6);
    let known = Synthetic::new(1, 2, 10, "[analysis]\ncenter = \"trimmed\"\n").times(0, 0, quiet()).times(
        0,
        1,
        quiet(),
    );
    let report = known.report();
    if let Some(advice) = UndecidedAdvice::new(&report) {
        assert_eq!((advice.typical, advice.is_precise), (Some(10), true));
    }
}

#[test]
fn mixtures_are_fitted_when_asked_for_whatever_the_threads() {
    let clusters = Times::TwoClusters { means: [90e6, 110e6], deviation: 1e6, share: 0.6 };
    let synthetic = two(3, 40).times(0, 0, clusters);
    let study = synthetic.study_of(&synthetic.attempts());
    let asked = ReportOptions { mixtures: Mixtures::Fitted, ..ReportOptions::default() };
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| study.report_with(asked).unwrap())
    };
    let report = with(1);
    assert_eq!(serde_json::to_string(&report).unwrap(), serde_json::to_string(&with(3)).unwrap());
    let Some(MixtureReport::Fitted { components, modes_ns, p_value, .. }) =
        &report.benchmarks[0].cells[0].mixture
    else {
        panic!("a mixture of 40 runs")
    };
    assert_eq!((components.len(), modes_ns.len()), (2, 2));
    assert!((components[0].weight - 0.6).abs() < 0.05 && (components[1].mean_ns - 110e6).abs() < 1e6);
    assert!(*p_value > 0.05, "{p_value}");
    assert_eq!(study.report(None).unwrap().benchmarks[0].cells[0].mixture, None);
}

#[test]
fn the_order_of_feeding_does_not_reach_the_hosts() {
    let synthetic = Synthetic::new(3, 2, 12, "").hosts(5).slow_host(2, 1.1);
    let json = |attempts: &[EndedAttempt]| {
        serde_json::to_string(&synthetic.study_of(attempts).report(None).unwrap()).unwrap()
    };
    let mut attempts = synthetic.attempts();
    let expected = json(&attempts);
    assert!(expected.contains("host-2"));
    attempts.reverse();
    assert_eq!(json(&attempts), expected);
}

fn clustered(hosts: u32) -> Synthetic {
    let clusters = Times::TwoClusters { means: [90e6, 110e6], deviation: 1e6, share: 0.5 };
    Synthetic::new(1, 2, 40, "").hosts(hosts).times(0, 0, clusters).times(0, 1, clusters)
}

fn fitted(synthetic: &Synthetic) -> Report {
    let asked = ReportOptions { mixtures: Mixtures::Fitted, ..ReportOptions::default() };
    synthetic.study_of(&synthetic.attempts()).report_with(asked).unwrap()
}

#[test]
fn a_mode_that_is_a_host_is_named_and_modes_over_all_hosts_are_not() {
    let spread = fitted(&clustered(8));
    assert!(spread.benchmarks[0].cells[0].diagnostics.as_ref().unwrap().modes.is_some());
    assert!(!raised(&spread).contains(&"modes_are_hosts"), "{:?}", raised(&spread));
    let of_host = fitted(&Synthetic::new(1, 2, 40, "").hosts(4).slow_host(2, 1.2));
    let modes = of_host.benchmarks[0].cells[0].diagnostics.as_ref().unwrap().modes.unwrap();
    assert!(modes.statistic > 0.9 && modes.p_value < 1e-4, "{modes:?}");
    assert!(raised(&of_host).contains(&"modes_are_hosts"));
    let once = fitted(&Synthetic::new(1, 2, 40, "").visits());
    assert_eq!(once.benchmarks[0].cells[0].diagnostics.as_ref().unwrap().modes, None);
}

#[test]
fn a_mode_that_is_a_class_is_named_where_classes_are_blocks() {
    let report = |hosts: &str| {
        let plan = format!("[independence]\npolicy = \"any\"\nhosts = \"{hosts}\"\n");
        fitted(&Synthetic::new(1, 2, 40, &plan).hosts(8).of_two_classes_by_host())
    };
    let blocked = report("classes");
    let diagnostics = blocked.benchmarks[0].cells[0].diagnostics.as_ref().unwrap();
    let modes = diagnostics.class_modes.unwrap();
    assert!(modes.statistic > 0.99 && modes.p_value < 1e-4, "{modes:?}");
    assert!(raised(&blocked).contains(&"modes_are_classes"), "{:?}", raised(&blocked));
    let any = report("any");
    assert_eq!(any.benchmarks[0].cells[0].diagnostics.as_ref().unwrap().class_modes, None);
}
