//! Nesting: where a plan repeats over hosts, the visits of a cell are on different hosts, whatever
//! the policy lets a host do again. In the blocked order a visit is of all versions of a benchmark,
//! and so is what is said here of a cell.
//!
//! A host has visited a cell from the grant of its first run on, whatever becomes of it. The rest
//! of a visit that was lost goes to a host that has visited the cell in no other visit: to one that
//! has not visited it at all if more of these are left than visits that nobody has begun, so that
//! none of those visits lacks a host; otherwise to a host that began this very visit.

#[cfg(test)]
mod tests;

use super::{Active, Machine, lane::lane_of, lane::nested_lane};
use crate::{run::HostNumber, value::id::RunIndex};

/// Whether a host may take the rest of a visit, as far as nesting decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NestedRetry {
    /// Any host may: the plan does not nest, or this host has not visited the cell and can be spared.
    AnyHost,
    /// This host, which started the visit; another spare host if this one lost the run.
    Starter,
    /// Only hosts that started the visit, because no other can be spared. This one is among them; it retries even a run that it lost
    /// once every listed host has lost it. Listed are the starters that may be given runs.
    OnlyStarters(Vec<HostNumber>),
    /// Not this host: it has made another visit of the cell, or every host without one is needed for visits that nobody has begun.
    OtherHost,
}

impl Active {
    /// Records that a host was given a run.
    pub(super) fn visited(&mut self, host: HostNumber, run: RunIndex) {
        if let Some(lane) = nested_lane(&self.kept.plan, run) {
            let group = self.kept.plan.place(run).group;
            self.kept.visitors.entry(lane).or_default().entry(host).or_insert(group);
        }
    }

    /// Whether a host has begun a visit in a lane whose visits need different hosts.
    pub(super) fn has_visited(&self, host: HostNumber, lane: u32) -> bool {
        self.kept.visitors.get(&lane).is_some_and(|hosts| hosts.contains_key(&host))
    }

    /// Visit of a run's cell that a host has begun.
    pub(super) fn visit_of(&self, host: HostNumber, run: RunIndex) -> Option<RunIndex> {
        self.kept.visitors.get(&nested_lane(&self.kept.plan, run)?)?.get(&host).copied()
    }
}

impl Machine {
    /// Whether a host may take the rest of a visit, from this run on, as far as nesting decides.
    pub(super) fn nested_retry(&self, active: &Active, number: HostNumber, run: RunIndex) -> NestedRetry {
        let Some(lane) = nested_lane(&active.kept.plan, run) else { return NestedRetry::AnyHost };
        let group = active.kept.plan.place(run).group;
        let own_visit = active.visit_of(number, run);
        if own_visit.is_some_and(|visit| visit != group) {
            return NestedRetry::OtherHost;
        }
        let mut usable_visitors = 0;
        let mut starters = Vec::new();
        for (host, visit) in active.kept.visitors.get(&lane).into_iter().flatten() {
            if self.may_be_given(self.latest, active, *host) {
                usable_visitors += 1;
                if *visit == group {
                    starters.push(*host);
                }
            }
        }
        // Each visit that nobody has begun needs a host that has not visited the cell.
        let untouched = self.usable_by(self.latest, active).saturating_sub(usable_visitors);
        let can_be_spared = untouched > active.queue.unbegun(lane);
        match (own_visit, can_be_spared) {
            (None, true) => NestedRetry::AnyHost,
            (None, false) => NestedRetry::OtherHost,
            (Some(_), true) => NestedRetry::Starter,
            (Some(_), false) => NestedRetry::OnlyStarters(starters),
        }
    }

    /// Whether nesting keeps a host from a waiting run; `was_begun` says whether some host has begun the visit.
    pub(super) fn nesting_excludes(
        &self,
        active: &Active,
        number: HostNumber,
        run: RunIndex,
        was_begun: bool,
    ) -> bool {
        if was_begun {
            self.nested_retry(active, number, run) == NestedRetry::OtherHost
        } else {
            active.has_visited(number, lane_of(&active.kept.plan, run))
        }
    }
}
