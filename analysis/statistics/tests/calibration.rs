//! False alarms and coverage by simulation, seeded: the bounds are four standard errors of the simulation.
//!
//! `SPEEDUP_CALIBRATION_SCALE` multiplies the number of simulations.
#![expect(clippy::print_stdout, reason = "the figures found are printed, for --nocapture")]

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use speedup_statistics::distribution::{Tails, normal};
use speedup_statistics::inference::{Alternative, ConfidenceLevel, RatioInterval};
use speedup_statistics::protocol::speedup_test::{Question, SpeedupTest};
use speedup_statistics::ratio::{BenchmarkWeights, MeanRatio, MedianRatio, SuiteMember, SuiteRatio};
use speedup_statistics::sample::Sample;
use speedup_statistics::test::BrunnerMunzel;

const SIMULATIONS: u32 = 2000;

#[expect(clippy::disallowed_methods, reason = "a test program may read its environment")]
fn scale() -> u32 {
    std::env::var("SPEEDUP_CALIBRATION_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(1).max(1)
}

/// Normal times of mean 10 and standard deviation 1, scaled.
fn times(random: &mut ChaCha8Rng, runs: usize, scale: f64) -> Sample {
    let time = |_| scale * (10.0 + normal::quantile(Tails::from_lower(random.random_range(1e-12..1.0))));
    Sample::new((0..runs).map(time).collect()).expect("finite numbers")
}

/// How often `event` happens, in standard errors from `probability`.
fn deviation(seed: u64, probability: f64, mut event: impl FnMut(&mut ChaCha8Rng) -> bool) -> f64 {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let simulations = SIMULATIONS * scale();
    let happened = (0..simulations).filter(|_| event(&mut random)).count() as f64;
    let simulations = f64::from(simulations);
    let off =
        (happened / simulations - probability) / (probability * (1.0 - probability) / simulations).sqrt();
    let test = std::thread::current();
    let (test, share) = (test.name().unwrap_or("a test"), happened / simulations);
    println!(
        "{test}, seed {seed}: {share:.4} of {simulations}, {off:+.1} standard errors from {probability:.4}"
    );
    off
}

fn covers(interval: &RatioInterval, ratio: f64) -> bool {
    interval.bounded().is_some_and(|interval| interval.lower <= ratio && ratio <= interval.upper)
}

#[test]
fn equal_versions_are_called_faster_no_more_often_than_the_risk() {
    let level = ConfidenceLevel::USUAL;
    let of_mean = deviation(1, 0.05, |random| {
        let test = SpeedupTest::new(&times(random, 31, 1.0), &times(random, 31, 1.0)).unwrap();
        test.mean.at(Question::CandidateFaster, level).is_significant()
    });
    assert!(of_mean.abs() < 4.0, "the mean: {of_mean} standard errors off");
    let of_median = deviation(2, 0.05, |random| {
        let test = SpeedupTest::new(&times(random, 12, 1.0), &times(random, 15, 1.0)).unwrap();
        test.median.at(Question::CandidateFaster, level).is_significant()
    });
    assert!(of_median < 4.0, "the median: {of_median} standard errors above");
}

#[test]
fn intervals_of_the_speedup_cover_it() {
    let level = ConfidenceLevel::new(0.9).unwrap();
    let of_mean = deviation(3, 0.9, |random| {
        let (baseline, candidate) = (times(random, 10, 1.25), times(random, 15, 1.0));
        covers(&MeanRatio::new(&baseline, &candidate).unwrap().interval(level), 1.25)
    });
    assert!(of_mean.abs() < 4.0, "Fieller: {of_mean} standard errors off");
    let of_median = deviation(4, 0.9, |random| {
        let (baseline, candidate) = (times(random, 10, 1.25), times(random, 15, 1.0));
        covers(&MedianRatio::new(&baseline, &candidate).unwrap().interval(level), 1.25)
    });
    assert!(of_median > -4.0, "Hodges–Lehmann: {of_median} standard errors below");
}

#[test]
fn which_tends_to_be_faster_errs_as_said_where_only_the_variances_differ() {
    // The candidate's times vary more: the rank-sum test takes that for a difference too often, or too seldom.
    let wide = |random: &mut ChaCha8Rng, runs: usize, mean: f64| {
        let of = times(random, runs, 1.0);
        Sample::new(of.in_run_order().iter().map(|time| mean + 3.0 * (time - 10.0)).collect()).unwrap()
    };
    let level = ConfidenceLevel::USUAL;
    for (seed, runs) in [(7, (12, 20)), (8, (20, 12))] {
        let off = deviation(seed, 0.05, |random| {
            let test = BrunnerMunzel::new(&wide(random, runs.1, 10.0), &times(random, runs.0, 1.0)).unwrap();
            test.p_value(Alternative::Less).rejects_at(level.risk())
        });
        assert!(off.abs() < 4.0, "{runs:?}: {off} standard errors off");
    }
    // P[X < Y] of normal laws whose means are half of the difference's standard deviation apart.
    let truth = normal::tails(0.5).lower;
    let off = deviation(9, 0.95, |random| {
        let (x, y) = (times(random, 15, 1.0), wide(random, 20, 10.0 + 10.0_f64.sqrt() / 2.0));
        let interval = BrunnerMunzel::new(&x, &y).unwrap().interval(level);
        interval.lower <= truth && truth <= interval.upper
    });
    assert!(off > -4.0, "{off} standard errors below");
}

#[test]
fn the_interval_of_a_suite_covers_its_speedup() {
    let level = ConfidenceLevel::new(0.9).unwrap();
    for (seed, weights, truth) in [
        (5, BenchmarkWeights::Equal, (1.25 + 6.0 + 40.0) / (1.0 + 7.0 + 40.0)),
        (6, BenchmarkWeights::Custom(vec![8.0, 2.0, 1.0]), (10.0 + 12.0 + 40.0) / (8.0 + 14.0 + 40.0)),
    ] {
        let of_suite = deviation(seed, 0.9, |random| {
            let small = (times(random, 10, 1.25), times(random, 15, 1.0));
            let middle = (times(random, 8, 6.0), times(random, 8, 7.0));
            let large = (times(random, 20, 40.0), times(random, 6, 40.0));
            let members =
                [&small, &middle, &large].map(|(baseline, candidate)| SuiteMember { baseline, candidate });
            covers(&SuiteRatio::new(&members, &weights).unwrap().interval(level), truth)
        });
        assert!(of_suite.abs() < 4.0, "{weights:?}: {of_suite} standard errors off");
    }
}
