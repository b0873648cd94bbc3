//! What the methods by levels cost: 30 binaries, each executed 20 times with 20 measurements.
//!
//! `cargo bench -p speedup-statistics --bench levels`; one thread unless `RAYON_NUM_THREADS` says otherwise.

use criterion::{Criterion, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use speedup_core::value::seed::Seed;
use speedup_statistics::inference::{ConfidenceLevel, Critical, RatioInterval};
use speedup_statistics::levels::{
    EffectSize, HierarchicalBootstrap, LevelTree, RandomEffects, Resampling, Statistic,
};
use std::hint::black_box;

/// Times around 10 s that vary at all three levels.
fn experiment(seed: u64) -> LevelTree {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut values = Vec::with_capacity(20 * 20 * 30);
    for _ in 0..30 {
        let binary = 10.0 + random.random_range(-0.4..0.4);
        for _ in 0..20 {
            let execution = binary + random.random_range(-0.7..0.7);
            values.extend((0..20).map(|_| execution + random.random_range(-0.5..0.5)));
        }
    }
    LevelTree::balanced(values, &[20, 20, 30]).expect("an experiment")
}

fn effect_size(baseline: &LevelTree, candidate: &LevelTree) -> RatioInterval {
    let (baseline, candidate) = (RandomEffects::new(baseline), RandomEffects::new(candidate));
    let effect = EffectSize::new(baseline, candidate).expect("an effect");
    effect.interval(ConfidenceLevel::USUAL, Critical::Student)
}

fn benchmarks(criterion: &mut Criterion) {
    let (baseline, candidate) = (experiment(1), experiment(2));
    criterion.bench_function("S², T², Fieller of two 20 × 20 × 30", |bencher| {
        bencher.iter(|| effect_size(black_box(&baseline), black_box(&candidate)));
    });
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads()).build().expect("threads");
    let mut group = criterion.benchmark_group("hierarchical bootstrap 20 × 20 × 30");
    group.sample_size(10);
    for statistic in [Statistic::Mean, Statistic::Median] {
        for resampling in [Resampling::EveryLevel, Resampling::AboveLowest, Resampling::Flat] {
            for draws in [1000, 10_000] {
                let bootstrap = HierarchicalBootstrap { resampling, statistic, draws, seed: Seed(1) };
                group.bench_function(format!("{statistic:?} {resampling:?} {draws}"), |bencher| {
                    let interval = || {
                        let replicates = bootstrap.of(black_box(&baseline)).expect("replicates");
                        replicates.interval(ConfidenceLevel::USUAL)
                    };
                    bencher.iter(|| pool.install(interval));
                });
            }
        }
    }
    group.finish();
}

#[expect(clippy::disallowed_methods, reason = "a benchmark may read its environment")]
fn threads() -> usize {
    std::env::var("RAYON_NUM_THREADS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

criterion_group!(levels, benchmarks);
criterion_main!(levels);
