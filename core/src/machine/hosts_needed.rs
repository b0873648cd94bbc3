//! How many hosts a plan needs, whatever hosts there are.

use super::lane::{groups, hosts_of_lane, lane_of, lanes, use_of, wants_different_hosts};
use crate::plan::Plan;
use crate::value::id::RunIndex;

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
pub(crate) fn visits_of_fullest_lane(plan: &Plan) -> u32 {
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

/// Most hosts that serve a run of a plan together.
pub(crate) fn largest_gang(plan: &Plan) -> u32 {
    let benchmarks = plan.benchmarks.iter().filter_map(|index| plan.experiment.benchmark(*index));
    benchmarks.filter_map(|benchmark| Some(benchmark.gang.as_ref()?.hosts)).max().unwrap_or(1)
}

/// How many hosts have as many sets of one size: the least.
pub(super) fn hosts_with_sets(sets: u64, size: u32) -> u32 {
    let size = u64::from(size);
    let mut hosts = size;
    let mut there = 1_u64;
    while there < sets {
        hosts += 1;
        // C(n, k) = C(n - 1, k) n / (n - k), which divides evenly.
        let more = u128::from(there) * u128::from(hosts) / u128::from(hosts - size);
        there = u64::try_from(more).unwrap_or(u64::MAX);
    }
    u32::try_from(hosts).unwrap_or(u32::MAX)
}

/// How many hosts a plan needs whose runs want new sets, where each of its lanes has `visits` of what it has now.
pub(super) fn hosts_for_sets(plan: &Plan, visits: impl Fn(u32) -> u64) -> u32 {
    let mut of_lanes = vec![0_u32; lanes(plan)];
    let runs = (0..plan.runs()).map(RunIndex).filter(|run| !plan.is_build(*run));
    runs.for_each(|run| of_lanes[lane_of(plan, run) as usize] += 1);
    let needed = (0..).zip(of_lanes).filter(|(_, runs)| *runs > 0);
    needed.map(|(lane, runs)| hosts_with_sets(visits(runs), hosts_of_lane(plan, lane))).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_as_many_as_it_takes_for_so_many_sets() {
        for (sets, size, hosts) in [
            (1, 1, 1),
            (7, 1, 7),
            (1, 4, 4),
            (5, 4, 5),
            (6, 4, 6),
            (15, 4, 6),
            (16, 4, 7),
            (20, 2, 7),
            (21, 2, 7),
            (22, 2, 8),
            (513, 512, 513),
            (514, 512, 514),
        ] {
            assert_eq!(hosts_with_sets(sets, size), hosts, "{sets} of {size}");
        }
        assert_eq!(hosts_with_sets(u64::MAX, 1 << 12), 4103);
    }
}
