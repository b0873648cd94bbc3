//! One pass over the observations: the log-likelihood at given parameters, and the sums of the next M-step.
//!
//! E-step and M-step share the pass: a tile of observations stays in the first-level cache while its densities,
//! posteriors and moments are computed. Sums run in [`LANES`] fixed lanes, so the vector instructions that the
//! processor offers change the speed and not one bit of the result.

use super::state::{MOST_COMPONENTS, State, Sums};
use super::{exponential::exp, exponential::ln, points::LANES, points::Points};

/// Observations at a time: 9 × 64 densities are 4.5 KiB.
const TILE: usize = 64;
/// A density (in standard units) below which the tile is done again relative to each observation's largest component.
const LEAST_DENSITY: f64 = 1e-280;
/// A component whose densities stay below e⁻⁵⁰ of the mixture's all over a tile adds nothing to a double.
const NEGLIGIBLE_LOG: f64 = -50.0;

/// A number for each observation of a tile, where vector loads and stores touch one cache line each.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Tile([f64; TILE]);

impl Tile {
    const ZERO: Self = Self([0.0; TILE]);
}

/// The memory of a pass.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    density: [Tile; MOST_COMPONENTS],
}

impl Default for Kernel {
    fn default() -> Self {
        Self { density: [Tile::ZERO; MOST_COMPONENTS] }
    }
}

impl Kernel {
    /// The pass over `points` at `state`.
    pub(super) fn pass(&mut self, points: &Points, state: &State) -> Sums {
        accumulate(points.values(), points.weights(), &Densities::new(state), &mut self.density)
    }
}

/// A state as the pass needs it: component k's density is `factor` · exp(`rate`·(x − μ)²).
struct Densities {
    components: usize,
    mean: [f64; MOST_COMPONENTS],
    factor: [f64; MOST_COMPONENTS],
    rate: [f64; MOST_COMPONENTS],
}

impl Densities {
    #[inline(always)]
    fn new(state: &State) -> Self {
        const ROOT_TWO_PI: f64 = 2.506_628_274_631_000_7;
        let mut densities = Self {
            components: state.components,
            mean: state.mean,
            factor: [0.0; MOST_COMPONENTS],
            rate: [0.0; MOST_COMPONENTS],
        };
        for k in 0..state.components {
            densities.rate[k] = -0.5 / state.variance[k];
            densities.factor[k] = state.weight[k] / (state.variance[k].sqrt() * ROOT_TWO_PI);
        }
        densities
    }

    #[inline(always)]
    fn log_factors(&self) -> [f64; MOST_COMPONENTS] {
        self.factor.map(|factor| if factor > 0.0 { ln(factor) } else { f64::NEG_INFINITY })
    }

