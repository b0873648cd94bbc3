//! Whether values go with a number that is known of each, within strata.

use super::assert_close;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use speedup_statistics::inference::{Alternative, ConfidenceLevel};
use speedup_statistics::{diagnostics::StratifiedKendall, sample::Sample};

fn found(strata: &[(Vec<f64>, Vec<u32>)]) -> Option<StratifiedKendall> {
    let samples: Vec<(Sample, &[u32])> =
        strata.iter().map(|(values, of)| (Sample::new(values.clone()).expect("times"), &of[..])).collect();
    let strata: Vec<(&Sample, &[u32])> = samples.iter().map(|(sample, of)| (sample, *of)).collect();
    StratifiedKendall::new(&strata).ok()
}

/// The variance over all permutations, by `gangs/reference.py`.
#[test]
fn a_trend_over_strata_agrees_with_all_permutations_by_numpy() {
    let strata = [
        (vec![10.1, 10.4, 10.4, 12.2, 10.8, 12.2, 10.6], vec![1, 2, 1, 3, 2, 3, 1]),
        (vec![205.0, 231.0, 202.0, 207.0, 229.0, 207.0], vec![1, 2, 1, 1, 2, 2]),
        (vec![5.0, 5.5, 5.2, 5.6, 5.1, 5.3, 5.4, 5.0], vec![2, 4, 2, 4, 2, 2, 4, 4]),
        (vec![1.0, 2.0, 3.0], vec![1, 1, 1]),
        (vec![7.0, 7.0, 7.0], vec![1, 2, 3]),
    ];
    let trend = found(&strata).unwrap();
    assert_eq!((trend.s(), trend.strata(), trend.runs()), (30, 3, 21), "what does not vary says nothing");
    assert_close(trend.z(), 2.830_495_339_158_374, "z");
    assert_close(trend.factor().unwrap(), 1.039_230_484_541_326_5, "factor");
}

#[test]
fn little_that_varies_is_no_test() {
    assert!(found(&[]).is_none());
    assert!(found(&[(vec![1.0, 2.0, 3.0, 4.0], vec![1, 2, 1, 2])]).is_none());
    let negative = found(&[(vec![-1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vec![1, 1, 1, 2, 2, 2])]).unwrap();
    assert_eq!(negative.factor(), None, "of values that are not positive there is no factor");
}

/// Values that have nothing to do with the covariate are said to in a twentieth of experiments, whatever their law.
#[test]
fn the_level_holds_where_the_covariate_does_not_matter() {
    const EXPERIMENTS: u32 = 2_000;
    for (cells, runs, most, seed) in [(1, 12, 3, 1), (6, 6, 2, 2), (3, 20, 5, 3)] {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut one = || {
            let value = |random: &mut ChaCha8Rng| -random.random_range(1e-12..1.0_f64).ln();
            let times = (0..runs).map(|_| value(&mut random)).collect();
            // At least one of the least, so that cells seldom do not vary.
            let spans = (0..runs).map(|at| if at == 0 { 1 } else { random.random_range(1..=most) }).collect();
            (times, spans)
        };
        let alarms = (0..EXPERIMENTS).filter(|_| {
            let strata: Vec<(Vec<f64>, Vec<u32>)> = (0..cells).map(|_| one()).collect();
            found(&strata).is_some_and(|trend| {
                trend.p_value(Alternative::TwoSided).rejects_at(ConfidenceLevel::USUAL.risk())
            })
        });
        // Of 2000 at 5 %, at most 131 with a probability of 99.9 %.
        let alarms = alarms.count();
        assert!((40..=131).contains(&alarms), "{cells} cells of {runs} runs over up to {most}: {alarms}");
    }
}

proptest! {
    /// Units do not matter; what falls where it rose has the opposite sign and the inverse factor.
    #[test]
    fn units_and_directions(
        cell in prop::collection::vec((1_u32..40, 1_u32..5), 6..20),
        scale in 0.01_f64..100.0,
    ) {
        let (times, spans): (Vec<f64>, Vec<u32>) = cell.iter().map(|(time, span)| (f64::from(*time), *span)).unzip();
        let of = |times: Vec<f64>| found(&[(times, spans.clone())]);
        let (one, scaled) = (of(times.clone()), of(times.iter().map(|time| scale * time).collect()));
        let turned = of(times.iter().map(|time| 1.0 / time).collect());
        prop_assert_eq!(one.map(|one| one.s()), scaled.map(|scaled| scaled.s()));
        if let (Some(one), Some(turned)) = (one, turned) {
            prop_assert_eq!(one.s(), -turned.s());
            prop_assert!((one.z() + turned.z()).abs() < 1e-9);
            let (factor, inverse) = (one.factor().unwrap(), turned.factor().unwrap());
            prop_assert!((factor * inverse - 1.0).abs() < 1e-9, "{} {}", factor, inverse);
        }
    }
}
