//! The components of the lanes' courses: what the densities are computed from, and the step that improves them.

#![expect(clippy::needless_range_loop, reason = "a lane has the same place in several vectors")]

use crate::mixture::draft::{
    CANCELLED, INVERSE_RATE, LANES, LEAST_COUNT, LEAST_VARIANCE, LOG2_ROOT_TWO_PI, NOWHERE, RATE, Vector,
};
use crate::mixture::exponential::log2_single;
use crate::mixture::state::{MOST_COMPONENTS, Start, State, VarianceModel};

/// Component k of every lane, as in the laws of one draft: log₂ of its density is `offset` − u², u = `slope`·x + `start`.
/// Places beyond a lane's components have weight zero and a positive variance.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneLaw {
    pub(super) slope: Vector,
    pub(super) start: Vector,
    pub(super) offset: Vector,
    weight: Vector,
    mean: Vector,
    variance: Vector,
}

/// The laws of every lane.
#[derive(Clone, Debug)]
pub(super) struct LaneLaws {
    pub(super) laws: [LaneLaw; MOST_COMPONENTS],
    components: Vector,
    /// Where the variances are equal 1, else 0.
    is_equal: Vector,
}

/// Of every lane Σ log₂ f(xᵢ), as the logarithm of a product whose exponent is counted apart, the least f(xᵢ), and of every
/// component the posterior sums of 1, u and u².
#[derive(Clone, Debug)]
pub(super) struct Sums {
    pub(super) exponents: [i32; LANES],
    pub(super) product: Vector,
    pub(super) least_density: Vector,
    pub(super) weight: [Vector; MOST_COMPONENTS],
    pub(super) first: [Vector; MOST_COMPONENTS],
    pub(super) second: [Vector; MOST_COMPONENTS],
}

impl Sums {
    pub(super) const ZERO: Self = Self {
        exponents: [0; LANES],
        product: Vector([1.0; LANES]),
        least_density: Vector([f32::INFINITY; LANES]),
        weight: [Vector::ZERO; MOST_COMPONENTS],
        first: [Vector::ZERO; MOST_COMPONENTS],
        second: [Vector::ZERO; MOST_COMPONENTS],
    };

    #[inline(always)]
    pub(super) fn log2_likelihood(&self) -> [f64; LANES] {
        let mut sums = [0.0; LANES];
        for lane in 0..LANES {
            sums[lane] = f64::from(self.exponents[lane]) + f64::from(log2_single(self.product.0[lane]));
        }
        sums
    }
}

impl Default for LaneLaws {
    fn default() -> Self {
        let none = LaneLaw {
            slope: Vector::ZERO,
            start: Vector::ZERO,
            offset: Vector([NOWHERE; LANES]),
            weight: Vector::ZERO,
            mean: Vector::ZERO,
            variance: Vector([1.0; LANES]),
        };
        Self { laws: [none; MOST_COMPONENTS], components: Vector::ZERO, is_equal: Vector::ZERO }
    }
}

impl LaneLaw {
    #[inline(always)]
    fn with_densities(weight: Vector, mean: Vector, variance: Vector) -> Self {
        let (mut slope, mut start, mut offset) = (Vector::ZERO, Vector::ZERO, Vector::ZERO);
        for lane in 0..LANES {
            (slope.0[lane], start.0[lane], offset.0[lane]) =
                density(weight.0[lane], mean.0[lane], variance.0[lane]);
        }
        Self { slope, start, offset, weight, mean, variance }
    }
}

/// `slope`, `start` and `offset` of a component.
#[inline(always)]
fn density(weight: f32, mean: f32, variance: f32) -> (f32, f32, f32) {
    let precision = 1.0 / variance;
    let slope = (RATE * precision).sqrt();
    let of_factor = 0.5 * log2_single(weight * weight * precision) - LOG2_ROOT_TWO_PI;
    (slope, -slope * mean, if weight > 0.0 { of_factor } else { NOWHERE })
}

impl LaneLaws {
    /// Puts a start into a lane.
    #[inline(always)]
    pub(super) fn begin(&mut self, lane: usize, start: &Start) {
        let Start { state, model } = start;
        for (k, law) in self.laws.iter_mut().enumerate() {
            let is_there = k < state.components;
            let of = |values: &[f64; MOST_COMPONENTS], none| if is_there { values[k] as f32 } else { none };
            let (weight, mean) = (of(&state.weight, 0.0), of(&state.mean, 0.0));
            let variance = of(&state.variance, 1.0);
            let (slope, start, offset) = density(weight, mean, variance);
            (law.weight.0[lane], law.mean.0[lane], law.variance.0[lane]) = (weight, mean, variance);
            (law.slope.0[lane], law.start.0[lane], law.offset.0[lane]) = (slope, start, offset);
        }
        self.components.0[lane] = state.components as f32;
        self.is_equal.0[lane] = if *model == VarianceModel::Equal { 1.0 } else { 0.0 };
    }

