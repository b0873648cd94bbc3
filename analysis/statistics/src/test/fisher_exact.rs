//! Fisher's exact test of a table of two rows and two columns.
//!
//! Given the margins, the first count k of the table follows the hypergeometric law, whose probabilities have the ratio
//! P(k + 1) / P(k) = (r − k)(c − k) / ((k + 1)(n − r − c + k + 1)), with r the first row's sum, c the first column's and
//! n the sum of all (Fisher, *Statistical Methods for Research Workers*, §21.02). The two-sided p-value is the
//! probability of all tables that are at most as probable as the one observed, as in R's `fisher.test`.

use crate::inference::{Alternative, Caveat, PValue};

/// Tables whose probability exceeds that of the observed one by no more than this share count as equally probable: they
/// are, but for rounding (the same share as in R).
const EQUAL: f64 = 1e-7;
/// Below this share of the most probable table the rest of a tail adds nothing to a double.
const NEGLIGIBLE: f64 = 1e-300;

/// A table of counts, and the test whether its rows have the same proportion.
///
/// ```
/// use speedup_statistics::inference::Alternative;
/// use speedup_statistics::test::FisherExact;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // 3 of 4 against 1 of 4. R: fisher.test(matrix(c(3, 1, 1, 3), 2)).
/// let test = FisherExact::from_shares((3, 4), (1, 4)).ok_or("no more than there are")?;
/// assert!((test.p_value(Alternative::TwoSided).get() - 34.0 / 70.0).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FisherExact {
    /// Of the first row: how many have the property, and how many have not.
    first: [u64; 2],
    /// Of the second row.
    second: [u64; 2],
}

impl FisherExact {
    /// The test of two groups, each with how many of it have a property out of how many there are; none where a group
    /// has more with the property than members, or more members than a double counts exactly.
    pub fn from_shares(first: (u64, u64), second: (u64, u64)) -> Option<Self> {
        /// The sum of both groups stays below 2^53.
        const MOST: u64 = 1 << 52;
        if first.1 >= MOST || second.1 >= MOST {
            return None;
        }
        Some(Self {
            first: [first.0, first.1.checked_sub(first.0)?],
            second: [second.0, second.1.checked_sub(second.0)?],
        })
    }

    /// The method's full name.
    pub const NAME: &'static str = "Fisher's exact test of two proportions";

    /// What must be known: nothing of an exact law.
    pub fn caveats(&self) -> Vec<Caveat> {
        Vec::new()
    }

