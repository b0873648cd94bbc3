//! The relabellings that a permutation law is made of: which pooled observations are the baseline's, or which pairs are exchanged.
//!
//! All of them while they are few, else seeded draws. The draws depend on the numbers of observations only, so that samples of the
//! same sizes have the same ones, whoever asks.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng as _;
use speedup_core::value::seed::Seed;
use std::sync::OnceLock;

/// Relabellings that are enumerated; beyond them the law is by draws.
const MOST_ENUMERATED: f64 = 20_000.0;
/// Draws up to each stage. The last finds a p-value of 1e-5, which a thousand adjusted comparisons may ask for.
const STAGES: [usize; 4] = [2_000, 8_000, 32_000, 128_000];
/// Observations of all draws together, a twentieth of a second: large samples have fewer draws.
const MOST_DRAWN: usize = 1 << 24;
/// Beyond so many observations in all nothing is drawn: the law of so many is the limit's.
const MOST_OBSERVATIONS: usize = 1 << 15;
/// The draws are the same in every report.
const SEED: Seed = Seed(0x7472_696d_6d65_6421);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Labels {
    /// So many of `all` observations are of the first of two samples.
    Choice { first: usize, all: usize },
    /// Each of so many pairs may be exchanged.
    Signs(usize),
}

/// The relabellings of several independent strata, as bits: one row a relabelling, in it the words of one stratum after the other.
#[derive(Debug)]
pub(super) struct Relabellings {
    strata: Vec<Labels>,
    is_complete: bool,
    stages: [OnceLock<Vec<u64>>; STAGES.len()],
}

impl Labels {
    fn bits(self) -> usize {
        match self {
            Self::Choice { all, .. } => all,
            Self::Signs(pairs) => pairs,
        }
    }

    /// Words of 64 bits that hold one relabelling.
    pub(super) fn words(self) -> usize {
        self.bits().div_ceil(64)
    }

    /// Whether the two labels are alike: exchanging them makes a relabelling of the same kind.
    pub(super) fn is_symmetric(self) -> bool {
        match self {
            Self::Choice { first, all } => 2 * first == all,
            Self::Signs(_) => true,
        }
    }

    fn count(self) -> f64 {
        match self {
            Self::Choice { first, all } => {
                (0..first.min(all - first)).map(|i| (all - i) as f64 / (i + 1) as f64).product()
            }
            Self::Signs(pairs) => 2_f64.powi(i32::try_from(pairs).unwrap_or(i32::MAX)),
        }
    }

    /// All relabellings; a stratum that is enumerated fits into one word.
    fn all(self) -> Vec<u64> {
        let bits = self.bits();
        match self {
            Self::Signs(_) => (0..1_u64 << bits).collect(),
            Self::Choice { first, all } => {
                let mut rows = Vec::new();
                let mut chosen: Vec<usize> = (0..first).collect();
                loop {
                    rows.push(chosen.iter().fold(0, |word, bit| word | 1_u64 << bit));
                    // The last choice that can still move up does, and those behind it follow closely.
                    let Some(place) = (0..first).rev().find(|&place| chosen[place] < all - first + place)
                    else {
                        return rows;
                    };
                    chosen[place] += 1;
                    for behind in place + 1..first {
                        chosen[behind] = chosen[behind - 1] + 1;
                    }
                }
            }
        }
    }

    fn draw(self, random: &mut ChaCha8Rng, order: &mut Vec<usize>, row: &mut [u64]) {
        let bits = self.bits();
        match self {
            Self::Signs(_) => {
                for bit in 0..bits {
                    row[bit / 64] |= below(2, random) << (bit % 64);
                }
            }
            Self::Choice { first, all } => {
                if order.len() != all {
                    *order = (0..all).collect();
                }
                // The smaller sample is drawn; the larger one is what it leaves.
                let drawn = first.min(all - first);
                for place in 0..drawn {
                    let from = place + below((all - place) as u64, random) as usize;
                    order.swap(place, from);
                    row[order[place] / 64] |= 1 << (order[place] % 64);
                }
                if drawn < first {
                    for (word, bits) in row.iter_mut().enumerate() {
                        let used = (all - 64 * word).min(64);
                        *bits = !*bits & (u64::MAX >> (64 - used));
                    }
                }
            }
        }
    }
}

impl Relabellings {
    pub(super) fn new(strata: Vec<Labels>) -> Self {
        let count: f64 = strata.iter().map(|labels| labels.count()).product();
        let is_complete = count <= MOST_ENUMERATED && strata.iter().all(|labels| labels.words() == 1);
        Self { strata, is_complete, stages: Default::default() }
    }

