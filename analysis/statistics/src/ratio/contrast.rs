//! Limits of what two versions' quantiles differ by, from the order statistics of each.
//!
//! Each version's quantile lies between two of its order statistics, with a probability that the binomial law gives whatever the law
//! of the observations (David and Nagaraja, Order Statistics, 2003, §7.1). Of independent versions the variance of the difference is
//! recovered from the distances between the estimates and those ends (MOVER: Zou and Donner, Construction of confidence limits about
//! effect measures, Statistics in Medicine 27, 2008; Newcombe 2011). Of versions that depend on each other in any way each keeps half
//! of the risk, and the difference is not beyond its limits where neither quantile is beyond its own (Bonferroni).
//!
//! Strata are compared each within itself; their differences are averaged by weights, and so are the squares of their distances.

use crate::{inference::Alternative, inference::PValue, sample::SampleQuantile};

/// Two quantiles that are compared, and what that counts for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stratum<'a> {
    pub(crate) weight: f64,
    pub(crate) baseline: SampleQuantile<'a>,
    pub(crate) candidate: SampleQuantile<'a>,
}

/// In what the quantiles are subtracted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    /// In their logarithms; told as a ratio.
    Logarithms,
    /// In their unit: the baseline's less so many times the candidate's.
    Unit { factor: f64 },
}

/// How the two versions of a stratum depend on each other; strata are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dependence {
    /// Not at all.
    None,
    Any,
}

/// What the quantiles of each stratum differ by, on average.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contrast<'s, 'a> {
    pub(crate) strata: &'s [Stratum<'a>],
    pub(crate) scale: Scale,
    pub(crate) dependence: Dependence,
}

/// The limits of a contrast, and the risk beyond each, of the order statistics that it is made of.
pub(crate) struct Limits {
    pub(crate) lower: f64,
    pub(crate) upper: f64,
    risk_of_lower: f64,
    risk_of_upper: f64,
}

/// Least p-value that is looked for: what is smaller is told as this.
const LEAST_RISK: f64 = 1e-300;
/// Halvings of the logarithm of a risk, after which it is known to the last digit.
const HALVINGS: usize = 64;

/// The strata with weights that add up to 1.
pub(crate) fn weighted(mut strata: Vec<Stratum<'_>>) -> Vec<Stratum<'_>> {
    let all: f64 = strata.iter().map(|stratum| stratum.weight).sum();
    strata.iter_mut().for_each(|stratum| stratum.weight /= all);
    strata
}

impl Contrast<'_, '_> {
    /// The limits with at most the risk `beyond` each.
    pub(crate) fn limits(&self, beyond: f64) -> Limits {
        let mut center = 0.0;
        let mut down = 0.0;
        let mut up = 0.0;
        let mut risk_of_lower = 0.0_f64;
        let mut risk_of_upper = 0.0_f64;
        for stratum in self.strata {
            let [x, y] = self.distances(stratum, beyond);
            center += stratum.weight * self.difference(stratum);
            down += (stratum.weight * self.together(x.down, y.up)).powi(2);
            up += (stratum.weight * self.together(x.up, y.down)).powi(2);
            risk_of_lower = risk_of_lower.max(self.risk(x.below, y.above));
            risk_of_upper = risk_of_upper.max(self.risk(x.above, y.below));
        }
        let [lower, upper] = [center - down.sqrt(), center + up.sqrt()].map(|end| self.told(end));
        Limits { lower, upper, risk_of_lower, risk_of_upper }
    }

    /// The p-value of the contrast being `hypothesis`: the least risk at which the limits leave it out. What is observed beyond it
    /// on the other side than `alternative` says counts as 1.
    pub(crate) fn p_value(&self, hypothesis: f64, alternative: Alternative) -> PValue {
        let greater = || self.least_risk(|limits| limits.lower > hypothesis, |limits| limits.risk_of_lower);
        let less = || self.least_risk(|limits| limits.upper < hypothesis, |limits| limits.risk_of_upper);
        PValue::clamped(match alternative {
            Alternative::Greater => greater(),
            Alternative::Less => less(),
            Alternative::TwoSided => 2.0 * greater().min(less()),
        })
    }

    /// The least risk beyond one end at which `excludes`, which once true stays true with more risk; 1 if it never is.
    fn least_risk(&self, excludes: impl Fn(&Limits) -> bool, achieved: impl Fn(&Limits) -> f64) -> f64 {
        let mut too_small = LEAST_RISK.ln();
        let mut enough = 0.5_f64.ln();
        if !excludes(&self.limits(0.5)) {
            return 1.0;
        }
        for _ in 0..HALVINGS {
            let middle = too_small + (enough - too_small) / 2.0;
            if excludes(&self.limits(middle.exp())) { enough = middle } else { too_small = middle }
        }
        achieved(&self.limits(enough.exp()))
    }

    /// By what a stratum's quantiles differ, as estimated.
    pub(crate) fn difference(&self, stratum: &Stratum<'_>) -> f64 {
        let [x, y] = [stratum.baseline.estimate(), stratum.candidate.estimate()];
        match self.scale {
            Scale::Logarithms => (x / y).ln(),
            Scale::Unit { factor } => x - factor * y,
        }
    }

    fn distances(&self, stratum: &Stratum<'_>, beyond: f64) -> [Distances; 2] {
        let beyond = match self.dependence {
            Dependence::None => beyond,
            Dependence::Any => beyond / 2.0,
        };
        let factors = match self.scale {
            Scale::Logarithms => [None; 2],
            Scale::Unit { factor } => [Some(1.0), Some(factor)],
        };
        [
            Distances::new(stratum.baseline, beyond, factors[0]),
            Distances::new(stratum.candidate, beyond, factors[1]),
        ]
    }

    fn together(&self, one: f64, other: f64) -> f64 {
        match self.dependence {
            Dependence::None => one.hypot(other),
            Dependence::Any => one + other,
        }
    }

    fn risk(&self, one: f64, other: f64) -> f64 {
        match self.dependence {
            Dependence::None => one.max(other),
            // Each has half, so that test and interval agree.
            Dependence::Any => 2.0 * one.max(other),
        }
    }

    fn told(&self, end: f64) -> f64 {
        match self.scale {
            Scale::Logarithms => end.exp(),
            Scale::Unit { .. } => end,
        }
    }
}

/// How far the ends of a quantile's interval are from its estimate, and the risk beyond each.
struct Distances {
    down: f64,
    up: f64,
    below: f64,
    above: f64,
}

impl Distances {
    /// In logarithms, or in so many units.
    fn new(quantile: SampleQuantile<'_>, beyond: f64, factor: Option<f64>) -> Self {
        let center = quantile.estimate();
        let [lower, upper] = quantile.ends(beyond);
        let between = |low: f64, high: f64| match factor {
            None => (high / low).ln(),
            Some(factor) => factor * (high - low),
        };
        // An end that takes more runs is at no distance that is known.
        let down = if lower.value.is_finite() { between(lower.value, center) } else { f64::INFINITY };
        let up = if upper.value.is_finite() { between(center, upper.value) } else { f64::INFINITY };
        Self { down: down.max(0.0), up: up.max(0.0), below: lower.miss, above: upper.miss }
    }
}
