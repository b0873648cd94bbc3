//! False alarms and coverage by simulation, seeded: the bounds are four standard errors of the simulation.
//!
//! `SPEEDUP_CALIBRATION_SCALE` multiplies the number of simulations.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use speedup_statistics::{
    distribution::normal, inference::Alternative, inference::ConfidenceLevel, inference::PValue,
    inference::RatioInterval, protocol::speedup_test::Question, protocol::speedup_test::SpeedupTest,
    ratio::BenchmarkWeights, ratio::MeanRatio, ratio::MedianRatio, ratio::QuantileRatio, ratio::SuiteMember,
    ratio::SuiteRatio, ratio::difference::CenterDifference, ratio::difference::MeanDifference,
    ratio::difference::QuantileDifference, sample::Sample, sample::SampleQuantile, test::BrunnerMunzel,
};

use crate::simulation::{deviation, standard_normal};

const SIMULATIONS: u32 = 2000;

/// Normal times of mean 10 and standard deviation 1, scaled.
fn times(random: &mut ChaCha8Rng, runs: usize, scale: f64) -> Sample {
    let time = |_| scale * (10.0 + standard_normal(random));
    Sample::new((0..runs).map(time).collect()).expect("finite numbers")
}

fn covers(interval: &RatioInterval, ratio: f64) -> bool {
    interval.bounded().is_some_and(|interval| interval.lower <= ratio && ratio <= interval.upper)
}

#[test]
fn equal_versions_are_called_faster_no_more_often_than_the_risk() {
    let level = ConfidenceLevel::USUAL;
    let of_mean = deviation(1, SIMULATIONS, 0.05, |random| {
        let test = SpeedupTest::new(&times(random, 31, 1.0), &times(random, 31, 1.0)).unwrap();
        test.mean.at(Question::CandidateFaster, level).is_significant()
    });
    assert!(of_mean.abs() < 4.0, "the mean: {of_mean} standard errors off");
    let of_median = deviation(2, SIMULATIONS, 0.05, |random| {
        let test = SpeedupTest::new(&times(random, 12, 1.0), &times(random, 15, 1.0)).unwrap();
        test.median.at(Question::CandidateFaster, level).is_significant()
    });
    assert!(of_median < 4.0, "the median: {of_median} standard errors above");
}

#[test]
fn intervals_of_the_speedup_cover_it() {
    let level = ConfidenceLevel::new(0.9).unwrap();
    let of_mean = deviation(3, SIMULATIONS, 0.9, |random| {
        let (baseline, candidate) = (times(random, 10, 1.25), times(random, 15, 1.0));
        covers(&MeanRatio::new(&baseline, &candidate).unwrap().interval(level), 1.25)
    });
    assert!(of_mean.abs() < 4.0, "Fieller: {of_mean} standard errors off");
    let of_median = deviation(4, SIMULATIONS, 0.9, |random| {
        let (baseline, candidate) = (times(random, 10, 1.25), times(random, 15, 1.0));
        covers(&MedianRatio::new(&baseline, &candidate).unwrap().interval(level), 1.25)
    });
    assert!(of_median > -4.0, "Hodges–Lehmann: {of_median} standard errors below");
}

/// Satterthwaite's degrees of freedom are too many where few runs meet many; those of the smaller sample are not.
#[test]
fn few_runs_against_many_keep_the_level_by_the_smaller_side() {
    for (seed, n, m) in [(21, 2, 20), (22, 3, 30), (23, 5, 60)] {
        let above = |by_smaller_side: bool| {
            deviation(seed, SIMULATIONS, 0.05, |random| {
                let ratio = MeanRatio::new(&times(random, n, 1.0), &times(random, m, 1.0)).unwrap();
                let ratio = if by_smaller_side { ratio.by_smaller_side() } else { ratio };
                ratio.p_value(1.0, Alternative::TwoSided).rejects_at(ConfidenceLevel::USUAL.risk())
            })
        };
        assert!(above(true) < 4.0, "{n} and {m}: {} standard errors above", above(true));
        assert!(n > 2 || above(false) > 8.0, "{n} and {m}: {} standard errors above", above(false));
    }
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
        let off = deviation(seed, SIMULATIONS, 0.05, |random| {
            let test = BrunnerMunzel::new(&wide(random, runs.1, 10.0), &times(random, runs.0, 1.0)).unwrap();
            test.p_value(Alternative::Less).rejects_at(level.risk())
        });
        assert!(off.abs() < 4.0, "{runs:?}: {off} standard errors off");
    }
    // P[X < Y] of normal laws whose means are half of the difference's standard deviation apart.
    let truth = normal::tails(0.5).lower;
    let off = deviation(9, SIMULATIONS, 0.95, |random| {
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
        let of_suite = deviation(seed, SIMULATIONS, 0.9, |random| {
            let small = (times(random, 10, 1.25), times(random, 15, 1.0));
            let middle = (times(random, 8, 6.0), times(random, 8, 7.0));
            let large = (times(random, 20, 40.0), times(random, 6, 40.0));
            let members =
                [&small, &middle, &large].map(|(baseline, candidate)| SuiteMember { baseline, candidate });
            covers(&SuiteRatio::new(&members, &weights).unwrap().by_smaller_side().interval(level), truth)
        });
        // The degrees of freedom of the version with fewer are fewer than those of the sum.
        assert!((-4.0..15.0).contains(&of_suite), "{weights:?}: {of_suite} standard errors off");
    }
}

