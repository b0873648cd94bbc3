//! Gangs: runs that several hosts serve together. Their leases are given at once or not at all.
//!
//! Hosts that could be of a gang are held for it until it is complete, so that small runs do not
//! keep large ones waiting; meanwhile they are given what is sure to end before the last host of
//! the gang is free (reservation with backfill: Mu'alem and Feitelson 2001). Hosts are held for one
//! gang at a time, that of the experiment whose turn it is, so that no two wait for each other's
//! hosts; and only where enough hosts could ever come together. So a gang waits at most for the
//! longest lease of the hosts that were there when hosts were first held for it, whoever is first
//! in the order of turns by then.

use std::{cmp::Reverse, collections::BTreeSet, ops::Bound};

use super::eligibility::{holds, longest_visit, rests_until, used, violation};
use super::lane::lane_of;
use super::time_limit::longest_run;
use super::{Active, Effect, Machine, Phase};
use crate::host::{Host, Presence, Standing, VISIT_GRACE, WorkRequest};
use crate::machine::{event::Change, event::Event};
use crate::run::{HostNumber, RunState, lease::LEASE_MARGIN, lease::Lease};
use crate::value::{id::ExperimentId, id::HostId, id::LeaseEpoch, id::RunIndex, time::Timestamp};
use crate::{experiment::gang::Gang, fingerprint::ClassId};

/// Hosts held for a gang. A restart forgets it: the hosts ask again.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hold {
    experiment: ExperimentId,
    run: RunIndex,
    class: ClassId,
    /// Job of the engine that all of them are in, if the plan wants them in one.
    job: Option<String>,
    /// The hosts that are free, and those that meanwhile serve what ends in time.
    hosts: BTreeSet<HostNumber>,
    /// When the last host of the gang is free, at the latest.
    by: Timestamp,
    /// Whether anything has happened since `by` was computed that may change it.
    is_stale: bool,
    /// Whether the gang has been granted. The hold stays to tell whose turn is next.
    is_over: bool,
}

/// Hosts that can serve a run together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Gathering {
    /// Enough hosts, all of which ask for work now.
    Complete(Vec<HostNumber>),
    /// Enough hosts; these are free now, and the last one by this time at the latest.
    By(Vec<HostNumber>, Timestamp),
    /// Too few hosts.
    Lacking,
}

impl Hold {
    /// Whether a host has what all hosts of the gang have in common.
    fn is_kin(&self, host: &Host) -> bool {
        host.class == self.class && self.job.as_ref().is_none_or(|job| host.job() == Some(job))
    }

    /// When a host that should be free by `by` counts as unresponsive.
    fn doubtful_from(&self) -> Timestamp {
        self.by + VISIT_GRACE
    }

    /// Whether the time at which its hosts are free has to be computed anew.
    fn is_doubtful(&self, now: Timestamp) -> bool {
        self.is_stale || self.doubtful_from() <= now
    }
}

/// Whether the hosts of a run have to be in one job of their engine.
fn needs_job(active: &Active, run: RunIndex) -> bool {
    active.kept.plan.gang_of_task(active.kept.plan.task(run)).is_some_and(Gang::is_in_one_job)
}

impl Machine {
    /// Whether hosts can serve a run together with one that asks.
    pub(super) fn gather(
        &self,
        now: Timestamp,
        id: ExperimentId,
        active: &Active,
        run: RunIndex,
        number: HostNumber,
    ) -> Gathering {
        let size = active.kept.plan.hosts_of(run) as usize;
        let own = self.hold_of(id, run);
        if !self.may_hold(id, run) || own.is_some_and(|hold| !hold.is_kin(self.host_at(number))) {
            // No host is held for it, so it is complete now or not at all.
            let idle = self.asking.iter().chain(&self.ineligible).copied();
            return match self.gather_of(idle, now, id, active, run, number) {
                complete @ Gathering::Complete(_) => complete,
                Gathering::By(..) | Gathering::Lacking => Gathering::Lacking,
            };
        }
        match own.filter(|hold| !hold.is_doubtful(now)) {
            // Every host that is free was found when the hold was new, or has been held since.
            Some(hold) if self.count_free(hold, number) < size => Gathering::By(Vec::new(), hold.by),
            Some(_) | None => self.gather_of(self.all_hosts(), now, id, active, run, number),
        }
    }

