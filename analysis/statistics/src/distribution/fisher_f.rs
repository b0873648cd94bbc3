//! Fisher's F law.

use super::{Tails, beta, beta::UnitPoint};

/// `P[F ≤ f]` and `P[F > f]` for `df1` and `df2` degrees of freedom: I at df1·f/(df1·f + df2) with shapes
/// df1/2, df2/2.
pub fn tails(f: f64, df1: f64, df2: f64) -> Tails {
    beta::tails(UnitPoint::of_parts(df1 * f, df2), df1 / 2.0, df2 / 2.0)
}

/// The F that has these tails.
pub fn quantile(tails: Tails, df1: f64, df2: f64) -> f64 {
    df2 / df1 * beta::quantile_logit(tails, df1 / 2.0, df2 / 2.0).exp()
}
