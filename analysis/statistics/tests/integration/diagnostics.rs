//! Diagnostics of run order and hosts against scipy 1.17.1, statsmodels 0.15.0 and pymannkendall 1.4.3, and what they
//! refuse.

use speedup_core::value::seed::Seed;
use speedup_statistics::diagnostics::{
    Granularity, MetricKind, aa::AaError, aa::AaOptions, aa::AaStudy, aa::AaTest, host_effect::ClusterHosts,
    host_effect::ClusterHostsError, host_effect::Shuffles, run_order::Autocorrelation, run_order::Drift,
    run_order::FirstRunEffect, run_order::RunOrderError, run_order::RunsTest,
};
use speedup_statistics::test::block_pairs::{Block, BlockPairs, BlockPairsError};
use speedup_statistics::{inference::Alternative, inference::ConfidenceLevel, sample::Sample};

use crate::data::sample;

const RUNS: [f64; 15] =
    [2.31, 2.05, 2.47, 2.11, 1.98, 2.64, 2.22, 2.70, 2.41, 2.58, 2.36, 2.81, 2.05, 2.77, 2.90];

fn assert_close(got: f64, expected: f64, what: &str) {
    assert!((got - expected).abs() <= 1e-11 * expected.abs(), "{what}: got {got:e}, expected {expected:e}");
}

#[test]
fn run_order_agrees_with_statsmodels_and_pymannkendall() {
    let runs = sample(&RUNS);
    // statsmodels.tsa.stattools.acf(x, nlags=1)[1]
    assert_close(Autocorrelation::new(&runs).unwrap().coefficient(), -0.152_996_184_399_825_04, "acf");
    // pymannkendall.original_test(x): s, z, p, slope
    let drift = Drift::new(&runs).unwrap();
    assert_eq!(drift.s(), 42);
    assert_close(drift.z(), 2.031_462_833_492_782, "Mann–Kendall z");
    assert_close(drift.p_value(Alternative::TwoSided).get(), 0.042_208_066_086_206_75, "Mann–Kendall p");
    assert_close(drift.slope(), 0.035_833_333_333_333_31, "Theil–Sen");
    // scipy.stats.kendalltau(range(n), x[:n], method="exact"), scipy.stats.theilslopes
    let ten = Drift::new(&sample(&RUNS[..10])).unwrap();
    assert_eq!(ten.name(), Drift::NAME_EXACT);
    assert_close(ten.p_value(Alternative::TwoSided).get(), 0.216_373_456_790_123_46, "Kendall, 10 runs");
    assert_close(ten.slope(), 0.046, "Theil–Sen, 10 runs");
    let twelve = Drift::new(&sample(&RUNS[..12])).unwrap();
    assert_close(twelve.p_value(Alternative::TwoSided).get(), 0.086_317_114_598_346_4, "Kendall, 12 runs");
}

#[test]
fn the_slope_by_counting_is_the_slope_by_listing() {
    // Beyond 1000 runs slopes are counted; a line with a wave has slopes that are known by listing 1000 of it.
    let wave = |i: usize| 0.25 * i as f64 + ((i * i) % 17) as f64;
    let listed = Drift::new(&sample(&(0..1000).map(wave).collect::<Vec<_>>())).unwrap();
    let counted = Drift::new(&sample(&(0..1200).map(wave).collect::<Vec<_>>())).unwrap();
    assert!((listed.slope() - 0.25).abs() < 1e-3 && (counted.slope() - 0.25).abs() < 1e-3);
    let listed_too = |values: &[f64]| {
        let of = |i: usize| (i + 1..values.len()).map(move |j| (values[j] - values[i]) / (j - i) as f64);
        let mut slopes: Vec<f64> = (0..values.len()).flat_map(of).collect();
        slopes.sort_by(f64::total_cmp);
        (slopes[(slopes.len() - 1) / 2] + slopes[slopes.len() / 2]) / 2.0
    };
    // A smooth law, one with an atom at the median, and one whose extremes are neighbours.
    let smooth = |i: usize| ((i * i) as f64 * 0.618_033_988_749_895).fract();
    let steps = |i: usize| f64::from(u8::from(i > 700));
    let spiked = |i: usize| {
        if i == 500 {
            1e6
        } else if i == 501 {
            -1e6
        } else {
            smooth(i)
        }
    };
    let laws: [&dyn Fn(usize) -> f64; 4] = [&wave, &smooth, &steps, &spiked];
    for (number, law) in laws.iter().enumerate() {
        let values: Vec<f64> = (0..1_100).map(law).collect();
        let (slope, expected) = (Drift::new(&sample(&values)).unwrap().slope(), listed_too(&values));
        let range = sample(&values).max() - sample(&values).min();
        assert!((slope - expected).abs() <= 1e-15 * range, "law {number}: {slope} is not {expected}");
    }
}