    /// Takes the first `components` of a lane as `from` has them.
    #[inline(always)]
    pub(super) fn copy_lane(&mut self, lane: usize, from: &Self, components: usize) {
        for (law, from) in self.laws.iter_mut().zip(&from.laws).take(components) {
            law.slope.0[lane] = from.slope.0[lane];
            law.start.0[lane] = from.start.0[lane];
            law.offset.0[lane] = from.offset.0[lane];
            law.weight.0[lane] = from.weight.0[lane];
            law.mean.0[lane] = from.mean.0[lane];
            law.variance.0[lane] = from.variance.0[lane];
        }
    }

    /// The parameters of a lane of so many components.
    pub(super) fn state(&self, lane: usize, components: usize) -> State {
        let mut state = State { components, ..State::default() };
        for k in 0..components {
            state.weight[k] = f64::from(self.laws[k].weight.0[lane]);
            state.mean[k] = f64::from(self.laws[k].mean.0[lane]);
            state.variance[k] = f64::from(self.laws[k].variance.0[lane]);
        }
        state
    }

    /// Puts the M-step of every lane into `next`, and says in which no component is too faint or narrow for single precision;
    /// no lane has more than `components`.
    #[inline(always)]
    pub(super) fn maximise(
        &self,
        sums: &Sums,
        total: f32,
        components: usize,
        next: &mut Self,
    ) -> [bool; LANES] {
        (next.components, next.is_equal) = (self.components, self.is_equal);
        let (mut pooled, mut pooled_second) = (Vector::ZERO, Vector::ZERO);
        let mut unsound = Vector::ZERO;
        let mut parts = [[Vector::ZERO; 4]; MOST_COMPONENTS];
        for k in 0..components {
            let law = &self.laws[k];
            let [mean, variance, spread, second] = &mut parts[k];
            for lane in 0..LANES {
                let is_there = (k as f32) < self.components.0[lane];
                // The squares of the component's own unit, and the unit.
                let square = INVERSE_RATE * law.variance.0[lane];
                let unit = square * law.slope.0[lane];
                let count = sums.weight[k].0[lane];
                let (first, inverse) = (unit * sums.first[k].0[lane], 1.0 / count);
                let of_second = square * sums.second[k].0[lane];
                let shift = first * inverse;
                let of_spread = of_second - first * shift;
                mean.0[lane] = if is_there { law.mean.0[lane] + shift } else { 0.0 };
                spread.0[lane] = if is_there { of_spread } else { 0.0 };
                second.0[lane] = if is_there { of_second } else { 0.0 };
                variance.0[lane] = of_spread * inverse;
                pooled.0[lane] += spread.0[lane];
                pooled_second.0[lane] += second.0[lane];
                // Written so that a count that is not a number is unsound.
                let is_sound = !is_there | (count > LEAST_COUNT);
                unsound.0[lane] = if is_sound { unsound.0[lane] } else { 1.0 };
            }
        }
        let share = 1.0 / total;
        for k in 0..components {
            let [mean, own_variance, spread, second] = &parts[k];
            let (mut weight, mut variance) = (Vector::ZERO, Vector::ZERO);
            for lane in 0..LANES {
                let is_there = (k as f32) < self.components.0[lane];
                let is_equal = self.is_equal.0[lane] > 0.5;
                let of_all = pooled.0[lane] / total;
                let value = if is_equal { of_all } else { own_variance.0[lane] };
                let spread = if is_equal { pooled.0[lane] } else { spread.0[lane] };
                let second = if is_equal { pooled_second.0[lane] } else { second.0[lane] };
                let is_narrow = is_there & !((value > LEAST_VARIANCE) & (spread > CANCELLED * second));
                unsound.0[lane] = if is_narrow { 1.0 } else { unsound.0[lane] };
                variance.0[lane] = if is_there { value } else { 1.0 };
                weight.0[lane] = if is_there { sums.weight[k].0[lane] * share } else { 0.0 };
            }
            next.laws[k] = LaneLaw::with_densities(weight, *mean, variance);
        }
        unsound.0.map(|unsound| unsound < 0.5)
    }
}
