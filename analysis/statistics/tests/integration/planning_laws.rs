//! Laws of planning and diagnostics that hold for any data: what grows with what, answers that solve their question,
//! exchange, shift, scale, seeds; no panic on any finite input.

use proptest::prelude::*;
use speedup_core::value::seed::Seed;
use speedup_statistics::diagnostics::{
    Granularity, aa::AaOptions, aa::AaStudy, aa::AaTest, aa::Detectable, host_effect::ClusterHosts,
    host_effect::ENOUGH_AS_LARGE, host_effect::Shuffles, run_order::Autocorrelation, run_order::Drift,
    run_order::FirstRunEffect, run_order::RunsTest,
};
use speedup_statistics::inference::{Alternative, Risk};
use speedup_statistics::planning::{
    group_sequential::GroupSequential, group_sequential::Sides, group_sequential::SpendingFunction,
    group_sequential::equal_fractions, power::Group, power::ProportionTestPower, power::Rejections,
    power::WelchPower, required_repetitions::Attainability, required_repetitions::Effort,
    required_repetitions::MeanPrecision, required_repetitions::MedianPrecision,
    required_repetitions::RankSumDetection, required_repetitions::RatioPrecision,
    required_repetitions::SpeedupGoal, required_repetitions::TrimmedDetection,
    required_repetitions::WelchDetection, two_stage::TwoStage,
};
use speedup_statistics::{
    distribution::noncentral_t, ratio::MeanRatio, ratio::TrimShare, ratio::TrimmedRatio, sample::Sample,
    test::OneSampleTTest,
};

use crate::data::{ALTERNATIVES, SWAPPED, close, level, sample};

fn times(runs: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(1.0..2.0_f64, runs)
}

