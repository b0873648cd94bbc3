//! The relabellings that a permutation law is made of: which pooled observations are the baseline's, or which pairs are exchanged.
//!
//! All of them while they are few, else seeded draws. The seed is the order of the pooled observations, so that the same samples have
//! the same draws, whoever asks and in whatever unit. Samples of one size have different ones: a relabelling is one of ranks, and
//! shared draws would shift all p-values alike.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng as _;
use speedup_core::value::seed::Seed;
use std::ops::ControlFlow;
use std::sync::OnceLock;

/// Relabellings that are enumerated; beyond them the law is by draws, which stop earlier.
const MOST_ENUMERATED: f64 = 8_192.0;
/// Relabellings that are enumerated where draws for a small level would be as many: an interval goes through all of them for each shift.
const MOST_REFINED: f64 = 32_768.0;
/// Draws of a block, each of which has its own child of the seed.
const BLOCK: usize = 500;
/// Blocks that are kept for the next hypothesis; a p-value that takes more draws is asked for once.
const KEPT_BLOCKS: usize = 8;
/// Observations of all draws together, a twentieth of a second: large samples have fewer draws.
const MOST_DRAWN: usize = 1 << 24;
/// Where even the version with fewer observations has more, nothing is drawn: the law of so many is the limit's.
const MOST_OF_SMALLER: usize = 500;
/// The parent of all seeds of draws.
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
    /// What the draws are seeded by.
    key: String,
    is_complete: bool,
    kept: [OnceLock<Vec<u64>>; KEPT_BLOCKS],
}

impl Labels {
    fn bits(self) -> usize {
        match self {
            Self::Choice { all, .. } => all,
            Self::Signs(pairs) => pairs,
        }
    }

