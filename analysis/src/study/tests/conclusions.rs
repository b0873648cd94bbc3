//! What may be concluded, by types: of runs that are missing or outstanding, of designs that a method was not made for, and of
//! numbers that cannot be.

use super::{codes, only, synthetic::Synthetic, synthetic::Times, two};
use crate::conclusion::{ReasonCode, Verdict, WarningCode};
use crate::gate::{Conclusion, GateRulings};
use crate::study::*;
use speedup_core::machine::event::Tally;
use speedup_core::run::{conditions::Conditions, disturbance::Disturbance, record::Failure};

const EXIT: Failure = Failure::Exit { code: 101, expected: 0 };

/// The report of an experiment of which so many runs are still waiting.
fn waiting(synthetic: &Synthetic, runs: u32) -> Report {
    let mut study = synthetic.study_of(&synthetic.attempts());
    study.standing.tally = Tally { waiting: runs, ..Tally::default() };
    study.report(None).unwrap()
}

#[test]
fn a_running_experiment_has_no_verdict() {
    let plan = "[analysis]\nquantiles = [0.5]\n[controls]\nbaseline_again = true\n";
    let synthetic = Synthetic::new(3, 2, 20, plan).times(0, 1, Times::normal(80e6, 1e6)).running();
    let running = waiting(&synthetic, 1);
    assert!(running.head.awaits_runs() && running.controls.is_none());
    for comparison in running.benchmarks.iter().map(|benchmark| &benchmark.comparisons[0]) {
        assert!(comparison.is_so_far() && comparison.verdict == Verdict::NotEnoughData);
        assert!(comparison.adjusted.is_empty());
        let headline = comparison.headline().unwrap();
        assert!(headline.interval.ends().is_some() && headline.p_value.is_none());
        assert_eq!(headline.verdict, Verdict::NotEnoughData);
        assert!(comparison.mean.is_none() && comparison.median.is_none() && comparison.advice.is_none());
    }
    assert!(running.endpoints[0].rows.iter().all(|row| row.verdict == EndpointVerdict::NotEnoughData));
    let suite = &running.suites[0];
    assert_eq!((suite.verdict, suite.p_value, &suite.true_share), (Verdict::NotEnoughData, None, &None));
    assert_eq!(suite.reason.as_ref().unwrap().code, ReasonCode::RunsOutstanding);
    assert!(suite.speedup.is_some() && suite.interval.as_ref().unwrap().ends().is_some());
    assert_eq!(suite.benchmarks.not_enough_data, 3);
    let judgement = GateRulings::new(Conclusion::of_report(&running));
    assert!(judgement.regressions.is_empty() && !judgement.undecided.is_empty());
    // When all runs are there, it is what it is.
    let over = waiting(&synthetic, 0);
    assert_eq!(over.benchmarks[0].comparisons[0].verdict, Verdict::Faster);
    assert!(over.controls.is_some() && !over.head.awaits_runs());
}

#[test]
fn of_one_benchmark_too() {
    let synthetic = two(1, 20).times(0, 1, Times::normal(80e6, 1e6)).running();
    let suite = &waiting(&synthetic, 5).suites[0];
    assert_eq!(suite.verdict, Verdict::NotEnoughData);
    assert_eq!(suite.reason.as_ref().unwrap().code, ReasonCode::RunsOutstanding);
}

#[test]
fn one_run_is_independent_of_nothing_and_a_stopped_plan_has_not_every_run() {
    let plan = "[independence]\npolicy = \"distinct\"\n";
    let synthetic = Synthetic::new(1, 2, 30, plan).visits();
    assert_eq!(synthetic.take(1).running().report().independence.kind, IndependenceKind::SingleRun);
    let stopped = Synthetic::new(1, 2, 30, plan).visits().take(20).running().report().independence;
    assert_eq!((stopped.kind, stopped.runs), (IndependenceKind::Provided, 20));
    assert!(!stopped.sentence.contains("very run"), "{}", stopped.sentence);
    let whole = Synthetic::new(1, 2, 30, plan).visits().report().independence;
    assert!(whole.sentence.contains("very run"), "{}", whole.sentence);
}

/// Failures of one benchmark among many, which all together hide.
#[test]
fn failures_are_found_on_the_benchmark_that_has_them() {
    let report = two(12, 10).fail(3, 1, 10, &EXIT, "thread main panicked").report();
    let missing = &report.diagnostics.as_ref().unwrap().missing;
    let of: Vec<_> = missing
        .iter()
        .map(|one| {
            let found = MissingFinding::new(one.failures.as_ref().unwrap(), report.head.confidence);
            (one.benchmark.as_deref(), one.of_candidate.failed, found)
        })
        .collect();
    assert_eq!(of[1], (Some("b3"), 10, MissingFinding::More));
    assert_eq!((of.len(), of[0].0, of[0].1), (2, None, 10));
    let warning = report.warnings.iter().find(|one| one.code == WarningCode::FailuresDiffer).unwrap();
    assert!(warning.concerns.contains(&"b3".to_owned()), "{warning:?}");
    // The same in both versions is no difference.
    let alike = two(2, 10).fail(0, 0, 5, &EXIT, "").fail(0, 1, 5, &EXIT, "").report();
    let alike = alike.diagnostics.unwrap().missing;
    assert_eq!(MissingFinding::new(alike[1].failures.as_ref().unwrap(), 0.95), MissingFinding::NotShown);
    // Fewer is no good news, and is said.
    let fewer = two(2, 20).fail(1, 0, 20, &EXIT, "").report().diagnostics.unwrap().missing;
    assert_eq!(MissingFinding::new(fewer[1].failures.as_ref().unwrap(), 0.95), MissingFinding::Fewer);
}

