//! Milliseconds a hierarchical performance test: one speedup under test, and the r-Speedup searched exactly.
//!
//! `cargo bench -p speedup-statistics --bench performance_test`

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use speedup_statistics::protocol::hierarchical_performance_test::{
    HierarchicalPerformanceTest, PerformanceRules, RankSumRule, ScoreSuite,
};
use speedup_statistics::{inference::ConfidenceLevel, sample::Sample};
use std::hint::black_box;

/// Scores of `benchmarks` benchmarks with `runs` runs: speedups from 0.9 to 2.5 and a tenth of spread.
fn suite(benchmarks: usize, runs: usize) -> ScoreSuite {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut row = |scale: f64| {
        Sample::new((0..runs).map(|_| scale * random.random_range(0.95..1.05)).collect()).expect("scores")
    };
    let speedup = |i: usize| 0.9 + 1.6 * i as f64 / benchmarks as f64;
    let candidate = (0..benchmarks).map(|i| row(speedup(i))).collect();
    let baseline = (0..benchmarks).map(|_| row(1.0)).collect();
    ScoreSuite::of_matrices(candidate, baseline).expect("scores")
}

fn performance_test(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("hierarchical performance test");
    for (benchmarks, runs) in [(14, 5), (30, 20), (300, 30)] {
        let suite = suite(benchmarks, runs);
        let size = format!("{benchmarks} × {runs}");
        let test = HierarchicalPerformanceTest::new(&suite, PerformanceRules::default());
        group.bench_function(BenchmarkId::new("one speedup", &size), |bencher| {
            bencher.iter(|| test.at(black_box(1.2)));
        });
        group.bench_function(BenchmarkId::new("r-Speedup", &size), |bencher| {
            bencher.iter(|| test.reliable_speedup(black_box(ConfidenceLevel::USUAL)));
        });
    }
    let suite = suite(14, 5);
    for (name, rank_sum) in
        [("R's rank sum", RankSumRule::RDefault), ("permutations", RankSumRule::Permutations)]
    {
        let rules = PerformanceRules { rank_sum, ..PerformanceRules::default() };
        let test = HierarchicalPerformanceTest::new(&suite, rules);
        group.bench_function(BenchmarkId::new("r-Speedup", format!("14 × 5, {name}")), |bencher| {
            bencher.iter(|| test.reliable_speedup(black_box(ConfidenceLevel::USUAL)));
        });
    }
    group.finish();
}

criterion_group!(benches, performance_test);
criterion_main!(benches);
