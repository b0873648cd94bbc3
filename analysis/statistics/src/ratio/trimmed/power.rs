//! The power of the test of trimmed means.

use crate::distribution::{Tails, normal, student_t};
use crate::inference::Risk;

/// The two-sided test of [`crate::ratio::TrimmedRatio`] with given numbers of runs: which ratios it finds, and how probably.
///
/// Under a true ratio, Yuen's statistic is nearly noncentral t. Its probabilities are by the normal approximation of Johnson & Welch (Biometrika 31,
/// 1940; Abramowitz & Stegun 26.7.10), which for 2 × 3 runs or more is within 0.03 of them, and within 0.01 at a power of 0.8. The test
/// rejects where both of its distributions do. Of Student's that takes the quantile with the degrees of freedom of the version with fewer
/// runs. Of the permutation distribution it takes about the quantile with those of the statistic, at the level that so many
/// relabellings can reach, and a little more, since both must reject: simulated, the half of a run's share.
///
/// ```
/// use speedup_statistics::inference::ConfidenceLevel;
/// use speedup_statistics::planning::required_repetitions::TrimmedDetection;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Ten runs of each version, which take 100 ± 4.
/// let test = TrimmedDetection::from_moments(100.0, 4.0)?.with_runs(10);
/// let risk = ConfidenceLevel::USUAL.risk();
/// let smallest = test.smallest(risk, 0.8).ok_or("ten runs show something")?;
/// assert!((smallest - 1.062).abs() < 0.001);
/// assert!((test.power(smallest, risk) - 0.8).abs() < 1e-9);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrimmedPower {
    /// The standard error of the logarithm of the ratio.
    pub(crate) error: f64,
    /// The degrees of freedom of that error.
    pub(crate) df: f64,
    /// Those of the version with fewer runs, with which the test takes Student's distribution.
    pub(crate) df_of_smaller: f64,
    /// How many relabellings there are.
    pub(crate) relabellings: f64,
    /// The runs of the version with fewer runs, or the pairs.
    pub(crate) fewest: f64,
}

/// With so many relabellings every level that is asked for is reached.
const MANY_RELABELLINGS: f64 = 1e15;

impl TrimmedPower {
    /// The probability that the test finds the true speedup `ratio` at this risk, on its side.
    pub fn power(&self, ratio: f64, risk: Risk) -> f64 {
        let Some(critical) = self.critical(risk) else { return 0.0 };
        let distance = ratio.ln().abs() / self.error - critical * (1.0 - 1.0 / (4.0 * self.df));
        normal::tails(distance / self.scale(critical)).lower
    }

    /// The smallest speedup above 1 that the test finds with the probability `power`, a number between 0 and 1; `None` where so few runs
    /// show nothing at this risk.
    pub fn smallest(&self, risk: Risk, power: f64) -> Option<f64> {
        let critical = self.critical(risk)?;
        let beyond = normal::quantile(Tails::from_lower(power)) * self.scale(critical);
        let distance = critical * (1.0 - 1.0 / (4.0 * self.df)) + beyond;
        Some((self.error * distance.max(0.0)).exp())
    }

    /// The usual half-width of the interval of the ratio, as a share: its upper limit is so much above the estimate.
    pub fn half_width(&self, risk: Risk) -> Option<f64> {
        Some((self.error * self.critical(risk)?).exp_m1())
    }

    /// The statistic beyond which the test rejects.
    fn critical(&self, risk: Risk) -> Option<f64> {
        let side = risk.get() / 2.0;
        let mut reached = side;
        if self.relabellings < MANY_RELABELLINGS {
            reached = (side * self.relabellings * (1.0 + 1e-9)).floor() / self.relabellings;
        }
        if reached <= 0.0 {
            return None;
        }
        let of_student = student_t::quantile(Tails::from_upper(side), self.df_of_smaller);
        let of_permutations = student_t::quantile(Tails::from_upper(reached), self.df);
        Some(of_student.max(of_permutations * (1.0 + 0.5 / self.fewest)))
    }

    /// The standard deviation of the statistic less the critical value times its error's.
    fn scale(&self, critical: f64) -> f64 {
        (1.0 + critical * critical / (2.0 * self.df)).sqrt()
    }
}
