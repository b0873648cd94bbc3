//! How an attempt goes from its lease to its end.

use std::collections::BTreeSet;

use crate::host::{Host, Presence, Use, Visit, WorkRequest};
use crate::machine::{
    Active, BuildResult, MAX_EXCUSED, Machine, event::Superseded, lane::lane_of, lane::use_of,
};
use crate::run::{
    AfterLoss, HostNumber, LossReason, RunState, Settlement, lease::Lease, record::Outcome, record::Record,
};
use crate::value::{id::Attempt, id::HostId, id::LeaseEpoch, id::RunIndex, time::Timestamp};

impl Machine {
    /// One lease, or those of a gang, whose hosts get all of them or none.
    pub(super) fn granted(&mut self, leases: &[Lease]) {
        let Some(lease) = leases.first() else { return };
        let are_new = leases.iter().all(|lease| lease.epoch.0 >= self.next_lease);
        for lease in leases {
            self.next_lease = self.next_lease.max(lease.epoch.0.saturating_add(1));
        }
        let numbers: Option<Vec<HostNumber>> =
            leases.iter().map(|lease| self.number_of(&lease.host)).collect();
        let (Some(numbers), Some(active)) = (numbers, self.experiments.get(&lease.experiment)) else {
            return;
        };
        let Some(RunState::Waiting { .. }) = active.states.get(lease.run.0 as usize) else { return };
        let place = active.kept.plan.place(lease.run);
        let lane = lane_of(&active.kept.plan, lease.run);
        let use_of = use_of(&active.kept.plan, lease.run);
        let begun = self.host_at(numbers[0]).visits.get(&lease.experiment).copied();
        let goes_on = begun.is_some_and(|visit| visit.next == lease.run);
        // A host that has begun a visit begins no other of that experiment.
        let is_free = |number: &HostNumber| {
            let host = self.host_at(*number);
            host.lease.is_none() && (goes_on || !host.visits.contains_key(&lease.experiment))
        };
        if !are_new || !are_alike(leases) || !numbers.iter().all(is_free) {
            return;
        }
        let taken = self.share(lease.experiment, |active| {
            let taken = goes_on || active.queue.remove(lane, lease.run);
            if taken {
                active.kept.attempts += 1;
                active.members += leases.len() as u32 - 1;
                numbers.iter().for_each(|number| active.visited(*number, lease.run));
                active.served_together(lease.run, numbers.clone());
                active.set(lease.run, RunState::Leased { lease: lease.epoch, host: numbers[0] });
            }
            taken
        });
        if taken != Some(true) {
            return;
        }
        let next = RunIndex(lease.run.0 + 1);
        let end = RunIndex(place.group.0 + place.size);
        self.end_hold(lease.experiment, lease.run);
        for (lease, number) in leases.iter().zip(&numbers) {
            self.set_reserves(*number, None);
            self.set_asking(&lease.host, WorkRequest::No);
            self.change(*number, |host| {
                host.serve(lease, use_of, !goes_on);
                host.visits.remove(&lease.experiment);
                if next < end {
                    host.visits.insert(lease.experiment, Visit { next, end });
                }
                host.lease = Some(lease.clone());
                host.is_ready = false;
            });
            self.holders.insert(lease.epoch, *number);
        }
        // A host that took the rest of a visit is none any more that visits of its cell could be given.
        let is_rest = !goes_on && (place.group != lease.run || lease.attempt > Attempt(1));
        let is_nested = |active: &Active| !active.kept.visitors.is_empty() && active.queue.has_retries();
        let rests = is_rest && self.experiments.get(&lease.experiment).is_some_and(is_nested);
        // With what it has now, the experiment may want other hosts of its next gang.
        if rests || leases.len() > 1 || self.is_held_for(lease.experiment) {
            self.look_again();
        }
    }

    pub(super) fn run_started(&mut self, at: Timestamp, host: &HostId, epoch: LeaseEpoch) {
        let Some(number) = self.holder(host, epoch) else { return };
        let Some(lease) = &mut self.hosts[number.0 as usize].lease else { return };
        lease.started = Some(at);
        let experiment = lease.experiment;
        let run = lease.run;
        self.share(experiment, |active| active.set(run, RunState::Running { lease: epoch, host: number }));
    }

