//! The metrics from fitted mixtures: sums over pairs of components, and one integral.
//!
//! ```
//! use speedup_statistics::mixture::variability::modelled::{mean_difference, probability_below, probability_shortest};
//! use speedup_statistics::mixture::{Component, Mixture};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Versions with one normal law: E|X − Y| = 2σ/√π, and each is as likely the shortest.
//! let law = Mixture::new(vec![Component { weight: 1.0, mean: 10.0, sd: 1.0 }])?;
//! assert!((mean_difference(&law, &law) - 2.0 / std::f64::consts::PI.sqrt()).abs() < 1e-12);
//! assert!((probability_below(&law, &law, 0.0).below - 0.5).abs() < 1e-12);
//! assert!((probability_shortest(&[&law, &law, &law]).shares[0] - 1.0 / 3.0).abs() < 1e-9);
//! # Ok(())
//! # }
//! ```

use super::{ProbabilityBelow, ProbabilityShortest, quadrature::integral};
use crate::{distribution::normal, mixture::Component, mixture::Mixture, ratio::fieller::unit_of};

/// I₁: `E|X − Y|` of independent X and Y, in the unit of the observations (Worms 2016 §6.1.2).
///
/// X − Y is a mixture of normal laws N(m, s²), each with `E|N| = s√(2/π) e^{−m²/2s²} + m·erf(m/(s√2))`.
pub fn mean_difference(x: &Mixture, y: &Mixture) -> f64 {
    pairs(x, y, |m, s| {
        let z = m / s;
        s * (2.0 / std::f64::consts::PI).sqrt() * (-0.5 * z * z).exp()
            + m * libm::erf(z * std::f64::consts::FRAC_1_SQRT_2)
    })
}

/// I₂: `P[X < Y + delta]` of independent X and Y (Worms 2016 §6.2.2).
pub fn probability_below(x: &Mixture, y: &Mixture, delta: f64) -> ProbabilityBelow {
    // Weights add up to 1 but for rounding, and a probability is no more than that.
    let below = pairs(x, y, |m, s| normal::lower((delta - m) / s)).min(1.0);
    ProbabilityBelow { below, tied: 0.0 }
}

/// I₃: for each version `P[Xᵢ < min of the others]`, X₁ … Xᵣ independent (Worms 2016 §6.3.2): ∫ fᵢ(t) Π (1 − Fⱼ(t)) dt to about
/// 1e-11 of itself.
///
/// Integrated from a component's mean, in the unit of its standard deviation: on the scale of the observations the points
/// of the integral would be rounded by more than the laws' widths where these are small against the means.
pub fn probability_shortest(versions: &[&Mixture]) -> ProbabilityShortest {
    let moved = moved_to_origin(versions);
    let versions: &[&Mixture] = &moved.iter().collect::<Vec<_>>();
    let shortest = |number: usize| {
        let others = || versions.iter().enumerate().filter(|(other, _)| *other != number);
        let integrand = |t: f64| {
            let density = versions[number].density(t);
            if density > 0.0 { density * others().map(|(_, law)| law.sf(t)).product::<f64>() } else { 0.0 }
        };
        if versions.len() == 1 {
            1.0
        } else {
            integral(integrand, &breaks(versions, versions[number])).min(1.0)
        }
    };
    ProbabilityShortest { shares: (0..versions.len()).map(shortest).collect(), tied: 0.0 }
}

/// The laws of (X − μ)/u, with μ a mean and u a power of two near the standard deviation; the same where that is no law.
fn moved_to_origin(versions: &[&Mixture]) -> Vec<Mixture> {
    let origin = versions.first().map(|first| first.components()[0]);
    let moved = |law: &&Mixture, origin: Component| {
        let unit = unit_of(origin.sd);
        let component = |c: &Component| Component {
            weight: c.weight,
            mean: (c.mean - origin.mean) / unit,
            sd: c.sd / unit,
        };
        Mixture::new(law.components().iter().map(component).collect())
    };
    let all = origin.map(|origin| versions.iter().map(|law| moved(law, origin)).collect());
    match all {
        Some(Ok(all)) => all,
        Some(Err(_)) | None => versions.iter().map(|law| (*law).clone()).collect(),
    }
}

/// Σ over pairs of components of the weights times `term` of the mean and standard deviation of the difference.
fn pairs(x: &Mixture, y: &Mixture, term: impl Fn(f64, f64) -> f64) -> f64 {
    let mut sum = 0.0;
    for a in x.components() {
        for b in y.components() {
            sum += a.weight * b.weight * term(a.mean - b.mean, a.sd.hypot(b.sd));
        }
    }
    sum
}

/// Points between which every law is smooth on the scale of the interval: each component's mean and whole standard
/// deviations around it, inside the support of `own` in doubles.
fn breaks(versions: &[&Mixture], own: &Mixture) -> Vec<f64> {
    /// e^(−39²/2) is below the least double.
    const SUPPORT: f64 = 39.0;
    const AROUND: [f64; 12] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 11.0, 16.0, 24.0, SUPPORT];
    let ends = |sign: f64| own.components().iter().map(move |c| c.mean + sign * SUPPORT * c.sd);
    let low = ends(-1.0).fold(f64::INFINITY, f64::min);
    let high = ends(1.0).fold(f64::NEG_INFINITY, f64::max);
    let around = |c: &Component| {
        let mean = c.mean;
        let sd = c.sd;
        AROUND.iter().flat_map(move |steps| [mean - steps * sd, mean + steps * sd])
    };
    let mut breaks: Vec<f64> = versions.iter().flat_map(|law| law.components()).flat_map(around).collect();
    breaks.retain(|x| low <= *x && *x <= high);
    breaks.extend([low, high]);
    breaks.sort_by(f64::total_cmp);
    breaks.dedup();
    breaks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares of laws that differ by little against their means are those of the same laws around zero.
    #[test]
    fn shares_sum_to_one_however_small_the_spread() {
        let law =
            |mean: f64, sd: f64| Mixture::new(vec![Component { weight: 1.0, mean, sd }]).expect("a law");
        for spread in [1e-3, 1e-8, 1e-12, 1e-14, 1e-15, 2.0 * f64::EPSILON] {
            let laws = [law(1.0, spread), law(1.0 + 2.0 * spread, spread)];
            let shares = probability_shortest(&[&laws[0], &laws[1]]).shares;
            let below = probability_below(&laws[0], &laws[1], 0.0).below;
            let sum: f64 = shares.iter().sum();
            assert!((sum - 1.0).abs() < 1e-11, "{spread:e}: {shares:?}");
            assert!((shares[0] - below).abs() < 1e-11, "{spread:e}: {shares:?}, {below}");
        }
    }

    #[test]
    fn a_probability_is_at_most_one() {
        let law = |mean: f64, weights: &[f64]| {
            let components = weights.iter().map(|&weight| Component { weight, mean, sd: 1e-3 }).collect();
            Mixture::new(components).expect("a mixture")
        };
        for parts in 2..60 {
            let weights: Vec<f64> =
                (1..=parts).map(|i| f64::from(i) / f64::from(parts * (parts + 1) / 2)).collect();
            let fast = law(1.0, &weights);
            let slow = law(2.0, &weights);
            let below = probability_below(&fast, &slow, 0.0).below;
            assert!((1.0 - 1e-12..=1.0).contains(&below), "{parts}: {below:e}");
            let shares = probability_shortest(&[&fast, &slow]).shares;
            assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{parts}: {shares:?}");
        }
    }
}
