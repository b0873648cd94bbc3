//! Runs that several hosts serve together. Their leases are given at once or not at all. A host that could be of a gang which is
//! not there yet is held for it, so that small runs do not keep large ones waiting; meanwhile it is given what is sure to end
//! before the last host of the gang is free (reservation with backfill: Mu'alem and Feitelson 2001). Hosts are held for one
//! gang at a time, that of the experiment whose turn it is, so that no two wait for each other's; and only where enough hosts
//! could ever come together. They are held until that gang is complete, whoever is first in the order of turns by then: so it
//! waits for the longest lease of those that were there when hosts were first held for it, at most.

use std::{cmp::Reverse, collections::BTreeSet, ops::Bound};

use super::matching::{holds, longest_visit, rests_until, used, violation};
use super::queue::lane_of;
use super::time_limit::longest_run;
use super::{Active, Effect, Machine, Phase};
use crate::{
    experiment::gang::Gang, host::Asking, host::Host, host::Presence, host::Standing, host::VISIT_GRACE,
    host::fingerprint::ClassId, machine::event::Change, machine::event::Event, run::HostNumber,
    run::RunState, run::lease::LEASE_MARGIN, run::lease::Lease, value::id::ExperimentId, value::id::HostId,
    value::id::LeaseEpoch, value::id::RunIndex, value::time::Timestamp,
};

/// Hosts that are kept for a gang. A restart forgets it: they ask again.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hold {
    experiment: ExperimentId,
    run: RunIndex,
    class: ClassId,
    /// In which job of their engine, where they have to be in one.
    job: Option<String>,
    /// Which: those that are free, and those that meanwhile serve what ends in time.
    hosts: BTreeSet<HostNumber>,
    /// By when the last of the gang is free.
    by: Timestamp,
    /// Whether something happened since that was found out that may change it.
    is_stale: bool,
    /// Whether the gang has been granted: then hosts are held for the next experiment in turn.
    is_over: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Gathering {
    /// These hosts, all of which ask.
    Complete(Vec<HostNumber>),
    /// Enough hosts, of which these are free, and the last by then at the latest.
    By(Vec<HostNumber>, Timestamp),
    Lacking,
}

impl Hold {
    /// Whether a host could be of the gang, by what all of its hosts have in common.
    fn is_kin(&self, host: &Host) -> bool {
        host.class == self.class && self.job.as_ref().is_none_or(|job| host.job() == Some(job))
    }

    /// From when on somebody who was to be free by then keeps silent.
    fn doubtful_from(&self) -> Timestamp {
        self.by + VISIT_GRACE
    }

