//! The schedule of mclust in single precision: where it ends, at a quarter of the price.
//!
//! Sixteen observations share a vector in the expectation, and all components share one in the maximisation. Single
//! precision disturbs a log-likelihood by about 1e-7 of the sum of its terms, a hundredth of the change at which mclust
//! stops, so a draft ends beside the place where the schedule ends; it is finished in double precision. A draft that
//! single precision cannot carry hands over where it stands. As in `kernel`, sums run in fixed lanes and nothing is
//! fused: every width of vector gives the same bits.

use super::exponential::{exp2_single, log2_single};
use super::points::Points;
use super::schedule::{Rule, TOLERANCE};
use super::state::{MOST_COMPONENTS, State, VarianceModel};
use std::f64::consts::LN_2;

/// Width of the sums, and the places for components: one vector of the widest kind.
const LANES: usize = 16;
/// Vectors of observations at a time: 9 × 4 vectors of densities are 2.3 KiB.
const TILE: usize = 4;
/// A component whose densities stay below 2⁻³⁰ of the mixture's all over a tile adds nothing to a single.
const NEGLIGIBLE_LOG: f32 = -30.0;
/// A density, in standard units, below which the component that explains an observation may have vanished.
const LEAST_DENSITY: f32 = 1e-30;
/// A variance, in standard units, below which the rounding of observations, 2⁻²³, is a hundredth of the standard deviation.
const LEAST_VARIANCE: f32 = 1e-10;
/// A count of observations below which a component is about to vanish.
const LEAST_COUNT: f32 = 1e-3;
/// Below this share of the second moment the new variance is mostly rounding.
const CANCELLED: f32 = 1e-3;
/// Steps after which the noise of single precision keeps a draft from standing still.
const MOST_STEPS: u32 = 3000;
/// −½ log₂ e: natural exponents become exponents of 2.
const RATE: f32 = -0.721_347_5;
const LOG2_ROOT_TWO_PI: f32 = 1.325_748;

/// A number for each of the observations of a vector, or for each component.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Vector([f32; LANES]);

impl Vector {
    const ZERO: Self = Self([0.0; LANES]);
}

/// Where a draft ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ending {
    /// Where mclust would stop, with the log-likelihood there in standard units, to single precision.
    Settled(State, f64),
    /// Where single precision carries no further.
    HandedOver(State),
}

/// The observations in single precision and the memory of a pass.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    values: Vec<Vector>,
    weights: Vec<Vector>,
    total: f64,
    density: Box<[[Vector; TILE]; MOST_COMPONENTS]>,
}

impl Default for Draft {
    fn default() -> Self {
        let density = Box::new([[Vector::ZERO; TILE]; MOST_COMPONENTS]);
        Self { values: Vec::new(), weights: Vec::new(), total: 0.0, density }
    }
}

impl Draft {
    /// Takes the observations of `points`, padded to whole vectors with weight zero.
    pub(super) fn refill(&mut self, points: &Points) {
        let end = points.values().last().map_or(0.0, |x| *x as f32);
        let vectors = |from: &[f64], padding: f32, to: &mut Vec<Vector>| {
            to.clear();
            for chunk in from.chunks(LANES) {
                let mut vector = Vector([padding; LANES]);
                for (single, double) in vector.0.iter_mut().zip(chunk) {
                    *single = *double as f32;
                }
                to.push(vector);
            }
        };
        vectors(points.values(), end, &mut self.values);
        vectors(points.weights(), 0.0, &mut self.weights);
        self.total = points.total();
    }

