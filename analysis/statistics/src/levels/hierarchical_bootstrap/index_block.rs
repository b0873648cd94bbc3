//! Many indices below one bound, each equally likely: a hundred at a time, in vectors.
//!
//! Half a word times the bound is an index above the point and a fraction below it; words whose fraction falls below 2³² mod
//! the bound would favour an index and are drawn again (Lemire, ACM Transactions on Modeling and Computer Simulation 29, 2019).

use super::generator::Generator;

/// Streams side by side: several vectors of the widest kind, so that the compiler makes a loop of them.
pub(super) const LANES: usize = 64;
/// Indices of one step: two a word.
const OF_A_STEP: usize = 2 * LANES;

/// The streams of blocks.
pub(super) type Streams = Generator<LANES>;

/// Fills `into` with indices below `bound`.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx512bw", "x86_64+avx2"))]
pub(super) fn fill(streams: &mut Streams, bound: u32, into: &mut [u32]) {
    // 2³² mod the bound.
    let redraw_below = bound.wrapping_neg() % bound;
    let (steps, rest) = into.as_chunks_mut::<OF_A_STEP>();
    for step in steps {
        take_step(streams, bound, redraw_below, step);
    }
    if !rest.is_empty() {
        let mut step = [0; OF_A_STEP];
        take_step(streams, bound, redraw_below, &mut step);
        rest.copy_from_slice(&step[..rest.len()]);
    }
}

#[inline(always)]
fn take_step(streams: &mut Streams, bound: u32, redraw_below: u32, indices: &mut [u32; OF_A_STEP]) {
    let words = streams.next();
    let mut fractions = [0; OF_A_STEP];
    let mut least = u32::MAX;
    for lane in 0..LANES {
        let lower = (words[lane] & u64::from(u32::MAX)) * u64::from(bound);
        let upper = (words[lane] >> 32) * u64::from(bound);
        (indices[lane], fractions[lane]) = ((lower >> 32) as u32, lower as u32);
        (indices[lane + LANES], fractions[lane + LANES]) = ((upper >> 32) as u32, upper as u32);
        least = least.min(lower as u32).min(upper as u32);
    }
    if least < redraw_below {
        redraw(streams, bound, redraw_below, indices, &fractions);
    }
}

/// Draws anew the indices whose fractions favour them.
#[cold]
#[inline(never)]
fn redraw(
    streams: &mut Streams,
    bound: u32,
    redraw_below: u32,
    indices: &mut [u32; OF_A_STEP],
    fractions: &[u32; OF_A_STEP],
) {
    for (index, fraction) in indices.iter_mut().zip(fractions) {
        let mut fraction = *fraction;
        while fraction < redraw_below {
            let product = (streams.next()[0] >> 32) * u64::from(bound);
            (*index, fraction) = ((product >> 32) as u32, product as u32);
        }
    }
}

/// Indices below one bound in rows of [`LANES`]: four a word, two from each half of it.
///
/// The fraction of the first index is the word of the second, and half-words whose last fraction falls below 2³² mod the
/// bound's square are drawn again.
#[derive(Clone, Debug)]
pub(super) struct Quads {
    rows: [[u32; LANES]; 4],
    taken: usize,
    bound: u32,
    redraw_below: u32,
}

impl Quads {
    /// Indices below `bound`, which is below 2¹⁶.
    #[inline(always)]
    pub(super) fn new(bound: u32) -> Self {
        let square = bound * bound;
        let redraw_below = square.wrapping_neg() % square;
        Self { rows: [[0; LANES]; 4], taken: 4, bound, redraw_below }
    }

    /// The next rows, at least one and at most so many.
    #[inline(always)]
    pub(super) fn next(&mut self, streams: &mut Streams, most: usize) -> &[[u32; LANES]] {
        if self.taken == self.rows.len() {
            self.refill(streams);
            self.taken = 0;
        }
        let start = self.taken;
        self.taken = (start + most).min(self.rows.len());
        &self.rows[start..self.taken]
    }

