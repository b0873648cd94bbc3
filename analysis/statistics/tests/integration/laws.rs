//! Laws that hold for any data: exchange, shift, scale, order; tests and intervals that agree; no panic on
//! finite input.

use proptest::prelude::*;
use speedup_statistics::protocol::speedup_test::{ProtocolOutcome, Question, SpeedupTest, published};
use speedup_statistics::{
    inference::Alternative, inference::Caveat, inference::ConfidenceLevel, inference::Continuity,
    inference::PValue, inference::Risk, ratio::BenchmarkWeights, ratio::MeanRatio, ratio::MedianRatio,
    ratio::Overall, ratio::SpeedupMeans, ratio::SuiteMember, ratio::Summary, sample::Sample,
    test::ExactRankSum, test::FTest, test::KolmogorovSmirnovStatistic, test::NormalRankSum,
    test::OneSampleTTest, test::PairedTTest, test::PermutationRankSum, test::Proportion,
    test::ProportionMethod, test::RankSum, test::RankSumStatistic, test::Selection, test::ShapiroWilk,
    test::StudentTTest, test::Ties, test::WelchTTest, test::benchmarks_by_wald, test::benchmarks_by_wilson,
};

use crate::data::{ALTERNATIVES, SWAPPED, close, level, sample};

const QUESTIONS: [Question; 2] = [Question::CandidateFaster, Question::CandidateSlower];

/// Run times: positive, with ties when `grid` rounds them.
fn times(runs: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    (prop::collection::vec(1.0..2.0_f64, runs), prop::bool::ANY).prop_map(|(times, grid)| {
        times.into_iter().map(|t| if grid { (t * 16.0).round() / 16.0 } else { t }).collect()
    })
}

