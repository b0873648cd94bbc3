//! Equal times: no test of ranks claims a significance that its arrangements cannot have, and none depends on the unit.
//!
//! `cargo test --profile bench -p speedup-statistics --test integration -- ties_laws --ignored` enumerates samples of up to eight.

use proptest::prelude::*;
use speedup_statistics::protocol::speedup_test::{Question, SpeedupTest};
use speedup_statistics::test::{PermutationRankSum, RankSum, SignedRank};
use speedup_statistics::{inference::Alternative, sample::Sample};
use std::collections::BTreeMap;

use crate::data::ALTERNATIVES;

fn sample(values: Vec<f64>) -> Sample {
    Sample::new(values).expect("finite numbers")
}

/// All ways to divide `total` observations into groups of equal ones, in ascending order of their values.
fn compositions(total: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..1_u32 << (total - 1)).map(move |cuts| {
        let mut groups = vec![1];
        for place in 0..total - 1 {
            if cuts >> place & 1 == 1 {
                groups.push(1);
            } else if let Some(last) = groups.last_mut() {
                *last += 1;
            }
        }
        groups
    })
}

fn choices(n: usize, k: usize) -> u64 {
    (1..=k).fold(1, |ways, i| ways * (n - k + i) as u64 / i as u64)
}

/// Of each statistic, in how many of the orders it comes out and one arrangement that has it.
type Orders = BTreeMap<usize, (u64, Vec<usize>)>;

/// Every way to deal `n` of the observations to the first sample, told by how many of each group it has: twice the pairs in
/// which the first is the greater, counted pair by pair.
fn orders(groups: &[usize], n: usize) -> Orders {
    let mut orders = Orders::new();
    let mut dealt = vec![0; groups.len()];
    deal(groups, n, 0, &mut dealt, &mut orders);
    orders
}

fn deal(groups: &[usize], left: usize, at: usize, dealt: &mut Vec<usize>, orders: &mut Orders) {
    if at == groups.len() {
        if left == 0 {
            let ways = groups.iter().zip(&*dealt).map(|(size, k)| choices(*size, *k)).product::<u64>();
            let others = |group: usize| groups[group] - dealt[group];
            let pairs =
                |group: usize| dealt[group] * (2 * (0..group).map(others).sum::<usize>() + others(group));
            let doubled_w = (0..groups.len()).map(pairs).sum();
            orders.entry(doubled_w).or_insert_with(|| (0, dealt.clone())).0 += ways;
        }
        return;
    }
    for k in 0..=groups[at].min(left) {
        dealt[at] = k;
        deal(groups, left - k, at + 1, dealt, orders);
    }
    dealt[at] = 0;
}

/// For every division of n + m observations into equal ones: the p-value of each statistic is the share of the orders that are
/// as extreme, so that p ≤ α has a probability of at most α for every α.
fn p_values_are_shares_of_orders(n: usize, m: usize) {
    let all = choices(n + m, n) as f64;
    for groups in compositions(n + m) {
        let orders = orders(&groups, n);
        for (doubled_w, (_, dealt)) in &orders {
            let spread = |counts: &mut dyn Iterator<Item = usize>| {
                let values = counts.enumerate().flat_map(|(value, count)| vec![value as f64; count]);
                sample(values.collect())
            };
            let x = spread(&mut dealt.iter().copied());
            let y = spread(&mut groups.iter().zip(dealt).map(|(size, k)| size - k));
            let test = PermutationRankSum::new(&x, &y).expect("a test");
            assert_eq!(test.statistic().w() * 2.0, *doubled_w as f64);
            let chosen = RankSum::choose(&x, &y);
            for alternative in ALTERNATIVES {
                let is_as_extreme = |other: usize| match alternative {
                    Alternative::TwoSided => other.abs_diff(n * m) >= doubled_w.abs_diff(n * m),
                    Alternative::Greater => other >= *doubled_w,
                    Alternative::Less => other <= *doubled_w,
                };
                let share = orders.iter().filter(|(other, _)| is_as_extreme(**other));
                let share = share.map(|(_, (ways, _))| *ways).sum::<u64>() as f64 / all;
                for p in [test.p_value(alternative).get(), chosen.p_value(alternative).get()] {
                    assert!(
                        (p - share).abs() <= 1e-13 * share,
                        "{x:?} {y:?} {alternative:?}: {p}, not {share}"
                    );
                }
            }
        }
    }
}

