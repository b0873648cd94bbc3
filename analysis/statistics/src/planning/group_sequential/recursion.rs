//! The sub-density of the statistic among experiments that went on, look after look.
//!
//! With S = Z√t increments of S are independent, normal, of variance Δt and mean drift·Δt. The density of S
//! among the experiments that went on is kept at the points of a quadrature; the next is its convolution with
//! the increment's, cut at the boundary (Armitage, McPherson & Rowe 1969; Jennison & Turnbull 2000, ch. 19).

use super::Sides;
use crate::{distribution::Tails, distribution::normal, number::gauss_legendre};
use std::f64::consts::PI;

/// Beyond this z a normal has 1e-19 of its mass.
const REACH: f64 = 9.0;
/// Width of a panel in standard deviations of the increment: 20 points resolve a normal density over it to 1e-15.
const PANEL: f64 = 3.0;

/// Where the experiments that went on stand.
pub(super) struct Recursion {
    sides: Sides,
    drift: f64,
    /// The fraction at the current look.
    fraction: f64,
    /// Information since the last look.
    increment: f64,
    /// S at the last look: position and mass of each quadrature point.
    before: Vec<Mass>,
}

#[derive(Clone, Copy)]
struct Mass {
    at: f64,
    mass: f64,
}

impl Recursion {
    pub(super) fn new(sides: Sides, drift: f64) -> Self {
        Self { sides, drift, fraction: 0.0, increment: 0.0, before: vec![Mass { at: 0.0, mass: 1.0 }] }
    }

    /// Moves to the look at `fraction`.
    pub(super) fn advance(&mut self, fraction: f64) {
        self.increment = fraction - self.fraction;
        self.fraction = fraction;
    }

    /// The probabilities of stopping at the current look, below and above, at this boundary of Z.
    pub(super) fn stops(&self, boundary: f64) -> Tails {
        let end = boundary * self.fraction.sqrt();
        let sd = self.increment.sqrt();
        let mut stops = Tails { lower: 0.0, upper: 0.0 };
        for Mass { at, mass } in &self.before {
            let mean = at + self.drift * self.increment;
            stops.upper += mass * normal::tails((end - mean) / sd).upper;
            if self.sides == Sides::Both {
                stops.lower += mass * normal::tails((-end - mean) / sd).lower;
            }
        }
        stops
    }

    /// Stops experiments beyond `boundary`, and keeps the rest for the look at `next`, if there is one.
    pub(super) fn cross(&mut self, boundary: f64, next: Option<f64>) -> Tails {
        let stops = self.stops(boundary);
        if let Some(next) = next {
            self.before = self.going_on(boundary, (next - self.fraction).sqrt());
        }
        stops
    }

    fn going_on(&self, boundary: f64, next_sd: f64) -> Vec<Mass> {
        let root = self.fraction.sqrt();
        let sd = self.increment.sqrt();
        let centre = self.drift * self.fraction;
        let upper = (boundary * root).min(centre + REACH * root);
        let lower = match self.sides {
            Sides::One => centre - REACH * root,
            Sides::Both => (-boundary * root).max(centre - REACH * root),
        };
        if upper <= lower {
            return Vec::new();
        }
        let panels = ((upper - lower) / (PANEL * sd.min(next_sd))).ceil().max(1.0);
        let width = (upper - lower) / panels;
        let panel = |index: usize| {
            let start = lower + width * index as f64;
            gauss_legendre::nodes(start, start + width)
        };
        let mass =
            |node: gauss_legendre::Node| Mass { at: node.at, mass: node.weight * self.density(node.at, sd) };
        (0..panels as usize).flat_map(panel).map(mass).collect()
    }

    /// The sub-density of S at the current look.
    fn density(&self, s: f64, sd: f64) -> f64 {
        let shift = s - self.drift * self.increment;
        // The points are in order: only those within reach of an increment matter.
        let first = self.before.partition_point(|mass| mass.at < shift - REACH * sd);
        let near = self.before[first..].iter().take_while(|mass| mass.at <= shift + REACH * sd);
        let weighted = near.map(|Mass { at, mass }| {
            let z = (shift - at) / sd;
            mass * (-z * z / 2.0).exp()
        });
        weighted.sum::<f64>() / (sd * (2.0 * PI).sqrt())
    }
}