    pub(super) fn run_reported(&mut self, at: Timestamp, host: &HostId, epoch: LeaseEpoch, record: &Record) {
        let Some((number, lease)) = self.release(at, host, epoch) else { return };
        self.hosts[number.0 as usize].blamed_by = None;
        let settlement = match record.outcome {
            Outcome::Measured => Settlement::Measured,
            Outcome::Failed(_) | Outcome::NotExecuted { .. } => Settlement::Failed,
        };
        let may_suit_others = self.share(lease.experiment, |active| {
            active.kept.abandoned_in_a_row = 0;
            active.kept.host_time = active.kept.host_time + (at - lease.granted);
            active.kept.tried.remove(&lease.run.0);
            active.kept.excused.remove(&lease.run.0);
            active.set(lease.run, RunState::Settled(settlement));
            active.is_built(lease.run, || match record.outcome.why_not() {
                None => BuildResult::Made(record.products.clone()),
                Some(words) => BuildResult::Not(words),
            });
            active.executed_on(number)
        });
        self.settle_visits(number);
        if may_suit_others == Some(true) {
            self.look_again();
        }
    }

    /// Ends the part of a host in a run that another host starts. A part that was executed speaks for its host as a run does:
    /// otherwise a host that is never the first of a gang would be given up for attempts with executed ones in between.
    pub(super) fn part_ended(&mut self, at: Timestamp, host: &HostId, epoch: LeaseEpoch, record: &Record) {
        let Some((number, lease)) = self.release(at, host, epoch) else { return };
        self.served_for(at, &lease);
        let is_executed = match record.outcome {
            Outcome::Measured | Outcome::Failed(_) => true,
            Outcome::NotExecuted { .. } => false,
        };
        if is_executed {
            self.hosts[number.0 as usize].blamed_by = None;
            if self.share(lease.experiment, |active| active.executed_on(number)) == Some(true) {
                self.look_again();
            }
        }
        self.settle_visits(number);
    }

    pub(super) fn attempt_lost(
        &mut self,
        at: Timestamp,
        host: &HostId,
        epoch: LeaseEpoch,
        reason: &LossReason,
        after: AfterLoss,
    ) {
        let Some((number, lease)) = self.release(at, host, epoch) else { return };
        let others = self.disband(at, &lease);
        match reason {
            LossReason::NotExecuted { .. } => {}
            LossReason::Expired
            | LossReason::HostLost
            | LossReason::AgentRestarted
            | LossReason::JobEnded { .. } => {
                if !lease.is_of_member() {
                    self.superseded.insert(epoch, Superseded::from(&lease));
                }
            }
        }
        let rest = self.change(number, |host| host.visits.remove(&lease.experiment));
        let blamed_by = self.share(lease.experiment, |active| {
            active.tally.lost_attempts += 1;
            active.kept.host_time = active.kept.host_time + (at - lease.granted);
            let tried = active.kept.tried.entry(lease.run.0).or_default();
            if !tried.contains(&number) {
                tried.push(number);
            }
            // What is left of the visit goes to another host, from this run on or without it.
            let (state, left) = match after {
                AfterLoss::Again(attempt) => (RunState::Waiting { attempt }, Some(lease.run)),
                AfterLoss::Cancelled => (RunState::Settled(Settlement::Cancelled), None),
                AfterLoss::Abandoned => {
                    active.kept.abandoned_in_a_row += 1;
                    active.is_built(lease.run, || {
                        let attempts = lease.attempt;
                        let words = reason.words();
                        BuildResult::Not(format!(
                            "all its {attempts} attempts were lost, the last because {words}"
                        ))
                    });
                    (RunState::Settled(Settlement::Abandoned), rest.map(|visit| visit.next))
                }
            };
            if matches!(state, RunState::Settled(_)) {
                active.kept.tried.remove(&lease.run.0);
                active.kept.excused.remove(&lease.run.0);
            } else if reason.is_the_engines() {
                active.excuse(lease.run);
            }
            active.set(lease.run, state);
            if let Some(left) = left {
                active.queue.put_back(lane_of(&active.kept.plan, lease.run), left);
            }
            if !reason.is_the_hosts() {
                active.kept.turned_down_in_a_row += 1;
                // What the plan asks for is missing for all hosts of a gang, whichever of them says so.
                for other in others {
                    active.lost_on(at, other, reason);
                }
            }
            let is_given_up = !reason.is_the_engines() && active.lost_on(at, number, reason);
            is_given_up.then(|| active.kept.by.clone())
        });
        if let Some(by) = blamed_by.flatten() {
            self.hosts[number.0 as usize].blamed_by.get_or_insert(by);
        }
        self.settle_visits(number);
        self.look_again();
    }

