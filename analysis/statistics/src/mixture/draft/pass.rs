//! One pass over the observations: the log-likelihood of the laws, and the sums of their next M-step.

#![expect(clippy::needless_range_loop, reason = "a lane has the same place in several vectors")]

use super::laws::{Laws, Sums};
use super::observations::{LANES, LIFT, Observations, Vector, WIDE_TILE, folded, quartered};
use crate::mixture::exponential::{exp2_single, log2_single, split_single};
use crate::mixture::state::MOST_COMPONENTS;

/// A component at a tile: the distances u of the observations from its mean, and its densities there.
#[derive(Clone, Copy, Debug)]
struct Row {
    distance: [Vector; WIDE_TILE],
    density: [Vector; WIDE_TILE],
}

/// The rows of a tile, and the lanes of the lifted sums of 1, u and u² of every component.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    rows: [Row; MOST_COMPONENTS],
    moments: [[Vector; 3]; MOST_COMPONENTS],
}

impl Default for Memory {
    fn default() -> Self {
        let row = Row { distance: [Vector::ZERO; WIDE_TILE], density: [Vector::ZERO; WIDE_TILE] };
        Self { rows: [row; MOST_COMPONENTS], moments: [[Vector::ZERO; 3]; MOST_COMPONENTS] }
    }
}

#[inline(always)]
pub(super) fn accumulate<const TILE: usize>(
    observations: &Observations,
    laws: &Laws,
    memory: &mut Memory,
) -> Sums {
    let Memory { rows, moments } = memory;
    let ratio = &mut [Vector::ZERO; TILE];
    let mut logarithms = Logarithms::ZERO;
    let mut least = [f32::INFINITY; LANES];
    let (values, _) = observations.values().as_chunks::<TILE>();
    let (weights, _) = observations.lifted_weights().as_chunks::<TILE>();
    for (tile, (x, w)) in values.iter().zip(weights).enumerate() {
        let near = if values.len() == 1 {
            [true; MOST_COMPONENTS]
        } else {
            laws.near(x[0].0[0], x[TILE - 1].0[LANES - 1])
        };
        let mut total = [Vector::ZERO; TILE];
        for k in 0..laws.components {
            if near[k] {
                add_density(
                    x,
                    [laws.slope.0[k], laws.start.0[k], laws.offset.0[k]],
                    &mut rows[k],
                    &mut total,
                );
            }
        }
        *ratio = total;
        // Slices whose length the compiler does not know: it would else unroll them into single numbers.
        let (w, total) = (&w[..observations.tile()], &mut ratio[..observations.tile()]);
        if observations.is_tied() {
            divide_tied(w, total, &mut logarithms, &mut least);
        } else {
            divide(w, total, &mut logarithms, &mut least);
        }
        for k in 0..laws.components {
            if near[k] {
                let before = if tile == 0 { [Vector::ZERO; 3] } else { moments[k] };
                moments[k] = moments_after(ratio, &rows[k], &before);
            } else if tile == 0 {
                moments[k] = [Vector::ZERO; 3];
            }
        }
    }
    let [weight, first, second] = sums_of_lanes(moments, laws.components);
    let least_density = folded(&least, |a, b| if b < a { b } else { a });
    Sums { log2_likelihood: logarithms.sum(), least_density, weight, first, second }
}

/// Σ log₂ f lane by lane, as the logarithm of a product whose exponent is counted apart so that it does not vanish: one
/// logarithm a pass. Weighted terms are added up beside it.
#[derive(Clone, Copy, Debug)]
struct Logarithms {
    exponents: [i32; LANES],
    product: [f32; LANES],
    weighted: [f64; LANES],
    has_weighted: bool,
}

impl Logarithms {
    const ZERO: Self =
        Self { exponents: [0; LANES], product: [1.0; LANES], weighted: [0.0; LANES], has_weighted: false };

    #[inline(always)]
    fn sum(&self) -> f64 {
        let exponents = folded(&self.exponents, |a, b| a + b);
        let product = folded(&self.product, |a, b| a * b);
        let weighted = if self.has_weighted { folded(&self.weighted, |a, b| a + b) } else { 0.0 };
        weighted + f64::from(exponents) + f64::from(log2_single(product))
    }
}

