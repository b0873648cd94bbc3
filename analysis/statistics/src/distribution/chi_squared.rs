//! The χ² law.

use statrs::function::gamma;

/// `P[X > x]` of χ² with `df` degrees of freedom: the regularized upper incomplete gamma function (DLMF 8.2.4).
pub fn upper_tail(x: f64, df: f64) -> f64 {
    if x <= 0.0 { 1.0 } else { gamma::gamma_ur(df / 2.0, x / 2.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R: `pchisq(x, df, lower.tail = FALSE)`; with 2 degrees of freedom it is exp(−x/2).
    #[test]
    fn tails_are_known() {
        for x in [0.1_f64, 1.0, 10.0, 100.0] {
            assert!((upper_tail(x, 2.0) / (-x / 2.0).exp() - 1.0).abs() < 1e-12, "{x}");
        }
        assert_eq!(upper_tail(0.0, 3.0), 1.0);
    }
}
