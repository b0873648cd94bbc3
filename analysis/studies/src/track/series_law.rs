//! The law of the runs of a series of points.

use super::SeriesKind;
use crate::{LawShape, SimulationError, error::LARGEST_VARIATION, law::draws::Draws};
use clap::Args;

/// How the value of a run comes about: level times noise, and what the kind of the series adds.
#[derive(Clone, Copy, Debug, PartialEq, Args)]
pub struct SeriesLaw {
    /// The logarithm of the level after a change over the one before.
    #[arg(long, default_value_t = 0.01)]
    pub step: f64,
    /// The standard deviation of a run's noise, as a share of the value.
    #[arg(long, default_value_t = 0.01)]
    pub variation: f64,
    /// The standard deviation of the logarithm of a machine's level.
    #[arg(long, default_value_t = 0.01)]
    pub machines: f64,
    /// So many points in a row are of one machine.
    #[arg(long, default_value_t = 10)]
    pub machine_points: u64,
    /// The share of runs that take twice as long.
    #[arg(long, default_value_t = 0.02)]
    pub stalled: f64,
    /// The standard deviation of the logarithm of a build's level.
    #[arg(long, default_value_t = 0.005)]
    pub builds: f64,
}

/// A stalled run takes so many times as long.
const STALL: f64 = 2.0;

impl SeriesLaw {
    pub(super) fn check(&self) -> Result<(), SimulationError> {
        SimulationError::check_variation(self.variation)?;
        let zero = -f64::MIN_POSITIVE;
        let most = LARGEST_VARIATION * 10.0;
        SimulationError::check_range("size of the step", [-1.0, 1.0], &[self.step])?;
        SimulationError::check_range(
            "variation of machines and builds",
            [zero, most],
            &[self.machines, self.builds],
        )?;
        SimulationError::check_counts("points of a machine", 1, &[self.machine_points])?;
        SimulationError::check_range("share of stalled runs", [zero, 0.5], &[self.stalled])
    }

    /// For each point, the logarithm of commit over reference for each block; `level` has the commit's.
    pub(super) fn draw(
        &self,
        kind: SeriesKind,
        shape: LawShape,
        [points, blocks]: [u64; 2],
        level: &dyn Fn(u64) -> f64,
        draws: &mut Draws,
    ) -> Vec<Vec<f64>> {
        let builds = if kind == SeriesKind::Builds { self.builds } else { 0.0 };
        let reference = builds * draws.normal();
        let mut machine = 0.0;
        let of_point = |point: u64| {
            if kind == SeriesKind::Machines && point.is_multiple_of(self.machine_points) {
                machine = self.machines * draws.normal();
            }
            let commit = level(point) + builds * draws.normal();
            let mut run = |level: f64| libm::log(self.value(kind, shape, machine + level, draws));
            (0..blocks).map(|_| run(commit) - run(reference)).collect()
        };
        (0..points).map(of_point).collect()
    }

    fn value(&self, kind: SeriesKind, shape: LawShape, logarithm: f64, draws: &mut Draws) -> f64 {
        let noise = 1.0 + self.variation * shape.deviate(draws);
        let stalls = kind == SeriesKind::Stalls && draws.uniform() <= self.stalled;
        // A normal deviate makes no time positive with certainty, only nearly so.
        libm::exp(logarithm) * noise.max(f64::EPSILON) * if stalls { STALL } else { 1.0 }
    }
}
