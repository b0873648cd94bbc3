//! Whether the smallest change that a plan promises is found as often as it promises, by the test that reports make.

use super::{Power, PowerSection};
use crate::{LawShape, law::draws::Draws, row::Cell, row::StudyRow, row::Unanswered};
use speedup_statistics::inference::{Alternative, Risk};
use speedup_statistics::planning::required_repetitions::TrimmedDetection;
use speedup_statistics::ratio::{TrimShare, TrimmedRatio};
use speedup_statistics::sample::Sample;

/// The shapes of the logarithms of times. A plan of the first knows its spread; of the others it has a pilot.
const SHAPES: [LawShape; 3] = [LawShape::Normal, LawShape::Lognormal, LawShape::Bimodal];
/// Runs of each version, and the standard deviation of the logarithms.
const PLANS: [(u64, f64); 10] = [
    (4, 0.005),
    (5, 0.2),
    (6, 0.04),
    (8, 0.005),
    (10, 0.04),
    (15, 0.2),
    (20, 0.04),
    (35, 0.005),
    (80, 0.2),
    (200, 0.04),
];
/// The runs of a pilot: enough that its own error is none of the plan's.
const PILOT: u64 = 30_000;
/// The power that is planned.
const POWER: f64 = 0.8;
/// Benchmarks of a suite, whose least p-value Holm compares with the risk over their number.
const FAMILY: f64 = 20.0;
const METHODS: [&str; 2] = ["alone", "first_of_20"];

impl Power {
    /// The share in which the smallest change is found that the plan promises to find with [`POWER`]; the parameter is that speedup.
    pub(super) fn plan_rows(&self) -> Vec<StudyRow> {
        let risk = self.replication.confidence.risk().get();
        let risks: Vec<Risk> =
            [risk, risk / FAMILY].into_iter().filter_map(|risk| Risk::new(risk).ok()).collect();
        let mut rows = Vec::new();
        for shape in SHAPES {
            for (runs, spread) in PLANS {
                let cell =
                    Cell { section: PowerSection::Plans.code(), distribution: Some(shape), size: runs };
                let Some(test) = self.planned(&cell, shape, spread).map(|plan| plan.with_runs(runs)) else {
                    continue;
                };
                for (method, risk) in METHODS.into_iter().zip(&risks) {
                    // Four runs of each version show nothing at the smaller risk.
                    let Some(speedup) = test.smallest(*risk, POWER) else { continue };
                    let stream = format!("{} {method}", cell.stream());
                    let tallies = self.replication.tally(&stream, 1, |draws| {
                        vec![is_found(shape, runs, spread, speedup, *risk, draws)]
                    });
                    for tally in tallies {
                        rows.push(cell.row(method, tally, Unanswered::No, [Some(speedup), Some(POWER)]));
                    }
                }
            }
        }
        rows
    }

    fn planned(&self, cell: &Cell, shape: LawShape, spread: f64) -> Option<TrimmedDetection> {
        if shape == LawShape::Normal {
            return TrimmedDetection::from_moments(1.0, spread).ok();
        }
        let streams = self.replication.seed.child(&format!("{} pilot", cell.stream()));
        let pilot = times(shape, PILOT, spread, 1.0, &mut Draws::new(&streams, 0))?;
        TrimmedDetection::new(&pilot, None, TrimShare::USUAL).ok()
    }
}

fn is_found(
    shape: LawShape,
    runs: u64,
    spread: f64,
    speedup: f64,
    risk: Risk,
    draws: &mut Draws,
) -> Option<bool> {
    let baseline = times(shape, runs, spread, speedup, draws)?;
    let candidate = times(shape, runs, spread, 1.0, draws)?;
    let ratio = TrimmedRatio::new(&baseline, &candidate, TrimShare::USUAL).ok()?;
    let is_significant = ratio.p_value(1.0, Alternative::TwoSided).rejects_at(risk);
    Some(is_significant && ratio.estimate() > 1.0)
}

/// Times whose logarithms have this shape and spread.
fn times(shape: LawShape, runs: u64, spread: f64, factor: f64, draws: &mut Draws) -> Option<Sample> {
    let time = |_| factor * libm::exp(spread * shape.deviate(draws));
    Sample::new((0..runs).map(time).collect()).ok()
}
