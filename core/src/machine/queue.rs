//! The visits that wait. A visit is the waiting runs of a group, named by the first of them: a
//! whole group, or its rest where a host lost it. They wait in lanes, so that the cost of a choice
//! does not grow with runs or hosts.

use std::collections::BTreeSet;

use super::lane::{groups, lane_of, lanes};
use crate::plan::Plan;
use crate::value::id::RunIndex;

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

impl Queue {
    /// All groups of a plan.
    pub(super) fn new(plan: &Plan) -> Self {
        let mut queue =
            Self { lanes: vec![Lane::default(); lanes(plan)], heads: BTreeSet::new(), visits: 0, again: 0 };
        queue.append(plan, 0);
        queue
    }

    /// The waiting visits of a plan, ascending by their names, each with whether another host began it.
    pub(super) fn from_waiting(plan: &Plan, waiting: impl Iterator<Item = (RunIndex, bool)>) -> Self {
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
            let first = if may_begin(*key) { lane.first_time.last().copied() } else { None };
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
        let head = lane.head();
        let visits = lane.visits();
        let again = lane.again.len() as u32;
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