    /// The observations of the version with fewer, or the pairs.
    fn fewest(self) -> usize {
        match self {
            Self::Choice { first, all } => first.min(all - first),
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

    /// How many relabellings there are.
    pub(super) fn count(self) -> f64 {
        match self {
            Self::Choice { first, all } => {
                (0..first.min(all - first)).map(|i| (all - i) as f64 / (i + 1) as f64).product()
            }
            Self::Signs(pairs) => 2_f64.powi(i32::try_from(pairs).unwrap_or(i32::MAX)),
        }
    }

    /// How many of them leave a trimmed mean as it is, where `cut` observations are left out at each end and the versions are wholly apart: those
    /// that the upper version loses below and the lower one above may be exchanged, or the smallest differences turned around.
    pub(super) fn hidden(self, cut: [usize; 2]) -> f64 {
        match self {
            Self::Choice { .. } => Self::Choice { first: cut[0], all: cut[0] + cut[1] }.count(),
            Self::Signs(_) => Self::Signs(cut[0]).count(),
        }
    }

    /// One name for the labels of the places that are `told` and those of the versions exchanged.
    pub(super) fn unordered(self, row: &[u64], told: &[u64]) -> Vec<u64> {
        let exchanged: Vec<u64> = row.iter().zip(told).map(|(word, told)| !word & told).collect();
        let is_exchanged = match self {
            Self::Choice { first, all } if 2 * first != all => 2 * first > all,
            Self::Choice { .. } | Self::Signs(_) => exchanged.as_slice() < row,
        };
        if is_exchanged { exchanged } else { row.to_vec() }
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
                for (word, bits_before) in row.iter_mut().zip((0..bits).step_by(64)) {
                    *word = random.next_u64() >> (64 - (bits - bits_before).min(64));
                }
            }
            Self::Choice { first, all } => {
                if order.len() != all {
                    *order = (0..all).collect();
                }
                // The smaller sample is drawn; the larger one is what it leaves.
                let drawn = first.min(all - first);
                for place in 0..drawn {
                    let from = place + below(all - place, random);
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
    /// Those of `strata`; draws of another `key` are others.
    pub(super) fn new(strata: Vec<Labels>, key: String) -> Self {
        let count: f64 = strata.iter().map(|labels| labels.count()).product();
        let is_complete = count <= MOST_ENUMERATED && strata.iter().all(|labels| labels.words() == 1);
        Self { strata, key, is_complete, kept: Default::default() }
    }

    /// Enumerates them where they are fewer than the draws that a comparison takes.
    pub(super) fn refine(&mut self, draws: f64) {
        let is_of_words = self.strata.iter().all(|labels| labels.words() == 1);
        if !self.is_complete && is_of_words && self.count() <= draws.min(MOST_REFINED) {
            self.is_complete = true;
            self.kept = Default::default();
        }
    }

    /// Whether these are all relabellings, so that the law is exact.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// How many there are to look at; none where the samples are so large that nothing is drawn.
    pub(super) fn most(&self) -> usize {
        let observations: usize = self.strata.iter().map(|labels| labels.bits()).sum();
        if self.is_complete {
            self.count().round() as usize
        } else if self.strata.iter().all(|labels| labels.fewest() > MOST_OF_SMALLER) {
            0
        } else {
            MOST_DRAWN / observations
        }
    }

    /// The least p-value that all relabellings can show, of which `hidden` have the same statistic.
    pub(super) fn finest(&self, hidden: f64) -> f64 {
        if self.most() == 0 { 0.0 } else { hidden / self.count().round() }
    }

    pub(super) fn count(&self) -> f64 {
        self.strata.iter().map(|labels| labels.count()).product()
    }

    fn words(&self) -> usize {
        self.strata.iter().map(|labels| labels.words()).sum()
    }

    /// Looks at one relabelling after the other, [`Relabellings::most`] of them unless `look` breaks off.
    pub(super) fn visit(&self, mut look: impl FnMut(&[u64]) -> ControlFlow<()>) {
        if self.is_complete {
            let rows = self.kept[0].get_or_init(|| self.enumerate());
            let _ = rows.chunks_exact(self.words()).try_for_each(look);
            return;
        }
        let most = self.most();
        for block in 0..most.div_ceil(BLOCK) {
            let further;
            let rows = match self.kept.get(block) {
                Some(kept) => kept.get_or_init(|| self.draw(block)),
                None => {
                    further = self.draw(block);
                    &further
                }
            };
            let left = (most - block * BLOCK).min(BLOCK);
            if rows.chunks_exact(self.words()).take(left).try_for_each(&mut look).is_break() {
                return;
            }
        }
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

    fn draw(&self, block: usize) -> Vec<u64> {
        let mut random = SEED.child(&format!("relabellings of {}, block {block}", self.key));
        let mut orders = vec![Vec::new(); self.strata.len()];
        let mut bits = vec![0; BLOCK * self.words()];
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

/// A number below `bound`; each is equally likely but for 2^-32 of `bound`, which no count of draws shows.
fn below(bound: usize, random: &mut ChaCha8Rng) -> usize {
    ((u64::from(random.next_u32()) * bound as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All rows, or some that are kept and some that are not.
    fn all_rows(relabellings: &Relabellings) -> Vec<Vec<u64>> {
        let mut rows = Vec::new();
        relabellings.visit(|row| {
            rows.push(row.to_vec());
            if rows.len() < 2 * KEPT_BLOCKS * BLOCK {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        rows
    }

    #[test]
    fn few_relabellings_are_enumerated_each_once() {
        for (first, all, expected) in [(2, 4, 6), (3, 6, 20), (5, 7, 21), (1, 9, 9)] {
            let relabellings = Relabellings::new(vec![Labels::Choice { first, all }], String::new());
            let mut rows: Vec<u64> = all_rows(&relabellings).iter().map(|row| row[0]).collect();
            assert!(relabellings.is_complete() && rows.iter().all(|row| row.count_ones() as usize == first));
            rows.sort_unstable();
            rows.dedup();
            assert_eq!(rows.len(), expected);
        }
        let product =
            Relabellings::new(vec![Labels::Choice { first: 2, all: 4 }, Labels::Signs(3)], String::new());
        assert_eq!(all_rows(&product).len(), 6 * 8);
    }

    #[test]
    fn each_observation_is_drawn_as_often_as_its_sample_is_large() {
        for (first, all) in [(10, 70), (60, 70), (35, 70), (2, 130)] {
            let relabellings = Relabellings::new(vec![Labels::Choice { first, all }], String::new());
            assert!(first == 2 || !relabellings.is_complete());
            let mut counts = vec![0_u32; all];
            let mut rows = 0_u32;
            for row in all_rows(&relabellings) {
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
