//! A plan. It comes in through `Plan::restore`, which asks that every run belongs to a cell.

use speedup_core::experiment::{Experiment, MAX_BENCHMARKS, MAX_RUNS};
use speedup_core::id::BenchmarkIndex;
use speedup_core::plan::{Plan, PlanError};

use super::field::{at_most, required};
use super::malformed::{Malformed, Why};
use crate::v1;

impl From<&Plan> for v1::Plan {
    fn from(plan: &Plan) -> Self {
        Self {
            experiment: Some((&plan.experiment).into()),
            benchmarks: plan.benchmarks.iter().map(|benchmark| benchmark.0).collect(),
            order: plan.order().to_vec(),
        }
    }
}

impl TryFrom<v1::Plan> for Plan {
    type Error = Malformed;

    fn try_from(wire: v1::Plan) -> Result<Self, Malformed> {
        let experiment: Experiment = required(wire.experiment, "experiment")?;
        let benchmarks = benchmarks(wire.benchmarks)?;
        let order = order(wire.order, "order")?;
        Self::restore(experiment, benchmarks, order).map_err(|error| {
            let field = match error {
                PlanError::UnknownBenchmark(_) => "benchmarks",
                PlanError::UnknownCell { .. } => "order",
            };
            Malformed::new(field, error)
        })
    }
}

/// The benchmarks that take part: ascending, so that none is there twice and their number stays within the limit
/// that the number of cells relies on.
pub(crate) fn benchmarks(wire: Vec<u32>) -> Result<Vec<BenchmarkIndex>, Malformed> {
    at_most(wire.len(), MAX_BENCHMARKS, "benchmarks")?;
    if !wire.is_sorted_by(|earlier, later| earlier < later) {
        return Err(Malformed::new("benchmarks", Why::Unordered));
    }
    Ok(wire.into_iter().map(BenchmarkIndex).collect())
}

/// The cell of each run.
pub(crate) fn order(wire: Vec<u32>, field: &str) -> Result<Vec<u32>, Malformed> {
    at_most(wire.len(), usize::try_from(MAX_RUNS).unwrap_or(usize::MAX), field)?;
    Ok(wire)
}
