//! How events change the machine. Total: an event that does not fit the state changes nothing, so that no journal can
//! make recovery panic; `check` tells whether the state still holds together.

mod attempt;
mod pool;

use std::sync::Arc;

use super::{Active, Machine, Phase};
use crate::{
    fingerprint::ClassId, host::Presence, host::Standing, host::WorkRequest, machine::event::Change,
    machine::event::Event, machine::provision::PROVISIONER, plan::Extension, plan::Plan, run::HostNumber,
    run::RunState, value::id::Attempt, value::id::ExperimentId, value::time::Timestamp,
};

impl Machine {
    pub(super) fn evolve(&mut self, event: &Event) {
        self.latest = self.latest.max(event.at);
        match &event.change {
            Change::CoordinatorStarted => self.coordinator_started(event.at),
            Change::Submitted { experiment, plan, by, request: _ } => {
                self.submitted(event.at, *experiment, plan.clone(), by.clone());
            }
            Change::Paused { experiment, reason, .. } => {
                self.set_phase(*experiment, Phase::Paused { reason: reason.clone() });
            }
            Change::Resumed { experiment, .. } => {
                self.share(*experiment, |active| {
                    active.kept.troubles.clear();
                    active.kept.turned_down_in_a_row = 0;
                });
                self.set_phase(*experiment, Phase::Running);
            }
            Change::Cancelled { experiment, reason, .. } => self.cancelled(*experiment, reason),
            Change::Extended { experiment, from, appended, .. } => {
                self.extended(*experiment, *from, appended.clone());
            }
            Change::AwaitingDecision { experiment } => self.set_phase(*experiment, Phase::Deciding),
            Change::Decided { experiment, enough, words, .. } => self.decided(*experiment, *enough, words),
            Change::ClassPinned { experiment, class } => self.class_pinned(*experiment, *class),
            Change::ClassApproved { experiment, class, .. } => {
                self.share(*experiment, |active| active.kept.classes.insert(*class));
                self.look_again();
            }
            Change::Finished { experiment, .. } => self.finished(*experiment),
            Change::HostJoined { facts, agent, epoch } => self.host_joined(event.at, facts, *agent, *epoch),
            Change::HostLeft { host, give_up } => self.host_left(event.at, host, *give_up),
            Change::HostDrifted { host, facts } => self.host_drifted(host, facts),
            Change::HostDrained { host, by } => {
                self.set_standing(host, Standing::Draining { by: by.clone() });
            }
            Change::HostQuarantined { host, by, reason } => {
                let by = by.clone();
                let reason = reason.clone();
                self.set_standing(host, Standing::Quarantined { by, reason });
            }
            Change::HostResumed { host, by } => {
                self.set_standing(host, Standing::Serving);
                // An engine that gives it out anew says nothing of what was lost on it.
                if by != PROVISIONER {
                    self.forget_losses(host);
                }
            }
            Change::HostReset { host, by: _ } => self.host_reset(event.at, host),
            // It is for people to read.
            Change::EngineNoted(_) => {}
            Change::RebootAsked { host, experiment, give_up } => {
                self.reboot_asked(host, *experiment, *give_up);
            }
            Change::VisitBroken { host, experiment } => self.visit_broken(host, *experiment),
            Change::HostAsked { host } => self.set_asking(host, WorkRequest::Yes),
            Change::HostPassed { host, until } => self.host_passed(host, *until),
            Change::HostHeld { host, experiment, run } => self.host_held(event.at, host, *experiment, *run),
            Change::HostReady { host, lease } => self.host_ready(host, *lease),
            Change::LeaseGranted(lease) => self.granted(std::slice::from_ref(lease)),
            Change::GangGranted(leases) => self.granted(leases),
            Change::RunStarted { host, lease } => self.run_started(event.at, host, *lease),
            Change::RunReported { host, lease, record } => self.run_reported(event.at, host, *lease, record),
            Change::PartEnded { host, lease, record } => self.part_ended(event.at, host, *lease, record),
            Change::AttemptLost { host, lease, reason, after } => {
                self.attempt_lost(event.at, host, *lease, reason, *after);
            }
            Change::LateReport { superseded, .. } => self.late_report(event.at, superseded),
        }
    }

