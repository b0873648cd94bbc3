//! Student's t law, with any positive number of degrees of freedom.

use super::Tails;
use super::beta::{self, UnitPoint};

/// `P[T ≤ t]` and `P[T > t]`: the half of I at df/(df + t²) with shapes df/2 and ½ lies beyond |t| (DLMF
/// 8.17(i)).
pub fn tails(t: f64, df: f64) -> Tails {
    let beyond = 0.5 * beta::tails(UnitPoint::of_parts(t * t, df), 0.5, df / 2.0).upper;
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
