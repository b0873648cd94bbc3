//! The power of Welch's t test.

use super::{PowerError, Rejections, checked_difference, checked_risk, checked_runs};
use crate::distribution::{Tails, noncentral_t, student_t};
use crate::{inference::Alternative, inference::Risk};
use serde::Serialize;

/// Welch's test that is planned for samples of different sizes or variances.
///
/// The statistic is taken as noncentral t with δ = d/√(σ₁²/n₁ + σ₂²/n₂) and Satterthwaite's degrees of freedom at
/// the true variances (Welch 1947; the noncentral form is Kupper & Hafner's usual one, The American Statistician 43,
/// 1989). With equal variances and sizes it is R's `power.t.test` (package stats 4.2.2) for two samples exactly, and with one
/// sample that does not vary the same for one sample or for pairs.
///
/// ```
/// use speedup_statistics::inference::{Alternative, ConfidenceLevel};
/// use speedup_statistics::planning::power::{Group, Rejections, WelchPower};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (alternative, rejections) = (Alternative::TwoSided, Rejections::OnTheTrueSide);
/// let test = WelchPower { alternative, rejections, risk: ConfidenceLevel::USUAL.risk() };
/// // With equal groups it is Student's. R: power.t.test(n = 20, delta = 1, sd = 1).
/// let group = |sd| Group { runs: 20.0, sd };
/// assert!((test.power(group(1.0), group(1.0), 1.0)? - 0.8689528).abs() < 1e-7);
/// assert!(test.power(group(1.0), group(2.0), 1.0)? < 0.6);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WelchPower {
    /// The alternative of the test, said of the first mean less the second.
    pub alternative: Alternative,
    /// Which rejections count, if the test is two-sided.
    pub rejections: Rejections,
    /// The risk of the test.
    pub risk: Risk,
}

/// Where noncentralities end: what is beyond is certain.
const LARGEST_NONCENTRALITY: f64 = 1e150;

/// One of the two samples of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Group {
    pub runs: f64,
    /// The standard deviation of a run, in the unit of the difference; zero in one of the two samples at most.
    pub sd: f64,
}

impl WelchPower {
    /// The method's full name.
    pub const NAME: &'static str =
        "power of Welch's t test (noncentral t, Satterthwaite's degrees of freedom)";

    /// The probability that the test finds the true `difference` of the first mean less the second.
    ///
    /// # Errors
    /// [`PowerError`] for numbers out of range.
    pub fn power(&self, first: Group, second: Group, difference: f64) -> Result<f64, PowerError> {
        checked_risk(self.risk)?;
        checked_runs(first.runs)?;
        checked_runs(second.runs)?;
        check_spreads(first.sd, second.sd)?;
        Ok(self.at(first, second, checked_difference(difference)?))
    }

    fn at(&self, first: Group, second: Group, difference: f64) -> f64 {
        let [e1, e2] = [first, second].map(|group| group.sd / group.runs.sqrt());
        let error = e1.hypot(e2);
        let [s1, s2] = [e1, e2].map(|e| (e / error) * (e / error));
        let df = 1.0 / (s1 * s1 / (first.runs - 1.0) + s2 * s2 / (second.runs - 1.0));
        let delta = (difference / error).clamp(-LARGEST_NONCENTRALITY, LARGEST_NONCENTRALITY);
        let critical = |risk| student_t::quantile(Tails::from_upper(risk), df);
        match self.alternative {
            Alternative::Greater => noncentral_t::tails(critical(self.risk.get()), df, delta).upper,
            Alternative::Less => noncentral_t::tails(critical(self.risk.get()), df, -delta).upper,
            Alternative::TwoSided => {
                let critical = critical(self.risk.get() / 2.0);
                let true_side = noncentral_t::tails(critical, df, delta.abs()).upper;
                match self.rejections {
                    Rejections::OnTheTrueSide => true_side,
                    Rejections::OnEitherSide => {
                        true_side + noncentral_t::tails(-critical, df, delta.abs()).lower
                    }
                }
            }
        }
    }
}

fn check_spreads(first: f64, second: f64) -> Result<(), PowerError> {
    for sd in [first, second] {
        if !(sd >= 0.0 && sd.is_finite()) {
            return Err(PowerError::StandardDeviation { sd });
        }
    }
    if first == 0.0 && second == 0.0 { Err(PowerError::StandardDeviation { sd: 0.0 }) } else { Ok(()) }
}
