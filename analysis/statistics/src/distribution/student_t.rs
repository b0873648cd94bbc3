//! Student's t law, with any positive number of degrees of freedom.

use super::{Tails, beta, beta::UnitPoint};

/// `P[T ≤ t]` and `P[T > t]`: the half of I at df/(df + t²) with shapes df/2 and ½ lies beyond |t| (DLMF
/// 8.17(i)).
pub fn tails(t: f64, df: f64) -> Tails {
    let beyond = 0.5 * beta::tails(UnitPoint::from_parts(t * t, df), 0.5, df / 2.0).upper;
    let positive = Tails { lower: 1.0 - beyond, upper: beyond };
    if t >= 0.0 { positive } else { positive.mirrored() }
}

/// The t that has these tails.
pub fn quantile(tails: Tails, df: f64) -> f64 {
    if tails.lower < tails.upper {
        return -quantile(tails.mirrored(), df);
    }
    let outside = Tails { lower: tails.lower - tails.upper, upper: 2.0 * tails.upper };
    df.sqrt() * (0.5 * beta::quantile_logit(outside, 0.5, df / 2.0)).exp()
}

/// The t that Student's variable exceeds in absolute value with probability `risk`.
pub fn two_sided_critical(risk: f64, df: f64) -> f64 {
    quantile(Tails::from_upper(risk / 2.0), df)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// t, degrees of freedom and P[T > t], by mpmath's `betainc` at 40 digits.
    const UPPER_TAILS: [(f64, f64, f64); 14] = [
        (0.5, 1e4, 0.308_543_039_661_616_7),
        (2.0, 1e4, 0.022_763_630_330_717_72),
        (30.0, 1e4, 1.022_163_523_712_785_3e-189),
        (0.01, 1e6, 0.496_010_644_682_773_84),
        (0.5, 1e6, 0.308_537_593_736_185_7),
        (2.0, 1e6, 0.022_750_266_925_659_604),
        (3.0, 1e6, 0.001_349_931_270_710_898_5),
        (8.0, 1e6, 6.227_531_716_601_26e-16),
        (30.0, 1e6, 6.010_047_116_831_719e-198),
        (0.01, 1e9, 0.496_010_643_686_365_8),
        (0.5, 1e9, 0.308_537_538_780_997_1),
        (2.0, 1e9, 0.022_750_132_083_156_624),
        (3.0, 1e9, 0.001_349_898_064_868_957_8),
        (8.0, 1e9, 6.220_967_142_227_382e-16),
    ];

    #[test]
    fn many_degrees_of_freedom_cost_no_digits() {
        for (t, df, upper) in UPPER_TAILS {
            let got = tails(t, df).upper;
            assert!((got / upper - 1.0).abs() < 1e-12, "{t} {df}: {got:e} for {upper:e}");
            let mirrored = tails(-t, df).lower;
            assert!((mirrored / upper - 1.0).abs() < 1e-12, "{t} {df}: {mirrored:e} for {upper:e}");
        }
    }
}