    /// mclust's steps from `start` until it would stop, or single precision does not suffice.
    pub(super) fn run(&mut self, start: &State, rule: &Rule) -> Ending {
        steps(&self.values, &self.weights, self.total, &mut self.density, start, rule)
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx512bw", "x86_64+avx2"))]
fn steps(
    values: &[Vector],
    weights: &[Vector],
    total: f64,
    density: &mut [[Vector; TILE]; MOST_COMPONENTS],
    start: &State,
    rule: &Rule,
) -> Ending {
    let offset = total * rule.log_unit;
    let mut laws = Laws::new(start);
    let mut last = f64::INFINITY;
    for _ in 0..MOST_STEPS {
        let sums = accumulate(values, weights, &laws, density);
        // Written so that a density that is not a number hands over.
        let is_near = sums.least_density > LEAST_DENSITY;
        if !is_near {
            break;
        }
        let in_standard_units = LN_2 * sums.log2_likelihood;
        let log_likelihood = in_standard_units - offset;
        if (log_likelihood - last).abs() <= TOLERANCE * (1.0 + log_likelihood.abs()) {
            return Ending::Settled(laws.state(), in_standard_units);
        }
        match laws.maximised(&sums, total as f32, rule.model) {
            Some(next) => laws = next,
            None => break,
        }
        last = log_likelihood;
    }
    Ending::HandedOver(laws.state())
}

/// A state as the pass needs it: the logarithm to base 2 of component k's density is `offset` + `rate`·(x − `mean`)².
#[derive(Clone, Debug)]
struct Laws {
    components: usize,
    weight: Vector,
    mean: Vector,
    variance: Vector,
    rate: Vector,
    offset: Vector,
}

/// Σ wᵢ log₂ f(xᵢ), the least f(xᵢ), and the posterior sums of 1, x − μ and (x − μ)².
#[derive(Clone, Debug)]
struct Sums {
    log2_likelihood: f64,
    least_density: f32,
    weight: Vector,
    first: Vector,
    second: Vector,
}

impl Laws {
    #[inline(always)]
    fn new(state: &State) -> Self {
        let single = |values: &[f64; MOST_COMPONENTS], padding: f32| {
            let mut vector = Vector([padding; LANES]);
            for k in 0..state.components {
                vector.0[k] = values[k] as f32;
            }
            vector
        };
        let (weight, mean) = (single(&state.weight, 1.0), single(&state.mean, 0.0));
        Self::with_densities(state.components, weight, mean, single(&state.variance, 1.0))
    }

    #[inline(always)]
    fn with_densities(components: usize, weight: Vector, mean: Vector, variance: Vector) -> Self {
        let (mut rate, mut offset) = (Vector::ZERO, Vector::ZERO);
        for k in 0..LANES {
            rate.0[k] = RATE / variance.0[k];
            offset.0[k] = log2_single(weight.0[k]) - 0.5 * log2_single(variance.0[k]) - LOG2_ROOT_TWO_PI;
        }
        Self { components, weight, mean, variance, rate, offset }
    }

    fn state(&self) -> State {
        let mut state = State { components: self.components, ..State::default() };
        for k in 0..self.components {
            state.weight[k] = f64::from(self.weight.0[k]);
            state.mean[k] = f64::from(self.mean.0[k]);
            state.variance[k] = f64::from(self.variance.0[k]);
        }
        state
    }

    /// The M-step; `None` where a component is too faint or narrow for single precision.
    #[inline(always)]
    fn maximised(&self, sums: &Sums, total: f32, model: VarianceModel) -> Option<Self> {
        let (mut weight, mut mean, mut variance) = (Vector::ZERO, Vector::ZERO, Vector::ZERO);
        let (mut spread, mut is_sound) = (Vector::ZERO, true);
        // Places beyond the components become weight zero, mean unchanged and variance zero.
        for k in 0..LANES {
            let count = if sums.weight.0[k] > 0.0 { sums.weight.0[k] } else { 1.0 };
            let shift = sums.first.0[k] / count;
            weight.0[k] = sums.weight.0[k] / total;
            mean.0[k] = self.mean.0[k] + shift;
            spread.0[k] = sums.second.0[k] - sums.first.0[k] * shift;
            variance.0[k] = spread.0[k] / count;
        }
        if model == VarianceModel::Equal {
            // The places beyond the components have spread zero and second moment zero.
            let pooled = total_of(&spread);
            is_sound &= pooled > CANCELLED * total_of(&sums.second);
            variance = Vector([pooled / total; LANES]);
        }
        for k in 0..self.components {
            is_sound &= sums.weight.0[k] > LEAST_COUNT && variance.0[k] > LEAST_VARIANCE;
            is_sound &= model == VarianceModel::Equal || spread.0[k] > CANCELLED * sums.second.0[k];
        }
        is_sound.then(|| Self::with_densities(self.components, weight, mean, variance))
    }

    /// The components that matter to any observation from `low` to `high`; see `kernel`.
    #[inline(always)]
    fn near(&self, low: f32, high: f32) -> [bool; LANES] {
        let (mut least, mut largest) = (Vector::ZERO, Vector::ZERO);
        for k in 0..LANES {
            let (a, b) = (low - self.mean.0[k], high - self.mean.0[k]);
            let log_a = self.offset.0[k] + self.rate.0[k] * (a * a);
            let log_b = self.offset.0[k] + self.rate.0[k] * (b * b);
            let at_ends = if log_a > log_b { log_a } else { log_b };
            least.0[k] = if log_a < log_b { log_a } else { log_b };
            largest.0[k] = if a <= 0.0 && b >= 0.0 { self.offset.0[k] } else { at_ends };
        }
        let floor = least.0[..self.components].iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
        largest.0.map(|largest| largest > floor + NEGLIGIBLE_LOG)
    }
}

#[inline(always)]
fn accumulate(
    values: &[Vector],
    weights: &[Vector],
    laws: &Laws,
    density: &mut [[Vector; TILE]; MOST_COMPONENTS],
) -> Sums {
    let mut log2_likelihood = [0.0_f64; LANES];
    let mut least = [f32::INFINITY; LANES];
    let mut moments = [[Vector::ZERO; LANES]; 3];
    for (x, w) in values.chunks(TILE).zip(weights.chunks(TILE)) {
        let near = if values.len() <= TILE {
            [true; LANES]
        } else {
            laws.near(x[0].0[0], x[x.len() - 1].0[LANES - 1])
        };
        let mut total = [Vector::ZERO; TILE];
        for k in 0..laws.components {
            if near[k] {
                add_density(x, laws.mean.0[k], laws.rate.0[k], laws.offset.0[k], &mut density[k], &mut total);
            }
        }
        let mut logs = [0.0_f32; LANES];
        for (total, w) in total.iter_mut().zip(w) {
            for lane in 0..LANES {
                let f = total.0[lane];
                least[lane] = if f < least[lane] { f } else { least[lane] };
                logs[lane] += w.0[lane] * log2_single(f);
                total.0[lane] = w.0[lane] / f;
            }
        }
        for lane in 0..LANES {
            log2_likelihood[lane] += f64::from(logs[lane]);
        }
        for k in 0..laws.components {
            if near[k] {
                add_moments(x, &total, &density[k], laws.mean.0[k], k, &mut moments);
            }
        }
    }
    let [weight, first, second] = folded(&moments, laws.components);
    Sums {
        log2_likelihood: log2_likelihood.iter().sum(),
        least_density: least.iter().fold(f32::INFINITY, |a, b| a.min(*b)),
        weight,
        first,
        second,
    }
}

#[inline(always)]
fn add_density(
    x: &[Vector],
    mean: f32,
    rate: f32,
    offset: f32,
    row: &mut [Vector; TILE],
    total: &mut [Vector; TILE],
) {
    for ((x, row), total) in x.iter().zip(row).zip(total) {
        for lane in 0..LANES {
            let d = x.0[lane] - mean;
            let g = exp2_single(offset + rate * (d * d));
            row.0[lane] = g;
            total.0[lane] += g;
        }
    }
}

#[inline(always)]
fn add_moments(
    x: &[Vector],
    ratio: &[Vector; TILE],
    row: &[Vector; TILE],
    mean: f32,
    k: usize,
    sums: &mut [[Vector; LANES]; 3],
) {
    let [mut weight, mut first, mut second] = [sums[0][k].0, sums[1][k].0, sums[2][k].0];
    for ((x, ratio), row) in x.iter().zip(ratio).zip(row) {
        for lane in 0..LANES {
            let d = x.0[lane] - mean;
            let posterior = row.0[lane] * ratio.0[lane];
            let weighted = posterior * d;
            weight[lane] += posterior;
            first[lane] += weighted;
            second[lane] += weighted * d;
        }
    }
    (sums[0][k].0, sums[1][k].0, sums[2][k].0) = (weight, first, second);
}

/// The lanes of each sum in a fixed order: halves, and halves of halves, then for all components at once. Beyond the
/// components the sums are zero.
#[inline(always)]
fn folded(sums: &[[Vector; LANES]; 3], components: usize) -> [Vector; 3] {
    let mut quarters = [[[0.0_f32; LANES / 4]; LANES]; 3];
    let mut result = [Vector::ZERO; 3];
    for (sums, quarters) in sums.iter().zip(&mut quarters) {
        for (sum, quarter) in sums.iter().zip(quarters).take(components) {
            let halves: [f32; LANES / 2] = std::array::from_fn(|lane| sum.0[lane] + sum.0[lane + LANES / 2]);
            *quarter = std::array::from_fn(|lane| halves[lane] + halves[lane + LANES / 4]);
        }
    }
    for (quarters, result) in quarters.iter().zip(&mut result) {
        for (quarter, result) in quarters.iter().zip(&mut result.0) {
            *result = (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
        }
    }
    result
}

#[inline(always)]
fn total_of(row: &Vector) -> f32 {
    let halves: [f32; LANES / 2] = std::array::from_fn(|lane| row.0[lane] + row.0[lane + LANES / 2]);
    let quarters: [f32; LANES / 4] = std::array::from_fn(|lane| halves[lane] + halves[lane + LANES / 4]);
    (quarters[0] + quarters[2]) + (quarters[1] + quarters[3])
}