    fn coordinator_started(&mut self, at: Timestamp) {
        for number in (0..self.hosts.len() as u32).map(HostNumber) {
            self.set_presence(number, Presence::Away { since: at, give_up: None });
            self.hosts[number.0 as usize].is_ready = false;
        }
        self.touched = self.experiments.keys().copied().collect();
    }

    fn submitted(&mut self, at: Timestamp, experiment: ExperimentId, plan: Arc<Plan>, by: String) {
        if self.experiments.contains_key(&experiment) {
            return;
        }
        let active = Active::new(plan, at, by);
        active.turn().map(|turn| self.turns.insert((turn, experiment)));
        self.experiments.insert(experiment, active);
        self.touched.insert(experiment);
        self.look_again();
    }

    /// Changes an experiment, and keeps its turn in step.
    fn share<T>(&mut self, id: ExperimentId, change: impl FnOnce(&mut Active) -> T) -> Option<T> {
        let active = self.experiments.get_mut(&id)?;
        let before = active.turn();
        let result = change(active);
        let after = active.turn();
        if before != after {
            before.map(|turn| self.turns.remove(&(turn, id)));
            after.map(|turn| self.turns.insert((turn, id)));
        }
        self.touched.insert(id);
        Some(result)
    }

    fn set_phase(&mut self, experiment: ExperimentId, phase: Phase) {
        self.share(experiment, |active| {
            active.kept.phase = phase;
            active.kept.abandoned_in_a_row = 0;
        });
        self.look_again();
    }

    fn cancelled(&mut self, experiment: ExperimentId, reason: &str) {
        let words = reason.to_owned();
        let cancel = |active: &mut Active| {
            active.kept.phase = Phase::Cancelled;
            active.kept.words = words;
            active.cancel_waiting();
        };
        if self.share(experiment, cancel).is_some() {
            self.forget_visits(experiment);
            self.release_hold(experiment);
        }
    }

    /// A class that was pinned before, and on which nothing was measured, is let go of.
    fn class_pinned(&mut self, experiment: ExperimentId, class: ClassId) {
        let before =
            self.share(experiment, |active| std::mem::replace(&mut active.kept.classes, [class].into()));
        if before.is_some_and(|before| !before.is_empty()) {
            self.visiting(experiment).into_iter().for_each(|number| self.settle_visits(number));
        }
        self.look_again();
    }

    fn decided(&mut self, experiment: ExperimentId, enough: bool, words: &str) {
        self.share(experiment, |active| {
            active.kept.words = words.to_owned();
            if active.kept.phase == Phase::Deciding && enough {
                active.kept.phase = Phase::Decided;
            }
        });
    }

    fn extended(&mut self, experiment: ExperimentId, from: u32, appended: Extension) {
        let Some(active) = self.experiments.get(&experiment).filter(|a| a.kept.plan.runs() == from) else {
            return;
        };
        let more = appended.order.len();
        let Ok(plan) = Plan::clone(&active.kept.plan).extended(appended) else { return };
        self.share(experiment, |active| {
            active.kept.plan = Arc::new(plan);
            active.states.extend(std::iter::repeat_n(RunState::Waiting { attempt: Attempt(1) }, more));
            active.tally.waiting += more as u32;
            active.queue.append(&active.kept.plan, from);
            if matches!(active.kept.phase, Phase::Deciding | Phase::Decided) {
                active.kept.phase = Phase::Running;
            }
        });
        self.look_again();
    }

    fn finished(&mut self, experiment: ExperimentId) {
        if self.experiments.get(&experiment).is_none_or(|active| active.tally.open() > 0) {
            return;
        }
        if let Some(turn) = self.experiments.remove(&experiment).and_then(|active| active.turn()) {
            self.turns.remove(&(turn, experiment));
        }
        self.touched.remove(&experiment);
        self.forget_visits(experiment);
        self.release_hold(experiment);
        for host in &mut self.hosts {
            host.used.remove(&experiment);
            host.reserves = host.reserves.filter(|reserved| *reserved != experiment);
        }
    }
}