/// So many times of two versions on each host, which share what the host is; with `against` what makes one slow makes the other fast.
fn on_hosts(random: &mut ChaCha8Rng, hosts: usize, runs: usize, against: bool) -> [Vec<Vec<f64>>; 2] {
    let mut sides = [Vec::new(), Vec::new()];
    for _ in 0..hosts {
        let host = times(random, 1, 1.0).mean() - 10.0;
        for (side, sign) in sides.iter_mut().zip([1.0, if against { -1.0 } else { 1.0 }]) {
            let of_host = times(random, runs, 0.3);
            side.push(of_host.in_run_order().iter().map(|time| 10.0 + time + sign * host).collect());
        }
    }
    sides
}

fn of_all(values: impl IntoIterator<Item = f64>) -> Sample {
    Sample::new(values.into_iter().collect()).expect("finite numbers")
}

fn p90(sample: &Sample) -> SampleQuantile<'_> {
    SampleQuantile::new(sample, 0.9).expect("a probability")
}

/// p90 of equal versions that share hosts, one run of each; and of hosts by their own p90, by one run, and by all as if independent.
#[test]
fn tails_of_units_are_called_different_no_more_often_than_the_risk() {
    let level = ConfidenceLevel::USUAL;
    let calls = |ratio: QuantileRatio<'_>| ratio.p_value(1.0, Alternative::TwoSided).rejects_at(level.risk());
    for (seed, against) in [(10, false), (11, true)] {
        let off = deviation(seed, SIMULATIONS, 0.05, |random| {
            let [x, y] = on_hosts(random, 60, 1, against).map(|side| of_all(side.concat()));
            calls(QuantileRatio::dependent(p90(&x), p90(&y)).unwrap())
        });
        assert!(off < 4.0, "pairs: {off} standard errors above");
    }
    let apart = |random: &mut ChaCha8Rng, hosts, runs| {
        [0; 2].map(|_| on_hosts(random, hosts, runs, false)[0].clone())
    };
    let own = deviation(12, SIMULATIONS, 0.05, |random| {
        let [x, y] = apart(random, 12, 20)
            .map(|side| of_all(side.iter().map(|runs| p90(&of_all(runs.clone())).estimate())));
        calls(QuantileRatio::median(&x, &y).unwrap())
    });
    assert!(own < 4.0, "by their own tails: {own} standard errors above");
    let drawn = deviation(13, SIMULATIONS, 0.05, |random| {
        let [x, y] =
            apart(random, 40, 4).map(|side| of_all(side.iter().map(|runs| runs[random.random_range(0..4)])));
        calls(QuantileRatio::new(p90(&x), p90(&y)).unwrap())
    });
    assert!(drawn < 4.0, "by a run of each: {drawn} standard errors above");
    let ignored = deviation(14, SIMULATIONS, 0.05, |random| {
        let [x, y] = apart(random, 12, 20).map(|side| of_all(side.concat()));
        calls(QuantileRatio::new(p90(&x), p90(&y)).unwrap())
    });
    assert!(ignored > 20.0, "all runs, as if independent: {ignored} standard errors above");
}

/// Counts of which some are zero, mostly or seldom: by the difference where a value is zero, else by the ratio.
#[test]
fn counts_that_may_be_zero_are_called_different_no_more_often_than_the_risk() {
    let level = ConfidenceLevel::USUAL;
    let rejects = |p: PValue| p.rejects_at(level.risk());
    for (seed, mean, runs) in [(15, 0.5, 20), (16, 3.0, 12), (17, 3.0, 35), (18, 8.0, 20)] {
        // The exponential times that pass until `mean` (Poisson).
        let count = |random: &mut ChaCha8Rng| {
            let (mut passed, mut count) = (0.0, -1.0);
            while passed < mean {
                passed -= random.random_range(1e-12..1.0_f64).ln();
                count += 1.0;
            }
            count
        };
        for by_mean in [false, true] {
            let off = deviation(seed, SIMULATIONS, 0.05, |random| {
                let [x, y] = [0; 2].map(|_| of_all((0..runs).map(|_| count(random))));
                let is_ratio = x.min() > 0.0 && y.min() > 0.0;
                let two = Alternative::TwoSided;
                match (is_ratio, by_mean) {
                    (true, false) => rejects(QuantileRatio::median(&x, &y).unwrap().p_value(1.0, two)),
                    (false, false) => rejects(QuantileDifference::median(&x, &y).p_value(1.0, two)),
                    (true, true) => {
                        MeanRatio::new(&x, &y).is_ok_and(|ratio| rejects(ratio.p_value(1.0, two)))
                    }
                    (false, true) => {
                        MeanDifference::new(&x, &y).is_ok_and(|means| rejects(means.p_value(1.0, two)))
                    }
                }
            });
            assert!(off < 4.0, "{mean}, {runs} runs, mean {by_mean}: {off} standard errors above");
        }
    }
}
