//! Sets of hosts that served together, where the policy asks for new ones: no set serves twice in the scope, though its hosts may,
//! among others. A set has served from the grant of its leases on, whatever becomes of the attempt. Which set serves a run is
//! drawn from the plan's seed.

use std::collections::BTreeMap;

use super::Active;
use super::lane::{hosts_of_lane, is_in_one_job, lane_of, use_of, use_of_lane};
use crate::{fingerprint::ClassId, host::Host, run::HostNumber, value::id::RunIndex, value::seed::shuffle};

impl Active {
    /// Notes that hosts were given a run together.
    pub(super) fn served_together(&mut self, run: RunIndex, mut hosts: Vec<HostNumber>) {
        if !self.independence().policy.is_of_sets() {
            return;
        }
        if let Some(key) = use_of(&self.kept.plan, run) {
            hosts.sort_unstable();
            self.kept.sets.entry(key).or_default().insert(hosts);
        }
    }

    /// Whether hosts, in ascending order, have served in the scope of a run together; nothing where the policy does not ask.
    pub(super) fn set_served(&self, run: RunIndex, hosts: &[HostNumber]) -> Option<bool> {
        if !self.independence().policy.is_of_sets() {
            return None;
        }
        let key = use_of(&self.kept.plan, run)?;
        Some(self.kept.sets.get(&key).is_some_and(|sets| sets.contains(hosts)))
    }

    /// Whether all sets have served in a lane that there are of these hosts: of those of one class, and of one job where they
    /// have to be in one.
    pub(super) fn has_spent_sets<'h>(
        &self,
        lane: u32,
        hosts: impl Iterator<Item = (HostNumber, &'h Host)>,
    ) -> bool {
        if !self.independence().policy.is_of_sets() {
            return false;
        }
        let in_one_job = is_in_one_job(&self.kept.plan, lane);
        let mut alike = BTreeMap::<(ClassId, Option<&str>), Vec<HostNumber>>::new();
        for (number, host) in hosts {
            if !in_one_job {
                alike.entry((host.class, None)).or_default().push(number);
            } else if let Some(job) = host.job() {
                alike.entry((host.class, Some(job))).or_default().push(number);
            }
        }
        // Sets without the first host are the sets of the rest.
        let mut rests = alike.values().flat_map(|hosts| (0..hosts.len()).map(|at| &hosts[at..]));
        rests.all(|rest| self.new_set(lane, rest[0], &rest[1..]).is_none())
    }

    /// A set of a host and of others that has not served in a lane, ascending. Others that are given first are preferred. Looks at
    /// one set more than have served, at most.
    pub(super) fn new_set(
        &self,
        lane: u32,
        host: HostNumber,
        others: &[HostNumber],
    ) -> Option<Vec<HostNumber>> {
        let served = use_of_lane(&self.kept.plan, lane).and_then(|key| self.kept.sets.get(&key));
        let wanted = hosts_of_lane(&self.kept.plan, lane) as usize - 1;
        let spare = others.len().checked_sub(wanted)?;
        let mut chosen: Vec<usize> = (0..wanted).collect();
        loop {
            let mut set: Vec<HostNumber> = chosen.iter().map(|at| others[*at]).chain([host]).collect();
            set.sort_unstable();
            if served.is_none_or(|served| !served.contains(&set)) {
                return Some(set);
            }
            // The next combination in lexicographic order.
            let last = (0..wanted).rev().find(|at| chosen[*at] < spare + at)?;
            let from = chosen[last] + 1;
            chosen[last..].iter_mut().zip(from..).for_each(|(at, next)| *at = next);
        }
    }

    /// Hosts in the order in which a run would have them: those first that have not lost it.
    pub(super) fn preferred(&self, run: RunIndex, hosts: &mut [HostNumber]) {
        hosts.sort_unstable();
        shuffle(hosts, &mut self.kept.plan.experiment.seed.child(&format!("hosts of run {run}")));
        if let Some(tried) = self.kept.tried.get(&run.0) {
            hosts.sort_by_key(|host| tried.contains(host));
        }
    }

    /// Whether hosts that serve a run together may come again among others.
    pub(super) fn wants_new_sets(&self, run: RunIndex) -> bool {
        let is_of_sets = self.independence().policy.is_of_sets();
        is_of_sets && hosts_of_lane(&self.kept.plan, lane_of(&self.kept.plan, run)) > 1
    }
}
