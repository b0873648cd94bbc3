//! Laws of inquiries.

use super::*;
use crate::conclusion::{Protocol, ReasonCode, Verdict, WarningCode};
use proptest::prelude::*;
use speedup_core::experiment::Center;
use speedup_statistics::inference::{Adjustment, ThresholdDecision};
use speedup_statistics::protocol::speedup_test::{Assumption, AssumptionOutcome};
use speedup_statistics::ratio::BenchmarkWeights;

mod endpoints;
mod pairs;
mod shares;

const BEFORE: [f64; 12] = [2.1, 2.3, 2.2, 2.4, 2.15, 2.25, 2.35, 2.05, 2.28, 2.19, 2.31, 2.11];
const AFTER: [f64; 12] = [1.1, 1.3, 1.2, 1.4, 1.15, 1.25, 1.35, 1.05, 1.28, 1.19, 1.31, 1.12];

fn methods() -> Vec<Method> {
    let adjusted = SpeedupTestOptions { adjust: Some(Adjustment::Holm), ..Default::default() };
    let published = SpeedupTestOptions { mode: SpeedupTestMode::Published, ..Default::default() };
    let effect = EffectOptions { threshold: 0.01, bootstrap: Some(50), ..Default::default() };
    vec![
        Method::ratio(),
        Method::SpeedupTest(adjusted),
        Method::SpeedupTest(published),
        Method::PerformanceTest(PerformanceTestOptions::default()),
        Method::Effect(effect),
        Method::Mixture(MixtureOptions { resamples: 0, ..Default::default() }),
        Method::SignedRank,
        Method::BrunnerMunzel,
        Method::Earlier(EarlierOptions::default()),
        Method::Distribution(DistributionOptions { bounds: vec![1.5], clusters: true, ..Default::default() }),
        Method::Diagnostics,
    ]
}

fn scaled(values: &[f64], factor: f64) -> Vec<f64> {
    values.iter().map(|value| value * factor).collect()
}

fn two(before: Vec<f64>, after: Vec<f64>) -> Vec<Suite> {
    vec![Suite::single("before", "sort", before), Suite::single("after", "sort", after)]
}

/// The words that the method ends in.
fn verdict(answer: &Answer) -> String {
    match &answer.findings {
        Findings::Ratio(of) => of[0].suite.verdict.words().to_owned(),
        Findings::SpeedupTest(of) => of[0].verdict.words().to_owned(),
        Findings::PerformanceTest(of) => of[0].verdict.words().to_owned(),
        Findings::Effect(of) => of[0].decision.code().to_owned(),
        Findings::Mixture(of) => format!("{:.6}", of.metrics[0].probability_better.below),
        Findings::Distribution(of) => {
            format!("{} clusters", of.iter().map(|one| one.components.len()).sum::<usize>())
        }
        Findings::SignedRank(of) => of[0].verdict.words().to_owned(),
        Findings::BrunnerMunzel(of) => of[0].verdict.words().to_owned(),
        Findings::Earlier(of) => of[0].benchmarks[0].verdict.words().to_owned(),
        Findings::Diagnostics(of) => format!("{:?}", of[0].signs),
    }
}

