//! Univariate Gaussian mixtures: the law of run times that cluster (Worms 2016 §3).
//!
//! F(x) = Σ πₖ Φ((x − μₖ)/σₖ) with at most [`MOST_COMPONENTS`] components when it is fitted. In reading order:
//! * [`Mixture`], [`Component`]: the law, its tails, quantiles, modes and clusters;
//! * [`MixtureFit`], [`FitMethod`], [`Criterion`]: from a sample to a mixture and the criterion that chose it;
//! * inside: `points` and `state` (observations and parameters in standard units), `exponential` and `kernel` (one
//!   pass of expectation and maximisation), `start`, `schedule` (mclust's order of steps), `converge` (the steps after it),
//!   `search` (every model), `refit`.
//!
//! Beside them: [`goodness_of_fit`], whether a sample is one of the mixture, and [`variability`], what users feel of run times.

mod converge;
mod exponential;
mod fit;
pub mod goodness_of_fit;
mod kernel;
mod modes;
mod points;
mod refit;
mod schedule;
mod search;
mod start;
mod state;
pub mod variability;

pub(crate) use fit::tied_share;
pub use fit::{FitMethod, MixtureCaveat, MixtureFit, MixtureFitError};
pub use refit::Refits;
pub(crate) use refit::{Refit, distance};
pub use schedule::NoFit;
pub use search::{Criterion, Entry};
pub use state::{MOST_COMPONENTS, VarianceModel};

use crate::{distribution::Tails, distribution::normal, number::StandardNormals};
use rand::{Rng, RngExt};
use serde::Serialize;
use thiserror::Error;

/// One Gaussian law of a mixture.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Component {
    /// The share of the observations that it explains, in (0, 1].
    pub weight: f64,
    /// Its mean, in the unit of the observations.
    pub mean: f64,
    /// Its standard deviation, in the unit of the observations.
    pub sd: f64,
}

/// A mixture of Gaussian laws, its components in ascending order of their means.
///
/// ```
/// use speedup_statistics::mixture::{Component, Mixture};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Half of the runs take about 1 s, the other half about 2 s.
/// let law = |mean| Component { weight: 0.5, mean, sd: 0.1 };
/// let mixture = Mixture::new(vec![law(2.0), law(1.0)])?;
/// assert!((mixture.mean() - 1.5).abs() < 1e-12 && (mixture.variance() - 0.26).abs() < 1e-12);
/// assert!((mixture.cdf(1.5) - 0.5).abs() < 1e-12);
/// assert_eq!((mixture.cluster(1.9), mixture.modes().len()), (1, 2));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mixture {
    components: Vec<Component>,
}

/// Why components are not a mixture.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum MixtureError {
    #[error("a mixture needs at least one component")]
    Empty,
    /// A weight that is not a positive number, a mean that is not finite, or a standard deviation that is not positive.
    #[error(
        "component {index} has weight {weight}, mean {mean} and standard deviation {sd}, which is no Gaussian law"
    )]
    NotALaw {
        /// Its position, from 0.
        index: usize,
        weight: f64,
        mean: f64,
        sd: f64,
    },
    /// The weights do not add up to 1.
    #[error("the weights add up to {sum}, not to 1")]
    WeightSum { sum: f64 },
}

speedup_core::hints! { MixtureError: Self::WeightSum { .. } => "divide them by their sum" }

/// A probability outside (0, 1) was asked of [`Mixture::quantile`].
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("the probability of a quantile must be above 0 and below 1, not {0}")]
pub struct MixtureQuantileError(pub f64);

/// How far the sum of the weights may be from 1: weights printed with nine digits.
const WEIGHT_SUM_TOLERANCE: f64 = 1e-6;