    #[inline(always)]
    fn exponent_at(&self, k: usize, x: f64) -> f64 {
        let d = x - self.mean[k];
        self.rate[k] * (d * d)
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx512bw", "x86_64+avx2"))]
fn accumulate(
    values: &[f64],
    weights: &[f64],
    densities: &Densities,
    density: &mut [Tile; MOST_COMPONENTS],
) -> Sums {
    let components = densities.components;
    let mut log_likelihood = [0.0; LANES];
    let mut sums = [[[0.0; LANES]; 3]; MOST_COMPONENTS];
    let is_one_tile = values.len() <= TILE;
    let log_factors = if is_one_tile { [0.0; MOST_COMPONENTS] } else { densities.log_factors() };
    for (x, w) in values.chunks(TILE).zip(weights.chunks(TILE)) {
        let mut total = Tile::ZERO;
        let mut near = [true; MOST_COMPONENTS];
        if !is_one_tile {
            near = near_components(x, densities, &log_factors);
        }
        for k in 0..components {
            if near[k] {
                let row = &mut density[k].0[..x.len()];
                add_density(x, densities.mean[k], densities.rate[k], densities.factor[k], row, &mut total);
            }
        }
        if least(&total.0[..x.len()]) < LEAST_DENSITY {
            near = [true; MOST_COMPONENTS];
            log_likelihood[0] += rescue(x, w, densities, density, &mut total);
        }
        let mut ratio = Tile::ZERO;
        add_logarithms(w, &total, &mut ratio, &mut log_likelihood);
        for k in 0..components {
            if near[k] {
                add_moments(x, &ratio, &density[k], densities.mean[k], &mut sums[k]);
            }
        }
    }
    let mut result = Sums { log_likelihood: folded(&log_likelihood), ..Sums::default() };
    for (k, [weight, first, second]) in sums.iter().take(components).enumerate() {
        (result.weight[k], result.first[k], result.second[k]) =
            (folded(weight), folded(first), folded(second));
    }
    result
}

#[inline(always)]
fn least(total: &[f64]) -> f64 {
    let mut lanes = [f64::INFINITY; LANES];
    for chunk in total.chunks_exact(LANES) {
        for lane in 0..LANES {
            lanes[lane] = if chunk[lane] < lanes[lane] { chunk[lane] } else { lanes[lane] };
        }
    }
    lanes.iter().fold(f64::INFINITY, |a, b| a.min(*b))
}

/// The components that matter to any observation of a tile in ascending order. A Gaussian density has its least value
/// over an interval at an end, and its largest at an end or at its mean.
#[inline(always)]
fn near_components(
    x: &[f64],
    densities: &Densities,
    log_factors: &[f64; MOST_COMPONENTS],
) -> [bool; MOST_COMPONENTS] {
    let low = x[0];
    let high = x[x.len() - 1];
    let mut largest = [f64::NEG_INFINITY; MOST_COMPONENTS];
    let mut floor = f64::NEG_INFINITY;
    for k in 0..densities.components {
        let log_at = |x: f64| log_factors[k] + densities.exponent_at(k, x);
        let a = log_at(low);
        let b = log_at(high);
        floor = floor.max(a.min(b));
        let within = low <= densities.mean[k] && densities.mean[k] <= high;
        largest[k] = if within { log_factors[k] } else { a.max(b) };
    }
    largest.map(|largest| largest > floor + NEGLIGIBLE_LOG)
}

#[inline(always)]
fn add_density(x: &[f64], mean: f64, rate: f64, factor: f64, row: &mut [f64], total: &mut Tile) {
    let lanes = x.chunks_exact(LANES).zip(row.chunks_exact_mut(LANES)).zip(total.0.chunks_exact_mut(LANES));
    for ((x, row), total) in lanes {
        for lane in 0..LANES {
            let d = x[lane] - mean;
            let g = factor * exp(rate * (d * d));
            row[lane] = g;
            total[lane] += g;
        }
    }
}

#[inline(always)]
fn add_logarithms(w: &[f64], total: &Tile, ratio: &mut Tile, sum: &mut [f64; LANES]) {
    let lanes = w.chunks_exact(LANES).zip(total.0.chunks_exact(LANES)).zip(ratio.0.chunks_exact_mut(LANES));
    for ((w, total), ratio) in lanes {
        for lane in 0..LANES {
            ratio[lane] = w[lane] / total[lane];
            sum[lane] += w[lane] * ln(total[lane]);
        }
    }
}

#[inline(always)]
fn add_moments(x: &[f64], ratio: &Tile, row: &Tile, mean: f64, sums: &mut [[f64; LANES]; 3]) {
    let [mut weight, mut first, mut second] = *sums;
    let lanes = x.chunks_exact(LANES).zip(ratio.0.chunks_exact(LANES)).zip(row.0.chunks_exact(LANES));
    for ((x, ratio), row) in lanes {
        for lane in 0..LANES {
            let d = x[lane] - mean;
            let posterior = row[lane] * ratio[lane];
            weight[lane] += posterior;
            first[lane] += posterior * d;
            second[lane] += posterior * d * d;
        }
    }
    *sums = [weight, first, second];
}

/// The densities of a tile relative to the largest at each observation, which no distance makes vanish; returns Σ w ln
/// of what they are relative to. A component weaker than e⁻⁶⁹⁰ of the largest is zero.
#[cold]
#[inline(never)]
fn rescue(
    x: &[f64],
    w: &[f64],
    densities: &Densities,
    density: &mut [Tile; MOST_COMPONENTS],
    total: &mut Tile,
) -> f64 {
    let log_factors = densities.log_factors();
    let mut sum = 0.0;
    for (i, (&x, &w)) in x.iter().zip(w).enumerate() {
        let logs: [f64; MOST_COMPONENTS] = std::array::from_fn(|k| {
            if k < densities.components {
                log_factors[k] + densities.exponent_at(k, x)
            } else {
                f64::NEG_INFINITY
            }
        });
        let largest = logs.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        total.0[i] = 0.0;
        for k in 0..densities.components {
            let relative = logs[k] - largest;
            density[k].0[i] = exp(relative);
            total.0[i] += density[k].0[i];
        }
        sum += w * largest;
    }
    sum
}

/// The lanes in a fixed order.
#[inline(always)]
fn folded(lanes: &[f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = *lanes;
    ((a + e) + (b + f)) + ((c + g) + (d + h))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direct(values: &[f64], state: &State) -> Sums {
        let densities = Densities::new(state);
        let mut sums = Sums::default();
        for &x in values {
            let log = |k: usize| densities.factor[k].ln() + densities.exponent_at(k, x);
            let logs: Vec<f64> = (0..state.components).map(log).collect();
            let largest = logs.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
            let total: f64 = logs.iter().map(|log| libm::exp(log - largest)).sum();
            sums.log_likelihood += largest + total.ln();
            for (k, log) in logs.iter().enumerate() {
                let posterior = libm::exp(log - largest) / total;
                let d = x - state.mean[k];
                sums.weight[k] += posterior;
                sums.first[k] += posterior * d;
                sums.second[k] += posterior * d * d;
            }
        }
        sums
    }

    fn agree(a: &[f64; MOST_COMPONENTS], b: &[f64; MOST_COMPONENTS], scale: f64) {
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() <= 1e-12 * scale, "{a:e} {b:e}");
        }
    }

    #[test]
    fn the_tiles_add_up_to_the_definition_near_and_far() {
        let values: Vec<f64> = (0..301).map(|i| f64::from(i) / 40.0 - 3.0).chain([90.0, 90.5]).collect();
        for spread in [1e-3, 0.05, 0.7, 4.0] {
            let mut state = State { components: 4, ..State::default() };
            for k in 0..4 {
                state.weight[k] = [0.1, 0.2, 0.3, 0.4][k];
                state.mean[k] = [-2.5, 0.0, 1.5, 4.0][k];
                state.variance[k] = spread * spread * [1.0, 0.5, 2.0, 1.5][k];
            }
            let mut points = Points::default();
            points.refill(&values, 0.0, 1.0);
            let got = Kernel::default().pass(&points, &state);
            let expected = direct(&values, &state);
            let scale = expected.log_likelihood.abs();
            assert!((got.log_likelihood - expected.log_likelihood).abs() <= 1e-13 * scale);
            agree(&got.weight, &expected.weight, 300.0);
            agree(&got.first, &expected.first, 30_000.0);
            agree(&got.second, &expected.second, 3_000_000.0);
        }
    }
}