    /// Whether those of some hosts can that are of the class of the one that asks.
    fn gather_of(
        &self,
        some: impl Iterator<Item = HostNumber>,
        now: Timestamp,
        id: ExperimentId,
        active: &Active,
        run: RunIndex,
        number: HostNumber,
    ) -> Gathering {
        let against = self.hold_against(id, run);
        // The same is required of the other hosts, so that each of them finds the same gang.
        if against.is_some_and(|hold| self.is_kept(now, hold, number)) {
            return Gathering::Lacking;
        }
        let size = active.kept.plan.hosts_of(run) as usize;
        let class = self.host_at(number).class;
        let job = self.host_at(number).job();
        let needs_job = needs_job(active, run);
        if needs_job && job.is_none() {
            return Gathering::Lacking;
        }
        let mut ready = vec![number];
        let mut busy = Vec::new();
        for other in some.filter(|other| *other != number) {
            let host = self.host_at(other);
            let is_kin = host.class == class && (!needs_job || host.job() == job);
            if !is_kin
                || !self.suits(now, id, active, run, other)
                || against.is_some_and(|hold| self.is_kept(now, hold, other))
            {
                continue;
            }
            match self.free_from(now, host, active) {
                Some(from) => busy.push((from, other)),
                None => ready.push(other),
            }
        }
        if active.wants_new_sets(run) {
            return gather_new_set(active, run, ready, busy);
        }
        if ready.len() >= size {
            // The host that asks comes first: it is of the gang whatever its number.
            ready[1..].sort_unstable();
            ready.truncate(size);
            ready.sort_unstable();
            return Gathering::Complete(ready);
        }
        let wanted = size - ready.len();
        if busy.len() < wanted {
            return Gathering::Lacking;
        }
        let (_, (last, _), _) = busy.select_nth_unstable(wanted - 1);
        Gathering::By(ready, *last)
    }

    fn all_hosts(&self) -> impl Iterator<Item = HostNumber> + use<> {
        (0..self.hosts.len() as u32).map(HostNumber)
    }

    /// Number of free hosts among those held for a gang, with the host that asks.
    fn count_free(&self, hold: &Hold, number: HostNumber) -> usize {
        let others = hold.hosts.iter().filter(|held| **held != number);
        1 + others.filter(|held| self.host_at(**held).lease.is_none()).count()
    }

    /// When a host that suits is free, at the latest; `None` if it is free now. A host that has begun a visit first completes it.
    fn free_from(&self, now: Timestamp, host: &Host, active: &Active) -> Option<Timestamp> {
        let rested = rests_until(host, active).filter(|until| *until > now);
        let mut from = match (&host.lease, host.presence) {
            (Some(lease), _) => Some(lease.deadline.max(now)),
            (None, Presence::Here { asking: WorkRequest::Yes | WorkRequest::InVain { .. } }) => rested,
            (None, Presence::Here { asking: WorkRequest::No } | Presence::Away { .. }) => {
                Some(rested.unwrap_or(now))
            }
        };
        for (id, visit) in &host.visits {
            if let Some(active) = self.experiments.get(id)
                && active.kept.phase == Phase::Running
            {
                let runs_left = u64::from(visit.end.0 - visit.next.0);
                let rest = (longest_run(active, visit.next) + LEASE_MARGIN).times(runs_left);
                from = Some(from.unwrap_or(now) + rest);
            }
        }
        from
    }

    /// Whether a host could be given a run of a gang, if it were free.
    fn suits(
        &self,
        now: Timestamp,
        id: ExperimentId,
        active: &Active,
        run: RunIndex,
        number: HostNumber,
    ) -> bool {
        let host = self.host_at(number);
        let lane = lane_of(&active.kept.plan, run);
        host.is_available()
            && host.reboot.is_none()
            && !(host.lease.is_none() && host.silent_from().is_some_and(|from| from <= now))
            && self.admitted_from(active, host).is_some_and(|from| from.is_none_or(|from| from <= now))
            && violation(host, active, lane, used(host, id, active, lane)).is_none()
            && holds(now, host, active, lane)
            && !self.has_given_up(now, active, number)
            && !self.is_held_back(id, active, number)
            && (!active.kept.tried.contains_key(&run.0) || self.may_retry(active, number, run.0))
    }

    /// Hold for a run, while its gang is not granted.
    fn hold_of(&self, id: ExperimentId, run: RunIndex) -> Option<&Hold> {
        self.hold.as_ref().filter(|hold| !hold.is_over && (hold.experiment, hold.run) == (id, run))
    }

    /// Hold whose hosts a run may not have. It may have the hosts held for a run of lower priority, or for a later run of its own
    /// experiment.
    fn hold_against(&self, id: ExperimentId, run: RunIndex) -> Option<&Hold> {
        let hold = self.hold.as_ref().filter(|hold| !hold.is_over)?;
        let (held_priority, _) = self.experiments.get(&hold.experiment)?.turn()?;
        let own_priority = Reverse(self.experiments.get(&id)?.priority());
        let is_later = hold.experiment == id && hold.run >= run;
        (!is_later && held_priority <= own_priority).then_some(hold)
    }

