//! Randomness by name. Every consumer draws from its own named child of the experiment's seed, so that a new consumer
//! never shifts the numbers of another.

use std::fmt;

use rand_chacha::{ChaCha8Rng, rand_core::Rng as _, rand_core::SeedableRng as _};
use serde::{Deserialize, Serialize};

/// The seed of an experiment. The same plan and seed give the same order of runs, on any machine and in any release
/// (ChaCha8 is value-stable; the child's key is BLAKE3 in key-derivation mode over name and seed).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

/// Bits of a drawn seed: every reader of JSON keeps such a number, and TOML too.
const DRAWN_BITS: u32 = 53;

impl Seed {
    /// The seed of a plan that names none, of bits that the caller drew.
    pub const fn drawn(random: u64) -> Self {
        Self(random & ((1 << DRAWN_BITS) - 1))
    }

    /// The generator for one named purpose.
    pub fn child(self, purpose: &str) -> ChaCha8Rng {
        let context = format!("speedup seed v1 {purpose}");
        ChaCha8Rng::from_seed(blake3::derive_key(&context, &self.0.to_le_bytes()))
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Shuffles in place (Fisher–Yates from the end, Durstenfeld 1964), written here with [`below`] because the order of runs is part of
/// the record and must not change with a library.
pub fn shuffle<T>(items: &mut [T], random: &mut ChaCha8Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(last as u64 + 1, random) as usize);
    }
}

/// A number below `bound`, each equally likely: draws beyond the last whole multiple of `bound` are drawn again.
///
/// # Panics
/// When `bound` is zero: there is no such number.
pub fn below(bound: u64, random: &mut ChaCha8Rng) -> u64 {
    let whole = u64::MAX - u64::MAX % bound;
    loop {
        let drawn = random.next_u64();
        if drawn < whole {
            return drawn % bound;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_independent_and_stable() {
        let draw = |seed, purpose| Seed(seed).child(purpose).next_u64();
        assert_eq!(draw(42, "order"), draw(42, "order"));
        assert_ne!(draw(42, "order"), draw(42, "population"));
        assert_ne!(draw(42, "order"), draw(43, "order"));
    }

    #[test]
    fn the_shuffle_of_seed_42_never_changes() {
        let mut items: Vec<u32> = (0..8).collect();
        shuffle(&mut items, &mut Seed(42).child("order"));
        let mut sorted = items.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..8).collect::<Vec<_>>());
        assert_eq!(items, GOLDEN);
    }

    const GOLDEN: [u32; 8] = [1, 2, 0, 3, 4, 5, 7, 6];
}
