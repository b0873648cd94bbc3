//! The components of a draft: what the densities are computed from, and the step that improves them.

#![expect(clippy::needless_range_loop, reason = "a lane has the same place in several vectors")]

use super::observations::{LANES, Vector, folded};
use crate::mixture::{exponential::log2_single, state::MOST_COMPONENTS, state::State, state::VarianceModel};

/// A component whose densities stay below 2⁻³⁰ of the mixture's all over a tile adds nothing to a single.
const NEGLIGIBLE_LOG: f32 = -30.0;
/// A variance, in standard units, below which the rounding of observations, 2⁻²³, is a hundredth of the standard deviation.
pub(in crate::mixture) const LEAST_VARIANCE: f32 = 1e-10;
/// A count of observations below which a component is about to vanish.
pub(in crate::mixture) const LEAST_COUNT: f32 = 1e-3;
/// Below this share of the second moment the new variance is mostly rounding.
pub(in crate::mixture) const CANCELLED: f32 = 1e-3;
/// ½ log₂ e: natural exponents become exponents of 2.
pub(in crate::mixture) const RATE: f32 = 0.721_347_5;
/// 1/[`RATE`].
pub(in crate::mixture) const INVERSE_RATE: f32 = 1.386_294_4;
pub(in crate::mixture) const LOG2_ROOT_TWO_PI: f32 = 1.325_748;
/// The offset of a place without a component: no density is as small.
pub(in crate::mixture) const NOWHERE: f32 = -1e9;

/// A state as the pass needs it: the logarithm to base 2 of component k's density is `offset` − u², where u = `slope`·x +
/// `start` is the distance of x from the mean in the component's own unit. One rounding makes u: it moves the mean by no
/// more than single precision moves it.
#[derive(Clone, Debug)]
pub(super) struct Laws {
    pub(super) components: usize,
    pub(super) slope: Vector,
    pub(super) start: Vector,
    pub(super) offset: Vector,
    weight: Vector,
    mean: Vector,
    variance: Vector,
}

/// Σ wᵢ log₂ f(xᵢ), the least f(xᵢ), and the posterior sums of 1, u and u², u the distance from the mean as in [`Laws`].
#[derive(Clone, Debug)]
pub(super) struct Sums {
    pub(super) log2_likelihood: f64,
    pub(super) least_density: f32,
    pub(super) weight: Vector,
    pub(super) first: Vector,
    pub(super) second: Vector,
}

impl Laws {
    #[inline(always)]
    pub(super) fn new(state: &State) -> Self {
        let single = |values: &[f64; MOST_COMPONENTS], padding: f32| {
            let mut vector = Vector([padding; LANES]);
            for k in 0..state.components {
                vector.0[k] = values[k] as f32;
            }
            vector
        };
        let (weight, mean) = (single(&state.weight, 0.0), single(&state.mean, 0.0));
        Self::with_densities(state.components, weight, mean, single(&state.variance, 1.0))
    }

    /// Places beyond the components have weight zero and a positive variance.
    #[inline(always)]
    fn with_densities(components: usize, weight: Vector, mean: Vector, variance: Vector) -> Self {
        let (mut slope, mut start, mut offset) = (Vector::ZERO, Vector::ZERO, Vector::ZERO);
        for k in 0..LANES {
            let (weight, precision) = (weight.0[k], 1.0 / variance.0[k]);
            slope.0[k] = (RATE * precision).sqrt();
            start.0[k] = -slope.0[k] * mean.0[k];
            // log₂(weight/sd) with one logarithm: the square has neither root nor second division.
            let of_factor = 0.5 * log2_single(weight * weight * precision) - LOG2_ROOT_TWO_PI;
            offset.0[k] = if weight > 0.0 { of_factor } else { NOWHERE };
        }
        Self { components, slope, start, offset, weight, mean, variance }
    }

    pub(super) fn state(&self) -> State {
        let mut state = State { components: self.components, ..State::default() };
        for k in 0..self.components {
            state.weight[k] = f64::from(self.weight.0[k]);
            state.mean[k] = f64::from(self.mean.0[k]);
            state.variance[k] = f64::from(self.variance.0[k]);
        }
        state
    }

    /// The M-step, or `false` and no change where a component is too faint or narrow for single precision.
    #[inline(always)]
    pub(super) fn maximise(&mut self, sums: &Sums, total: f32, model: VarianceModel) -> bool {
        let (mut mean, mut variance, mut spread) = (Vector::ZERO, Vector::ZERO, Vector::ZERO);
        let mut second = Vector::ZERO;
        for k in 0..LANES {
            // The squares of the component's own unit, and the unit.
            let square = INVERSE_RATE * self.variance.0[k];
            let unit = square * self.slope.0[k];
            let (first, inverse) = (unit * sums.first.0[k], 1.0 / sums.weight.0[k]);
            second.0[k] = square * sums.second.0[k];
            let shift = first * inverse;
            let has_any = sums.weight.0[k] > 0.0;
            mean.0[k] = if has_any { self.mean.0[k] + shift } else { 0.0 };
            spread.0[k] = if has_any { second.0[k] - first * shift } else { 0.0 };
            variance.0[k] = if has_any { spread.0[k] * inverse } else { 1.0 };
        }
        if model == VarianceModel::Equal {
            let pooled = folded(&spread.0, |a, b| a + b);
            second = Vector([folded(&second.0, |a, b| a + b); LANES]);
            spread = Vector([pooled; LANES]);
            variance = Vector([pooled / total; LANES]);
        }
        let mut unsound = Vector::ZERO;
        for k in 0..LANES {
            let is_sound = (sums.weight.0[k] > LEAST_COUNT)
                & (variance.0[k] > LEAST_VARIANCE)
                & (spread.0[k] > CANCELLED * second.0[k]);
            unsound.0[k] = if is_sound { 0.0 } else { 1.0 };
        }
        if folded(&unsound.0, |a, b| a + b) > (LANES - self.components) as f32 {
            return false;
        }
        let share = 1.0 / total;
        let mut weight = Vector::ZERO;
        for k in 0..LANES {
            weight.0[k] = sums.weight.0[k] * share;
        }
        *self = Self::with_densities(self.components, weight, mean, variance);
        true
    }

    /// The components that matter to any observation from `low` to `high`; see `kernel`.
    #[inline(always)]
    pub(super) fn near(&self, low: f32, high: f32) -> [bool; MOST_COMPONENTS] {
        let (mut least, mut largest) = (Vector::ZERO, Vector::ZERO);
        for k in 0..LANES {
            let (slope, start) = (self.slope.0[k], self.start.0[k]);
            let (a, b) = (slope * low + start, slope * high + start);
            let (log_a, log_b) = (self.offset.0[k] - a * a, self.offset.0[k] - b * b);
            let at_ends = if log_a > log_b { log_a } else { log_b };
            least.0[k] = if log_a < log_b { log_a } else { log_b };
            largest.0[k] = if a <= 0.0 && b >= 0.0 { self.offset.0[k] } else { at_ends };
        }
        let floor = folded(&least.0, |a, b| if b > a { b } else { a });
        std::array::from_fn(|k| largest.0[k] > floor + NEGLIGIBLE_LOG)
    }
}
