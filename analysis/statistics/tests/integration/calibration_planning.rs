//! False alarms of the diagnostics, coverage of Stein's interval, the risk of several looks, and planned powers, by
//! seeded simulation; bounds are four and a half standard errors. `SPEEDUP_CALIBRATION_SCALE` multiplies the
//! number of simulations.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use speedup_core::value::seed::Seed;
use speedup_statistics::diagnostics::{
    aa::AaOptions, aa::AaStudy, aa::AaTest, host_effect::ClusterHosts, host_effect::Shuffles,
    run_order::Autocorrelation, run_order::Drift, run_order::FirstRunEffect, run_order::RunsTest,
};
use speedup_statistics::inference::{Alternative, ConfidenceLevel, Risk};
use speedup_statistics::planning::group_sequential::{
    GroupSequential, LookDecision, Sides, SpendingFunction, equal_fractions,
};
use speedup_statistics::planning::required_repetitions::{RankSumDetection, SpeedupGoal, TrimmedDetection};
use speedup_statistics::planning::{power::Group, power::Rejections, power::WelchPower, two_stage::TwoStage};
use speedup_statistics::ratio::{TrimShare, TrimmedRatio};
use speedup_statistics::{sample::Sample, test::RankSum, test::WelchTTest};

use crate::simulation::{deviation, scale, standard_normal};

const BOUND: f64 = 4.5;

fn sample(values: Vec<f64>) -> Sample {
    Sample::new(values).expect("finite numbers")
}

fn normals(random: &mut ChaCha8Rng, runs: usize) -> Vec<f64> {
    (0..runs).map(|_| 10.0 + standard_normal(random)).collect()
}

fn risk() -> Risk {
    ConfidenceLevel::new(0.95).expect("a level").risk()
}

/// An exponential sample, because the laws are of order, not of shape.
fn skewed(random: &mut ChaCha8Rng, runs: usize) -> Sample {
    sample((0..runs).map(|_| 1.0 - f64::ln(random.random_range(1e-15..1.0))).collect())
}

#[test]
fn independent_runs_seldom_alarm() {
    let two_sided = Alternative::TwoSided;
    let of = deviation(1, 1500, 0.05, |random| {
        Autocorrelation::new(&skewed(random, 60)).unwrap().p_value(two_sided).rejects_at(risk())
    });
    assert!(of < BOUND && of > -2.0 * BOUND, "autocorrelation: {of}");
    let of = deviation(2, 1500, 0.05, |random| {
        RunsTest::new(&skewed(random, 30)).unwrap().p_value(two_sided).rejects_at(risk())
    });
    assert!(of < BOUND, "series: {of}");
    let of = deviation(3, 500, 0.05, |random| {
        Drift::new(&skewed(random, 20)).unwrap().p_value(two_sided).rejects_at(risk())
    });
    assert!(of.abs() < BOUND, "drift, exact: {of}");
    let of = deviation(4, 800, 0.05, |random| {
        Drift::new(&skewed(random, 60)).unwrap().p_value(two_sided).rejects_at(risk())
    });
    assert!(of.abs() < BOUND, "drift, normal: {of}");
    let of = deviation(5, 800, 0.05, |random| {
        let groups: Vec<Sample> = (0..6).map(|_| skewed(random, 5)).collect();
        FirstRunEffect::new(&groups).unwrap().p_value(two_sided).rejects_at(risk())
    });
    assert!(of < BOUND, "first run: {of}");
}

#[test]
fn dependent_runs_alarm() {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let mut last = 0.0;
    let dependent = sample(
        (0..80)
            .map(|_| {
                last = 0.8 * last + standard_normal(&mut random);
                100.0 + last
            })
            .collect(),
    );
    let greater = Alternative::Greater;
    assert!(Autocorrelation::new(&dependent).unwrap().p_value(greater).get() < 1e-4);
    assert!(RunsTest::new(&dependent).unwrap().p_value(Alternative::Less).get() < 0.02);
    let drifting = sample((0..40).map(|i| f64::from(i) * 0.1 + standard_normal(&mut random)).collect());
    assert!(Drift::new(&drifting).unwrap().p_value(greater).get() < 1e-4);
}

