//! The beta law: the regularized incomplete beta function and its inverse.
//!
//! Iₓ(a, b) is the prefix xᵃ(1−x)ᵇ/B(a, b) over a continued fraction (the even part of DLMF 8.17.22), evaluated
//! from the front (modified Lentz). The prefix of large shapes is not taken from log-gammas, whose errors grow with
//! the shapes, but from Stirling remainders and deviances (C. Loader, "Fast and accurate computation of
//! binomial probabilities", 2000).

use super::Tails;
use std::f64::consts::PI;

/// A point of [0, 1] with its distance to 1, so that neither end loses digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitPoint {
    pub x: f64,
    /// 1 − x.
    pub complement: f64,
}

impl UnitPoint {
    /// The point `x`.
    pub fn new(x: f64) -> Self {
        Self { x, complement: 1.0 - x }
    }

    /// The point that divides the unit as `part : rest`.
    pub(crate) fn from_parts(part: f64, rest: f64) -> Self {
        if part.is_infinite() {
            return Self { x: 1.0, complement: 0.0 };
        }
        Self { x: part / (part + rest), complement: rest / (part + rest) }
    }

    fn from_logit(z: f64) -> Self {
        let odds = (-z.abs()).exp();
        let major = 1.0 / (1.0 + odds);
        let minor = odds / (1.0 + odds);
        if z <= 0.0 { Self { x: minor, complement: major } } else { Self { x: major, complement: minor } }
    }

    fn mirrored(self) -> Self {
        Self { x: self.complement, complement: self.x }
    }
}

/// Iₓ(a, b) and I₁₋ₓ(b, a), for positive shapes.
pub fn tails(point: UnitPoint, a: f64, b: f64) -> Tails {
    if point.x <= 0.0 {
        return Tails { lower: 0.0, upper: 1.0 };
    }
    if point.complement <= 0.0 {
        return Tails { lower: 1.0, upper: 0.0 };
    }
    // The fraction converges quickly on the near side of the mean only; the far side is the mirror image.
    if beyond_mean(point, a, b) {
        let mirror = near_side(point.mirrored(), b, a);
        return Tails { lower: 1.0 - mirror, upper: mirror };
    }
    let lower = near_side(point, a, b);
    Tails { lower, upper: 1.0 - lower }
}

/// The point with these tails.
pub fn quantile(tails: Tails, a: f64, b: f64) -> UnitPoint {
    UnitPoint::from_logit(quantile_logit(tails, a, b))
}

/// ln(x/(1−x)) of the point with these tails: keeps its digits where x or 1 − x is beyond the smallest
/// double.
///
/// Newton's method on the logarithm of the smaller tail. The logit of a beta variable has a log-concave
/// density, so the logarithm of either tail is concave and Newton converges from any start: a first step too
/// far lands on the side from which the rest is monotone.
pub(crate) fn quantile_logit(tails: Tails, a: f64, b: f64) -> f64 {
    if tails.lower > tails.upper {
        return -quantile_logit(tails.mirrored(), b, a);
    }
    if tails.lower <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let target = tails.lower.ln();
    let mut z = (a / b).ln();
    for _ in 0..NEWTON_STEPS {
        let (reached, slope) = log_lower_tail_of_logit(z, a, b);
        let step = (reached - target) / slope;
        if !step.is_finite() {
            break;
        }
        z -= step;
        if step.abs() <= 4.0 * f64::EPSILON * z.abs().max(1.0) {
            break;
        }
    }
    z
}

/// ln I at the point of logit z, and its derivative in z.
fn log_lower_tail_of_logit(z: f64, a: f64, b: f64) -> (f64, f64) {
    // So far out that I is a power of x to the last digit: ln I = a·z + constant.
    const POWER_LAW: f64 = -600.0;
    let near = z.max(POWER_LAW);
    let point = UnitPoint::from_logit(near);
    let prefix = log_prefix(point, a, b);
    let log_lower = if beyond_mean(point, a, b) {
        self::tails(point, a, b).lower.ln()
    } else {
        prefix - continued_fraction(point, a, b).ln()
    };
    (log_lower + a * (z - near), (prefix - log_lower).exp())
}

/// Newton from a concave side doubles its digits each step; the limit only guards against a cycle in the last
/// bit.
const NEWTON_STEPS: usize = 100;
/// The fraction needs about √max(a, b) terms near the mean: this serves shapes up to 1e9.
const FRACTION_TERMS: usize = 100_000;

fn beyond_mean(point: UnitPoint, a: f64, b: f64) -> bool {
    point.x * (a + b + 2.0) > a + 1.0
}

