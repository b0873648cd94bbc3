//! The schedule of mclust in single precision: where it ends, at less than half of the price.
//!
//! Sixteen observations share a vector in the expectation, and all components share one in the maximisation. Single
//! precision disturbs a log-likelihood by about 1e-7 of the sum of its terms, a hundredth of the change at which mclust
//! stops, so a draft ends beside the place where the schedule ends; it is finished in double precision. A draft that
//! single precision cannot carry hands over where it stands. As in `kernel`, sums run in fixed lanes and nothing is
//! fused: every width of vector gives the same bits.

#![expect(clippy::needless_range_loop, reason = "a lane has the same place in several vectors")]

use super::exponential::{exp2_single, log2_single, split_single};
use super::points::Points;
use super::schedule::TOLERANCE;
use super::state::{MOST_COMPONENTS, State, VarianceModel};
use std::f64::consts::LN_2;

/// Width of the sums, and the places for components: one vector of the widest kind.
const LANES: usize = 16;
/// Drafts that are computed in turn.
const ABREAST: usize = 2;
/// Vectors of observations at a time: 9 × 4 vectors of densities are 2.3 KiB, and as many sums stay in registers.
const WIDE_TILE: usize = 4;
/// The same for samples that fit into one tile of this width.
const NARROW_TILE: usize = 2;
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

/// Where a draft starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) state: State,
    pub(super) model: VarianceModel,
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
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    points: SinglePoints,
    memory: Memory,
}

/// Distinct values in ascending order with their multiplicities, padded to whole tiles with weight zero.
#[derive(Clone, Debug, Default)]
struct SinglePoints {
    values: Vec<Vector>,
    weights: Vec<Vector>,
    total: f64,
    /// Vectors in a tile.
    tile: usize,
    is_tied: bool,
}

/// Densities of a tile, and the lanes of the sums of 1, x − μ and (x − μ)² of every component.
#[derive(Clone, Debug)]
struct Memory {
    density: [[Vector; WIDE_TILE]; MOST_COMPONENTS],
    moments: [[Vector; 3]; MOST_COMPONENTS],
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            density: [[Vector::ZERO; WIDE_TILE]; MOST_COMPONENTS],
            moments: [[Vector::ZERO; 3]; MOST_COMPONENTS],
        }
    }
}

impl Draft {
    /// Takes the observations of `points`, padded to whole tiles with weight zero.
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
            to.resize(to.len().next_multiple_of(tile_of(to.len())), Vector([padding; LANES]));
        };
        vectors(points.values(), end, &mut self.points.values);
        vectors(points.weights(), 0.0, &mut self.points.weights);
        self.points.total = points.total();
        self.points.tile = tile_of(self.points.values.len());
        self.points.is_tied = points.weights().iter().any(|weight| *weight > 1.0);
    }

    /// mclust's steps from each start until it would stop, or single precision does not suffice. `log_unit` as in
    /// [`super::schedule::Rule`].
    pub(super) fn run(&mut self, starts: &[Start], log_unit: f64) -> Vec<Ending> {
        let offset = self.points.total * log_unit;
        if self.points.tile == NARROW_TILE {
            run_abreast::<NARROW_TILE>(&self.points, offset, &mut self.memory, starts)
        } else {
            run_abreast::<WIDE_TILE>(&self.points, offset, &mut self.memory, starts)
        }
    }
}

/// The width of the tiles of so many vectors.
fn tile_of(vectors: usize) -> usize {
    if vectors <= NARROW_TILE { NARROW_TILE } else { WIDE_TILE }
}

/// A start that is on its way.
#[derive(Clone, Debug)]
struct Course {
    number: usize,
    model: VarianceModel,
    laws: Laws,
    last: f64,
    steps: u32,
}

impl Course {
    #[inline(always)]
    fn new(number: usize, start: &Start) -> Self {
        Self { number, model: start.model, laws: Laws::new(&start.state), last: f64::INFINITY, steps: 0 }
    }

    /// One step with what the pass found; the log-likelihood of mclust's tolerance is `offset` lower.
    #[inline(always)]
    fn advance(&mut self, sums: &Sums, total: f64, offset: f64) -> Option<Ending> {
        let in_standard_units = LN_2 * sums.log2_likelihood;
        let log_likelihood = in_standard_units - offset;
        // Written so that a density that is not a number hands over.
        let is_near = sums.least_density > LEAST_DENSITY;
        if is_near && (log_likelihood - self.last).abs() <= TOLERANCE * (1.0 + log_likelihood.abs()) {
            return Some(Ending::Settled(self.laws.state(), in_standard_units));
        }
        self.last = log_likelihood;
        self.steps += 1;
        let goes_on =
            is_near && self.steps < MOST_STEPS && self.laws.maximise(sums, total as f32, self.model);
        (!goes_on).then(|| Ending::HandedOver(self.laws.state()))
    }
}

