//! How events change the machine. Total: an event that does not fit the state changes nothing, so that no journal can
//! make recovery panic; `check` tells whether the state still holds together.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::queue::{Queue, lane_of};
use super::{Active, Machine, Phase};
use crate::event::{Change, Event, Superseded, Tally};
use crate::experiment::Policy;
use crate::fingerprint::Fingerprint;
use crate::host::{Asking, Host, HostFacts, Presence};
use crate::id::{AgentEpoch, AgentId, Attempt, ExperimentId, HostId, LeaseEpoch, RunIndex};
use crate::lease::Lease;
use crate::plan::{Extension, Plan};
use crate::record::{Outcome, Record};
use crate::run::{AfterLoss, HostNumber, LossReason, RunState, Settlement};
use crate::time::Timestamp;

impl Machine {
    /// Applies one event.
    pub(super) fn evolve(&mut self, event: &Event) {
        self.latest = self.latest.max(event.at);
        match &event.change {
            Change::CoordinatorStarted => self.coordinator_started(event.at),
            Change::Submitted { experiment, plan, by } => {
                self.submitted(event.at, *experiment, plan.clone(), by.clone());
            }
            Change::Paused { experiment, reason, .. } => {
                self.set_phase(*experiment, Phase::Paused { reason: reason.clone() });
            }
            Change::Resumed { experiment, .. } => self.set_phase(*experiment, Phase::Running),
            Change::Cancelled { experiment, .. } => self.cancelled(*experiment),
            Change::Extended { experiment, from, appended, .. } => {
                self.extended(*experiment, *from, appended.clone());
            }
            Change::Finished { experiment, .. } => self.finished(*experiment),
            Change::HostJoined { facts, agent, epoch } => self.host_joined(facts, *agent, *epoch),
            Change::HostLeft { host, give_up } => self.host_left(event.at, host, *give_up),
            Change::HostAsked { host } => self.set_asking(host, Asking::Yes),
            Change::HostPassed { host } => self.set_asking(host, Asking::InVain),
            Change::LeaseGranted(lease) => self.lease_granted(lease),
            Change::RunStarted { host, lease } => self.run_started(event.at, host, *lease),
            Change::RunReported { host, lease, record } => self.run_reported(host, *lease, record),
            Change::AttemptLost { host, lease, reason, after } => {
                self.attempt_lost(host, *lease, reason, *after);
            }
            Change::LateReport { superseded, .. } => {
                self.superseded.remove(&superseded.lease);
            }
        }
    }

    fn coordinator_started(&mut self, at: Timestamp) {
        for number in (0..self.hosts.len() as u32).map(HostNumber) {
            self.set_presence(number, Presence::Away { since: at, give_up: None });
        }
    }

    fn submitted(&mut self, at: Timestamp, experiment: ExperimentId, plan: Arc<Plan>, by: String) {
        if self.experiments.contains_key(&experiment) {
            return;
        }
        let active = Active {
            submitted: at,
            by,
            phase: Phase::Running,
            states: vec![RunState::Waiting { attempt: Attempt(1) }; plan.runs() as usize],
            queue: Queue::new(&plan),
            tally: Tally { waiting: plan.runs(), ..Tally::default() },
            tried: BTreeMap::new(),
            abandoned_in_a_row: 0,
            plan,
        };
        self.experiments.insert(experiment, active);
        self.look_again();
    }

    fn set_phase(&mut self, experiment: ExperimentId, phase: Phase) {
        if let Some(active) = self.experiments.get_mut(&experiment) {
            active.phase = phase;
            active.abandoned_in_a_row = 0;
        }
        self.look_again();
    }

    fn cancelled(&mut self, experiment: ExperimentId) {
        let Some(active) = self.experiments.get_mut(&experiment) else { return };
        active.phase = Phase::Cancelled;
        for state in &mut active.states {
            if matches!(state, RunState::Waiting { .. }) {
                *state = RunState::Settled(Settlement::Cancelled);
            }
        }
        active.tally.cancelled += active.tally.waiting;
        active.tally.waiting = 0;
        active.queue.clear();
    }

    fn extended(&mut self, experiment: ExperimentId, from: u32, appended: Extension) {
        let Some(active) = self.experiments.get_mut(&experiment).filter(|a| a.plan.runs() == from) else {
            return;
        };
        let more = appended.order.len();
        let Ok(plan) = Plan::clone(&active.plan).extended(appended) else { return };
        active.plan = Arc::new(plan);
        active.states.extend(std::iter::repeat_n(RunState::Waiting { attempt: Attempt(1) }, more));
        active.tally.waiting += more as u32;
        active.queue.append(&active.plan, from);
        self.look_again();
    }

