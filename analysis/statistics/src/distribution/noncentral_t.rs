//! The noncentral t law: (Z + δ)/√(V/ν), a standard normal Z over an independent χ² with ν degrees of freedom.
//!
//! `P[T > t]` is the mean of `P[Z > tS − δ]` over S = √(V/ν) (Johnson, Kotz & Balakrishnan, Continuous Univariate
//! Distributions 2, §31.2). The series of AS 243, which R and scipy sum, is a difference of probabilities and keeps
//! absolute digits only; this integrand is positive, so that its quadrature keeps the digits of either tail.

use super::{Tails, beta::stirling_remainder, normal};
use crate::number::gauss_legendre::integral;
use std::f64::consts::PI;

/// With more degrees of freedom S is 1 to the digits that matter, and T − δ is normal.
const PRACTICALLY_NORMAL: f64 = 1e13;
/// ln of what is nothing beside the rest of the integrand, and is not a double either.
const NOTHING: f64 = -760.0;

/// `P[T ≤ t]` and `P[T > t]` for `df` > 0 degrees of freedom and the noncentrality `delta`, a finite number.
pub fn tails(t: f64, df: f64, delta: f64) -> Tails {
    if t < 0.0 {
        return tails(-t, df, -delta).mirrored();
    }
    if t == 0.0 {
        return normal::tails(-delta);
    }
    if t.is_infinite() {
        return Tails { lower: 1.0, upper: 0.0 };
    }
    if df >= PRACTICALLY_NORMAL {
        return normal::tails(t - delta);
    }
    let mixture = Mixture::new(t, df, delta);
    // The side that is probably the smaller keeps its own digits; the other is its complement while that loses none.
    if t > delta {
        let upper = mixture.upper();
        let lower = if upper <= 0.5 { 1.0 - upper } else { mixture.lower() };
        Tails { lower, upper }
    } else {
        let lower = mixture.lower();
        let upper = if lower <= 0.5 { 1.0 - lower } else { mixture.upper() };
        Tails { lower, upper }
    }
}

/// Normal probabilities weighted by the density of u = ln S.
struct Mixture {
    t: f64,
    df: f64,
    delta: f64,
    breaks: Vec<f64>,
}

impl Mixture {
    fn new(t: f64, df: f64, delta: f64) -> Self {
        Self { t, df, delta, breaks: breaks(t, df, delta) }
    }

    fn lower(&self) -> f64 {
        self.mean_of(|z| normal::tails(z).lower)
    }

    fn upper(&self) -> f64 {
        self.mean_of(|z| normal::tails(z).upper)
    }

    /// The density of u is c·exp(ν(u − (e²ᵘ − 1)/2)), c = √(ν/π)·e^(−r), r the Stirling remainder of ν/2.
    fn mean_of(&self, probability: impl Fn(f64) -> f64) -> f64 {
        let constant = (self.df / PI).sqrt() * (-stirling_remainder(self.df / 2.0)).exp();
        let weighted = |u: f64| log_shape(u, self.df).exp() * probability(self.t * u.exp() - self.delta);
        (constant * integral(&self.breaks, weighted)).min(1.0)
    }
}

/// ln of the density of u relative to its mode at 0.
fn log_shape(u: f64, df: f64) -> f64 {
    // u − (e²ᵘ − 1)/2 = −(2u)²/4 · (1 + 2u/3 + (2u)²/12 + …), by its series where the difference would lose digits.
    let v = 2.0 * u;
    if v.abs() < 1e-3 {
        return -df * v * v / 4.0 * (1.0 + v / 3.0 * (1.0 + v / 4.0 * (1.0 + v / 5.0 * (1.0 + v / 6.0))));
    }
    df * (u - v.exp_m1() / 2.0)
}

