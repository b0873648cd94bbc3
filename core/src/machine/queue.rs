//! Which run is next for a host. Waiting runs lie in lanes: all runs that the policy holds against the same use of a
//! host are in one lane, so that a host passes over a whole lane at once, and the cost of a choice does not grow with
//! runs or hosts.

use std::collections::BTreeSet;

use crate::experiment::{Policy, Scope};
use crate::id::{Attempt, RunIndex};
use crate::plan::Plan;

/// The waiting runs of one experiment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Queue {
    lanes: Vec<Lane>,
    /// The first waiting run of each lane that has one.
    heads: BTreeSet<(u32, u32)>,
}

/// The waiting runs that the policy holds against the same use of a host.
#[derive(Clone, Debug, Default, PartialEq)]
struct Lane {
    /// Runs never given out, the first last.
    first_time: Vec<u32>,
    /// Runs that lost an attempt.
    again: BTreeSet<u32>,
}

impl Lane {
    fn head(&self) -> Option<u32> {
        match (self.first_time.last(), self.again.first()) {
            (Some(first), Some(again)) => Some(*first.min(again)),
            (first, again) => first.or(again).copied(),
        }
    }
}

/// The lane of a run, which is also the key under which a host's use is counted.
pub(super) fn lane_of(plan: &Plan, run: RunIndex) -> u32 {
    let independence = plan.experiment.independence;
    match (independence.policy, independence.scope) {
        (Policy::Any, _) | (_, Scope::Experiment) => 0,
        (_, Scope::Benchmark) => plan.cell_number(run) / plan.experiment.versions.len() as u32,
        (_, Scope::Cell) => plan.cell_number(run),
    }
}

fn lanes(plan: &Plan) -> usize {
    let independence = plan.experiment.independence;
    match (independence.policy, independence.scope) {
        (Policy::Any, _) | (_, Scope::Experiment) => 1,
        (_, Scope::Benchmark) => plan.benchmarks.len(),
        (_, Scope::Cell) => plan.cells() as usize,
    }
}

/// How many fresh hosts a plan needs: as many as its fullest lane has runs, or one where any host will do.
pub fn hosts_needed(plan: &Plan) -> u32 {
    match plan.experiment.independence.policy {
        Policy::Any => 1,
        Policy::Distinct | Policy::Rebooted | Policy::Reallocated | Policy::Rested => {
            let mut runs = vec![0_u32; lanes(plan)];
            (0..plan.runs()).for_each(|run| runs[lane_of(plan, RunIndex(run)) as usize] += 1);
            runs.into_iter().max().unwrap_or(0)
        }
    }
}

impl Queue {
    /// All runs of a plan.
    pub(super) fn new(plan: &Plan) -> Self {
        let mut queue = Self { lanes: vec![Lane::default(); lanes(plan)], heads: BTreeSet::new() };
        queue.append(plan, 0);
        queue
    }

    /// The runs of a plan that wait, ascending, each with its next attempt: a run's first is one that was never given out.
    pub(super) fn of_waiting(plan: &Plan, waiting: impl Iterator<Item = (RunIndex, Attempt)>) -> Self {
        let mut queue = Self { lanes: vec![Lane::default(); lanes(plan)], heads: BTreeSet::new() };
        for (run, attempt) in waiting {
            let lane = &mut queue.lanes[lane_of(plan, run) as usize];
            match attempt {
                Attempt(0 | 1) => lane.first_time.push(run.0),
                Attempt(_) => drop(lane.again.insert(run.0)),
            }
        }
        queue.lanes.iter_mut().for_each(|lane| lane.first_time.reverse());
        queue.find_heads();
        queue
    }

    /// The runs of a plan from `from` on, after all that wait.
    pub(super) fn append(&mut self, plan: &Plan, from: u32) {
        let mut appended: Vec<Vec<u32>> = vec![Vec::new(); self.lanes.len()];
        for run in (from..plan.runs()).rev() {
            appended[lane_of(plan, RunIndex(run)) as usize].push(run);
        }
        for (lane, mut runs) in self.lanes.iter_mut().zip(appended) {
            runs.append(&mut lane.first_time);
            lane.first_time = runs;
        }
        self.find_heads();
    }

    fn find_heads(&mut self) {
        self.heads = (0..).zip(&self.lanes).filter_map(|(key, lane)| Some((lane.head()?, key))).collect();
    }

    /// The first waiting run that `lane_is_free` and, for runs that lost an attempt, `may_retry` let a host take.
    pub(super) fn first(
        &self,
        lane_is_free: impl Fn(u32) -> bool,
        may_retry: impl Fn(u32) -> bool,
    ) -> Option<RunIndex> {
        self.heads.iter().filter(|(_, key)| lane_is_free(*key)).find_map(|(head, key)| {
            let lane = &self.lanes[*key as usize];
            let again = lane.again.iter().copied().find(|run| may_retry(*run));
            match (lane.first_time.last().copied(), again) {
                (Some(first), Some(again)) => Some(first.min(again)),
                (first, again) => first.or(again),
            }
            .inspect(|run| debug_assert!(run >= head, "a head is the first of its lane"))
            .map(RunIndex)
        })
    }

    /// Takes out a run that was given to a host.
    pub(super) fn remove(&mut self, lane: u32, run: RunIndex) {
        self.change(lane, |lane| {
            if lane.again.remove(&run.0) {
                return;
            }
            // The chosen run is the last; a journal of another release may have chosen differently.
            if let Some(at) = lane.first_time.iter().rposition(|waiting| *waiting == run.0) {
                lane.first_time.remove(at);
            }
        });
    }

    /// Puts back a run that lost an attempt.
    pub(super) fn put_back(&mut self, lane: u32, run: RunIndex) {
        self.change(lane, |lane| {
            lane.again.insert(run.0);
        });
    }

    /// Forgets all that wait.
    pub(super) fn clear(&mut self) {
        self.lanes.iter_mut().for_each(|lane| *lane = Lane::default());
        self.heads.clear();
    }

    /// Whether any run waits after a lost attempt.
    pub(super) fn has_retries(&self) -> bool {
        self.lanes.iter().any(|lane| !lane.again.is_empty())
    }

    /// All waiting runs, for the checks.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..)
            .zip(&self.lanes)
            .flat_map(|(key, lane)| lane.first_time.iter().chain(&lane.again).map(move |run| (key, *run)))
    }

    fn change(&mut self, key: u32, change: impl FnOnce(&mut Lane)) {
        let lane = &mut self.lanes[key as usize];
        let before = lane.head();
        change(lane);
        let after = lane.head();
        if before != after {
            before.map(|run| self.heads.remove(&(run, key)));
            after.map(|run| self.heads.insert((run, key)));
        }
    }
}
