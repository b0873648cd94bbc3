//! The rank-sum test by the permutation law, given the ties at hand.

use super::tie_groups;
use crate::inference::{Alternative, Caveat, PValue};
use crate::{sample::Sample, test::RankSumError, test::RankSumStatistic};
use serde::Serialize;

/// The test by the permutation law given the ties at hand.
#[derive(Clone, Debug, Serialize)]
pub struct PermutationRankSum {
    statistic: RankSumStatistic,
    #[serde(skip)]
    orders: TiedOrders,
    #[serde(skip)]
    lower: f64,
    #[serde(skip)]
    upper: f64,
}

/// The steps of counting in a law that is asked for by name: a tenth of a second.
const MOST_STEPS: u64 = 100_000_000;
/// The steps of counting in a law that is chosen: a hundredth of a second, since a report has hundreds of tests. Reached
/// beyond 66 observations in each sample, as by the law without ties beyond 65.
const MOST_STEPS_CHOSEN: u64 = 40_000_000;

impl PermutationRankSum {
    /// The method's full name.
    pub const NAME: &'static str = "Wilcoxon–Mann–Whitney rank-sum test (exact, given the ties)";

    /// Compares `x` and `y` by counting all assignments of the mid-ranks at hand.
    ///
    /// # Errors
    /// [`RankSumError::TooLarge`] beyond a hundred million steps of counting.
    pub fn new(x: &Sample, y: &Sample) -> Result<Self, RankSumError> {
        Self::within(x, y, MOST_STEPS)
    }

    /// The same where it is cheap enough to be used unasked.
    pub(super) fn chosen(x: &Sample, y: &Sample) -> Result<Self, RankSumError> {
        Self::within(x, y, MOST_STEPS_CHOSEN)
    }

    fn within(x: &Sample, y: &Sample, most_steps: u64) -> Result<Self, RankSumError> {
        let orders = TiedOrders::new(x, y);
        let n = x.len();
        let m = y.len();
        if orders.steps().is_none_or(|steps| steps > most_steps) {
            return Err(RankSumError::TooLarge { n, m });
        }
        let statistic = RankSumStatistic::new(x, y);
        let w = statistic.doubled_w as usize;
        let largest = 2 * n * m;
        // The tail on the nearer side is counted, the other is what it leaves: at least about one half.
        let (lower, upper) = if w <= largest / 2 {
            let tail = orders.tail_of_first(w);
            (tail.at_most, 1.0 - tail.below)
        } else {
            let tail = orders.tail_of_second(largest - w);
            (1.0 - tail.below, tail.at_most)
        };
        Ok(Self { statistic, orders, lower, upper })
    }

    /// What the samples say.
    pub fn statistic(&self) -> &RankSumStatistic {
        &self.statistic
    }

    /// What must be known: nothing, since the law is exact for the ties at hand.
    pub fn caveats(&self) -> Vec<Caveat> {
        Vec::new()
    }

    /// The p-value against `alternative`; two-sided, the probability of a rank sum as far from its mean.
    pub fn p_value(&self, alternative: Alternative) -> PValue {
        PValue::clamped(match alternative {
            Alternative::TwoSided => self.two_sided(),
            Alternative::Greater => self.upper,
            Alternative::Less => self.lower,
        })
    }

    fn two_sided(&self) -> f64 {
        let w = self.statistic.doubled_w as usize;
        let largest = 2 * self.orders.n * self.orders.m;
        let from_end = w.min(largest - w);
        if 2 * from_end == largest {
            return 1.0;
        }
        self.orders.tail_of_first(from_end).at_most + self.orders.tail_of_second(from_end).at_most
    }
}

/// The orders that n and m observations could have had, given which of them are equal: all equally likely if the versions do
/// not differ.
#[derive(Clone, Debug)]
struct TiedOrders {
    /// How many observations share each value, in ascending order of the values.
    groups: Vec<usize>,
    n: usize,
    m: usize,
}

/// Probabilities of a doubled W at most, and below, a bound.
struct Tail {
    at_most: f64,
    below: f64,
}

impl TiedOrders {
    fn new(x: &Sample, y: &Sample) -> Self {
        let groups = tie_groups(x.sorted(), y.sorted()).map(|group| (group.of_x + group.of_y) as usize);
        Self { groups: groups.collect(), n: x.len(), m: y.len() }
    }

    /// Observations × those of the smaller sample × values of the longer tail that may be asked for.
    fn steps(&self) -> Option<u64> {
        let n = self.n as u64;
        let m = self.m as u64;
        n.checked_mul(m)?.checked_mul(n.min(m))?.checked_mul(n + m)
    }

    /// The tail of 2W of the first sample, the pairs in which it is the greater.
    fn tail_of_first(&self, bound: usize) -> Tail {
        self.tail(self.n, self.m, bound)
    }

    /// The tail of 2nm − 2W: the pairs in which the second is the greater.
    fn tail_of_second(&self, bound: usize) -> Tail {
        self.tail(self.m, self.n, bound)
    }

    /// The tail for a sample of `own` against `other`. The smaller one is dealt out, from the lowest value up if it is the own
    /// one; else from the highest down, where what lies beyond it are the same pairs.
    fn tail(&self, own: usize, other: usize, bound: usize) -> Tail {
        let counts = if own <= other {
            orders_by_pairs(self.groups.iter().copied(), own, other, bound)
        } else {
            orders_by_pairs(self.groups.iter().rev().copied(), other, own, bound)
        };
        let all = binomials(self.n + self.m)[self.n];
        let below: f64 = counts[..bound].iter().sum();
        Tail { at_most: (below + counts[bound]) / all, below: below / all }
    }
}

