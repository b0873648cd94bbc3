//! The schedule of mclust in single precision: where it ends, at a fraction of the price.
//!
//! Sixteen observations share a vector in the expectation, and all components share one in the maximisation. Single
//! precision disturbs a log-likelihood by about 1e-7 of the sum of its terms, a hundredth of the change at which mclust
//! stops, so a draft ends beside the place where the schedule ends; it is finished in double precision. A draft that
//! single precision cannot carry hands over where it stands.
//!
//! As in `kernel`, sums run in fixed lanes. What is fused is fused by name (`mul_add`, which every processor rounds alike,
//! those before 2013 by a slow subroutine), so every width of vector gives the same bits.
//!
//! In reading order: `lanes` (a vector), `observations` (the sample in vectors), `laws` (the components and their M-step),
//! `pass` (the densities of all observations and their posterior sums), `course` (a start on its way).

mod course;
mod lanes;
mod laws;
mod observations;
mod pass;

use super::points::Points;
use super::state::{State, VarianceModel};
use course::run_abreast;
use observations::{NARROW_TILE, Observations, TILE, WIDE_TILE};
use pass::Memory;

/// Where a draft starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) state: State,
    pub(super) model: VarianceModel,
}

/// Where a draft ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ending {
    /// Where mclust would stop, with the log-likelihood there in standard units, to single precision.
    Settled(State, f64),
    /// Where single precision carries no further.
    HandedOver(State),
}

/// The observations in single precision and the memory of a pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    observations: Observations,
    memory: Memory,
}

impl Draft {
    /// Takes the observations of `points`.
    pub(super) fn refill(&mut self, points: &Points) {
        self.observations.refill(points);
    }

    /// mclust's steps from each start until it would stop, or single precision does not suffice. `log_unit` as in
    /// [`super::schedule::Rule`].
    pub(super) fn run(&mut self, starts: &[Start], log_unit: f64) -> Vec<Ending> {
        let offset = self.observations.total() * log_unit;
        let run = match self.observations.tile() {
            NARROW_TILE => run_abreast::<NARROW_TILE>,
            WIDE_TILE => run_abreast::<WIDE_TILE>,
            _ => run_abreast::<TILE>,
        };
        run(&self.observations, offset, &mut self.memory, starts)
    }
}
