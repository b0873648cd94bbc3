//! What agents ask, begin and report, and what time ends.

use std::{collections::BTreeSet, sync::Arc};

use super::{Answer, dated, pool::is_idle, pool::quarantined};
use crate::{
    agent::message::AttemptReport, host::Host, host::Presence, host::Standing, host::WorkRequest,
    machine::Active, machine::COORDINATOR, machine::Effect, machine::MAX_EXCUSED, machine::Machine,
    machine::Phase, machine::Refusal, machine::Speaker, machine::event::Change, machine::follow_up::reboot,
    machine::provision::is_given_back, plan::Task, run::AfterLoss, run::LossReason, run::Obstacle,
    run::lease::Lease, run::record::Failure, run::record::Outcome, run::record::Record, value::id::Attempt,
    value::id::HostId, value::id::JobId, value::id::LeaseEpoch, value::time::Timestamp,
};

impl Machine {
    /// A host that asks while it holds a lease of this same start has missed the grant, and one that is to boot anew has
    /// missed that: they are sent again. One that holds a lease of an earlier start has lost it.
    pub(super) fn ask(&self, now: Timestamp, speaker: Speaker) -> Answer {
        let host = self.joined(&speaker)?;
        match &host.lease {
            Some(lease) if lease.agent_epoch == speaker.epoch => {
                let plan = self.experiments[&lease.experiment].kept.plan.clone();
                Ok((Vec::new(), vec![Effect::Grant { lease: Box::new(lease.clone()), plan }]))
            }
            Some(lease) => {
                // Its agent forgot the run, unless the engine gave the host to another job.
                let reason = allocation_over(host, lease).unwrap_or(LossReason::AgentRestarted);
                let mut changes = self.lose(host, lease, reason);
                changes.push(Change::HostAsked { host: speaker.host });
                Ok((dated(now, changes), Vec::new()))
            }
            None if is_given_back(&host.standing) && is_idle(host) => {
                Ok((Vec::new(), vec![Effect::Dismiss { host: speaker.host }]))
            }
            None => match (host.reboot, host.presence) {
                (Some(asked), _) => Ok((Vec::new(), vec![reboot(host, asked.experiment)])),
                (None, Presence::Here { asking: WorkRequest::No }) => {
                    Ok((dated(now, vec![Change::HostAsked { host: speaker.host }]), Vec::new()))
                }
                (
                    None,
                    Presence::Here { asking: WorkRequest::Yes | WorkRequest::InVain { .. } }
                    | Presence::Away { .. },
                ) => Ok((Vec::new(), Vec::new())),
            },
        }
    }

    /// The host that is the last to be prepared has the first one start the program. One whose lease is over, or whose run is,
    /// ends its part.
    pub(super) fn ready(&self, now: Timestamp, speaker: &Speaker, lease: LeaseEpoch) -> Answer {
        let host = self.joined(speaker)?;
        let end = || Ok((Vec::new(), vec![Effect::End { host: speaker.host.clone(), lease }]));
        let Some(held) = host.lease.as_ref().filter(|held| {
            held.epoch == lease && held.agent_epoch == speaker.epoch && self.is_under_way(held)
        }) else {
            return end();
        };
        let gang = self.gang(held.leader());
        let Some((leader, first)) = gang.first().filter(|(epoch, _)| *epoch == held.leader()) else {
            return end();
        };
        let first = self.host_at(*first);
        let begin = || Effect::Begin { host: first.facts.host.clone(), lease: *leader };
        if first.lease.as_ref().is_some_and(|lease| lease.started.is_some()) {
            // Who begins says nothing any more: it has missed that it was to.
            let is_first = *leader == lease;
            return Ok((Vec::new(), is_first.then(begin).into_iter().collect()));
        }
        let others = gang.iter().filter(|(epoch, _)| *epoch != lease);
        let are_ready = others.clone().all(|(_, number)| self.host_at(*number).is_ready);
        let mut changes = vec![Change::HostReady { host: speaker.host.clone(), lease }];
        if !are_ready {
            return Ok((dated(now, changes), Vec::new()));
        }
        changes.push(Change::RunStarted { host: first.facts.host.clone(), lease: *leader });
        Ok((dated(now, changes), vec![begin()]))
    }

    pub(super) fn started(&self, speaker: Speaker, lease: LeaseEpoch) -> Result<Vec<Change>, Refusal> {
        let host = self.joined(&speaker)?;
        let held = host.lease.as_ref().filter(|held| held.epoch == lease && held.started.is_none());
        Ok(held.map(|_| Change::RunStarted { host: speaker.host, lease }).into_iter().collect())
    }

