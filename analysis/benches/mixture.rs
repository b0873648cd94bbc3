//! Mixture fits and their test, in thread time where one thread works, so that a shared machine disturbs less: medians of
//! simulated samples of 30, 100 and 1000 run times in one to three clusters.
//!
//! `cargo bench -p speedup-analysis --bench mixture`
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program that prints figures of the clock"
)]

use speedup_analysis::goodness_of_fit::GoodnessOfFitOptions;
use speedup_analysis::mixture::{Component, Method, Refits};
use speedup_analysis::variability::empirical;
use speedup_analysis::{GoodnessOfFit, Mixture, MixtureFit, Sample};
use speedup_core::seed::Seed;
use std::hint::black_box;
use std::time::Instant;

/// mclust 6.0.0 in R 4.2.2 on the machine of the first figures: milliseconds a fit, and a test of 500 resamples.
const R: [(usize, f64, f64); 3] = [(30, 4.4, 2690.0), (100, 11.3, 5590.0), (1000, 60.0, 30500.0)];

fn samples(n: usize) -> Vec<Sample> {
    let laws: [&[(f64, f64, f64)]; 3] = [
        &[(1.0, 50.0, 2.0)],
        &[(0.6, 40.0, 2.0), (0.4, 52.0, 3.0)],
        &[(0.3, 30.0, 1.5), (0.5, 42.0, 2.0), (0.2, 55.0, 1.0)],
    ];
    let mut samples = Vec::new();
    for number in 0..12_u64 {
        let component = |&(weight, mean, sd): &(f64, f64, f64)| Component { weight, mean, sd };
        let law = Mixture::new(laws[number as usize % 3].iter().map(component).collect()).expect("a mixture");
        let mut values = Vec::new();
        law.draw(n, &mut Seed(number).child("bench"), &mut values);
        samples.push(Sample::new(values).expect("a sample"));
    }
    samples
}

/// Median, least and greatest of the milliseconds of `work` on each sample.
fn milliseconds(samples: &[Sample], repeats: u32, work: impl Fn(&Sample)) -> [f64; 3] {
    let mut times: Vec<f64> = samples
        .iter()
        .map(|sample| {
            let once = |_| {
                let start = Instant::now();
                work(sample);
                1e3 * start.elapsed().as_secs_f64()
            };
            // The least of the repeats: the rest is the machine's other work.
            (0..repeats).map(once).fold(f64::INFINITY, f64::min)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    [times[times.len() / 2], times[0], times[times.len() - 1]]
}

fn line(what: &str, n: usize, [median, least, greatest]: [f64; 3], of_r: f64) {
    println!(
        "{what:<42} n = {n:>4}: {median:>8.3} ms ({least:.3} to {greatest:.3}), R {of_r} ms: {:.0}×",
        of_r / median
    );
}

fn main() {
    println!("{} threads", rayon::current_num_threads());
    for (n, of_fit, of_test) in R {
        let samples = samples(n);
        for method in [Method::Mclust, Method::Converged] {
            let fit = |sample: &Sample| drop(black_box(MixtureFit::with_method(sample, method)));
            line(&format!("fit, {method:?}"), n, milliseconds(&samples, 20, fit), of_fit);
        }
        for refits in [Refits::Pruned, Refits::Exhaustive] {
            let options = GoodnessOfFitOptions { refits, ..GoodnessOfFitOptions::usual(Seed(1)) };
            let test = |sample: &Sample| drop(black_box(GoodnessOfFit::new(sample, options)));
            line(&format!("KSfit, 500 resamples, {refits:?}"), n, milliseconds(&samples, 2, test), of_test);
        }
    }
    let three = samples(1000);
    let three: Vec<&Sample> = three.iter().take(3).collect();
    let start = Instant::now();
    for _ in 0..1000 {
        black_box(empirical::probability_shortest(black_box(&three)));
    }
    println!("I₃ by counting, 3 × 1000 runs: {:.4} ms, R 12 ms", start.elapsed().as_secs_f64());
}
