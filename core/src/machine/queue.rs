//! The visits that wait. A visit is the waiting runs of a group, named by the first of them: a whole group, or its rest
//! where a host lost it. Visits lie in lanes: all that a host may or may not begin alike are in one lane, so that it passes
//! over a whole lane at once, and the cost of a choice does not grow with runs or hosts. What the policy holds against the
//! same use of a host is one lane; where the plan nests, each cell has its own, because its visits want different hosts.

use std::collections::BTreeSet;

use super::sets::hosts_for_sets;
use crate::experiment::gang::Gang;
use crate::experiment::{Order, Scope};
use crate::plan::{Plan, Task};
use crate::value::id::{RunIndex, VersionIndex};

/// The waiting visits of one experiment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Queue {
    lanes: Vec<Lane>,
    /// The first waiting visit of each lane that has one.
    heads: BTreeSet<(u32, u32)>,
    visits: u32,
    /// How many of them another host began.
    again: u32,
}

/// The waiting visits that the policy holds against the same use of a host.
#[derive(Clone, Debug, Default, PartialEq)]
struct Lane {
    /// Groups never given out, the first last.
    first_time: Vec<u32>,
    /// Visits that another host began.
    again: BTreeSet<u32>,
}

impl Lane {
    fn head(&self) -> Option<u32> {
        match (self.first_time.last(), self.again.first()) {
            (Some(first), Some(again)) => Some(*first.min(again)),
            (first, again) => first.or(again).copied(),
        }
    }

    fn visits(&self) -> u32 {
        (self.first_time.len() + self.again.len()) as u32
    }
}

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

