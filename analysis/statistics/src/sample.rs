//! A sample: the observations of one cell, in run order.
//!
//! Beside it: [`SampleQuantile`], with its interval.

mod quantile;

use crate::number::rounding::CompensatedSum;
pub use quantile::SampleQuantile;
use thiserror::Error;

/// The largest magnitude an observation may have: the square of a difference must still be a double.
pub const LARGEST_OBSERVATION: f64 = 1e150;

/// The smallest difference between the least and the largest observation that is not zero: squares of deviations, and of
/// their sums, keep all digits. Neighbouring doubles near 1e-100 are further apart.
const SMALLEST_RANGE: f64 = 1e-130;

/// A range of fewer than a few thousand steps of the floating-point grid is mostly rounding.
const ROUNDING: f64 = 4096.0 * f64::EPSILON;

/// Observations of one metric: finite, at least one, in the order of their runs.
///
/// Nothing is ever removed or reordered; [`Sample::sorted`] is a second view of the same values. The mean,
/// which nearly every method asks for, is computed once.
///
/// ```
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let times = Sample::new(vec![2.0, 4.0, 3.0, 7.0])?;
/// assert_eq!(times.in_run_order(), [2.0, 4.0, 3.0, 7.0]);
/// assert_eq!((times.mean(), times.median()), (4.0, 3.5));
/// // Type 7, as R's quantile(): ¾ of the way from 2 to 3.
/// assert_eq!(times.quantile(0.25)?, 2.75);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Sample {
    in_run_order: Vec<f64>,
    sorted: Vec<f64>,
    mean: f64,
    /// What rounding took from `mean`: the exact mean is `mean + mean_residue` to about 30 digits.
    mean_residue: f64,
}

/// Why values are not a sample.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum SampleError {
    #[error("a sample needs at least one observation, but there is none")]
    Empty,
    /// An observation is not a number, or infinite.
    #[error("observation {index} is {value}, which is not a finite number")]
    NotFinite {
        /// Its position in run order, from 0.
        index: usize,
        value: f64,
    },
    /// An observation beyond [`LARGEST_OBSERVATION`].
    #[error("observation {index} is {value:e}, too large to square")]
    TooLarge {
        /// Its position in run order, from 0.
        index: usize,
        value: f64,
    },
    /// Observations whose differences are below 10⁻¹³⁰.
    #[error("the observations differ by {range:e} at most, too little to square")]
    TooClose {
        /// The largest less the least.
        range: f64,
    },
}

speedup_core::hints! { SampleError:
    Self::TooLarge { .. } => "give the observations in a larger unit",
    Self::TooClose { .. } => "give them in a smaller unit",
}

/// A probability outside [0, 1] was asked of [`Sample::quantile`].
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("the probability of a quantile must be between 0 and 1, not {0}")]
pub struct QuantileError(pub f64);

impl Sample {
    /// The sample of `in_run_order`.
    ///
    /// # Errors
    /// [`SampleError`] when there is no value, one is not finite or beyond [`LARGEST_OBSERVATION`], or all are within
    /// 10⁻¹³⁰ and not equal.
    pub fn new(in_run_order: Vec<f64>) -> Result<Self, SampleError> {
        if in_run_order.is_empty() {
            return Err(SampleError::Empty);
        }
        for (index, &value) in in_run_order.iter().enumerate() {
            if !value.is_finite() {
                return Err(SampleError::NotFinite { index, value });
            }
            if value.abs() > LARGEST_OBSERVATION {
                return Err(SampleError::TooLarge { index, value });
            }
        }
        let sorted = ascending(&in_run_order);
        let range = sorted[sorted.len() - 1] - sorted[0];
        if range > 0.0 && range < SMALLEST_RANGE {
            return Err(SampleError::TooClose { range });
        }
        let n = in_run_order.len() as f64;
        let mean = CompensatedSum::sum(in_run_order.iter().copied()) / n;
        let mean_residue = CompensatedSum::sum(in_run_order.iter().map(|x| x - mean)) / n;
        Ok(Self { in_run_order, sorted, mean, mean_residue })
    }

    /// The observations in the order of their runs.
    pub fn in_run_order(&self) -> &[f64] {
        &self.in_run_order
    }

    /// The observations in ascending order.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// How many observations there are; at least one.
    #[expect(clippy::len_without_is_empty, reason = "a sample is never empty")]
    pub fn len(&self) -> usize {
        self.in_run_order.len()
    }

    /// The smallest observation.
    pub fn min(&self) -> f64 {
        self.sorted[0]
    }

    /// The largest observation.
    pub fn max(&self) -> f64 {
        self.sorted[self.len() - 1]
    }

    /// Whether all observations are the same number.
    pub fn is_constant(&self) -> bool {
        self.min() == self.max()
    }

    /// Whether the observations differ, and by rounding rather than by what was measured: all of them within a few
    /// thousand steps of the floating-point grid.
    pub fn differs_by_rounding(&self) -> bool {
        !self.is_constant() && self.max() - self.min() <= ROUNDING * self.max().abs()
    }

    /// The arithmetic mean.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The mean of this sample less the mean of `other`, without the cancellation of subtracting rounded
    /// means.
    pub fn mean_minus_mean_of(&self, other: &Self) -> f64 {
        (self.mean - other.mean) + (self.mean_residue - other.mean_residue)
    }