/// All starts, [`ABREAST`] at a time: while one waits for its last division the other's densities are computed.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx512bw", "x86_64+avx2"))]
fn run_abreast<const TILE: usize>(
    points: &SinglePoints,
    offset: f64,
    memory: &mut Memory,
    starts: &[Start],
) -> Vec<Ending> {
    let mut endings: Vec<Ending> = starts.iter().map(|start| Ending::HandedOver(start.state)).collect();
    let mut waiting = starts.iter().enumerate().map(|(number, start)| Course::new(number, start));
    let mut courses: Vec<Course> = waiting.by_ref().take(ABREAST).collect();
    while !courses.is_empty() {
        let mut place = 0;
        while place < courses.len() {
            let course = &mut courses[place];
            let sums = accumulate::<TILE>(points, &course.laws, memory);
            place += 1;
            if let Some(ending) = course.advance(&sums, points.total, offset) {
                endings[course.number] = ending;
                match waiting.next() {
                    Some(next) => *course = next,
                    None => {
                        place -= 1;
                        courses.swap_remove(place);
                    }
                }
            }
        }
    }
    endings
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

    /// The M-step, or `false` and no change where a component is too faint or narrow for single precision.
    #[inline(always)]
    fn maximise(&mut self, sums: &Sums, total: f32, model: VarianceModel) -> bool {
        let (mut mean, mut variance, mut spread) = (Vector::ZERO, Vector::ZERO, Vector::ZERO);
        // Places beyond the components have no observations: their mean stays, their spread is zero.
        for k in 0..LANES {
            let count = if sums.weight.0[k] > 0.0 { sums.weight.0[k] } else { 1.0 };
            let shift = sums.first.0[k] / count;
            mean.0[k] = self.mean.0[k] + shift;
            spread.0[k] = sums.second.0[k] - sums.first.0[k] * shift;
            variance.0[k] = spread.0[k] / count;
        }
        let mut second = sums.second;
        if model == VarianceModel::Equal {
            let pooled = folded(&spread.0, |a, b| a + b);
            second = Vector([folded(&sums.second.0, |a, b| a + b); LANES]);
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
        let mut weight = Vector::ZERO;
        for k in 0..LANES {
            weight.0[k] = sums.weight.0[k] / total;
        }
        *self = Self::with_densities(self.components, weight, mean, variance);
        true
    }

    /// The components that matter to any observation from `low` to `high`; see `kernel`.
    #[inline(always)]
    fn near(&self, low: f32, high: f32) -> [bool; MOST_COMPONENTS] {
        let (mut least, mut largest) = (Vector::ZERO, Vector::ZERO);
        for k in 0..LANES {
            let (a, b) = (low - self.mean.0[k], high - self.mean.0[k]);
            let log_a = self.offset.0[k] + self.rate.0[k] * (a * a);
            let log_b = self.offset.0[k] + self.rate.0[k] * (b * b);
            let at_ends = if log_a > log_b { log_a } else { log_b };
            least.0[k] = if log_a < log_b { log_a } else { log_b };
            largest.0[k] = if a <= 0.0 && b >= 0.0 { self.offset.0[k] } else { at_ends };
        }
        // Places beyond the components have weight zero, so log₂ of the least number there is.
        let floor = folded(&least.0, |a, b| if b > a { b } else { a });
        std::array::from_fn(|k| largest.0[k] > floor + NEGLIGIBLE_LOG)
    }
}

#[inline(always)]
fn accumulate<const TILE: usize>(points: &SinglePoints, laws: &Laws, memory: &mut Memory) -> Sums {
    let Memory { density, moments } = memory;
    let ratio = &mut [Vector::ZERO; TILE];
    let mut log2_likelihood = [0.0_f64; LANES];
    let mut least = [f32::INFINITY; LANES];
    let (values, _) = points.values.as_chunks::<TILE>();
    let (weights, _) = points.weights.as_chunks::<TILE>();
    for (tile, (x, w)) in values.iter().zip(weights).enumerate() {
        let near = if values.len() == 1 {
            [true; MOST_COMPONENTS]
        } else {
            laws.near(x[0].0[0], x[TILE - 1].0[LANES - 1])
        };
        let mut total = [Vector::ZERO; TILE];
        for k in 0..laws.components {
            if near[k] {
                let row = add_density(x, laws.mean.0[k], laws.rate.0[k], laws.offset.0[k], &mut total);
                density[k][..TILE].copy_from_slice(&row);
            }
        }
        *ratio = total;
        // Slices whose length the compiler does not know: it would else unroll them into single numbers.
        let total = &mut ratio[..points.tile];
        let w = &w[..points.tile];
        for total in &*total {
            for lane in 0..LANES {
                least[lane] = if total.0[lane] < least[lane] { total.0[lane] } else { least[lane] };
            }
        }
        let logs = if points.is_tied { weighted_logarithms(w, total) } else { logarithms(w, total) };
        for lane in 0..LANES {
            log2_likelihood[lane] += f64::from(logs[lane]);
        }
        for (w, total) in w.iter().zip(total) {
            for lane in 0..LANES {
                total.0[lane] = w.0[lane] / total.0[lane];
            }
        }
        for k in 0..laws.components {
            if near[k] {
                let before = if tile == 0 { [Vector::ZERO; 3] } else { moments[k] };
                moments[k] = moments_after(x, ratio, &density[k], laws.mean.0[k], &before);
            } else if tile == 0 {
                moments[k] = [Vector::ZERO; 3];
            }
        }
    }
    let [weight, first, second] = sums_of_lanes(moments, laws.components);
    let least_density = folded(&least, |a, b| if b < a { b } else { a });
    let log2_likelihood = folded(&log2_likelihood, |a, b| a + b);
    Sums { log2_likelihood, least_density, weight, first, second }
}

/// Σ log₂ f over the vectors of a tile whose weights are 1, or 0 in the padding: one logarithm of the product, whose
/// exponents are counted apart so that it does not vanish.
#[inline(always)]
fn logarithms(w: &[Vector], density: &[Vector]) -> [f32; LANES] {
    let (mut exponents, mut product) = ([0_i32; LANES], [1.0_f32; LANES]);
    for (w, density) in w.iter().zip(density) {
        for lane in 0..LANES {
            let (exponent, factor) = split_single(if w.0[lane] > 0.0 { density.0[lane] } else { 1.0 });
            exponents[lane] += exponent;
            product[lane] *= factor;
        }
    }
    let mut logs = [0.0_f32; LANES];
    for lane in 0..LANES {
        logs[lane] = exponents[lane] as f32 + log2_single(product[lane]);
    }
    logs
}

/// Σ w log₂ f over the vectors of a tile.
#[inline(always)]
fn weighted_logarithms(w: &[Vector], density: &[Vector]) -> [f32; LANES] {
    let mut logs = [0.0_f32; LANES];
    for (w, density) in w.iter().zip(density) {
        for lane in 0..LANES {
            logs[lane] += w.0[lane] * log2_single(density.0[lane]);
        }
    }
    logs
}

/// The densities of a component at a tile, added to `total`.
#[inline(always)]
fn add_density<const TILE: usize>(
    x: &[Vector; TILE],
    mean: f32,
    rate: f32,
    offset: f32,
    total: &mut [Vector; TILE],
) -> [Vector; TILE] {
    let mut row = [Vector::ZERO; TILE];
    for v in 0..TILE {
        for lane in 0..LANES {
            let d = x[v].0[lane] - mean;
            let density = exp2_single(offset + rate * (d * d));
            row[v].0[lane] = density;
            total[v].0[lane] += density;
        }
    }
    row
}

/// `before` and the posterior sums of 1, x − μ and (x − μ)² over a tile.
#[inline(always)]
fn moments_after<const TILE: usize>(
    x: &[Vector; TILE],
    ratio: &[Vector; TILE],
    row: &[Vector; WIDE_TILE],
    mean: f32,
    before: &[Vector; 3],
) -> [Vector; 3] {
    let [mut weight, mut first, mut second] = before.map(|vector| vector.0);
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
            *result = (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
        }
    }
    result
}

/// All lanes joined by `join` in a fixed order: halves, and halves of halves.
#[inline(always)]
fn folded<T: Copy>(lanes: &[T; LANES], join: impl Fn(T, T) -> T) -> T {
    let [a, b, c, d] = quartered(lanes, &join);
    join(join(a, c), join(b, d))
}

#[inline(always)]
fn quartered<T: Copy>(lanes: &[T; LANES], join: impl Fn(T, T) -> T) -> [T; LANES / 4] {
    let halves: [T; LANES / 2] = std::array::from_fn(|lane| join(lanes[lane], lanes[lane + LANES / 2]));
    std::array::from_fn(|lane| join(halves[lane], halves[lane + LANES / 4]))
}