/// How many ways there are to choose which of the observations are the `dealt` ones, by twice the pairs in which another is
/// passed before, an equal one counting half; up to `bound`.
///
/// A group of t equal observations is passed at a time: k of them dealt in C(t, k) ways pass the others before twice and those
/// of the group once. Only sums of positive terms, so tails keep their relative accuracy; within the bounds on steps no
/// count is beyond the doubles.
fn orders_by_pairs(
    groups: impl Iterator<Item = usize>,
    dealt: usize,
    others: usize,
    bound: usize,
) -> Vec<f64> {
    // ways[taken][pairs]
    let mut ways = vec![vec![0.0; bound + 1]; dealt + 1];
    ways[0][0] = 1.0;
    let mut seen = 0;
    for size in groups {
        let left = dealt + others - seen - size;
        let binomials = binomials(size);
        // What is not taken by now must still be there to take.
        for taken in (dealt.saturating_sub(left).max(1)..=dealt.min(seen + size)).rev() {
            let (before, now) = ways.split_at_mut(taken);
            for (k, choices) in binomials.iter().enumerate().take(taken + 1).skip(1) {
                let from = taken - k;
                if from > seen || seen - from > others {
                    continue;
                }
                let pairs = k * (2 * (seen - from) + size - k);
                if pairs <= bound {
                    let moved = now[0][pairs..].iter_mut().zip(&before[from]);
                    moved.for_each(|(to, from)| *to += choices * from);
                }
            }
        }
        seen += size;
    }
    ways.pop().unwrap_or_default()
}

/// C(n, 0), C(n, 1), … C(n, n).
fn binomials(n: usize) -> Vec<f64> {
    let mut all = vec![1.0];
    for k in 0..n {
        all.push(all[k] * (n - k) as f64 / (k + 1) as f64);
    }
    all
}

/// The least p-values that the one-sided tests of `x` against `y` can have, given the ties: those of the orders in which all
/// of x are above, and below, all of y as far as ties let them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LeastPValues {
    pub(crate) greater: f64,
    pub(crate) less: f64,
}

impl LeastPValues {
    /// Those of two samples.
    pub fn new(x: &Sample, y: &Sample) -> Self {
        let TiedOrders { groups, n, m } = TiedOrders::new(x, y);
        Self {
            greater: most_extreme(groups.iter().rev().copied(), n, m),
            less: most_extreme(groups.iter().copied(), n, m),
        }
    }

    /// The smaller of both.
    pub fn either(&self) -> f64 {
        self.greater.min(self.less)
    }

    /// As a bound of a p-value against `alternative`.
    pub fn against(&self, alternative: Alternative) -> f64 {
        match alternative {
            Alternative::TwoSided => self.either(),
            Alternative::Greater => self.greater,
            Alternative::Less => self.less,
        }
    }
}

/// The probability that the `dealt` observations are the first ones: C(t, k)/C(n + m, n) where only k of a group of t find room.
fn most_extreme(groups: impl Iterator<Item = usize>, dealt: usize, others: usize) -> f64 {
    let mut room = dealt;
    let mut cut = (0, 0);
    for size in groups {
        cut = (size, room.min(size));
        room -= cut.1;
        if room == 0 {
            break;
        }
    }
    let (size, k) = cut;
    let few = k.min(size - k);
    let fewer = dealt.min(others);
    let mut growing = (1..=few).map(|i| (size - few + i) as f64 / i as f64);
    let mut falling = (1..=fewer).map(|i| i as f64 / (dealt.max(others) + i) as f64);
    // Factors above and below 1 by turns, so that neither product leaves the doubles.
    let mut probability = 1.0;
    loop {
        let next = if probability >= 1.0 { falling.next() } else { growing.next() };
        match next.or_else(|| falling.next()).or_else(|| growing.next()) {
            Some(factor) => probability *= factor,
            None => return probability,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).unwrap()
    }

    #[test]
    fn three_equal_times_against_two() {
        let test = PermutationRankSum::new(&sample(&[1.0; 3]), &sample(&[2.0; 2])).unwrap();
        let p =
            [Alternative::TwoSided, Alternative::Greater, Alternative::Less].map(|a| test.p_value(a).get());
        assert_eq!(p, [0.1, 1.0, 0.1]);
        let least = LeastPValues::new(&sample(&[1.0; 3]), &sample(&[2.0; 2]));
        assert!((least.less - 0.1).abs() < 1e-16 && (least.greater - 0.3).abs() < 1e-16, "{least:?}");
    }

    #[test]
    fn nothing_differs() {
        let test = PermutationRankSum::new(&sample(&[7.0; 4]), &sample(&[7.0; 9])).unwrap();
        for alternative in [Alternative::TwoSided, Alternative::Greater, Alternative::Less] {
            assert_eq!(test.p_value(alternative).get(), 1.0);
        }
        assert_eq!(LeastPValues::new(&sample(&[7.0; 4]), &sample(&[7.0; 9])).either(), 1.0);
    }

    #[test]
    fn the_least_p_values_of_large_samples_are_numbers() {
        let mut x = vec![1.0; 3_000];
        let y = x.clone();
        x[..3].fill(2.0);
        let least = LeastPValues::new(&sample(&x), &sample(&y));
        assert!((least.greater / 0.125 - 1.0).abs() < 1e-2, "{least:?}");
        let apart = LeastPValues::new(&sample(&x), &sample(&vec![9.0; 3_000]));
        assert_eq!(apart.less, 0.0, "below the doubles: {apart:?}");
    }
}
