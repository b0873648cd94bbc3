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

/// Draws a fixed number of indices below one bound, and one below another.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexDraw {
    bound: u64,
    last_bound: u64,
    full_words: usize,
    per_word: usize,
    redraw_below: u64,
    in_last_word: usize,
    redraw_last_below: u64,
}

impl IndexDraw {
    /// Draws `count` indices below `bound`, and then one below `last_bound`, which is at most `bound`.
    pub(super) fn new(bound: usize, count: usize, last_bound: usize) -> Self {
        let (bound, last_bound) = (bound as u64, last_bound as u64);
        debug_assert!((1..=bound).contains(&last_bound) && bound < LARGEST_PRODUCT);
        let mut per_word = 1;
        let mut product = bound;
        while bound > 1 && product.saturating_mul(bound) < LARGEST_PRODUCT {
            product *= bound;
            per_word += 1;
        }
        // Indices below 1 cost no bits: any number fits one word.
        let per_word = if bound == 1 { count + 1 } else { per_word };
        let in_last_word = count % per_word;
        let last_product = bound.pow(in_last_word as u32) * last_bound;
        Self {
            bound,
            last_bound,
            full_words: count / per_word,
            per_word,
            redraw_below: remainder_of_a_word(product),
            in_last_word,
            redraw_last_below: remainder_of_a_word(last_product),
        }
    }

    /// Draws `count` indices below `bound`.
    pub(super) fn simple(bound: usize, count: usize) -> Self {
        Self::new(bound, count, 1)
    }

    /// Folds `take` over the indices.
    #[inline]
    pub(super) fn fold<T: Copy>(
        &self,
        generator: &mut Generator,
        start: T,
        take: impl Fn(T, usize) -> T,
    ) -> T {
        let mut folded = start;
        for _ in 0..self.full_words {
            folded = word(generator, self.redraw_below, |fraction| {
                let mut folded = folded;
                for _ in 0..self.per_word {
                    folded = take(folded, index(fraction, self.bound));
                }
                folded
            });
        }
        word(generator, self.redraw_last_below, |fraction| {
            let mut folded = folded;
            for _ in 0..self.in_last_word {
                folded = take(folded, index(fraction, self.bound));
            }
            take(folded, index(fraction, self.last_bound))
        })
    }

    /// Writes the indices into `into`; the one below the last bound is left out.
    pub(super) fn write(&self, generator: &mut Generator, into: &mut [u32]) {
        let (full, last) = into.split_at_mut(self.full_words * self.per_word);
        for chunk in full.chunks_exact_mut(self.per_word) {
            word(generator, self.redraw_below, |fraction| fill(chunk, fraction, self.bound));
        }
        word(generator, self.redraw_last_below, |fraction| fill(last, fraction, self.bound));
    }
}

fn fill(into: &mut [u32], fraction: &mut u64, bound: u64) {
    for slot in into {
        *slot = index(fraction, bound) as u32;
    }
}

/// What `take` makes of a word that does not favour any combination of indices.
#[inline]
fn word<T>(generator: &mut Generator, redraw_below: u64, mut take: impl FnMut(&mut u64) -> T) -> T {
    loop {
        let mut fraction = generator.next();
        let taken = take(&mut fraction);
        if fraction >= redraw_below {
            return taken;
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
    use speedup_core::seed::Seed;

    #[test]
    fn every_index_is_as_likely() {
        for (bound, count, last_bound) in [(20, 7, 3), (8000, 6, 400), (12_000, 1, 1), (1, 5, 1), (2, 100, 2)]
        {
            let draw = IndexDraw::new(bound, count, last_bound);
            let mut generator = Generator::new(Seed(7), "test", 0);
            let mut drawn = vec![0_u32; count];
            let (mut sum, rounds) = (0.0, 4000);
            for _ in 0..rounds {
                draw.write(&mut generator, &mut drawn);
                assert!(drawn.iter().all(|&at| (at as usize) < bound));
                sum += drawn.iter().map(|&at| f64::from(at)).sum::<f64>();
                let seen = draw.fold(&mut generator, 0, |n, at| n + usize::from(at < bound));
                assert_eq!(seen, count + 1);
            }
            let draws = (rounds * count) as f64;
            let (mean, variance) = ((bound - 1) as f64 / 2.0, ((bound * bound - 1) as f64) / 12.0);
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
