//! Runs that several hosts serve together. Their leases are given at once or not at all. A host that could be of a gang which is
//! not there yet is held for it, so that small runs do not keep large ones waiting; meanwhile it is given what is sure to end
//! before the last host of the gang is free (reservation with backfill: Mu'alem and Feitelson 2001). Hosts are held for one
//! experiment at a time, the one whose turn it is, so that no two wait for each other's; and only where enough hosts could ever
//! come together.

use std::collections::BTreeSet;

use super::matching::{holds, longest_visit, rests_until, used, violation};
use super::queue::lane_of;
use super::{Active, Effect, Machine, Phase};
use crate::experiment::gang::Gang;
use crate::host::{Asking, Host, Presence, Standing};
use crate::machine::event::{Change, Event};
use crate::run::lease::{LEASE_MARGIN, Lease};
use crate::run::{HostNumber, RunState};
use crate::value::id::{ExperimentId, HostId, LeaseEpoch, RunIndex};
use crate::value::time::Timestamp;

/// Hosts that are kept for a gang. A restart forgets it: they ask again.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hold {
    /// Of which experiment.
    experiment: ExperimentId,
    /// For which run.
    run: RunIndex,
    /// Which.
    hosts: BTreeSet<HostNumber>,
}

/// What there is of a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Gathering {
    /// These hosts, all of which ask.
    Complete(Vec<HostNumber>),
    /// Enough hosts, of which the last is free by then at the latest.
    By(Timestamp),
    /// Too few hosts.
    Lacking,
}

impl Machine {
    /// The hosts that could serve a run together with one that asks.
    pub(super) fn gather(
        &self,
        now: Timestamp,
        id: ExperimentId,
        active: &Active,
        run: RunIndex,
        number: HostNumber,
    ) -> Gathering {
        // As is asked of the others, so that each of them finds the same gang.
        if self.is_held_for_another(now, id, run, number) {
            return Gathering::Lacking;
        }
        let size = active.kept.plan.hosts_of(run) as usize;
        let class = self.host_at(number).class;
        let gang = active.kept.plan.gang_of_task(active.kept.plan.task(run));
        let needs_job = gang.is_some_and(Gang::is_in_one_job);
        let job = self.host_at(number).job();
        if needs_job && job.is_none() {
            return Gathering::Lacking;
        }
        let (mut ready, mut busy) = (vec![number], Vec::new());
        for (other, host) in (0..).map(HostNumber).zip(&self.hosts) {
            let is_candidate = other != number
                && host.class == class
                && (!needs_job || host.job() == job)
                && self.suits(now, id, active, run, other);
            if !is_candidate || self.is_held_for_another(now, id, run, other) {
                continue;
            }
            match free_from(now, host, active) {
                Some(from) => busy.push(from),
                None => ready.push(other),
            }
        }
        if ready.len() >= size {
            ready.truncate(size);
            ready.sort_unstable();
            return Gathering::Complete(ready);
        }
        let wanted = size - ready.len();
        if busy.len() < wanted {
            return Gathering::Lacking;
        }
        let (_, last, _) = busy.select_nth_unstable(wanted - 1);
        Gathering::By(*last)
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
            && self.admitted_from(active, host).is_some_and(|from| from.is_none_or(|from| from <= now))
            && host.visits.keys().all(|visited| !self.is_running(*visited))
            && violation(host, active, used(host, id, active, lane)).is_none()
            && holds(now, host, active, lane)
            && !self.has_given_up(active, number)
            && !self.is_held_back(id, active, number)
            && (!active.kept.tried.contains_key(&run.0) || self.may_retry(active, number, run.0))
    }

    fn is_running(&self, id: ExperimentId) -> bool {
        self.experiments.get(&id).is_some_and(|active| active.kept.phase == Phase::Running)
    }

    /// Whether a host is, or could be, kept for another gang.
    fn is_held_for_another(
        &self,
        now: Timestamp,
        id: ExperimentId,
        run: RunIndex,
        number: HostNumber,
    ) -> bool {
        let Some(hold) = self.hold.as_ref().filter(|hold| (hold.experiment, hold.run) != (id, run)) else {
            return false;
        };
        let active = &self.experiments[&hold.experiment];
        hold.hosts.contains(&number) || self.suits(now, hold.experiment, active, hold.run, number)
    }

    /// Whether hosts may be kept for a run.
    pub(super) fn may_hold(&self, id: ExperimentId, run: RunIndex) -> bool {
        self.hold.as_ref().is_none_or(|hold| (hold.experiment, hold.run) == (id, run))
    }

    /// Whether hosts are kept for an experiment.
    pub(super) fn is_held_for(&self, id: ExperimentId) -> bool {
        self.hold.as_ref().is_some_and(|hold| hold.experiment == id)
    }

    /// Whether a host is kept for a gang.
    pub(super) fn is_held(&self, number: HostNumber) -> bool {
        self.hold.as_ref().is_some_and(|hold| hold.hosts.contains(&number))
    }

    /// The experiments in the order in which a host is offered them: first the one for which hosts are held.
    pub(super) fn offers(&self) -> impl Iterator<Item = ExperimentId> + '_ {
        let first = self.hold.as_ref().map(|hold| hold.experiment);
        let first = first.filter(|id| self.experiments.get(id).is_some_and(|active| active.turn().is_some()));
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
    pub(super) fn host_held(&mut self, host: &HostId, experiment: ExperimentId, run: RunIndex) {
        let Some(number) = self.number_of(host) else { return };
        // First what may make hosts look again, this one too.
        self.set_reserves(number, None);
        self.set_asking(host, Asking::InVain { until: None });
        if !self.experiments.contains_key(&experiment) {
            return;
        }
        let hold = self.hold.get_or_insert_with(|| Hold { experiment, run, hosts: BTreeSet::new() });
        if (hold.experiment, hold.run) == (experiment, run) {
            hold.hosts.insert(number);
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

    /// No longer keeps hosts for an experiment.
    pub(super) fn release_hold(&mut self, experiment: ExperimentId) {
        if self.is_held_for(experiment) {
            self.hold = None;
            self.look_again();
        }
    }
}

/// From when on a host that suits is free, at the latest; none if it asks now.
fn free_from(now: Timestamp, host: &Host, active: &Active) -> Option<Timestamp> {
    let rested = rests_until(host, active).filter(|until| *until > now);
    match (&host.lease, host.presence) {
        (Some(lease), _) => Some(lease.deadline.max(now)),
        (None, Presence::Here { asking: Asking::Yes | Asking::InVain { .. } }) => rested,
        (None, Presence::Here { asking: Asking::No } | Presence::Away { .. }) => Some(rested.unwrap_or(now)),
    }
}

/// Whether a visit that a host begins now is over by then, even if all in it takes as long as it may.
pub(super) fn is_over_by(now: Timestamp, active: &Active, run: RunIndex, by: Option<Timestamp>) -> bool {
    let longest = longest_visit(active, lane_of(&active.kept.plan, run)) + LEASE_MARGIN;
    by.is_none_or(|by| now + longest <= by)
}

/// Whether a host may be given runs at all.
pub(super) fn is_idle_for_runs(host: &Host) -> bool {
    host.standing == Standing::Serving && host.reboot.is_none()
}