#[test]
fn the_runs_test_agrees_with_statsmodels_and_with_counting() {
    // statsmodels.sandbox.stats.runs.runstest_1samp(x[1:], cutoff=median, correction=False): none of these fourteen is at
    // their median. The exact tail by math.comb in Python.
    let fourteen = RunsTest::new(&sample(&RUNS[1..])).unwrap();
    assert_eq!(fourteen.series(), 12);
    assert_close(fourteen.z(), 2.225_394_561_056_747, "z");
    assert_close(fourteen.p_value(Alternative::Greater).get(), 0.025_058_275_058_275_06, "exact p");
}

#[test]
fn the_first_run_has_a_rank() {
    let alone = |values: &[f64]| FirstRunEffect::new(&[sample(values)]).unwrap();
    assert_close(alone(&[9.0, 1.0, 2.0, 3.0]).p_value(Alternative::Greater).get(), 0.25, "first of four");
    assert_close(alone(&[1.0, 9.0, 2.0, 3.0]).p_value(Alternative::Greater).get(), 1.0, "last of four");
    let three: Vec<Sample> = (0..3).map(|_| sample(&[9.0, 1.0, 2.0, 3.0])).collect();
    let effect = FirstRunEffect::new(&three).unwrap();
    assert_close(effect.p_value(Alternative::Greater).get(), 1.0 / 64.0, "all three slowest");
    assert_close(effect.difference(), 7.0, "difference");
    assert_eq!(FirstRunEffect::new(&[sample(&[1.0])]), Err(RunOrderError::TooFew { runs: 1, needed: 2 }));
    assert_eq!(FirstRunEffect::new(&[sample(&[1.0, 1.0])]), Err(RunOrderError::Constant));
}

#[test]
fn association_agrees_with_scipy() {
    let table = [[5, 0, 1], [0, 4, 2], [1, 1, 6]];
    let (mut clusters, mut hosts) = (Vec::new(), Vec::new());
    for (host, row) in table.iter().enumerate() {
        for (cluster, count) in row.iter().enumerate() {
            clusters.extend(std::iter::repeat_n(7 * cluster as u32, *count));
            hosts.extend(std::iter::repeat_n(100 - host as u32, *count));
        }
    }
    let association = ClusterHosts::new(&clusters, &hosts, Shuffles::all(20_000), Seed(1)).unwrap();
    // scipy.stats.chi2_contingency(correction=False), scipy.stats.contingency.association(method="cramer")
    assert_close(association.chi_square(), 17.324_074_074_074_076, "χ²");
    assert_close(association.cramers_v(), 0.658_104_742_310_714_5, "V");
    // The asymptotic p is 0.00167; the permutation law of twenty runs is near it.
    let p = association.p_value().get();
    assert!(p > 0.0001 && p < 0.004, "{p}");
    assert_eq!(ClusterHosts::new(&clusters, &hosts, Shuffles::all(20_000), Seed(1)), Ok(association));
}

