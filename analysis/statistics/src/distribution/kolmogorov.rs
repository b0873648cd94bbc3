//! Kolmogorov's limit law of √(nm/(n+m)) · D.

use std::f64::consts::PI;

/// `P[K > λ]`: 2 Σ (−1)ᵏ⁻¹ exp(−2k²λ²) for large λ, and 1 less its theta-transformed series for small λ.
///
/// Both forms are Kolmogorov's (1933); each converges in a few terms on its side of 1, and neither cancels
/// there.
pub fn upper_tail(lambda: f64) -> f64 {
    if lambda <= 0.0 {
        return 1.0;
    }
    if lambda < 1.0 {
        let weight = PI * PI / (8.0 * lambda * lambda);
        let lower: f64 = (0..8).map(|k| f64::from(2 * k + 1)).map(|odd| (-odd * odd * weight).exp()).sum();
        return (1.0 - (2.0 * PI).sqrt() / lambda * lower).clamp(0.0, 1.0);
    }
    let alternating = |k: i32| {
        let sign = if k % 2 == 1 { 1.0 } else { -1.0 };
        sign * (-2.0 * f64::from(k * k) * lambda * lambda).exp()
    };
    (2.0 * (1..8).map(alternating).sum::<f64>()).clamp(0.0, 1.0)
}
