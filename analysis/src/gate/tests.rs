//! Rulings one by one, and conclusions from whole reports and answers.

use super::*;
use crate::inquiry::{
    EffectOptions, Findings, Inquiry, Method, NamedSample, Preference, RatioOptions, SpeedupTestMode,
    SpeedupTestOptions, Suite,
};
use crate::study::Report;
use speedup_core::{experiment::Center, value::seed::Seed};
use speedup_statistics::inference::Adjustment;

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
    Suite::new(version, benchmarks.collect())
}

fn conclusions(method: Method, better: Preference, suites: Vec<Suite>) -> Result<Vec<Conclusion>, GateError> {
    beyond(0.0, method, better, suites)
}

/// The conclusions where a slowdown of so many percent does not matter.
fn beyond(
    threshold: f64,
    method: Method,
    better: Preference,
    suites: Vec<Suite>,
) -> Result<Vec<Conclusion>, GateError> {
    let inquiry = Inquiry { better, noise_threshold: percent(threshold), ..Inquiry::new(suites, method) };
    Conclusion::from_answer(&inquiry.answer().unwrap())
}

#[test]
fn without_a_threshold_the_verdict_decides() {
    let rulings =
        Verdict::ALL.map(|verdict| Ruling::by_interval(verdict, Some((0.98, 0.99)), Threshold::NONE));
    assert_eq!(
        rulings,
        [Ruling::Sound, Ruling::Regression, Ruling::Sound, Ruling::Undecided, Ruling::Undecided]
    );
}

#[test]
fn an_interval_that_keeps_the_risk_lies_on_one_side_of_the_threshold() {
    let ruling = |verdict, interval| Ruling::by_interval(verdict, interval, percent(1.0));
    assert_eq!(ruling(Verdict::Slower, Some((0.95, 0.98))), Ruling::Regression);
    assert_eq!(ruling(Verdict::Slower, Some((0.95, 0.995))), Ruling::Undecided);
    assert_eq!(ruling(Verdict::Slower, Some((0.992, 0.999))), Ruling::Sound);
    assert_eq!(ruling(Verdict::Slower, None), Ruling::Undecided);
    // The end itself is not beyond it.
    let end = 1.0 / 1.01;
    assert_eq!(ruling(Verdict::Slower, Some((0.9, end))), Ruling::Undecided);
    assert_eq!(ruling(Verdict::Slower, Some((0.9, end.next_down()))), Ruling::Regression);
    assert_eq!(ruling(Verdict::Undecided, Some((0.995, 1.2))), Ruling::Sound);
    assert_eq!(ruling(Verdict::Undecided, Some((0.985, 1.2))), Ruling::Undecided);
    assert_eq!(ruling(Verdict::NotEnoughData, Some((1.0, 1.0))), Ruling::Undecided);
    assert_eq!(ruling(Verdict::Faster, None), Ruling::Sound);
    assert_eq!(ruling(Verdict::Same, None), Ruling::Sound);
    // The same within a margin of 10 %.
    assert_eq!(ruling(Verdict::Same, Some((0.91, 0.94))), Ruling::Regression);
    assert_eq!(ruling(Verdict::Same, Some((0.98, 1.02))), Ruling::Undecided);
    assert_eq!(ruling(Verdict::Same, Some((0.995, 1.02))), Ruling::Sound);
}

/// Two versions on benchmarks of normal times, the second slower by `factor`.
fn suites_slower_by(factor: f64, benchmarks: usize, runs: usize, seed: u64) -> Vec<Suite> {
    let version = |name: &str, level: f64, salt: u64| Suite {
        version: name.to_owned(),
        missing: Vec::new(),
        benchmarks: (0..benchmarks)
            .map(|at| NamedSample::new(format!("b{at}"), normal(level, runs, seed * 1000 + salt + at as u64)))
            .collect(),
    };
    vec![version("before", 1.0, 0), version("after", factor, 500)]
}

