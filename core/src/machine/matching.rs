//! What is next for an asking host: the next run of a visit that it has begun, or a visit of the experiment whose turn it
//! is and that the host is fresh for; failing that, a reboot that would make it so, or the moment when it has rested.

use super::eligibility::{boots_before, boots_in_visits, holds, lasts, rests_until, used, violation};
use super::gang::{Gathering, is_idle_for_runs, is_over_by};
use super::lane::{lane_of, use_of};
use super::nesting::NestedRetry;
use super::time_limit::longest_run;
use super::{Active, Machine, Phase};
use crate::{
    host::Host, run::HostNumber, value::id::ExperimentId, value::id::RunIndex, value::time::Timestamp,
};

/// What is next for an asking host.
#[derive(Clone, Debug)]
pub(super) enum Match<'a> {
    Run(ExperimentId, &'a Active, RunIndex),
    /// This run, together with others: these hosts, in the order of their seats.
    Gang(ExperimentId, &'a Active, RunIndex, Vec<HostNumber>),
    /// To wait until enough others are free for this run.
    Hold(ExperimentId, RunIndex),
    /// To boot anew for this experiment.
    Reboot(ExperimentId),
    /// Nothing before it has rested.
    Later(Timestamp),
    Nothing,
}

/// What waits and is not given to a host now, though it suits.
#[derive(Default)]
struct Passed {
    /// Lanes whose first visit it is.
    lanes: Vec<u32>,
    /// Visits that another host began.
    retries: Vec<u32>,
}

impl Passed {
    fn add(&mut self, active: &Active, run: RunIndex) {
        let lane = lane_of(&active.kept.plan, run);
        match active.queue.is_retry(lane, run) {
            true => self.retries.push(run.0),
            false => self.lanes.push(lane),
        }
    }
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
        let (mut reboot, mut later) = (None, None::<Timestamp>);
        let mut hold: Option<(Timestamp, ExperimentId, RunIndex)> = None;
        for id in self.offers() {
            let (id, active) = (&id, &self.experiments[&id]);
            let Some(admitted) = self.admitted_from(active, host) else { continue };
            if let Some(until) = self.gives_up_until(now, active, number) {
                later = Some(later.map_or(until, |later| later.min(until)));
                continue;
            }
            if self.is_held_back(*id, active, number) {
                continue;
            }
            if !host.facts.can_reboot && boots_in_visits(active) {
                continue;
            }
            let ready = admitted.max(rests_until(host, active));
            if let Some(until) = ready.filter(|until| *until > now) {
                later = Some(later.map_or(until, |later| later.min(until)));
                continue;
            }
            let may_retry = |run| self.may_retry(active, number, run);
            let may_begin = |lane| !active.has_visited(number, lane);
            let is_fresh = |lane| {
                violation(host, active, lane, used(host, *id, active, lane)).is_none()
                    && holds(now, host, active, lane)
            };
            let mut passed = Passed::default();
            while let Some(run) = active.queue.first(
                is_fresh,
                |lane| !passed.lanes.contains(&lane) && may_begin(lane),
                |run| !passed.retries.contains(&run) && may_retry(run),
            ) {
                let by = hold.map(|(by, ..)| by);
                if active.kept.plan.hosts_of(run) == 1 {
                    if is_over_by(now, active, run, by) {
                        return Match::Run(*id, active, run);
                    }
                } else {
                    match self.gather(now, *id, active, run, number) {
                        Gathering::Complete(hosts) if is_over_by(now, active, run, by) => {
                            return Match::Gang(*id, active, run, hosts);
                        }
                        Gathering::By(_, free) if hold.is_none() && self.may_hold(*id, run) => {
                            hold = Some((free, *id, run));
                        }
                        Gathering::Complete(_) | Gathering::By(..) | Gathering::Lacking => {}
                    }
                }
                passed.add(active, run);
            }
            let would_reboot = reboot.is_none()
                && active.independence().policy.renews_by_boot()
                && !active.kept.plan.is_building()
                && host.facts.can_reboot
                && active.reserved < active.queue.visits();
            if would_reboot && active.queue.first(|_| true, may_begin, may_retry).is_some() {
                reboot = Some(*id);
            }
        }
        if let Some((_, id, run)) = hold {
            return Match::Hold(id, run);
        }
        match (reboot, later) {
            (Some(id), _) => Match::Reboot(id),
            (None, Some(later)) => Match::Later(later),
            (None, None) => Match::Nothing,
        }
    }

    /// What is next of a visit that the host has begun: that goes before all else.
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
            Some(resting.map_or(Match::Run(*id, active, visit.next), Match::Later))
        })
    }

    /// From when on an experiment takes a host, if it does; none within is always. Where it may pin anew, it takes one of
    /// another class when its own have had no host for the time after which a host counts as gone.
    pub(super) fn admitted_from(&self, active: &Active, host: &Host) -> Option<Option<Timestamp>> {
        if active.admits(host.class) {
            return Some(None);
        }
        if !active.may_pin_anew() || active.reserved > 0 {
            return None;
        }
        let classes = || active.kept.classes.iter().filter_map(|class| self.classes.get(class));
        let emptied = classes().map(|class| class.emptied).max()?;
        let is_gone = classes().all(|class| class.available == 0);
        is_gone.then(|| Some(emptied + self.settings.host_grace))
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