/// Any finite numbers that a sample takes, the awkward ones often.
fn anything() -> impl Strategy<Value = Vec<f64>> {
    let value = prop_oneof![
        -1e150..1e150_f64,
        prop::sample::select(vec![0.0, -0.0, 1.0, 1e150, -1e150, 5e-324, 1e-160, 1.0 + f64::EPSILON, 1e16]),
        -1.0..1.0_f64,
    ];
    prop::collection::vec(value, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn exchanging_the_samples_exchanges_the_alternative(x in times(3..35), y in times(3..35)) {
        let (x, y) = (sample(&x), sample(&y));
        for (alternative, swapped) in ALTERNATIVES.into_iter().zip(SWAPPED) {
            for law in [RankSum::choose, RankSum::r_default] {
                let (there, back) = (law(&x, &y).p_value(alternative), law(&y, &x).p_value(swapped));
                prop_assert!(close(there.get(), back.get(), 1e-12));
            }
            if let (Ok(a), Ok(b)) = (StudentTTest::new(&x, &y), StudentTTest::new(&y, &x)) {
                prop_assert!(close(a.p_value(alternative).get(), b.p_value(swapped).get(), 1e-12));
            }
            if let (Ok(a), Ok(b)) = (WelchTTest::new(&x, &y), WelchTTest::new(&y, &x)) {
                prop_assert!(close(a.p_value(alternative).get(), b.p_value(swapped).get(), 1e-12));
            }
            if let (Ok(a), Ok(b)) = (FTest::new(&x, &y), FTest::new(&y, &x)) {
                prop_assert!(close(a.p_value(alternative).get(), b.p_value(swapped).get(), 1e-11));
            }
            if let (Ok(a), Ok(b)) = (PermutationRankSum::new(&x, &y), PermutationRankSum::new(&y, &x)) {
                prop_assert!(close(a.p_value(alternative).get(), b.p_value(swapped).get(), 1e-10));
            }
        }
        let distances = (KolmogorovSmirnovStatistic::new(&x, &y), KolmogorovSmirnovStatistic::new(&y, &x));
        prop_assert_eq!(distances.0.d(), distances.1.d());
        for ties in [Ties::Conditional, Ties::Ignored] {
            let (a, b) = (distances.0.exact(ties).unwrap().get(), distances.1.exact(ties).unwrap().get());
            prop_assert!(close(a, b, 1e-12));
        }
        let there = SpeedupTest::new(&x, &y).unwrap();
        let back = SpeedupTest::new(&y, &x).unwrap();
        for protocol in [
            |test: &SpeedupTest, question| test.median.best(question),
            |test: &SpeedupTest, question| test.mean.best(question),
        ] {
            let faster = protocol(&there, Question::CandidateFaster);
            let slower = protocol(&back, Question::CandidateSlower);
            prop_assert_eq!(faster.is_significant(), slower.is_significant());
        }
        prop_assert!(close(there.median.probability_faster(), 1.0 - back.median.probability_faster(), 1e-12));
    }

    #[test]
    fn a_change_of_unit_changes_nothing(x in times(3..35), y in times(3..35), power in -20..20_i32) {
        // Powers of two scale doubles exactly, so equality is exact where only order counts.
        let unit = 2.0_f64.powi(power);
        let scaled = |values: &[f64]| sample(&values.iter().map(|v| v * unit).collect::<Vec<_>>());
        let before = SpeedupTest::new(&sample(&x), &sample(&y)).unwrap();
        let after = SpeedupTest::new(&scaled(&x), &scaled(&y)).unwrap();
        prop_assert_eq!(before.speedups, after.speedups);
        for question in QUESTIONS {
            prop_assert_eq!(before.median.best(question), after.median.best(question));
            prop_assert_eq!(before.mean.best(question).outcome, after.mean.best(question).outcome);
        }
    }

    #[test]
    fn a_shift_leaves_ranks_and_moves_means(x in times(3..35), y in times(3..35)) {
        // Sixteenths plus a whole number are exact.
        let grid = |values: &[f64], shift: f64| {
            sample(&values.iter().map(|v| (v * 16.0).round() / 16.0 + shift).collect::<Vec<_>>())
        };
        let (x0, y0, x1, y1) = (grid(&x, 0.0), grid(&y, 0.0), grid(&x, 1024.0), grid(&y, 1024.0));
        prop_assert_eq!(RankSumStatistic::new(&x0, &y0), RankSumStatistic::new(&x1, &y1));
        prop_assert_eq!(KolmogorovSmirnovStatistic::new(&x0, &y0), KolmogorovSmirnovStatistic::new(&x1, &y1));
        if let (Ok(a), Ok(b)) = (WelchTTest::new(&x0, &y0), WelchTTest::new(&x1, &y1)) {
            prop_assert!(close(a.statistic().t(), b.statistic().t(), 1e-9) || a.statistic().t().abs() < 1e-9);
        }
        if let (Ok(a), Ok(b)) = (ShapiroWilk::new(&x0), ShapiroWilk::new(&x1)) {
            prop_assert!(close(a.statistic(), b.statistic(), 1e-9));
        }
    }

    #[test]
    fn run_order_is_kept_and_does_not_matter_to_two_sample_tests(x in times(3..35), y in times(3..35)) {
        let reversed: Vec<f64> = x.iter().rev().copied().collect();
        let kept = sample(&x);
        prop_assert_eq!(kept.in_run_order(), &x[..]);
        let forth = SpeedupTest::new(&sample(&x), &sample(&y)).unwrap();
        let back = SpeedupTest::new(&sample(&reversed), &sample(&y)).unwrap();
        prop_assert_eq!(
            forth.median.best(Question::CandidateFaster),
            back.median.best(Question::CandidateFaster)
        );
        prop_assert!(close(forth.speedups.mean, back.speedups.mean, 1e-15));
    }

    #[test]
    fn a_faster_candidate_is_never_less_significant(
        x in times(3..35), y in times(3..35), by in 0.0..0.5_f64,
    ) {
        let faster: Vec<f64> = y.iter().map(|v| v - by).collect();
        let p = |y: &[f64]| RankSum::choose(&sample(&x), &sample(y)).p_value(Alternative::Greater).get();
        let exact = |y: &[f64]| ExactRankSum::new(&sample(&x), &sample(y)).is_ok();
        // One law for both: a tie at one place only would compare an exact with a normal p-value.
        prop_assume!(exact(&y) == exact(&faster));
        if exact(&y) {
            prop_assert!(p(&faster) <= p(&y));
        }
    }

    #[test]
    fn tests_and_intervals_agree_at_the_ends(x in times(3..35), y in times(3..35), at in 0.5..0.999_f64) {
        let (x, y, level) = (sample(&x), sample(&y), level(at));
        let risk = level.risk().get();
        if let Ok(ratio) = MeanRatio::new(&x, &y)
            && let Some(interval) = ratio.interval(level).bounded()
        {
            prop_assert!(interval.lower <= ratio.estimate() && ratio.estimate() <= interval.upper);
            for end in [interval.lower, interval.upper] {
                prop_assert!(close(ratio.p_value(end, Alternative::TwoSided).get(), risk, 1e-7));
            }
            for (alternative, end) in [(Alternative::Greater, interval.lower), (Alternative::Less, interval.upper)] {
                prop_assert!(close(ratio.p_value(end, alternative).get(), risk / 2.0, 1e-7));
            }
        }
        if let Ok(test) = WelchTTest::new(&x, &y) {
            let interval = test.interval(Alternative::TwoSided, level);
            let excludes = interval.lower > 0.0 || interval.upper < 0.0;
            let p = test.p_value(Alternative::TwoSided).get();
            prop_assert!(excludes == (p < risk) || close(p, risk, 1e-9));
        }
        if let Ok(test) = FTest::new(&x, &y) {
            let interval = test.interval(Alternative::TwoSided, level);
            let excludes = interval.lower > 1.0 || interval.upper < 1.0;
            let p = test.p_value(Alternative::TwoSided).get();
            prop_assert!(excludes == (p < risk) || close(p, risk, 1e-9));
        }
    }

    #[test]
    fn the_median_ratio_inverts_the_rank_sum_test(
        x in prop::collection::vec(1.0..2.0_f64, 3..20),
        y in prop::collection::vec(1.0..2.0_f64, 3..20),
        at in 0.5..0.95_f64,
    ) {
        let (x, y, level) = (sample(&x), sample(&y), level(at));
        let ratio = MedianRatio::new(&x, &y).unwrap();
        let interval = ratio.interval(level);
        let Some(interval) = interval.bounded() else { return Ok(()) };
        prop_assert!(interval.level >= level);
        prop_assert!(interval.lower <= ratio.estimate() && ratio.estimate() <= interval.upper);
        let rejected = |factor: f64| {
            let scaled: Vec<f64> = y.in_run_order().iter().map(|v| v * factor).collect();
            let test = ExactRankSum::new(&x, &sample(&scaled));
            test.map(|test| test.p_value(Alternative::TwoSided).rejects_at(level.risk()))
        };
        // Just outside and just inside either end, where no pair ties.
        for (outside, inside) in [(interval.lower * 0.999_999, interval.lower * 1.000_001),
                                  (interval.upper * 1.000_001, interval.upper * 0.999_999)] {
            if let Ok(rejected) = rejected(outside) {
                prop_assert!(rejected);
            }
            // The end may be shared by two pairs within a millionth; then the test has moved on already.
            if let (Ok(rejected), true) = (rejected(inside), interval.lower * 1.01 < interval.upper) {
                prop_assert!(!rejected);
            }
        }
        let mut ratios: Vec<f64> =
            x.sorted().iter().flat_map(|a| y.sorted().iter().map(move |b| a / b)).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        prop_assert!(ratios.contains(&interval.lower) && ratios.contains(&interval.upper));
    }

    #[test]
    fn the_best_risk_is_the_least_that_is_significant(x in times(3..40), y in times(3..40)) {
        let test = SpeedupTest::new(&sample(&x), &sample(&y)).unwrap();
        for question in QUESTIONS {
            for (best, at) in [
                (test.mean.best(question), &(|r| test.mean.at_risk(question, r)) as &dyn Fn(_) -> _),
                (test.median.best(question), &|r| test.median.at_risk(question, r)),
            ] {
                let risks = (1..100).map(|i| Risk::new(f64::from(i) / 200.0).unwrap());
                let least = risks.clone().find(|risk| at(*risk).is_significant());
                match best.risk {
                    Some(risk) => {
                        prop_assert!(at(risk).is_significant());
                        prop_assert!(least.is_none_or(|least| risk <= least));
                    }
                    None => prop_assert_eq!(least, None),
                }
                prop_assert_eq!(best.is_significant(), best.risk.is_some());
            }
        }
    }

    #[test]
    fn proportions_keep_order_and_range(a in 0..60_u64, more in 0..60_u64, at in 0.5..0.999_f64) {
        let b = a + more + 1;
        let (level, wider) = (level(at), level(at.midpoint(1.0)));
        let drawn = Proportion::new(a, b, Selection::Drawn).unwrap();
        let other = Proportion::new(b - a, b, Selection::Drawn).unwrap();
        let all = Proportion::new(a, b, Selection::DrawnFromFinite { size: b }).unwrap();
        for method in ProportionMethod::ALL {
            let (narrow, wide, mirror) =
                (drawn.interval(method, level), drawn.interval(method, wider), other.interval(method, level));
            let estimate = drawn.estimate();
            prop_assert!(narrow.lower <= estimate + 1e-12 && estimate <= narrow.upper + 1e-12);
            prop_assert!(0.0 <= wide.lower && wide.lower <= narrow.lower + 1e-12);
            prop_assert!(narrow.upper <= wide.upper + 1e-12 && wide.upper <= 1.0);
            prop_assert!((narrow.lower - (1.0 - mirror.upper)).abs() < 1e-9);
            let known = all.interval(method, level);
            prop_assert_eq!((known.lower, known.upper), (drawn.estimate(), drawn.estimate()));
        }
        for precision in [0.01, 0.1] {
            let wald = benchmarks_by_wald(drawn.estimate(), precision, level, Selection::Drawn).unwrap();
            let finite = Selection::DrawnFromFinite { size: 50 };
            let few = benchmarks_by_wald(drawn.estimate(), precision, level, finite).unwrap();
            prop_assert!(few <= wald && few <= 50);
            prop_assert!(benchmarks_by_wilson(drawn.estimate(), precision, level, finite).unwrap() <= 50);
        }
    }

    #[test]
    fn gain_and_speedup_say_the_same(x in times(1..9), y in times(1..9), z in times(1..9)) {
        let (x, y, z) = (sample(&x), sample(&y), sample(&z));
        let member = |baseline, candidate| SuiteMember { baseline, candidate };
        let members = [member(&x, &y), member(&y, &z)];
        for summary in Summary::ALL {
            for weights in [BenchmarkWeights::Equal, BenchmarkWeights::Fraction, BenchmarkWeights::Custom(vec![0.3, 2.0])] {
                let overall = Overall::new(&members, summary, &weights).unwrap();
                prop_assert!(close(overall.speedup, 1.0 / (1.0 - overall.gain), 1e-12));
                prop_assert!(close(overall.weights.iter().sum(), 1.0, 1e-12));
            }
        }
    }

    #[test]
    fn means_of_speedups_keep_their_order_and_exchange(x in times(1..9), y in times(1..9), z in times(1..9)) {
        let (x, y, z) = (sample(&x), sample(&y), sample(&z));
        let member = |baseline, candidate| SuiteMember { baseline, candidate };
        for summary in Summary::ALL {
            let means = |members: &[SuiteMember<'_>]| SpeedupMeans::new(members, summary).unwrap();
            let there = means(&[member(&x, &y), member(&y, &z), member(&x, &z)]);
            let back = means(&[member(&z, &x), member(&y, &x), member(&z, &y)]);
            prop_assert!(there.harmonic <= there.geometric * (1.0 + 1e-12));
            prop_assert!(there.geometric <= there.arithmetic * (1.0 + 1e-12));
            prop_assert!(close(there.geometric * back.geometric, 1.0, 1e-12));
            prop_assert!(close(there.arithmetic * back.harmonic, 1.0, 1e-12));
            let alone = means(&[member(&x, &y)]);
            let speedup = summary.of(&x) / summary.of(&y);
            for mean in [alone.arithmetic, alone.geometric, alone.harmonic] {
                prop_assert!(close(mean, speedup, 1e-12));
            }
        }
    }

    #[test]
    fn no_finite_input_panics(x in anything(), y in anything(), at in 0.001..0.9999_f64) {
        // What differs by too little to compute with is no sample.
        let (Ok(x), Ok(y)) = (Sample::new(x), Sample::new(y)) else { return Ok(()) };
        let level = level(at);
        let in_range = |p: PValue| (0.0..=1.0).contains(&p.get());
        let _ = x.quantile(at).unwrap();
        if let Ok(test) = ShapiroWilk::new(&x) {
            prop_assert!(in_range(test.p_value()));
        }
        for alternative in ALTERNATIVES {
            prop_assert!(in_range(RankSum::choose(&x, &y).p_value(alternative)));
            prop_assert!(in_range(NormalRankSum::new(&x, &y, Continuity::Uncorrected).p_value(alternative)));
            if let Ok(test) = FTest::new(&x, &y) {
                prop_assert!(in_range(test.p_value(alternative)));
                let _ = test.interval(alternative, level);
            }
            for statistic in [
                StudentTTest::new(&x, &y).map(|t| *t.statistic()),
                WelchTTest::new(&x, &y).map(|t| *t.statistic()),
                PairedTTest::new(&x, &y).map(|t| *t.statistic()),
                OneSampleTTest::new(&x, 1.0).map(|t| *t.statistic()),
            ].into_iter().flatten() {
                prop_assert!(in_range(statistic.p_value(alternative)));
            }
        }
        let distance = KolmogorovSmirnovStatistic::median_centred(&x, &y);
        prop_assert!(in_range(distance.exact(Ties::Conditional).unwrap()) && in_range(distance.asymptotic()));
        let positive =
            |s: &Sample| Sample::new(s.sorted().iter().map(|v| v.abs().max(5e-324)).collect::<Vec<_>>());
        let (Ok(x), Ok(y)) = (positive(&x), positive(&y)) else { return Ok(()) };
        let test = SpeedupTest::new(&x, &y).unwrap();
        for question in QUESTIONS {
            let best = [test.mean.best(question), test.median.best(question)];
            for conclusion in best.into_iter().chain([test.mean.at(question, level)]) {
                prop_assert!(serde_json::to_string(&conclusion).is_ok());
                if let ProtocolOutcome::CannotConclude { reason } = &conclusion.outcome {
                    prop_assert!(!reason.sentence().is_empty());
                }
            }
            let _ = published::search(|risk| test.mean.at_risk(question, risk));
        }
        if let Ok(ratio) = MeanRatio::new(&x, &y) {
            let _ = ratio.interval(level);
        }
        let ratio = MedianRatio::new(&x, &y).unwrap();
        let _ = (ratio.estimate(), ratio.interval(level));
    }
}

#[test]
fn the_interval_of_a_proportion_says_what_it_lacks() {
    let caveats = |accelerated, benchmarks, selection| {
        let proportion = Proportion::new(accelerated, benchmarks, selection).unwrap();
        proportion.interval(ProportionMethod::WilsonCorrected, ConfidenceLevel::USUAL).caveats
    };
    assert_eq!(caveats(17, 30, Selection::Drawn), []);
    let condition = Caveat::ProportionCondition { accelerated: 3, benchmarks: 4 };
    assert_eq!(caveats(3, 4, Selection::Chosen), [condition, Caveat::BenchmarksChosen]);
}
