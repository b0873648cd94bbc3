//! A plan. It is read by `Plan::restore`, which refuses runs that belong to no cell.

use speedup_core::experiment::{Experiment, MAX_BENCHMARKS, MAX_RUNS};
use speedup_core::plan::{Extension, Plan, PlanError, Shape, Stage};
use speedup_core::value::id::BenchmarkIndex;

use crate::convert::wire::field::{at_most, required};
use crate::convert::wire::malformed::{Malformed, Why};
use crate::convert::wire::{Converter as _, Each, Wire, message, structure, wire};
use crate::{limits::MAX_STAGES, v1};

impl From<&Plan> for v1::Plan {
    fn from(plan: &Plan) -> Self {
        Self {
            experiment: Some((&plan.experiment).into()),
            benchmarks: plan.benchmarks.to_wire(),
            order: plan.order().to_vec(),
            stages: plan.stages().to_vec().to_wire(),
        }
    }
}

impl TryFrom<v1::Plan> for Plan {
    type Error = Malformed;

    fn try_from(wire: v1::Plan) -> Result<Self, Malformed> {
        let experiment: Experiment = required(wire.experiment, "experiment")?;
        let benchmarks = Wire::from_wire(wire.benchmarks, "benchmarks")?;
        let order = order(wire.order, "order")?;
        let stages = Vec::from_wire(wire.stages, "stages")?;
        Self::restore(experiment, benchmarks, order, &stages).map_err(|error| {
            let field = match error {
                PlanError::TooLarge => "experiment",
                PlanError::UnknownBenchmark(_) => "benchmarks",
                PlanError::UnknownCell { .. } | PlanError::LateBuild(_) | PlanError::Builds { .. } => "order",
                PlanError::TornGroup { .. } | PlanError::Stages(_) => "stages",
            };
            Malformed::new(field, error)
        })
    }
}

message!(Plan, v1::Plan);

impl v1::Plan {
    /// Appends runs after the first `from`. Appending the same runs again changes nothing.
    pub fn append(&mut self, from: u32, Extension { order, shape }: Extension) {
        let shape = v1::Shape::from(shape);
        self.order.truncate(from as usize);
        self.order.extend(order);
        self.stages.retain(|stage| stage.from < from);
        let single = v1::Stage { from: 0, shape: Some(Shape::SINGLE.into()) };
        let last = self.stages.last().unwrap_or(&single);
        if last.shape != Some(shape) {
            let first = self.stages.is_empty() && from > 0;
            self.stages.extend(first.then_some(single));
            self.stages.push(v1::Stage { from, shape: Some(shape) });
        }
    }
}

wire! {
    // Not written if all runs are single.
    Vec<Stage> as Vec<v1::Stage>: |stages| {
        let is_single = *stages == [Stage { from: 0, shape: Shape::SINGLE }];
        if is_single { Vec::new() } else { Each(MAX_STAGES).write(stages) }
    }, |wire, field| {
        if wire.is_empty() {
            return Ok(vec![Stage { from: 0, shape: Shape::SINGLE }]);
        }
        Each(MAX_STAGES).read(wire, field)
    };
    // The benchmarks that take part: ascending, so that none is there twice and their number stays within the limit that the
    // number of cells relies on.
    Vec<BenchmarkIndex> as Vec<u32>: |benchmarks| benchmarks.iter().map(|benchmark| benchmark.0).collect(), |wire, field| {
        at_most(wire.len(), MAX_BENCHMARKS, field)?;
        if !wire.is_sorted_by(|earlier, later| earlier < later) {
            return Err(Malformed::new(field, Why::Unordered));
        }
        Ok(wire.into_iter().map(BenchmarkIndex).collect())
    };
}

structure!(Stage, v1::Stage, [from, shape]);
// What makes no group is refused with the runs that it belongs to.
structure!(Shape, v1::Shape, [boots, runs]);

/// Reads the cell of each run.
pub(crate) fn order(wire: Vec<u32>, field: &str) -> Result<Vec<u32>, Malformed> {
    at_most(wire.len(), usize::try_from(MAX_RUNS).unwrap_or(usize::MAX), field)?;
    Ok(wire)
}
