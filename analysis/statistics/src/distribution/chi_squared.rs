//! The χ² law.

use super::Tails;
use statrs::function::gamma;

/// `P[X ≤ x]` and `P[X > x]` of χ² with `df` degrees of freedom: the regularized incomplete gamma functions (DLMF 8.2.4).
pub fn tails(x: f64, df: f64) -> Tails {
    if x <= 0.0 {
        return Tails { lower: 0.0, upper: 1.0 };
    }
    Tails { lower: gamma::gamma_lr(df / 2.0, x / 2.0), upper: gamma::gamma_ur(df / 2.0, x / 2.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_two_degrees_of_freedom_it_is_exponential() {
        for x in [0.1_f64, 1.0, 10.0, 100.0] {
            assert!((tails(x, 2.0).upper / (-x / 2.0).exp() - 1.0).abs() < 1e-12, "{x}");
        }
        assert_eq!(tails(0.0, 3.0), Tails { lower: 0.0, upper: 1.0 });
    }
}
