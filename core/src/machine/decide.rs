//! What a command leads to: events and effects, or a refusal. Nothing is changed here.

use std::sync::Arc;

use super::queue::hosts_needed;
use super::{Active, Command, Effect, MAX_ACTIVE, MAX_HOSTS, Machine, Phase, Refusal, Request, Speaker};
use crate::event::{Change, Event};
use crate::experiment::MAX_RUNS;
use crate::host::{Asking, Host, HostFacts, Presence};
use crate::id::{AgentEpoch, AgentId, Attempt, ExperimentId, LeaseEpoch};
use crate::lease::Lease;
use crate::message::Report;
use crate::plan::Plan;
use crate::record::{Outcome, Record};
use crate::run::{AfterLoss, LossReason};
use crate::time::Timestamp;

type Decision = Result<(Vec<Event>, Vec<Effect>), Refusal>;

impl Machine {
    /// Decides a command. `now` is not before [`Machine::latest`].
    pub(super) fn decide(&self, now: Timestamp, command: Command) -> Decision {
        let changes = match command {
            Command::Start => vec![Change::CoordinatorStarted],
            Command::Submit { experiment, plan, by, wait_for_hosts } => {
                self.submit(experiment, plan, by, wait_for_hosts)?
            }
            Command::Pause(request) => self.pause(request)?,
            Command::Resume(request) => self.resume(request)?,
            Command::Cancel(request) => self.cancel(request)?,
            Command::Extend { request, more } => self.extend(request, more)?,
            Command::Join { facts, agent, epoch } => self.join(facts, agent, epoch)?,
            Command::Leave(speaker) => self.leave(now, speaker),
            Command::Ask(speaker) => return self.ask(now, speaker),
            Command::Started { speaker, lease } => self.started(speaker, lease)?,
            Command::Report { speaker, report } => return self.report(now, &speaker, *report),
            Command::Tick => self.expire(now),
        };
        Ok((dated(now, changes), Vec::new()))
    }

    fn submit(
        &self,
        experiment: ExperimentId,
        plan: Arc<Plan>,
        by: String,
        wait_for_hosts: bool,
    ) -> Result<Vec<Change>, Refusal> {
        if self.experiments.contains_key(&experiment) {
            return Err(Refusal::Exists(experiment));
        }
        if self.experiments.len() >= MAX_ACTIVE {
            return Err(Refusal::TooManyActive);
        }
        let needed = hosts_needed(&plan);
        if needed > self.here && !wait_for_hosts {
            return Err(Refusal::PoolTooSmall { needed, here: self.here });
        }
        Ok(vec![Change::Submitted { experiment, plan, by }])
    }

    fn pause(&self, Request { experiment, by }: Request) -> Result<Vec<Change>, Refusal> {
        match &self.changeable(experiment)?.phase {
            Phase::Paused { .. } => Ok(Vec::new()),
            Phase::Running | Phase::Cancelled => {
                let reason = format!("paused by {by}");
                Ok(vec![Change::Paused { experiment, by, reason }])
            }
        }
    }

    fn resume(&self, Request { experiment, by }: Request) -> Result<Vec<Change>, Refusal> {
        match &self.changeable(experiment)?.phase {
            Phase::Paused { .. } => Ok(vec![Change::Resumed { experiment, by }]),
            Phase::Running | Phase::Cancelled => Ok(Vec::new()),
        }
    }

    fn cancel(&self, Request { experiment, by }: Request) -> Result<Vec<Change>, Refusal> {
        self.changeable(experiment).map(|_| vec![Change::Cancelled { experiment, by }])
    }

    fn extend(&self, Request { experiment, by }: Request, more: u32) -> Result<Vec<Change>, Refusal> {
        let plan = &self.changeable(experiment)?.plan;
        let more_runs = u64::from(plan.visit().size()) * u64::from(more);
        let runs = u64::from(plan.runs()) + u64::from(plan.cells()) * more_runs;
        if runs > MAX_RUNS {
            return Err(Refusal::TooManyRuns { runs, max: MAX_RUNS });
        }
        let (from, appended) = (plan.runs(), plan.draw_extension(&plan.singly(more), plan.visit()));
        Ok(vec![Change::Extended { experiment, from, appended, by }])
    }

    fn changeable(&self, experiment: ExperimentId) -> Result<&Active, Refusal> {
        let active = self.experiments.get(&experiment).ok_or(Refusal::NotActive(experiment))?;
        match active.phase {
            Phase::Cancelled => Err(Refusal::Cancelled(experiment)),
            Phase::Running | Phase::Paused { .. } => Ok(active),
        }
    }

    fn join(&self, facts: HostFacts, agent: AgentId, epoch: AgentEpoch) -> Result<Vec<Change>, Refusal> {
        match self.host(&facts.host) {
            None if self.hosts.len() >= MAX_HOSTS => return Err(Refusal::TooManyHosts),
            None => {}
            Some(known) if known.agent != agent && known.is_here() => {
                return Err(Refusal::HostClaimed { host: facts.host, agent: known.agent });
            }
            Some(known) if known.epoch > epoch || (known.epoch == epoch && known.agent != agent) => {
                return Err(Refusal::StaleAgent { host: facts.host, known: known.epoch, claimed: epoch });
            }
            Some(_) => {}
        }
        Ok(vec![Change::HostJoined { facts, agent, epoch }])
    }

