//! The sample in single precision, in vectors and tiles of vectors.

/// Vectors of observations at a time: as many sums of densities stay in registers.
pub(super) const TILE: usize = 4;
/// The same for samples that fit into one tile of this width.
pub(super) const NARROW_TILE: usize = 2;
/// The same for samples that do not fit into one [`TILE`], but into one of this width: 112 observations.
pub(super) const WIDE_TILE: usize = 7;
/// What the multiplicities are multiplied with. The density of a far component is the least normal number; its posterior
/// sums would be smaller yet, and processors take a hundred cycles for a number that is not normal.
pub(in crate::mixture) const LIFT: f32 = 16_777_216.0;

/// Distinct values in ascending order with their multiplicities, padded to whole tiles with weight zero.
#[derive(Clone, Debug, Default)]
pub(super) struct Observations {
    values: Vec<Vector>,
    lifted_weights: Vec<Vector>,
    total: f64,
    tile: usize,
    is_tied: bool,
}

impl Observations {
    /// Takes ascending `values` that occur so often; zero in the padding.
    pub(super) fn refill(&mut self, values: &[f64], weights: &[f64]) {
        let end = values.last().map_or(0.0, |x| *x as f32);
        fill(&mut self.values, values, 1.0, end);
        fill(&mut self.lifted_weights, weights, LIFT, 0.0);
        self.total = weights.iter().sum();
        self.tile = tile_of(self.values.len());
        self.is_tied = weights.iter().any(|weight| *weight > 1.0);
    }

    pub(super) fn values(&self) -> &[Vector] {
        &self.values
    }

    /// How many observations have each value, times [`LIFT`]; zero in the padding.
    pub(super) fn lifted_weights(&self) -> &[Vector] {
        &self.lifted_weights
    }

    pub(super) fn total(&self) -> f64 {
        self.total
    }

    /// How many vectors are in a tile.
    pub(super) fn tile(&self) -> usize {
        self.tile
    }

    /// Whether some observations are equal.
    pub(super) fn is_tied(&self) -> bool {
        self.is_tied
    }
}

/// Replaces the contents of `to` by `factor` times the numbers `from`, and `padding` up to a whole tile.
fn fill(to: &mut Vec<Vector>, from: &[f64], factor: f32, padding: f32) {
    to.clear();
    for chunk in from.chunks(LANES) {
        let mut vector = Vector([padding; LANES]);
        for (single, double) in vector.0.iter_mut().zip(chunk) {
            *single = factor * *double as f32;
        }
        to.push(vector);
    }
    to.resize(to.len().next_multiple_of(tile_of(to.len())), Vector([padding; LANES]));
}

/// The width of the tiles of so many vectors.
fn tile_of(vectors: usize) -> usize {
    let widths = [NARROW_TILE, TILE, WIDE_TILE];
    widths.into_iter().find(|width| vectors <= *width).unwrap_or(TILE)
}

/// Width of the sums, and the places for components: one vector of the widest kind, two or four of the others.
pub(in crate::mixture) const LANES: usize = 16;

/// A number for each of the observations of a vector, or for each component.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(in crate::mixture) struct Vector(pub(in crate::mixture) [f32; LANES]);

impl Vector {
    pub(in crate::mixture) const ZERO: Self = Self([0.0; LANES]);
}

/// All lanes joined by `join` in a fixed order: halves, and halves of halves.
#[inline(always)]
pub(super) fn folded<T: Copy>(lanes: &[T; LANES], join: impl Fn(T, T) -> T) -> T {
    let [a, b, c, d] = quartered(lanes, &join);
    join(join(a, c), join(b, d))
}

/// The first two of the four joins of [`folded`].
#[inline(always)]
pub(super) fn quartered<T: Copy>(lanes: &[T; LANES], join: impl Fn(T, T) -> T) -> [T; LANES / 4] {
    let halves: [T; LANES / 2] = std::array::from_fn(|lane| join(lanes[lane], lanes[lane + LANES / 2]));
    std::array::from_fn(|lane| join(halves[lane], halves[lane + LANES / 4]))
}
