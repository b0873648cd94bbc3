//! The random frameworks, each a law for every version, for which estimates are compared.

use crate::law::draws::Draws;
use speedup_core::value::seed::Seed;
use speedup_statistics::mixture::{Component, MOST_COMPONENTS, Mixture};

/// The mean of the Poisson law of components beside the first.
const FURTHER_COMPONENTS: f64 = 2.0;
/// The bounds of the components' means.
const MEANS: [f64; 2] = [10.0, 20.0];
/// The bounds of their standard deviations.
const SDS: [f64; 2] = [0.5, 2.0];

/// Draws the laws of the first `versions` in the framework numbered `framework` as in Worms 2016 §6.5.2: 1 + Poisson(2) components, means
/// and standard deviations each equally likely between bounds, weights any with sum 1.
pub(super) fn laws(seed: Seed, framework: u64, versions: u64) -> Vec<Mixture> {
    let mut draws = Draws::new(&seed.child("simulation frameworks"), framework);
    (0..versions).filter_map(|_| random_mixture(&mut draws)).collect()
}

fn random_mixture(draws: &mut Draws) -> Option<Mixture> {
    let count = (1 + poisson(draws)).min(MOST_COMPONENTS);
    let mut between = |[low, high]: [f64; 2]| low + (high - low) * draws.uniform();
    let parameters: Vec<[f64; 2]> = (0..count).map(|_| [between(MEANS), between(SDS)]).collect();
    // Exponential numbers over their sum are equally likely to be any weights.
    let shares: Vec<f64> = (0..count).map(|_| draws.exponential().max(f64::MIN_POSITIVE)).collect();
    let sum: f64 = shares.iter().sum();
    let component = |(&[mean, sd], share): (&[f64; 2], f64)| Component { weight: share / sum, mean, sd };
    Mixture::new(parameters.iter().zip(shares).map(component).collect()).ok()
}

/// The number of exponential times that fit into the mean.
fn poisson(draws: &mut Draws) -> usize {
    let mut time = draws.exponential();
    let mut count = 0;
    while time < FURTHER_COMPONENTS {
        time += draws.exponential();
        count += 1;
    }
    count
}