    /// Whether these are all relabellings, so that the law is exact.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// How many stages there are; none where the samples are so large that nothing is drawn.
    pub(super) fn stages(&self) -> usize {
        let observations: usize = self.strata.iter().map(|labels| labels.bits()).sum();
        if self.is_complete {
            1
        } else if observations > MOST_OBSERVATIONS {
            0
        } else {
            let fitting = STAGES.iter().filter(|draws| *draws * observations <= MOST_DRAWN).count();
            fitting.max(1)
        }
    }

    /// The least p-value that the relabellings can show.
    pub(super) fn finest(&self) -> f64 {
        if self.is_complete {
            return 1.0 / self.strata.iter().map(|labels| labels.count()).product::<f64>();
        }
        match self.stages() {
            0 => 0.0,
            stages => 1.0 / (STAGES[stages - 1] + 1) as f64,
        }
    }

    pub(super) fn words(&self) -> usize {
        self.strata.iter().map(|labels| labels.words()).sum()
    }

    /// The rows that a stage adds to those before it.
    pub(super) fn rows(&self, stage: usize) -> impl Iterator<Item = &[u64]> {
        let bits = self.stages[stage]
            .get_or_init(|| if self.is_complete { self.enumerate() } else { self.draw(stage) });
        bits.chunks_exact(self.words())
    }

    fn enumerate(&self) -> Vec<u64> {
        let mut rows: Vec<Vec<u64>> = vec![Vec::new()];
        for labels in &self.strata {
            let all = labels.all();
            rows = rows
                .iter()
                .flat_map(|row| all.iter().map(move |bits| [row.as_slice(), &[*bits]].concat()))
                .collect();
        }
        rows.concat()
    }

    fn draw(&self, stage: usize) -> Vec<u64> {
        let before = if stage == 0 { 0 } else { STAGES[stage - 1] };
        let mut random = SEED.child(&format!("relabellings, stage {stage}"));
        let mut orders = vec![Vec::new(); self.strata.len()];
        let mut bits = vec![0; (STAGES[stage] - before) * self.words()];
        for row in bits.chunks_exact_mut(self.words()) {
            let mut from = 0;
            for (labels, order) in self.strata.iter().zip(&mut orders) {
                let to = from + labels.words();
                labels.draw(&mut random, order, &mut row[from..to]);
                from = to;
            }
        }
        bits
    }
}

/// A number below `bound`; each is equally likely but for 2^-64 of `bound`, which no count of draws shows.
fn below(bound: u64, random: &mut ChaCha8Rng) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_relabellings_are_enumerated_each_once() {
        for (first, all, expected) in [(2, 4, 6), (3, 6, 20), (5, 7, 21), (1, 9, 9)] {
            let relabellings = Relabellings::new(vec![Labels::Choice { first, all }]);
            let mut rows: Vec<u64> = relabellings.rows(0).map(|row| row[0]).collect();
            assert!(relabellings.is_complete() && rows.iter().all(|row| row.count_ones() as usize == first));
            rows.sort_unstable();
            rows.dedup();
            assert_eq!(rows.len(), expected);
        }
        let product = Relabellings::new(vec![Labels::Choice { first: 2, all: 4 }, Labels::Signs(3)]);
        assert_eq!(product.rows(0).count(), 6 * 8);
    }

    #[test]
    fn each_observation_is_drawn_as_often_as_its_sample_is_large() {
        for (first, all) in [(10, 70), (60, 70), (35, 70), (2, 130)] {
            let relabellings = Relabellings::new(vec![Labels::Choice { first, all }]);
            assert!(first == 2 || !relabellings.is_complete());
            let mut counts = vec![0_u32; all];
            let mut rows = 0_u32;
            for row in relabellings.rows(0) {
                rows += 1;
                assert_eq!(row.iter().map(|word| word.count_ones()).sum::<u32>() as usize, first);
                for (bit, count) in counts.iter_mut().enumerate() {
                    *count += u32::from(row[bit / 64] >> (bit % 64) & 1 == 1);
                }
            }
            let share = first as f64 / all as f64;
            let error = (share * (1.0 - share) / f64::from(rows)).sqrt();
            for count in counts {
                let off = (f64::from(count) / f64::from(rows) - share) / error;
                assert!(off.abs() < 4.5, "{first} of {all}: {off}");
            }
        }
    }
}
