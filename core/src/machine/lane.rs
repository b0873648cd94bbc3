//! Lanes of a plan. All visits that a host may or may not begin alike are in one lane, so that it
//! passes over a whole lane at once. What the policy counts as the same use of a host is one lane;
//! where the plan nests, each cell has its own, because its visits want different hosts. The builds
//! have the last lane.

use crate::experiment::gang::Gang;
use crate::experiment::{Order, Scope};
use crate::plan::{Plan, Task};
use crate::value::id::{RunIndex, VersionIndex};

/// The lane of a run's group. Builds have the last lane.
pub(super) fn lane_of(plan: &Plan, run: RunIndex) -> u32 {
    let cell = plan.cell_number(plan.place(run).group);
    if cell >= plan.cells() {
        return lanes_of_runs(plan) as u32;
    }
    number_in(unit(plan), plan, cell)
}

/// The key under which a run counts as use of its host; none of a build, which is no use.
pub(super) fn use_of(plan: &Plan, run: RunIndex) -> Option<u32> {
    use_of_lane(plan, lane_of(plan, run))
}

/// The key under which what waits in a lane counts as use of its host.
pub(super) fn use_of_lane(plan: &Plan, lane: u32) -> Option<u32> {
    if lane as usize >= lanes_of_runs(plan) {
        return None;
    }
    let versions = plan.experiment.versions.len() as u32;
    let cell = match unit(plan) {
        Scope::Experiment => 0,
        Scope::Benchmark => lane * versions,
        Scope::Cell => lane,
    };
    Some(number_in(unit_of_use(plan), plan, cell))
}

/// The lane of a run whose visits want different hosts, where the plan says so. Under `distinct` they have them anyway.
pub(super) fn nested_lane(plan: &Plan, run: RunIndex) -> Option<u32> {
    let lane = lane_of(plan, run);
    (wants_different_hosts(plan) && (lane as usize) < lanes_of_runs(plan)).then_some(lane)
}

pub(super) fn wants_different_hosts(plan: &Plan) -> bool {
    plan.experiment.levels.are_nested() && plan.experiment.independence.policy.reuses_hosts()
}

/// The number of the experiment, the benchmark or the cell that a cell is of.
fn number_in(scope: Scope, plan: &Plan, cell: u32) -> u32 {
    scope.number(cell, plan.experiment.versions.len() as u32)
}

/// How many lanes the visits and builds of a plan wait in.
pub(super) fn lanes(plan: &Plan) -> usize {
    lanes_of_runs(plan) + usize::from(plan.experiment.builds() > 0)
}

fn lanes_of_runs(plan: &Plan) -> usize {
    match unit(plan) {
        Scope::Experiment => 1,
        Scope::Benchmark => plan.benchmarks.len(),
        Scope::Cell => plan.cells() as usize,
    }
}

fn unit(plan: &Plan) -> Scope {
    match plan.experiment.order {
        _ if !wants_different_hosts(plan) => unit_of_use(plan),
        Order::Blocked => Scope::Benchmark,
        Order::Randomized | Order::Interleaved => Scope::Cell,
    }
}

/// What one use of a host counts for. Where the policy asks for nothing, all uses are alike.
fn unit_of_use(plan: &Plan) -> Scope {
    let independence = plan.experiment.independence;
    if independence.policy.asks_for_freshness() {
        independence.unit(plan.experiment.order)
    } else {
        Scope::Experiment
    }
}

/// What is done in a lane: a build of each version that is built, or runs of its benchmarks.
pub(super) fn tasks_of(plan: &Plan, lane: u32) -> Vec<Task> {
    let versions = plan.experiment.versions.len().max(1) as u32;
    if lane as usize >= lanes_of_runs(plan) {
        return (0..versions).map(|version| Task::Build(VersionIndex(version))).collect();
    }
    let run = |cell: u32| Task::Run(plan.cell_by_number(cell));
    match unit(plan) {
        Scope::Experiment => (0..plan.cells()).step_by(versions as usize).map(run).collect(),
        Scope::Benchmark => vec![run(lane * versions)],
        Scope::Cell => vec![run(lane)],
    }
}

/// Most hosts that serve a visit of a lane together.
pub(super) fn hosts_of_lane(plan: &Plan, lane: u32) -> u32 {
    tasks_of(plan, lane).into_iter().map(|task| plan.hosts_of_task(task)).max().unwrap_or(1)
}

/// Whether the hosts of what is done in a lane have to be in one job of their engine.
pub(super) fn is_in_one_job(plan: &Plan, lane: u32) -> bool {
    tasks_of(plan, lane).into_iter().any(|task| plan.gang_of_task(task).is_some_and(Gang::is_in_one_job))
}

pub(super) fn lane_in_words(plan: &Plan, lane: u32) -> String {
    let name = |cell: u32| {
        let cell = plan.cell_by_number(cell);
        let benchmark = plan.experiment.benchmarks.get(cell.benchmark.0 as usize);
        let version = plan.experiment.version(cell.version).map(|version| version.name.as_str());
        (benchmark.map_or("", |benchmark| benchmark.name.as_str()), version.unwrap_or_default())
    };
    if lane as usize >= lanes_of_runs(plan) {
        return "the builds".to_owned();
    }
    match unit(plan) {
        Scope::Experiment => "all benchmarks".to_owned(),
        Scope::Benchmark => name(lane * plan.experiment.versions.len() as u32).0.to_owned(),
        Scope::Cell => {
            let (benchmark, version) = name(lane);
            format!("{benchmark} in {version}")
        }
    }
}

/// The first runs of all groups from a group's first run on.
pub(super) fn groups(plan: &Plan, from: u32) -> impl Iterator<Item = RunIndex> + '_ {
    let first = (from < plan.runs()).then_some(RunIndex(from));
    std::iter::successors(first, |group| {
        let next = group.0 + plan.place(*group).size;
        (next < plan.runs()).then_some(RunIndex(next))
    })
}
