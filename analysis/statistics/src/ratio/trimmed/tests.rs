//! Both laws against their definitions, and what the ratio promises of any times.

use super::*;
use crate::distribution::student_t;
use proptest::prelude::*;
use speedup_core::value::seed::Seed;

fn sample(values: &[f64]) -> Sample {
    Sample::new(values.to_vec()).unwrap()
}

fn trimmed(baseline: &[f64], candidate: &[f64], share: f64) -> TrimmedRatio {
    TrimmedRatio::new(&sample(baseline), &sample(candidate), TrimShare::new(share).unwrap()).unwrap()
}

/// The statistic by its definition, with a whole number of observations cut at each end.
fn by_definition(values: &[f64], cut: usize) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let last = sorted.len() - 1 - cut;
    let left = &sorted[cut..=last];
    let mean = left.iter().sum::<f64>() / left.len() as f64;
    let replaced: Vec<f64> = sorted.iter().map(|value| value.clamp(sorted[cut], sorted[last])).collect();
    let middle = replaced.iter().sum::<f64>() / n as f64;
    let squares: f64 = replaced.iter().map(|value| (value - middle).powi(2)).sum();
    let h = left.len() as f64;
    (mean, squares / (h * (h - 1.0)))
}

/// Both p-values by enumeration of who is the baseline's, each time from the definition.
fn enumerated(x: &[f64], y: &[f64], cuts: [usize; 2]) -> [f64; 2] {
    let pooled: Vec<f64> = x.iter().chain(y).copied().collect();
    let of = |bits: u32| {
        let part = |set: bool| {
            let values = pooled.iter().enumerate().filter(|(place, _)| (bits >> place & 1 == 1) == set);
            values.map(|(_, value)| *value).collect::<Vec<f64>>()
        };
        let ((a, of_a), (b, of_b)) =
            (by_definition(&part(true), cuts[0]), by_definition(&part(false), cuts[1]));
        (a - b) / (of_a + of_b).sqrt()
    };
    let observed = of((1 << x.len()) - 1);
    let mut rows = 0.0;
    let mut less = 0.0;
    let mut greater = 0.0;
    for bits in (0_u32..1 << pooled.len()).filter(|bits| bits.count_ones() as usize == x.len()) {
        let statistic = of(bits);
        rows += 1.0;
        less += f64::from(u8::from(statistic <= observed + 1e-9));
        greater += f64::from(u8::from(statistic >= observed - 1e-9));
    }
    [less / rows, greater / rows]
}

#[test]
fn the_ratio_is_that_of_the_times_which_are_shown() {
    let share = TrimShare::USUAL;
    for (n, m) in [(10, 15), (7, 40), (35, 20)] {
        let mut random = Seed(n as u64).child("shown");
        let [x, y] =
            [n, m].map(|n| sample(&(0..n).map(|_| 1.0 + random.random::<f64>()).collect::<Vec<_>>()));
        let shown = share.time_of(&x, n.min(m)) / share.time_of(&y, n.min(m));
        assert!((shown / TrimmedRatio::new(&x, &y, share).unwrap().estimate() - 1.0).abs() < 1e-12);
    }
}

#[test]
fn the_larger_of_both_laws_counts() {
    let mut random = Seed(3).child("trimmed");
    let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| 1.0 + random.random::<f64>().powi(3)).collect() };
    for (n, m, share, cuts) in
        [(4, 4, 0.25, [1, 1]), (5, 6, 0.1, [0, 0]), (3, 7, 0.0, [0, 0]), (4, 8, 0.25, [1, 2])]
    {
        let x = draw(n);
        let y = draw(m);
        let ratio = trimmed(&x, &y, share);
        let [x, y] = [&x, &y].map(|times| times.iter().map(|time| time.ln()).collect::<Vec<f64>>());
        let [less, greater] = enumerated(&x, &y, cuts);
        let ((a, of_a), (b, of_b)) = (by_definition(&x, cuts[0]), by_definition(&y, cuts[1]));
        let df = (n - 2 * cuts[0]).min(m - 2 * cuts[1]) as f64 - 1.0;
        let by_t = student_t::tails((a - b) / (of_a + of_b).sqrt(), df);
        assert!((ratio.estimate() - (a - b).exp()).abs() < 1e-12);
        let found = ratio.p_value(1.0, Alternative::Less).get();
        assert!((found - less.max(by_t.lower)).abs() < 1e-12, "{found} {less} {by_t:?}");
        let found = ratio.p_value(1.0, Alternative::Greater).get();
        assert!((found - greater.max(by_t.upper)).abs() < 1e-12, "{found} {greater} {by_t:?}");
    }
}

