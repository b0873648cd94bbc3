//! Runs of two versions in one block.

use super::*;
use crate::{conclusion::ReasonCode, conclusion::WarningCode, study::DesignKind};
use speedup_statistics::{inference::ConfidenceLevel, ratio::TrimShare, ratio::TrimmedRatio, sample::Sample};

/// What the blocks have in common differs far more than the versions do.
const COMMON: [f64; 10] = [1.0, 9.0, 3.0, 17.0, 5.0, 33.0, 2.0, 21.0, 7.0, 12.0];

/// A tenth slower, but for a little.
fn before() -> Vec<f64> {
    let little = [3.0, 7.0, 1.0, 9.0, 0.0, 5.0, 8.0, 2.0, 6.0, 4.0];
    COMMON.iter().zip(little).map(|(common, little)| common * (1.1 + 0.001 * little)).collect()
}

fn named(benchmark: &str, values: &[f64], blocks: &[Option<&str>]) -> NamedSample {
    let runs = values.iter().map(|value| vec![*value]).collect();
    let blocks = blocks.iter().map(|block| block.map(str::to_owned)).collect();
    NamedSample { blocks, ..NamedSample::new(benchmark, runs) }
}

fn names() -> [Option<&'static str>; 10] {
    ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"].map(Some)
}

fn suite(version: &str, sample: NamedSample) -> Suite {
    Suite::new(version, vec![sample])
}

/// The second version in another order, as no order makes the pairs.
fn paired() -> Vec<Suite> {
    let (mut values, mut order) = (COMMON, names());
    values.reverse();
    order.reverse();
    vec![suite("before", named("sort", &before(), &names())), suite("after", named("sort", &values, &order))]
}

fn codes(answer: &Answer) -> Vec<&str> {
    answer.caveats.iter().map(|caveat| caveat.code.as_str()).collect()
}

#[test]
fn runs_in_one_block_are_a_pair_whatever_their_order() {
    let answer = Inquiry::new(paired(), Method::ratio()).answer().unwrap();
    let Findings::Ratio(of) = &answer.findings else { panic!("another method") };
    let comparison = &of[0].benchmarks[0].comparison;
    let design = comparison.design.as_ref().unwrap();
    assert_eq!((design.kind, design.unit.as_str(), design.baseline_units), (DesignKind::Pairs, "block", 10));
    let [x, y] = [before(), COMMON.to_vec()].map(|values| Sample::new(values).unwrap());
    let expected = TrimmedRatio::paired(&x, &y, TrimShare::USUAL).unwrap();
    let interval = expected.interval(ConfidenceLevel::USUAL);
    let interval = interval.bounded().unwrap();
    let headline = comparison.headline().unwrap();
    assert_eq!((headline.speedup, comparison.verdict), (expected.estimate(), Verdict::Faster));
    assert_eq!(headline.interval.ends(), Some((interval.lower, interval.upper)));
    assert_eq!(codes(&answer), ["pairs_by_block"]);
    // The same runs without their blocks show nothing.
    let mut suites = paired();
    suites.iter_mut().for_each(|suite| suite.benchmarks[0].blocks.clear());
    let apart = Inquiry::new(suites, Method::ratio()).answer().unwrap();
    assert_eq!(verdict(&apart), "undecided");
}

#[test]
fn all_methods_that_can_go_by_the_pairs_and_others_say_that_they_do_not() {
    let published = SpeedupTestOptions { mode: SpeedupTestMode::Published, ..Default::default() };
    for method in methods().into_iter().filter(Method::compares) {
        let answer = Inquiry::new(paired(), method.clone()).answer().unwrap();
        let expected = if method.spec().takes_pairs() { "pairs_by_block" } else { "pairs_not_used" };
        assert!(codes(&answer).contains(&expected), "{method:?}: {:?}", codes(&answer));
        // The published program takes the best level that it finds, however low.
        let finds_a_level = method == Method::SpeedupTest(published);
        assert_eq!(verdict(&answer) == "faster", method.spec().takes_pairs() || finds_a_level, "{method:?}");
    }
    let exchanged = paired().into_iter().rev().collect();
    let higher = Inquiry { better: Preference::Higher, ..Inquiry::new(exchanged, Method::speedup_test()) };
    let Findings::SpeedupTest(of) = higher.answer().unwrap().findings else { panic!("another method") };
    let one = &of[0].benchmarks[0];
    assert_eq!((of[0].verdict, one.by, one.probability_faster), (Verdict::Faster, Protocol::Mean, 1.0));
    assert!(one.mean.report.at_level.main_test.method.contains("paired"), "{one:?}");
    assert!(one.median.report.at_level.main_test.method.contains("signed-rank"));
    let ends = of[0].interval.ends().unwrap();
    assert!(1.09 < ends.0 && ends.1 < 1.12, "{ends:?}");
    let Findings::SignedRank(of) = Inquiry::new(paired(), Method::SignedRank).answer().unwrap().findings
    else {
        panic!("another method")
    };
    assert_eq!(of[0].pairs, 10);
    assert!(!of[0].caveats.iter().any(|one| one.code == WarningCode::PairsByOrder));
}