/// Normal times around `level`, with a spread of one percent.
fn normal(level: f64, count: usize, seed: u64) -> Vec<Vec<f64>> {
    use rand_chacha::rand_core::Rng as _;
    let mut random = Seed(seed).child("normal times of a gate");
    let mut uniform = || ((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    // Box and Muller 1958.
    let mut deviate = || (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
    (0..count).map(|_| vec![level * (1.0 + 0.01 * deviate())]).collect()
}

#[test]
fn a_threshold_is_tested_in_one_family() {
    for center in [Center::Trimmed, Center::Median, Center::Mean] {
        let method = || Method::Ratio(RatioOptions { center: Some(center), ..RatioOptions::default() });
        let fails = |seed: &u64| {
            let suites = suites_slower_by(1.049, 20, 12, *seed);
            let all = beyond(5.0, method(), Preference::Lower, suites).unwrap();
            all.iter().any(|one| one.ruling == Ruling::Regression)
        };
        let failed = (0..40).filter(fails).count();
        // 5 % of 40 are 2, and more than 6 have a chance of 0.003.
        assert!(failed <= 6, "{center:?} {failed}");
        let suites = suites_slower_by(1.1, 20, 12, 1);
        let all = beyond(5.0, method(), Preference::Lower, suites).unwrap();
        assert!(all.iter().all(|one| one.ruling == Ruling::Regression), "{center:?}");
        let all = beyond(5.0, method(), Preference::Lower, suites_slower_by(1.0, 20, 12, 1)).unwrap();
        assert!(all.iter().all(|one| one.ruling == Ruling::Sound), "{center:?}");
    }
}

#[test]
fn a_higher_threshold_never_makes_a_regression_and_an_adjusted_verdict_is_never_stronger() {
    for seed in 0..10 {
        let suites = || suites_slower_by(1.01, 6, 10, seed);
        for method in [Method::ratio(), Method::speedup_test(), Method::SignedRank, Method::BrunnerMunzel] {
            let mut regressions = usize::MAX;
            for threshold in [0.0, 0.2, 0.5, 1.0, 2.0] {
                let all = beyond(threshold, method.clone(), Preference::Lower, suites()).unwrap();
                for one in &all {
                    let is_weaker = !one.adjusted_verdict.is_conclusive();
                    assert!(one.adjusted_verdict == one.verdict || is_weaker, "{one:?}");
                }
                let now = all.iter().filter(|one| one.ruling == Ruling::Regression).count();
                assert!(now <= regressions, "{method:?} {threshold}");
                regressions = now;
            }
        }
    }
}

/// The ratio by a centre, within two percent the same.
fn within_two_percent(center: Center) -> Method {
    Method::Ratio(RatioOptions { center: Some(center), margin: Some(0.02), ..RatioOptions::default() })
}

#[test]
fn a_total_of_equal_benchmarks_is_the_same_within_a_margin() {
    for center in [Center::Trimmed, Center::Median, Center::Mean] {
        let inquiry = Inquiry::new(suites_slower_by(1.0, 6, 40, 2), within_two_percent(center));
        let all = Conclusion::from_answer(&inquiry.answer().unwrap()).unwrap();
        assert_eq!(all[0].benchmark, None);
        for one in &all {
            assert_eq!([one.verdict, one.adjusted_verdict], [Verdict::Same; 2], "{center:?} {one:?}");
            assert_eq!(one.ruling, Ruling::Sound);
        }
    }
}

#[test]
fn nothing_is_the_same_within_less_than_the_step_of_the_clock() {
    let rounded = |level: f64, spread: f64, step: f64, seed: u64| -> Vec<f64> {
        let deviates = normal(1.0, 30, seed).into_iter().map(|run| (run[0] - 1.0) / 0.01);
        deviates.map(|deviate| ((level + spread * deviate) / step).round() * step).collect()
    };
    let compared = |center: Center, spread: f64, step: f64, seed: u64| {
        let [before, after] = [(20.4, 2 * seed), (19.6, 2 * seed + 1)]
            .map(|(level, seed)| suite(&format!("at {level}"), &[("b", rounded(level, spread, step, seed))]));
        let answer = Inquiry::new(vec![before, after], within_two_percent(center)).answer().unwrap();
        let Findings::Ratio(mut found) = answer.findings else { panic!("another method") };
        found.remove(0).benchmarks.remove(0).comparison
    };
    for center in [Center::Trimmed, Center::Median, Center::Mean] {
        for (spread, seed) in
            [0.01, 0.15].into_iter().flat_map(|spread| (0..20).map(move |seed| (spread, seed)))
        {
            let coarse = compared(center, spread, 1.0, seed);
            assert_ne!(coarse.verdict, Verdict::Same, "{center:?} {spread} {seed}");
        }
        let steps = compared(center, 0.15, 1.0, 1).first.map(|first| first.clock_step.unwrap());
        assert!(steps.is_some_and(|step| (step - 0.05).abs() < 1e-12), "{steps:?}");
    }
    let fine = Inquiry::new(
        ["before", "after"].map(|name| suite(name, &[("b", rounded(20.0, 0.05, 1e-3, 7))])).into(),
        within_two_percent(Center::Trimmed),
    );
    assert_eq!(Conclusion::from_answer(&fine.answer().unwrap()).unwrap()[0].verdict, Verdict::Same);
}

#[test]
fn exit_codes_follow_from_the_adjusted_fields_of_the_json() {
    for (slower, threshold) in [(1.0, 0.0), (1.004, 0.0), (1.02, 0.0), (1.004, 1.0), (1.02, 1.0), (1.02, 3.0)]
    {
        let suites = suites_slower_by(slower, 5, 12, 3);
        let inquiry =
            Inquiry { noise_threshold: percent(threshold), ..Inquiry::new(suites, Method::ratio()) };
        let answer = inquiry.answer().unwrap();
        let json = serde_json::to_value(&answer).unwrap();
        let gates = json["gates"].as_array().unwrap();
        let by_list = |ruling: &str| gates.iter().filter(|one| one["ruling"] == ruling).count();
        let judgement = GateRulings::new(Conclusion::from_answer(&answer).unwrap());
        let judged = [judgement.regressions.len(), judgement.undecided.len()];
        assert_eq!(judged, [by_list("regression"), by_list("undecided")]);
        // The rows say the same as the list.
        let of = &json["findings"]["of"][0];
        let rows = of["benchmarks"].as_array().unwrap();
        for (row, gate) in [&of["suite"]].into_iter().chain(rows).zip(gates) {
            let holm = &row["adjusted"][0];
            assert_eq!((&row["verdict"], &holm["verdict"]), (&gate["verdict"], &gate["adjusted_verdict"]));
            let expected = match gate["adjusted_verdict"].as_str().unwrap() {
                "faster" | "same" => "sound",
                "slower" => "regression",
                _ => "undecided",
            };
            let is_significant = gate["ruling_p_value"].as_f64().unwrap() <= 0.05;
            assert_eq!(gate["ruling"] != "undecided", is_significant, "{gate}");
            assert!(threshold > 0.0 || gate["ruling"] == expected, "{gate}");
        }
    }
}

#[test]
fn rates_and_times_are_ruled_alike_by_every_method() {
    let effect = Method::Effect(EffectOptions::default());
    let methods =
        [Method::ratio(), Method::speedup_test(), Method::SignedRank, Method::BrunnerMunzel, effect];
    for method in methods {
        for (threshold, ruling) in [(2.0, Ruling::Regression), (8.0, Ruling::Sound)] {
            let times = suites_slower_by(1.05, 3, 40, 1);
            let mut rates = times.clone();
            for value in
                rates.iter_mut().flat_map(|suite| &mut suite.benchmarks).flat_map(|one| &mut one.runs)
            {
                value[0] = 1.0 / value[0];
            }
            for (better, suites) in [(Preference::Lower, times), (Preference::Higher, rates)] {
                let all = beyond(threshold, method.clone(), better, suites).unwrap();
                assert!(
                    all.iter().all(|one| one.ruling == ruling),
                    "{method:?} {threshold} {better:?} {all:?}"
                );
            }
        }
    }
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
    let Findings::SpeedupTest(of) = &answer.findings else { panic!("another method") };
    let plain = of[0].benchmarks.iter().filter(|one| one.verdict == Verdict::Slower).count();
    assert!(plain > 0, "the seed has no false alarm to be adjusted");
    let conclusions = Conclusion::from_answer(&answer).unwrap();
    assert_eq!(conclusions.len(), 101);
    assert_eq!(conclusions[0].benchmark, None);
    let judgement = GateRulings::new(conclusions);
    assert_eq!(judgement.regressions, Vec::new());
}

#[test]
fn a_regression_in_one_of_many_benchmarks_is_named_with_its_size() {
    let before = suite("before", &[("sort", times(1.0, 30, 1)), ("grep", times(2.0, 30, 2))]);
    let after = suite("after", &[("sort", times(1.1, 30, 3)), ("grep", times(2.0, 30, 4))]);
    for method in [Method::speedup_test(), Method::SignedRank] {
        let all = beyond(2.0, method, Preference::Lower, vec![before.clone(), after.clone()]).unwrap();
        let judgement = GateRulings::new(all);
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
            let all = beyond(2.0, method.clone(), Preference::Higher, suites(candidate)).unwrap();
            assert_eq!(all.len(), 1, "one benchmark is judged once");
            assert_eq!(all[0].ruling, ruling, "{method:?} {candidate}");
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
        assert_eq!(one.verdict, comparison.verdict);
        assert_eq!(one.adjusted_verdict, holm.map_or(comparison.verdict, |holm| holm.verdict));
        assert_eq!(one.ruling, one.adjusted_verdict.into());
    }
    let judgement = GateRulings::new(all);
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
