//! Coverage by levels, by seeded simulation: the bounds are four standard errors of the simulation.
//!
//! `SPEEDUP_CALIBRATION_SCALE` multiplies the number of simulations.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use speedup_core::value::seed::Seed;
use speedup_statistics::inference::{ConfidenceLevel, Critical};
use speedup_statistics::levels::{
    EffectSize, HierarchicalBootstrap, LevelTree, RandomEffects, Resampling, Statistic,
};

use crate::simulation::{deviation, scale, standard_error, standard_normal};

const MEAN: f64 = 100.0;

fn gaussian(random: &mut ChaCha8Rng, deviation: f64) -> f64 {
    deviation * standard_normal(random)
}

/// Binaries, executions, measurements with standard deviations 3, 2, 4, the means `factor` times [`MEAN`];
/// executions and measurements are lost with probability `lost`, but never the last of a unit.
fn experiment(random: &mut ChaCha8Rng, dims: [usize; 3], factor: f64, lost: f64) -> LevelTree {
    let mut values = Vec::new();
    let (mut measurements, mut executions) = (Vec::new(), Vec::new());
    let kept = |random: &mut ChaCha8Rng, planned: usize| -> usize {
        (1..planned).filter(|_| random.random_range(0.0..1.0) >= lost).count() + 1
    };
    for _ in 0..dims[2] {
        let binary = MEAN + gaussian(random, 3.0);
        executions.push(kept(random, dims[1]));
        for _ in 0..executions[executions.len() - 1] {
            let execution = binary + gaussian(random, 2.0);
            measurements.push(kept(random, dims[0]));
            for _ in 0..measurements[measurements.len() - 1] {
                values.push(factor * (execution + gaussian(random, 4.0)));
            }
        }
    }
    LevelTree::from_counts(values, &[measurements, executions, vec![dims[2]]]).expect("an experiment")
}

fn level() -> ConfidenceLevel {
    ConfidenceLevel::new(0.9).expect("a level")
}

#[test]
fn the_t_interval_covers_the_mean() {
    for (seed, lost) in [(1, 0.0), (2, 0.3)] {
        let off = deviation(seed, 4000, 0.9, |random| {
            let effects = RandomEffects::new(&experiment(random, [3, 4, 6], 1.0, lost));
            let interval = effects.interval(level(), Critical::Student).unwrap();
            interval.lower <= MEAN && MEAN <= interval.upper
        });
        assert!(off.abs() < 4.0, "with {lost} lost: {off} standard errors off");
    }
}

#[test]
fn fieller_covers_the_ratio() {
    // With n − 1 degrees of freedom for two versions' errors the interval is rather too wide.
    for (seed, lost, binaries) in [(3, 0.0, [8, 8]), (4, 0.3, [8, 8]), (5, 0.0, [5, 12])] {
        let off = deviation(seed, 3000, 0.9, |random| {
            let [baseline, candidate] = [(binaries[0], 1.0), (binaries[1], 0.8)].map(|(binaries, factor)| {
                RandomEffects::new(&experiment(random, [2, 3, binaries], factor, lost))
            });
            let effect = EffectSize::new(baseline, candidate).unwrap();
            let interval = effect.interval(level(), Critical::Student);
            interval.bounded().is_some_and(|interval| interval.lower <= 0.8 && 0.8 <= interval.upper)
        });
        assert!(off > -4.0, "{binaries:?}, {lost} lost: {off} standard errors below");
        let too_wide = (0.96 - 0.9) / standard_error(0.9, 3000);
        assert!(off < too_wide, "{binaries:?}, {lost} lost: {off} standard errors above");
    }
}

#[test]
fn fieller_is_exact_where_one_version_is_known() {
    // One version without variation leaves one error, with exactly its degrees of freedom.
    let off = deviation(6, 3000, 0.9, |random| {
        let baseline = RandomEffects::new(&experiment(random, [2, 3, 6], 1.0, 0.0));
        let candidate = RandomEffects::new(&LevelTree::balanced(vec![80.0; 36], &[2, 3, 6]).unwrap());
        let effect = EffectSize::new(baseline, candidate).unwrap();
        let interval = effect.interval(level(), Critical::Student);
        interval.bounded().is_some_and(|interval| interval.lower <= 0.8 && 0.8 <= interval.upper)
    });
    assert!(off.abs() < 4.0, "{off} standard errors off");
}

#[test]
fn the_bootstrap_covers_with_enough_units() {
    // With 30 units of the highest level the percentile interval's coverage is within three points of its
    // level: it lacks the factor n/(n − 1) and Student's t, and has some of the lower levels' variation twice.
    for (seed, statistic) in [(7, Statistic::Mean), (8, Statistic::Median)] {
        let simulations = 400;
        let off = deviation(seed, simulations, 0.9, |random| {
            let levels = experiment(random, [3, 3, 30], 1.0, 0.0);
            let seed = Seed(random.random_range(0..u64::MAX));
            let bootstrap =
                HierarchicalBootstrap { resampling: Resampling::EveryLevel, statistic, draws: 200, seed };
            let interval = bootstrap.of(&levels).unwrap().interval(level());
            interval.lower <= MEAN && MEAN <= interval.upper
        });
        let three_points = 0.03 / standard_error(0.9, simulations);
        assert!(off.abs() < 4.0 + three_points, "{statistic:?}: {off} standard errors off");
    }
}

#[test]
fn ignoring_the_levels_covers_too_seldom() {
    // Kalibera 2012 §8.3.3: flat resampling takes measurements of one binary for independent.
    let off = deviation(9, 300, 0.9, |random| {
        let levels = experiment(random, [5, 5, 10], 1.0, 0.0);
        let seed = Seed(random.random_range(0..u64::MAX));
        let bootstrap = HierarchicalBootstrap {
            resampling: Resampling::Flat,
            draws: 200,
            ..HierarchicalBootstrap::usual(seed)
        };
        let interval = bootstrap.of(&levels).unwrap().interval(level());
        interval.lower <= MEAN && MEAN <= interval.upper
    });
    assert!(off < -4.0, "{off} standard errors: as if the levels did not matter");
}

#[test]
fn variances_are_unbiased_after_losses() {
    let simulations = 3000 * scale();
    let mut random = ChaCha8Rng::seed_from_u64(10);
    let mut sums = [(0.0, 0.0); 3];
    for _ in 0..simulations {
        let effects = RandomEffects::new(&experiment(&mut random, [4, 4, 6], 1.0, 0.4));
        for (sum, level) in sums.iter_mut().zip(effects.levels()) {
            let variance = level.unbiased.expect("repeated");
            sum.0 += variance;
            sum.1 += variance * variance;
        }
    }
    let n = f64::from(simulations);
    for ((sum, squares), truth) in sums.into_iter().zip([16.0, 4.0, 9.0]) {
        let mean = sum / n;
        let error = ((squares / n - mean * mean) / n).sqrt();
        assert!((mean - truth).abs() < 4.0 * error, "{mean} for {truth}, standard error {error}");
    }
}
