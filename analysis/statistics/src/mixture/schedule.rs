//! Expectation and maximisation in mclust's order, with its stopping rule and its refusals.

use super::state::{MOST_COMPONENTS, State, Sums, VarianceModel};
use super::{exponential::exp, kernel::Kernel, points::Points};
use serde::Serialize;

/// mclust's relative change of the log-likelihood at which it stops (`emControl(tol)`).
const TOLERANCE: f64 = 1e-5;
/// mclust's least variance, in the unit of the data squared (`emControl(eps)`).
const LEAST_VARIANCE: f64 = f64::EPSILON;
/// mclust's least number of observations in a component: the square root of its `eps`.
const LEAST_COUNT: f64 = 1.490_116_119_384_765_6e-8;
/// Steps after which a run is given up. None comes near it: each step adds 1e-5 to a sum with a bound.
const MOST_STEPS: u32 = 100_000;
/// Steps before which gains say nothing of those to come.
const FIRST_STEPS: u32 = 6;
/// mclust takes one more M-step if the sum of squares by which that changes the weights exceeds this.
const LEAST_DRIFT: f64 = 1.490_116_119_384_765_6e-8;

/// What a run of steps ended with.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// The parameters, after one more M-step where mclust takes it.
    pub(super) state: State,
    /// The log-likelihood, in standard units, of the parameters before that step.
    pub(super) log_likelihood: f64,
}

/// Why a start led to no fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoFit {
    /// Too few distinct values, or too many equal ones, for so many classes.
    NoStart,
    /// A component shrank onto equal observations: its likelihood has no bound.
    VarianceVanished,
    /// A component lost all its observations.
    ComponentVanished,
    /// The step limit was reached.
    StepLimit,
    /// It was given up, since it would not have had the largest criterion; in drafted fits, and in further starts of a converged one.
    Outdone,
}

/// What a run is measured by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) model: VarianceModel,
    /// The logarithm of the standard unit in the unit in which mclust's tolerances hold.
    pub(super) log_unit: f64,
    /// The log-likelihood, in standard units, below which the outcome is of no interest.
    pub(super) goal: f64,
    /// The run is given up when this many steps of its present gain would not bring it to the goal.
    pub(super) patience: f64,
}

/// The schedule of mclust: {M; refuse a vanished component or variance; E; stop when |ΔL| ≤ 1e-5 (1 + |L|)}, and one
/// more M-step if the weights would still move. The first M-step is that of `start`.
pub(super) fn mclust(points: &Points, kernel: &mut Kernel, start: State, rule: Rule) -> Result<Run, NoFit> {
    let offset = points.total() * rule.log_unit;
    let least_variance = LEAST_VARIANCE * (-2.0 * rule.log_unit).exp();
    let least_weight = LEAST_COUNT / points.total();
    let mut state = start;
    let mut last = f64::INFINITY;
    let mut last_gain = f64::INFINITY;
    for step in 0..MOST_STEPS {
        if state.least_weight() <= least_weight {
            return Err(NoFit::ComponentVanished);
        }
        let has_spread = state.least_variance() > least_variance;
        if !has_spread {
            return Err(NoFit::VarianceVanished);
        }
        let sums = kernel.pass(points, &state);
        let log_likelihood = sums.log_likelihood - offset;
        let before = state;
        state = maximised(points, &before, &sums, rule.model);
        let gain = log_likelihood - last;
        if gain.abs() <= TOLERANCE * (1.0 + log_likelihood.abs()) {
            return Ok(Run { state: ended(&before, &state), log_likelihood: sums.log_likelihood });
        }
        if step >= FIRST_STEPS && sums.log_likelihood + rule.patience * gain.max(last_gain) < rule.goal {
            return Err(NoFit::Outdone);
        }
        (last, last_gain) = (log_likelihood, gain);
    }
    Err(NoFit::StepLimit)
}

/// The parameters after one more M-step, if that moves the weights.
fn ended(before: &State, after: &State) -> State {
    if drift(before, after) > LEAST_DRIFT { *after } else { *before }
}

/// The sum of squares of the changes of the weights.
fn drift(before: &State, after: &State) -> f64 {
    before.weight.iter().zip(&after.weight).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// The state after the M-step on `sums`, with variances summed anew where the subtraction lost their digits.
pub(super) fn maximised(points: &Points, before: &State, sums: &Sums, model: VarianceModel) -> State {
    let (next, cancelled) = before.after(sums, points.total(), model);
    if cancelled { recentred(points, before, &next, model) } else { next }
}

/// The variances of `next` about its own means, by the posteriors of `before`.
#[cold]
fn recentred(points: &Points, before: &State, next: &State, model: VarianceModel) -> State {
    let components = next.components;
    let mut log_factor = [f64::NEG_INFINITY; MOST_COMPONENTS];
    let mut rate = [0.0; MOST_COMPONENTS];
    for k in 0..components {
        log_factor[k] = before.weight[k].ln() - 0.5 * before.variance[k].ln();
        rate[k] = -0.5 / before.variance[k];
    }
    let mut spread = [0.0; MOST_COMPONENTS];
    for (&x, &w) in points.values().iter().zip(points.weights()) {
        let logs: [f64; MOST_COMPONENTS] = std::array::from_fn(|k| {
            let d = x - before.mean[k];
            log_factor[k] + rate[k] * (d * d)
        });
        let largest = logs.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        let relative = logs.map(|log| exp(log - largest));
        let ratio = w / relative.iter().sum::<f64>();
        for k in 0..components {
            let d = x - next.mean[k];
            spread[k] += ratio * relative[k] * (d * d);
        }
    }
    let mut result = *next;
    let pooled = spread.iter().sum::<f64>() / points.total();
    for (k, spread) in spread.iter().enumerate().take(components) {
        result.variance[k] = match model {
            VarianceModel::Equal => pooled,
            VarianceModel::Varying => spread / (next.weight[k] * points.total()),
        };
    }
    result
}
