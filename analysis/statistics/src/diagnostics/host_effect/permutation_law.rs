//! The law of a sum of scores that are drawn at random, from each of several cells without replacement.

use crate::{distribution::normal, inference::PValue};

/// A draw from the scores of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draw<'a> {
    pub(super) of: &'a [i32],
    /// How many are drawn, at most as many as there are.
    pub(super) runs: usize,
}

/// The law of the sum of all draws.
pub(super) enum PermutationLaw {
    /// The probability of each sum from the least on.
    Exact { least: i64, probabilities: Vec<f64> },
    /// The law of sums of many.
    Normal { mean: f64, deviation: f64 },
}

/// Additions that a law may cost: a fraction of a second, for the one law that is needed for each host that is named.
const MOST_ADDITIONS: usize = 1 << 24;

impl PermutationLaw {
    pub(super) fn new(draws: &[Draw<'_>]) -> Self {
        if cost(draws) > MOST_ADDITIONS {
            return Self::normal(draws);
        }
        let mut least = 0;
        let mut probabilities = vec![1.0];
        for draw in draws {
            let (from, of_draw) = law_of(*draw);
            least += from;
            probabilities = convolved(&probabilities, &of_draw);
        }
        Self::Exact { least, probabilities }
    }

    fn normal(draws: &[Draw<'_>]) -> Self {
        let mut mean = 0.0;
        let mut variance = 0.0;
        for Draw { of, runs } in draws {
            let n = of.len() as f64;
            let m = *runs as f64;
            let of_one = of.iter().map(|score| f64::from(*score)).sum::<f64>() / n;
            let squares: f64 = of.iter().map(|score| (f64::from(*score) - of_one).powi(2)).sum();
            mean += m * of_one;
            variance += if n > 1.0 { m * (n - m) / (n * (n - 1.0)) * squares } else { 0.0 };
        }
        Self::Normal { mean, deviation: variance.sqrt() }
    }

    /// Twice the probability of a sum at least as far on its side as `sum`, at most 1.
    pub(super) fn two_sided(&self, sum: i64) -> PValue {
        let (lower, upper) = match self {
            Self::Exact { least, probabilities } => {
                let place = usize::try_from(sum - least).unwrap_or(0).min(probabilities.len() - 1);
                (probabilities[..=place].iter().sum(), probabilities[place..].iter().sum())
            }
            Self::Normal { mean, deviation } => {
                // Sums are whole, so half a step belongs to either side.
                let z = |end: f64| (end - mean) / deviation;
                (normal::tails(z(sum as f64 + 0.5)).lower, normal::tails(z(sum as f64 - 0.5)).upper)
            }
        };
        let (lower, upper): (f64, f64) = (lower, upper);
        PValue::clamped(2.0 * lower.min(upper))
    }
}

/// How wide the sums of a draw are, at most.
fn width(Draw { of, runs }: &Draw<'_>) -> usize {
    let least = of.iter().min().copied().unwrap_or(0);
    let most = of.iter().max().copied().unwrap_or(0);
    (most - least).unsigned_abs() as usize * runs + 1
}

fn cost(draws: &[Draw<'_>]) -> usize {
    let mut all = 1_usize;
    let mut cost = 0_usize;
    for draw in draws {
        let width = width(draw);
        cost = cost.saturating_add(draw.of.len().saturating_mul(draw.runs).saturating_mul(width));
        cost = cost.saturating_add(all.saturating_mul(width));
        all = all.saturating_add(width);
    }
    cost
}

/// The least sum of a draw, and the probability of each from it on: subsets of each size are counted by their sums, as
/// shares of all subsets of the size.
fn law_of(Draw { of, runs }: Draw<'_>) -> (i64, Vec<f64>) {
    let least = of.iter().min().copied().unwrap_or(0);
    let width = width(&Draw { of, runs });
    // By how many are drawn so far, then by their sum above the least; each the probability over the scores seen so far.
    let mut drawn = vec![vec![0.0; width]; runs + 1];
    drawn[0][0] = 1.0;
    for (seen, score) in of.iter().enumerate() {
        let shift = (score - least).unsigned_abs() as usize;
        let left = (of.len() - seen) as f64;
        for taken in (0..=runs.min(seen)).rev() {
            // The chance that this score is among the `runs - taken` that are still to be drawn from those left.
            let chance = ((runs - taken) as f64 / left).min(1.0);
            let (before, after) = drawn.split_at_mut(taken + 1);
            let from = &mut before[taken];
            if let Some(to) = after.first_mut()
                && chance > 0.0
            {
                for sum in 0..width.saturating_sub(shift) {
                    to[sum + shift] += from[sum] * chance;
                }
            }
            from.iter_mut().for_each(|probability| *probability *= 1.0 - chance);
        }
    }
    (i64::from(least) * runs as i64, drawn.pop().unwrap_or_default())
}

fn convolved(one: &[f64], other: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; one.len() + other.len() - 1];
    for (at, p) in other.iter().enumerate().filter(|(_, p)| **p > 0.0) {
        for (sum, q) in sums[at..].iter_mut().zip(one) {
            *sum += p * q;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(draws: &[Draw<'_>]) -> (i64, Vec<f64>) {
        match PermutationLaw::new(draws) {
            PermutationLaw::Exact { least, probabilities } => (least, probabilities),
            PermutationLaw::Normal { .. } => panic!("a small law is counted"),
        }
    }

    /// Two of four without replacement: six subsets, of which two have the sum 0.
    #[test]
    fn subsets_are_counted() {
        let (least, probabilities) = exact(&[Draw { of: &[-3, -1, 1, 3], runs: 2 }]);
        let at = |sum: i64| probabilities[usize::try_from(sum - least).unwrap()];
        for (sum, subsets) in [(-4, 1.0), (-2, 1.0), (0, 2.0), (2, 1.0), (4, 1.0), (-6, 0.0)] {
            assert!((at(sum) - subsets / 6.0).abs() < 1e-15, "{sum}: {}", at(sum));
        }
    }

    #[test]
    fn draws_of_several_cells_add_up() {
        let scores = [-2, 0, 2];
        let one = Draw { of: &scores, runs: 1 };
        let law = PermutationLaw::new(&[one, one, one]);
        // All three the greatest: 1 of 27, on either side.
        assert!((law.two_sided(6).get() - 2.0 / 27.0).abs() < 1e-15);
        assert!((law.two_sided(0).get() - 1.0).abs() < 1e-15);
        let all = PermutationLaw::new(&[Draw { of: &scores, runs: 3 }]);
        assert!((all.two_sided(0).get() - 1.0).abs() < 1e-15, "a draw of all has one sum");
    }

    #[test]
    fn the_normal_law_is_near_the_exact_one() {
        let scores: Vec<i32> = (-10..=10).map(|rank| 3 * rank).collect();
        let draws: Vec<Draw<'_>> = (0..20).map(|_| Draw { of: &scores, runs: 3 }).collect();
        let exact = PermutationLaw::new(&draws);
        let normal = PermutationLaw::normal(&draws);
        for sum in [0, 100, 200, 300, 400] {
            let exact = exact.two_sided(sum).get();
            let normal = normal.two_sided(sum).get();
            assert!((exact - normal).abs() < 0.05 * exact + 1e-3, "{sum}: {exact} {normal}");
        }
    }
}