/// A drift that both versions share is none of their ratio.
#[test]
fn the_order_of_pairs_is_looked_at_in_their_ratios() {
    let drifting: Vec<f64> = (0..10).map(|run| 1.0 + f64::from(run)).collect();
    let noise = [1.01, 1.03, 1.0, 1.02, 1.05, 1.04, 1.015, 1.025, 1.035, 1.045];
    let other: Vec<f64> = drifting.iter().zip(noise).map(|(value, noise)| value * noise).collect();
    let of = |blocks: &[Option<&str>]| {
        let suites = [("before", &other), ("after", &drifting)];
        let suites = suites.map(|(version, values)| suite(version, named("sort", values, blocks)));
        let answer = Inquiry::new(suites.to_vec(), Method::ratio()).answer().unwrap();
        codes(&answer).contains(&"order_dependence")
    };
    assert_eq!((of(&names()), of(&[])), (false, true));
}

#[test]
fn blocks_that_lack_a_version_are_named_and_left_out() {
    let mut suites = paired();
    let lone = &mut suites[0].benchmarks[0];
    lone.blocks.extend([Some("lonely".to_owned()), None]);
    lone.runs.extend([vec![1e6], vec![1e6]]);
    let answer = Inquiry::new(suites, Method::ratio()).answer().unwrap();
    let broken = answer.caveats.iter().find(|caveat| caveat.code == WarningCode::BrokenPairs).unwrap();
    assert!(broken.sentence.contains("\"lonely\", 1 run"), "{}", broken.sentence);
    let Findings::Ratio(of) = &answer.findings else { panic!("another method") };
    let comparison = &of[0].benchmarks[0].comparison;
    let design = comparison.design.as_ref().unwrap();
    assert_eq!((design.incomplete, design.candidate_units, comparison.baseline_n), (2, 10, 12));
    assert_eq!(comparison.verdict, Verdict::Faster);
    assert!(of[0].caveats.iter().all(|caveat| caveat.code != WarningCode::BrokenPairs), "it is said once");
}

/// Each block has one version: its runs are independent of the other's, and no test of pairs can be made.
#[test]
fn blocks_of_one_version_each_are_observations() {
    let names: Vec<String> = (0..12).map(|at| format!("after {at}")).collect();
    let names: Vec<Option<&str>> = names.iter().map(|name| Some(name.as_str())).collect();
    let others: Vec<String> = (0..12).map(|at| format!("before {at}")).collect();
    let others: Vec<Option<&str>> = others.iter().map(|name| Some(name.as_str())).collect();
    let suites =
        vec![suite("before", named("sort", &BEFORE, &others)), suite("after", named("sort", &AFTER, &names))];
    let apart = Inquiry::new(two(BEFORE.to_vec(), AFTER.to_vec()), Method::ratio()).answer().unwrap();
    let answer = Inquiry::new(suites.clone(), Method::ratio()).answer().unwrap();
    assert_eq!(codes(&answer), ["no_pairs"]);
    assert_eq!(answer.findings, apart.findings);
    let Findings::SignedRank(of) = Inquiry::new(suites, Method::SignedRank).answer().unwrap().findings else {
        panic!("another method")
    };
    assert_eq!(of[0].verdict, Verdict::NotEnoughData);
    assert_eq!(of[0].reason.as_ref().unwrap().code.as_str(), "no_pairs");
}

#[test]
fn several_values_of_a_version_in_a_block_are_one_observation() {
    let mut suites = paired();
    for run in &mut suites[1].benchmarks[0].runs {
        run.push(run[0]);
    }
    let answer = Inquiry::new(suites, Method::ratio()).answer().unwrap();
    let of = |answer: &Answer| {
        let Findings::Ratio(of) = &answer.findings else { panic!("another method") };
        of[0].benchmarks[0].comparison.headline()
    };
    assert_eq!(of(&answer), of(&Inquiry::new(paired(), Method::ratio()).answer().unwrap()));
    assert!(codes(&answer).contains(&"run_means"));
}

#[test]
fn blocks_that_are_not_those_of_the_runs_are_refused() {
    let few = named("sort", &BEFORE, &names());
    let twice = named("sort", &[1.0, 2.0], &[Some("a"), Some("a")]);
    for sample in [few, twice] {
        let suites = vec![suite("before", sample), suite("after", named("sort", &AFTER, &[]))];
        assert_eq!(Inquiry::new(suites, Method::ratio()).answer().unwrap_err().code(), "blocks");
    }
    // Too few pairs are not enough data, with what it takes.
    let short = [("before", &before()[..3]), ("after", &COMMON[..3])];
    let suites = short.map(|(version, values)| suite(version, named("sort", values, &names()[..3]))).to_vec();
    let method = Method::Ratio(RatioOptions { center: Some(Center::Median), ..RatioOptions::default() });
    let answer = Inquiry::new(suites, method).answer().unwrap();
    assert_eq!(verdict(&answer), "not enough data");
    assert_eq!(answer.findings.reasons()[0].code, ReasonCode::TooFewRuns);
}