/// Replaces the densities f of a tile by w/f, for weights that are [`LIFT`], or 0 in the padding. Each lane's product takes up
/// a factor in [√½, √2) a vector, and gives its own exponent away at the end of the tile.
#[inline(always)]
fn divide(w: &[Vector], density: &mut [Vector], logarithms: &mut Logarithms, least: &mut [f32; LANES]) {
    let Logarithms { mut exponents, mut product, .. } = *logarithms;
    let mut smallest = *least;
    for (w, density) in w.iter().zip(density) {
        for lane in 0..LANES {
            let (w, f) = (w.0[lane], density.0[lane]);
            let (exponent, factor) = split_single(if w > 0.0 { f } else { 1.0 });
            exponents[lane] += exponent;
            product[lane] *= factor;
            smallest[lane] = if f < smallest[lane] { f } else { smallest[lane] };
            density.0[lane] = w / f;
        }
    }
    for lane in 0..LANES {
        let (exponent, factor) = split_single(product[lane]);
        exponents[lane] += exponent;
        product[lane] = factor;
    }
    (logarithms.exponents, logarithms.product) = (exponents, product);
    *least = smallest;
}

/// The same for any weights.
#[inline(always)]
fn divide_tied(w: &[Vector], density: &mut [Vector], logarithms: &mut Logarithms, least: &mut [f32; LANES]) {
    let mut logs = [0.0_f32; LANES];
    for (w, density) in w.iter().zip(density) {
        for lane in 0..LANES {
            let (w, f) = (w.0[lane], density.0[lane]);
            logs[lane] += w / LIFT * log2_single(f);
            least[lane] = if f < least[lane] { f } else { least[lane] };
            density.0[lane] = w / f;
        }
    }
    logarithms.has_weighted = true;
    for lane in 0..LANES {
        logarithms.weighted[lane] += f64::from(logs[lane]);
    }
}

/// A component at a tile, its densities added to `total`.
#[inline(always)]
fn add_density<const TILE: usize>(
    x: &[Vector; TILE],
    [slope, start, offset]: [f32; 3],
    row: &mut Row,
    total: &mut [Vector; TILE],
) {
    for v in 0..TILE {
        for lane in 0..LANES {
            let u = slope.mul_add(x[v].0[lane], start);
            let density = exp2_single((-u).mul_add(u, offset));
            row.distance[v].0[lane] = u;
            row.density[v].0[lane] = density;
            total[v].0[lane] += density;
        }
    }
}

/// `before` and the posterior sums of 1, u and u² over a tile.
#[inline(always)]
fn moments_after<const TILE: usize>(ratio: &[Vector; TILE], row: &Row, before: &[Vector; 3]) -> [Vector; 3] {
    let [mut weight, mut first, mut second] = before.map(|vector| vector.0);
    for ((ratio, distance), density) in ratio.iter().zip(&row.distance).zip(&row.density) {
        for lane in 0..LANES {
            let posterior = density.0[lane] * ratio.0[lane];
            let weighted = posterior * distance.0[lane];
            weight[lane] += posterior;
            first[lane] += weighted;
            second[lane] = weighted.mul_add(distance.0[lane], second[lane]);
        }
    }
    [weight, first, second].map(Vector)
}

/// The lanes of each sum in the order of [`folded`], the last quarters of all components at once. Zero beyond them.
#[inline(always)]
fn sums_of_lanes(moments: &[[Vector; 3]; MOST_COMPONENTS], components: usize) -> [Vector; 3] {
    let mut quarters = [[[0.0_f32; LANES / 4]; LANES]; 3];
    for (k, sums) in moments.iter().enumerate().take(components) {
        for (sum, quarters) in sums.iter().zip(&mut quarters) {
            quarters[k] = quartered(&sum.0, |a, b| a + b);
        }
    }
    let mut result = [Vector::ZERO; 3];
    for (quarters, result) in quarters.iter().zip(&mut result) {
        for (quarter, result) in quarters.iter().zip(&mut result.0) {
            *result = ((quarter[0] + quarter[2]) + (quarter[1] + quarter[3])) / LIFT;
        }
    }
    result
}