    fn leave(&self, now: Timestamp, speaker: Speaker) -> Vec<Change> {
        match self.host(&speaker.host) {
            Some(host) if host.is_here() && host.epoch == speaker.epoch => {
                vec![Change::HostLeft { host: speaker.host, give_up: now + self.settings.host_grace }]
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// A host that asks while it holds a lease of this same start has missed the grant, which is sent again; one that
    /// holds a lease of an earlier start has lost it.
    fn ask(&self, now: Timestamp, speaker: Speaker) -> Decision {
        let host = self.joined(&speaker)?;
        match &host.lease {
            Some(lease) if lease.agent_epoch == speaker.epoch => {
                let plan = self.experiments[&lease.experiment].plan.clone();
                Ok((Vec::new(), vec![Effect::Grant { lease: lease.clone(), plan }]))
            }
            Some(lease) => {
                let lost = self.lose(lease, LossReason::AgentRestarted);
                Ok((dated(now, vec![lost, Change::HostAsked { host: speaker.host }]), Vec::new()))
            }
            None => match host.presence {
                Presence::Here { asking: Asking::No } => {
                    Ok((dated(now, vec![Change::HostAsked { host: speaker.host }]), Vec::new()))
                }
                Presence::Here { asking: Asking::Yes | Asking::InVain } | Presence::Away { .. } => {
                    Ok((Vec::new(), Vec::new()))
                }
            },
        }
    }

    fn started(&self, speaker: Speaker, lease: LeaseEpoch) -> Result<Vec<Change>, Refusal> {
        let host = self.joined(&speaker)?;
        let held = host.lease.as_ref().filter(|held| held.epoch == lease && held.started.is_none());
        Ok(held.map(|_| Change::RunStarted { host: speaker.host, lease }).into_iter().collect())
    }

    /// Every lease ever issued is live, superseded, or reported already; only a lease that was not given to this start
    /// of this agent is refused.
    fn report(&self, now: Timestamp, speaker: &Speaker, report: Report) -> Decision {
        let Report { lease, executed_by, record } = report;
        let host = self.joined(speaker)?;
        let refusal = || Refusal::NotYourLease { host: speaker.host.clone(), lease };
        let acknowledge = Effect::Acknowledge { host: speaker.host.clone(), lease };
        if let Some(held) = host.lease.as_ref().filter(|held| held.epoch == lease) {
            if held.agent_epoch != executed_by {
                return Err(refusal());
            }
            return Ok((dated(now, vec![self.conclude(held, record)]), vec![acknowledge]));
        }
        if let Some(superseded) = self.superseded.get(&lease) {
            if superseded.host != speaker.host || superseded.agent_epoch != executed_by {
                return Err(refusal());
            }
            let late = Change::LateReport { superseded: superseded.clone(), record };
            return Ok((dated(now, vec![late]), vec![acknowledge]));
        }
        let held_elsewhere =
            || self.hosts.iter().any(|host| host.lease.as_ref().is_some_and(|l| l.epoch == lease));
        if lease.0 >= self.next_lease || held_elsewhere() {
            return Err(refusal());
        }
        Ok((Vec::new(), vec![acknowledge]))
    }

    fn conclude(&self, lease: &Lease, record: Record) -> Change {
        match record.outcome {
            Outcome::NotExecuted { reason } => self.lose(lease, LossReason::NotExecuted { reason }),
            Outcome::Measured | Outcome::Failed(_) => {
                Change::RunReported { host: lease.host.clone(), lease: lease.epoch, record }
            }
        }
    }

    fn expire(&self, now: Timestamp) -> Vec<Change> {
        let due = self.deadlines.iter().take_while(|(deadline, _)| *deadline <= now);
        due.filter_map(|(_, number)| {
            let host = self.host_at(*number);
            let lease = host.lease.as_ref()?;
            let reason = if lease.deadline <= now { LossReason::Expired } else { LossReason::HostLost };
            Some(self.lose(lease, reason))
        })
        .collect()
    }

    /// The loss of an attempt, and what becomes of its run: another attempt, unless it has had all.
    fn lose(&self, lease: &Lease, reason: LossReason) -> Change {
        let active = &self.experiments[&lease.experiment];
        let after = if active.phase == Phase::Cancelled {
            AfterLoss::Cancelled
        } else if lease.attempt.0 >= active.plan.experiment.limits.attempts {
            AfterLoss::Abandoned
        } else {
            AfterLoss::Again(Attempt(lease.attempt.0 + 1))
        };
        Change::AttemptLost { host: lease.host.clone(), lease: lease.epoch, reason, after }
    }

    fn joined(&self, speaker: &Speaker) -> Result<&Host, Refusal> {
        self.host(&speaker.host)
            .filter(|host| host.is_here() && host.epoch == speaker.epoch)
            .ok_or_else(|| Refusal::NotJoined(speaker.host.clone()))
    }
}

fn dated(at: Timestamp, changes: Vec<Change>) -> Vec<Event> {
    changes.into_iter().map(|change| Event { at, change }).collect()
}
