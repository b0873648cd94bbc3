//! The false-alarm rate of KSfit on samples that are mixtures (Worms 2016 §5.2.1), and the criterion of drafted fits, seeded.
//!
//! `SPEEDUP_CALIBRATION_SCALE=20 cargo test --profile bench -p speedup-statistics --test integration -- calibration_mixture --nocapture`
//! simulates twenty times as many.
#![expect(clippy::print_stdout, reason = "the rates are the purpose of the larger runs")]

use speedup_core::value::seed::Seed;
use speedup_statistics::mixture::goodness_of_fit::{GoodnessOfFit, GoodnessOfFitOptions, ResampleSize};
use speedup_statistics::mixture::{Component, FitMethod, Mixture, MixtureFit};
use speedup_statistics::sample::Sample;

use crate::simulation::scale;

/// Simulated samples at scale 1.
const SIMULATIONS: u64 = 60;
/// Samples that are fitted by a draft and by mclust's schedule, at scale 1.
const DRAFTS: u64 = 4_000;

fn simulations() -> u64 {
    SIMULATIONS * u64::from(scale())
}

/// One sample of so many may have a drafted choice that is worse: far below what 500 resamples resolve.
const SELDOM: usize = 2_000;

/// Two clusters that are well apart.
fn truth() -> Mixture {
    let components = [(0.6, 10.0, 1.0), (0.4, 20.0, 1.5)];
    Mixture::new(components.map(|(weight, mean, sd)| Component { weight, mean, sd }).to_vec())
        .expect("a mixture")
}

/// The shares of simulated p-values of at most 0.05, 0.1 and 0.5.
fn rates(size: ResampleSize, n: usize) -> [f64; 3] {
    let count = simulations();
    let (law, mut values, mut low) = (truth(), Vec::new(), [0.0; 3]);
    for number in 0..count {
        law.draw(n, &mut Seed(number).child("calibration of KSfit"), &mut values);
        let sample = Sample::new(values.clone()).expect("a sample");
        let options =
            GoodnessOfFitOptions { resamples: 200, size, ..GoodnessOfFitOptions::usual(Seed(number)) };
        let p = GoodnessOfFit::new(&sample, options).expect("a test").p_value().get();
        for (low, risk) in low.iter_mut().zip([0.05, 0.1, 0.5]) {
            *low += f64::from(u8::from(p <= risk)) / count as f64;
        }
    }
    low
}

#[test]
fn a_mixture_is_rejected_about_as_often_as_the_risk() {
    for size in [ResampleSize::Same, ResampleSize::NineTenths] {
        let rates = rates(size, 30);
        println!("{size:?}, n = 30, {} samples: p ≤ 0.05, 0.1, 0.5 in {rates:.3?}", simulations());
        // The bootstrap is approximate: at most half as much again as the risk, and four standard errors.
        for (rate, risk) in rates.iter().zip([0.05, 0.1, 0.5_f64]) {
            let error = (risk * (1.0 - risk) / simulations() as f64).sqrt();
            assert!(*rate <= 1.5 * risk + 4.0 * error, "{size:?}: {rate} of p-values at most {risk}");
        }
        assert!(rates[2] > 0.2, "{size:?}: the test hardly ever rejects");
    }
}

/// The share of rounded exponential times above a floor that KSfit rejects at 5 %: a corner that no few Gaussian laws
/// make (Worms 2016 §5.2.2).
fn power(n: usize, total: u64) -> f64 {
    let unit = Mixture::new(vec![Component { weight: 1.0, mean: 0.0, sd: 1.0 }]).expect("a mixture");
    let rejected = |number: &u64| {
        let mut values = Vec::new();
        unit.draw(n, &mut Seed(*number).child("power of KSfit"), &mut values);
        let exponential = values.iter().map(|z| 10.0 - unit.sf(*z).ln());
        let times: Vec<f64> = exponential.map(|x| (x * 4.0).round() / 4.0).collect();
        let options = GoodnessOfFitOptions { resamples: 200, ..GoodnessOfFitOptions::usual(Seed(3)) };
        let test = GoodnessOfFit::new(&Sample::new(times).expect("a sample"), options).expect("a test");
        test.p_value().get() <= 0.05
    };
    (0..total).filter(rejected).count() as f64 / total as f64
}

#[test]
fn a_sample_that_is_no_mixture_of_few_components_is_seen() {
    let total = simulations() / 6;
    let of = [30, 100, 400].map(|n| {
        let power = power(n, total);
        println!("rounded exponential, n = {n}, {total} samples: rejected at 0.05 with power {power:.3}");
        power
    });
    assert!(of[2] > 0.5, "{of:?}");
}

/// A sample of one of ten shapes: mixtures of one to four laws, skewed, flat, heavy-tailed, with outliers, rounded.
fn diverse(number: u64) -> Vec<f64> {
    let n = [12, 30, 60, 100, 250][number as usize % 5];
    let mut random = Seed(number).child("diverse");
    let unit = Mixture::new(vec![Component { weight: 1.0, mean: 0.0, sd: 1.0 }]).expect("a mixture");
    let (mut z, mut y) = (Vec::new(), Vec::new());
    unit.draw(n, &mut random, &mut z);
    unit.draw(n, &mut random, &mut y);
    let gap = 1.0 + (number / 50 % 8) as f64;
    let clusters = |count: usize| -> Vec<f64> {
        let place =
            |(i, z): (usize, &f64)| 50.0 + gap * (i % count) as f64 + z * (1.0 + 0.4 * (i % count) as f64);
        z.iter().enumerate().map(place).collect()
    };
    let of = |f: &dyn Fn(f64) -> f64| -> Vec<f64> { z.iter().map(|z| f(*z)).collect() };
    match number / 5 % 10 {
        shape @ 0..=3 => clusters(shape as usize + 1),
        4 => of(&|z| (0.2 * gap * z).exp()),
        5 => of(&|z| 10.0 + unit.cdf(z)),
        6 => of(&|z| 10.0 - unit.sf(z).ln()),
        7 => z.iter().zip(&y).map(|(z, y)| 100.0 + z / (0.05 * gap + y.abs())).collect(),
        8 => clusters(2)
            .iter()
            .enumerate()
            .map(|(i, x)| x + if i % 29 == 0 { 100.0 * gap } else { 0.0 })
            .collect(),
        _ => clusters(2).iter().map(|x| (x * 4.0).round() / 4.0).collect(),
    }
}

#[test]
fn a_draft_seldom_chooses_a_smaller_criterion_than_mclust() {
    let mut missed = Vec::new();
    let mut total = 0;
    for number in 0..DRAFTS * simulations() / SIMULATIONS {
        let sample = Sample::new(diverse(number)).expect("a sample");
        if sample.is_constant() {
            continue;
        }
        let [drafted, as_mclust] = [FitMethod::Drafted, FitMethod::Mclust]
            .map(|method| MixtureFit::with_method(&sample, method).expect("a fit").bic);
        total += 1;
        if drafted < as_mclust - 1e-9 * (1.0 + as_mclust.abs()) {
            missed.push((number, drafted, as_mclust));
        }
    }
    println!("{total} samples, a smaller criterion in {}", missed.len());
    // A model that was given up might have risen from a plateau.
    assert!(missed.len() * SELDOM <= total, "number, drafted, by mclust: {missed:?}");
}
