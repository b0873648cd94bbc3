//! Fieller's limits of a ratio of two means (Fieller 1954; 004 lemma 7.7, eq. 12).
//!
//! ρ = μ₁/μ₂ belongs to the set when (x₁ − ρx₂)² ≤ t²(v₁ + ρ²v₂), a quadratic inequality in ρ; whether that
//! is an interval depends on whether the denominator can be told from zero (von Luxburg and Franz 2009). The
//! formula printed in 004 §6.2 has the denominator under the root with the rest; in eq. 12 it divides the
//! whole.

use crate::Unbounded;

/// The mean of a sample and the estimated variance of that mean.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    pub(crate) mean: f64,
    pub(crate) squared_error: f64,
}

/// The ends of the set of ratios `numerator`/`denominator` at the critical value `t`, the lower first.
///
/// # Errors
/// [`Unbounded`] where the set has no ends.
pub(crate) fn limits(numerator: Estimate, denominator: Estimate, t: f64) -> Result<[f64; 2], Unbounded> {
    // Errors relative to the means, so that neither unit nor size matters.
    let b = t * t * (denominator.squared_error / denominator.mean / denominator.mean);
    if numerator.mean == 0.0 {
        return around_zero(numerator, denominator, t, b);
    }
    let a = t * t * (numerator.squared_error / numerator.mean / numerator.mean);
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
    let (near, far) = ((1.0 - a) / (1.0 + root), (1.0 + root) / (1.0 - b));
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