// Both samples happen to alternate about their medians, which the runs test is right to notice.
#[test]
fn every_method_says_which_is_faster() {
    let words: Vec<String> = methods()
        .into_iter()
        .map(|method| verdict(&Inquiry::new(two(BEFORE.to_vec(), AFTER.to_vec()), method).answer().unwrap()))
        .collect();
    let first = ["faster", "faster", "faster", "not enough data", "faster", "1.000000"];
    assert_eq!(
        words,
        [&first[..], &["faster", "faster", "faster", "2 clusters", r#"["runs_test"]"#]].concat()
    );
}

#[test]
fn larger_is_better_where_it_is_said() {
    for method in methods() {
        let times = Inquiry::new(two(BEFORE.to_vec(), AFTER.to_vec()), method.clone()).answer().unwrap();
        let rates = two(AFTER.to_vec(), BEFORE.to_vec());
        let rates = Inquiry { better: Preference::Higher, ..Inquiry::new(rates, method) }.answer().unwrap();
        if !matches!(rates.method.options, Method::Diagnostics) {
            assert_eq!(verdict(&times), verdict(&rates), "{}", rates.method.name);
        }
    }
}

#[test]
fn sides_keep_their_names_where_larger_is_better() {
    let skewed = vec![1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07, 1.08, 9.0];
    for better in [Preference::Lower, Preference::Higher] {
        let suites = two(BEFORE.to_vec(), skewed.clone());
        let answer = Inquiry { better, ..Inquiry::new(suites, Method::speedup_test()) }.answer().unwrap();
        let Findings::SpeedupTest(of) = answer.findings else { panic!("another method") };
        let mean = &of[0].benchmarks[0].mean.report;
        let reason = mean.reason.as_ref().unwrap();
        assert_eq!(reason.code, ReasonCode::SmallNotNormal);
        assert!(reason.sentence.contains("of the candidate seem"), "{better:?}: {}", reason.sentence);
        let rejected = mean.assumptions.iter().filter(|one| one.finding == AssumptionOutcome::Rejected);
        let names: Vec<Assumption> = rejected.map(|one| one.assumption).collect();
        assert!(names.contains(&Assumption::NormalCandidate), "{better:?}: {names:?}");
        assert!(!names.contains(&Assumption::NormalBaseline), "{better:?}: {names:?}");
    }
    let one_run = two(BEFORE.to_vec(), vec![1.0]);
    for better in [Preference::Lower, Preference::Higher] {
        let asked = Inquiry::new(one_run.clone(), Method::Effect(EffectOptions::default()));
        let Findings::Effect(of) = (Inquiry { better, ..asked }).answer().unwrap().findings else {
            panic!("another method")
        };
        assert!(of[0].reason.as_ref().unwrap().sentence.contains("mean of the candidate"), "{better:?}");
    }
}

#[test]
fn a_unit_changes_no_verdict() {
    for method in methods() {
        let answer = |factor: f64| {
            let suites = two(scaled(&BEFORE, factor), scaled(&AFTER, factor));
            verdict(&Inquiry::new(suites, method.clone()).answer().unwrap())
        };
        for factor in [2_f64.powi(-320), 2_f64.powi(-30), 2_f64.powi(320)] {
            assert_eq!(answer(factor), answer(1.0), "{} at {factor:e}", method.word());
        }
    }
}

#[test]
fn what_cannot_be_meant_is_refused_by_name() {
    let code = |suites: Vec<Suite>| {
        Inquiry::new(suites, Method::speedup_test()).answer().map_err(|error| error.code()).unwrap_err()
    };
    let bad = |value: f64| code(two(BEFORE.to_vec(), vec![1.0, value]));
    assert_eq!(bad(f64::NAN), "not_finite");
    assert_eq!(bad(f64::INFINITY), "not_finite");
    assert_eq!((bad(0.0), bad(-1.0)), ("not_positive", "not_positive"));
    assert_eq!((bad(1e-300), bad(1e300)), ("out_of_range", "out_of_range"));
    assert_eq!(code(two(BEFORE.to_vec(), Vec::new())), "no_values");
    assert_eq!(code(vec![Suite::single("a", "x", vec![1.0])]), "too_few_versions");
    let apart = vec![Suite::single("a", "x", vec![1.0]), Suite::single("b", "y", vec![1.0])];
    assert_eq!(code(apart), "nothing_in_common");
    let twins = vec![Suite::single("a", "x", vec![1.0]), Suite::single("a", "x", vec![1.0])];
    assert_eq!(code(twins), "version_twice");
    let asked = Inquiry::new(two(BEFORE.to_vec(), AFTER.to_vec()), Method::speedup_test());
    let with = |inquiry: Inquiry| inquiry.answer().unwrap_err().code();
    assert_eq!(with(Inquiry { confidence: Some(1.0), ..asked.clone() }), "confidence");
    assert_eq!(with(Inquiry { weights: BenchmarkWeights::Custom(vec![0.0]), ..asked.clone() }), "weight");
    assert_eq!(with(Inquiry { weights: BenchmarkWeights::Custom(vec![1.0; 2]), ..asked }), "weight_count");
}

#[test]
fn a_benchmark_that_a_version_lacks_is_named() {
    let mut suites = two(BEFORE.to_vec(), AFTER.to_vec());
    suites[0].benchmarks.push(NamedSample::new("gzip", vec![vec![1.0]]));
    let answer = Inquiry::new(suites, Method::speedup_test()).answer().unwrap();
    assert_eq!(
        answer.unmatched,
        [UnmatchedBenchmark { benchmark: "gzip".to_owned(), missing_in: vec!["after".to_owned()] }]
    );
    assert!(answer.caveats.iter().any(|caveat| caveat.code == WarningCode::UnmatchedBenchmarks));
}

#[test]
fn samples_that_hardly_vary_are_marked() {
    let codes = |after: Vec<f64>| {
        let answer =
            Inquiry::new(two(BEFORE.to_vec(), after), Method::Effect(EffectOptions::default())).answer();
        answer.unwrap().caveats.into_iter().map(|caveat| caveat.code).collect::<Vec<_>>()
    };
    assert_eq!(codes(vec![1.0; 5]), [WarningCode::AllEqual]);
    assert_eq!(codes(vec![1.0, 1.0 + 1e-15, 1.0 - 1e-15, 1.0]), [WarningCode::SpreadOfRounding]);
    assert_eq!(codes(AFTER.to_vec()), [WarningCode::AllEqual; 0]);
}

#[test]
fn holm_over_benchmarks_is_never_more_certain() {
    let suite = |version: &str, values: [&[f64]; 3]| Suite {
        version: version.to_owned(),
        missing: Vec::new(),
        benchmarks: values
            .iter()
            .enumerate()
            .map(|(number, values)| {
                NamedSample::new(format!("b{number}"), values.iter().map(|value| vec![*value]).collect())
            })
            .collect(),
    };
    let near = scaled(&BEFORE, 0.97);
    let suites = vec![suite("a", [&BEFORE, &BEFORE, &BEFORE]), suite("b", [&near, &AFTER, &BEFORE])];
    let options = SpeedupTestOptions { adjust: Some(Adjustment::Holm), ..Default::default() };
    let answer = Inquiry::new(suites, Method::SpeedupTest(options)).answer().unwrap();
    let Findings::SpeedupTest(of) = answer.findings else { panic!("another method") };
    let p = |at: usize| {
        let mean = &of[0].benchmarks[at].mean;
        (mean.report.at_level.main_test.p_value.unwrap(), mean.adjusted.unwrap())
    };
    let (plain, adjusted) = p(0);
    // The second of three in order is doubled.
    assert!((adjusted.p_value - 2.0 * plain).abs() < 1e-15 && plain < 0.2);
    assert_eq!(p(1).1.verdict, Verdict::Faster);
}

#[test]
fn runs_are_a_level_of_the_effect() {
    let runs =
        |shift: f64| (0..6).map(|run| scaled(&AFTER[..4], 1.0 + shift + 0.1 * f64::from(run))).collect();
    let suite = |version: &str, shift: f64| Suite {
        version: version.to_owned(),
        missing: Vec::new(),
        benchmarks: vec![NamedSample::new("sort", runs(shift))],
    };
    let suites = vec![suite("a", 1.0), suite("b", 0.0)];
    let answer = Inquiry::new(suites.clone(), Method::Effect(EffectOptions::default())).answer().unwrap();
    let Findings::Effect(of) = answer.findings else { panic!("another method") };
    assert_eq!(of[0].baseline_levels.levels.len(), 2);
    assert_eq!(of[0].decision, ThresholdDecision::Faster);
    let (lower, upper) = of[0].interval.ends().unwrap();
    let (below, above) = of[0].time_ratio_interval.ends().unwrap();
    assert!((lower * above - 1.0).abs() < 1e-12 && (upper * below - 1.0).abs() < 1e-12);
    let pooled = Inquiry::new(suites, Method::speedup_test()).answer().unwrap();
    assert!(pooled.caveats.iter().any(|caveat| caveat.code == WarningCode::RunMeans));
    assert_eq!(pooled.samples[0].n, 6);
}

#[test]
fn an_inquiry_is_read_as_it_was_written() {
    for method in methods() {
        let inquiry = Inquiry::new(two(BEFORE.to_vec(), AFTER.to_vec()), method);
        let text = serde_json::to_string(&inquiry).unwrap();
        assert_eq!(serde_json::from_str::<Inquiry>(&text).unwrap(), inquiry);
    }
    let short = r#"{"suites": [], "method": {"kind": "signed_rank"}}"#;
    assert_eq!(serde_json::from_str::<Inquiry>(short).unwrap(), Inquiry::new(Vec::new(), Method::SignedRank));
}

/// Samples as they come: few or many runs, ties, constants, any scale, spreads near rounding.
fn values() -> impl Strategy<Value = Vec<f64>> {
    let scale = prop::sample::select(vec![1e-300, 1e-100, 1e-60, 1e-9, 1.0, 1e9, 1e60, 1e99, 1e300]);
    let spread = prop::sample::select(vec![0.0, 1e-15, 1e-9, 0.01, 1.0]);
    let grid = prop::sample::select(vec![1e-9, 0.25, 1.0]);
    (scale, spread, grid, prop::collection::vec(0.0..1.0_f64, 1..40)).prop_map(
        |(scale, spread, grid, units)| {
            units.iter().map(|unit| scale * (1.0 + spread * (unit / grid).round() * grid)).collect()
        },
    )
}

fn any_value() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(any::<f64>(), 0..5)
}

fn finite_numbers(value: &serde_json::Value, at: &str) -> Result<(), String> {
    match value {
        serde_json::Value::Object(fields) => {
            fields.iter().try_for_each(|(name, value)| finite_numbers(value, name))
        }
        serde_json::Value::Array(items) => items.iter().try_for_each(|item| finite_numbers(item, at)),
        // NaN and infinities become null in JSON; these fields have no other reason to be so.
        serde_json::Value::Null
            if ["speedup", "mean", "gain", "p_value_faster", "confidence"].contains(&at) =>
        {
            Err(at.to_owned())
        }
        _ => Ok(()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn any_samples_have_an_answer_or_a_named_refusal(
        before in values(),
        after in values(),
        strange in any_value(),
        higher: bool,
        confidence in prop::sample::select(vec![None, Some(1e-9), Some(0.5), Some(0.999_999)]),
    ) {
        for method in methods() {
            let better = if higher { Preference::Higher } else { Preference::Lower };
            for suites in [two(before.clone(), after.clone()), two(before.clone(), strange.clone())] {
                let inquiry = Inquiry { better, confidence, ..Inquiry::new(suites, method.clone()) };
                match inquiry.answer() {
                    Ok(answer) => {
                        for sample in &answer.samples {
                            prop_assert!(sample.min <= sample.mean * (1.0 + 1e-9), "{sample:?}");
                        }
                        let json = serde_json::to_value(&answer).unwrap();
                        if matches!(method, Method::Effect(_)) {
                            prop_assert_eq!(finite_numbers(&json["findings"]["of"][0]["time_ratio"], "mean"), Ok(()));
                        }
                    }
                    Err(error) => prop_assert!(!error.code().is_empty() && !error.to_string().is_empty()),
                }
            }
        }
    }

    #[test]
    fn the_order_of_the_versions_turns_every_verdict(
        before in prop::collection::vec(0.5..1.5_f64, 5..20),
        after in prop::collection::vec(0.5..1.5_f64, 5..20),
    ) {
        let verdict = |suites| {
            let answer = Inquiry::new(suites, Method::speedup_test()).answer().unwrap();
            let Findings::SpeedupTest(of) = answer.findings else { panic!("another method") };
            of[0].verdict
        };
        let turned = match verdict(two(after.clone(), before.clone())) {
            Verdict::Faster => Verdict::Slower,
            Verdict::Slower => Verdict::Faster,
            same @ (Verdict::Same | Verdict::Undecided | Verdict::NotEnoughData) => same,
        };
        prop_assert_eq!(verdict(two(before, after)), turned);
    }
}

/// Where the published protocol of the mean stops, it says why, and the median speaks for the benchmark.
#[test]
fn a_published_protocol_that_stops_says_so() {
    let before = vec![1.0, 1.1, 1.05, 1.02, 9.0, 9.5, 1.03, 1.01, 1.2, 1.04];
    let after = vec![0.9, 0.91, 0.92, 0.93, 0.95, 0.94, 0.99, 0.9, 0.92, 0.97];
    for confidence in [None, Some(0.95)] {
        let published = SpeedupTestOptions { mode: SpeedupTestMode::Published, ..Default::default() };
        let inquiry = Inquiry::new(two(before.clone(), after.clone()), Method::SpeedupTest(published));
        let answer = Inquiry { confidence, ..inquiry }.answer().unwrap();
        let Findings::SpeedupTest(of) = &answer.findings else { panic!("another method") };
        let one = &of[0].benchmarks[0];
        assert_eq!(one.mean.report.reason.as_ref().unwrap().code, ReasonCode::SmallNotNormal);
        assert_eq!(one.mean.published.unwrap().significant, Some(false));
        assert_eq!(one.by, Protocol::Median);
        assert_eq!(one.verdict, Verdict::Faster);
        assert_eq!(of[0].verdict, Verdict::Faster);
    }
}

/// Above 5000 runs the published protocol stops; that it takes them for a large sample is another rule's caveat.
#[test]
fn beyond_5000_runs_the_published_protocol_stops_and_says_no_more() {
    let runs =
        |mean: f64| (0..5001).map(|run| mean + f64::from(run * 37 % 101) / 1000.0).collect::<Vec<f64>>();
    let mean = |mode| {
        let options = SpeedupTestOptions { mode, ..Default::default() };
        let inquiry = Inquiry::new(two(runs(2.0), runs(1.9)), Method::SpeedupTest(options));
        let answer = inquiry.answer().unwrap();
        let Findings::SpeedupTest(of) = &answer.findings else { panic!("another method") };
        let mean = &of[0].benchmarks[0].mean;
        let codes: Vec<_> = mean.caveats.iter().map(|caveat| caveat.code.clone()).collect();
        (mean.report.reason.is_some(), codes.contains(&WarningCode::NormalityUntested.into()))
    };
    assert_eq!(mean(SpeedupTestMode::Published), (true, false));
    assert_eq!(mean(SpeedupTestMode::Exact), (false, true));
}

/// A percentile interval of few units is too narrow, and says so.
#[test]
fn a_bootstrap_over_few_units_has_a_caveat() {
    let codes = |runs: usize| {
        let effect = EffectOptions { bootstrap: Some(200), ..Default::default() };
        let suites = two(BEFORE[..runs].to_vec(), AFTER[..runs].to_vec());
        let answer = Inquiry::new(suites, Method::Effect(effect)).answer().unwrap();
        let Findings::Effect(of) = &answer.findings else { panic!("another method") };
        of[0].caveats().into_iter().map(|caveat| caveat.code).collect::<Vec<_>>()
    };
    assert!(codes(2).contains(&WarningCode::FewUnits.into()), "{:?}", codes(2));
    assert!(codes(9).contains(&WarningCode::FewUnits.into()));
    assert!(!codes(10).contains(&WarningCode::FewUnits.into()));
}

#[test]
fn which_tends_to_be_faster_is_told_with_its_interval_or_why_there_is_none() {
    let of = |before: &[f64], after: &[f64], better| {
        let inquiry = Inquiry::new(two(before.to_vec(), after.to_vec()), Method::BrunnerMunzel);
        let answer = Inquiry { better, ..inquiry }.answer().unwrap();
        let Findings::BrunnerMunzel(of) = answer.findings else { panic!("another method") };
        of.into_iter().next().unwrap()
    };
    let codes = |of: &BrunnerMunzelFinding| of.caveats.iter().map(|one| one.code.clone()).collect::<Vec<_>>();
    let slow: Vec<f64> = (0..12).map(|run| 10.0 + f64::from(run)).collect();
    let fast: Vec<f64> = (0..11).map(|run| 4.5 + f64::from(run)).collect();
    let found = of(&slow, &fast, Preference::Lower);
    assert_eq!((found.verdict, found.baseline_runs, found.candidate_runs), (Verdict::Faster, 12, 11));
    // Of 132 pairs the candidate is the slower in 5 + 4 + 3 + 2 + 1.
    assert!((found.probability_better.unwrap() - 117.0 / 132.0).abs() < 1e-12, "{found:?}");
    let (lower, upper) = found.interval.ends().unwrap();
    assert!(0.5 < lower && lower < 117.0 / 132.0 && upper <= 1.0, "{lower} {upper}");
    assert!(codes(&found).is_empty());
    let rates = of(&slow, &fast, Preference::Higher);
    assert_eq!((rates.verdict, rates.baseline_runs), (Verdict::Slower, 12));
    // One more run is few, and a version that is always faster has the share of its order.
    let separated = of(&[5.0, 6.0, 7.0], &[1.0, 2.0, 3.0, 4.0], Preference::Lower);
    assert_eq!((separated.verdict, separated.probability_better), (Verdict::Faster, Some(1.0)));
    assert_eq!((separated.p_value_faster, separated.p_value_slower), (Some(1.0 / 35.0), Some(1.0)));
    assert_eq!((codes(&separated), separated.interval.ends()), (vec![WarningCode::Separated.into()], None));
    let few = of(&[5.0, 6.0], &[1.0, 2.0], Preference::Lower);
    assert_eq!((few.verdict, few.reason.unwrap().code.as_str()), (Verdict::NotEnoughData, "too_few_runs"));
    let same = of(&[5.0; 20], &[5.0; 20], Preference::Lower);
    assert_eq!((same.verdict, same.reason.unwrap().code.as_str()), (Verdict::NotEnoughData, "no_overlap"));
    assert!(codes(&of(&slow[..9], &fast, Preference::Lower)).contains(&WarningCode::FewRuns.into()));
}

#[test]
fn pairs_with_ties_have_their_own_exact_law_in_any_unit() {
    let of = |before: Vec<f64>, after: Vec<f64>| {
        let answer = Inquiry::new(two(before, after), Method::SignedRank).answer();
        let Findings::SignedRank(of) = answer.unwrap().findings else { panic!("another method") };
        of.into_iter().next().unwrap()
    };
    for unit in [1.0, 1e-3, 1e-6, 1e-9] {
        let times = |values: &[f64]| values.iter().map(|value| value * unit).collect::<Vec<_>>();
        let five = of(times(&[3.0, 6.0, 9.0, 21.0, 33.0]), times(&[2.0, 4.0, 6.0, 14.0, 22.0]));
        assert!(five.test.as_ref().unwrap().contains("exact, given the ties"), "{five:?}");
        assert_eq!((five.p_value_faster, five.verdict), (Some(1.0 / 32.0), Verdict::Faster));
        assert!(!five.caveats.iter().any(|caveat| caveat.code == WarningCode::NormalApproximation));
        // Of four pairs no outcome is significant, and a pair that does not differ is none.
        for (before, after) in [
            (&[2.0, 4.0, 6.0, 8.0][..], &[1.0, 2.0, 3.0, 4.0][..]),
            (&[2.0, 4.0, 6.0, 8.0, 5.0], &[1.0, 2.0, 3.0, 4.0, 5.0]),
        ] {
            let four = of(times(before), times(after));
            assert_eq!((four.p_value_faster, four.verdict), (Some(0.0625), Verdict::NotEnoughData));
            assert_eq!(four.reason.unwrap().code, ReasonCode::TooFewPairs);
        }
    }
}

/// Three equal times against two others have ten arrangements, so that none is significant; nor are many runs of which
/// nearly all are equal.
#[test]
fn no_arrangement_of_ties_is_significant_beyond_its_number() {
    let of = |before: Vec<f64>, after: Vec<f64>| {
        let answer = Inquiry::new(two(before, after), Method::speedup_test()).answer().unwrap();
        let Findings::SpeedupTest(of) = answer.findings else { panic!("another method") };
        of[0].benchmarks[0].median.report.clone()
    };
    let few = of(vec![1.0; 3], vec![2.0; 2]);
    assert_eq!((few.verdict, few.reason.unwrap().code.as_str()), (Verdict::NotEnoughData, "too_few_runs"));
    assert_eq!(few.at_level.main_test.p_value, Some(0.1));
    let mut before = vec![1.0; 20];
    before[3..6].fill(2.0);
    let tied = of(before, vec![1.0; 20]);
    assert_eq!((tied.verdict, tied.reason.unwrap().code.as_str()), (Verdict::NotEnoughData, "too_many_ties"));
}

/// A millisecond clock and an exact shift, in milliseconds and in seconds: the centred times are the same numbers but for
/// rounding.
#[test]
fn a_verdict_does_not_depend_on_the_unit() {
    let of = |before: &[f64], after: &[f64], unit: f64| {
        let scaled = |times: &[f64]| times.iter().map(|time| time / unit).collect::<Vec<_>>();
        let inquiry = Inquiry::new(two(scaled(before), scaled(after)), Method::speedup_test());
        let Findings::SpeedupTest(of) = inquiry.answer().unwrap().findings else { panic!("another method") };
        of[0].benchmarks[0].median.report.clone()
    };
    let clock = |least: f64| -> Vec<f64> { (0..20).map(|run| least + f64::from(run * 3 / 20)).collect() };
    let in_ms = of(&clock(100.0), &clock(50.0), 1.0);
    for unit in [1e3, 1e6, 1e9] {
        let other = of(&clock(100.0), &clock(50.0), unit);
        assert_eq!(other.verdict, Verdict::Faster);
        assert_eq!((other.assumptions, other.at_level), (in_ms.assumptions.clone(), in_ms.at_level.clone()));
    }
}

/// One benchmark has most of the time and got faster, four got slower: no word for all, and each is said.
#[test]
fn a_ratio_says_of_a_suite_what_its_report_would() {
    let times = |level: f64| -> Vec<f64> { BEFORE.iter().map(|time| level * (100.0 + time)).collect() };
    let suite = |version: &str, levels: [f64; 5]| Suite {
        version: version.to_owned(),
        missing: Vec::new(),
        benchmarks: levels
            .iter()
            .enumerate()
            .map(|(at, level)| {
                NamedSample::new(format!("b{at}"), times(*level).into_iter().map(|time| vec![time]).collect())
            })
            .collect(),
    };
    let suites = vec![suite("old", [9.0, 1.0, 1.0, 1.0, 1.0]), suite("new", [7.0, 1.3, 1.3, 1.3, 1.3])];
    let drawn = Inquiry { selection: Selection::Drawn, ..Inquiry::new(suites.clone(), Method::ratio()) };
    let Findings::Ratio(of) = drawn.answer().unwrap().findings else { panic!("another method") };
    let suite = &of[0].suite;
    assert_eq!((suite.verdict, suite.benchmarks.faster, suite.benchmarks.slower), (Verdict::Undecided, 1, 4));
    assert_eq!(suite.reason.as_ref().unwrap().code, ReasonCode::BenchmarksOppose);
    assert!(of[0].caveats.iter().any(|one| one.code == WarningCode::DominatedByOne), "{:?}", of[0].caveats);
    let share = suite.true_share.as_ref().unwrap();
    assert!(share.valid && share.faster.lower < 0.2 && 0.2 < share.faster.upper);
    let adjusted = &of[0].benchmarks[1].comparison.adjusted;
    assert!(adjusted.iter().any(|one| one.is_familywise() && one.verdict == Verdict::Slower));
    // A population is no smaller than what was drawn from it.
    let few = Inquiry { selection: Selection::DrawnFromFinite { size: 3 }, ..drawn };
    assert_eq!(few.answer().unwrap_err().code(), "proportion");
    let margin = Method::Ratio(RatioOptions { margin: Some(1.0), ..RatioOptions::default() });
    assert_eq!(Inquiry::new(suites, margin).answer().unwrap_err().code(), "margin");
}

/// Runs that get slower and slower are no independent ones, and it is said without being asked.
#[test]
fn whatever_compares_looks_at_the_order_of_the_runs() {
    let drifting: Vec<f64> = (0..40).map(|run| 1.0 + f64::from(run) / 100.0).collect();
    let shuffled: Vec<f64> = (0..40).map(|run| 1.0 + f64::from(run * 17 % 40) / 100.0).collect();
    let said = |method: &Method, before: &[f64], after: &[f64]| {
        let answer = Inquiry::new(two(before.to_vec(), after.to_vec()), method.clone()).answer().unwrap();
        answer.caveats.iter().any(|one| one.code == WarningCode::OrderDependence)
    };
    let tests = Method::SpeedupTest(SpeedupTestOptions::default());
    for method in [Method::ratio(), tests, Method::BrunnerMunzel, Method::SignedRank] {
        assert!(said(&method, &drifting, &drifting), "{method:?}");
        assert!(!said(&method, &AFTER, &AFTER), "{method:?}");
        assert!(said(&method, &shuffled, &drifting), "{method:?}");
    }
    assert!(!said(&Method::Diagnostics, &drifting, &drifting), "its own findings say it");
}

#[test]
fn the_centre_is_the_trimmed_mean_unless_another_is_asked_for() {
    let of = |before: &[f64], after: &[f64], center: Option<Center>| {
        let method = Method::Ratio(RatioOptions { center, ..RatioOptions::default() });
        let answer = Inquiry::new(two(before.to_vec(), after.to_vec()), method).answer().unwrap();
        let Findings::Ratio(of) = answer.findings else { panic!("another method") };
        (of[0].benchmarks[0].comparison.by, of[0].suite.verdict)
    };
    assert_eq!(of(&BEFORE, &AFTER, None), (Some(Center::Trimmed), Verdict::Faster));
    assert_eq!(of(&BEFORE, &AFTER[..5], None), (Some(Center::Trimmed), Verdict::Faster));
    assert_eq!(of(&BEFORE, &AFTER[..5], Some(Center::Median)).1, Verdict::NotEnoughData);
    assert_eq!(of(&BEFORE[..3], &AFTER[..3], None).1, Verdict::NotEnoughData);
}

/// A share is one of a trimmed mean; with it another is compared.
#[test]
fn a_share_is_refused_where_nothing_is_left_out() {
    let of = |center: Option<Center>, trim: f64| {
        let method = Method::Ratio(RatioOptions { center, trim: Some(trim), ..RatioOptions::default() });
        Inquiry::new(two(BEFORE.to_vec(), AFTER.to_vec()), method).answer()
    };
    let code = |center, trim| of(center, trim).map_err(|error| error.code()).unwrap_err();
    assert_eq!(code(None, 0.3), "trim");
    assert_eq!(code(Some(Center::Median), 0.1), "trim_of_other_center");
    let speedup = |trim| {
        let Findings::Ratio(of) = of(None, trim).unwrap().findings else { panic!("another method") };
        of[0].benchmarks[0].comparison.headline().unwrap().speedup
    };
    assert!((speedup(0.25) - speedup(0.0)).abs() > 1e-6);
}

/// The number of runs alone says so, whatever they are.
#[test]
fn few_runs_against_many_are_questioned() {
    let of = |center: Center, n: usize| {
        let many: Vec<f64> = AFTER.iter().chain(&AFTER).copied().collect();
        let method = Method::Ratio(RatioOptions { center: Some(center), ..RatioOptions::default() });
        let answer = Inquiry::new(two(BEFORE[..n].to_vec(), many[..12].to_vec()), method).answer().unwrap();
        let caveats = answer.findings.caveats().into_iter().chain(answer.caveats);
        caveats.map(|one| one.code.as_str().to_owned()).collect::<Vec<_>>()
    };
    for center in [Center::Trimmed, Center::Median, Center::Mean] {
        assert!(!of(center, 6).iter().any(|code| code == "unequal_runs"), "{center:?}");
        assert!(of(center, 5).iter().any(|code| code == "unequal_runs"), "{center:?}");
        assert_eq!(of(center, 5).iter().any(|code| code == "few_runs"), center != Center::Median);
    }
    assert!(of(Center::Median, 6).iter().any(|code| code == "median_of_close_runs"));
}

/// The errors of log speedups are of the runs, whatever the level and the width of the headlines' intervals.
#[test]
fn the_typical_speedup_goes_by_errors_that_no_level_changes() {
    let suite = |version: &str, values: &[f64], spread: f64| {
        let named = |at: u32| {
            let factor = 1.0 + spread * f64::from(at % 3);
            NamedSample::new(format!("b{at}"), values.iter().map(|value| vec![value * factor]).collect())
        };
        Suite::new(version, (0..8).map(named).collect())
    };
    for center in [Center::Trimmed, Center::Median, Center::Mean] {
        let found = |level: f64| {
            let options = RatioOptions { center: Some(center), ..Default::default() };
            let versions = vec![suite("before", &BEFORE, 0.0), suite("after", &AFTER, 0.05)];
            let inquiry =
                Inquiry { confidence: Some(level), ..Inquiry::new(versions, Method::Ratio(options)) };
            let Findings::Ratio(found) = inquiry.answer().unwrap().findings else { panic!("another method") };
            found.into_iter().next().unwrap()
        };
        let (usual, lower) = (found(0.95), found(0.8));
        let [first, other] = [&usual, &lower].map(|one| one.benchmarks[0].comparison.headline().unwrap());
        assert_eq!((first.log_standard_error, first.log_df), (other.log_standard_error, other.log_df));
        assert!(first.log_standard_error.unwrap() > 0.01 && first.log_standard_error.unwrap() < 0.1);
        let [typical, of_lower] = [usual, lower].map(|one| one.suite.typical.unwrap());
        assert_eq!(
            (typical.tau, typical.heterogeneity),
            (of_lower.tau, of_lower.heterogeneity),
            "{center:?}"
        );
        assert_eq!(typical.benchmarks, 8);
        let [within, wider] = [of_lower.prediction, typical.prediction];
        assert!(wider[0] < within[0] && within[1] < wider[1]);
        assert!(wider[0] < typical.interval[0] && typical.interval[1] < wider[1]);
    }
}
