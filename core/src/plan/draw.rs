//! Drawing a plan from its seed.

use std::borrow::Cow;

use rand_chacha::ChaCha8Rng;

use super::{Extension, Plan, Shape};
use crate::experiment::{Bisection, Experiment, Order, Repetition};
use crate::value::id::{BenchmarkIndex, VersionIndex};
use crate::value::seed::shuffle;

impl Plan {
    /// Draws the plan of an experiment: first the benchmarks, if it draws from a population, then the order of the builds;
    /// where there are none, that of the runs.
    pub fn draw(experiment: Experiment) -> Self {
        let mut benchmarks: Vec<u32> = (0..experiment.benchmarks.len() as u32).collect();
        if let Some(size) = experiment.drawn {
            shuffle(&mut benchmarks, &mut experiment.seed.child("population"));
            benchmarks.truncate(size as usize);
            benchmarks.sort_unstable();
        }
        let benchmarks = benchmarks.into_iter().map(BenchmarkIndex).collect();
        let mut plan = Self::empty(experiment, benchmarks);
        let builds = plan.draw_builds();
        let first = if builds.order.is_empty() { plan.draw_runs() } else { builds };
        plan.append(first);
        plan
    }

    /// The builds that a plan begins with, in random order: of all versions, in a bisection of its ends.
    fn draw_builds(&self) -> Extension {
        let versions = (0..).map(VersionIndex).zip(&self.experiment.versions);
        let versions = versions.filter(|(index, _)| !self.experiment.can_do_without(*index));
        let builds = versions.map(|(index, version)| {
            (self.cells() + index.0, version.build.as_ref().map_or(0, |build| build.builds))
        });
        let mut order: Vec<u32> =
            builds.flat_map(|(number, builds)| std::iter::repeat_n(number, builds as usize)).collect();
        shuffle(&mut order, &mut self.experiment.seed.child("builds"));
        Extension { order, shape: Shape::SINGLE }
    }

    /// The first runs that are measured, in their order: those that a plan begins with, or that follow its builds.
    pub fn draw_runs(&self) -> Extension {
        if let Some(Bisection { block, blocks, maximum: _ }) = self.experiment.bisection() {
            // Nobody knows yet which are run: those that divide the line are as long as others.
            let last = self.experiment.versions.len().saturating_sub(1) as u64;
            let parts = u64::from(block).saturating_sub(1).max(1);
            let probes = (0..block).map(|part| VersionIndex((last * u64::from(part) / parts) as u32));
            return self.draw_blocks(&vec![probes.collect(); blocks as usize]);
        }
        self.draw_extension(&self.singly(self.experiment.repetition().visits()), self.visit())
    }

    /// The plan with its first runs that are measured, where they still wait for the builds.
    pub fn with_first_runs(&self) -> Cow<'_, Self> {
        if !self.is_building() {
            return Cow::Borrowed(self);
        }
        let mut plan = self.clone();
        plan.append(self.draw_runs());
        Cow::Owned(plan)
    }

    /// The same number for each cell.
    pub fn singly(&self, more: u32) -> Vec<u32> {
        vec![more; self.cells() as usize]
    }

    /// Boots and runs of a cell in one visit, as the plan says.
    pub fn visit(&self) -> Shape {
        match self.experiment.repetition() {
            Repetition::Runs(_) => Shape::SINGLE,
            Repetition::Nested { boots, runs, .. } => Shape { boots, runs },
        }
    }

    /// The runs that further visits of each cell would append, in their order; a visit of a cell has this shape.
    ///
    /// In the blocked order a visit serves all versions of a benchmark, as often as the cell of it that asks for most.
    pub fn draw_extension(&self, visits: &[u32], visit: Shape) -> Extension {
        let random = &mut self.experiment.seed.child(&self.draw_name());
        let versions = self.experiment.versions.len();
        let members = if self.experiment.order == Order::Blocked { versions } else { 1 };
        let counted = visits.chunks(members.max(1)).map(|of_one| of_one.iter().copied().max().unwrap_or(0));
        // Each visit is named by its first cell.
        let mut groups: Vec<(u32, u32)> = Vec::new();
        for (number, count) in (0..).zip(counted) {
            groups.extend((0..count).map(|round| (round, number * members as u32)));
        }
        match self.experiment.order {
            Order::Randomized | Order::Blocked => shuffle(&mut groups, random),
            Order::Interleaved => {
                groups.sort_unstable();
                groups.chunk_by_mut(|one, other| one.0 == other.0).for_each(|round| shuffle(round, random));
            }
        }
        let shape = Shape { boots: visit.boots, runs: visit.runs.saturating_mul(members as u32) };
        let order =
            groups.iter().flat_map(|(_, cell)| in_a_visit(*cell, members as u32, visit, random)).collect();
        Extension { order, shape }
    }

    /// Further blocks of a bisection: the versions of each, which one host serves in random order. All have the same number of runs.
    pub fn draw_blocks(&self, blocks: &[Vec<VersionIndex>]) -> Extension {
        let random = &mut self.experiment.seed.child(&self.draw_name());
        let mut order = Vec::new();
        for versions in blocks {
            let mut block: Vec<u32> = versions.iter().map(|version| version.0).collect();
            shuffle(&mut block, random);
            order.append(&mut block);
        }
        let runs = blocks.first().map_or(1, |versions| versions.len().max(1) as u32);
        Extension { order, shape: Shape { boots: 1, runs } }
    }

    /// The builds of further versions of a bisection, in this order.
    pub fn builds_for(&self, versions: &[VersionIndex]) -> Extension {
        let order = versions.iter().map(|version| self.cells() + version.0).collect();
        Extension { order, shape: Shape::SINGLE }
    }

    /// What tells the draws of one plan apart: how many runs of each cell there are, or of all.
    fn draw_name(&self) -> String {
        let runs = self.order.len() - self.builds() as usize;
        let cells = self.cells().max(1) as usize;
        match (runs / cells, runs % cells) {
            (of_each, 0) => format!("order from {of_each}"),
            _ => format!("order from run {runs}"),
        }
    }
}

/// The cells of one visit in their order: in each boot all members as often as the visit says, in random order.
fn in_a_visit(first: u32, members: u32, visit: Shape, random: &mut ChaCha8Rng) -> Vec<u32> {
    let mut cells = Vec::with_capacity((visit.size() * members) as usize);
    for _ in 0..visit.boots {
        let mut boot: Vec<u32> = (first..first + members)
            .flat_map(|cell| std::iter::repeat_n(cell, visit.runs as usize))
            .collect();
        if members > 1 {
            shuffle(&mut boot, random);
        }
        cells.append(&mut boot);
    }
    cells
}