#[test]
fn metrics_are_told_by_their_grid() {
    let kind = |values: &[f64]| Granularity::new(&sample(values)).kind();
    assert_eq!(kind(&RUNS), MetricKind::Continuous);
    assert_eq!(kind(&[3.0; 9]), MetricKind::Constant);
    assert_eq!(kind(&[3.0, 4.0]), MetricKind::Unknown);
    assert_eq!(kind(&[1.0, 2.0, 1.0, 2.0, 3.0, 1.0, 1.0, 2.0, 3.0, 3.0]), MetricKind::Discrete);
    let ticks: Vec<f64> = (0..60).map(|i| f64::from(i * i % 37) * 0.004).collect();
    let coarse = Granularity::new(&sample(&ticks));
    assert_eq!(coarse.kind(), MetricKind::Coarse);
    assert!((coarse.grid().unwrap() / 0.004 - 1.0).abs() < 1e-6, "{coarse:?}");
    assert_eq!(Granularity::new(&sample(&[1.0, 1.5, 2.75, 3.3217, 9.0, 11.2])).grid(), None);
}

#[test]
fn blocks_give_their_complete_pairs() {
    let block = |baseline, candidate| Block { baseline, candidate };
    let blocks = [
        block(Some(3.0), Some(2.0)),
        block(None, Some(9.0)),
        block(Some(5.0), Some(3.5)),
        block(Some(1.0), None),
    ];
    let pairs = BlockPairs::new(&blocks).unwrap();
    assert_eq!((pairs.baseline().in_run_order(), pairs.incomplete()), (&[3.0, 5.0][..], 2));
    assert_eq!(BlockPairs::new(&blocks[3..]).unwrap_err(), BlockPairsError::NonePaired { blocks: 1 });
}

#[test]
fn what_has_no_answer_is_refused_by_name() {
    let (one, two, equal) = (sample(&[1.0]), sample(&[1.0, 2.0]), sample(&[1e-300; 12]));
    for runs in [&one, &two] {
        assert!(matches!(Autocorrelation::new(runs), Err(RunOrderError::TooFew { .. })));
        assert!(matches!(Drift::new(runs), Err(RunOrderError::TooFew { .. })));
    }
    assert_eq!(RunsTest::new(&one), Err(RunOrderError::TooFew { runs: 1, needed: 2 }));
    assert_eq!(Autocorrelation::new(&equal), Err(RunOrderError::Constant));
    assert_eq!(Drift::new(&equal), Err(RunOrderError::Constant));
    assert_eq!(RunsTest::new(&equal), Err(RunOrderError::Constant));
    let draws = |clusters: &[u32], hosts: &[u32], draws| {
        ClusterHosts::new(clusters, hosts, Shuffles::until_as_large(draws), Seed(0)).err()
    };
    assert_eq!(draws(&[1, 2], &[1, 2], 0), Some(ClusterHostsError::Draws(0)));
    assert_eq!(draws(&[1, 2], &[1, 2], u64::MAX), Some(ClusterHostsError::Draws(u64::MAX)));
    assert_eq!(draws(&[1, 1], &[1, 2], 9), Some(ClusterHostsError::OneLevel { clusters: 1, hosts: 2 }));
    let options = |splits| AaOptions {
        test: AaTest::Welch,
        alternative: Alternative::TwoSided,
        level: ConfidenceLevel::USUAL,
        splits,
        seed: Seed(0),
    };
    assert_eq!(AaStudy::by_runs(&two, options(9)).err(), Some(AaError::TooFew(2)));
    assert_eq!(AaStudy::by_runs(&equal, options(9)).err(), Some(AaError::Constant));
    assert_eq!(AaStudy::by_runs(&sample(&RUNS), options(0)).err(), Some(AaError::Splits(0)));
    assert_eq!(AaStudy::by_hosts(&sample(&RUNS), &[1; 15], options(9)).err(), Some(AaError::FewHosts(1)));
}
