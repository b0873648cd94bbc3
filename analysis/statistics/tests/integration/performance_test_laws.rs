//! Laws of the hierarchical performance test, the signed-rank test beneath it, and the adjustments beside it.

use proptest::prelude::*;
use speedup_statistics::inference::{Adjustment, Alternative, Caveat, ConfidenceLevel, PValue, Risk, Side};
use speedup_statistics::protocol::hierarchical_performance_test::{
    BenchmarkRisk, HierarchicalPerformanceTest, PerformanceRules, PerformanceTestError, RankSumRule,
    ReliableSpeedup, ScoreError, ScoreReference, ScoreSuite, Winner,
};
use speedup_statistics::{
    ratio::SuiteMember, sample::Sample, sample::SampleError, test::HalfIntegers, test::PseudoMedian,
    test::SignedRank, test::SignedRankError, test::ZerosKeptSignedRank, test::paired_differences,
};
use speedup_studies::table_1;

use crate::data::{ALTERNATIVES, SWAPPED, sample};

const RULES: [RankSumRule; 3] =
    [RankSumRule::CriticalValues, RankSumRule::RDefault, RankSumRule::Permutations];

/// The scores of the candidate and of the baseline, a row a benchmark.
type Rows = Vec<(Vec<f64>, Vec<f64>)>;

fn suite(rows: &Rows, candidate_factor: f64, baseline_factor: f64) -> ScoreSuite {
    let scaled = |values: &[f64], factor: f64| sample(&values.iter().map(|v| v * factor).collect::<Vec<_>>());
    let candidate = rows.iter().map(|(a, _)| scaled(a, candidate_factor)).collect();
    let baseline = rows.iter().map(|(_, b)| scaled(b, baseline_factor)).collect();
    ScoreSuite::of_matrices(candidate, baseline).expect("scores")
}

fn rules(rank_sum: RankSumRule) -> PerformanceRules {
    PerformanceRules { rank_sum, ..PerformanceRules::default() }
}

/// Two to twelve benchmarks of two to six runs; with ties where hundredths are kept only.
fn rows() -> impl Strategy<Value = Rows> {
    let row = |runs: usize| {
        let scores = || prop::collection::vec(0.9..1.1_f64, runs);
        (scores(), scores(), 0.7..2.5_f64)
    };
    (2..=6_usize, prop::bool::ANY)
        .prop_flat_map(move |(runs, grid)| (prop::collection::vec(row(runs), 2..12), Just(grid)))
        .prop_map(|(rows, grid)| {
            let rounded = |score: f64| if grid { (score * 100.0).round() / 100.0 } else { score };
            let row = |(a, b, speedup): (Vec<f64>, Vec<f64>, f64)| {
                let a = a.into_iter().map(|score| rounded(score * speedup)).collect();
                (a, b.into_iter().map(rounded).collect())
            };
            rows.into_iter().map(row).collect()
        })
}

