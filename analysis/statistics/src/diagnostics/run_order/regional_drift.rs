//! Whether several series become slower or faster together.

use super::{Drift, RunOrderError};
use crate::inference::{Alternative, Caveat, PValue};
use crate::{distribution::normal, sample::Sample};
use serde::Serialize;

/// The regional Kendall test: S of Mann and Kendall summed over series that are never compared with each other (Helsel and
/// Frans, Environmental Science and Technology 40, 2006), normal with continuity and tie corrections.
///
/// It sees what many short series have in common. The series are taken as independent of each other.
///
/// ```
/// use speedup_statistics::diagnostics::run_order::RegionalDrift;
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // On each of twelve hosts the second run is the slower: S is 12, its variance 1 a host.
/// let hosts = vec![Sample::new(vec![1.0, 2.0])?; 12];
/// let drift = RegionalDrift::new(&hosts)?;
/// assert_eq!(drift.s(), 12);
/// assert!((drift.z() - 11.0 / 12_f64.sqrt()).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RegionalDrift {
    s: i64,
    variance: f64,
    series: usize,
}

/// Below this variance of S, which ten series of two have, its law is not near the normal one.
const LEAST_VARIANCE: f64 = 10.0;

impl RegionalDrift {
    /// The method's full name.
    pub const NAME: &'static str = "regional Kendall test of a common trend (normal law, corrected for ties)";

    /// Of series in their orders; those that do not vary, or have one value, say nothing.
    ///
    /// # Errors
    /// [`RunOrderError`] when the series together are too short for a test.
    pub fn new(series: &[Sample]) -> Result<Self, RunOrderError> {
        let mut s = 0;
        let mut variance = 0.0;
        let mut used = 0;
        let mut runs = 0;
        for one in series.iter().filter(|one| one.len() > 1 && !one.is_constant()) {
            let (of_one, spread) = Drift::s_and_variance(one);
            s += of_one;
            variance += spread;
            used += 1;
            runs += one.len();
        }
        if variance < LEAST_VARIANCE {
            return Err(RunOrderError::TooFew { runs, needed: 2 * LEAST_VARIANCE as usize });
        }
        Ok(Self { s, variance, series: used })
    }

    /// ΣS.
    pub fn s(&self) -> i64 {
        self.s
    }

    /// The series that vary.
    pub fn series(&self) -> usize {
        self.series
    }

    /// ΣS, one nearer to zero, in standard deviations.
    pub fn z(&self) -> f64 {
        (self.s - self.s.signum()) as f64 / self.variance.sqrt()
    }

    /// What must be known: that the law is not exact.
    pub fn caveats(&self) -> Vec<Caveat> {
        vec![Caveat::NormalApproximation]
    }

    /// The p-value of no trend in any series; greater is becoming slower, if the values are times.
    pub fn p_value(&self, alternative: Alternative) -> PValue {
        let tails = normal::tails(self.z());
        alternative.p_value(tails.lower, tails.upper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).unwrap()
    }

    /// Of one series it is the normal law of Mann and Kendall; of two, S and its variance double.
    #[test]
    fn series_add_up() {
        let one = sample(&[23.0, 24.0, 29.0, 6.0, 29.0, 24.0, 24.0, 29.0, 23.0]);
        let kendall = Drift::new(&one).unwrap();
        let alone = RegionalDrift::new(std::slice::from_ref(&one)).unwrap();
        assert_eq!(alone.s(), kendall.s());
        assert!((alone.z() - kendall.z()).abs() < 1e-12, "{} {}", alone.z(), kendall.z());
        let both = RegionalDrift::new(&[one.clone(), one, sample(&[1.0]), sample(&[2.0, 2.0])]).unwrap();
        assert_eq!((both.s(), both.series()), (2 * kendall.s(), 2));
    }

    /// Twelve hosts with two readings, the later always the slower: a sign test.
    #[test]
    fn many_short_series_show_a_trend_together_and_few_do_not() {
        let rising = vec![sample(&[1.0, 2.0]); 12];
        let found = RegionalDrift::new(&rising).unwrap();
        assert!((found.z() - 11.0 / 12.0_f64.sqrt()).abs() < 1e-12, "{}", found.z());
        assert!(found.p_value(Alternative::TwoSided).get() < 0.002);
        assert!(RegionalDrift::new(&rising[..5]).is_err());
    }
}