    /// The middle observation, or the mean of the middle two.
    pub fn median(&self) -> f64 {
        median_of_sorted(&self.sorted)
    }

    /// Σ(x − x̄)² / (n − 1), in the unit of the observations squared; `None` for one observation.
    ///
    /// Two passes, the second corrected for the rounding of the mean (Chan, Golub, LeVeque 1983, eq. 1.7).
    pub fn variance(&self) -> Option<f64> {
        if self.len() < 2 {
            return None;
        }
        let n = self.len() as f64;
        let deviations = || self.in_run_order.iter().map(|x| x - self.mean);
        let squares = CompensatedSum::sum(deviations().map(|d| d * d));
        let correction = n * self.mean_residue * self.mean_residue;
        Some((squares - correction).max(0.0) / (n - 1.0))
    }

    /// The square root of [`Sample::variance`], in the unit of the observations.
    pub fn standard_deviation(&self) -> Option<f64> {
        self.variance().map(f64::sqrt)
    }

    /// The sample quantile of type 7 (Hyndman and Fan 1996; R's default): linear between order statistics k
    /// and k + 1, k = ⌊(n − 1)p⌋ counted from 0.
    ///
    /// # Errors
    /// [`QuantileError`] unless 0 ≤ `probability` ≤ 1.
    pub fn quantile(&self, probability: f64) -> Result<f64, QuantileError> {
        if !(0.0..=1.0).contains(&probability) {
            return Err(QuantileError(probability));
        }
        let position = (self.len() - 1) as f64 * probability;
        let below = position.floor() as usize;
        let above = (below + 1).min(self.len() - 1);
        let share = position - position.floor();
        Ok((1.0 - share) * self.sorted[below] + share * self.sorted[above])
    }

    /// The observations less `origin`, sorted; exactly as floating-point subtraction gives them, so that ties
    /// are those that R sees.
    pub(crate) fn sorted_less(&self, origin: f64) -> Vec<f64> {
        self.sorted.iter().map(|x| x - origin).collect()
    }

    /// The smallest observation if it is not positive: a ratio of times has no meaning then.
    pub(crate) fn not_positive(&self) -> Option<f64> {
        if self.min() <= 0.0 { Some(self.min()) } else { None }
    }
}

/// The middle value, or the mean of the middle two, of at least one.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { (sorted[half - 1] + sorted[half]) / 2.0 }
}

/// `values` by [`f64::total_cmp`]; as whole numbers of the same order, which sort faster (100,000 in half the time).
fn ascending(values: &[f64]) -> Vec<f64> {
    // The bits of a negative number fall as it grows: all but the sign are turned over, which turns back alike.
    let turned = |bits: i64| bits ^ (((bits >> 63) as u64) >> 1) as i64;
    let mut keys: Vec<i64> = values.iter().map(|x| turned(x.to_bits().cast_signed())).collect();
    keys.sort_unstable();
    keys.into_iter().map(|key| f64::from_bits(turned(key).cast_unsigned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascends_as_the_total_order_of_doubles() {
        let values = [3.0, -0.0, 0.0, -5e-324, 5e-324, -1e150, 1e150, -2.0, 2.0, -0.0];
        let mut expected = values.to_vec();
        expected.sort_by(f64::total_cmp);
        let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&ascending(&values)), bits(&expected));
    }

    #[test]
    fn keeps_run_order_and_sorts_a_view() {
        let sample = Sample::new(vec![3.0, 1.0, 2.0]).unwrap();
        assert_eq!(sample.in_run_order(), [3.0, 1.0, 2.0]);
        assert_eq!(sample.sorted(), [1.0, 2.0, 3.0]);
        assert_eq!((sample.mean(), sample.median(), sample.variance()), (2.0, 2.0, Some(1.0)));
    }

    #[test]
    fn refuses_what_has_no_statistics() {
        assert_eq!(Sample::new(vec![]).unwrap_err(), SampleError::Empty);
        assert!(matches!(Sample::new(vec![1.0, f64::NAN]), Err(SampleError::NotFinite { index: 1, .. })));
        assert!(matches!(Sample::new(vec![1e300]), Err(SampleError::TooLarge { index: 0, .. })));
        let sample = Sample::new(vec![1.0]).unwrap();
        assert_eq!(sample.variance(), None);
        assert_eq!(sample.quantile(1.5), Err(QuantileError(1.5)));
    }

    /// Deviations of 1e-160 would square to nothing, and the observations would seem equal.
    #[test]
    fn what_cannot_be_squared_is_refused_and_not_taken_for_equal() {
        let refused = Sample::new(vec![1e-160, 3e-160]).unwrap_err();
        assert!(matches!(refused, SampleError::TooClose { .. }), "{refused}");
        assert!(Sample::new(vec![1e-160, 1e-160]).unwrap().is_constant());
        let least = Sample::new(vec![1e-130, 3e-130]).unwrap().variance().unwrap();
        assert!((least / 2e-260 - 1.0).abs() < 1e-14, "{least:e}");
    }

    #[test]
    fn variance_survives_a_large_offset() {
        let sample = Sample::new(vec![1e9 + 0.25, 1e9 + 0.5, 1e9 + 0.75]).unwrap();
        assert_eq!(sample.variance(), Some(0.0625));
    }
}
