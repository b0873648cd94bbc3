//! From where mclust stops to the maximum of the likelihood.
//!
//! Expectation and maximisation converge slowly where components overlap: thousands of steps. Squared extrapolation
//! (R. Varadhan and C. Roland, "Simple and globally convergent methods for accelerating the convergence of any EM
//! algorithm", Scandinavian Journal of Statistics 35, 2008, scheme S3) takes two steps, extrapolates along their
//! difference, and keeps the point only if the likelihood there is no smaller; so the likelihood never falls.

use super::state::{MOST_COMPONENTS, State, VarianceModel};
use super::{kernel::Kernel, points::Points, schedule::maximised};

/// The largest change of any parameter in one step of a run that has converged: weights as they are, means in standard
/// deviations, standard deviations in logarithms.
const STILL: f64 = 1e-9;
/// Passes after which a run is left where it is, with a caveat: about 15 ms at 1000 observations and 9 components.
const MOST_PASSES: u32 = 2000;
/// A variance below this, in standard units (a standard deviation of 1e-6 of the sample's), is a component that shrinks
/// onto equal observations.
const LEAST_VARIANCE: f64 = 1e-12;
/// A weight below this belongs to a component that vanishes.
const LEAST_WEIGHT: f64 = 1e-10;

/// Numbers of a state: logarithms of weights and variances, and the means, so that every extrapolation is a state.
type Coordinates = [[f64; MOST_COMPONENTS]; 3];

/// Where a run ended.
#[derive(Clone, Debug)]
pub(super) struct Settled {
    pub(super) state: State,
    /// The log-likelihood of `state`, in standard units.
    pub(super) log_likelihood: f64,
    /// Whether the parameters stand still; else the pass limit was reached.
    pub(super) converged: bool,
}

/// The maximum near `start`, or `None` when a component vanishes on the way.
pub(super) fn converge(
    points: &Points,
    kernel: &mut Kernel,
    start: State,
    model: VarianceModel,
) -> Option<Settled> {
    let mut step = |state: &State| {
        let sums = kernel.pass(points, state);
        (sums.log_likelihood, maximised(points, state, &sums, model))
    };
    let mut here = start;
    let mut passes = 1;
    let (mut log_likelihood, mut first) = step(&here);
    loop {
        if !is_sound(&first) {
            return None;
        }
        let converged = change(&here, &first) <= STILL;
        if converged || passes >= MOST_PASSES {
            return Some(Settled { state: here, log_likelihood, converged });
        }
        let (log_likelihood_of_first, second) = step(&first);
        let leap = extrapolated(&here, &first, &second, model).filter(is_sound);
        passes += 2;
        let landed = leap.map(|leap| (leap, step(&leap)));
        match landed {
            Some((leap, (value, next))) if value >= log_likelihood_of_first => {
                (here, log_likelihood, first) = (leap, value, next);
            }
            _ => {
                if !is_sound(&second) {
                    return None;
                }
                here = second;
                (log_likelihood, first) = step(&here);
                passes += 1;
            }
        }
    }
}

fn is_sound(state: &State) -> bool {
    // Written so that a value that is not a number is not sound.
    state.least_variance() > LEAST_VARIANCE && state.least_weight() > LEAST_WEIGHT
}

fn coordinates(state: &State) -> Coordinates {
    let logarithms = |values: &[f64; MOST_COMPONENTS]| {
        std::array::from_fn(|k| if k < state.components { values[k].ln() } else { 0.0 })
    };
    [logarithms(&state.weight), state.mean, logarithms(&state.variance)]
}

/// θ₀ − 2αr + α²v with r = θ₁ − θ₀, v = (θ₂ − θ₁) − r, α = −|r|/|v|; `None` where that is no leap.
fn extrapolated(zeroth: &State, first: &State, second: &State, model: VarianceModel) -> Option<State> {
    let [zero, one, two] = [zeroth, first, second].map(coordinates);
    let mut r_squared = 0.0;
    let mut v_squared = 0.0;
    for ((a, b), c) in zero.iter().flatten().zip(one.iter().flatten()).zip(two.iter().flatten()) {
        let r = b - a;
        let v = (c - b) - r;
        r_squared += r * r;
        v_squared += v * v;
    }
    let length = (r_squared / v_squared).sqrt();
    if !(length.is_finite() && length > 1.0) {
        return None;
    }
    let at = |row: usize, k: usize| {
        let a = zero[row][k];
        let b = one[row][k];
        let c = two[row][k];
        let r = b - a;
        a + 2.0 * length * r + length * length * ((c - b) - r)
    };
    let mut leap = *zeroth;
    for k in 0..zeroth.components {
        (leap.weight[k], leap.mean[k], leap.variance[k]) = (at(0, k).exp(), at(1, k), at(2, k).exp());
    }
    let sum: f64 = leap.weight.iter().sum();
    leap.weight.iter_mut().for_each(|weight| *weight /= sum);
    if model == VarianceModel::Equal {
        let common = leap.variance[0];
        leap.variance[..leap.components].fill(common);
    }
    leap.mean.iter().chain(&leap.variance).chain(&leap.weight).all(|x| x.is_finite()).then_some(leap)
}

/// How far the parameters moved.
fn change(before: &State, after: &State) -> f64 {
    let mut largest: f64 = 0.0;
    for k in 0..before.components {
        let of_mean = (after.mean[k] - before.mean[k]).abs() / before.variance[k].sqrt();
        let of_variance = 0.5 * (after.variance[k] / before.variance[k]).ln().abs();
        largest = largest.max((after.weight[k] - before.weight[k]).abs()).max(of_mean).max(of_variance);
    }
    largest
}