    fn finished(&mut self, experiment: ExperimentId) {
        if self.experiments.get(&experiment).is_none_or(|active| active.tally.open() > 0) {
            return;
        }
        self.experiments.remove(&experiment);
        for host in &mut self.hosts {
            host.used.remove(&experiment);
        }
    }

    /// The fingerprint stays with the store: nothing is decided by it here, and a large pool's would fill the memory.
    fn host_joined(&mut self, facts: &HostFacts, agent: AgentId, epoch: AgentEpoch) {
        let facts = HostFacts { fingerprint: Fingerprint::default(), ..facts.clone() };
        let here = Presence::Here { asking: Asking::No };
        if let Some(number) = self.numbers.get(&facts.host).copied() {
            let host = &mut self.hosts[number.0 as usize];
            host.facts = facts;
            (host.agent, host.epoch) = (agent, epoch);
            self.set_presence(number, here);
            return;
        }
        let number = HostNumber(self.hosts.len() as u32);
        self.numbers.insert(facts.host.clone(), number);
        self.hosts.push(Host {
            facts,
            agent,
            epoch,
            presence: here,
            lease: None,
            served: 0,
            previous: None,
            used: BTreeMap::new(),
        });
        self.here += 1;
    }

    fn host_left(&mut self, at: Timestamp, host: &HostId, give_up: Timestamp) {
        let Some(number) = self.numbers.get(host).copied() else { return };
        self.set_presence(number, Presence::Away { since: at, give_up: Some(give_up) });
        // With one host fewer, a run may have been tried on all that are left, and then go to one of them again.
        let retries = |active: &Active| {
            active.plan.experiment.independence.policy == Policy::Any && active.queue.has_retries()
        };
        if self.experiments.values().any(retries) {
            self.look_again();
        }
    }

    fn lease_granted(&mut self, lease: &Lease) {
        let is_new = lease.epoch.0 >= self.next_lease;
        self.next_lease = self.next_lease.max(lease.epoch.0.saturating_add(1));
        let Some(number) = self.numbers.get(&lease.host).copied() else { return };
        let Some(active) = self.experiments.get_mut(&lease.experiment) else { return };
        let state = active.states.get(lease.run.0 as usize);
        let waits = matches!(state, Some(RunState::Waiting { .. }));
        if !is_new || !waits || self.hosts[number.0 as usize].lease.is_some() {
            return;
        }
        let lane = lane_of(&active.plan, lease.run);
        active.queue.remove(lane, lease.run);
        active.set(lease.run, RunState::Leased { lease: lease.epoch, host: number });
        let host = &mut self.hosts[number.0 as usize];
        host.served += 1;
        host.previous = Some((lease.experiment, lease.run));
        *host.used.entry(lease.experiment).or_default().entry(lane).or_default() += 1;
        self.set_asking(&lease.host, Asking::No);
        self.set_lease(number, Some(lease.clone()));
    }

    fn run_started(&mut self, at: Timestamp, host: &HostId, epoch: LeaseEpoch) {
        let Some(number) = self.holder(host, epoch) else { return };
        let Some(lease) = &mut self.hosts[number.0 as usize].lease else { return };
        lease.started = Some(at);
        let (experiment, run) = (lease.experiment, lease.run);
        if let Some(active) = self.experiments.get_mut(&experiment) {
            active.set(run, RunState::Running { lease: epoch, host: number });
        }
    }

    fn run_reported(&mut self, host: &HostId, epoch: LeaseEpoch, record: &Record) {
        let Some(lease) = self.release(host, epoch) else { return };
        let Some(active) = self.experiments.get_mut(&lease.experiment) else { return };
        let settlement = match record.outcome {
            Outcome::Measured => Settlement::Measured,
            Outcome::Failed(_) | Outcome::NotExecuted { .. } => Settlement::Failed,
        };
        active.abandoned_in_a_row = 0;
        active.tried.remove(&lease.run.0);
        active.set(lease.run, RunState::Settled(settlement));
    }