#[test]
fn of_pairs_signs_are_exchanged() {
    let x = [11.0, 22.5, 33.0, 44.0, 56.0, 66.0];
    let y = [10.0, 20.0, 30.2, 40.0, 50.0, 61.0];
    let ratio = TrimmedRatio::paired(&sample(&x), &sample(&y), TrimShare::USUAL).unwrap();
    let logs: Vec<f64> = x.iter().zip(&y).map(|(x, y)| (x / y).ln()).collect();
    let (mean, squared_error) = by_definition(&logs, 0);
    assert!((ratio.estimate() - mean.exp()).abs() < 1e-12);
    // All are faster: of 64 signs only these are as far.
    let by_t = student_t::tails(mean / squared_error.sqrt(), 5.0).upper;
    let found = ratio.p_value(1.0, Alternative::Greater).get();
    assert!((found - by_t.max(1.0 / 64.0)).abs() < 1e-12, "{found}");
}

#[test]
fn two_runs_show_nothing_and_say_so() {
    let ratio = trimmed(&[1.0, 1.1], &[2.0, 2.1], 0.1);
    assert!(matches!(
        ratio.interval(ConfidenceLevel::USUAL),
        RatioInterval::Unbounded { reason: Unbounded::TooFewRuns, .. }
    ));
    assert!(ratio.p_value(1.0, Alternative::Less).get() >= 1.0 / 6.0);
}

#[test]
fn the_fewest_runs_and_pairs_that_show_anything() {
    let at = |risk: f64| {
        let level = ConfidenceLevel::new(1.0 - risk).unwrap();
        [
            TrimmedRatio::runs_needed(level, TrimShare::USUAL),
            TrimmedRatio::pairs_needed(level, TrimShare::USUAL),
        ]
    };
    // 2/C(8, 4) is 0.029 and 2/2^6 is 0.031.
    assert_eq!(at(0.05), [Some(4), Some(6)]);
    // Of ten or more one goes at either end, and what is left out may be exchanged.
    assert_eq!(at(0.003), [Some(6), Some(11)]);
    assert_eq!(at(1e-5), [Some(11), Some(19)]);
    // However few of them are drawn.
    assert_eq!(at(1e-7), [Some(14), Some(27)]);
    let fast = trimmed(&[1.0, 1.01, 1.02], &[2.0, 2.02, 2.04], 0.1);
    assert!(fast.interval(ConfidenceLevel::USUAL).bounded().is_none());
}

/// Versions that are wholly apart have the least p-value that is foretold.
#[test]
fn what_is_left_out_may_be_exchanged() {
    // What is left varies least with the labels as they are.
    let times = |from: f64| [0.0, 0.48, 0.5, 0.52, 1.0].map(|more| from + 0.1 * more);
    // C(10, 5) over C(2, 1), and of pairs 2⁵ over 2.
    let slow = sample(&times(10.0));
    let fast = sample(&times(1.0));
    let share = TrimShare::new(0.2).unwrap();
    for (ratio, least) in [
        (TrimmedRatio::new(&slow, &fast, share).unwrap(), 2.0 / 252.0),
        (TrimmedRatio::paired(&slow, &fast, share).unwrap(), 2.0 / 32.0),
    ] {
        let p = ratio.p_value(1.0, Alternative::Greater).get();
        assert!((p - least).abs() < 1e-12, "{p}");
        let at = |risk: f64| ratio.interval(ConfidenceLevel::new(1.0 - risk).unwrap());
        assert!(at(1.99 * least).bounded().is_none() && at(2.01 * least).bounded().is_some());
        assert!(ratio.power().smallest(Risk::new(1.99 * least).unwrap(), 0.8).is_none());
    }
}

/// The ends of an interval that is hardly wider than a step of the doubles beside them are found too.
#[test]
fn an_interval_of_few_digits_has_ends() {
    let times = |about: f64| [0, 3, 1, 4, 2, 6, 5, 8, 7, 9].map(|run| about * (1.0 + 1e-12 * f64::from(run)));
    let ratio = trimmed(&times(1e90), &times(1.0), 0.1);
    let interval = ratio.interval(ConfidenceLevel::USUAL);
    let interval = interval.bounded().unwrap();
    assert!(interval.lower <= ratio.estimate() && ratio.estimate() <= interval.upper, "{interval:?}");
}

/// The least level of a family of hundreds is reached with hundreds of runs, and a p-value that is compared with a coarse one is as it is.
#[test]
fn draws_are_enough_for_the_level_that_is_asked() {
    for runs in [12, 300] {
        let times = |slower: f64| -> Vec<f64> {
            (0..runs).map(|run| 1.0 + slower + f64::from(run * 7 % 12) / 100.0).collect()
        };
        let ratio = |slower: f64, risk: f64| {
            let ratio = trimmed(&times(slower), &times(0.0), 0.1).compared_at(Risk::new(risk).unwrap());
            ratio.p_value(1.0, Alternative::TwoSided).get()
        };
        assert!(ratio(0.5, 1e-4) <= 1e-4 && ratio(0.5, 0.05) > 1e-4 && ratio(0.5, 0.05) <= 0.05);
        let slightly = 0.01 * (12.0 / f64::from(runs)).sqrt();
        let p = ratio(slightly, 0.05);
        assert!(p > 0.2 && p == ratio(slightly, 1e-5), "{p}");
    }
}