    /// The p-value against `alternative`, greater being that the first group has the property more often; 1 where a margin is
    /// empty.
    pub fn p_value(&self, alternative: Alternative) -> PValue {
        let [[a, b], [c, d]] = [self.first, self.second];
        let row = a + b;
        let column = a + c;
        let all = a + b + c + d;
        let least = (row + column).saturating_sub(all);
        let most = row.min(column);
        let ratio = |k: u64| {
            ((row - k) as f64 * (column - k) as f64) / ((k + 1) as f64 * (all + k + 1 - row - column) as f64)
        };
        // Probabilities relative to the mode, from which both tails fall.
        let mode = ((row + 1) as f64 * (column + 1) as f64 / (all + 2) as f64).floor() as u64;
        let mode = mode.clamp(least, most);
        let mut weights = vec![(mode, 1.0)];
        let mut weight = 1.0;
        for k in (least..mode).rev() {
            weight /= ratio(k);
            if weight <= NEGLIGIBLE {
                break;
            }
            weights.push((k, weight));
        }
        weight = 1.0;
        for k in mode..most {
            weight *= ratio(k);
            if weight <= NEGLIGIBLE {
                break;
            }
            weights.push((k + 1, weight));
        }
        let observed = weights.iter().find(|(k, _)| *k == a).map_or(0.0, |(_, weight)| *weight);
        let is_as_extreme = |(k, weight): &&(u64, f64)| match alternative {
            Alternative::TwoSided => *weight <= observed * (1.0 + EQUAL),
            Alternative::Greater => *k >= a,
            Alternative::Less => *k <= a,
        };
        let sum = |weights: &mut dyn Iterator<Item = f64>| {
            // The least first, so that small ones are not lost.
            let mut sorted: Vec<f64> = weights.collect();
            sorted.sort_by(f64::total_cmp);
            sorted.iter().sum::<f64>()
        };
        let as_extreme = sum(&mut weights.iter().filter(is_as_extreme).map(|(_, weight)| *weight));
        let whole = sum(&mut weights.iter().map(|(_, weight)| *weight));
        PValue::clamped(as_extreme / whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn p(first: (u64, u64), second: (u64, u64)) -> f64 {
        FisherExact::from_shares(first, second).unwrap().p_value(Alternative::TwoSided).get()
    }

    fn choose(n: u64, k: u64) -> u128 {
        (1..=u128::from(k)).fold(1, |product, i| product * (u128::from(n) - u128::from(k) + i) / i)
    }

    /// The definition, in whole numbers.
    fn by_counting([a, b]: [u64; 2], [c, d]: [u64; 2]) -> f64 {
        let row = a + b;
        let column = a + c;
        let all = a + b + c + d;
        let tables = |k: u64| choose(row, k) * choose(all - row, column - k);
        let range = (row + column).saturating_sub(all)..=row.min(column);
        let as_extreme: u128 = range.map(tables).filter(|count| *count <= tables(a)).sum();
        as_extreme as f64 / choose(all, column) as f64
    }

    #[test]
    fn the_examples_of_r_are_met() {
        // fisher.test(matrix(c(3, 1, 1, 3), 2)), the lady tasting tea: 34/70.
        assert!((p((3, 4), (1, 4)) - 34.0 / 70.0).abs() < 1e-12);
        // fisher.test(matrix(c(2, 10, 15, 3), 2)), the convictions of twins: 0.0005367.
        assert!((p((2, 17), (10, 13)) - 0.000_536_724_119).abs() < 1e-12);
    }

    /// R: `fisher.test(matrix(c(3, 1, 1, 3), 2), alternative = "greater")`, 17/70, and "less", 69/70.
    #[test]
    fn one_side_is_asked_as_well() {
        let tea = FisherExact::from_shares((3, 4), (1, 4)).unwrap();
        for (alternative, expected) in [(Alternative::Greater, 17.0 / 70.0), (Alternative::Less, 69.0 / 70.0)]
        {
            assert!((tea.p_value(alternative).get() - expected).abs() < 1e-12, "{alternative:?}");
        }
        // Beyond what a double holds of the table that was observed.
        let far = FisherExact::from_shares((0, 2_500_000), (2_500_000, 2_500_000)).unwrap();
        assert_eq!(far.p_value(Alternative::Less).get(), 0.0);
        assert!((far.p_value(Alternative::Greater).get() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn empty_margins_say_nothing() {
        assert_eq!([p((0, 5), (0, 9)), p((5, 5), (9, 9)), p((0, 0), (3, 9)), p((0, 0), (0, 0))], [1.0; 4]);
        assert_eq!(FisherExact::from_shares((2, 1), (0, 1)), None);
        assert_eq!(FisherExact::from_shares((0, u64::MAX), (0, 1)), None);
    }

    #[test]
    fn large_tables_are_no_trouble() {
        assert!(p((0, 2_500_000), (2_500_000, 2_500_000)) < 1e-290);
        let even = p((1_000, 2_500_000), (1_000, 2_500_000));
        assert!((even - 1.0).abs() < 1e-9, "{even}");
    }

    proptest! {
        #[test]
        fn it_is_the_definition(a in 0..25_u64, b in 0..25_u64, c in 0..25_u64, d in 0..25_u64) {
            let found = p((a, a + b), (c, c + d));
            prop_assert!((found - by_counting([a, b], [c, d])).abs() < 1e-9, "{found}");
        }

        #[test]
        fn exchanging_the_groups_or_the_property_changes_nothing(
            (a, b, c, d) in (0..10_000_u64, 0..10_000_u64, 0..10_000_u64, 0..10_000_u64),
        ) {
            let found = p((a, a + b), (c, c + d));
            prop_assert!((0.0..=1.0).contains(&found));
            for same in [p((c, c + d), (a, a + b)), p((b, a + b), (d, c + d))] {
                prop_assert!((found - same).abs() <= 1e-9 * found.max(1e-12));
            }
        }
    }
}
