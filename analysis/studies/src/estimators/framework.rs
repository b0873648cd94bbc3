//! The laws of the versions, for which estimates are compared.

use crate::SimulationError;
use crate::law::draws::Draws;
use serde::Serialize;
use speedup_core::value::seed::Seed;
use speedup_statistics::mixture::{Component, MOST_COMPONENTS, Mixture};

/// Where the laws of the versions come from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Framework {
    /// So many frameworks, every version's mixture drawn at random as in Worms 2016 §6.5.2: 1 + Poisson(2) components, means and
    /// standard deviations each equally likely between bounds, weights any with sum 1.
    Random {
        /// How many.
        frameworks: u64,
    },
    /// One framework: the mixtures of the versions in their order.
    Given {
        /// One for each version: the first two for I₁ and I₂, all for I₃.
        mixtures: Vec<Mixture>,
    },
}

/// The mean of the Poisson law of components beside the first.
const FURTHER_COMPONENTS: f64 = 2.0;

impl Framework {
    /// The bounds of the components' means.
    pub const MEANS: [f64; 2] = [10.0, 20.0];
    /// The bounds of their standard deviations.
    pub const SDS: [f64; 2] = [0.5, 2.0];

    pub(super) fn check(&self) -> Result<(), SimulationError> {
        match self {
            Self::Random { frameworks } => SimulationError::check_counts("frameworks", 1, &[*frameworks]),
            Self::Given { mixtures } => {
                SimulationError::check_counts("given mixtures", 2, &[mixtures.len() as u64])?;
                (1..)
                    .zip(mixtures)
                    .try_for_each(|(version, law)| SimulationError::check_mixture(version, law))
            }
        }
    }

    /// How many frameworks there are.
    pub fn count(&self) -> u64 {
        match self {
            Self::Random { frameworks } => *frameworks,
            Self::Given { .. } => 1,
        }
    }

    /// The laws of the first `versions` in the framework numbered `framework`.
    pub fn laws(&self, seed: Seed, framework: u64, versions: u64) -> Vec<Mixture> {
        match self {
            Self::Random { .. } => {
                let mut draws = Draws::new(&seed.child("simulation frameworks"), framework);
                (0..versions).filter_map(|_| random_mixture(&mut draws)).collect()
            }
            Self::Given { mixtures } => mixtures.iter().take(versions as usize).cloned().collect(),
        }
    }
}

fn random_mixture(draws: &mut Draws) -> Option<Mixture> {
    let count = (1 + poisson(draws)).min(MOST_COMPONENTS);
    let mut between = |[low, high]: [f64; 2]| low + (high - low) * draws.uniform();
    let parameters: Vec<[f64; 2]> =
        (0..count).map(|_| [between(Framework::MEANS), between(Framework::SDS)]).collect();
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
