//! Plans: every run of an experiment, in its order. A plan is drawn once from the experiment's
//! seed, stored whole, and never derived again, so a later release with another shuffle reads the
//! same plan.
//!
//! Runs come in groups: a group is what one host serves in one visit. If the plan neither nests
//! levels nor blocks, a group is one run. If versions are built, the builds go first, each a group
//! of its own, with numbers after those of all cells; the measured runs are appended when all
//! builds are made. In a bisection a version is built when it is first to be run: builds and blocks
//! of runs alternate, and most versions may have neither.

mod builds;
mod draw;
pub mod file;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::experiment::gang::Gang;
use crate::experiment::{Experiment, MAX_BENCHMARKS, MAX_RUNS};
use crate::repetition::MAX_LINE;
use crate::value::id::{BenchmarkIndex, RunIndex, VersionIndex};

/// One benchmark in one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    pub benchmark: BenchmarkIndex,
    pub version: VersionIndex,
}

/// Work of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Builds a version.
    Build(VersionIndex),
    /// Executes a benchmark in a version, and is measured.
    Run(Cell),
}

impl Task {
    /// Version that it builds or executes.
    pub const fn version(self) -> VersionIndex {
        match self {
            Self::Build(version) => version,
            Self::Run(cell) => cell.version,
        }
    }

    /// Cell of a measured run.
    pub const fn cell(self) -> Option<Cell> {
        match self {
            Self::Build(_) => None,
            Self::Run(cell) => Some(cell),
        }
    }
}

/// An experiment with all its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RecordedPlan")]
pub struct Plan {
    pub experiment: Experiment,
    /// Benchmarks that take part, ascending: all, or those drawn from the population.
    pub benchmarks: Vec<BenchmarkIndex>,
    /// Cell number of each run, by run index: the order in which runs are given out.
    order: Vec<u32>,
    /// Stages, ascending; the first begins with the first run.
    stages: Vec<Stage>,
    /// Which runs are builds, and which builds the other runs use. Derived, so that no lookup walks the order.
    #[serde(skip_serializing)]
    builds: builds::Builds,
}

/// What cannot be derived of a plan.
#[derive(Deserialize)]
struct RecordedPlan {
    experiment: Experiment,
    benchmarks: Vec<BenchmarkIndex>,
    order: Vec<u32>,
    stages: Vec<Stage>,
}

impl TryFrom<RecordedPlan> for Plan {
    type Error = PlanError;

    fn try_from(recorded: RecordedPlan) -> Result<Self, PlanError> {
        let RecordedPlan { experiment, benchmarks, order, stages } = recorded;
        Self::restore(experiment, benchmarks, order, &stages)
    }
}

/// Runs that were planned together, in groups of one shape: all from `from` to the next stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    pub from: u32,
    pub shape: Shape,
}

/// Shape of a group, whose runs follow each other in the order, those of one boot together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    pub boots: u32,
    /// Runs of each boot, all versions together.
    pub runs: u32,
}

impl Shape {
    /// A group of a single run.
    pub const SINGLE: Self = Self { boots: 1, runs: 1 };

    /// Runs of a group.
    pub const fn size(self) -> u32 {
        self.boots.saturating_mul(self.runs)
    }
}

/// Runs to be appended to a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// The cell of each run, whole groups one after another.
    pub order: Vec<u32>,
    pub shape: Shape,
}

/// Where a run stands in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The group's first run, which is also its name.
    pub group: RunIndex,
    /// How many runs the group has.
    pub size: u32,
    /// The boot of the visit, from 0.
    pub boot: u32,
}

/// Why recorded runs are no plan for their experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("run {run} belongs to cell {cell}, but the experiment has only {cells} cells")]
    UnknownCell { run: u32, cell: u32, cells: u32 },
    #[error("benchmark {0} takes part, but the experiment does not have it")]
    UnknownBenchmark(u32),
    /// Runs that are no whole number of groups, or more than a plan can number.
    #[error("{runs} runs are not groups of {boots} boots with {of_a_boot} runs each")]
    TornGroup { runs: usize, boots: u32, of_a_boot: u32 },
    #[error(
        "run {0} is a build among other runs, but builds go before the runs that use them, each by itself"
    )]
    LateBuild(u32),
    /// Too many builds of a version, or too few of them before the first run that is measured.
    #[error("version {version} has {planned} builds in the plan, and {builds} in the experiment")]
    Builds { version: u32, planned: u32, builds: u32 },
    #[error("stage {0} does not begin where runs of the plan begin")]
    Stages(usize),
    #[error("it has more benchmarks, versions or runs than a plan may have")]
    TooLarge,
}

