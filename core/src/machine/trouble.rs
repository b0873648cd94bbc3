//! Whose fault a lost attempt is, and what follows for the experiment and for the host.
//!
//! A plan must not take a host from others: its programs may kill the agent, fill the disk and make any kind of loss. So an
//! experiment gives up a host on which it loses one attempt after another, and that host goes on serving others. It is
//! quarantined only when experiments of two users have given it up with nothing executed on it between: one user could
//! otherwise do it with two plans.
//!
//! What the plan (or an owner's limits) stood in the way of says nothing of the host, but may hold on every host. A host on which an
//! attempt was lost so waits while hosts that have not lost one execute the experiment's runs: so a plan that no host can
//! execute costs each host one attempt, not each run all of its attempts. When none of them is left, the experiment is paused.
//! A host that is given up is tried again after a time, and before that only where too few others are there and no engine is to bring more.

#[cfg(test)]
mod tests;

use super::provision::{LEFT_OUT, MAX_LEFT_OUT, doubled};
use super::{Active, HostLosses, LOST_IN_A_ROW, Machine, hosts_needed::largest_gang};
use crate::host::Host;
use crate::run::lease::Lease;
use crate::run::{HostNumber, LossReason};
use crate::value::count::counted;
use crate::value::id::{ExperimentId, HostId};
use crate::value::time::Timestamp;

/// Most characters of why the latest attempt was lost on a host: a line of a table.
const MAX_WORDS: usize = 160;

impl HostLosses {
    /// Until when the host is given up.
    pub fn until(&self) -> Option<Timestamp> {
        let more = self.lost.checked_sub(LOST_IN_A_ROW)?;
        Some(self.latest + doubled(LEFT_OUT, more + 1).min(MAX_LEFT_OUT))
    }

    fn is_given_up(&self, now: Timestamp) -> bool {
        self.until().is_some_and(|until| now < until)
    }
}

impl Active {
    /// Records an attempt lost on a host. Returns whether the host is to blame for so many that it is given up.
    pub(super) fn lost_on(&mut self, at: Timestamp, host: HostNumber, reason: &LossReason) -> bool {
        let trouble = self.kept.troubles.entry(host).or_default();
        trouble.lost += 1;
        trouble.latest = at;
        trouble.words = reason.words().chars().take(MAX_WORDS).collect();
        if reason.is_the_hosts() {
            trouble.by_host += 1;
        } else {
            trouble.turned_down += 1;
        }
        trouble.by_host >= LOST_IN_A_ROW
    }

    /// Records an attempt executed on a host. Returns whether that may make ineligible hosts eligible.
    pub(super) fn executed_on(&mut self, host: HostNumber) -> bool {
        self.kept.turned_down_in_a_row = 0;
        let was_in_trouble = self.kept.troubles.remove(&host).is_some();
        let mut was_any_held_back = false;
        for trouble in self.kept.troubles.values_mut() {
            was_any_held_back |= trouble.turned_down > 0;
            trouble.turned_down = 0;
        }
        was_in_trouble || was_any_held_back
    }

    /// Until when it has given up a host, if it has.
    fn gives_up(&self, now: Timestamp, host: HostNumber) -> Option<Timestamp> {
        self.kept.troubles.get(&host)?.until().filter(|until| now < *until)
    }

    fn was_turned_down_by(&self, host: HostNumber) -> bool {
        self.kept.troubles.get(&host).is_some_and(|trouble| trouble.turned_down > 0)
    }

    /// The hosts that have turned it down since it was last executed.
    fn turned_down_by(&self) -> impl Iterator<Item = HostNumber> + '_ {
        self.kept.troubles.iter().filter(|(_, trouble)| trouble.turned_down > 0).map(|(host, _)| *host)
    }

    fn live(&self) -> usize {
        (self.tally.leased + self.tally.running) as usize
    }
}

impl Machine {
    /// Whether an experiment has given up a host: while others could take its runs, or may come, this one gets none.
    pub(super) fn has_given_up(&self, now: Timestamp, active: &Active, number: HostNumber) -> bool {
        self.gives_up_until(now, active, number).is_some()
    }

    /// Until when it has, if it has.
    pub(super) fn gives_up_until(
        &self,
        now: Timestamp,
        active: &Active,
        number: HostNumber,
    ) -> Option<Timestamp> {
        let until = active.gives_up(now, number)?;
        // One that is away counts among nobody: its engine is not to give it out again.
        let is_left_out =
            !self.could_serve(active, number) || self.usable_by(now, active) < self.available_to(active);
        is_left_out.then_some(until)
    }

    /// The experiments that have given up a host, with what was lost there.
    pub fn left_out(&self, now: Timestamp, host: &HostId) -> Vec<(ExperimentId, &HostLosses)> {
        let Some(number) = self.number_of(host) else { return Vec::new() };
        let mut left_out = Vec::new();
        for (id, active) in &self.experiments {
            if let Some(trouble) = active.kept.troubles.get(&number)
                && self.has_given_up(now, active, number)
            {
                left_out.push((*id, trouble));
            }
        }
        left_out
    }