/// Any finite numbers that a sample takes, the awkward ones often.
fn anything() -> impl Strategy<Value = Vec<f64>> {
    let value = prop_oneof![
        -1e150..1e150_f64,
        prop::sample::select(vec![0.0, -0.0, 1.0, 1e150, -1e150, 5e-324, 1e-300, 1.0 + f64::EPSILON, 1e16]),
        1e-3..1.0_f64,
    ];
    prop::collection::vec(value, 1..25)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn noncentral_tails_are_complements_and_mirror_images(
        t in -20.0..20.0_f64, df in 0.5..300.0_f64, delta in -12.0..12.0_f64, more in 0.01..2.0_f64
    ) {
        let tails = noncentral_t::tails(t, df, delta);
        prop_assert!((tails.lower + tails.upper - 1.0).abs() < 1e-13);
        prop_assert_eq!(noncentral_t::tails(-t, df, -delta), tails.mirrored());
        prop_assert!(noncentral_t::tails(t + more, df, delta).upper <= tails.upper);
        prop_assert!(noncentral_t::tails(t, df, delta + more).upper >= tails.upper);
    }

    #[test]
    fn power_grows_with_runs_and_difference_and_has_no_unit(
        runs in 3.0..80.0_f64, difference in 0.2..3.0_f64, sd in 0.2..3.0_f64, other in 0.3..2.0_f64,
        risk in 0.001..0.2_f64, which in 0..3_usize
    ) {
        let alternative = ALTERNATIVES[which];
        let sign = if alternative == Alternative::Less { -1.0 } else { 1.0 };
        let test = WelchPower { alternative, rejections: Rejections::OnEitherSide, risk: Risk::new(risk).unwrap() };
        let power = |runs, sd, difference: f64| {
            let group = Group { runs, sd };
            test.power(group, group, sign * difference).unwrap()
        };
        let usual = power(runs, sd, difference);
        prop_assert!(close(power(runs, sd * 1e200, difference * 1e200), usual, 1e-9));
        prop_assert!(power(runs + 1.0, sd, difference) >= usual - 1e-13);
        prop_assert!(power(runs, sd, difference * 1.1) >= usual - 1e-13);
        prop_assert!(power(runs, sd * 1.1, difference) <= usual + 1e-13);
        prop_assert!(close(power(runs, sd, 0.0), risk, 1e-10));
        let swapped = WelchPower { alternative: SWAPPED[which], ..test };
        let [first, second] = [Group { runs, sd }, Group { runs: 5.0, sd: other }];
        let there = test.power(first, second, difference).unwrap();
        prop_assert!(close(there, swapped.power(second, first, -difference).unwrap(), 1e-10));
    }

    #[test]
    fn proportions_solve_their_question(
        p1 in 0.01..0.99_f64, p2 in 0.01..0.99_f64, trials in 5.0..500.0_f64, power in 0.3..0.99_f64
    ) {
        let test = ProportionTestPower {
            alternative: Alternative::TwoSided,
            rejections: Rejections::OnEitherSide,
            risk: Risk::new(0.05).unwrap(),
        };
        if let Ok(trials) = test.trials(p1, p2, power) {
            prop_assert!(close(test.power(trials, p1, p2).unwrap(), power, 1e-8));
        }
        if let Ok(second) = test.second(trials, p1, power) {
            prop_assert!(close(test.power(trials, p1, second).unwrap(), power, 1e-8));
        }
        prop_assert!(close(test.power(trials, p1, p2).unwrap(), test.power(trials, p2, p1).unwrap(), 1e-9));
    }

    #[test]
    fn required_runs_are_the_least(x in times(5..20), y in times(5..20), r in 0.02..0.2_f64, scale in 0.01..100.0_f64) {
        let maximum = 1_000_000;
        let scaled: Vec<f64> = x.iter().map(|t| t * scale).collect();
        let (x, y, scaled) = (sample(&x), sample(&y), sample(&scaled));
        let l = level(0.95);
        let mean = MeanPrecision::new(&x).unwrap();
        let needed = mean.required(r, l, maximum).unwrap().reach.needed().unwrap();
        prop_assert!(mean.relative_half_width(needed, l) <= r);
        prop_assert!(needed == 2 || mean.relative_half_width(needed - 1, l) > r);
        let ratio = RatioPrecision::new(&x, &y).unwrap();
        let needed_ratio = ratio.required(r, l, maximum).unwrap().reach.needed().unwrap();
        prop_assert!(ratio.relative_half_width(needed_ratio, l) <= r);
        prop_assert!(needed_ratio == 2 || ratio.relative_half_width(needed_ratio - 1, l) > r);
        for precision in [r * 0.5, r] {
            let of = |s: &Sample| MedianPrecision::new(s).unwrap().required(precision, l, maximum).unwrap();
            let (a, b) = (of(&x).reach.needed(), of(&scaled).reach.needed());
            prop_assert!(a.unwrap().abs_diff(b.unwrap()) <= 1, "{a:?} {b:?}");
        }
        let wider = mean.required(r * 1.5, l, maximum).unwrap().reach.needed().unwrap();
        prop_assert!(wider <= needed);
    }

    #[test]
    fn detection_needs_fewer_runs_for_larger_speedups(x in times(6..20), y in times(6..20), delta in 1.02..1.3_f64) {
        let goal = |speedup| SpeedupGoal {
            speedup, alternative: Alternative::Greater, level: level(0.95), power: 0.9, maximum: 10_000_000,
        };
        let (x, y) = (sample(&x), sample(&y));
        let detection = WelchDetection::new(&x, Some(&y)).unwrap();
        let needed = detection.required(&goal(delta)).unwrap().reach.needed().unwrap();
        prop_assert!(detection.power(needed, &goal(delta)).unwrap() >= 0.9);
        prop_assert!(needed == 2 || detection.power(needed - 1, &goal(delta)).unwrap() < 0.9);
        prop_assert!(detection.required(&goal(delta * 1.2)).unwrap().reach.needed().unwrap() <= needed);
        let ranks = RankSumDetection::new(&x, None).unwrap();
        prop_assert!(ranks.probability_greater(delta).unwrap() <= ranks.probability_greater(delta * 1.2).unwrap());
        let wrong = SpeedupGoal { alternative: Alternative::Less, ..goal(delta) };
        prop_assert!(detection.required(&wrong).is_err() && ranks.required(&wrong).is_err());
    }

    /// The plan is of the report's test: with the pilot's own runs it is the power of the pilot's own data.
    #[test]
    fn plans_of_trimmed_means_keep_their_laws(
        x in times(10..11), y in times(10..11), scale in 0.01..100.0_f64, runs in 4..300_u64, delta in 1.005..1.3_f64
    ) {
        let risk = level(0.95).risk();
        let share = TrimShare::USUAL;
        let scaled = sample(&x.iter().map(|time| time * scale).collect::<Vec<_>>());
        let (x, y) = (sample(&x), sample(&y));
        let plan = TrimmedDetection::new(&x, Some(&y), share).unwrap();
        let own = TrimmedRatio::new(&x, &y, share).unwrap().power();
        prop_assert!(close(plan.with_runs(10).smallest(risk, 0.8).unwrap(), own.smallest(risk, 0.8).unwrap(), 1e-9));
        let pairs = TrimmedDetection::from_pairs(&x, &y, share).unwrap().with_runs(10);
        let own = TrimmedRatio::paired(&x, &y, share).unwrap().power();
        prop_assert!(close(pairs.smallest(risk, 0.8).unwrap(), own.smallest(risk, 0.8).unwrap(), 1e-9));
        let test = plan.with_runs(runs);
        for other in [
            TrimmedDetection::new(&y, Some(&x), share).unwrap().with_runs(runs),
            TrimmedDetection::new(&scaled, Some(&y), share).unwrap().with_runs(runs),
        ] {
            prop_assert!(close(other.power(delta, risk), test.power(1.0 / delta, risk), 1e-9));
        }
        prop_assert!(test.power(delta * 1.01, risk) >= test.power(delta, risk));
        prop_assert!(test.power(delta, level(0.99).risk()) <= test.power(delta, risk));
        let smallest = test.smallest(risk, 0.8).unwrap();
        prop_assert!(close(test.power(smallest, risk), 0.8, 1e-9));
        prop_assert!(test.half_width(risk).unwrap() < smallest - 1.0);
        let limit = plan.clone().at_upper_limit(0.8);
        prop_assert!(limit.spread() > plan.spread() && limit.with_runs(runs).power(delta, risk) <= test.power(delta, risk));
        let goal = SpeedupGoal { speedup: delta, alternative: Alternative::TwoSided, level: level(0.95), power: 0.9, maximum: 10_000_000 };
        let needed = plan.required(&goal).unwrap().reach.needed().unwrap();
        prop_assert!(plan.with_runs(needed).power(delta, risk) >= 0.9);
        prop_assert!(needed <= 4 || plan.with_runs(needed - 1).power(delta, risk) < 0.9);
        let precise = plan.precise(delta - 1.0, level(0.95), 10_000_000).unwrap().reach.needed().unwrap();
        prop_assert!(plan.with_runs(precise).half_width(risk).unwrap() <= delta - 1.0);
    }

    #[test]
    fn stein_shifts_and_scales(x in times(3..12), scale in 0.01..100.0_f64, d in 0.05..0.5_f64) {
        let scaled: Vec<f64> = x.iter().map(|t| t * scale + 3.0).collect();
        let of_mean = |x: &[f64], d: f64| TwoStage::new(&[&sample(x)], TrimShare::NONE, d, level(0.9)).unwrap();
        let plan = of_mean(&x, d);
        let other = of_mean(&scaled, d * scale);
        prop_assert!(plan.runs().abs_diff(other.runs()) <= 1);
        prop_assert_eq!(plan.further_runs() + x.len() as u64, plan.runs());
        prop_assert!(of_mean(&x, d / 2.0).runs() >= plan.runs());
        // Of the pilot alone it is Student's, whether or not more is to come.
        let interval = plan.interval(&[&sample(&x)]);
        let t = OneSampleTTest::new(&sample(&x), 0.0).unwrap().interval(Alternative::TwoSided, level(0.9));
        prop_assert!(close(interval.lower, t.lower, 1e-9) && close(interval.upper, t.upper, 1e-9));
    }

    /// Exchanged samples turn the trimmed difference around, a shift of both leaves it, and what is left out does not move it.
    #[test]
    fn stein_of_trimmed_means(x in times(10..20), y in times(10..20), shift in 0.1..10.0_f64, d in 0.5..2.0_f64) {
        let plan = |x: &[f64], y: &[f64]| {
            TwoStage::new(&[&sample(x), &sample(y)], TrimShare::USUAL, d, level(0.9)).unwrap()
        };
        let (there, back) = (plan(&x, &y), plan(&y, &x));
        prop_assert_eq!(there.runs(), back.runs());
        let [one, other] = [there.interval(&[&sample(&x), &sample(&y)]), back.interval(&[&sample(&y), &sample(&x)])];
        prop_assert!(close(one.lower, -other.upper, 1e-9) && close(one.upper, -other.lower, 1e-9));
        let moved = |runs: &[f64]| runs.iter().map(|run| run + shift).collect::<Vec<_>>();
        let shifted = plan(&moved(&x), &moved(&y)).interval(&[&sample(&moved(&x)), &sample(&moved(&y))]);
        prop_assert!(close(one.lower, shifted.lower, 1e-9) && close(one.upper, shifted.upper, 1e-9));
        let mut stalled = x.clone();
        let largest = (0..x.len()).max_by(|a, b| x[*a].total_cmp(&x[*b])).unwrap();
        stalled[largest] *= 100.0;
        let of_stalled = plan(&stalled, &y).interval(&[&sample(&stalled), &sample(&y)]);
        prop_assert!(close(one.lower, of_stalled.lower, 1e-9) && close(one.upper, of_stalled.upper, 1e-9));
    }

    #[test]
    fn order_diagnostics_keep_their_laws(x in times(5..30), scale in 0.01..100.0_f64) {
        let runs = sample(&x);
        let reversed = sample(&x.iter().rev().copied().collect::<Vec<_>>());
        let moved = sample(&x.iter().map(|t| t * scale + 1.0).collect::<Vec<_>>());
        let p = |a: &Sample, alternative| {
            [
                Autocorrelation::new(a).unwrap().p_value(alternative).get(),
                RunsTest::new(a).unwrap().p_value(alternative).get(),
                Drift::new(a).unwrap().p_value(alternative).get(),
                FirstRunEffect::new(std::slice::from_ref(a)).unwrap().p_value(alternative).get(),
            ]
        };
        for (alternative, swapped) in ALTERNATIVES.into_iter().zip(SWAPPED) {
            let (here, there, back) = (p(&runs, alternative), p(&moved, alternative), p(&reversed, swapped));
            for (a, b) in here.iter().zip(there) {
                prop_assert!((0.0..=1.0).contains(a) && close(*a, b, 1e-6), "{here:?} {there:?}");
            }
            // Backward a drift is the opposite drift; neighbours stay neighbours.
            prop_assert!(close(here[2], back[2], 1e-9));
            prop_assert!(close(p(&reversed, alternative)[0], here[0], 1e-6));
            prop_assert!(close(p(&reversed, alternative)[1], here[1], 1e-9));
        }
        prop_assert!(close(Drift::new(&moved).unwrap().slope(), scale * Drift::new(&runs).unwrap().slope(), 1e-6)
            || Drift::new(&runs).unwrap().slope().abs() < 1e-9);
    }

    #[test]
    fn seeds_and_nothing_else_decide_what_is_drawn(x in times(8..16), seed in 0..1000_u64) {
        let options = |seed| AaOptions {
            test: AaTest::Welch, alternative: Alternative::Greater, level: level(0.9), splits: 60, seed: Seed(seed),
        };
        let of = |seed| {
            let study = AaStudy::by_runs(&sample(&x), options(seed)).unwrap();
            (study.false_alarms(), study.minimum_detectable(0.5).unwrap())
        };
        let here = of(seed);
        let elsewhere = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..2).map(|_| scope.spawn(|| of(seed))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        prop_assert!(elsewhere.iter().all(|there| *there == here));
        let Detectable::Factor { factor } = here.1 else { return Err(TestCaseError::fail("not within")) };
        prop_assert!(factor > 1.0);
        let labels: Vec<u32> = (0..x.len() as u32).map(|i| i % 2).collect();
        let hosts: Vec<u32> = (0..x.len() as u32).map(|i| i / 4).collect();
        let association = |seed| ClusterHosts::new(&labels, &hosts, Shuffles::all(99), Seed(seed)).unwrap();
        prop_assert_eq!(association(seed), association(seed));
        prop_assert!(association(seed).p_value().get() >= 0.01);
    }

    #[test]
    fn shuffles_end_early_where_all_of_them_would_say_the_same(
        labels in prop::collection::vec(0..3_u32, 12..60), hosts in 2..9_u32, tied in 0.0..1.0_f64, seed in 0..1000_u64,
    ) {
        let most = 2_000;
        // From labels that do not know their hosts to labels that are their hosts.
        let host = |(i, label): (usize, &u32)| if i as f64 >= tied * labels.len() as f64 { i as u32 % hosts } else { *label };
        let hosts: Vec<u32> = labels.iter().enumerate().map(host).collect();
        let of = |shuffles| ClusterHosts::new(&labels, &hosts, shuffles, Seed(seed));
        let (Ok(all), Ok(ended)) = (of(Shuffles::all(most)), of(Shuffles::until_as_large(most))) else {
            return Err(TestCaseError::reject("one level"));
        };
        prop_assert_eq!((all.chi_square(), all.draws()), (ended.chi_square(), most));
        let (p, of_all) = (ended.p_value().get(), all.p_value().get());
        if ended.draws() < most {
            // As the definition has it, and near that of all: within six of its own standard errors and theirs.
            prop_assert_eq!(p, ENOUGH_AS_LARGE as f64 / ended.draws() as f64);
            let error = p * (1.0 / ENOUGH_AS_LARGE as f64 + (1.0 - p) / (p * most as f64)).sqrt();
            prop_assert!((p - of_all).abs() <= 6.0 * error, "{} {}", p, of_all);
        } else {
            prop_assert!((p - of_all).abs() <= 1.0 / most as f64, "{} {}", p, of_all);
        }
    }

    #[test]
    fn nothing_panics(x in anything(), y in anything(), number in prop::sample::select(vec![
        0.0, -1.0, 1.0, 0.5, 1e-300, 1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 2.0, 1e12,
    ]), other in prop::sample::select(vec![0.0, 0.05, 0.999_999, 1.0, 1e-300, 1e300, f64::NAN, 3.0])) {
        let [Ok(a), Ok(b)] = [x.clone(), y].map(Sample::new) else { return Ok(()) };
        let hosts: Vec<u32> = (0..x.len() as u32).map(|i| i % 3).collect();
        for alternative in ALTERNATIVES {
            let _ = Autocorrelation::new(&a).map(|d| d.p_value(alternative));
            let _ = RunsTest::new(&a).map(|d| (d.z(), d.p_value(alternative)));
            let _ = Drift::new(&a).map(|d| (d.p_value(alternative), d.slope()));
            let _ = FirstRunEffect::new(&[a.clone(), b.clone()]).map(|d| d.p_value(alternative));
            let goal = SpeedupGoal { speedup: number, alternative, level: level(0.95), power: other, maximum: 1000 };
            let _ = WelchDetection::new(&a, Some(&b)).map(|d| d.required(&goal));
            let _ = RankSumDetection::new(&a, Some(&b)).map(|d| d.required(&goal));
            let _ = RankSumDetection::new(&a, None).map(|d| d.required(&goal));
            for risk in [0.0, 1e-300, 0.05, 0.999].map(|risk| Risk::new(risk).unwrap()) {
                let rejections = Rejections::OnEitherSide;
                let welch = WelchPower { alternative, rejections, risk };
                let _ = welch.power(Group { runs: number, sd: other }, Group { runs: 9.0, sd: number }, other);
                let proportions = ProportionTestPower { alternative, rejections, risk };
                let _ = (proportions.power(number, other, number), proportions.trials(other, number, other));
                let _ = proportions.second(number, other, other);
            }
        }
        let _ = MeanPrecision::new(&a).map(|p| p.required(other, level(0.95), u64::MAX));
        let _ = RatioPrecision::new(&a, &b).map(|p| p.required(other, level(0.95), u64::MAX));
        let _ = MedianPrecision::new(&a).map(|p| p.required(other, level(0.95), u64::MAX));
        let _ = TwoStage::new(&[&a], TrimShare::NONE, other, level(0.95)).map(|p| p.interval(&[&a]));
        let _ = TwoStage::new(&[&a, &b], TrimShare::USUAL, number, level(0.95)).map(|p| p.is_unsteady(&[&a, &b]));
        let _ = Effort::new(x.len() as u64, u64::MAX, number, 3);
        let granularity = Granularity::new(&a);
        prop_assert!((0.0..=1.0).contains(&granularity.tie_probability()));
        let _ = (granularity.kind(), granularity.grid());
        let options = AaOptions {
            test: AaTest::RankSum, alternative: Alternative::TwoSided, level: level(0.9), splits: 3, seed: Seed(1),
        };
        let _ = AaStudy::by_hosts(&a, &hosts, options).map(|s| (s.false_alarms(), s.minimum_detectable(other)));
    }
}

