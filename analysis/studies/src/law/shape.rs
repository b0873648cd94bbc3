//! The shapes of the laws that studies draw from, of mean 0, and of variance 1 but for the cusp.

use super::draws::Draws;
use clap::ValueEnum;
use serde::Serialize;

speedup_core::words! {
    /// The shape of a law of run times.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
    #[serde(rename_all = "snake_case")]
    #[value(rename_all = "snake_case")]
    pub enum LawShape {
        /// Normal.
        Normal = "normal",
        /// Lognormal, the logarithm's standard deviation ½: a tail to the right, skewness 1.75.
        Lognormal = "lognormal",
        /// Gamma of shape 2: a floor and a tail, skewness √2.
        Gamma = "gamma",
        /// Seven tenths of the runs in one normal cluster and three tenths in a slower one, four of their standard deviations
        /// away: two modes.
        Bimodal = "bimodal",
        /// An exponential tail on a floor: skewness 2.
        Floor = "floor",
        /// Lognormal, the logarithm's standard deviation 1: skewness 6.2.
        HeavyLognormal = "heavy_lognormal",
        /// Pareto of index 2.5, whose third moment is infinite.
        Pareto = "pareto",
        /// Normal, read by a clock that steps by half a standard deviation: equal values are usual.
        Clock = "clock",
        /// Normal, and three runs of a hundred stalled by 25 of its standard deviations: twice the time at a variation of 4 %.
        Stalls = "stalls",
        /// Six tenths of the runs in one normal cluster and four tenths in a slower one, four of their standard deviations away.
        TwoModes = "two_modes",
        /// Half of the runs tight at a floor, the others with an exponential tail above it, 800 times as wide.
        HalfTight = "half_tight",
        /// The same with six tenths at the floor.
        MostlyTight = "mostly_tight",
        /// Half of the runs tight at a floor, and a far longer tail than other laws have: at a variation of 2 % the runs at the floor
        /// differ by ±0.05 %, and the tail is 40 % of the floor. The variation must be below 12 %.
        Cusp = "cusp",
        /// Two narrow clusters of half of the runs each, and nothing between.
        Gap = "gap",
    }
    /// A short name that stays the same between releases.
    fn code;
}

const LOGARITHM_SD: f64 = 0.5;
const CLUSTER_DISTANCE: f64 = 4.0;
const CLUSTER_SPREAD: f64 = 0.025;
const PARETO_INDEX: f64 = 2.5;
const CLOCK_STEP: f64 = 0.5;
const STALLED_SHARE: f64 = 0.03;
const STALL: f64 = 25.0;
const HALF_TIGHT: Tight = Tight { share: 0.5, width: 1.0 / 800.0, tail: 1.0 };
const MOSTLY_TIGHT: Tight = Tight { share: 0.6, ..HALF_TIGHT };
/// With the mean taken away, the floor is at −25/3.
const CUSP: Tight = Tight { share: 0.5, width: 1.0 / 48.0, tail: 50.0 / 3.0 };
/// The median of the gamma law of shape 2: the root of (1 + x)e⁻ˣ = ½.
const GAMMA_MEDIAN: f64 = 1.678_346_990_016_661;

impl LawShape {
    /// The median of what [`LawShape::deviate`] draws, where it has a closed form and no atom.
    pub(crate) fn median(self) -> Option<f64> {
        let lognormal = |sd: f64| {
            let square = libm::exp(sd * sd);
            (1.0 - square.sqrt()) / ((square - 1.0) * square).sqrt()
        };
        match self {
            Self::Normal => Some(0.0),
            Self::Lognormal => Some(lognormal(LOGARITHM_SD)),
            Self::Gamma => Some((GAMMA_MEDIAN - 2.0) / std::f64::consts::SQRT_2),
            Self::Floor => Some(std::f64::consts::LN_2 - 1.0),
            Self::HeavyLognormal => Some(lognormal(1.0)),
            Self::Pareto => Some(pareto(libm::exp2(1.0 / PARETO_INDEX))),
            Self::HalfTight => Some(HALF_TIGHT.median() / HALF_TIGHT.sd()),
            Self::MostlyTight => Some(MOSTLY_TIGHT.median() / MOSTLY_TIGHT.sd()),
            Self::Cusp => Some(CUSP.median()),
            Self::Bimodal | Self::Clock | Self::Stalls | Self::TwoModes | Self::Gap => None,
        }
    }