    /// Whether a host could be given runs of an experiment, fresh or not.
    pub(super) fn may_be_given(&self, now: Timestamp, active: &Active, number: HostNumber) -> bool {
        self.could_serve(active, number) && !self.has_given_up(now, active, number)
    }

    /// How many hosts could be given runs of an experiment, fresh or not: without those that it has given up, unless there are
    /// too few others and no engine is to bring more.
    pub(super) fn usable_by(&self, now: Timestamp, active: &Active) -> u32 {
        let mut given_up = 0;
        let mut may_others_come = false;
        for (number, trouble) in &active.kept.troubles {
            if trouble.is_given_up(now) && self.could_serve(active, *number) {
                given_up += 1;
                // Its engine gives out another in its place.
                may_others_come |= self.host_at(*number).facts.job.is_some();
            }
        }
        let all = self.available_to(active);
        let others = all.saturating_sub(given_up);
        let are_too_few = given_up > 0 && others < largest_gang(&active.kept.plan);
        if are_too_few && !may_others_come { all } else { others }
    }

    /// Whether a host waits for what others say of an experiment that was lost on it through no fault of its own.
    pub(super) fn is_held_back(&self, id: ExperimentId, active: &Active, number: HostNumber) -> bool {
        active.was_turned_down_by(number)
            && active.live() > active.turned_down_by().filter(|host| self.serves(*host, id)).count()
    }

    /// Why an experiment is to be paused with this loss: every host that may take its runs has turned it down.
    pub(super) fn turned_down(
        &self,
        active: &Active,
        number: HostNumber,
        lease: &Lease,
        reason: &LossReason,
    ) -> Option<String> {
        if reason.is_the_hosts() {
            return None;
        }
        let size = active.kept.plan.hosts_of(lease.run).max(1);
        let attempts = active.kept.turned_down_in_a_row + 1;
        let together = self.served_by(number, lease);
        let others: Vec<HostNumber> =
            active.turned_down_by().filter(|host| !together.contains(host)).collect();
        let live = others.iter().filter(|host| self.serves(**host, lease.experiment)).count();
        // As long as a run is under way on a host that has not turned the experiment down, that host may execute it.
        if attempts < LOST_IN_A_ROW || active.live() > live + 1 {
            return None;
        }
        let given_up = active.kept.troubles.keys().copied().filter(|host| {
            active.gives_up(self.latest, *host).is_some()
                && !together.contains(host)
                && !active.was_turned_down_by(*host)
        });
        let out = together.iter().chain(&others).copied().chain(given_up);
        let out_here = out.filter(|host| self.could_serve(active, *host)).count() as u32;
        // Enough hosts are left to serve a run without any of these.
        if out_here + size <= self.available_to(active) {
            return None;
        }
        Some(format!(
            "no host can execute it: {} in a row were lost on {}, the last because {}",
            counted(attempts.into(), "attempt"),
            counted((together.len() + others.len()) as u64, "host"),
            reason.words(),
        ))
    }

    /// Why a host is to be quarantined with this loss: experiments of two users have given it up, and there are other hosts.
    pub(super) fn blamed(&self, active: &Active, number: HostNumber, reason: &LossReason) -> Option<String> {
        let host = self.host_at(number);
        let is_seconded = host.blamed_by.as_ref().is_some_and(|by| *by != active.kept.by);
        let by_host = active.kept.troubles.get(&number).map_or(0, |trouble| trouble.by_host);
        let is_given_up = reason.is_the_hosts() && !reason.is_the_engines() && by_host + 1 >= LOST_IN_A_ROW;
        let others = self.available - u32::from(host.is_available());
        if !is_seconded || !is_given_up || others == 0 {
            return None;
        }
        let words = reason.words();
        Some(format!(
            "experiments of two users each lost {LOST_IN_A_ROW} attempts in a row on it, the last because {words}"
        ))
    }

    /// Whether an experiment has given up a host.
    pub(super) fn is_in_trouble(&self, number: HostNumber) -> bool {
        self.host_at(number).blamed_by.is_some()
            || self.experiments.values().any(|active| {
                active.kept.troubles.get(&number).is_some_and(|trouble| trouble.lost >= LOST_IN_A_ROW)
            })
    }

    /// Returns the hosts that serve the run of a lease, with the one that holds it.
    fn served_by(&self, number: HostNumber, lease: &Lease) -> Vec<HostNumber> {
        if !lease.is_of_gang() {
            return vec![number];
        }
        self.gang(lease.leader()).into_iter().map(|(_, host)| host).collect()
    }

    fn could_serve(&self, active: &Active, number: HostNumber) -> bool {
        let host = self.host_at(number);
        host.is_available() && active.admits(host.class)
    }

    fn serves(&self, number: HostNumber, id: ExperimentId) -> bool {
        self.host_at(number).serves(id)
    }
}

impl Host {
    /// Whether a run of the experiment is leased to it; one that a gang serves is leased to its first host.
    fn serves(&self, id: ExperimentId) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.experiment == id && !lease.is_of_member())
    }
}
