//! Mixture fits and their test beside the figures of R: medians over simulated samples of 30, 100 and 1000 run times in one
//! to three clusters. The clock of the processor, not of the wall, is compared, so that a shared machine disturbs less.
//!
//! `cargo bench -p speedup-statistics --bench mixture`
#![expect(clippy::print_stdout, reason = "a program that prints figures")]

use rustix::time::{ClockId, clock_gettime};
use speedup_core::value::seed::Seed;
use speedup_statistics::mixture::goodness_of_fit::{GoodnessOfFit, GoodnessOfFitOptions};
use speedup_statistics::mixture::{
    Component, FitMethod, Mixture, MixtureFit, Refits, variability::empirical,
};
use speedup_statistics::sample::Sample;
use std::hint::black_box;

/// mclust 6.0.0 in R 4.2.2 on the machine of the first figures: milliseconds a fit, and a test of 500 resamples.
const R: [(usize, f64, f64); 3] = [(30, 4.4, 2690.0), (100, 11.3, 5590.0), (1000, 60.0, 30500.0)];
/// I₃ of 3 × 1000 observations in R, milliseconds.
const R_SHORTEST: f64 = 12.0;
/// Samples of a whole report, their sizes spread evenly in logarithms over those of the benchmark.
const REPORT: f64 = 2438.0;

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

fn milliseconds(clock: ClockId) -> f64 {
    let now = clock_gettime(clock);
    1e3 * now.tv_sec as f64 + 1e-6 * now.tv_nsec as f64
}

/// Milliseconds of `work`, all threads together, and of the wall: for each sample the least of the repeats, since the rest is
/// the machine's other work; of the samples the median.
fn medians(samples: &[Sample], repeats: u32, work: impl Fn(&Sample)) -> [f64; 2] {
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let mut times = [Vec::new(), Vec::new()];
    for sample in samples {
        let mut least = [f64::INFINITY; 2];
        for _ in 0..repeats {
            let clocks = [ClockId::ProcessCPUTime, ClockId::Monotonic];
            let before = clocks.map(milliseconds);
            work(sample);
            for (least, (clock, before)) in least.iter_mut().zip(clocks.into_iter().zip(before)) {
                *least = least.min(milliseconds(clock) - before);
            }
        }
        times[0].push(least[0]);
        times[1].push(least[1]);
    }
    times.map(median)
}

fn line(what: &str, n: usize, [cpu, wall]: [f64; 2], of_r: f64) {
    let (cpu_ratio, wall_ratio) = (of_r / cpu, of_r / wall);
    println!(
        "{what:<34} n = {n:>4}: CPU {cpu:>9.4} ms ({cpu_ratio:.0}×), wall {wall:>9.4} ms ({wall_ratio:.0}×), R {of_r} ms"
    );
}

fn main() {
    let threads = rayon::current_num_threads();
    println!("{threads} threads; × is how much faster than R");
    let three = samples(1000);
    let others: Vec<&Sample> = three.iter().take(3).collect();
    let shortest = |_: &Sample| drop(black_box(empirical::probability_shortest(black_box(&others))));
    line("I₃ by counting, three versions", 1000, medians(&three[..1], 1000, shortest), R_SHORTEST);
    let mut tests = Vec::new();
    for (n, of_fit, of_test) in R {
        let samples = samples(n);
        for method in [FitMethod::Drafted, FitMethod::Mclust, FitMethod::Converged] {
            let fit = |sample: &Sample| drop(black_box(MixtureFit::with_method(sample, method)));
            line(&format!("fit, {method:?}"), n, medians(&samples, 40, fit), of_fit);
        }
        for (refits, repeats) in [(Refits::Drafted, 3), (Refits::Exhaustive, 1)] {
            let options = GoodnessOfFitOptions { refits, ..GoodnessOfFitOptions::usual(Seed(1)) };
            let test = |sample: &Sample| drop(black_box(GoodnessOfFit::new(sample, options)));
            let times = medians(&samples, repeats, test);
            line(&format!("KSfit, 500 resamples, {refits:?}"), n, times, of_test);
            if refits == Refits::Drafted {
                tests.push(times[0]);
            }
        }
    }
    let mean = tests.iter().sum::<f64>() / tests.len() as f64;
    println!(
        "a report over {REPORT} samples, a third of each n, with KSfit: {:.0} s of CPU, {:.0} s on {threads} threads",
        REPORT * mean / 1e3,
        REPORT * mean / 1e3 / threads as f64
    );
}
