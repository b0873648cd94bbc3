//! Replicates of the mean.
//!
//! Not replicate by replicate: unit by unit. First it is drawn which replicates use a unit of the highest
//! level, and how often; then, within that unit, which of these uses goes to which of its members, down to the
//! observations, where each use adds a sum of draws to its replicate. So the members of one unit, and the
//! table of their sums, stay in the cache while all replicates draw from them. Where the tables of all members of a
//! unit of level 2 fit into the nearest cache, its uses draw members and observations at once. The replicates have
//! the same joint distribution, since the draws of different units are independent.

use super::index_block::{Streams, fill};
use super::joint_sums::{self, JointPlan, JointSums};
use super::tuple_sums::{self, TuplePlan, TupleSums};
use crate::{levels::HierarchicalBootstrap, levels::LevelTree, levels::unit_means::Units};
use rayon::prelude::*;

/// Replicates drawn together: enough to be worth a table, few enough for a cache, and for [`Replicate`].
const TOGETHER: usize = 1 << 14;

/// Uses listed at a time, which bounds the memory of experiments with very many units.
const LISTED: usize = 1 << 24;

/// The number of a replicate among those drawn together: short, since millions are listed.
type Replicate = u16;

/// The units of the highest level are summed in at most so many parts, whatever the threads.
const PARTS: usize = 64;

/// The mean of the units' means.
pub(super) fn observed(levels: &LevelTree) -> f64 {
    unit_means(levels).last().map_or(f64::NAN, |highest| highest[0])
}

/// As many replicates as `bootstrap` says, in the order of their drawing.
pub(super) fn replicates(levels: &LevelTree, bootstrap: &HierarchicalBootstrap, purpose: &str) -> Vec<f64> {
    let means = unit_means(levels);
    let origin = means.last().map_or(f64::NAN, |highest| highest[0]);
    let walk = Walk { levels, bootstrap, means, origin };
    let draws = bootstrap.draws as usize;
    let together = (LISTED / most_members(levels)).clamp(1, TOGETHER);
    let some = |first: usize| walk.replicates(purpose, first, together.min(draws - first));
    (0..draws).step_by(together).flat_map(some).collect()
}

/// The most members that a unit above level 2 or higher has.
fn most_members(levels: &LevelTree) -> usize {
    let of_level = |level| levels.boundaries(level).windows(2).map(|bounds| bounds[1] - bounds[0]);
    (2..=levels.depth()).flat_map(of_level).max().unwrap_or(1)
}

/// Of each level, the means of the units above it.
fn unit_means(levels: &LevelTree) -> Vec<Vec<f64>> {
    let mut units = Units::from_observations(levels);
    let mut means = Vec::with_capacity(levels.depth());
    for level in 1..=levels.depth() {
        if level > 1 {
            units = Units::from_means(levels, level, &units.means);
        }
        means.push(units.means.value.clone());
    }
    means
}

struct Walk<'a> {
    levels: &'a LevelTree,
    bootstrap: &'a HierarchicalBootstrap,
    means: Vec<Vec<f64>>,
    /// What sums are of differences from, so that they round as little as the observations differ.
    origin: f64,
}

/// The replicates that use a unit, as often as they do, and what one use weighs in a replicate.
struct Uses<'a> {
    replicates: &'a [Replicate],
    weight: f64,
}

/// Memory that units use one after another.
#[derive(Default)]
struct Scratch {
    sums: TupleSums,
    joint: JointSums,
    /// Of each level, who uses the members of one unit.
    of_members: Vec<UsesOfMembers>,
    drawn: Vec<u32>,
}

/// The replicates that use each member of a unit, one member after another.
#[derive(Default)]
struct UsesOfMembers {
    replicates: Vec<Replicate>,
    /// Where the uses of each member end.
    ends: Vec<usize>,
}