    /// Every lease ever issued is live, superseded, or reported already; only a lease that was not given to this start
    /// of this agent is refused.
    pub(super) fn report(&self, now: Timestamp, speaker: &Speaker, report: AttemptReport) -> Answer {
        let AttemptReport { lease, executed_by, record } = report;
        let host = self.joined(speaker)?;
        let refusal = || Refusal::NotYourLease { host: speaker.host.clone(), lease };
        let acknowledge = Effect::Acknowledge { host: speaker.host.clone(), lease };
        if let Some(held) = host.lease.as_ref().filter(|held| held.epoch == lease) {
            if held.agent_epoch != executed_by {
                return Err(refusal());
            }
            // A launcher may notice that a host is gone before the coordinator does: what failed is the program only if all hosts
            // are there to end their parts.
            if matches!(record.outcome, Outcome::Failed(_)) && !held.is_of_member() {
                let parts = self.ends_of_others(held);
                if !parts.is_empty() {
                    return Ok((Vec::new(), parts));
                }
            }
            let reminded = self.last_part_of(held);
            let effects = [acknowledge].into_iter().chain(reminded).collect();
            return Ok((dated(now, self.conclude(host, held, record)), effects));
        }
        if let Some(superseded) = self.superseded.get(&lease) {
            if superseded.host != speaker.host || superseded.agent_epoch != executed_by {
                return Err(refusal());
            }
            let late = Change::LateReport { superseded: superseded.clone(), record: Arc::new(record) };
            return Ok((dated(now, vec![late]), vec![acknowledge]));
        }
        let held_elsewhere = self.holders.contains_key(&lease);
        if lease.0 >= self.next_lease || held_elsewhere {
            return Err(refusal());
        }
        Ok((Vec::new(), vec![acknowledge]))
    }

    /// Who waits for this part alone, and is to report its run again.
    fn last_part_of(&self, part: &Lease) -> Option<Effect> {
        if !part.is_of_member() || !self.is_under_way(part) {
            return None;
        }
        let gang = self.gang(part.leader());
        let [(_, first), _] = gang[..] else { return None };
        Some(Effect::Remind { host: self.host_at(first).facts.host.clone() })
    }

    fn conclude(&self, host: &Host, lease: &Lease, mut record: Record) -> Vec<Change> {
        self.settle_products(lease, &mut record);
        // The next agent of the host may report this before its engine is asked again.
        if matches!(record.outcome, Outcome::NotExecuted { obstacle: Obstacle::Host, .. })
            && let Some(ended) = allocation_over(host, lease)
        {
            let mut changes = self.lose(host, lease, ended);
            // It is here already, so that nobody waits for it.
            if !lease.is_of_member() {
                changes.push(Change::LateReport { superseded: lease.into(), record: Arc::new(record) });
            }
            return changes;
        }
        match record.outcome {
            Outcome::NotExecuted { reason, obstacle } => {
                self.lose(host, lease, LossReason::NotExecuted { reason, obstacle })
            }
            Outcome::Measured | Outcome::Failed(_) => {
                let (host, lease, record, is_part) =
                    (lease.host.clone(), lease.epoch, Arc::new(record), lease.is_of_member());
                vec![if is_part {
                    Change::PartEnded { host, lease, record }
                } else {
                    Change::RunReported { host, lease, record }
                }]
            }
        }
    }

    /// A build counts as one only with exactly the products that the plan names; only a build has any.
    fn settle_products(&self, lease: &Lease, record: &mut Record) {
        let plan = &self.experiments[&lease.experiment].kept.plan;
        let build = match plan.task(lease.run) {
            Task::Run(_) => None,
            Task::Build(version) => {
                plan.experiment.version(version).and_then(|version| version.build.as_ref())
            }
        };
        match (build, &record.outcome) {
            (Some(build), Outcome::Measured) => {
                if let Some(failure) = Failure::from_products(build, &record.products) {
                    record.outcome = Outcome::Failed(failure);
                }
                record.products.sort_by(|one, other| one.name.cmp(&other.name));
            }
            (Some(_) | None, _) => record.products.clear(),
        }
    }

