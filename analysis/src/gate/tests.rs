//! Rulings one by one, and conclusions from whole reports and answers.

use super::*;
use crate::inquiry::{
    EffectOptions, Inquiry, Method, NamedSample, Preference, SpeedupTestMode, SpeedupTestOptions, Suite,
};
use crate::study::Report;
use speedup_core::value::seed::Seed;
use speedup_statistics::inference::Adjustment;

fn conclusion(verdict: Verdict, interval: Option<(f64, f64)>) -> Conclusion {
    let candidate = "next".to_owned();
    let speedup = interval.map(|(lower, upper)| f64::midpoint(lower, upper));
    Conclusion { candidate, benchmark: Some("sort".to_owned()), endpoint: None, verdict, speedup, interval }
}

fn percent(percent: f64) -> Threshold {
    Threshold::new(percent / 100.0).unwrap()
}

/// Values around `level` that no test takes for equal or normal by accident of construction.
fn times(level: f64, count: usize, seed: u64) -> Vec<f64> {
    use rand_chacha::rand_core::Rng as _;
    let mut random = Seed(seed).child("times of a gate");
    (0..count).map(|_| level * (1.0 + 0.01 * (random.next_u64() as f64 / u64::MAX as f64))).collect()
}

fn suite(version: &str, benchmarks: &[(&str, Vec<f64>)]) -> Suite {
    let benchmarks = benchmarks
        .iter()
        .map(|(name, values)| NamedSample::new(*name, values.iter().map(|value| vec![*value]).collect()));
    Suite { version: version.to_owned(), benchmarks: benchmarks.collect() }
}

fn conclusions(method: Method, better: Preference, suites: Vec<Suite>) -> Result<Vec<Conclusion>, GateError> {
    let answer = Inquiry { better, ..Inquiry::new(suites, method) }.answer().unwrap();
    Conclusion::of_answer(&answer, Threshold::NONE)
}

#[test]
fn without_a_threshold_the_verdict_decides() {
    let rulings = Verdict::ALL.map(|verdict| conclusion(verdict, Some((0.98, 0.99))).ruling(Threshold::NONE));
    assert_eq!(
        rulings,
        [Ruling::Sound, Ruling::Regression, Ruling::Sound, Ruling::Undecided, Ruling::Undecided]
    );
    assert_eq!(conclusion(Verdict::Slower, None).ruling(Threshold::NONE), Ruling::Regression);
}

#[test]
fn a_regression_lies_beyond_the_threshold_with_its_whole_interval() {
    let slower = |interval| conclusion(Verdict::Slower, interval).ruling(percent(1.0));
    assert_eq!(slower(Some((0.95, 0.98))), Ruling::Regression);
    assert_eq!(slower(Some((0.95, 0.995))), Ruling::Undecided);
    assert_eq!(slower(Some((0.992, 0.999))), Ruling::Sound);
    assert_eq!(slower(None), Ruling::Undecided);
    // The end itself is not beyond it.
    let end = 1.0 / 1.01;
    assert_eq!(slower(Some((0.9, end))), Ruling::Undecided);
    assert_eq!(slower(Some((0.9, end.next_down()))), Ruling::Regression);
}

#[test]
fn no_difference_is_decided_within_the_threshold_alone() {
    let same = |interval, noise| conclusion(Verdict::Undecided, interval).ruling(percent(noise));
    assert_eq!(same(Some((0.995, 1.005)), 1.0), Ruling::Sound);
    assert_eq!(same(Some((0.995, 1.005)), 0.1), Ruling::Undecided);
    assert_eq!(same(Some((0.995, 1.005)), 0.0), Ruling::Undecided);
    assert_eq!(
        same(Some((0.9, 0.98)), 1.0),
        Ruling::Undecided,
        "Holm took the verdict, the interval is plain"
    );
    assert_eq!(conclusion(Verdict::NotEnoughData, Some((1.0, 1.0))).ruling(percent(1.0)), Ruling::Undecided);
    assert_eq!(conclusion(Verdict::Faster, Some((1.001, 1.1))).ruling(percent(1.0)), Ruling::Sound);
}

#[test]
fn a_suite_without_a_difference_passes_where_plain_verdicts_fail() {
    let names: Vec<String> = (0..100).map(|number| format!("b{number}")).collect();
    let version = |name: &str, salt: u64| {
        let benchmarks = names.iter().zip(0..).map(|(name, at)| (name.as_str(), times(1.0, 20, salt + at)));
        suite(name, &benchmarks.collect::<Vec<_>>())
    };
    let suites = vec![version("before", 0), version("after", 1000)];
    let answer = Inquiry::new(suites.clone(), Method::speedup_test()).answer().unwrap();
    let crate::inquiry::Findings::SpeedupTest(of) = &answer.findings else { panic!("another method") };
    let plain = of[0].benchmarks.iter().filter(|one| one.verdict == Verdict::Slower).count();
    assert!(plain > 0, "the seed has no false alarm to be adjusted");
    let conclusions = Conclusion::of_answer(&answer, Threshold::NONE).unwrap();
    assert_eq!(conclusions.len(), 101);
    assert_eq!(conclusions[0].benchmark, None);
    let judgement = Judgement::new(conclusions, Threshold::NONE);
    assert_eq!(judgement.regressions, Vec::new());
}

