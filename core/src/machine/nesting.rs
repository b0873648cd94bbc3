//! What a plan nests: where it repeats over hosts, the visits of a cell are on different ones, whatever the policy lets a host
//! do again. In the blocked order a visit is of all versions of a benchmark, and so is what is said here of a cell.
//!
//! A host has visited a cell from the grant of its first run on, whatever becomes of it. The rest of a visit that was lost goes to
//! a host that has visited the cell in no other visit. So that this takes no host from visits that nobody has begun, it goes to one
//! that has not visited the cell at all only if there are more of these than such visits; else to one that has begun this very visit.

#[cfg(test)]
mod tests;

use super::{Active, Machine, queue::lane_of, queue::nested_lane};
use crate::{run::HostNumber, value::id::RunIndex};

/// Whether the rest of a visit may go to a host, as far as the plan nests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// To any: the plan does not nest, or the host has visited nothing of the cell and can be spared.
    Anywhere,
    /// To this one, which has begun this visit, unless it has lost the run: then to one that can be spared.
    Here,
    /// To this one, which has begun this visit, and no other can be spared: also where it has lost the run, if all of these
    /// have, which have begun the visit and may be given runs.
    HereAfter(Vec<HostNumber>),
    /// Not to this one.
    Elsewhere,
}

impl Active {
    /// Notes that a host was given a run.
    pub(super) fn visited(&mut self, host: HostNumber, run: RunIndex) {
        if let Some(lane) = nested_lane(&self.kept.plan, run) {
            let group = self.kept.plan.place(run).group;
            self.kept.visitors.entry(lane).or_default().entry(host).or_insert(group);
        }
    }

    /// Whether a host has begun a visit in a lane whose visits want different hosts.
    pub(super) fn has_visited(&self, host: HostNumber, lane: u32) -> bool {
        self.kept.visitors.get(&lane).is_some_and(|hosts| hosts.contains_key(&host))
    }

    /// The visit that a host has begun of a run's cell.
    pub(super) fn visit_of(&self, host: HostNumber, run: RunIndex) -> Option<RunIndex> {
        self.kept.visitors.get(&nested_lane(&self.kept.plan, run)?)?.get(&host).copied()
    }
}

impl Machine {
    /// Whether the rest of a visit, from this run on, may go to a host.
    pub(super) fn visit_again(&self, active: &Active, number: HostNumber, run: RunIndex) -> Again {
        let Some(lane) = nested_lane(&active.kept.plan, run) else { return Again::Anywhere };
        let group = active.kept.plan.place(run).group;
        let visit = active.visit_of(number, run);
        if visit.is_some_and(|visit| visit != group) {
            return Again::Elsewhere;
        }
        let hosts = active.kept.visitors.get(&lane).into_iter().flatten();
        let usable: Vec<(HostNumber, RunIndex)> = hosts
            .map(|(host, visit)| (*host, *visit))
            .filter(|(host, _)| self.may_be_given(self.latest, active, *host))
            .collect();
        let untouched = self.usable_by(self.latest, active).saturating_sub(usable.len() as u32);
        let can_be_spared = untouched > active.queue.unbegun(lane);
        match (visit, can_be_spared) {
            (None, true) => Again::Anywhere,
            (None, false) => Again::Elsewhere,
            (Some(_), true) => Again::Here,
            (Some(_), false) => {
                let others = usable.into_iter().filter(|(_, visit)| *visit == group);
                Again::HereAfter(others.map(|(host, _)| host).collect())
            }
        }
    }

    /// Whether a host is kept from a waiting run because visits of its cell want different hosts.
    pub(super) fn is_kept_apart(
        &self,
        active: &Active,
        number: HostNumber,
        run: RunIndex,
        began: bool,
    ) -> bool {
        if began {
            return self.visit_again(active, number, run) == Again::Elsewhere;
        }
        active.has_visited(number, lane_of(&active.kept.plan, run))
    }
}
