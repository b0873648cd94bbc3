//! What users feel of varying run times: the metrics I₁ to I₄ (Worms 2016 §6), each from the observations alone and from fitted
//! mixtures.
//!
//! | metric | meaning | observations | mixtures |
//! |---|---|---|---|
//! | I₁ = `E|X − Y|` | mean difference of a run of each version (§6.1) | [`empirical::mean_difference`] | [`modelled::mean_difference`] |
//! | I₂ = `P[X < Y + Δ]` | a run of one version is shorter than one of another (§6.2) | [`empirical::probability_below`] | [`modelled::probability_below`] |
//! | I₃ = `P[X₁ < min(X₂ … Xᵣ)]` | a run of one version is the shortest of all (§6.3) | [`empirical::probability_shortest`] | [`modelled::probability_shortest`] |
//! | I₄ | variability level: modes of the density (§6.4) | – | [`crate::mixture::Mixture::modes`] |
//!
//! Inequalities are strict. Between continuous laws that changes nothing; equal observations are nobody's, and their share
//! stands beside the answer. (In the box after eq. 13 of Worms 2016 Ĝ and 1 − Ĝ are exchanged; eq. 13 itself is meant.)

pub mod empirical;
pub mod modelled;
mod quadrature;

use serde::Serialize;

/// I₂ with what equal observations leave open: the probabilities of below, above and tied add up to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ProbabilityBelow {
    /// `P[X < Y + Δ]`.
    pub below: f64,
    /// `P[X = Y + Δ]`; zero for mixtures.
    pub tied: f64,
}

/// I₃ of every version: with `tied` the shares add up to 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProbabilityShortest {
    /// For each version the probability that a run of it is strictly the shortest, in the order given.
    pub shares: Vec<f64>,
    /// The probability that the shortest run is not one alone; zero for mixtures.
    pub tied: f64,
}