/// Iₓ(a, b) where x is not beyond the mean.
fn near_side(point: UnitPoint, a: f64, b: f64) -> f64 {
    (log_prefix(point, a, b).exp() / continued_fraction(point, a, b)).min(1.0)
}

/// The even part of the continued fraction of DLMF 8.17.22, by the modified Lentz method: Iₓ(a, b) is the prefix
/// over it.
///
/// Its elements hold a(1−x) − bx as such, so that with one shape large, where x is next to 0 or 1, no digits
/// cancel; on the near side of the mean all of them are positive up to the b-th.
fn continued_fraction(point: UnitPoint, a: f64, b: f64) -> f64 {
    let UnitPoint { x, complement } = point;
    let away_from_zero = |v: f64| if v.abs() < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { v };
    let balance = a * complement - b * x + 1.0;
    let element = |m: f64| {
        let pull = m * (b - m) * x / (a + 2.0 * m - 1.0);
        m + pull + (a + m) * (balance + m * (1.0 + complement)) / (a + 2.0 * m + 1.0)
    };
    let mut value = away_from_zero(a * balance / (a + 1.0));
    let mut c = value;
    let mut d = 0.0;
    for term in 1..FRACTION_TERMS {
        let m = term as f64;
        let step = m * (b - m) * x / (a + 2.0 * m - 1.0);
        let numerator = (a + m - 1.0) / (a + 2.0 * m - 1.0) * (a + b + m - 1.0) * x * step;
        d = 1.0 / away_from_zero(element(m) + numerator * d);
        c = away_from_zero(element(m) + numerator / c);
        value *= c * d;
        if (c * d - 1.0).abs() <= f64::EPSILON {
            break;
        }
    }
    value
}

/// ln[xᵃ(1−x)ᵇ / B(a, b)].
fn log_prefix(point: UnitPoint, a: f64, b: f64) -> f64 {
    let n = a + b;
    let stirling = stirling_remainder(n) - stirling_remainder(a) - stirling_remainder(b);
    let deviances = deviance(a, n * point.x) + deviance(b, n * point.complement);
    0.5 * (a * (b / n) / (2.0 * PI)).ln() + stirling - deviances
}

/// k ln(k/m) + m − k, without cancellation where k and m are close.
fn deviance(k: f64, m: f64) -> f64 {
    let u = (k - m) / m;
    if u.abs() > 0.1 {
        return k * (k / m).ln() + m - k;
    }
    // (1+u) ln(1+u) − u = Σ (−1)ʲ uʲ / (j(j−1)), j ≥ 2.
    let mut power = -u;
    let mut sum = 0.0;
    for j in 2..40 {
        power *= -u;
        let term = power / (j * (j - 1)) as f64;
        sum += term;
        if term.abs() <= f64::EPSILON * 0.1 * sum.abs() {
            break;
        }
    }
    m * sum
}

/// ln Γ(z+1) − [(z+½) ln z − z + ½ ln 2π]: the Stirling series (DLMF 5.11.1) from 15 on, by log-gamma below.
pub(super) fn stirling_remainder(z: f64) -> f64 {
    if z < 15.0 {
        return libm::lgamma(z + 1.0) - ((z + 0.5) * z.ln() - z + 0.5 * (2.0 * PI).ln());
    }
    let inverse = 1.0 / z;
    let square = inverse * inverse;
    let series = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
        1.0 / 156.0,
    ];
    inverse * series.iter().rev().fold(0.0, |sum, coefficient| sum * square + coefficient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_forms() {
        for x in [1e-300, 1e-9, 0.2, 0.5, 0.9] {
            let point = UnitPoint::new(x);
            assert!((tails(point, 1.0, 1.0).lower / x - 1.0).abs() < 1e-13);
            assert!((tails(point, 3.0, 1.0).lower / (x * x * x) - 1.0).abs() < 1e-13 || x < 1e-100);
        }
        assert!((tails(UnitPoint::new(0.5), 1e5, 1e5).lower - 0.5).abs() < 1e-13);
    }

    #[test]
    fn quantile_inverts_in_both_tails() {
        for (a, b) in [(0.5, 0.5), (0.5, 500.0), (2.5, 400.0), (1e5, 3.0), (1e5, 1e5)] {
            for p in [1e-100, 1e-9, 0.1, 0.5, 0.8] {
                let lower = tails(quantile(Tails::from_lower(p), a, b), a, b).lower;
                assert!((lower / p - 1.0).abs() < 1e-10, "lower {p} of {a} {b}: {lower}");
                let upper = tails(quantile(Tails::from_upper(p), a, b), a, b).upper;
                assert!((upper / p - 1.0).abs() < 1e-10, "upper {p} of {a} {b}: {upper}");
            }
        }
    }
}
