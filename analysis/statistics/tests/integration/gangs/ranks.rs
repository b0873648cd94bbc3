//! Which rank is the slowest most often.

use super::assert_close;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use speedup_statistics::{diagnostics::MostOften, diagnostics::OftenCount, inference::ConfidenceLevel};

fn of(hits: u64, trials: u64, members: u32) -> MostOften {
    let count = OftenCount { member: 3, hits, trials };
    MostOften::new(&[count], members.into(), 1.0 / f64::from(members)).expect("a member was the slowest")
}

#[test]
fn how_often_agrees_with_scipy() {
    let expected = [
        (12, 20, 8, 6.894_361_120_318_02e-7, 5.515_488_896_254_416e-6),
        (3, 20, 8, 0.464_691_437_238_376, 1.0),
        (20, 20, 128, 7.174_648_137_343_064e-43, 9.183_549_615_799_121e-41),
        (1, 1, 4, 0.25, 1.0),
        (7, 30, 16, 0.002_110_500_447_729_223_5, 0.033_768_007_163_667_575),
        (40, 400, 16, 0.002_529_889_988_032_933_7, 0.040_478_239_808_526_94),
    ];
    for (hits, trials, members, p, adjusted) in expected {
        let found = of(hits, trials, members);
        let what = format!("{hits} of {trials}, {members} members");
        assert_close(found.p.get(), p, &what);
        assert_close(found.adjusted.get(), adjusted, &what);
        assert_close(found.expected, trials as f64 / f64::from(members), &what);
    }
}

#[test]
fn of_several_the_most_unlikely_is_told() {
    let count = |member, hits, trials| OftenCount { member, hits, trials };
    let found = |counts: &[OftenCount]| MostOften::new(counts, 4, 0.25);
    assert_eq!(found(&[]), None);
    assert_eq!(found(&[count(0, 0, 9)]), None, "it was never the slowest");
    let tied = found(&[count(0, 1, 6), count(1, 2, 6), count(3, 2, 6)]).unwrap();
    assert_eq!((tied.of.member, tied.alike), (1, 1), "the first of those that were it as often");
    let fewer = found(&[count(0, 4, 20), count(1, 3, 3)]).unwrap();
    assert_eq!((fewer.of.member, fewer.alike), (1, 0), "of a few trials all");
}

/// Ranks that can be exchanged are named in at most a twentieth of experiments.
#[test]
fn exchangeable_ranks_are_named_in_at_most_a_twentieth() {
    const EXPERIMENTS: u32 = 2_000;
    for (ranks, runs, seed) in [(2, 30, 1), (8, 20, 2), (64, 10, 3)] {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let alarms = (0..EXPERIMENTS).filter(|_| {
            let mut hits = vec![0; ranks];
            (0..runs).for_each(|_| hits[random.random_range(0..ranks)] += 1);
            let count = |(member, hits)| OftenCount { member, hits, trials: runs };
            let counts: Vec<OftenCount> = (0..).zip(hits).map(count).collect();
            let found = MostOften::new(&counts, ranks as u64, 1.0 / ranks as f64).expect("there were runs");
            found.adjusted.rejects_at(ConfidenceLevel::USUAL.risk())
        });
        // Of 2000 at 5 %, at most 131 with a probability of 99.9 %; the law is discrete, so there are mostly fewer.
        let alarms = alarms.count();
        assert!((10..=131).contains(&alarms), "{ranks} ranks, {runs} runs: {alarms}");
    }
}

proptest! {
    /// More often is less likely, among more members more so; p-values are probabilities.
    #[test]
    fn more_often_is_less_likely(hits in 1_u64..40, more in 0_u64..40, members in 2_u32..500) {
        let trials = hits + more;
        let found = of(hits, trials, members);
        prop_assert!((0.0..=1.0).contains(&found.p.get()) && found.adjusted >= found.p);
        if more > 0 {
            prop_assert!(of(hits + 1, trials, members).p < found.p);
            prop_assert!(of(hits, trials - 1, members).p < found.p);
        }
        prop_assert!(of(hits, trials, members + 1).p < found.p);
    }
}
