//! What is next for an asking host: the next run of a visit that it has begun, or a visit of the experiment whose turn it
//! is and that the host is fresh for; failing that, a reboot that would make it so, or the moment when it has rested.

use super::eligibility::{boots_before, boots_in_visits, holds, lasts, rests_until, used, violation};
use super::gang::{Gathering, is_idle_for_runs, is_over_by};
use super::lane::{lane_of, use_of};
use super::nesting::NestedRetry;
use super::time_limit::longest_run;
use super::{Active, Class, Machine, Phase};
use crate::value::{id::ExperimentId, id::RunIndex, time::Timestamp};
use crate::{host::Host, run::HostNumber};

/// What is next for an asking host.
#[derive(Clone, Debug)]
pub(super) enum Match<'a> {
    /// The host executes this run.
    Run(ExperimentId, &'a Active, RunIndex),
    /// The host serves this run together with others: these hosts, in the order of their seats.
    Gang(ExperimentId, &'a Active, RunIndex, Vec<HostNumber>),
    /// The host is held until enough others are free for this run.
    Hold(ExperimentId, RunIndex),
    /// The host reboots for this experiment.
    Reboot(ExperimentId),
    /// Nothing before this time, when the host has rested.
    Deferred(Timestamp),
    Nothing,
}

/// Visits that suit a host but are not given to it now.
#[derive(Default)]
struct PassedVisits {
    /// Lanes whose first visit is passed.
    lanes: Vec<u32>,
    /// Passed visits that another host began.
    retries: Vec<u32>,
}

impl PassedVisits {
    fn add(&mut self, active: &Active, run: RunIndex) {
        let lane = lane_of(&active.kept.plan, run);
        if active.queue.is_retry(lane, run) {
            self.retries.push(run.0);
        } else {
            self.lanes.push(lane);
        }
    }
}

/// A gang for which a host is to be held, and when its last host is free.
struct HoldCandidate {
    complete_by: Timestamp,
    experiment: ExperimentId,
    run: RunIndex,
}

impl Machine {
    pub(super) fn match_for(&self, now: Timestamp, number: HostNumber) -> Match<'_> {
        let host = self.host_at(number);
        if !is_idle_for_runs(host) {
            return Match::Nothing;
        }
        if let Some(next) = self.next_of_a_visit(now, host) {
            return next;
        }
        let mut reboot = None;
        let mut deferred_until: Option<Timestamp> = None;
        let mut hold = None;
        for id in self.offers() {
            let active = &self.experiments[&id];
            let Some(ready) = self.ready_from(now, id, active, number) else { continue };
            if ready > now {
                deferred_until = Some(deferred_until.map_or(ready, |earliest| earliest.min(ready)));
                continue;
            }
            if let Some(found) = self.match_visit(now, id, active, number, &mut hold) {
                return found;
            }
            if reboot.is_none() && self.reboot_would_help(active, number) {
                reboot = Some(id);
            }
        }
        // A held host is kept from rebooting and resting: it may be needed as soon as the gang is complete.
        match (hold, reboot, deferred_until) {
            (Some(HoldCandidate { experiment, run, .. }), _, _) => Match::Hold(experiment, run),
            (None, Some(id), _) => Match::Reboot(id),
            (None, None, Some(until)) => Match::Deferred(until),
            (None, None, None) => Match::Nothing,
        }
    }

    /// When a host may begin a visit of an experiment, whichever visit; `None` if it may not before something changes.
    fn ready_from(
        &self,
        now: Timestamp,
        id: ExperimentId,
        active: &Active,
        number: HostNumber,
    ) -> Option<Timestamp> {
        let host = self.host_at(number);
        let admitted = self.admitted_from(active, host)?;
        if let Some(until) = self.gives_up_until(now, active, number) {
            return Some(until);
        }
        if self.is_held_back(id, active, number) || !host.facts.can_reboot && boots_in_visits(active) {
            return None;
        }
        Some(admitted.max(rests_until(host, active)).unwrap_or(now))
    }

    /// The first waiting visit of an experiment that a host can be given now. Where a gang has to be waited for, the first such gang
    /// becomes the candidate to hold the host for, and from then on only visits that end before it is complete are given.
    fn match_visit<'m>(
        &'m self,
        now: Timestamp,
        id: ExperimentId,
        active: &'m Active,
        number: HostNumber,
        hold: &mut Option<HoldCandidate>,
    ) -> Option<Match<'m>> {
        let host = self.host_at(number);
        let mut passed = PassedVisits::default();
        while let Some(run) = active.queue.first(
            |lane| {
                violation(host, active, lane, used(host, id, active, lane)).is_none()
                    && holds(now, host, active, lane)
            },
            |lane| !passed.lanes.contains(&lane) && !active.has_visited(number, lane),
            |run| !passed.retries.contains(&run) && self.may_retry(active, number, run),
        ) {
            let by = hold.as_ref().map(|hold| hold.complete_by);
            if active.kept.plan.hosts_of(run) == 1 {
                if is_over_by(now, active, run, by) {
                    return Some(Match::Run(id, active, run));
                }
            } else {
                match self.gather(now, id, active, run, number) {
                    Gathering::Complete(hosts) if is_over_by(now, active, run, by) => {
                        return Some(Match::Gang(id, active, run, hosts));
                    }
                    Gathering::By(_, complete_by) if hold.is_none() && self.may_hold(id, run) => {
                        *hold = Some(HoldCandidate { complete_by, experiment: id, run });
                    }
                    Gathering::Complete(_) | Gathering::By(..) | Gathering::Lacking => {}
                }
            }
            // The next search leaves it out, so that the loop ends.
            passed.add(active, run);
        }
        None
    }

    /// Whether a reboot would make a host fresh for a waiting visit. No more hosts reboot than there are visits to begin.
    fn reboot_would_help(&self, active: &Active, number: HostNumber) -> bool {
        active.independence().policy.renews_by_boot()
            && !active.kept.plan.is_building()
            && self.host_at(number).facts.can_reboot
            && active.reserved < active.queue.visits()
            && active
                .queue
                .first(
                    |_| true,
                    |lane| !active.has_visited(number, lane),
                    |run| self.may_retry(active, number, run),
                )
                .is_some()
    }

    /// What is next of a visit that the host has begun. It goes before everything else.
    fn next_of_a_visit(&self, now: Timestamp, host: &Host) -> Option<Match<'_>> {
        host.visits.iter().find_map(|(id, visit)| {
            let active = self.experiments.get(id).filter(|active| active.kept.phase == Phase::Running)?;
            let used = host.used(*id, use_of(&active.kept.plan, visit.next)?)?;
            if boots_before(active, visit.next) && used.boot == host.boot() {
                return Some(if host.facts.can_reboot { Match::Reboot(*id) } else { Match::Nothing });
            }
            if !lasts(now, host, longest_run(active, visit.next)) {
                return Some(Match::Nothing);
            }
            let resting = rests_until(host, active).filter(|until| *until > now);
            Some(resting.map_or(Match::Run(*id, active, visit.next), Match::Deferred))
        })
    }

    /// When an experiment admits a host, if it does; `Some(None)` means at any time. If it may still pin another class, it admits a
    /// host of one once its own classes have had no host for the time after which a host counts as gone.
    pub(super) fn admitted_from(&self, active: &Active, host: &Host) -> Option<Option<Timestamp>> {
        if active.admits(host.class) {
            return Some(None);
        }
        if !active.may_pin_anew() || active.reserved > 0 {
            return None;
        }
        let pinned = active.kept.classes.iter().filter_map(|class| self.classes.get(class));
        let pinned: Vec<&Class> = pinned.collect();
        let emptied = pinned.iter().map(|class| class.emptied).max()?;
        if pinned.iter().any(|class| class.available > 0) {
            return None;
        }
        Some(Some(emptied + self.settings.host_grace))
    }

    /// Whether a host may be given a run that lost an attempt: one that has not tried it, or, if the policy reuses hosts and too few
    /// untried ones are left, one that has.
    pub(super) fn may_retry(&self, active: &Active, number: HostNumber, run: u32) -> bool {
        let tried = active.kept.tried.get(&run).map_or(&[][..], Vec::as_slice);
        let nested = self.nested_retry(active, number, RunIndex(run));
        if nested == NestedRetry::OtherHost {
            return false;
        }
        if !tried.contains(&number) {
            return true;
        }
        match nested {
            NestedRetry::OtherHost | NestedRetry::Starter => return false,
            NestedRetry::OnlyStarters(starters) => return starters.iter().all(|host| tried.contains(host)),
            NestedRetry::AnyHost => {}
        }
        // A set that lost the run may differ in one host, so a host that tried it may be in the next.
        if active.wants_new_sets(RunIndex(run)) {
            return true;
        }
        if !active.may_come_again() {
            return false;
        }
        let wanted = active.kept.plan.hosts_of(RunIndex(run));
        let untried = match wanted {
            1 => self.untried(active, tried),
            _ => self.untried_of_class(active, number, tried),
        };
        untried < wanted
    }

    /// How many hosts could take a run that were not tried with it.
    fn untried(&self, active: &Active, tried: &[HostNumber]) -> u32 {
        let tried = tried.iter().filter(|host| self.may_be_given(self.latest, active, **host)).count() as u32;
        self.usable_by(self.latest, active).saturating_sub(tried)
    }

    /// How many of them are of the class of a host: the hosts of a gang are of one class.
    fn untried_of_class(&self, active: &Active, number: HostNumber, tried: &[HostNumber]) -> u32 {
        let class = self.host_at(number).class;
        let of_class = (0..).map(HostNumber).zip(&self.hosts).filter(|(_, host)| host.class == class);
        let untried = of_class
            .filter(|(host, _)| !tried.contains(host) && self.may_be_given(self.latest, active, *host));
        untried.count() as u32
    }

    /// How many hosts could be given runs of an experiment, fresh or not.
    pub(super) fn available_to(&self, active: &Active) -> u32 {
        if active.kept.classes.is_empty() {
            return self.available;
        }
        let of_a_class = |class| self.classes.get(class).map_or(0, |class| class.available);
        active.kept.classes.iter().map(of_a_class).sum()
    }
}