#[test]
fn the_precision_of_a_ratio_is_that_of_its_interval() {
    let (x, y) = (sample(&[1.0, 1.2, 1.1, 1.4, 1.3]), sample(&[0.9, 1.1, 1.3, 1.0, 0.8]));
    let interval = MeanRatio::new(&x, &y).unwrap();
    let bounded = interval.interval(level(0.95)).bounded().cloned().unwrap();
    let half_width = (bounded.upper - bounded.lower) / 2.0 / interval.estimate();
    let planned = RatioPrecision::new(&x, &y).unwrap().relative_half_width(5, level(0.95));
    assert!(close(half_width, planned, 1e-10), "{half_width} {planned}");
}

#[test]
fn pilots_that_suffice_and_goals_out_of_reach_are_told() {
    let pilot = sample(&[1.0, 1.001, 0.999, 1.0005, 0.9995, 1.0001]);
    let precision = MeanPrecision::new(&pilot).unwrap();
    assert!(matches!(
        precision.required(0.1, level(0.95), 100).unwrap().reach,
        Attainability::PilotSuffices { .. }
    ));
    assert!(matches!(
        precision.required(0.0002, level(0.95), 1000).unwrap().reach,
        Attainability::MoreRuns { .. }
    ));
    let never = precision.required(1e-9, level(0.95), 100).unwrap().reach;
    assert_eq!(never, Attainability::Unreachable { maximum: 100 });
    assert_eq!(never.needed(), None);
    let effort = Effort::new(100, 2, 36.0, 20).unwrap();
    assert_eq!((effort.runs, effort.hosts, effort.hours), (200, 20, 0.1));
}