    /// Whether a host is held, or would be once it is free.
    fn is_kept(&self, now: Timestamp, hold: &Hold, number: HostNumber) -> bool {
        let active = &self.experiments[&hold.experiment];
        hold.is_kin(self.host_at(number))
            && (hold.hosts.contains(&number) || self.suits(now, hold.experiment, active, hold.run, number))
    }

    /// Whether hosts may be held for a run.
    pub(super) fn may_hold(&self, id: ExperimentId, run: RunIndex) -> bool {
        self.hold_against(id, run).is_none()
    }

    /// Whether hosts are held for a gang.
    pub(super) fn is_holding(&self) -> bool {
        self.hold.as_ref().is_some_and(|hold| !hold.is_over)
    }

    /// Whether hosts are held for an experiment.
    pub(super) fn is_held_for(&self, id: ExperimentId) -> bool {
        self.hold.as_ref().is_some_and(|hold| !hold.is_over && hold.experiment == id)
    }

    /// Whether a host is held for a gang.
    pub(super) fn is_held(&self, number: HostNumber) -> bool {
        self.hold.as_ref().is_some_and(|hold| hold.hosts.contains(&number))
    }

    /// Experiments in the order in which a host is offered them: first the one for which hosts are held. Once its gang is granted,
    /// the experiment after it with the same turn goes first, so that none has its turn again before all others had theirs.
    pub(super) fn offers(&self) -> impl Iterator<Item = ExperimentId> + '_ {
        let first = self.first_by_hold();
        first.into_iter().chain(self.turns.iter().map(|(_, id)| *id).filter(move |id| Some(*id) != first))
    }

    /// Experiment that the hold puts before the order of turns.
    fn first_by_hold(&self) -> Option<ExperimentId> {
        let hold = self.hold.as_ref()?;
        let (turn, _) = self.turns.first()?;
        if hold.is_over {
            let after = (Bound::Excluded((*turn, hold.experiment)), Bound::Unbounded);
            let (next_turn, next) = self.turns.range(after).next()?;
            return (next_turn == turn).then_some(*next);
        }
        let (held_priority, _) = self.experiments.get(&hold.experiment)?.turn()?;
        (held_priority <= turn.0).then_some(hold.experiment)
    }

    /// Live leases of a gang, in the order of their seats. Their epochs follow each other, so the first other lease ends the search.
    pub(super) fn gang(&self, leader: LeaseEpoch) -> Vec<(LeaseEpoch, HostNumber)> {
        let mut leases = Vec::new();
        for (epoch, number) in self.holders.range(leader..) {
            let lease = self.host_at(*number).lease.as_ref();
            if lease.is_none_or(|lease| !lease.is_of_gang() || lease.leader() != leader) {
                break;
            }
            leases.push((*epoch, *number));
        }
        leases
    }

    /// Whether the run of a lease is still served under it, by whichever host.
    pub(super) fn is_under_way(&self, lease: &Lease) -> bool {
        let active = self.experiments.get(&lease.experiment);
        match active.and_then(|active| active.states.get(lease.run.0 as usize)) {
            Some(RunState::Leased { lease: held, .. } | RunState::Running { lease: held, .. }) => {
                *held == lease.leader()
            }
            Some(RunState::Waiting { .. } | RunState::Settled(_)) | None => false,
        }
    }

    /// Effects that end the parts of a gang when an event ends its run; ask before the event is replayed.
    pub(super) fn ends_by(&self, event: &Event) -> Vec<Effect> {
        let (Change::RunReported { host, lease: epoch, .. } | Change::AttemptLost { host, lease: epoch, .. }) =
            &event.change
        else {
            return Vec::new();
        };
        let Some(lease) = self.host(host).and_then(|host| host.lease.as_ref()) else { return Vec::new() };
        // The report of a member ends its own part; a loss ends the run, whichever host is lost.
        let ends_run = matches!(event.change, Change::AttemptLost { .. }) || !lease.is_of_member();
        if lease.epoch == *epoch && ends_run { self.ends_of_others(lease) } else { Vec::new() }
    }

    /// Effects that end the parts of the other hosts of a gang.
    pub(super) fn ends_of_others(&self, lease: &Lease) -> Vec<Effect> {
        if !lease.is_of_gang() {
            return Vec::new();
        }
        let mut effects = Vec::new();
        for (epoch, number) in self.gang(lease.leader()) {
            if epoch == lease.epoch {
                continue;
            }
            let other = self.host_at(number);
            let host = other.facts.host.clone();
            // One that has started the program may have reported it already, and is to ask again.
            let has_begun = other.lease.as_ref().is_some_and(|lease| lease.started.is_some());
            effects.push(if has_begun {
                Effect::Remind { host }
            } else {
                Effect::End { host, lease: epoch }
            });
        }
        effects
    }

    /// Holds a host for a gang; the first host computes by when the gang is complete.
    pub(super) fn host_held(
        &mut self,
        at: Timestamp,
        host: &HostId,
        experiment: ExperimentId,
        run: RunIndex,
    ) {
        let Some(number) = self.number_of(host) else { return };
        // Releasing a reservation may send hosts to `asking`, this one too, so it comes before the host is held.
        self.set_reserves(number, None);
        self.set_asking(host, WorkRequest::InVain { until: None });
        if let Some(hold) = self.hold_of(experiment, run).filter(|hold| !hold.is_doubtful(at)) {
            let until = Some(hold.doubtful_from());
            if let Some(hold) = &mut self.hold {
                hold.hosts.insert(number);
            }
            self.set_asking(host, WorkRequest::InVain { until });
            return;
        }
        let Some(active) = self.experiments.get(&experiment) else { return };
        let gathering = self.gather_of(self.all_hosts(), at, experiment, active, run, number);
        let Gathering::By(ready, by) = gathering else { return };
        let own = self.host_at(number);
        let job = if needs_job(active, run) { own.job().map(str::to_owned) } else { None };
        let hosts = ready.into_iter().collect();
        let hold =
            Hold { experiment, run, class: own.class, job, hosts, by, is_stale: false, is_over: false };
        self.set_asking(host, WorkRequest::InVain { until: Some(hold.doubtful_from()) });
        let before = self.hold.replace(hold).filter(|before| !before.is_over);
        // What was held for another may suit something else now.
        if before.is_some_and(|before| (before.experiment, before.run) != (experiment, run)) {
            self.look_again();
        }
    }

    /// Stops holding a host. Returns whether it was the last one of its gang, so that other runs may have what was held for it.
    pub(super) fn let_go(&mut self, number: HostNumber) -> bool {
        let Some(hold) = &mut self.hold else { return false };
        let was_held = hold.hosts.remove(&number);
        let is_last = was_held && hold.hosts.is_empty();
        if is_last {
            self.hold = None;
        }
        is_last
    }

    /// Ends the hold of a run whose gang is granted.
    pub(super) fn end_hold(&mut self, experiment: ExperimentId, run: RunIndex) {
        if let Some(hold) = &mut self.hold
            && (hold.experiment, hold.run) == (experiment, run)
        {
            hold.hosts.clear();
            hold.is_over = true;
        }
    }

    /// Marks the hold as stale: something happened that may change which hosts can serve its run together.
    pub(super) fn doubt_hold(&mut self) {
        if let Some(hold) = &mut self.hold {
            hold.is_stale = true;
        }
    }

    /// Stops holding hosts for an experiment.
    pub(super) fn release_hold(&mut self, experiment: ExperimentId) {
        if self.is_held_for(experiment) {
            self.hold = None;
            self.look_again();
        }
    }
}

