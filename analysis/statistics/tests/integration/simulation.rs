//! What the calibrations share. `SPEEDUP_CALIBRATION_SCALE` multiplies the number of their simulations.
#![expect(clippy::print_stdout, reason = "the figures found are printed, for --nocapture")]

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use speedup_core::value::seed::Seed;
use speedup_statistics::{distribution::Tails, distribution::normal, inference::ConfidenceLevel};
use speedup_studies::Replication;

#[expect(clippy::disallowed_methods, reason = "a test program may read its environment")]
pub(crate) fn scale() -> u32 {
    std::env::var("SPEEDUP_CALIBRATION_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(1).max(1)
}

pub(crate) fn replication(simulations: u32, seed: u64) -> Replication {
    let confidence = ConfidenceLevel::USUAL;
    Replication { replicates: simulations * scale(), seed: Seed(seed), confidence }
}

pub(crate) fn standard_normal(random: &mut ChaCha8Rng) -> f64 {
    normal::quantile(Tails::from_lower(random.random_range(1e-12..1.0)))
}

/// The standard error of a share that is found by this many simulations, times the scale.
pub(crate) fn standard_error(probability: f64, simulations: u32) -> f64 {
    (probability * (1.0 - probability) / f64::from(simulations * scale())).sqrt()
}

/// How often `event` happens in `simulations`, in standard errors from `probability`.
pub(crate) fn deviation(
    seed: u64,
    simulations: u32,
    probability: f64,
    mut event: impl FnMut(&mut ChaCha8Rng) -> bool,
) -> f64 {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let total = simulations * scale();
    let share = (0..total).filter(|_| event(&mut random)).count() as f64 / f64::from(total);
    let off = (share - probability) / standard_error(probability, simulations);
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    println!("{test}, seed {seed}: {share:.4} of {total}, {off:+.1} standard errors from {probability:.4}");
    off
}