#[test]
fn clusters_that_are_no_hosts_seldom_alarm() {
    let balanced: Vec<u32> = (0..24).map(|i| i % 8).collect();
    let of = deviation(24, 300, 0.05, |random| {
        let labels: Vec<u32> = (0..24).map(|_| random.random_range(0..2)).collect();
        let association =
            ClusterHosts::new(&labels, &balanced, Shuffles::all(99), Seed(random.random_range(0..u64::MAX)));
        association.is_ok_and(|association| association.p_value().rejects_at(risk()))
    });
    assert!(of < BOUND, "clusters: {of}");
}

/// Of labels and hosts with so many values of χ² that the test hardly falls short of its risk.
#[test]
fn shuffles_that_end_early_keep_the_risk() {
    let hosts: Vec<u32> = (0..60).map(|i| i * i % 7).collect();
    for (seed, share) in [(25, 0.05), (26, 0.2), (27, 0.6)] {
        let level = Risk::new(share).unwrap();
        let of = deviation(seed, 1000, share, |random| {
            let labels: Vec<u32> = (0..60).map(|_| random.random_range(0..3)).collect();
            let seed = Seed(random.random_range(0..u64::MAX));
            let ended = ClusterHosts::new(&labels, &hosts, Shuffles::until_as_large(4_999), seed);
            ended.unwrap().p_value().rejects_at(level)
        });
        assert!(of.abs() < BOUND, "{share}: {of}");
    }
}

#[test]
fn steins_interval_covers_whatever_the_pilot_said() {
    let level = ConfidenceLevel::new(0.9).unwrap();
    let of = deviation(31, 1500, 0.9, |random| {
        let mut runs = normals(random, 5);
        let plan = TwoStage::new(&[&sample(runs.clone())], TrimShare::NONE, 0.9, level).unwrap();
        runs.extend(normals(random, plan.further_runs() as usize));
        let interval = plan.interval(&[&sample(runs)]);
        interval.lower <= 10.0 && 10.0 <= interval.upper
    });
    assert!(of.abs() < BOUND, "mean: {of}");
    let of = deviation(32, 800, 0.9, |random| {
        let [mut x, mut y] = [(); 2].map(|()| normals(random, 5));
        let pilots = [&sample(x.clone()), &sample(y.clone())];
        let plan = TwoStage::new(&pilots, TrimShare::NONE, 1.0, level).unwrap();
        x.extend(normals(random, plan.further_runs() as usize));
        y.extend(normals(random, plan.further_runs() as usize));
        let interval = plan.interval(&[&sample(x), &sample(y)]);
        interval.lower <= 0.0 && 0.0 <= interval.upper
    });
    assert!(of.abs() < BOUND, "difference: {of}");
}

#[test]
fn all_looks_together_keep_the_risk() {
    let level = ConfidenceLevel::new(0.9).unwrap();
    for (seed, spending) in [(41, SpendingFunction::OBrienFlemingLike), (42, SpendingFunction::PocockLike)] {
        let plan = GroupSequential::spending(&equal_fractions(4), Sides::Both, level, spending).unwrap();
        let of = deviation(seed, 700, 0.1, |random| {
            let (mut x, mut y) = (Vec::new(), Vec::new());
            (0..4).any(|look| {
                x.extend(normals(random, 25));
                y.extend(normals(random, 25));
                let test = WelchTTest::new(&sample(x.clone()), &sample(y.clone())).unwrap();
                plan.decide(look, test.p_value(Alternative::TwoSided)) == Ok(LookDecision::Stop)
            })
        });
        assert!(of.abs() < BOUND, "{spending:?}: {of}");
    }
}

