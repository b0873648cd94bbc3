//! The metrics from the observations alone, each pair or tuple of them equally likely; counted on sorted samples.
//!
//! ```
//! use speedup_statistics::mixture::variability::empirical::{mean_difference, probability_below, probability_shortest};
//! use speedup_statistics::sample::Sample;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (x, y) = (Sample::new(vec![1.0, 3.0])?, Sample::new(vec![2.0, 4.0])?);
//! // The pairs differ by 1, 3, 1 and 1; x is the shorter in three of the four.
//! assert!((mean_difference(&x, &y) - 1.5).abs() < 1e-12);
//! assert_eq!(probability_below(&x, &y, 0.0).below, 0.75);
//! let shortest = probability_shortest(&[&x, &y]);
//! assert!((shortest.shares[0] - 0.75).abs() < 1e-12 && (shortest.shares[1] - 0.25).abs() < 1e-12);
//! # Ok(())
//! # }
//! ```

use super::{ProbabilityBelow, ProbabilityShortest};
use crate::sample::Sample;

/// I₁: the mean of |xᵢ − yⱼ| over all pairs, in the unit of the observations (Worms 2016 §6.1.1).
///
/// ∫ F̃(1 − G̃) + G̃(1 − F̃) over the pooled order, in O((n + m) log(n + m)): no term is negative, so nothing cancels.
pub fn mean_difference(x: &Sample, y: &Sample) -> f64 {
    let n = x.len() as f64;
    let m = y.len() as f64;
    let x = x.sorted();
    let y = y.sorted();
    let mut i = 0;
    let mut j = 0;
    let mut sum = 0.0;
    let mut last = f64::NAN;
    while i < x.len() || j < y.len() {
        let from_x = j == y.len() || (i < x.len() && x[i] <= y[j]);
        let value = if from_x { x[i] } else { y[j] };
        if i + j > 0 {
            let f = i as f64 / n;
            let g = j as f64 / m;
            sum += (value - last) * (f * (1.0 - g) + g * (1.0 - f));
        }
        last = value;
        if from_x {
            i += 1;
        } else {
            j += 1;
        }
    }
    sum
}

/// I₂: the share of pairs with xᵢ < yⱼ + `delta`, and of those with equality (Worms 2016 §6.2.1).
pub fn probability_below(x: &Sample, y: &Sample, delta: f64) -> ProbabilityBelow {
    let x = x.sorted();
    let y = y.sorted();
    let pairs = x.len() as f64 * y.len() as f64;
    let mut below = 0_u64;
    let mut tied = 0_u64;
    let mut less = 0;
    let mut not_greater = 0;
    for bound in y.iter().map(|y| y + delta) {
        while less < x.len() && x[less] < bound {
            less += 1;
        }
        while not_greater < x.len() && x[not_greater] <= bound {
            not_greater += 1;
        }
        below += less as u64;
        tied += (not_greater - less) as u64;
    }
    ProbabilityBelow { below: below as f64 / pairs, tied: tied as f64 / pairs }
}

/// I₃: for each version the share of tuples, one observation of each version, in which its own is strictly the least
/// (Worms 2016 §6.3.1).
///
/// The mean over the version's observations of the product of the other versions' shares above it. Each other sorted
/// sample is passed once along with the version's own, so that r versions take O(r² n) steps where the tuples are nʳ.
pub fn probability_shortest(versions: &[&Sample]) -> ProbabilityShortest {
    let mut wins = Vec::new();
    let shortest = |number: usize| {
        let own = versions[number].sorted();
        wins.clear();
        wins.resize(own.len(), 1.0);
        for (_, other) in versions.iter().enumerate().filter(|(other, _)| *other != number) {
            multiply_shares_above(own, other.sorted(), &mut wins);
        }
        wins.iter().sum::<f64>() / own.len() as f64
    };
    let shares: Vec<f64> = (0..versions.len()).map(shortest).collect();
    let tied = (1.0 - shares.iter().sum::<f64>()).max(0.0);
    ProbabilityShortest { shares, tied }
}

/// Multiplies each of `products` by the share of `other` that lies strictly above the observation of `own` at its place.
fn multiply_shares_above(own: &[f64], other: &[f64], products: &mut [f64]) {
    let mut not_greater = 0;
    for (x, product) in own.iter().zip(products) {
        while not_greater < other.len() && other[not_greater] <= *x {
            not_greater += 1;
        }
        *product *= (other.len() - not_greater) as f64 / other.len() as f64;
    }
}

/// `P[X ≤ bound]`: the share of observations that are no greater.
pub fn probability_at_most(sample: &Sample, bound: f64) -> f64 {
    sample.sorted().partition_point(|x| *x <= bound) as f64 / sample.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).unwrap()
    }

    #[test]
    fn counts_are_those_of_the_definition() {
        let x = sample(&[1.0, 2.0, 2.0, 5.0]);
        let y = sample(&[2.0, 3.0, 0.5]);
        let z = sample(&[2.0, 4.0]);
        let pairs = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
            x.sorted().iter().flat_map(|a| y.sorted().iter().map(move |b| f(*a, *b))).sum::<f64>() / 12.0
        };
        assert!((mean_difference(&x, &y) - pairs(&|a, b| (a - b).abs())).abs() < 1e-15);
        let below = probability_below(&x, &y, 0.5);
        assert_eq!(below.below, pairs(&|a, b| f64::from(u8::from(a < b + 0.5))));
        assert_eq!(below.tied, pairs(&|a, b| f64::from(u8::from(a == b + 0.5))));
        let mut wins = [0.0; 3];
        for a in x.sorted() {
            for b in y.sorted() {
                for c in z.sorted() {
                    wins[0] += f64::from(u8::from(a < &b.min(*c)));
                    wins[1] += f64::from(u8::from(b < &a.min(*c)));
                    wins[2] += f64::from(u8::from(c < &a.min(*b)));
                }
            }
        }
        let shortest = probability_shortest(&[&x, &y, &z]);
        for (share, wins) in shortest.shares.iter().zip(wins) {
            assert!((share - wins / 24.0).abs() < 1e-15);
        }
        assert_eq!(probability_at_most(&x, 2.0), 0.75);
        assert_eq!(probability_shortest(&[&x]).shares, [1.0]);
    }
}
