//! The law of the runs of a history of commits.

use super::BisectionSection;
use crate::{LawShape, SimulationError, error::LARGEST_VARIATION, law::draws::Draws};
use clap::Args;

/// How the value of a run comes about: level times host times noise, and now and then a stall.
#[derive(Clone, Copy, Debug, PartialEq, Args)]
pub struct HistoryLaw {
    /// The logarithm of the new value over the old one.
    #[arg(long, default_value_t = 0.05)]
    pub step: f64,
    /// The standard deviation of a run's noise, as a share of the value.
    #[arg(long, default_value_t = 0.05)]
    pub variation: f64,
    /// The standard deviation of the logarithm of a host's level.
    #[arg(long, default_value_t = 0.05)]
    pub hosts: f64,
    /// The share of runs that take twice as long.
    #[arg(long, default_value_t = 0.03)]
    pub stalled: f64,
}

/// A stalled run takes so many times as long.
const STALL: f64 = 2.0;

impl HistoryLaw {
    pub(super) fn check(&self) -> Result<(), SimulationError> {
        SimulationError::check_variation(self.variation)?;
        let zero = -f64::MIN_POSITIVE;
        SimulationError::check_range("size of the step", [-1.0, 1.0], &[self.step])?;
        SimulationError::check_range("variation of hosts", [zero, LARGEST_VARIATION * 10.0], &[self.hosts])?;
        SimulationError::check_range("share of stalled runs", [zero, 0.5], &[self.stalled])
    }

    /// The bad end's value over the good one's.
    pub(super) fn total(&self, section: BisectionSection) -> f64 {
        libm::exp(match section {
            BisectionSection::OneStep
            | BisectionSection::Unbuildable
            | BisectionSection::Prior
            | BisectionSection::WrongPrior => self.step,
            BisectionSection::TwoSteps => 2.0 * self.step,
            BisectionSection::NoStep | BisectionSection::Reverted | BisectionSection::Outcomes => 0.0,
        })
    }

    /// The level of a host.
    pub(super) fn host(&self, draws: &mut Draws) -> f64 {
        libm::exp(self.hosts * draws.normal())
    }

    /// The value of a run on `host` of a commit whose level is `logarithm`.
    pub(super) fn value(&self, shape: LawShape, host: f64, logarithm: f64, draws: &mut Draws) -> f64 {
        let noise = 1.0 + self.variation * shape.deviate(draws);
        let stall = if draws.uniform() <= self.stalled { STALL } else { 1.0 };
        // A normal deviate makes no time positive with certainty, only nearly so.
        host * libm::exp(logarithm) * noise.max(f64::EPSILON) * stall
    }
}