/// Differences, often tied or zero.
fn differences() -> impl Strategy<Value = Vec<f64>> {
    (prop::collection::vec(-1.0..1.5_f64, 1..70), prop::bool::ANY).prop_map(|(values, grid)| {
        values.into_iter().map(|d| if grid { (d * 8.0).round() / 8.0 } else { d }).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn exchanging_the_sides_exchanges_the_answers(rows in rows()) {
        let swapped: Rows = rows.iter().map(|(a, b)| (b.clone(), a.clone())).collect();
        let (there, back) = (suite(&rows, 1.0, 1.0), suite(&swapped, 1.0, 1.0));
        for rank_sum in RULES {
            let rules = rules(rank_sum);
            let there = HierarchicalPerformanceTest::new(&there, rules).at(1.0).unwrap();
            let back = HierarchicalPerformanceTest::new(&back, rules).at(1.0).unwrap();
            prop_assert_eq!(there.p_value(Side::Candidate), back.p_value(Side::Baseline));
            prop_assert_eq!(there.p_value(Side::Baseline), back.p_value(Side::Candidate));
            let n = rows.len() as f64;
            let both = there.signed_rank.positive_sum() + back.signed_rank.positive_sum();
            prop_assert_eq!(both, n * (n + 1.0) / 2.0);
            for (a, b) in there.benchmarks.iter().zip(&back.benchmarks) {
                let mirrored = match b.winner {
                    Winner::Candidate => Winner::Baseline,
                    Winner::Tie => Winner::Tie,
                    Winner::Baseline => Winner::Candidate,
                };
                prop_assert_eq!((a.winner, a.rank, a.difference), (mirrored, b.rank, -b.difference));
            }
        }
    }

    #[test]
    fn a_change_of_unit_changes_nothing(rows in rows(), power in -30..30_i32) {
        let unit = 2.0_f64.powi(power);
        let (before, after) = (suite(&rows, 1.0, 1.0), suite(&rows, unit, unit));
        for rank_sum in RULES {
            let (before, after) = (
                HierarchicalPerformanceTest::new(&before, rules(rank_sum)),
                HierarchicalPerformanceTest::new(&after, rules(rank_sum)),
            );
            prop_assert_eq!(before.at(1.25).unwrap().signed_rank, after.at(1.25).unwrap().signed_rank);
            let level = ConfidenceLevel::new(0.9).unwrap();
            prop_assert_eq!(before.reliable_speedup(level), after.reliable_speedup(level));
        }
    }

    #[test]
    fn a_candidate_twice_as_fast_has_twice_the_speedup(rows in rows()) {
        let level = ConfidenceLevel::new(0.9).unwrap();
        let of = |factor| {
            let suite = suite(&rows, factor, 1.0);
            HierarchicalPerformanceTest::new(&suite, PerformanceRules::default()).reliable_speedup(level).unwrap()
        };
        match (of(1.0), of(2.0)) {
            (
                ReliableSpeedup::Supremum { speedup: one, attained, .. },
                ReliableSpeedup::Supremum { speedup: two, attained: too, .. },
            ) => {
                prop_assert!((two / (2.0 * one) - 1.0).abs() < 1e-12, "{one} and {two}");
                prop_assert_eq!(attained, too);
            }
            (ReliableSpeedup::NotFaster, ReliableSpeedup::Supremum { speedup, .. }) => {
                prop_assert!(speedup <= 2.0, "{speedup}");
            }
            (one, two) => prop_assert_eq!(one, two),
        }
    }

    // Up to six runs a significant winner never has the smaller median, so the confidence cannot grow.
    #[test]
    fn the_confidence_falls_as_the_speedup_grows(rows in rows(), slow in 0.5..2.5_f64, more in 1.0..2.0_f64) {
        let suite = suite(&rows, 1.0, 1.0);
        let test = HierarchicalPerformanceTest::new(&suite, PerformanceRules::default());
        let (below, above) = (test.at(slow).unwrap(), test.at(slow * more).unwrap());
        prop_assert!(below.confidence(Side::Candidate) >= above.confidence(Side::Candidate));
        prop_assert!(below.confidence(Side::Baseline) <= above.confidence(Side::Baseline));
        for (below, above) in below.benchmarks.iter().zip(&above.benchmarks) {
            prop_assert!(below.winner >= above.winner);
        }
    }

    #[test]
    fn the_test_holds_below_the_supremum_and_fails_above(
        rows in rows(),
        percent in 50..99_u32,
        half_integers in prop::sample::select(vec![HalfIntegers::RoundedDown, HalfIntegers::RoundedUp]),
        beyond in prop::collection::vec(1.0..3.0_f64, 5),
    ) {
        let suite = suite(&rows, 1.0, 1.0);
        let level = ConfidenceLevel::new(f64::from(percent) / 100.0).unwrap();
        for rank_sum in RULES {
            let rules = PerformanceRules { rank_sum, half_integers, risk: BenchmarkRisk::ByRuns };
            let test = HierarchicalPerformanceTest::new(&suite, rules);
            let holds = |speedup| test.at(speedup).unwrap().confidence(Side::Candidate) >= level.get();
            match test.reliable_speedup(level).unwrap() {
                ReliableSpeedup::NotFaster => {
                    prop_assert!(!holds(1.0));
                    prop_assert!(beyond.iter().all(|factor| !holds(*factor)));
                }
                ReliableSpeedup::Supremum { speedup, attained, all_below_hold } => {
                    prop_assert_eq!(holds(speedup), attained, "at {}", speedup);
                    prop_assert!(speedup == 1.0 || attained || holds(speedup * (1.0 - 1e-11)));
                    prop_assert!(!holds(speedup * (1.0 + 1e-11)));
                    prop_assert!(beyond.iter().all(|factor| *factor < 1.0 + 1e-11 || !holds(speedup * factor)));
                    if all_below_hold {
                        let below = |factor: &f64| (speedup / factor).max(1.0);
                        prop_assert!(beyond.iter().all(|f| below(f) >= speedup || holds(below(f))));
                    }
                }
                ReliableSpeedup::Unbounded => prop_assert!(holds(1e6)),
            }
        }
    }

    #[test]
    fn the_signs_exchanged_exchange_the_alternatives(values in differences()) {
        let negated: Vec<f64> = values.iter().map(|d| -d).collect();
        let (plus, minus) = (sample(&values), sample(&negated));
        match (SignedRank::choose(&plus), SignedRank::choose(&minus)) {
            (Ok(plus), Ok(minus)) => {
                for (alternative, swapped) in ALTERNATIVES.into_iter().zip(SWAPPED) {
                    let (a, b) = (plus.p_value(alternative).get(), minus.p_value(swapped).get());
                    prop_assert!((a - b).abs() <= 1e-12 * a, "{a} and {b}");
                    prop_assert!((0.0..=1.0).contains(&a));
                }
            }
            (a, b) => prop_assert_eq!(a.unwrap_err(), b.unwrap_err()),
        }
        let (plus, minus) = (ZerosKeptSignedRank::new(&plus), ZerosKeptSignedRank::new(&minus));
        let n = values.len() as f64;
        prop_assert_eq!(plus.positive_sum() + minus.positive_sum(), n * (n + 1.0) / 2.0);
    }

    // Tukey's form: the sum of ranks counts the pairs with a positive sum, those of sum zero half.
    #[test]
    fn the_sum_of_ranks_counts_walsh_averages(values in differences()) {
        let mut doubled = 0;
        for (i, a) in values.iter().enumerate() {
            doubled += values[i..].iter().map(|b| match a + b {
                sum if sum > 0.0 => 2,
                sum if sum < 0.0 => 0,
                _ => 1,
            }).sum::<u32>();
        }
        let test = ZerosKeptSignedRank::new(&sample(&values));
        prop_assert_eq!(test.positive_sum(), f64::from(doubled) / 2.0);
    }

    #[test]
    fn the_pseudo_median_s_interval_and_the_test_agree(values in prop::collection::vec(-1.0..1.5_f64, 6..40)) {
        let values = sample(&values);
        let level = ConfidenceLevel::new(0.9).unwrap();
        let pseudo_median = PseudoMedian::new(&values);
        let interval = pseudo_median.interval(level);
        let interval = interval.expect("six differences reach 90 %");
        prop_assert!(interval.lower <= pseudo_median.estimate() && pseudo_median.estimate() <= interval.upper);
        let rejects = |centre: f64| {
            let shifted: Vec<f64> = values.in_run_order().iter().map(|d| d - centre).collect();
            SignedRank::choose(&sample(&shifted)).unwrap().p_value(Alternative::TwoSided).get() <= 0.1
        };
        prop_assert!(rejects(interval.lower - 1e-9) && !rejects(interval.lower + 1e-9));
        prop_assert!(rejects(interval.upper + 1e-9) && !rejects(interval.upper - 1e-9));
    }

    #[test]
    fn adjustments_keep_their_order(values in prop::collection::vec(prop::option::of(0.0..1.0_f64), 0..40)) {
        let p_values: Vec<Option<PValue>> = values.iter().map(|p| p.map(|p| PValue::new(p).unwrap())).collect();
        let adjusted = |adjustment: Adjustment| adjustment.adjust(&p_values);
        // Each is at most the next.
        let chain = [
            p_values.clone(),
            adjusted(Adjustment::BenjaminiHochberg),
            adjusted(Adjustment::Hommel),
            adjusted(Adjustment::Hochberg),
            adjusted(Adjustment::Holm),
            adjusted(Adjustment::Bonferroni),
        ];
        let at = |p: &Option<PValue>| p.map(PValue::get);
        for pair in chain.windows(2) {
            for (less, more) in pair[0].iter().zip(&pair[1]) {
                prop_assert_eq!(less.is_none(), more.is_none());
                prop_assert!(at(less) <= at(more).map(|p| p * (1.0 + 1e-12)));
            }
        }
        for adjustment in Adjustment::ALL {
            let mut reversed: Vec<Option<PValue>> = p_values.iter().rev().copied().collect();
            reversed = adjustment.adjust(&reversed);
            reversed.reverse();
            prop_assert_eq!(&reversed, &adjusted(adjustment));
        }
    }

    #[test]
    fn no_scores_make_it_panic(
        rows in prop::collection::vec(
            (prop::collection::vec(-310..310_i32, 1..5), prop::collection::vec(-310..310_i32, 1..5)),
            1..6,
        ),
        speedup in prop::sample::select(vec![0.0, -1.0, f64::NAN, f64::INFINITY, 5e-324, 1e-200, 1.0, 1e300]),
    ) {
        let powers = |row: &[i32]| Sample::new(row.iter().map(|power| 10.0_f64.powi(*power)).collect());
        let samples: Result<Vec<(Sample, Sample)>, _> =
            rows.iter().map(|(a, b)| Ok::<_, SampleError>((powers(a)?, powers(b)?))).collect();
        let Ok(samples) = samples else { return Ok(()) };
        let (candidate, baseline) = samples.iter().cloned().unzip();
        let members: Vec<SuiteMember<'_>> =
            samples.iter().map(|(candidate, baseline)| SuiteMember { baseline, candidate }).collect();
        for suite in [
            ScoreSuite::of_matrices(candidate, baseline),
            ScoreSuite::of_times(&members, ScoreReference::FirstBaselineRun),
            ScoreSuite::of_times(&members, ScoreReference::BaselineMedian),
        ] {
            let Ok(suite) = suite else { continue };
            for rank_sum in RULES {
                let test = HierarchicalPerformanceTest::new(&suite, rules(rank_sum));
                if let Ok(comparison) = test.at(speedup) {
                    prop_assert!((0.0..=1.0).contains(&comparison.confidence(Side::Candidate)));
                }
                // Scores that cannot be told apart when they are divided are refused by name.
                let reliable = test.reliable_speedup(ConfidenceLevel::new(0.5).unwrap());
                if let Ok(ReliableSpeedup::Supremum { speedup, .. }) = reliable {
                    prop_assert!(speedup >= 1.0 && speedup.is_finite());
                }
            }
        }
    }
}

#[test]
fn table_1_has_the_printed_speedup_when_half_ranks_count_to_the_letter() {
    // R_B is 25 at 1.76 and 25.5 from 1.762 on, where the critical value is 25.
    let level = ConfidenceLevel::USUAL;
    let suite = table_1::suite().expect("scores");
    let of = |half_integers| {
        let rules = PerformanceRules { half_integers, ..PerformanceRules::default() };
        match HierarchicalPerformanceTest::new(&suite, rules).reliable_speedup(level).unwrap() {
            ReliableSpeedup::Supremum { speedup, .. } => speedup,
            ReliableSpeedup::NotFaster | ReliableSpeedup::Unbounded => f64::NAN,
        }
    };
    assert!((of(HalfIntegers::RoundedDown) - 1.7776).abs() < 1e-12);
    assert!((of(HalfIntegers::RoundedUp) - 1.76).abs() < 1e-12);
}

#[test]
fn times_are_turned_into_scores_by_name() {
    let (fast, slow) = (sample(&[1.0, 2.0, 4.0]), sample(&[8.0, 2.0, 4.0]));
    let members = [SuiteMember { baseline: &slow, candidate: &fast }];
    let first = ScoreSuite::of_times(&members, ScoreReference::FirstBaselineRun).unwrap();
    assert_eq!(first.benchmarks()[0].candidate.in_run_order(), [8.0, 4.0, 2.0]);
    assert_eq!(first.benchmarks()[0].baseline.in_run_order(), [1.0, 4.0, 2.0]);
    let median = ScoreSuite::of_times(&members, ScoreReference::BaselineMedian).unwrap();
    assert_eq!(median.benchmarks()[0].candidate.in_run_order(), [4.0, 2.0, 1.0]);
    assert_eq!(first.geometric_mean_speedup(), median.geometric_mean_speedup());
}

#[test]
fn what_cannot_be_compared_is_refused_by_name() {
    let of = |a: &[&[f64]], b: &[&[f64]]| {
        let rows = |rows: &[&[f64]]| rows.iter().map(|row| sample(row)).collect();
        ScoreSuite::of_matrices(rows(a), rows(b))
    };
    assert_eq!(of(&[], &[]).unwrap_err(), ScoreError::Empty);
    assert_eq!(
        of(&[&[1.0], &[1.0]], &[&[1.0]]).unwrap_err(),
        ScoreError::Mismatched { candidate: 2, baseline: 1 }
    );
    let zero = of(&[&[1.0, 0.0]], &[&[1.0]]).unwrap_err();
    assert_eq!(zero, ScoreError::NotPositive { benchmark: 0, side: Side::Candidate, value: 0.0 });
    let tiny = of(&[&[1.0]], &[&[1e-300]]).unwrap_err();
    assert_eq!(tiny, ScoreError::OutOfRange { benchmark: 0, side: Side::Baseline, value: 1e-300 });
    let suite = of(&[&[1.0]], &[&[1.0]]).unwrap();
    let test = HierarchicalPerformanceTest::new(&suite, PerformanceRules::default());
    assert_eq!(test.at(0.0).unwrap_err(), PerformanceTestError::SpeedupUnderTest(0.0));
    let (x, y) = (sample(&[1.0, 2.0]), sample(&[1.0]));
    assert_eq!(SignedRank::paired(&x, &y).unwrap_err(), SignedRankError::Unpaired { x: 2, y: 1 });
    assert_eq!(SignedRank::paired(&x, &x).unwrap_err(), SignedRankError::AllZero);
    assert_eq!(paired_differences(&x, &x).unwrap().in_run_order(), [0.0, 0.0]);
}

#[test]
fn what_weakens_an_answer_is_said() {
    let same = || vec![sample(&[1.0; 6]), sample(&[2.0; 6])];
    let suite = ScoreSuite::of_matrices(same(), same()).unwrap();
    let test = HierarchicalPerformanceTest::new(&suite, PerformanceRules::default());
    let comparison = test.at(1.0).unwrap();
    assert_eq!(comparison.caveats, [Caveat::NoBenchmarkDiffers]);
    assert_eq!(comparison.signed_rank.z(), 0.0);
    let one_run = vec![sample(&[9.0]), sample(&[9.0, 8.0])];
    let suite = ScoreSuite::of_matrices(one_run, vec![sample(&[1.0]), sample(&[1.0])]).unwrap();
    let rules = PerformanceRules {
        risk: BenchmarkRisk::Fixed(Risk::new(0.05).unwrap()),
        ..PerformanceRules::default()
    };
    let comparison = HierarchicalPerformanceTest::new(&suite, rules).at(1.0).unwrap();
    let few = Caveat::TooFewRunsToWin { benchmarks: 2 };
    assert_eq!(comparison.caveats, [few, Caveat::UnequalRuns, Caveat::NoBenchmarkDiffers]);
}
