//! Milliseconds a test, from unsorted times to the p-value, as other programs do it; and once the samples are
//! made, which several tests share.
//!
//! `cargo bench -p speedup-statistics --bench tests`

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use speedup_statistics::test::{
    ExactRule, KolmogorovSmirnovStatistic, RankSum, ShapiroWilk, SignedRank, paired_differences,
};
use speedup_statistics::{inference::Alternative, inference::PValue, sample::Sample};
use std::hint::black_box;

const SIZES: [usize; 3] = [30, 10_000, 100_000];

/// Times with a long right tail, no two equal.
fn times(seed: u64, runs: usize) -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..runs).map(|_| 1.0 - 0.2 * random.random_range(1e-9..1.0_f64).ln()).collect()
}

fn sample(values: &[f64]) -> Sample {
    Sample::new(values.to_vec()).expect("finite times")
}

/// A test of two samples from values and from samples.
fn two_samples(criterion: &mut Criterion, name: &str, test: fn(&Sample, &Sample) -> PValue) {
    let mut group = criterion.benchmark_group(name);
    for runs in SIZES {
        let (x, y) = (times(1, runs), times(2, runs));
        group.bench_function(BenchmarkId::new("from values", runs), |bencher| {
            bencher.iter(|| test(&sample(black_box(&x)), &sample(black_box(&y))));
        });
        let (x, y) = (sample(&x), sample(&y));
        group.bench_function(BenchmarkId::new("from samples", runs), |bencher| {
            bencher.iter(|| test(black_box(&x), black_box(&y)));
        });
    }
    group.finish();
}

fn rank_sum(criterion: &mut Criterion) {
    two_samples(criterion, "rank sum", |x, y| RankSum::choose(x, y).p_value(Alternative::Greater));
}

fn signed_rank(criterion: &mut Criterion) {
    two_samples(criterion, "signed rank", |x, y| {
        let differences = paired_differences(x, y).expect("pairs");
        SignedRank::choose(&differences).expect("differences").p_value(Alternative::Greater)
    });
}

fn kolmogorov_smirnov(criterion: &mut Criterion) {
    two_samples(criterion, "Kolmogorov–Smirnov", |x, y| {
        KolmogorovSmirnovStatistic::new(x, y).test(ExactRule::SmallProduct).p_value()
    });
}

fn shapiro_wilk(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("Shapiro–Wilk");
    let test = |sample: &Sample| ShapiroWilk::new(sample).expect("a shape").p_value();
    for runs in [30, 5000] {
        let values = times(3, runs);
        group.bench_function(BenchmarkId::new("from values", runs), |bencher| {
            bencher.iter(|| test(&sample(black_box(&values))));
        });
        let sample = sample(&values);
        group.bench_function(BenchmarkId::new("from samples", runs), |bencher| {
            bencher.iter(|| test(black_box(&sample)));
        });
    }
    group.finish();
}

criterion_group!(tests, rank_sum, signed_rank, kolmogorov_smirnov, shapiro_wilk);
criterion_main!(tests);
