//! What became possible after a change: an asking host meets a waiting run, an experiment is complete, an experiment
//! that nobody can execute is paused.

use super::queue::lane_of;
use super::{ABANDONED_IN_A_ROW, Active, Effect, Machine, Phase};
use crate::event::{Change, Event};
use crate::experiment::{Policy, Setup};
use crate::files::staging_time;
use crate::host::Host;
use crate::id::{Attempt, ExperimentId, LeaseEpoch, RunIndex};
use crate::lease::{Evidence, LEASE_MARGIN, Lease};
use crate::run::{HostNumber, RunState};
use crate::time::{Span, Timestamp};

impl Machine {
    /// The next event that follows from the state alone, if any.
    pub(super) fn follow_up(&self, now: Timestamp) -> Option<(Event, Option<Effect>)> {
        let (change, effect) =
            self.housekeeping().map(|change| (change, None)).or_else(|| self.assign(now))?;
        Some((Event { at: now, change }, effect))
    }

    fn housekeeping(&self) -> Option<Change> {
        self.experiments.iter().find_map(|(id, active)| {
            if active.tally.open() == 0 {
                let cancelled = active.phase == Phase::Cancelled;
                return Some(Change::Finished { experiment: *id, tally: active.tally, cancelled });
            }
            let stuck = active.abandoned_in_a_row >= ABANDONED_IN_A_ROW && active.phase == Phase::Running;
            stuck.then(|| Change::Paused {
                experiment: *id,
                by: "coordinator".to_owned(),
                reason: format!("{ABANDONED_IN_A_ROW} runs in a row could not be executed on any host"),
            })
        })
    }

    fn assign(&self, now: Timestamp) -> Option<(Change, Option<Effect>)> {
        if !self.experiments.values().any(Active::offers) {
            return None;
        }
        let number = *self.asking.first()?;
        let host = self.host_at(number);
        let Some((id, active, run)) = self.match_for(number, host) else {
            return Some((Change::HostPassed { host: host.facts.host.clone() }, None));
        };
        let lease = self.lease(now, host, id, active, run);
        let effect = Effect::Grant { lease: lease.clone(), plan: active.plan.clone() };
        Some((Change::LeaseGranted(lease), Some(effect)))
    }

    pub(super) fn match_for(
        &self,
        number: HostNumber,
        host: &Host,
    ) -> Option<(ExperimentId, &Active, RunIndex)> {
        self.experiments.iter().filter(|(_, active)| active.offers()).find_map(|(id, active)| {
            let policy = active.plan.experiment.independence.policy;
            let lane_is_free = |lane| match policy {
                Policy::Any => true,
                Policy::Distinct | Policy::Rebooted | Policy::Reallocated | Policy::Rested => {
                    host.uses(*id, lane) == 0
                }
            };
            let run = active.queue.first(lane_is_free, |run| self.may_retry(active, number, run))?;
            Some((*id, active, run))
        })
    }

    /// A run that lost an attempt goes to another host. Only where any host will do, and every connected one has been
    /// tried, may it go to one of them again.
    pub(super) fn may_retry(&self, active: &Active, number: HostNumber, run: u32) -> bool {
        let tried = active.tried.get(&run).map_or(&[][..], Vec::as_slice);
        if !tried.contains(&number) {
            return true;
        }
        let policy = active.plan.experiment.independence.policy;
        policy == Policy::Any
            && tried.iter().filter(|host| self.host_at(**host).is_here()).count() as u32 == self.here
    }

    fn lease(
        &self,
        now: Timestamp,
        host: &Host,
        experiment: ExperimentId,
        active: &Active,
        run: RunIndex,
    ) -> Lease {
        let attempt = match active.states[run.0 as usize] {
            RunState::Waiting { attempt } => attempt,
            RunState::Leased { .. } | RunState::Running { .. } | RunState::Settled(_) => Attempt(1),
        };
        Lease {
            epoch: LeaseEpoch(self.next_lease),
            experiment,
            run,
            attempt,
            host: host.facts.host.clone(),
            agent_epoch: host.epoch,
            granted: now,
            deadline: now + longest(active, run) + LEASE_MARGIN,
            started: None,
            evidence: Evidence {
                boot: host.facts.boot.clone(),
                allocation: host.facts.allocation.clone(),
                served_in_scope: host.uses(experiment, lane_of(&active.plan, run)),
                served_in_all: host.served,
                previous: host.previous,
            },
        }
    }
}

impl Active {
    /// Whether it has runs to give out.
    pub(super) fn offers(&self) -> bool {
        self.phase == Phase::Running && self.tally.waiting > 0
    }
}

fn longest(active: &Active, run: RunIndex) -> Span {
    let experiment = &active.plan.experiment;
    let benchmark = &experiment.benchmarks[active.plan.cell(run).benchmark.0 as usize];
    let most = |setup: &Option<Setup>| setup.as_ref().map_or(Span(0), |setup| setup.timeout);
    let execution = most(&experiment.prepare) + benchmark.timeout + most(&experiment.cleanup);
    most(&experiment.setup)
        + staging_time(&experiment.files)
        + experiment.environment.settle
        + execution.times(u64::from(benchmark.warmup) + 1)
}