    pub(super) fn expire(&self, now: Timestamp) -> impl Iterator<Item = Change> + '_ {
        let due = self.losses.iter().take_while(move |(deadline, _)| *deadline <= now);
        let mut gangs = BTreeSet::new();
        // A gang is lost once, whoever of it is overdue.
        let is_first = move |host: &&Host| match host.lease.as_ref().filter(|lease| lease.is_of_gang()) {
            Some(lease) if self.is_under_way(lease) => gangs.insert(lease.leader()),
            Some(_) | None => true,
        };
        let hosts = due.map(|(_, number)| self.host_at(*number)).filter(is_first);
        hosts.flat_map(move |host| self.overdue(now, host))
    }

    /// A host whose job has ended is away from now on, whatever its connection looks like, and its attempt is lost. One that
    /// has joined in another job since is not that host any more.
    pub(super) fn job_ended(
        &self,
        now: Timestamp,
        id: &HostId,
        job: &JobId,
        reason: LossReason,
    ) -> Vec<Change> {
        let Some(host) = self.host(id).filter(|host| host.facts.job.as_ref() == Some(job)) else {
            return Vec::new();
        };
        let left = host.is_here().then(|| Change::HostLeft { host: id.clone(), give_up: now });
        let lost = host.lease.as_ref().map(|lease| self.lose(host, lease, reason)).unwrap_or_default();
        left.into_iter().chain(lost).collect()
    }

    /// Hosts that asked in vain and have rested since.
    pub(super) fn rested(&self, now: Timestamp) -> impl Iterator<Item = Change> + '_ {
        let due = self.rests.iter().take_while(move |(rested, _)| *rested <= now);
        due.map(|(_, number)| Change::HostAsked { host: self.host_at(*number).facts.host.clone() })
    }

    /// What the time that has come takes from a host.
    fn overdue(&self, now: Timestamp, host: &Host) -> Vec<Change> {
        let id = &host.facts.host;
        let is_due = |deadline: Option<Timestamp>| deadline.is_some_and(|deadline| deadline <= now);
        if let Some(lease) = host.lease.as_ref().filter(|_| is_due(host.lease_deadline())) {
            let reason = if lease.deadline <= now { LossReason::Expired } else { LossReason::HostLost };
            return self.lose(host, lease, reason);
        }
        if is_due(host.reboot.map(|reboot| reboot.give_up)) {
            return vec![quarantined(id, "it did not come back from its reboot")];
        }
        let broken = |experiment| Change::VisitBroken { host: id.clone(), experiment };
        host.visits.keys().copied().filter(|_| is_due(host.visit_deadline())).map(broken).collect()
    }

    /// The loss of an attempt, and what becomes of its run: another attempt, unless it has had all. It may pause the
    /// experiment, where every host has turned it down, or take the host out of the pool, where another user's experiment has
    /// given it up too.
    fn lose(&self, host: &Host, lease: &Lease, reason: LossReason) -> Vec<Change> {
        if lease.is_of_member() && !self.is_under_way(lease) {
            return vec![part_ended(lease, &reason)];
        }
        let active = &self.experiments[&lease.experiment];
        let experiment = lease.experiment;
        let number = self.numbers[&lease.host];
        let paused = (active.kept.phase == Phase::Running)
            .then(|| self.turned_down(active, number, lease, &reason))
            .flatten()
            .map(|reason| Change::Paused { experiment, by: COORDINATOR.to_owned(), reason });
        let out = (host.standing == Standing::Serving)
            .then(|| self.blamed(active, number, &reason))
            .flatten()
            .map(|why| quarantined(&lease.host, why));
        std::iter::once(self.lost(lease, reason)).chain(paused).chain(out).collect()
    }

    pub(super) fn lost(&self, lease: &Lease, reason: LossReason) -> Change {
        if lease.is_of_member() && !self.is_under_way(lease) {
            return part_ended(lease, &reason);
        }
        let active = &self.experiments[&lease.experiment];
        let after = if active.kept.phase == Phase::Cancelled {
            AfterLoss::Cancelled
        } else if self.counted(active, lease, &reason) >= active.kept.plan.experiment.limits.attempts {
            AfterLoss::Abandoned
        } else {
            AfterLoss::Again(Attempt(lease.attempt.0 + 1))
        };
        Change::AttemptLost { host: lease.host.clone(), lease: lease.epoch, reason, after }
    }

    /// How many attempts of a run count against its limit, with this one: without those that an engine ended.
    fn counted(&self, active: &Active, lease: &Lease, reason: &LossReason) -> u32 {
        let before = active.kept.excused.get(&lease.run.0).copied().unwrap_or(0);
        let excused = before.saturating_add(reason.is_the_engines().into()).min(MAX_EXCUSED);
        lease.attempt.0.saturating_sub(excused)
    }

    fn joined(&self, speaker: &Speaker) -> Result<&Host, Refusal> {
        self.host(&speaker.host)
            .filter(|host| host.is_here() && host.epoch == speaker.epoch)
            .ok_or_else(|| Refusal::NotJoined(speaker.host.clone()))
    }
}

/// Why a lease is lost whose host is in another allocation by now: its engine has ended the one in which it was granted.
fn allocation_over(host: &Host, lease: &Lease) -> Option<LossReason> {
    let granted_in = lease.evidence.allocation.as_ref()?;
    if host.facts.allocation.as_ref() == Some(granted_in) {
        return None;
    }
    Some(LossReason::JobEnded { words: "its allocation is over".to_owned(), is_excused: true })
}

/// The run is over that a host served together with others, and what it did since is not known.
fn part_ended(lease: &Lease, reason: &LossReason) -> Change {
    let obstacle = Obstacle::Host;
    let outcome = Outcome::NotExecuted { reason: reason.words(), obstacle };
    let record = Arc::new(Record::bare(outcome));
    Change::PartEnded { host: lease.host.clone(), lease: lease.epoch, record }
}
