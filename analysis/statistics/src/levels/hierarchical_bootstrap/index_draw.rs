//! Indices below a bound, each equally likely, several from one random word.
//!
//! A word times the bound is an index above the point and a fraction below it, and the fraction serves as the
//! word for the next index. After several indices whose bounds multiply to p, all combinations are exactly
//! equally likely if words whose last fraction falls below 2⁶⁴ mod p are drawn again (Lemire, ACM Transactions
//! on Modeling and Computer Simulation 29, 2019; Brackett-Rozinsky and Lemire, Software: Practice and
//! Experience 55, 2025).

use super::generator::Generator;

/// Products of bounds stay below this, so that a word is drawn again less than once in 256 times.
const LARGEST_PRODUCT: u64 = 1 << 56;

/// Draws a fixed number of indices below one bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexDraw {
    bound: u64,
    per_word: usize,
    redraw_below: u64,
    redraw_last_below: u64,
}

impl IndexDraw {
    /// Draws `count` indices below `bound`.
    pub(super) fn new(bound: usize, count: usize) -> Self {
        let bound = bound as u64;
        debug_assert!(0 < bound && bound < LARGEST_PRODUCT);
        let mut per_word = 1;
        let mut product = bound;
        while bound > 1 && product.saturating_mul(bound) < LARGEST_PRODUCT {
            product *= bound;
            per_word += 1;
        }
        // Indices below 1 cost no bits: any number fits one word.
        let per_word = if bound == 1 { count + 1 } else { per_word };
        let last_product = bound.pow((count % per_word) as u32);
        Self {
            bound,
            per_word,
            redraw_below: remainder_of_a_word(product),
            redraw_last_below: remainder_of_a_word(last_product),
        }
    }

    /// Fills `into`, which has as many places as indices are drawn.
    pub(super) fn write(&self, generator: &mut Generator<1>, into: &mut [u32]) {
        let mut chunks = into.chunks_exact_mut(self.per_word);
        for chunk in &mut chunks {
            word(generator, self.redraw_below, |fraction| fill(chunk, fraction, self.bound));
        }
        let last = chunks.into_remainder();
        word(generator, self.redraw_last_below, |fraction| fill(last, fraction, self.bound));
    }
}

fn fill(into: &mut [u32], fraction: &mut u64, bound: u64) {
    for slot in into {
        *slot = index(fraction, bound) as u32;
    }
}

/// Has `take` make indices of a word, until one does not favour any combination of them.
#[inline]
fn word(generator: &mut Generator<1>, redraw_below: u64, mut take: impl FnMut(&mut u64)) {
    loop {
        let [mut fraction] = generator.next();
        take(&mut fraction);
        if fraction >= redraw_below {
            return;
        }
    }
}

#[inline]
fn index(fraction: &mut u64, bound: u64) -> usize {
    let product = u128::from(*fraction) * u128::from(bound);
    *fraction = product as u64;
    (product >> 64) as usize
}

/// 2⁶⁴ mod `product`.
fn remainder_of_a_word(product: u64) -> u64 {
    (u64::MAX % product + 1) % product
}

#[cfg(test)]
mod tests {
    use super::*;
    use speedup_core::value::seed::Seed;

    #[test]
    fn every_index_is_as_likely() {
        for (bound, count) in [(20, 7), (8000, 6), (12_000, 1), (1, 5), (2, 100)] {
            let draw = IndexDraw::new(bound, count);
            let mut generator = Generator::new(Seed(7), "test", 0);
            let mut drawn = vec![0_u32; count];
            let mut sum = 0.0;
            let rounds = 4000;
            for _ in 0..rounds {
                draw.write(&mut generator, &mut drawn);
                assert!(drawn.iter().all(|&at| (at as usize) < bound));
                sum += drawn.iter().map(|&at| f64::from(at)).sum::<f64>();
            }
            let draws = (rounds * count) as f64;
            let mean = (bound - 1) as f64 / 2.0;
            let variance = ((bound * bound - 1) as f64) / 12.0;
            let deviation = (sum / draws - mean) / (variance / draws).sqrt().max(f64::MIN_POSITIVE);
            assert!(deviation.abs() < 4.5, "{bound}: {deviation} standard errors off");
        }
    }

    #[test]
    fn words_that_favour_an_index_are_those_drawn_again() {
        assert_eq!(remainder_of_a_word(3), 1);
        assert_eq!(remainder_of_a_word(1 << 32), 0);
        assert_eq!(remainder_of_a_word(1), 0);
    }
}