fn wants_different_hosts(plan: &Plan) -> bool {
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

/// Most hosts that serve a run of a plan together.
pub fn largest_gang(plan: &Plan) -> u32 {
    let benchmarks = plan.benchmarks.iter().filter_map(|index| plan.experiment.benchmark(*index));
    benchmarks.filter_map(|benchmark| Some(benchmark.gang.as_ref()?.hosts)).max().unwrap_or(1)
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

/// How many different hosts a plan needs: under `distinct` as many as there are visits that the policy holds against the same
/// use of a host; where it nests, as many as a cell has visits. Elsewhere one host may come again, once it has booted, been
/// allocated anew, or rested; and any may build.
pub fn hosts_needed(plan: &Plan) -> u32 {
    if plan.experiment.independence.policy.is_of_sets() {
        hosts_for_sets(&plan.with_first_runs(), u64::from)
    } else if !plan.experiment.independence.policy.reuses_hosts() {
        visits_of_fullest_lane(plan)
    } else if wants_different_hosts(plan) {
        most_visits(plan, lane_of)
    } else {
        largest_gang(plan)
    }
}

/// How many visits there are that the policy holds against the same use of a host, where they are most.
pub fn visits_of_fullest_lane(plan: &Plan) -> u32 {
    most_visits(plan, |plan, run| use_of(plan, run).unwrap_or(0))
}

/// How many visits there are of one number, where they are most, each counted for every host that serves it; without the
/// builds.
fn most_visits(plan: &Plan, number: impl Fn(&Plan, RunIndex) -> u32) -> u32 {
    let plan = plan.with_first_runs();
    let mut visits = vec![0_u32; plan.cells().max(1) as usize];
    let runs = groups(&plan, 0).filter(|group| !plan.is_build(*group));
    runs.for_each(|group| visits[number(&plan, group) as usize] += plan.hosts_of(group));
    visits.into_iter().max().unwrap_or(0)
}

/// The first runs of all groups from a group's first run on.
fn groups(plan: &Plan, from: u32) -> impl Iterator<Item = RunIndex> + '_ {
    let first = (from < plan.runs()).then_some(RunIndex(from));
    std::iter::successors(first, |group| {
        let next = group.0 + plan.place(*group).size;
        (next < plan.runs()).then_some(RunIndex(next))
    })
}

impl Queue {
    /// All groups of a plan.
    pub(super) fn new(plan: &Plan) -> Self {
        let mut queue =
            Self { lanes: vec![Lane::default(); lanes(plan)], heads: BTreeSet::new(), visits: 0, again: 0 };
        queue.append(plan, 0);
        queue
    }

    /// The waiting visits of a plan, ascending by their names, each with whether another host began it.
    pub(super) fn of_waiting(plan: &Plan, waiting: impl Iterator<Item = (RunIndex, bool)>) -> Self {
        let lanes = vec![Lane::default(); lanes(plan)];
        let mut queue = Self { lanes, heads: BTreeSet::new(), visits: 0, again: 0 };
        for (visit, begun) in waiting {
            let lane = &mut queue.lanes[lane_of(plan, visit) as usize];
            if begun {
                lane.again.insert(visit.0);
            } else {
                lane.first_time.push(visit.0);
            }
            queue.visits += 1;
            queue.again += u32::from(begun);
        }
        queue.lanes.iter_mut().for_each(|lane| lane.first_time.reverse());
        queue.find_heads();
        queue
    }

    /// The groups of a plan from run `from` on, after all that wait.
    pub(super) fn append(&mut self, plan: &Plan, from: u32) {
        let mut appended: Vec<Vec<u32>> = vec![Vec::new(); self.lanes.len()];
        for group in groups(plan, from) {
            appended[lane_of(plan, group) as usize].push(group.0);
            self.visits += 1;
        }
        for (lane, mut runs) in self.lanes.iter_mut().zip(appended) {
            runs.reverse();
            runs.append(&mut lane.first_time);
            lane.first_time = runs;
        }
        self.find_heads();
    }

    fn find_heads(&mut self) {
        self.heads = (0..).zip(&self.lanes).filter_map(|(key, lane)| Some((lane.head()?, key))).collect();
    }

    pub(super) fn visits(&self) -> u32 {
        self.visits
    }

    /// The lanes in which visits wait, each with how many.
    pub(super) fn waiting_lanes(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.heads.iter().map(|(_, key)| (*key, self.lanes[*key as usize].visits()))
    }

    /// Of each lane the first visit that no host has begun, and all that one has: what is offered to hosts.
    pub(super) fn openings(&self) -> impl Iterator<Item = RunIndex> + '_ {
        let lanes = self.heads.iter().map(|(_, key)| &self.lanes[*key as usize]);
        lanes.flat_map(|lane| lane.first_time.last().into_iter().chain(&lane.again)).copied().map(RunIndex)
    }

    /// The first waiting visit that `lane_is_free` and, where another host began it, `may_retry`, else `may_begin` in its
    /// lane, let a host take.
    pub(super) fn first(
        &self,
        lane_is_free: impl Fn(u32) -> bool,
        may_begin: impl Fn(u32) -> bool,
        may_retry: impl Fn(u32) -> bool,
    ) -> Option<RunIndex> {
        self.heads.iter().filter(|(_, key)| lane_is_free(*key)).find_map(|(head, key)| {
            let lane = &self.lanes[*key as usize];
            let again = lane.again.iter().copied().find(|run| may_retry(*run));
            let first = lane.first_time.last().copied().filter(|_| may_begin(*key));
            match (first, again) {
                (Some(first), Some(again)) => Some(first.min(again)),
                (first, again) => first.or(again),
            }
            .inspect(|run| debug_assert!(run >= head, "a head is the first of its lane"))
            .map(RunIndex)
        })
    }

    /// Whether a visit that waits in a lane was begun by another host.
    pub(super) fn is_retry(&self, lane: u32, visit: RunIndex) -> bool {
        self.lanes.get(lane as usize).is_some_and(|lane| lane.again.contains(&visit.0))
    }

    /// How many visits of a lane wait that no host has begun.
    pub(super) fn unbegun(&self, lane: u32) -> u32 {
        self.lanes.get(lane as usize).map_or(0, |lane| lane.first_time.len() as u32)
    }

    /// Takes out a visit that was given to a host; false if there is none of this name.
    pub(super) fn remove(&mut self, lane: u32, visit: RunIndex) -> bool {
        self.change(lane, |lane| {
            if lane.again.remove(&visit.0) {
                return true;
            }
            // The chosen visit is the last; a journal of another release may have chosen differently.
            let at = lane.first_time.iter().rposition(|waiting| *waiting == visit.0);
            at.map(|at| lane.first_time.remove(at)).is_some()
        })
    }

    pub(super) fn put_back(&mut self, lane: u32, visit: RunIndex) {
        self.change(lane, |lane| lane.again.insert(visit.0));
    }

    pub(super) fn clear(&mut self) {
        self.lanes.iter_mut().for_each(|lane| *lane = Lane::default());
        self.heads.clear();
        (self.visits, self.again) = (0, 0);
    }

    /// Whether any visit waits that another host began.
    pub(super) fn has_retries(&self) -> bool {
        self.again > 0
    }

    /// All waiting visits, each with its lane.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..)
            .zip(&self.lanes)
            .flat_map(|(key, lane)| lane.first_time.iter().chain(&lane.again).map(move |run| (key, *run)))
    }

    fn change<T>(&mut self, key: u32, change: impl FnOnce(&mut Lane) -> T) -> T {
        let lane = &mut self.lanes[key as usize];
        let (head, visits, again) = (lane.head(), lane.visits(), lane.again.len() as u32);
        let result = change(lane);
        self.visits = self.visits + lane.visits() - visits;
        self.again = self.again + lane.again.len() as u32 - again;
        let after = lane.head();
        if head != after {
            head.map(|run| self.heads.remove(&(run, key)));
            after.map(|run| self.heads.insert((run, key)));
        }
        result
    }
}