#[test]
fn small_tied_samples_keep_their_risk() {
    for (n, m) in (1..=4).flat_map(|n| (1..=4).map(move |m| (n, m))) {
        p_values_are_shares_of_orders(n, m);
    }
}

#[test]
#[ignore = "slow: all orders of up to 16 observations, for all their ties"]
fn tied_samples_up_to_eight_keep_their_risk() {
    for (n, m) in (1..=8).flat_map(|n| (1..=8).map(move |m| (n, m))) {
        p_values_are_shares_of_orders(n, m);
    }
}

/// The same of signed ranks, for every division of up to eight magnitudes into equal ones and all choices of signs.
#[test]
fn tied_differences_keep_their_risk() {
    for n in 1..=8 {
        for groups in compositions(n) {
            let magnitudes: Vec<f64> = groups
                .iter()
                .enumerate()
                .flat_map(|(value, count)| vec![(value + 1) as f64; *count])
                .collect();
            let of_signs = |signs: u32| {
                let signed = |(at, size): (usize, &f64)| if signs >> at & 1 == 1 { *size } else { -size };
                // A pair that does not differ says nothing, whatever it is beside.
                let zero = signs.is_multiple_of(2).then_some(0.0);
                SignedRank::choose(&sample(magnitudes.iter().enumerate().map(signed).chain(zero).collect()))
                    .expect("a test")
            };
            let tests: Vec<SignedRank> = (0..1 << n).map(of_signs).collect();
            for test in &tests {
                let v = test.statistic().v();
                let share = |keep: &dyn Fn(f64) -> bool| {
                    let kept = tests.iter().filter(|other| keep(other.statistic().v())).count();
                    kept as f64 / tests.len() as f64
                };
                let (greater, less) = (share(&|other| other >= v), share(&|other| other <= v));
                assert_eq!(test.p_value(Alternative::Greater).get(), greater);
                assert_eq!(test.p_value(Alternative::Less).get(), less);
                assert_eq!(test.p_value(Alternative::TwoSided).get(), (2.0 * greater.min(less)).min(1.0));
                assert!(greater.min(less) >= test.least_p_value());
            }
        }
    }
}

/// Where the orders are too many to count, the normal law takes its place, and says no more than they could.
#[test]
fn many_equal_times_claim_no_impossible_significance() {
    let mut x = vec![1.0; 1_000];
    x[..3].fill(2.0);
    let (x, y) = (sample(x), sample(vec![1.0; 1_000]));
    let r = RankSum::r_default(&x, &y).p_value(Alternative::Greater).get();
    let ours = RankSum::choose(&x, &y).p_value(Alternative::Greater).get();
    // C(1997, 997)/C(2000, 1000), by whole numbers.
    assert!(r < 0.05 && (ours - 0.124_812_406_203_101_55).abs() < 1e-12, "{r} {ours}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// A clock's ticks and a shift of the candidate, read in one unit and in another: all that the protocol of the median says
    /// is the same, and so are the pairs'.
    #[test]
    fn verdicts_do_not_depend_on_the_unit(
        x in prop::collection::vec(100_u32..140, 3..40),
        y in prop::collection::vec(100_u32..140, 3..40),
        shift in 0_u32..60,
        unit in prop::sample::select(vec![1e-3, 1e-6, 1e-9, 60.0, 0.1]),
        power in -30..30_i32,
    ) {
        let ticks = |ticks: &[u32], less: u32| ticks.iter().map(|t| f64::from(t - less)).collect::<Vec<_>>();
        let (x, y) = (ticks(&x, 0), ticks(&y, shift));
        let of = |scale: &dyn Fn(f64) -> f64| {
            let scaled = |values: &[f64]| sample(values.iter().map(|value| scale(*value)).collect());
            let test = SpeedupTest::new(&scaled(&x), &scaled(&y)).expect("a value");
            let pairs = x.iter().zip(&y).map(|(a, b)| (scale(*a) / scale(*b)).ln()).collect();
            let pairs = SignedRank::from_logarithms(&sample(pairs)).ok();
            let p_values = pairs.map(|test| ALTERNATIVES.map(|alternative| test.p_value(alternative)));
            let conclusions = [Question::CandidateFaster, Question::CandidateSlower]
                .map(|question| (test.median.best(question), test.median.rank_sum(question)));
            (test.median.location_shift(), conclusions, p_values)
        };
        let plain = of(&|value| value);
        for other in [of(&|value| value * unit), of(&|value| value / 1e3), of(&|value| value * 2.0_f64.powi(power))] {
            prop_assert_eq!(&plain, &other);
        }
    }
}