#[test]
fn a_regression_in_one_of_many_benchmarks_is_named_with_its_size() {
    let before = suite("before", &[("sort", times(1.0, 30, 1)), ("grep", times(2.0, 30, 2))]);
    let after = suite("after", &[("sort", times(1.1, 30, 3)), ("grep", times(2.0, 30, 4))]);
    for method in [Method::speedup_test(), Method::SignedRank] {
        let all = conclusions(method, Preference::Lower, vec![before.clone(), after.clone()]).unwrap();
        let judgement = Judgement::new(all, percent(2.0));
        let on_sort: Vec<String> = judgement
            .regressions
            .iter()
            .filter(|one| one.benchmark.as_deref() == Some("sort"))
            .map(ToString::to_string)
            .collect();
        assert_eq!(on_sort.len(), 1, "{judgement:?}");
        assert!(on_sort[0].starts_with("after on sort: "), "{on_sort:?}");
        assert!(on_sort[0].contains(" 0.909× [0.90"), "{on_sort:?}");
        assert!(judgement.regressions.iter().all(|one| one.benchmark.as_deref() != Some("grep")));
    }
}

#[test]
fn where_larger_is_better_a_lower_rate_is_the_regression() {
    let suites = |candidate: f64| {
        vec![
            suite("before", &[("rate", times(100.0, 30, 1))]),
            suite("after", &[("rate", times(candidate, 30, 2))]),
        ]
    };
    let effect = Method::Effect(EffectOptions::default());
    for method in [Method::speedup_test(), Method::SignedRank, effect] {
        for (candidate, ruling) in [(90.0, Ruling::Regression), (110.0, Ruling::Sound)] {
            let all = conclusions(method.clone(), Preference::Higher, suites(candidate)).unwrap();
            assert_eq!(all.len(), 1, "one benchmark is judged once");
            assert_eq!(all[0].ruling(percent(2.0)), ruling, "{method:?} {candidate}");
        }
    }
}

#[test]
fn methods_that_cannot_show_a_regression_are_refused_by_name() {
    let suites =
        vec![suite("before", &[("sort", times(1.0, 30, 1))]), suite("after", &[("sort", times(1.1, 30, 2))])];
    let published = SpeedupTestOptions { mode: SpeedupTestMode::Published, ..SpeedupTestOptions::default() };
    let error = conclusions(Method::SpeedupTest(published), Preference::Lower, suites.clone()).unwrap_err();
    assert!(matches!(error, GateError::OneSided(_)), "{error}");
    let error = conclusions(Method::Diagnostics, Preference::Lower, suites.clone()).unwrap_err();
    assert!(matches!(error, GateError::NoVerdict(_)), "{error}");
    for method in [Method::PerformanceTest(Default::default()), Method::BrunnerMunzel] {
        let answer = Inquiry::new(suites.clone(), method).answer().unwrap();
        assert!(Conclusion::of_answer(&answer, Threshold::NONE).is_ok());
        let error = Conclusion::of_answer(&answer, percent(1.0)).unwrap_err();
        assert!(error.to_string().contains("no interval"), "{error}");
    }
}

#[test]
fn a_report_is_judged_by_its_adjusted_verdicts() {
    let report: Report =
        serde_json::from_str(include_str!("../../tests/golden/report_v1_finished.json")).unwrap();
    let all = Conclusion::of_report(&report);
    assert_eq!(all.len(), 1 + report.benchmarks.len());
    assert_eq!(all[0].verdict, report.suites[0].verdict);
    for (one, benchmark) in all[1..].iter().zip(&report.benchmarks) {
        let comparison = &benchmark.comparisons[0];
        let holm = comparison.adjusted.iter().find(|one| one.adjustment == Adjustment::Holm);
        assert_eq!(one.benchmark.as_deref(), Some(benchmark.name.as_str()));
        assert_eq!(one.verdict, holm.map_or(comparison.verdict, |holm| holm.verdict));
    }
    let judgement = Judgement::new(all, Threshold::NONE);
    let named: Vec<_> = judgement.regressions.iter().filter_map(|one| one.benchmark.as_deref()).collect();
    assert_eq!(named, ["compress-a-rather-large-archive"]);
    assert!(judgement.undecided.iter().any(|one| one.benchmark.as_deref() == Some("join")));
}

#[test]
fn under_looks_the_rule_speaks_and_there_is_no_suite() {
    let report: Report =
        serde_json::from_str(include_str!("../../tests/golden/report_v1_looked.json")).unwrap();
    let all = Conclusion::of_report(&report);
    let by_looks = report.benchmarks.iter().flat_map(|one| &one.comparisons).any(|one| one.look.is_some());
    assert!(by_looks, "the golden report has looks");
    assert!(all.iter().all(|one| one.benchmark.is_some()), "{all:?}");
    let verdicts: Vec<Verdict> =
        report.benchmarks.iter().flat_map(|one| &one.comparisons).map(|one| one.verdict).collect();
    assert_eq!(all.iter().map(|one| one.verdict).collect::<Vec<_>>(), verdicts);
}