/// Panels that grow away from the two places where the integrand turns: the mode of u, and where the argument
/// of the normal probability is zero.
fn breaks(t: f64, df: f64, delta: f64) -> Vec<f64> {
    let width = 1.0 / (2.0 * df).sqrt().max(1.0);
    let least = -outermost(width, |u| log_shape(-u, df));
    let greatest = outermost(width, |u| log_shape(u, df));
    let mut breaks = vec![least, 0.0, greatest];
    let mut spread_about = |centre: f64, width: f64| {
        let mut distance = width;
        while distance < greatest - least {
            breaks.extend([centre - distance, centre + distance]);
            distance *= 2.0;
        }
    };
    spread_about(0.0, width);
    let turn = (delta / t).ln();
    if turn > least && turn < greatest {
        // Around the turn z = δ(e^(u − turn) − 1): one unit of z is 1/δ of u.
        spread_about(turn, 1.0 / delta.max(1.0));
        breaks.push(turn);
    }
    breaks.retain(|u| (least..=greatest).contains(u));
    breaks.sort_unstable_by(f64::total_cmp);
    breaks.dedup();
    breaks
}

/// How far out `log_shape`, which falls, reaches [`NOTHING`], to within a factor of two.
fn outermost(width: f64, log_shape: impl Fn(f64) -> f64) -> f64 {
    let mut distance = width;
    while log_shape(distance) > NOTHING {
        distance *= 2.0;
    }
    distance
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::student_t;

    #[test]
    fn without_noncentrality_it_is_students() {
        for df in [0.02, 0.5, 1.0, 2.5, 30.0, 1e4] {
            for t in [-40.0, -3.0, -0.1, 0.5, 2.0, 12.0] {
                let got = tails(t, df, 0.0);
                let expected = student_t::tails(t, df);
                for (got, expected) in [(got.lower, expected.lower), (got.upper, expected.upper)] {
                    assert!((got - expected).abs() <= 1e-11 * expected, "{t} {df}: {got:e} {expected:e}");
                }
            }
        }
    }

    /// mpmath 1.4.1, 40 digits, quadrature of the same mixture from its chi density.
    #[test]
    fn agrees_with_forty_digits_in_both_tails() {
        let upper = [
            (2.0, 10.0, 1.0, 0.192_388_437_469_645),
            (10.0, 3.0, 0.5, 0.002_531_427_238_389_41),
            (50.0, 4.0, 30.0, 0.163_222_642_142_826),
            (40.0, 1e4, 10.0, 8.847_693_496_429_362e-184),
            (0.5, 1.0, 2.0, 0.936_723_112_520_053),
            (300.0, 1.0, 0.1, 0.001_199_309_732_337_28),
            (1e6, 2.0, 40.0, 1.600_999_998_715_198_5e-9),
            (25.0, 8.0, 3.0, 2.974_477_696_448_08e-6),
            (2.0, 7.3, 0.4, 0.085_749_395_010_947),
        ];
        let lower = [
            (2.0, 10.0, 1.0, 0.807_611_562_530_355_3),
            (-3.0, 20.0, 2.0, 2.944_553_532_800_623e-6),
            (-8.0, 50.0, 3.0, 2.922_291_271_047_56e-19),
            (1.0, 4.0, 30.0, 1.479_781_428_583_953e-155),
            (5.0, 100.0, 12.0, 2.141_930_241_382_729e-11),
            (1.96, 400.0, 3.0, 0.149_463_998_674_758),
            (37.0, 500.0, 40.0, 0.025_296_932_772_244_4),
            (-1.0, 2.0, 1.0, 0.042_056_263_743_704_79),
        ];
        for (t, df, delta, expected) in upper {
            let got = tails(t, df, delta).upper;
            assert!((got / expected - 1.0).abs() < 2e-12, "{t} {df} {delta}: {got:e}");
        }
        for (t, df, delta, expected) in lower {
            let got = tails(t, df, delta).lower;
            assert!((got / expected - 1.0).abs() < 2e-12, "{t} {df} {delta}: {got:e}");
        }
    }
}