    fn attempt_lost(&mut self, host: &HostId, epoch: LeaseEpoch, reason: &LossReason, after: AfterLoss) {
        let Some(number) = self.holder(host, epoch) else { return };
        let Some(lease) = self.release(host, epoch) else { return };
        match reason {
            LossReason::NotExecuted { .. } => {}
            LossReason::Expired | LossReason::HostLost | LossReason::AgentRestarted => {
                self.superseded.insert(epoch, Superseded::from(&lease));
            }
        }
        let Some(active) = self.experiments.get_mut(&lease.experiment) else { return };
        active.tally.lost_attempts += 1;
        let tried = active.tried.entry(lease.run.0).or_default();
        if !tried.contains(&number) {
            tried.push(number);
        }
        match after {
            AfterLoss::Cancelled => {
                active.tried.remove(&lease.run.0);
                active.set(lease.run, RunState::Settled(Settlement::Cancelled));
            }
            AfterLoss::Again(attempt) => {
                active.set(lease.run, RunState::Waiting { attempt });
                active.queue.put_back(lane_of(&active.plan, lease.run), lease.run);
            }
            AfterLoss::Abandoned => {
                active.tried.remove(&lease.run.0);
                active.abandoned_in_a_row += 1;
                active.set(lease.run, RunState::Settled(Settlement::Abandoned));
            }
        }
        self.look_again();
    }

    /// The host, if it holds this lease.
    fn holder(&self, host: &HostId, epoch: LeaseEpoch) -> Option<HostNumber> {
        let number = self.numbers.get(host).copied()?;
        let lease = self.host_at(number).lease.as_ref()?;
        (lease.epoch == epoch).then_some(number)
    }

    fn release(&mut self, host: &HostId, epoch: LeaseEpoch) -> Option<Lease> {
        let number = self.holder(host, epoch)?;
        self.set_lease(number, None)
    }

    /// Changes a host's lease and keeps the deadlines in step.
    fn set_lease(&mut self, number: HostNumber, lease: Option<Lease>) -> Option<Lease> {
        self.with_deadline(number, |host| std::mem::replace(&mut host.lease, lease))
    }

    /// Changes a host's presence and keeps deadlines, counts and the sets of asking hosts in step.
    fn set_presence(&mut self, number: HostNumber, presence: Presence) {
        let before = self.with_deadline(number, |host| std::mem::replace(&mut host.presence, presence));
        let is_here = |presence| matches!(presence, Presence::Here { .. });
        self.here += u32::from(is_here(presence));
        self.here -= u32::from(is_here(before));
        self.asking.remove(&number);
        self.in_vain.remove(&number);
        match presence {
            Presence::Here { asking: Asking::Yes } => self.asking.insert(number),
            Presence::Here { asking: Asking::InVain } => self.in_vain.insert(number),
            Presence::Here { asking: Asking::No } | Presence::Away { .. } => false,
        };
    }

    fn set_asking(&mut self, host: &HostId, asking: Asking) {
        if let Some(number) = self.numbers.get(host).copied()
            && self.host_at(number).is_here()
        {
            self.set_presence(number, Presence::Here { asking });
        }
    }

    fn with_deadline<T>(&mut self, number: HostNumber, change: impl FnOnce(&mut Host) -> T) -> T {
        let host = &mut self.hosts[number.0 as usize];
        let before = host.deadline();
        let result = change(host);
        let after = host.deadline();
        if before != after {
            before.map(|deadline| self.deadlines.remove(&(deadline, number)));
            after.map(|deadline| self.deadlines.insert((deadline, number)));
        }
        result
    }

    /// New work may suit hosts that nothing suited before.
    fn look_again(&mut self) {
        for number in std::mem::take(&mut self.in_vain) {
            self.hosts[number.0 as usize].presence = Presence::Here { asking: Asking::Yes };
            self.asking.insert(number);
        }
    }
}

impl Active {
    /// Changes the state of a run and keeps the tally in step.
    fn set(&mut self, run: RunIndex, state: RunState) {
        let before = std::mem::replace(&mut self.states[run.0 as usize], state);
        *self.counter(before) -= 1;
        *self.counter(state) += 1;
    }

    fn counter(&mut self, state: RunState) -> &mut u32 {
        match state {
            RunState::Waiting { .. } => &mut self.tally.waiting,
            RunState::Leased { .. } => &mut self.tally.leased,
            RunState::Running { .. } => &mut self.tally.running,
            RunState::Settled(settlement) => self.tally.of(settlement),
        }
    }
}
