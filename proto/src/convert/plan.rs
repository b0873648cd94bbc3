//! A plan. It comes in through `Plan::restore`, which asks that every run belongs to a cell.

use speedup_core::experiment::{Experiment, MAX_BENCHMARKS, MAX_RUNS};
use speedup_core::plan::{Extension, Plan, PlanError, Shape, Stage};
use speedup_core::value::id::BenchmarkIndex;

use super::field::{at_most, each, required, structure};
use super::malformed::{Malformed, Why};
use crate::{limits::MAX_STAGES, v1};

impl From<&Plan> for v1::Plan {
    fn from(plan: &Plan) -> Self {
        Self {
            experiment: Some((&plan.experiment).into()),
            benchmarks: plan.benchmarks.iter().map(|benchmark| benchmark.0).collect(),
            order: plan.order().to_vec(),
            stages: wire_stages(plan.stages()),
        }
    }
}

impl TryFrom<v1::Plan> for Plan {
    type Error = Malformed;

    fn try_from(wire: v1::Plan) -> Result<Self, Malformed> {
        let experiment: Experiment = required(wire.experiment, "experiment")?;
        let benchmarks = benchmarks(wire.benchmarks)?;
        let order = order(wire.order, "order")?;
        let stages = stages(wire.stages)?;
        Self::restore(experiment, benchmarks, order, &stages).map_err(|error| {
            let field = match error {
                PlanError::UnknownBenchmark(_) => "benchmarks",
                PlanError::UnknownCell { .. } | PlanError::LateBuild(_) | PlanError::Builds { .. } => "order",
                PlanError::TornGroup { .. } | PlanError::Stages(_) => "stages",
            };
            Malformed::new(field, error)
        })
    }
}

impl v1::Plan {
    /// Appends runs after the first `from`; twice the same changes nothing more.
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

/// The stages, unless all runs are single.
pub(super) fn wire_stages(stages: &[Stage]) -> Vec<v1::Stage> {
    let single = [Stage { from: 0, shape: Shape::SINGLE }];
    let stages = if stages == single { &[] } else { stages };
    let wire = |stage: &Stage| v1::Stage { from: stage.from, shape: Some(stage.shape.into()) };
    stages.iter().map(wire).collect()
}

/// The stages of a plan; one of single runs where none is said.
pub(super) fn stages(wire: Vec<v1::Stage>) -> Result<Vec<Stage>, Malformed> {
    if wire.is_empty() {
        return Ok(vec![Stage { from: 0, shape: Shape::SINGLE }]);
    }
    each(wire, MAX_STAGES, "stages")
}

impl TryFrom<v1::Stage> for Stage {
    type Error = Malformed;

    fn try_from(wire: v1::Stage) -> Result<Self, Malformed> {
        Ok(Self { from: wire.from, shape: required(wire.shape, "shape")? })
    }
}

// What makes no group is refused with the runs that it belongs to.
structure!(Shape, v1::Shape, [boots, runs]);

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
