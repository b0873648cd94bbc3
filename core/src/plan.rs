//! A plan: every run of an experiment, in its order. Drawn once from the experiment's seed, recorded whole, and never
//! derived again: a later release with another shuffle reads the same plan.

use crate::experiment::Experiment;
use crate::id::{BenchmarkIndex, RunIndex, VersionIndex};
use crate::seed::shuffle;

/// One benchmark in one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// The benchmark.
    pub benchmark: BenchmarkIndex,
    /// The version.
    pub version: VersionIndex,
}

/// An experiment with every run specified.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What is compared.
    pub experiment: Experiment,
    /// The benchmarks that take part, ascending; all, or those drawn from the population.
    pub benchmarks: Vec<BenchmarkIndex>,
    /// The cell of each run, by run index: the order in which runs are given out.
    order: Vec<u32>,
}

/// Why recorded runs are no plan for their experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A run of a cell that the experiment does not have.
    #[error("run {run} belongs to cell {cell}, but the experiment has only {cells} cells")]
    UnknownCell {
        /// The run.
        run: u32,
        /// Its cell.
        cell: u32,
        /// How many there are.
        cells: u32,
    },
    /// A benchmark that takes part and does not exist.
    #[error("benchmark {0} takes part, but the experiment does not have it")]
    UnknownBenchmark(u32),
}

impl Plan {
    /// Draws the plan of an experiment: first the benchmarks, if it draws from a population, then the order of the runs.
    pub fn draw(experiment: Experiment) -> Self {
        let mut benchmarks: Vec<u32> = (0..experiment.benchmarks.len() as u32).collect();
        if let Some(size) = experiment.drawn {
            shuffle(&mut benchmarks, &mut experiment.seed.child("population"));
            benchmarks.truncate(size as usize);
            benchmarks.sort_unstable();
        }
        let mut plan = Self {
            benchmarks: benchmarks.into_iter().map(BenchmarkIndex).collect(),
            order: Vec::new(),
            experiment,
        };
        plan.order = plan.draw_runs(0, plan.experiment.runs);
        plan
    }

    /// Puts a recorded plan together again.
    pub fn restore(
        experiment: Experiment,
        benchmarks: Vec<BenchmarkIndex>,
        order: Vec<u32>,
    ) -> Result<Self, PlanError> {
        if let Some(unknown) = benchmarks.iter().find(|b| experiment.benchmark(**b).is_none()) {
            return Err(PlanError::UnknownBenchmark(unknown.0));
        }
        let plan = Self { experiment, benchmarks, order: Vec::new() };
        plan.extended(order)
    }

    /// The runs that `more` further repetitions of each cell would append, in their order.
    pub fn draw_extension(&self, more: u32) -> Vec<u32> {
        self.draw_runs(self.order.len() / self.cells().max(1) as usize, more)
    }

    /// The plan with further runs appended.
    pub fn extended(mut self, appended: Vec<u32>) -> Result<Self, PlanError> {
        let cells = self.cells();
        let from = self.order.len() as u32;
        if let Some(at) = appended.iter().position(|cell| *cell >= cells) {
            return Err(PlanError::UnknownCell { run: from + at as u32, cell: appended[at], cells });
        }
        self.order.extend(appended);
        Ok(self)
    }

    /// How many cells there are.
    pub fn cells(&self) -> u32 {
        self.benchmarks.len() as u32 * self.experiment.versions.len() as u32
    }

    /// How many runs there are.
    pub fn runs(&self) -> u32 {
        self.order.len() as u32
    }

    /// The number of a run's cell.
    ///
    /// # Panics
    /// When the plan has no such run: run indices are checked where they enter.
    pub fn cell_number(&self, run: RunIndex) -> u32 {
        self.order[run.0 as usize]
    }

    /// The cell of a run; panics as [`Plan::cell_number`].
    pub fn cell(&self, run: RunIndex) -> Cell {
        self.cell_by_number(self.cell_number(run))
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

    fn draw_runs(&self, done: usize, more: u32) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.cells()).flat_map(|cell| (0..more).map(move |_| cell)).collect();
        shuffle(&mut order, &mut self.experiment.seed.child(&format!("order from {done}")));
        order
    }
}