    /// A number of mean 0 with this shape, and of variance 1 but for the cusp.
    pub(crate) fn deviate(self, draws: &mut Draws) -> f64 {
        let lognormal = |draws: &mut Draws, sd: f64| {
            // E = e^{s²/2}, var = (e^{s²} − 1)e^{s²}.
            let square = libm::exp(sd * sd);
            (libm::exp(sd * draws.normal()) - square.sqrt()) / ((square - 1.0) * square).sqrt()
        };
        match self {
            Self::Normal => draws.normal(),
            Self::Lognormal => lognormal(draws, LOGARITHM_SD),
            Self::HeavyLognormal => lognormal(draws, 1.0),
            Self::Floor => draws.exponential() - 1.0,
            Self::Pareto => pareto(libm::pow(draws.uniform(), -1.0 / PARETO_INDEX)),
            Self::Clock => {
                // The variance of what is rounded is larger by a twelfth of the step squared (Sheppard).
                let read = (draws.normal() / CLOCK_STEP).round() * CLOCK_STEP;
                read / (1.0 + CLOCK_STEP * CLOCK_STEP / 12.0).sqrt()
            }
            Self::Stalls => {
                let stalled = if draws.uniform() <= STALLED_SHARE { STALL } else { 0.0 };
                let between = STALLED_SHARE * (1.0 - STALLED_SHARE) * STALL * STALL;
                (draws.normal() + stalled - STALLED_SHARE * STALL) / (1.0 + between).sqrt()
            }
            Self::Gamma => (draws.exponential() + draws.exponential() - 2.0) / std::f64::consts::SQRT_2,
            Self::Bimodal => clusters(draws, 0.3),
            Self::TwoModes => clusters(draws, 0.4),
            Self::HalfTight => HALF_TIGHT.deviate(draws) / HALF_TIGHT.sd(),
            Self::MostlyTight => MOSTLY_TIGHT.deviate(draws) / MOSTLY_TIGHT.sd(),
            Self::Cusp => CUSP.deviate(draws),
            Self::Gap => {
                let side = if draws.uniform() <= 0.5 { -1.0 } else { 1.0 };
                (side + CLUSTER_SPREAD * draws.normal()) / (1.0 + CLUSTER_SPREAD * CLUSTER_SPREAD).sqrt()
            }
        }
    }
}

/// A number of two clusters, a share of it in the slower one: var = 1 + q(1 − q)d² before it is scaled.
fn clusters(draws: &mut Draws, slower_share: f64) -> f64 {
    let slower = if draws.uniform() <= slower_share { CLUSTER_DISTANCE } else { 0.0 };
    let between = slower_share * (1.0 - slower_share) * CLUSTER_DISTANCE * CLUSTER_DISTANCE;
    (draws.normal() + slower - slower_share * CLUSTER_DISTANCE) / (1.0 + between).sqrt()
}

/// Runs tight at a floor, evenly within ± a width, and the others with an exponential tail above it.
struct Tight {
    share: f64,
    width: f64,
    tail: f64,
}

impl Tight {
    fn mean(&self) -> f64 {
        (1.0 - self.share) * self.tail
    }

    fn sd(&self) -> f64 {
        let squares =
            self.share * self.width * self.width / 3.0 + 2.0 * (1.0 - self.share) * self.tail * self.tail;
        (squares - self.mean() * self.mean()).sqrt()
    }

    /// The median less the mean, as if no run of the tail were as low as the floor's: too large by less than 0.003 of the width.
    fn median(&self) -> f64 {
        self.width * (1.0 / self.share - 1.0) - self.mean()
    }

    fn deviate(&self, draws: &mut Draws) -> f64 {
        let is_tight = draws.uniform() <= self.share;
        let above = if is_tight {
            self.width * (2.0 * draws.uniform() - 1.0)
        } else {
            self.tail * draws.exponential()
        };
        above - self.mean()
    }
}

/// A number of the Pareto law from 1 on, moved and scaled: E = a/(a − 1), var = a/((a − 1)²(a − 2)).
fn pareto(value: f64) -> f64 {
    const MEAN: f64 = PARETO_INDEX / (PARETO_INDEX - 1.0);
    let variance = PARETO_INDEX / ((PARETO_INDEX - 1.0).powi(2) * (PARETO_INDEX - 2.0));
    (value - MEAN) / variance.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use speedup_core::value::seed::Seed;

    #[test]
    fn every_shape_has_mean_0_and_its_variance() {
        let skewness = [0.0, 1.75, std::f64::consts::SQRT_2, 0.45, 2.0];
        let skewness = skewness.map(Some).into_iter().chain(std::iter::repeat(None));
        for (shape, skewness) in LawShape::value_variants().iter().zip(skewness) {
            let mut draws = Draws::new(&Seed(3).child("shapes"), 0);
            let values: Vec<f64> = (0..200_000).map(|_| shape.deviate(&mut draws)).collect();
            let moment = |power: i32| values.iter().map(|x| x.powi(power)).sum::<f64>() / values.len() as f64;
            // The sample's variance of a law without a fourth moment is anywhere.
            let near = match (shape, skewness) {
                (LawShape::Pareto, _) => f64::INFINITY,
                (_, Some(_)) => 0.03,
                (_, None) => 0.35,
            };
            let variance = if *shape == LawShape::Cusp { CUSP.sd() * CUSP.sd() } else { 1.0 };
            let mean = moment(1) / variance.sqrt();
            assert!(mean.abs() < 0.01, "{shape:?}: mean {mean}");
            assert!((moment(2) / variance - 1.0).abs() < near, "{shape:?}: variance {}", moment(2));
            if let Some(skewness) = skewness {
                assert!((moment(3) - skewness).abs() < 0.15, "{shape:?}: skewness {}", moment(3));
            }
            let below =
                |median: f64| values.iter().filter(|x| **x < median).count() as f64 / values.len() as f64;
            let share = shape.median().map_or(0.5, below);
            assert!((share - 0.5).abs() < 0.005, "{shape:?}: {share} below the median");
        }
    }
}