impl Mixture {
    /// The mixture of `components`, in any order.
    ///
    /// # Errors
    /// [`MixtureError`] when there is none, one is not a law, or the weights do not add up to 1.
    pub fn new(mut components: Vec<Component>) -> Result<Self, MixtureError> {
        if components.is_empty() {
            return Err(MixtureError::Empty);
        }
        for (index, &Component { weight, mean, sd }) in components.iter().enumerate() {
            let is_law = weight > 0.0 && weight.is_finite() && mean.is_finite() && sd > 0.0 && sd.is_finite();
            if !is_law {
                return Err(MixtureError::NotALaw { index, weight, mean, sd });
            }
        }
        let sum: f64 = components.iter().map(|c| c.weight).sum();
        if (sum - 1.0).abs() > WEIGHT_SUM_TOLERANCE {
            return Err(MixtureError::WeightSum { sum });
        }
        components.sort_by(|a, b| a.mean.total_cmp(&b.mean).then(a.sd.total_cmp(&b.sd)));
        Ok(Self { components })
    }

    /// The components in ascending order of their means.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// Σ πₖ μₖ, in the unit of the observations.
    pub fn mean(&self) -> f64 {
        let origin = self.components[0].mean;
        origin + self.sum(|c| c.mean - origin)
    }

    /// Σ πₖ (σₖ² + (μₖ − μ)²), in the unit of the observations squared.
    pub fn variance(&self) -> f64 {
        let mean = self.mean();
        self.sum(|c| c.sd * c.sd + (c.mean - mean) * (c.mean - mean))
    }

    /// The density f(x), per unit of the observations.
    pub fn density(&self, x: f64) -> f64 {
        const ROOT_TWO_PI: f64 = 2.506_628_274_631_000_7;
        self.sum(|c| {
            let z = (x - c.mean) / c.sd;
            (-0.5 * z * z).exp() / (c.sd * ROOT_TWO_PI)
        })
    }

    /// `P[X ≤ x]` and `P[X > x]`, each with its own digits (Worms 2016 eq. 1).
    pub fn tails(&self, x: f64) -> Tails {
        let mut lower = 0.0;
        let mut upper = 0.0;
        for c in &self.components {
            let tails = normal::tails((x - c.mean) / c.sd);
            lower += c.weight * tails.lower;
            upper += c.weight * tails.upper;
        }
        Tails { lower, upper }
    }

    /// `P[X ≤ x]`, the paper's probability of a run no longer than `x`.
    pub fn cdf(&self, x: f64) -> f64 {
        self.tails(x).lower
    }

    /// `P[X > x]`.
    pub fn sf(&self, x: f64) -> f64 {
        self.tails(x).upper
    }

    /// The x with `P[X ≤ x] = probability`, in the unit of the observations, to the last digits that the distribution
    /// function has.
    ///
    /// # Errors
    /// [`MixtureQuantileError`] unless 0 < `probability` < 1.
    pub fn quantile(&self, probability: f64) -> Result<f64, MixtureQuantileError> {
        if probability > 0.0 && probability < 1.0 {
            Ok(self.quantile_of(Tails::from_lower(probability)))
        } else {
            Err(MixtureQuantileError(probability))
        }
    }