/// A version that varies by far less than the versions differ keeps all of its variance.
#[test]
fn a_small_spread_far_from_the_other_version_counts() {
    let count = |add: f64| -> Vec<f64> { (0..10).map(|run| 9e8 + add + f64::from(run % 4)).collect() };
    let ratio = trimmed(&[1e9; 10], &count(0.0), 0.1);
    let alone = trimmed(&count(0.0), &count(50.0), 0.1);
    let width = |ratio: &TrimmedRatio| {
        let interval = ratio.interval(ConfidenceLevel::USUAL);
        let interval = interval.bounded().unwrap();
        (interval.upper / interval.lower).ln()
    };
    assert!(width(&ratio) > 0.0 && width(&ratio) < width(&alone), "{} {}", width(&ratio), width(&alone));
}

/// With more observations than are drawn of, the limit law decides, at once.
/// More runs never take an answer away, however small the level is beside what so many observations have as draws.
#[test]
fn large_samples_take_the_limit_law_where_draws_end() {
    let times = |runs: u32, shift: f64| -> Vec<f64> {
        (0..runs).map(|run| 1.0 + shift + f64::from(run * 7 % 20) / 1e3).collect()
    };
    for runs in [40, 200, 600, 20_000] {
        let ratio = trimmed(&times(runs, 0.05), &times(runs, 0.0), 0.1);
        let limits = |level: f64| {
            let interval = ratio.interval(ConfidenceLevel::new(level).unwrap());
            interval.bounded().map(|interval| interval.upper / interval.lower).unwrap()
        };
        assert!(limits(0.95) < limits(0.999_999) && limits(0.999_999) < 1.02, "{runs}");
        let finest =
            trimmed(&times(runs, 0.05), &times(runs, 0.0), 0.1).compared_at(Risk::new(1e-7).unwrap());
        assert!(finest.p_value(1.0, Alternative::TwoSided).get() <= 1e-7, "{runs}");
    }
}

#[test]
fn what_does_not_vary_is_refused() {
    let refused = TrimmedRatio::new(&sample(&[2.0; 5]), &sample(&[3.0; 5]), TrimShare::USUAL).unwrap_err();
    assert_eq!(refused, RatioError::EssentiallyConstant);
    let one = TrimmedRatio::new(&sample(&[2.0]), &sample(&[3.0, 4.0]), TrimShare::USUAL).unwrap_err();
    assert_eq!(one, RatioError::TooFew { n: 1, m: 2 });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Values of a coarse clock, and so many that relabellings are drawn.
    #[test]
    fn versions_with_equal_values_may_be_exchanged(
        x in prop::collection::vec(95..105_u32, 10), y in prop::collection::vec(96..106_u32, 10),
    ) {
        let [x, y] = [x, y].map(|ticks| sample(&ticks.into_iter().map(f64::from).collect::<Vec<_>>()));
        for ratio in [TrimmedRatio::new, TrimmedRatio::paired] {
            let p = |one, other| {
                let ratio = ratio(one, other, TrimShare::USUAL).ok()?;
                Some(ratio.p_value(1.0, Alternative::TwoSided).get())
            };
            let forth = p(&x, &y);
            let back = p(&y, &x);
            let are_close = forth.zip(back).is_none_or(|(forth, back)| (forth - back).abs() < 1e-12);
            prop_assert!(are_close && forth.is_some() == back.is_some(), "{forth:?} {back:?}");
        }
    }

    /// The interval leaves 1 out where the two-sided test rejects; exchanging the versions inverts it, and the unit does not matter.
    #[test]
    fn interval_and_test_agree_and_versions_may_be_exchanged(
        x in prop::collection::vec(1.0..1.3_f64, 4..14), y in prop::collection::vec(0.9..1.2_f64, 4..14), unit in 1e-6..1e6_f64,
    ) {
        let forth = trimmed(&x, &y, 0.1);
        let back = trimmed(&y, &x, 0.1);
        let level = ConfidenceLevel::USUAL;
        let p = forth.p_value(1.0, Alternative::TwoSided).get();
        prop_assert!((p - back.p_value(1.0, Alternative::TwoSided).get()).abs() < 1e-12);
        let interval = forth.interval(level);
        let inverse = back.interval(level);
        let interval = interval.bounded().unwrap();
        let inverse = inverse.bounded().unwrap();
        prop_assert_eq!(interval.lower > 1.0 || interval.upper < 1.0, p <= level.risk().get(), "{:?} {}", interval, p);
        prop_assert!((interval.lower * inverse.upper - 1.0).abs() < 1e-6);
        let scaled: Vec<f64> = x.iter().map(|time| unit * time).collect();
        let moved: Vec<f64> = y.iter().map(|time| unit * time).collect();
        let other = trimmed(&scaled, &moved, 0.1).interval(level);
        prop_assert!((other.bounded().unwrap().upper / interval.upper - 1.0).abs() < 1e-6);
    }
}