#[test]
fn looks_spend_no_more_than_their_level_and_power_grows_with_the_drift() {
    let uneven = [0.13, 0.4, 0.41, 0.9, 1.0];
    for fractions in [equal_fractions(1), equal_fractions(4), uneven.to_vec()] {
        for sides in [Sides::One, Sides::Both] {
            for l in [0.6, 0.9, 0.999].map(level) {
                let plans = [
                    GroupSequential::spending(&fractions, sides, l, SpendingFunction::OBrienFlemingLike)
                        .unwrap(),
                    GroupSequential::spending(&fractions, sides, l, SpendingFunction::PocockLike).unwrap(),
                    GroupSequential::spending(&fractions, sides, l, SpendingFunction::Linear).unwrap(),
                ];
                for plan in plans {
                    assert!(close(1.0 - plan.level().get(), 1.0 - l.get(), 1e-9), "{plan:?}");
                    assert!(close(plan.power(0.0).unwrap(), 1.0 - l.get(), 1e-9), "{plan:?}");
                    let powers = [0.0, 1.0, 2.5, 5.0].map(|drift| plan.power(drift).unwrap());
                    assert!(powers.is_sorted(), "{powers:?}");
                }
            }
        }
    }
}

#[test]
fn what_no_runs_show_is_not_promised() {
    let plan = TrimmedDetection::from_moments(1.0, 0.04).unwrap();
    let [usual, of_twenty] = [0.95, 0.9975].map(|of| level(of).risk());
    // Of 2 × 3 runs 20 choices, of 2 × 5 runs 252.
    assert_eq!(plan.with_runs(3).smallest(usual, 0.8), None);
    assert_eq!((plan.with_runs(3).power(2.0, usual), plan.with_runs(3).half_width(usual)), (0.0, None));
    assert!(
        plan.with_runs(4).smallest(usual, 0.8).is_some()
            && plan.with_runs(5).smallest(of_twenty, 0.8).is_none()
    );
    assert!(plan.with_runs(6).smallest(of_twenty, 0.8).is_some());
    // One stall of a pilot of eight is trimmed where the planned runs lose any.
    let quiet = [100.0, 101.0, 99.0, 100.5, 99.5, 101.5, 98.5, 100.2];
    let stalled = [100.0, 101.0, 99.0, 100.5, 99.5, 101.5, 98.5, 200.0];
    let needed = |times: &[f64]| {
        let plan = TrimmedDetection::new(&sample(times), None, TrimShare::USUAL).unwrap();
        plan.precise(0.005, level(0.95), 1_000_000).unwrap().reach.needed().unwrap()
    };
    assert!(needed(&stalled) < 2 * needed(&quiet), "{} {}", needed(&stalled), needed(&quiet));
}
