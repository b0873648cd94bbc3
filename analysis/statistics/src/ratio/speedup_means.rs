//! The plain means of the speedups of several benchmarks, which Touati 2010 §3.2 (example 3.1) prints as a warning.
//!
//! None of them is an overall speedup, and nothing here decides by one: the arithmetic mean counts a benchmark of
//! seconds like one of days; the geometric mean is that of accelerations of one program after another, and these are
//! different programs; the harmonic mean is the arithmetic one of the inverses, which are speedups too. They are for
//! comparison with what others quote. [`crate::ratio::Overall`] is the overall speedup.

use crate::{inference::Caveat, number::rounding::CompensatedSum, ratio::SuiteMember, ratio::Summary};
use serde::Serialize;
use thiserror::Error;

/// The three means of the speedups of a suite's benchmarks, each benchmark once.
///
/// ```
/// use speedup_statistics::ratio::SpeedupMeans;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Touati 2010 §3.2, example 3.1: three means of the same two speedups.
/// let means = SpeedupMeans::from_speedups(&[3.0, 1.05])?;
/// assert!((means.arithmetic - 2.025).abs() < 1e-12);
/// assert!((means.geometric - 1.7748).abs() < 5e-5);
/// assert!((means.harmonic - 1.5556).abs() < 5e-5);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SpeedupMeans {
    /// (1/b)·Σ s.
    pub arithmetic: f64,
    /// (Π s)^(1/b).
    pub geometric: f64,
    /// b/Σ(1/s).
    pub harmonic: f64,
}

/// Why speedups have no means.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum SpeedupMeansError {
    #[error("a mean of speedups needs at least one benchmark")]
    Empty,
    /// A speedup that is not positive and finite.
    #[error("the speedup of benchmark {index} is {speedup}, which is not a positive number")]
    Speedup {
        /// Its position, from 0.
        index: usize,
        speedup: f64,
    },
}

impl SpeedupMeans {
    /// What must be known of every such mean.
    pub const CAVEAT: Caveat = Caveat::MeanOfSpeedups;

    /// The means of `speedups`, one a benchmark.
    ///
    /// # Errors
    /// [`SpeedupMeansError`] for no speedups, or one that is not positive and finite.
    pub fn from_speedups(speedups: &[f64]) -> Result<Self, SpeedupMeansError> {
        if speedups.is_empty() {
            return Err(SpeedupMeansError::Empty);
        }
        if let Some(index) = speedups.iter().position(|speedup| !(speedup.is_finite() && *speedup > 0.0)) {
            return Err(SpeedupMeansError::Speedup { index, speedup: speedups[index] });
        }
        // Over the least or the greatest of them, so that no sum leaves the range of doubles; a mean lies between the two.
        let least = speedups.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = speedups.iter().copied().fold(0.0, f64::max);
        let mean = |of: &dyn Fn(f64) -> f64| {
            CompensatedSum::sum(speedups.iter().map(|speedup| of(*speedup))) / speedups.len() as f64
        };
        Ok(Self {
            arithmetic: greatest * mean(&|speedup| speedup / greatest),
            geometric: libm::exp(mean(&libm::log)).clamp(least, greatest),
            harmonic: least / mean(&|speedup| least / speedup),
        })
    }

    /// The means of the observed speedups of `members` by `summary` of their times.
    ///
    /// # Errors
    /// [`SpeedupMeansError`] for no benchmarks, or times without a ratio.
    pub fn new(members: &[SuiteMember<'_>], summary: Summary) -> Result<Self, SpeedupMeansError> {
        let speedup = |member: &SuiteMember<'_>| summary.of(member.baseline) / summary.of(member.candidate);
        Self::from_speedups(&members.iter().map(speedup).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn example_3_1_of_the_speedup_test() {
        let means = SpeedupMeans::from_speedups(&[3.0, 1.05]).expect("means");
        for (got, expected) in
            [(means.arithmetic, 2.025), (means.geometric, 3.15_f64.sqrt()), (means.harmonic, 1.4 / 0.9)]
        {
            assert!((got - expected).abs() < 1e-15 * 4.0, "{got} for {expected}");
        }
    }

    #[test]
    fn means_stay_within_the_range_of_doubles() {
        let [tiny, huge] = [5e-324, f64::MAX];
        for speedups in [[tiny, tiny], [huge, huge]] {
            let SpeedupMeans { arithmetic, geometric, harmonic } =
                SpeedupMeans::from_speedups(&speedups).expect("means");
            assert_eq!([arithmetic, geometric, harmonic], [speedups[0]; 3]);
        }
        let means = SpeedupMeans::from_speedups(&[tiny, huge]).expect("means");
        assert_eq!((means.arithmetic, means.harmonic), (huge / 2.0, 2.0 * tiny));
        assert!((means.geometric / (tiny.sqrt() * huge.sqrt()) - 1.0).abs() < 1e-12, "{}", means.geometric);
    }

    #[test]
    fn what_has_no_mean_is_refused() {
        assert_eq!(SpeedupMeans::from_speedups(&[]), Err(SpeedupMeansError::Empty));
        for speedup in [0.0, -1.0, f64::INFINITY] {
            let refused = SpeedupMeansError::Speedup { index: 1, speedup };
            assert_eq!(SpeedupMeans::from_speedups(&[2.0, speedup]), Err(refused));
        }
        assert!(SpeedupMeans::from_speedups(&[f64::NAN]).is_err());
    }
}
