//! Fieller's limits of a ratio of two means (Fieller 1954; Kalibera 2012 lemma 7.7, eq. 12).
//!
//! ρ = μ₁/μ₂ belongs to the set when (x₁ − ρx₂)² ≤ t²(v₁ + ρ²v₂), a quadratic inequality in ρ; whether that
//! is an interval depends on whether the denominator can be told from zero (von Luxburg and Franz 2009). The
//! formula printed in Kalibera 2012 §6.2 has the denominator under the root with the rest; in eq. 12 it divides the
//! whole.

use crate::{inference::Unbounded, test::t_test::ROUNDING_OF_MEANS};

/// The mean of a sample and the estimated variance of that mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) mean: f64,
    pub(crate) squared_error: f64,
}

impl Estimate {
    /// The same in another unit, in which the mean is between 1 and 2, and that unit. Powers of two cost no digit.
    pub(crate) fn in_own_unit(self) -> (Self, f64) {
        let unit = unit_of(self.mean);
        (Self { mean: self.mean / unit, squared_error: self.squared_error / unit / unit }, unit)
    }

    /// The squared error relative to the mean.
    pub(crate) fn relative(self) -> f64 {
        self.squared_error / self.mean / self.mean
    }
}

/// The power of two below `value`: squares of numbers in this unit are doubles.
pub(crate) fn unit_of(value: f64) -> f64 {
    if value.is_normal() { libm::scalbn(1.0, libm::ilogb(value)) } else { 1.0 }
}

/// Whether the error of the ratio is what rounding makes of means without error; the bound is that of the t tests.
pub(crate) fn is_rounding(numerator: Estimate, denominator: Estimate) -> bool {
    numerator.relative() + denominator.relative() < ROUNDING_OF_MEANS * ROUNDING_OF_MEANS
}

/// (x₁ − ρx₂)/√(v₁ + ρ²v₂): what a t test of the ratio being ρ = `ratio` asks the t law for.
pub(crate) fn statistic(numerator: Estimate, denominator: Estimate, ratio: f64) -> f64 {
    let ((numerator, above), (denominator, below)) = (numerator.in_own_unit(), denominator.in_own_unit());
    let ratio = ratio / above * below;
    // In the unit of the larger of the two terms, so that neither square overflows.
    let unit = unit_of(ratio).max(1.0);
    let ratio = ratio / unit;
    let error = (numerator.squared_error / unit / unit + ratio * ratio * denominator.squared_error).sqrt();
    (numerator.mean / unit - ratio * denominator.mean) / error
}

/// The ends of the set of ratios `numerator`/`denominator` at the critical value `t`, the lower first.
///
/// # Errors
/// [`Unbounded`] where the set has no ends.
pub(crate) fn limits(numerator: Estimate, denominator: Estimate, t: f64) -> Result<[f64; 2], Unbounded> {
    // Errors relative to the means, so that neither unit nor size matters.
    let b = t * t * denominator.relative();
    if numerator.mean == 0.0 {
        return around_zero(numerator, denominator, t, b);
    }
    let a = t * t * numerator.relative();
    if b.is_nan() || a.is_nan() || b >= 1.0 {
        // a + b < ab, where both may be infinite.
        let nothing_excluded = a > 1.0 + a / b;
        return Err(if nothing_excluded {
            Unbounded::NoRatioExcluded
        } else {
            Unbounded::DenominatorNearZero
        });
    }
    // The ends are r(1 ∓ √(a + b − ab))/(1 − b) with r the ratio of the means.
    let root = (a + b - a * b).max(0.0).sqrt();
    // (1 − root)(1 + root) = (1 − a)(1 − b): the near end without a difference of like numbers.
    let near = (1.0 - a) / (1.0 + root);
    let far = (1.0 + root) / (1.0 - b);
    let ratio = numerator.mean / denominator.mean;
    let ends = [ratio * near, ratio * far];
    finite(if ratio > 0.0 { ends } else { [ends[1], ends[0]] })
}

/// The same for a numerator of zero: symmetric around it.
fn around_zero(numerator: Estimate, denominator: Estimate, t: f64, b: f64) -> Result<[f64; 2], Unbounded> {
    if b.is_nan() || b >= 1.0 {
        return Err(if b >= 1.0 { Unbounded::NoRatioExcluded } else { Unbounded::DenominatorNearZero });
    }
    let end = (t * (numerator.squared_error.sqrt() / denominator.mean)).abs() / (1.0 - b).sqrt();
    finite([-end, end])
}

fn finite(ends: [f64; 2]) -> Result<[f64; 2], Unbounded> {
    if ends.iter().all(|end| end.is_finite()) { Ok(ends) } else { Err(Unbounded::DenominatorNearZero) }
}
