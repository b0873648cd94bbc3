//! The shapes of the laws that studies draw from, all of mean 0 and variance 1.

use super::draws::Draws;
use serde::Serialize;

/// The shape of a law of run times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LawShape {
    /// Normal.
    Normal,
    /// Lognormal, the logarithm's standard deviation ½: a tail to the right, skewness 1.75.
    Lognormal,
    /// Gamma of shape 2: a floor and a tail, skewness √2.
    Gamma,
    /// Seven tenths of the runs in one normal cluster and three tenths in a slower one, four of their standard deviations
    /// away: two modes.
    Bimodal,
}

const LOGARITHM_SD: f64 = 0.5;
const SLOWER_SHARE: f64 = 0.3;
const CLUSTER_DISTANCE: f64 = 4.0;

impl LawShape {
    /// All shapes.
    pub const ALL: [Self; 4] = [Self::Normal, Self::Lognormal, Self::Gamma, Self::Bimodal];

    /// A short name that stays the same between releases.
    pub fn code(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Lognormal => "lognormal",
            Self::Gamma => "gamma",
            Self::Bimodal => "bimodal",
        }
    }

    /// A number of mean 0 and variance 1 with this shape.
    pub(crate) fn deviate(self, draws: &mut Draws) -> f64 {
        match self {
            Self::Normal => draws.normal(),
            Self::Lognormal => {
                // E = e^{s²/2}, var = (e^{s²} − 1)e^{s²}.
                let square = libm::exp(LOGARITHM_SD * LOGARITHM_SD);
                let value = libm::exp(LOGARITHM_SD * draws.normal());
                (value - square.sqrt()) / ((square - 1.0) * square).sqrt()
            }
            Self::Gamma => (draws.exponential() + draws.exponential() - 2.0) / std::f64::consts::SQRT_2,
            Self::Bimodal => {
                // var = 1 + q(1 − q)d² before it is scaled.
                let slower = if draws.uniform() <= SLOWER_SHARE { CLUSTER_DISTANCE } else { 0.0 };
                let between = SLOWER_SHARE * (1.0 - SLOWER_SHARE) * CLUSTER_DISTANCE * CLUSTER_DISTANCE;
                (draws.normal() + slower - SLOWER_SHARE * CLUSTER_DISTANCE) / (1.0 + between).sqrt()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use speedup_core::value::seed::Seed;

    #[test]
    fn every_shape_has_mean_0_and_variance_1() {
        for (shape, skewness) in LawShape::ALL.into_iter().zip([0.0, 1.75, std::f64::consts::SQRT_2, 0.45]) {
            let mut draws = Draws::new(&Seed(3).child("shapes"), 0);
            let values: Vec<f64> = (0..200_000).map(|_| shape.deviate(&mut draws)).collect();
            let moment = |power: i32| values.iter().map(|x| x.powi(power)).sum::<f64>() / values.len() as f64;
            assert!(moment(1).abs() < 0.01, "{shape:?}: mean {}", moment(1));
            assert!((moment(2) - 1.0).abs() < 0.03, "{shape:?}: variance {}", moment(2));
            assert!((moment(3) - skewness).abs() < 0.15, "{shape:?}: skewness {}", moment(3));
        }
    }
}
