//! One pass over the observations of every lane: their log-likelihoods, and the sums of their next M-step.

#![expect(clippy::needless_range_loop, reason = "a lane has the same place in several vectors")]

use super::lane_laws::{LaneLaw, LaneLaws, Sums};
use crate::mixture::exponential::{exp2_single, split_single};
use crate::mixture::{draft::LANES, draft::LIFT, draft::Vector, state::MOST_COMPONENTS};

/// Observations of each lane at a time. Plans mostly have multiples of five runs.
pub(super) const TILE: usize = 5;

/// A component at a tile: the distances u of the observations from its mean, and its densities there.
#[derive(Clone, Copy, Debug)]
struct Row {
    distance: [Vector; TILE],
    density: [Vector; TILE],
}

/// The rows of a tile.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    rows: [Row; MOST_COMPONENTS],
}

impl Default for Memory {
    fn default() -> Self {
        let row = Row { distance: [Vector::ZERO; TILE], density: [Vector::ZERO; TILE] };
        Self { rows: [row; MOST_COMPONENTS] }
    }
}

/// The pass over `values`, `size` observations and padding up to whole tiles; no lane has more than `components`.
#[inline(always)]
pub(super) fn accumulate(
    values: &[Vector],
    size: usize,
    laws: &LaneLaws,
    components: usize,
    memory: &mut Memory,
) -> Sums {
    let Memory { rows } = memory;
    let mut sums = Sums::ZERO;
    let (tiles, _) = values.as_chunks::<TILE>();
    for (tile, x) in tiles.iter().enumerate() {
        let mut total = [Vector::ZERO; TILE];
        // None is left out where it is far: seldom is it far in every lane, and to ask costs as much as it saves.
        for k in 0..components {
            add_density(x, &laws.laws[k], &mut rows[k], &mut total);
        }
        let observed = (size - tile * TILE).min(TILE);
        divide(&mut total, observed, &mut sums);
        for k in 0..components {
            let sums = [&mut sums.weight[k], &mut sums.first[k], &mut sums.second[k]];
            add_moments(&total, &rows[k], sums);
        }
    }
    for k in 0..components {
        for sum in [&mut sums.weight[k], &mut sums.first[k], &mut sums.second[k]] {
            for lane in 0..LANES {
                sum.0[lane] /= LIFT;
            }
        }
    }
    sums
}

/// A component at a tile, its densities added to `total`.
#[inline(always)]
fn add_density(x: &[Vector; TILE], law: &LaneLaw, row: &mut Row, total: &mut [Vector; TILE]) {
    for v in 0..TILE {
        for lane in 0..LANES {
            let u = law.slope.0[lane].mul_add(x[v].0[lane], law.start.0[lane]);
            let density = exp2_single((-u).mul_add(u, law.offset.0[lane]));
            row.distance[v].0[lane] = u;
            row.density[v].0[lane] = density;
            total[v].0[lane] += density;
        }
    }
}

/// Replaces the densities f of a tile by [`LIFT`]/f, and those of the padding after `observed` by 0.
#[inline(always)]
fn divide(density: &mut [Vector; TILE], observed: usize, sums: &mut Sums) {
    let Sums { mut exponents, mut product, mut least_density, .. } = *sums;
    for density in density.iter_mut().take(observed) {
        for lane in 0..LANES {
            let f = density.0[lane];
            let (exponent, factor) = split_single(f);
            exponents[lane] += exponent;
            product.0[lane] *= factor;
            least_density.0[lane] = if f < least_density.0[lane] { f } else { least_density.0[lane] };
            density.0[lane] = LIFT / f;
        }
    }
    for density in density.iter_mut().skip(observed) {
        *density = Vector::ZERO;
    }
    for lane in 0..LANES {
        let (exponent, factor) = split_single(product.0[lane]);
        exponents[lane] += exponent;
        product.0[lane] = factor;
    }
    (sums.exponents, sums.product, sums.least_density) = (exponents, product, least_density);
}

/// Adds the posterior sums of 1, u and u² over a tile.
#[inline(always)]
fn add_moments(ratio: &[Vector; TILE], row: &Row, sums: [&mut Vector; 3]) {
    let [weight, first, second] = sums;
    let (mut w, mut f, mut s) = (*weight, *first, *second);
    for v in 0..TILE {
        for lane in 0..LANES {
            let u = row.distance[v].0[lane];
            let posterior = row.density[v].0[lane] * ratio[v].0[lane];
            let weighted = posterior * u;
            w.0[lane] += posterior;
            f.0[lane] += weighted;
            s.0[lane] = weighted.mul_add(u, s.0[lane]);
        }
    }
    (*weight, *first, *second) = (w, f, s);
}
