//! The standard normal law.

use super::Tails;
use statrs::distribution::{ContinuousCDF, Normal};
use std::f64::consts::FRAC_1_SQRT_2;

/// `P[Z ≤ z]` and `P[Z > z]`, by ½ erfc(∓z/√2).
pub fn tails(z: f64) -> Tails {
    Tails { lower: 0.5 * libm::erfc(-z * FRAC_1_SQRT_2), upper: 0.5 * libm::erfc(z * FRAC_1_SQRT_2) }
}

/// `P[Z ≤ z]` alone, for loops that do not need the other tail.
pub(crate) fn lower(z: f64) -> f64 {
    0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
}

/// The z that has these tails; read off the smaller one.
pub fn quantile(tails: Tails) -> f64 {
    let standard = Normal::standard();
    if tails.lower <= tails.upper {
        standard.inverse_cdf(tails.lower)
    } else {
        -standard.inverse_cdf(tails.upper)
    }
}

/// The z that a standard normal exceeds in absolute value with probability `risk`: 1.96 at 0.05.
pub fn two_sided_critical(risk: f64) -> f64 {
    quantile(Tails::from_upper(risk / 2.0))
}