#[test]
fn runs_of_controls_are_measured_runs() {
    let disturbed =
        Conditions { disturbances: vec![Disturbance::Stolen { ns: 1_000_000 }], ..Conditions::default() };
    let report = Synthetic::new(2, 2, 10, "[controls]\nbaseline_again = true\n")
        .conditions(2, 10, &disturbed)
        .report();
    let conditions = report.head.conditions.unwrap();
    assert_eq!((conditions.recorded, report.head.measured_runs), (60, 60));
    assert_eq!(conditions.disturbed, 20, "all of them the control's");
}

/// Without a difference of the centres, a protocol at twice the risk shows one in some experiments.
#[test]
fn what_the_speedup_test_says_against_the_headline_is_a_contradiction() {
    let mut seen = Vec::new();
    for candidate in (0..40).map(|k| 100e6 - 0.05e6 * f64::from(k)) {
        let report = two(1, 12).times(0, 1, Times::normal(candidate, 1e6)).report();
        let comparison = only(&report);
        let effect = |verdict: Verdict| matches!(verdict, Verdict::Faster | Verdict::Slower);
        let protocols = [&comparison.mean, &comparison.median];
        let says = protocols.into_iter().flatten().any(|protocol| effect(protocol.verdict));
        let expected = (says && !effect(comparison.verdict)).then_some(Contradiction::OnlyThere);
        assert_eq!(comparison.contradiction(), expected, "{candidate}");
        seen.extend(expected);
    }
    assert!(!seen.is_empty(), "one of them lies between both");
    assert_eq!(only(&two(1, 12).report()).contradiction(), None);
}

#[test]
fn the_precision_that_is_drawn_is_that_of_the_interval() {
    let asked = ReportOptions { figures: Figures::Drawn, ..ReportOptions::default() };
    for plan in ["", "[analysis]\ncenter = \"mean\"\n", "[analysis]\ncenter = \"trimmed\"\n"] {
        let synthetic = Synthetic::new(1, 2, 24, plan).times(0, 1, Times::Skewed { least: 90e6, scale: 2e6 });
        let report = synthetic.study_of(&synthetic.attempts()).report_with(asked).unwrap();
        let headline = only(&report).headline().unwrap();
        let (lower, upper) = headline.interval.ends().unwrap();
        let figure = report.figures.as_ref().unwrap().benchmarks[0].precision[0].as_ref().unwrap();
        let now = figure.runs.iter().position(|runs| *runs == figure.runs_now).unwrap();
        let in_table = (upper - lower) / 2.0 / headline.speedup;
        assert!((figure.relative_half_width[now] / in_table - 1.0).abs() < 1e-4, "{plan}: {figure:?}");
        assert!(figure.relative_half_width.is_sorted_by(|one, next| one > next), "{figure:?}");
    }
}

/// Each of 130 samples fails Shapiro–Wilk with a probability of 5 %; all together they do not.
#[test]
fn many_normal_samples_are_not_doubted() {
    let normal = two(65, 10).report();
    assert!(!codes(&normal).contains(&"suite_mean_approximate"), "{:?}", codes(&normal));
    let skewed = Times::Skewed { least: 100e6, scale: 50e6 };
    let doubted = two(8, 30).times(5, 1, skewed).report();
    let warning = doubted.warnings.iter().find(|one| one.code == WarningCode::SuiteMeanApproximate).unwrap();
    assert_eq!(warning.concerns, ["b5"]);
}

#[test]
fn no_ratio_of_times_is_below_zero() {
    // A stall in one of three runs: Fieller's lower end would be negative.
    let stalled = Times::TwoClusters { means: [1e6, 300e6], deviation: 1e4, share: 0.67 };
    for order in ["", "[design]\norder = \"blocked\"\n"] {
        let plan = format!("[analysis]\ncenter = \"mean\"\n{order}");
        let synthetic = Synthetic::new(2, 2, 3, &plan).visits();
        let report = synthetic.times(0, 0, stalled).times(1, 0, stalled).report();
        let of_suite = report.suites[0].interval.as_ref().and_then(IntervalReport::ends);
        let of_each = report.benchmarks.iter().map(|one| one.comparisons[0].headline());
        let of_each = of_each.filter_map(|headline| headline?.interval.ends());
        let lowest: Vec<f64> = of_each.chain(of_suite).map(|(lower, _)| lower).collect();
        assert!(!lowest.is_empty() && lowest.iter().all(|lower| *lower >= 0.0), "{order}: {lowest:?}");
    }
}

/// A p-value that was only told to be small is not doubled and printed as if it were exact.
#[test]
fn what_is_too_small_to_be_told_stays_so() {
    let apart = |median: f64| Times::normal(median, 1e-4 * median);
    let mut synthetic = Synthetic::new(3, 2, 3_000, "[analysis]\ncenter = \"mean\"\n");
    for benchmark in 0..3 {
        synthetic = synthetic.times(benchmark, 1, apart(50e6));
    }
    let report = synthetic.report();
    for comparison in report.benchmarks.iter().map(|benchmark| &benchmark.comparisons[0]) {
        assert_eq!(comparison.headline().unwrap().p_value, Some(1e-300));
        assert!(comparison.adjusted.iter().all(|adjusted| adjusted.p_value == 1e-300), "{comparison:?}");
    }
}
