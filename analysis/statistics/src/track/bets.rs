//! Bets that the level of the ratios left an interval, and what they have gained.

use std::f64::consts::PI;

/// The changes that are bet on, as shares of the ratios' standard deviation. Changes between these gain nearly as much.
const SIZES: usize = 4;
/// sinh and cosh of ¼, ½, 1 and 2 times π/√3: of the logistic law with a standard deviation of 1, scaled by its parameter.
const SIZE_SINH_COSH: [(f64, f64); SIZES] = [
    (0.469_149_865_369_924_2, 1.104_582_091_189_522_3),
    (1.036_429_078_743_187_3, 1.440_203_192_353_236_1),
    (2.985_336_935_707_324, 3.148_370_470_528_903_7),
    (18.797_893_305_920_365, 18.824_473_239_396_784),
];
/// The part of what is owned that is staked: with all of it, one stalled run could lose everything.
const STAKE: f64 = 0.9;
/// Evidence beyond any threshold; more is cut off, which only lowers it.
const MOST_EVIDENCE: f64 = 1e300;

/// The null hypothesis that the level lies between two ends, and the sums of the gains of bets against it.
///
/// A bet on a change of size δ gains from a deviation d of a ratio from the end the factor 2f(d − δ)/(f(d − δ) + f(d + δ)), with the density f of the
/// logistic law: 1 + sinh p · sinh q/(1 + cosh p · cosh q), where p and q are d and δ over the law's parameter. That is 1 and an odd, growing
/// function of d, so its expectation is at most 1 for every law that is symmetric about a centre at or below the end.
#[derive(Clone, Debug)]
pub(super) struct LevelBet {
    lower: f64,
    upper: f64,
    /// For each size, that the level rose above the upper end.
    rose: [f64; SIZES],
    /// That it fell below the lower end.
    fell: [f64; SIZES],
    /// The most that their mean ever was.
    peak: f64,
}

impl LevelBet {
    /// Against a level from `lower` to `upper`; either may be infinite.
    pub(super) fn new(lower: f64, upper: f64) -> Self {
        Self { lower, upper, rose: [0.0; SIZES], fell: [0.0; SIZES], peak: 0.0 }
    }

    /// Takes the ratios of the next point, of which `spread` was the standard deviation before.
    pub(super) fn take(&mut self, ratios: &[f64], spread: f64) {
        let mut rose = [1.0; SIZES];
        let mut fell = [1.0; SIZES];
        for ratio in ratios {
            multiply(&mut rose, ratio - self.upper, spread);
            multiply(&mut fell, self.lower - ratio, spread);
        }
        for (sums, factors) in [(&mut self.rose, rose), (&mut self.fell, fell)] {
            for (sum, factor) in sums.iter_mut().zip(factors) {
                // Shiryaev–Roberts: the sum over all points at which the change may have begun, this one included.
                *sum = ((*sum + 1.0) * factor).min(MOST_EVIDENCE);
            }
        }
        self.peak = self.peak.max(self.evidence());
    }

    /// The most that the evidence was after any point.
    pub(super) fn peak(&self) -> f64 {
        self.peak
    }

    /// The mean over all bets.
    pub(super) fn evidence(&self) -> f64 {
        let sum: f64 = self.rose.iter().zip(&self.fell).map(|(rose, fell)| rose + fell).sum();
        (sum / (2 * SIZES) as f64).min(MOST_EVIDENCE)
    }
}

/// Multiplies what each bet owns by its gain from a deviation. Without a spread the sign alone counts.
fn multiply(owned: &mut [f64; SIZES], deviation: f64, spread: f64) {
    if deviation == 0.0 {
        return;
    }
    let p = deviation / spread * PI / 3.0_f64.sqrt();
    let decay = libm::exp(-p.abs());
    let square = decay * decay;
    let tanh = (1.0 - square) / (1.0 + square);
    let sech = 2.0 * decay / (1.0 + square);
    for (owned, (sinh, cosh)) in owned.iter_mut().zip(SIZE_SINH_COSH) {
        *owned *= 1.0 + STAKE * (tanh * sinh / (sech + cosh)).copysign(p);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constants_are_those_of_the_sizes() {
        for (size, (sinh, cosh)) in [0.25, 0.5, 1.0, 2.0].into_iter().zip(SIZE_SINH_COSH) {
            let q = size * PI / 3.0_f64.sqrt();
            assert!((libm::sinh(q) / sinh - 1.0).abs() < 1e-12 && (libm::cosh(q) / cosh - 1.0).abs() < 1e-12);
        }
    }

    /// Opposite deviations gain and lose the same, larger ones more, and no bet is ever lost whole.
    #[test]
    fn gains_are_odd_and_grow() {
        let gains = |deviation: f64| {
            let mut owned = [1.0; SIZES];
            multiply(&mut owned, deviation, 0.01);
            owned
        };
        for deviation in [0.0, 1e-9, 0.003, 0.02, 0.7, f64::INFINITY] {
            let won = gains(deviation);
            let lost = gains(-deviation);
            let more = gains(deviation * 1.5);
            for size in 0..SIZES {
                assert!((won[size] + lost[size] - 2.0).abs() < 1e-15 && lost[size] > 0.09);
                assert!(more[size] >= won[size]);
            }
        }
    }
}