/// Gathers a gang whose hosts have not served together before, from hosts that are ready, the first of which asks, and from busy
/// ones with the time by which each is free.
fn gather_new_set(
    active: &Active,
    run: RunIndex,
    ready: Vec<HostNumber>,
    mut busy: Vec<(Timestamp, HostNumber)>,
) -> Gathering {
    let lane = lane_of(&active.kept.plan, run);
    let asking = ready[0];
    let mut others = ready[1..].to_vec();
    active.preferred(run, &mut others);
    if let Some(set) = active.new_set(lane, asking, &others) {
        return Gathering::Complete(set);
    }
    busy.sort_unstable();
    for (from, other) in busy {
        others.push(other);
        if active.new_set(lane, asking, &others).is_some() {
            return Gathering::By(ready, from);
        }
    }
    Gathering::Lacking
}

/// Whether a visit that a host begins now is over by a time, even if everything in it takes as long as it may. The leases of a gang
/// outlast that of its first host by one margin.
pub(super) fn is_over_by(now: Timestamp, active: &Active, run: RunIndex, by: Option<Timestamp>) -> bool {
    let Some(by) = by else { return true };
    let margins = if active.kept.plan.hosts_of(run) > 1 { 2 } else { 1 };
    now + longest_visit(active, lane_of(&active.kept.plan, run)) + LEASE_MARGIN.times(margins) <= by
}

/// Whether a host may be given runs at all.
pub(super) fn is_idle_for_runs(host: &Host) -> bool {
    host.standing == Standing::Serving && host.reboot.is_none()
}
