//! The rank-sum test within blocks: van Elteren's (On the combination of independent two-sample tests of Wilcoxon, Bulletin
//! of the International Statistical Institute 37, 1960, 351–361).
//!
//! The rank sums of the blocks are added with the weights 1/(Nₕ + 1), which are the best where the versions differ by one
//! shift in all blocks. Observations of different blocks are never compared, so that blocks may differ as they like.

use crate::inference::{Alternative, Caveat, PValue};
use crate::{distribution::normal, sample::Sample, test::LeastPValues, test::RankSumStatistic};
use thiserror::Error;

/// Van Elteren's statistic with its law, normal given the ties of each block.
///
/// ```
/// use speedup_statistics::sample::Sample;
/// use speedup_statistics::test::VanElteren;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // A fast and a slow class of hosts.
/// let (a, b) = (Sample::new(vec![4.0, 3.0])?, Sample::new(vec![1.0, 2.0])?);
/// let (c, d) = (Sample::new(vec![70.0])?, Sample::new(vec![60.0, 80.0, 90.0])?);
/// let test = VanElteren::new(&[(&a, &b), (&c, &d)])?;
/// // The first version is greater in 4 of 4 and in 1 of 3 pairs; both blocks have four runs.
/// assert_eq!(test.blocks(), 2);
/// assert!((test.probability_greater() - 5.0 / 7.0).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VanElteren {
    /// Σ (Wₕ − nₕmₕ/2)/(Nₕ + 1).
    distance: f64,
    variance: f64,
    blocks: usize,
    /// Σ Wₕ/(Nₕ + 1) over Σ nₕmₕ/(Nₕ + 1).
    probability: f64,
    /// No p-value is below these: the probabilities of the most extreme order in every block.
    least: LeastPValues,
}

/// Why blocks were not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum VanElterenError {
    #[error("no block has runs of both versions")]
    NoBlock,
    #[error("all runs of a block took the same time, so there is nothing to rank")]
    Constant,
}

speedup_core::hints! { VanElterenError:
    Self::NoBlock => "let both versions run on hosts of each class",
    Self::Constant => "use a finer clock",
}

impl VanElteren {
    /// The method's full name.
    pub const NAME: &'static str = "van Elteren test (rank sums within blocks, normal, tie correction)";

    /// Of the blocks' two samples.
    ///
    /// # Errors
    /// [`VanElterenError`] without blocks, or where nothing varies within them.
    pub fn new(blocks: &[(&Sample, &Sample)]) -> Result<Self, VanElterenError> {
        if blocks.is_empty() {
            return Err(VanElterenError::NoBlock);
        }
        let mut distance = 0.0;
        let mut variance = 0.0;
        let mut won = 0.0;
        let mut compared = 0.0;
        let mut least = LeastPValues { greater: 1.0, less: 1.0 };
        for (x, y) in blocks {
            let statistic = RankSumStatistic::new(x, y);
            let n = x.len() as f64;
            let m = y.len() as f64;
            let all = n + m;
            let weight = 1.0 / (all + 1.0);
            distance += weight * (statistic.w() - n * m / 2.0);
            variance += weight * weight * statistic.variance();
            won += weight * statistic.w();
            compared += weight * n * m;
            let of_block = LeastPValues::new(x, y);
            least.greater *= of_block.greater;
            least.less *= of_block.less;
        }
        // Below the least variance of one pair among a million runs: nothing but ties.
        if variance <= f64::EPSILON {
            return Err(VanElterenError::Constant);
        }
        Ok(Self { distance, variance, blocks: blocks.len(), probability: won / compared, least })
    }

    /// The blocks.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// The statistic in its standard deviations.
    pub fn z(&self) -> f64 {
        self.distance / self.variance.sqrt()
    }

    /// The estimated probability that an observation of the first version is greater than one of the second in its block.
    pub fn probability_greater(&self) -> f64 {
        self.probability
    }

    /// What must be known: that the law is not exact.
    pub fn caveats(&self) -> Vec<Caveat> {
        vec![Caveat::NormalApproximation]
    }

    /// The p-value against `alternative`, said of the first version's observations.
    pub fn p_value(&self, alternative: Alternative) -> PValue {
        let tails = normal::tails(self.z());
        let p_value = alternative.p_value(tails.lower, tails.upper).get();
        PValue::clamped(p_value.max(self.least.against(alternative)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{inference::Continuity, test::NormalRankSum};
    use rand::RngExt as _;
    use speedup_core::value::seed::Seed;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).unwrap()
    }

    #[test]
    fn of_one_block_it_is_the_rank_sum_test() {
        let x = sample(&[3.0, 5.0, 5.0, 8.0, 9.0]);
        let y = sample(&[1.0, 2.0, 5.0, 6.0]);
        let found = VanElteren::new(&[(&x, &y)]).unwrap();
        let plain = NormalRankSum::new(&x, &y, Continuity::Uncorrected);
        for alternative in [Alternative::Greater, Alternative::Less] {
            let [a, b] = [found.p_value(alternative).get(), plain.p_value(alternative).get()];
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
    }

    /// By hand: blocks of 2 + 2 and 1 + 3 without ties.
    #[test]
    fn blocks_are_weighted_by_their_size() {
        let a = sample(&[4.0, 3.0]);
        let b = sample(&[1.0, 2.0]);
        let c = sample(&[70.0]);
        let d = sample(&[60.0, 80.0, 90.0]);
        let found = VanElteren::new(&[(&a, &b), (&c, &d)]).unwrap();
        // W = 4 of 4 pairs and 1 of 3: (4 − 2)/5 + (1 − 1.5)/5 = 0.3; variances 2·2·5/12/25 + 1·3·5/12/25.
        let variance = (20.0_f64 / 12.0 + 15.0 / 12.0) / 25.0;
        assert!((found.z() - 0.3 / variance.sqrt()).abs() < 1e-12);
        assert!((found.probability_greater() - 5.0 / 7.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_to_compare_is_refused() {
        let same = sample(&[1.0, 1.0]);
        assert_eq!(VanElteren::new(&[]), Err(VanElterenError::NoBlock));
        assert_eq!(VanElteren::new(&[(&same, &same)]), Err(VanElterenError::Constant));
    }

    /// Blocks far apart, versions spread unevenly over them: without blocks the test would reject nearly always.
    #[test]
    fn blocks_that_differ_raise_no_false_alarm() {
        let mut random = Seed(11).child("van elteren");
        let mut rejected = 0;
        for _ in 0..2_000 {
            let mut draw = |n: usize, at: f64| {
                sample(&(0..n).map(|_| at + random.random::<f64>()).collect::<Vec<f64>>())
            };
            let a = draw(12, 0.0);
            let b = draw(4, 0.0);
            let c = draw(4, 9.0);
            let d = draw(12, 9.0);
            let test = VanElteren::new(&[(&a, &b), (&c, &d)]).unwrap();
            rejected += u32::from(test.p_value(Alternative::TwoSided).get() <= 0.05);
        }
        // 100 are expected; three standard deviations are 29.
        assert!((65..=130).contains(&rejected), "{rejected}");
    }
}