    /// Whether it is to be found out anew who is free when.
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
        let is_kin = |hold: &Hold| hold.is_kin(self.host_at(number));
        if !self.may_hold(id, run) || own.is_some_and(|hold| !is_kin(hold)) {
            // None is held for it, so it is complete now or not at all.
            let idle = self.asking.iter().chain(&self.in_vain).copied();
            return match self.gather_of(idle, now, id, active, run, number) {
                complete @ Gathering::Complete(_) => complete,
                Gathering::By(..) | Gathering::Lacking => Gathering::Lacking,
            };
        }
        match own.filter(|hold| !hold.is_doubtful(now)) {
            // Whoever was free was found when the hold was new, or has been held since.
            Some(hold) if self.free_of(hold, number) < size => Gathering::By(Vec::new(), hold.by),
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
        let is_kept = |other| against.is_some_and(|hold| self.is_kept(now, hold, other));
        // As is asked of the others, so that each of them finds the same gang.
        if is_kept(number) {
            return Gathering::Lacking;
        }
        let size = active.kept.plan.hosts_of(run) as usize;
        let class = self.host_at(number).class;
        let (needs_job, job) = (needs_job(active, run), self.host_at(number).job());
        if needs_job && job.is_none() {
            return Gathering::Lacking;
        }
        let (mut ready, mut busy) = (vec![number], Vec::new());
        for other in some.filter(|other| *other != number) {
            let host = self.host_at(other);
            let is_kin = host.class == class && (!needs_job || host.job() == job);
            if !is_kin || !self.suits(now, id, active, run, other) || is_kept(other) {
                continue;
            }
            match self.free_from(now, host, active) {
                Some(from) => busy.push((from, other)),
                None => ready.push(other),
            }
        }
        if active.wants_new_sets(run) {
            return of_new_sets(active, run, ready, busy);
        }
        if ready.len() >= size {
            // Whoever asks is of it.
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

    /// How many hosts are free of those that are held for a gang, together with one that asks.
    fn free_of(&self, hold: &Hold, number: HostNumber) -> usize {
        let is_free = |held: &&HostNumber| **held != number && self.host_at(**held).lease.is_none();
        1 + hold.hosts.iter().filter(is_free).count()
    }

    /// From when on a host that suits is free, at the latest; none if it asks now. One that has begun a visit goes on with it.
    fn free_from(&self, now: Timestamp, host: &Host, active: &Active) -> Option<Timestamp> {
        let rested = rests_until(host, active).filter(|until| *until > now);
        let from = match (&host.lease, host.presence) {
            (Some(lease), _) => Some(lease.deadline.max(now)),
            (None, Presence::Here { asking: Asking::Yes | Asking::InVain { .. } }) => rested,
            (None, Presence::Here { asking: Asking::No } | Presence::Away { .. }) => {
                Some(rested.unwrap_or(now))
            }
        };
        let rests = host.visits.iter().filter_map(|(id, visit)| {
            let active = self.experiments.get(id).filter(|active| active.kept.phase == Phase::Running)?;
            let left = u64::from(visit.end.0 - visit.next.0);
            Some((longest_run(active, visit.next) + LEASE_MARGIN).times(left))
        });
        rests.fold(from, |from, rest| Some(from.unwrap_or(now) + rest))
    }

    /// Whether a host could be given a run that is served by several, if it were free.
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

    /// The hosts that are held for a run, if any are.
    fn hold_of(&self, id: ExperimentId, run: RunIndex) -> Option<&Hold> {
        self.hold.as_ref().filter(|hold| !hold.is_over && (hold.experiment, hold.run) == (id, run))
    }

    /// The hosts that are held, if a run may not have them: it may have what is held for one of lower priority, and for a later
    /// one of its own experiment.
    fn hold_against(&self, id: ExperimentId, run: RunIndex) -> Option<&Hold> {
        let hold = self.hold.as_ref().filter(|hold| !hold.is_over)?;
        let (held, own) = (self.experiments.get(&hold.experiment)?.turn()?, self.experiments.get(&id)?);
        let is_later = hold.experiment == id && hold.run >= run;
        (!is_later && held.0 <= Reverse(own.priority())).then_some(hold)
    }

    /// Whether a host is, or could be, one of those that are held.
    fn is_kept(&self, now: Timestamp, hold: &Hold, number: HostNumber) -> bool {
        let active = &self.experiments[&hold.experiment];
        hold.is_kin(self.host_at(number))
            && (hold.hosts.contains(&number) || self.suits(now, hold.experiment, active, hold.run, number))
    }

    /// Whether hosts may be kept for a run.
    pub(super) fn may_hold(&self, id: ExperimentId, run: RunIndex) -> bool {
        self.hold_against(id, run).is_none()
    }

    /// Whether hosts are kept for a gang.
    pub(super) fn is_holding(&self) -> bool {
        self.hold.as_ref().is_some_and(|hold| !hold.is_over)
    }

    /// Whether hosts are kept for an experiment.
    pub(super) fn is_held_for(&self, id: ExperimentId) -> bool {
        self.hold.as_ref().is_some_and(|hold| !hold.is_over && hold.experiment == id)
    }

    /// Whether a host is kept for a gang.
    pub(super) fn is_held(&self, number: HostNumber) -> bool {
        self.hold.as_ref().is_some_and(|hold| hold.hosts.contains(&number))
    }

    /// The experiments in the order in which a host is offered them: first the one for which hosts are held. After that, of those
    /// whose turn is the same, the one that follows it: none has its turn again before all others had theirs.
    pub(super) fn offers(&self) -> impl Iterator<Item = ExperimentId> + '_ {
        let first = self.hold.as_ref().zip(self.turns.first()).and_then(|(hold, (turn, _))| {
            if hold.is_over {
                let mut after =
                    self.turns.range((Bound::Excluded((*turn, hold.experiment)), Bound::Unbounded));
                return after.next().filter(|(next, _)| next == turn).map(|(_, id)| *id);
            }
            let held = self.experiments.get(&hold.experiment)?.turn()?;
            (held.0 <= turn.0).then_some(hold.experiment)
        });
        first.into_iter().chain(self.turns.iter().map(|(_, id)| *id).filter(move |id| Some(*id) != first))
    }

    /// The live leases of a gang, in the order of their seats.
    pub(super) fn gang(&self, leader: LeaseEpoch) -> Vec<(LeaseEpoch, HostNumber)> {
        let of_gang = |(_, number): &(&LeaseEpoch, &HostNumber)| {
            let lease = self.host_at(**number).lease.as_ref();
            lease.is_some_and(|lease| lease.is_of_gang() && lease.leader() == leader)
        };
        let live = self.holders.range(leader..).take_while(of_gang);
        live.map(|(epoch, number)| (*epoch, *number)).collect()
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

    /// What the hosts of a gang are told when one of them has ended the run; ask before the event is replayed.
    pub(super) fn ends_by(&self, event: &Event) -> Vec<Effect> {
        let (Change::RunReported { host, lease: epoch, .. } | Change::AttemptLost { host, lease: epoch, .. }) =
            &event.change
        else {
            return Vec::new();
        };
        let lease =
            self.host(host).and_then(|host| host.lease.as_ref()).filter(|lease| lease.epoch == *epoch);
        let ends_all = matches!(event.change, Change::AttemptLost { .. });
        let Some(lease) = lease.filter(|lease| lease.is_of_gang() && (ends_all || !lease.is_of_member()))
        else {
            return Vec::new();
        };
        self.ends_of_others(lease)
    }

    /// What the other hosts of a gang are told when the run is over.
    pub(super) fn ends_of_others(&self, lease: &Lease) -> Vec<Effect> {
        let others = if lease.is_of_gang() { self.gang(lease.leader()) } else { Vec::new() };
        let others = others.into_iter().filter(|(other, _)| *other != lease.epoch);
        let end = |(epoch, number)| {
            let other = self.host_at(number);
            let host = other.facts.host.clone();
            // One that has started the program may have reported it already, and is to ask again.
            let has_begun = other.lease.as_ref().is_some_and(|lease| lease.started.is_some());
            if has_begun { Effect::Remind { host } } else { Effect::End { host, lease: epoch } }
        };
        others.map(end).collect()
    }

    /// A host is kept for a gang.
    pub(super) fn host_held(
        &mut self,
        at: Timestamp,
        host: &HostId,
        experiment: ExperimentId,
        run: RunIndex,
    ) {
        let Some(number) = self.number_of(host) else { return };
        // First what may make hosts look again, this one too.
        self.set_reserves(number, None);
        self.set_asking(host, Asking::InVain { until: None });
        if let Some(hold) = self.hold_of(experiment, run).filter(|hold| !hold.is_doubtful(at)) {
            let until = Some(hold.doubtful_from());
            self.hold.iter_mut().for_each(|hold| _ = hold.hosts.insert(number));
            self.set_asking(host, Asking::InVain { until });
            return;
        }
        let Some(active) = self.experiments.get(&experiment) else { return };
        let gathering = self.gather_of(self.all_hosts(), at, experiment, active, run, number);
        let Gathering::By(ready, by) = gathering else { return };
        let (class, hosts) = (self.host_at(number).class, ready.into_iter().collect());
        let job = self.host_at(number).job().filter(|_| needs_job(active, run)).map(str::to_owned);
        let hold = Hold { experiment, run, class, job, hosts, by, is_stale: false, is_over: false };
        self.set_asking(host, Asking::InVain { until: Some(hold.doubtful_from()) });
        let before = self.hold.replace(hold).filter(|before| !before.is_over);
        // What was held for another may suit something else now.
        if before.is_some_and(|before| (before.experiment, before.run) != (experiment, run)) {
            self.look_again();
        }
    }

    /// No longer keeps a host; says whether it was the last one, so that others may have what was kept for its gang.
    pub(super) fn let_go(&mut self, number: HostNumber) -> bool {
        let Some(hold) = &mut self.hold else { return false };
        let was_held = hold.hosts.remove(&number);
        let is_last = was_held && hold.hosts.is_empty();
        if is_last {
            self.hold = None;
        }
        is_last
    }

    /// The gang for which hosts are held is granted.
    pub(super) fn end_hold(&mut self, experiment: ExperimentId, run: RunIndex) {
        if self.hold_of(experiment, run).is_some() {
            self.hold.iter_mut().for_each(|hold| (hold.hosts, hold.is_over) = (BTreeSet::new(), true));
        }
    }

    /// Something happened that may change which hosts can serve a run together.
    pub(super) fn doubt_hold(&mut self) {
        self.hold.iter_mut().for_each(|hold| hold.is_stale = true);
    }

    /// No longer keeps hosts for an experiment.
    pub(super) fn release_hold(&mut self, experiment: ExperimentId) {
        if self.is_held_for(experiment) {
            self.hold = None;
            self.look_again();
        }
    }
}

/// What there is of a gang whose hosts have not served together: of hosts that are ready, the first of which asks, and of those that
/// are by then.
fn of_new_sets(
    active: &Active,
    run: RunIndex,
    ready: Vec<HostNumber>,
    mut busy: Vec<(Timestamp, HostNumber)>,
) -> Gathering {
    let (lane, asking, mut others) = (lane_of(&active.kept.plan, run), ready[0], ready[1..].to_vec());
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

/// Whether a visit that a host begins now is over by then, even if all in it takes as long as it may. The leases of a gang outlast
/// that of its first host.
pub(super) fn is_over_by(now: Timestamp, active: &Active, run: RunIndex, by: Option<Timestamp>) -> bool {
    let margins = if active.kept.plan.hosts_of(run) > 1 { 2 } else { 1 };
    let longest = || longest_visit(active, lane_of(&active.kept.plan, run)) + LEASE_MARGIN.times(margins);
    by.is_none_or(|by| now + longest() <= by)
}

/// Whether a host may be given runs at all.
pub(super) fn is_idle_for_runs(host: &Host) -> bool {
    host.standing == Standing::Serving && host.reboot.is_none()
}