    /// The program may have run until now, however long ago its attempt was given up.
    pub(super) fn late_report(&mut self, at: Timestamp, superseded: &Superseded) {
        self.superseded.remove(&superseded.lease);
        if let Some(number) = self.number_of(&superseded.host) {
            self.change(number, |host| (host.heard, host.idle_since) = (at, Some(at)));
            // It has not rested as long as was known, and may have to be asked when it has.
            if self.ineligible.contains(&number) {
                self.set_presence(number, Presence::Here { asking: WorkRequest::Yes });
            }
        }
    }

    fn holder(&self, host: &HostId, epoch: LeaseEpoch) -> Option<HostNumber> {
        let number = self.number_of(host)?;
        let lease = self.host_at(number).lease.as_ref()?;
        (lease.epoch == epoch).then_some(number)
    }

    fn release(&mut self, at: Timestamp, host: &HostId, epoch: LeaseEpoch) -> Option<(HostNumber, Lease)> {
        let number = self.holder(host, epoch)?;
        let lease = self.change(number, |host| {
            (host.heard, host.idle_since) = (at, Some(at));
            host.is_ready = false;
            host.lease.take()
        })?;
        self.holders.remove(&epoch);
        if lease.is_of_member() {
            self.share(lease.experiment, |active| active.members -= 1);
        }
        Some((number, lease))
    }

    /// With a lost attempt all hosts are free that served it together. What its first host did may be reported late.
    fn disband(&mut self, at: Timestamp, lost: &Lease) -> Vec<HostNumber> {
        let others = self.gang(lost.leader());
        for (epoch, number) in others.iter().copied() {
            let host = self.host_at(number).facts.host.clone();
            let Some((_, lease)) = self.release(at, &host, epoch) else { continue };
            self.served_for(at, &lease);
            if !lease.is_of_member() && lease.started.is_some() {
                self.superseded.insert(epoch, Superseded::from(&lease));
            }
            self.settle_visits(number);
        }
        others.into_iter().map(|(_, number)| number).collect()
    }

    /// Counts the time that a host had a lease for.
    fn served_for(&mut self, at: Timestamp, lease: &Lease) {
        self.share(lease.experiment, |active| {
            active.kept.host_time = active.kept.host_time + (at - lease.granted);
        });
    }

    /// A host of a gang is prepared.
    pub(super) fn host_ready(&mut self, host: &HostId, epoch: LeaseEpoch) {
        if let Some(number) = self.holder(host, epoch) {
            self.hosts[number.0 as usize].is_ready = true;
        }
    }
}

/// Whether leases are those of one gang, in the order of its seats, or one alone.
fn are_alike(leases: &[Lease]) -> bool {
    let first = &leases[0];
    let hosts: BTreeSet<&HostId> = leases.iter().map(|lease| &lease.host).collect();
    let seats = (0_u32..).zip(leases).all(|(number, lease)| {
        (lease.experiment, lease.run, lease.attempt) == (first.experiment, first.run, first.attempt)
            && lease.seat.as_ref().map_or(0, |seat| seat.number) == number
            && lease.leader() == first.epoch
    });
    hosts.len() == leases.len() && seats
}

impl Active {
    /// Notes an attempt that does not count against the run's limit, as long as there are not too many.
    fn excuse(&mut self, run: RunIndex) {
        let excused = self.kept.excused.entry(run.0).or_default();
        *excused = (*excused + 1).min(MAX_EXCUSED);
    }

    /// Notes what became of a run that is a build.
    fn is_built(&mut self, run: RunIndex, built: impl FnOnce() -> BuildResult) {
        if self.kept.plan.cell(run).is_none() {
            self.kept.built.insert(run, built());
        }
    }
}

impl Host {
    /// Counts a lease as use of the host, in the scope of its lane; a build is none there.
    fn serve(&mut self, lease: &Lease, lane: Option<u32>, is_new_visit: bool) {
        self.served += 1;
        self.previous = Some((lease.experiment, lease.run));
        let Some(lane) = lane else { return };
        let boot = self.boot();
        let allocation = self.allocation();
        let lanes = self.used.entry(lease.experiment).or_default();
        let used = lanes.entry(lane).or_insert(Use { visits: 0, from: lease.run, boot, allocation });
        if is_new_visit {
            used.visits += 1;
            used.from = lease.run;
        }
        (used.boot, used.allocation) = (boot, allocation);
    }
}