impl Walk<'_> {
    fn replicates(&self, purpose: &str, first: usize, count: usize) -> Vec<f64> {
        let highest = self.levels.depth();
        let all: Vec<Replicate> = (0..count as Replicate).collect();
        let purpose = format!("{purpose} from {first}");
        let units = self.levels.members(highest);
        let mut streams = Streams::new(self.bootstrap.seed, &purpose, units);
        let uses = Uses { replicates: &all, weight: 1.0 };
        let totals = if highest == 1 {
            let mut totals = vec![0.0; count];
            self.observations(0, &uses, &mut streams, &mut TupleSums::default(), &mut totals);
            totals
        } else {
            let mut of_units = UsesOfMembers::default();
            of_units.distribute(&uses, units, &mut streams, &mut Vec::new());
            self.sum_of_units(&purpose, count, &of_units)
        };
        totals.into_iter().map(|total| self.origin + total).collect()
    }

    /// What the units of the highest level contribute, each with a stream of its own.
    fn sum_of_units(&self, purpose: &str, count: usize, of_units: &UsesOfMembers) -> Vec<f64> {
        let units = of_units.ends.len();
        let weight = 1.0 / units as f64;
        let level = self.levels.depth() - 1;
        let in_a_part = units.div_ceil(PARTS);
        let part = |first: usize| {
            let mut totals = vec![0.0; count];
            let mut scratch = Scratch::default();
            scratch.of_members.resize_with(level, UsesOfMembers::default);
            for unit in first..units.min(first + in_a_part) {
                let mut streams = Streams::new(self.bootstrap.seed, purpose, unit);
                let uses = Uses { replicates: of_units.member(unit), weight };
                self.members(level, unit, &uses, &mut streams, &mut scratch, &mut totals);
            }
            totals
        };
        let firsts: Vec<usize> = (0..units).step_by(in_a_part).collect();
        let parts: Vec<Vec<f64>> = firsts.into_par_iter().map(part).collect();
        let mut totals = vec![0.0; count];
        for part in &parts {
            for (total, more) in totals.iter_mut().zip(part) {
                *total += more;
            }
        }
        totals
    }

    /// Adds what the members of `level` in `unit` give to the replicates that use the unit.
    fn members(
        &self,
        level: usize,
        unit: usize,
        uses: &Uses<'_>,
        streams: &mut Streams,
        scratch: &mut Scratch,
        totals: &mut [f64],
    ) {
        if !self.bootstrap.resampling.draws_level(level, self.levels.depth()) {
            // Neither is any level below: the unit's mean stands as it is.
            let contribution = uses.weight * (self.means[level - 1][unit] - self.origin);
            for &replicate in uses.replicates {
                totals[replicate as usize] += contribution;
            }
        } else if level == 1 {
            self.observations(unit, uses, streams, &mut scratch.sums, totals);
        } else if let Some(plan) = self.joint_plan(level, unit) {
            self.members_and_observations(unit, &plan, uses, streams, &mut scratch.joint, totals);
        } else {
            let members = self.levels.members_of(level, unit);
            let weight = uses.weight / members.len() as f64;
            let mut of_members = std::mem::take(&mut scratch.of_members[level - 1]);
            of_members.distribute(uses, members.len(), streams, &mut scratch.drawn);
            for (at, member) in members.enumerate() {
                let uses = Uses { replicates: of_members.member(at), weight };
                self.members(level - 1, member, &uses, streams, scratch, totals);
            }
            scratch.of_members[level - 1] = of_members;
        }
    }

    /// How the members of `unit` above `level` draw together with their observations, if they can.
    fn joint_plan(&self, level: usize, unit: usize) -> Option<JointPlan> {
        if level != 2 || !self.bootstrap.resampling.draws_level(1, self.levels.depth()) {
            return None;
        }
        let members = self.levels.members_of(2, unit);
        let observations = self.levels.members_of(1, members.start).len();
        for member in members.clone() {
            if self.levels.members_of(1, member).len() != observations {
                return None;
            }
        }
        JointPlan::new(members.len(), observations)
    }

    /// Adds draws from the members of `unit` and from their observations.
    fn members_and_observations(
        &self,
        unit: usize,
        plan: &JointPlan,
        uses: &Uses<'_>,
        streams: &mut Streams,
        sums: &mut JointSums,
        totals: &mut [f64],
    ) {
        let members = self.levels.members_of(2, unit);
        let start = self.levels.members_of(1, members.start).start;
        let observations = &self.levels.values()[start..self.levels.members_of(1, members.end - 1).end];
        sums.refill(observations, plan);
        let base = uses.weight * (observations[0] - self.origin);
        let weight = uses.weight / observations.len() as f64;
        for replicates in uses.replicates.chunks(joint_sums::TOGETHER) {
            let drawn = sums.draw(plan, streams);
            for (&replicate, drawn) in replicates.iter().zip(drawn) {
                totals[replicate as usize] += base + weight * drawn;
            }
        }
    }

    /// Adds draws from the observations of `unit`, as many for each use as there are.
    fn observations(
        &self,
        unit: usize,
        uses: &Uses<'_>,
        streams: &mut Streams,
        sums: &mut TupleSums,
        totals: &mut [f64],
    ) {
        let members = &self.levels.values()[self.levels.members_of(1, unit)];
        let count = members.len() as f64;
        let plan = TuplePlan::new(members.len(), uses.replicates.len());
        sums.refill(members, &plan);
        let base = uses.weight * (members[0] - self.origin);
        let weight = uses.weight / count;
        let mut drawn = [0.0; tuple_sums::TOGETHER];
        for replicates in uses.replicates.chunks(tuple_sums::TOGETHER) {
            let drawn = &mut drawn[..replicates.len()];
            sums.draw(&plan, streams, drawn);
            for (&replicate, drawn) in replicates.iter().zip(drawn) {
                totals[replicate as usize] += base + weight * *drawn;
            }
        }
    }
}

impl UsesOfMembers {
    /// Draws for each use as many of `members` as there are, and lists for each member the replicates that
    /// drew it, in order: by counting first, so that every list has its place.
    fn distribute(&mut self, uses: &Uses<'_>, members: usize, streams: &mut Streams, drawn: &mut Vec<u32>) {
        drawn.resize(uses.replicates.len() * members, 0);
        fill(streams, members as u32, drawn);
        self.ends.clear();
        self.ends.resize(members, 0);
        for &member in drawn.iter() {
            self.ends[member as usize] += 1;
        }
        let mut end = 0;
        for place in &mut self.ends {
            // For now where the member's uses begin; filling moves it to their end.
            end += std::mem::replace(place, end);
        }
        self.replicates.resize(drawn.len(), 0);
        for (drawn, &replicate) in drawn.chunks_exact(members).zip(uses.replicates) {
            for &member in drawn {
                let place = &mut self.ends[member as usize];
                self.replicates[*place] = replicate;
                *place += 1;
            }
        }
    }

    fn member(&self, member: usize) -> &[Replicate] {
        let start = if member == 0 { 0 } else { self.ends[member - 1] };
        &self.replicates[start..self.ends[member]]
    }
}