impl Plan {
    /// Puts a recorded plan together again.
    ///
    /// # Errors
    /// [`PlanError`] when the parts do not fit each other.
    pub fn restore(
        experiment: Experiment,
        benchmarks: Vec<BenchmarkIndex>,
        mut order: Vec<u32>,
        stages: &[Stage],
    ) -> Result<Self, PlanError> {
        // The number of a cell is the product of two of these, and has to fit its type.
        if benchmarks.len() > MAX_BENCHMARKS
            || experiment.versions.len() > MAX_LINE
            || order.len() as u64 > MAX_RUNS
        {
            return Err(PlanError::TooLarge);
        }
        if let Some(unknown) = benchmarks.iter().find(|b| experiment.benchmark(**b).is_none()) {
            return Err(PlanError::UnknownBenchmark(unknown.0));
        }
        let mut plan = Self::empty(experiment, benchmarks);
        // Without recorded stages every run is a group of its own.
        let whole = [Stage { from: 0, shape: Shape::SINGLE }];
        let stages = if stages.is_empty() { &whole } else { stages };
        let mut rest = order.split_off(0);
        for (number, stage) in stages.iter().enumerate() {
            let end = stages.get(number + 1).map_or(plan.order.len() + rest.len(), |next| next.from as usize);
            let length = end.checked_sub(plan.order.len()).filter(|length| *length <= rest.len());
            let Some(length) = length else { return Err(PlanError::Stages(number)) };
            if stage.from as usize != plan.order.len() {
                return Err(PlanError::Stages(number));
            }
            let later = rest.split_off(length);
            let order = std::mem::replace(&mut rest, later);
            plan = plan.extended(Extension { order, shape: stage.shape })?;
        }
        Ok(plan)
    }

    fn empty(experiment: Experiment, benchmarks: Vec<BenchmarkIndex>) -> Self {
        let mut plan = Self {
            experiment,
            benchmarks,
            order: Vec::new(),
            stages: Vec::new(),
            builds: builds::Builds::default(),
        };
        plan.builds = builds::Builds::none(&plan.experiment, plan.cells());
        plan
    }

    /// The plan with further runs appended, as a stage of its own.
    ///
    /// # Errors
    /// [`PlanError`] when they do not fit it.
    pub fn extended(mut self, extension: Extension) -> Result<Self, PlanError> {
        let Extension { order, shape } = &extension;
        let cells = self.cells();
        let size = shape.size();
        if size == 0 || size == u32::MAX || !order.len().is_multiple_of(size as usize) {
            let Shape { boots, runs: of_a_boot } = *shape;
            return Err(PlanError::TornGroup { runs: order.len(), boots, of_a_boot });
        }
        for (run, cell) in (self.runs()..).zip(order) {
            if let Task::Build(version) = self.task_of(*cell)
                && self.experiment.version(version).is_none_or(|version| version.build.is_none())
            {
                return Err(PlanError::UnknownCell { run, cell: *cell, cells });
            }
        }
        self.fit_builds(&extension)?;
        self.append(extension);
        Ok(self)
    }

    /// Appends runs that fit.
    fn append(&mut self, extension: Extension) {
        let from = self.runs();
        self.builds.append(self.cells(), from, &extension);
        let Extension { order, shape } = extension;
        // Stages of one shape are one: what a group is does not change where they meet.
        if self.stages.last().is_none_or(|last| last.shape != shape) {
            self.stages.push(Stage { from, shape });
        }
        self.order.extend(order);
    }

    /// How many cells there are.
    pub fn cells(&self) -> u32 {
        self.benchmarks.len() as u32 * self.experiment.versions.len() as u32
    }

    /// How many runs there are.
    pub fn runs(&self) -> u32 {
        self.order.len() as u32
    }

    /// The number of a run's cell; of a build, that of its version after all cells.
    ///
    /// # Panics
    /// When the plan has no such run: run indices are checked where they enter.
    pub fn cell_number(&self, run: RunIndex) -> u32 {
        self.order[run.0 as usize]
    }

    /// What a run does; panics as [`Plan::cell_number`].
    pub fn task(&self, run: RunIndex) -> Task {
        self.task_of(self.cell_number(run))
    }

    /// What runs of this number in the order do.
    fn task_of(&self, number: u32) -> Task {
        match number.checked_sub(self.cells()) {
            Some(version) => Task::Build(VersionIndex(version)),
            None => Task::Run(self.cell_by_number(number)),
        }
    }

    /// The cell of a run, unless it is a build; panics as [`Plan::cell_number`].
    pub fn cell(&self, run: RunIndex) -> Option<Cell> {
        self.task(run).cell()
    }

    /// How many hosts serve a run together; panics as [`Plan::cell_number`].
    pub fn hosts_of(&self, run: RunIndex) -> u32 {
        self.hosts_of_task(self.task(run))
    }

    /// How many hosts serve what is done together.
    pub(crate) fn hosts_of_task(&self, task: Task) -> u32 {
        self.gang_of_task(task).map_or(1, |gang| gang.hosts.max(1))
    }

    /// How what is done is spread over hosts, if it is.
    pub(crate) fn gang_of_task(&self, task: Task) -> Option<&Gang> {
        self.experiment.benchmark(task.cell()?.benchmark)?.gang.as_ref()
    }

    /// A cell by its number: benchmarks in order, within each its versions.
    pub fn cell_by_number(&self, number: u32) -> Cell {
        let versions = self.experiment.versions.len() as u32;
        Cell {
            benchmark: self.benchmarks[(number / versions) as usize],
            version: VersionIndex(number % versions),
        }
    }

    /// The cell number of each run, in order.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The stages, in order.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// Where a run stands in its group.
    pub fn place(&self, run: RunIndex) -> Place {
        let at = self.stages.partition_point(|stage| stage.from <= run.0);
        let Some(stage) = at.checked_sub(1).and_then(|at| self.stages.get(at)) else {
            return Place { group: run, size: 1, boot: 0 };
        };
        let size = stage.shape.size();
        let within = run.0 - stage.from;
        Place { group: RunIndex(run.0 - within % size), size, boot: within % size / stage.shape.runs }
    }
}