#[test]
fn planned_powers_are_reached() {
    let (alternative, rejections) = (Alternative::Greater, Rejections::OnTheTrueSide);
    let test = WelchPower { alternative, rejections, risk: risk() };
    let planned = test.power(Group { runs: 10.0, sd: 1.0 }, Group { runs: 16.0, sd: 2.0 }, 1.5).unwrap();
    let of = deviation(51, 1500, planned, |random| {
        let x = normals(random, 10).into_iter().map(|time| time + 1.5).collect();
        let y = (0..16).map(|_| 10.0 + 2.0 * standard_normal(random)).collect();
        WelchTTest::new(&sample(x), &sample(y)).unwrap().p_value(alternative).rejects_at(risk())
    });
    assert!(of.abs() < BOUND, "Welch: {of}");
    let mut random = ChaCha8Rng::seed_from_u64(52);
    let pilot = sample(normals(&mut random, 400));
    let goal =
        SpeedupGoal { speedup: 1.08, alternative, level: ConfidenceLevel::USUAL, power: 0.8, maximum: 1000 };
    let plan = RankSumDetection::new(&pilot, None).unwrap().required(&goal).unwrap();
    let runs = plan.reach.needed().unwrap() as usize;
    // Noether's formula and the pilot are both approximate: the power is near what was asked for, not at it.
    let of = |power| {
        deviation(53, 300, power, |random| {
            let y = normals(random, runs).into_iter().map(|time| time / 1.08).collect();
            RankSum::choose(&sample(normals(random, runs)), &sample(y))
                .p_value(alternative)
                .rejects_at(risk())
        })
    };
    assert!(of(0.72) > -BOUND && of(0.88) < BOUND, "{runs} runs");
}

/// At the smallest numbers of runs and the one of most use, and with the limit of a pilot's spread.
#[test]
fn the_smallest_change_is_found_as_often_as_it_is_promised() {
    let of_spread = |sd| TrimmedDetection::from_moments(1.0, sd).unwrap();
    for (seed, runs) in [(54, 4), (55, 10)] {
        let smallest = of_spread(0.04).with_runs(runs).smallest(risk(), 0.8).unwrap();
        let times = |random: &mut ChaCha8Rng, factor: f64| {
            sample((0..runs).map(|_| factor * f64::exp(0.04 * standard_normal(random))).collect())
        };
        let of = |power| {
            deviation(seed, 1500, power, |random| {
                let (x, y) = (times(random, smallest), times(random, 1.0));
                let ratio = TrimmedRatio::new(&x, &y, TrimShare::USUAL).unwrap();
                ratio.p_value(1.0, Alternative::TwoSided).rejects_at(risk())
            })
        };
        assert!(of(0.77) > -BOUND && of(0.83) < BOUND, "{runs} runs");
    }
    // χ² with the degrees of freedom of what is left is nearly the law of a winsorised variance.
    let is_below = |random: &mut ChaCha8Rng| {
        let [x, y] =
            [(); 2].map(|()| sample((0..10).map(|_| f64::exp(0.04 * standard_normal(random))).collect()));
        let planned = TrimmedDetection::new(&x, Some(&y), TrimShare::USUAL).unwrap().at_upper_limit(0.8);
        planned.spread() > of_spread(0.04).spread()
    };
    assert!(deviation(56, 1500, 0.78, is_below).abs() < BOUND);
}

#[test]
fn a_pool_of_like_hosts_alarms_at_its_risk_and_one_of_unlike_hosts_more_often() {
    let mut random = ChaCha8Rng::seed_from_u64(61);
    let hosts: Vec<u32> = (0..48).map(|i| i / 6).collect();
    let options = |test| AaOptions {
        test,
        alternative: Alternative::TwoSided,
        level: ConfidenceLevel::USUAL,
        splits: u64::from(500 * scale()).min(20_000),
        seed: Seed(7),
    };
    let alike = sample(normals(&mut random, 48));
    for test in [AaTest::Welch, AaTest::RankSum] {
        let alarms = AaStudy::by_runs(&alike, options(test)).unwrap().false_alarms();
        assert!((alarms.rate - 0.05).abs() < 0.02 + BOUND * alarms.standard_error, "{alarms:?}");
    }
    let unlike = hosts
        .iter()
        .map(|host| 50.0 + 3.0 * f64::from(host * 5 % 8) + standard_normal(&mut random))
        .collect();
    let alarms = AaStudy::by_hosts(&sample(unlike), &hosts, options(AaTest::Welch)).unwrap().false_alarms();
    assert!(alarms.rate > 0.2, "{alarms:?}");
}