    /// Bisection between the least and the greatest quantile of a component, on the smaller tail.
    fn quantile_of(&self, tails: Tails) -> f64 {
        let z = normal::quantile(tails);
        let quantiles = || self.components.iter().map(|c| c.mean + c.sd * z);
        let mut low = quantiles().fold(f64::INFINITY, f64::min);
        let mut high = quantiles().fold(f64::NEG_INFINITY, f64::max);
        let is_below = |x: f64| {
            let at = self.tails(x);
            if tails.lower <= tails.upper { at.lower < tails.lower } else { at.upper > tails.upper }
        };
        loop {
            let middle = low + (high - low) / 2.0;
            if middle <= low || middle >= high {
                return middle;
            }
            if is_below(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
    }

    /// The probability of each component given an observation at `x`; the shares add up to 1.
    pub fn posterior(&self, x: f64) -> Vec<f64> {
        let log = |c: &Component| {
            let z = (x - c.mean) / c.sd;
            c.weight.ln() - c.sd.ln() - 0.5 * z * z
        };
        let logs: Vec<f64> = self.components.iter().map(log).collect();
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let shares: Vec<f64> = logs.iter().map(|log| (log - largest).exp()).collect();
        let sum: f64 = shares.iter().sum();
        shares.iter().map(|share| share / sum).collect()
    }

    /// The position of the most probable component of an observation at `x`: its cluster (Worms 2016 §4.1). Of equally
    /// probable ones the first.
    pub fn cluster(&self, x: f64) -> usize {
        let mut best = (0, f64::NEG_INFINITY);
        for (k, share) in self.posterior(x).into_iter().enumerate() {
            if share > best.1 {
                best = (k, share);
            }
        }
        best.0
    }

    /// The modes of the density in ascending order; their number is the paper's variability level I₄ (Worms 2016 §6.4).
    pub fn modes(&self) -> Vec<f64> {
        modes::modes(self)
    }

    /// sup |F̃ − F|, the distance between this law and the empirical distribution function of `sorted` (Worms 2016 eq. 3).
    pub fn distance(&self, sorted: &[f64]) -> f64 {
        let n = sorted.len() as f64;
        let mut distance: f64 = 0.0;
        for (i, &x) in sorted.iter().enumerate() {
            let f = self.cdf(x);
            distance = distance.max(f - i as f64 / n).max((i + 1) as f64 / n - f);
        }
        distance
    }

    fn sum(&self, term: impl Fn(&Component) -> f64) -> f64 {
        self.components.iter().map(|c| c.weight * term(c)).sum()
    }

    /// Replaces `values` by `n` independent draws from the mixture.
    pub fn draw(&self, n: usize, random: &mut impl Rng, values: &mut Vec<f64>) {
        let mut normals = StandardNormals::default();
        values.clear();
        for _ in 0..n {
            let mut share = random.random::<f64>();
            let mut chosen = self.components[self.components.len() - 1];
            for component in &self.components {
                share -= component.weight;
                if share < 0.0 {
                    chosen = *component;
                    break;
                }
            }
            values.push(chosen.mean + chosen.sd * normals.next(random));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Mixture {
        let components = [(0.75, 10.0, 1.0), (0.25, 4.0, 0.5)];
        Mixture::new(components.map(|(weight, mean, sd)| Component { weight, mean, sd }).to_vec()).unwrap()
    }

    #[test]
    fn what_is_no_mixture_is_refused() {
        assert_eq!(Mixture::new(vec![]), Err(MixtureError::Empty));
        let law = |weight, sd| Component { weight, mean: 0.0, sd };
        assert!(matches!(Mixture::new(vec![law(1.0, 0.0)]), Err(MixtureError::NotALaw { index: 0, .. })));
        assert!(matches!(Mixture::new(vec![law(f64::NAN, 1.0)]), Err(MixtureError::NotALaw { .. })));
        assert!(matches!(Mixture::new(vec![law(0.5, 1.0)]), Err(MixtureError::WeightSum { .. })));
        assert!(two().quantile(0.0).is_err() && two().quantile(1.0).is_err());
    }

    #[test]
    fn moments_tails_and_clusters_of_two_components() {
        let mixture = two();
        assert_eq!((mixture.mean(), mixture.variance()), (8.5, 0.75 + 0.0625 + 0.75 * 2.25 + 0.25 * 20.25));
        assert_eq!(mixture.components()[0].mean, 4.0);
        assert!((mixture.cdf(7.0) - 0.25).abs() < 2e-3 && (mixture.sf(7.0) - 0.75).abs() < 2e-3);
        assert!(mixture.sf(25.0) > 0.0, "the far tail is a difference of nothing");
        assert_eq!((mixture.cluster(4.1), mixture.cluster(9.0), mixture.modes().len()), (0, 1, 2));
    }

    #[test]
    fn a_law_on_one_point_is_at_half_of_its_distance() {
        assert!((two().distance(&[two().quantile(0.5).unwrap()]) - 0.5).abs() < 1e-12);
    }
}