    #[inline(always)]
    fn refill(&mut self, streams: &mut Streams) {
        const LOWER: u64 = u32::MAX as u64;
        let words = streams.next();
        let bound = u64::from(self.bound);
        let [a, b, c, d] = &mut self.rows;
        let mut fractions = [[0; LANES]; 2];
        let mut least = u32::MAX;
        for lane in 0..LANES {
            let lower = (words[lane] & LOWER) * bound;
            let of_lower = (lower & LOWER) * bound;
            let upper = (words[lane] >> 32) * bound;
            let of_upper = (upper & LOWER) * bound;
            (a[lane], b[lane]) = ((lower >> 32) as u32, (of_lower >> 32) as u32);
            (c[lane], d[lane]) = ((upper >> 32) as u32, (of_upper >> 32) as u32);
            (fractions[0][lane], fractions[1][lane]) = (of_lower as u32, of_upper as u32);
            least = least.min(of_lower as u32).min(of_upper as u32);
        }
        if least < self.redraw_below {
            self.redraw(streams, &fractions);
        }
    }

    /// Draws anew the pairs of indices whose fractions favour them.
    #[cold]
    #[inline(never)]
    fn redraw(&mut self, streams: &mut Streams, fractions: &[[u32; LANES]; 2]) {
        let bound = u64::from(self.bound);
        for (rows, fractions) in self.rows.chunks_exact_mut(2).zip(fractions) {
            for (lane, &fraction) in fractions.iter().enumerate() {
                let mut fraction = fraction;
                while fraction < self.redraw_below {
                    let first = (streams.next()[0] >> 32) * bound;
                    let second = u64::from(first as u32) * bound;
                    (rows[0][lane], rows[1][lane]) = ((first >> 32) as u32, (second >> 32) as u32);
                    fraction = second as u32;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use speedup_core::value::seed::Seed;

    #[test]
    fn every_index_is_as_likely() {
        // The last bound has nearly half of all words drawn again.
        for bound in [1, 2, 20, 400, 8000, 12_001, (1 << 31) + 1] {
            let mut streams = Streams::new(Seed(7), "test", 0);
            let mut drawn = vec![0; OF_A_STEP * 250 + 5];
            fill(&mut streams, bound, &mut drawn);
            assert!(drawn.iter().all(|&at| at < bound));
            let draws = drawn.len() as f64;
            let bound = f64::from(bound);
            let sum = drawn.iter().map(|&at| f64::from(at)).sum::<f64>();
            let mean = (bound - 1.0) / 2.0;
            let variance = (bound * bound - 1.0) / 12.0;
            let deviation = (sum / draws - mean) / (variance / draws).sqrt().max(f64::MIN_POSITIVE);
            assert!(deviation.abs() < 4.5, "{bound}: {deviation} standard errors off");
        }
    }

    #[test]
    fn every_pair_of_a_half_word_is_as_likely() {
        // Of the last bound's half-words a third is drawn again.
        for bound in [1, 2, 7, 20, 400, 8000, 53_509] {
            let mut streams = Streams::new(Seed(7), "test", 2);
            let mut quads = Quads::new(bound);
            let mut sum = 0.0;
            let mut products = 0.0;
            let mut last = 0.0;
            let rounds = 400;
            let mean = (f64::from(bound) - 1.0) / 2.0;
            let variance = (f64::from(bound).powi(2) - 1.0) / 12.0;
            for row in 0..rounds {
                for &at in &quads.next(&mut streams, 1)[0] {
                    assert!(at < bound);
                    sum += f64::from(at) - mean;
                }
                let of_lane = f64::from(quads.rows[quads.taken - 1][5]) - mean;
                products += if row % 2 == 1 { last * of_lane } else { 0.0 };
                last = of_lane;
            }
            let draws = f64::from(rounds) * LANES as f64;
            let error = (variance * draws).sqrt().max(f64::MIN_POSITIVE);
            assert!(sum.abs() <= 4.5 * error, "{bound}: {sum}, {error}");
            let error = variance * (f64::from(rounds) / 2.0).sqrt();
            assert!(products.abs() <= 4.5 * error, "{bound}: neighbours go together, {products}, {error}");
        }
    }

    #[test]
    fn all_places_of_a_step_are_drawn_apart() {
        let mut streams = Streams::new(Seed(7), "test", 1);
        let mut drawn = vec![0; 1024];
        fill(&mut streams, u32::MAX, &mut drawn);
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 1024);
    }
}
