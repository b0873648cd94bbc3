//! What became possible after a change: an asking host meets a waiting run, boots anew or rests; an experiment is complete,
//! has to be decided, has reached its limits, or is paused because nobody can execute it.

use super::lane::use_of;
use super::matching::Match;
use super::time_limit::{longest_run, used_build};
use super::{Active, Effect, Machine};
use crate::fingerprint::ClassId;
use crate::host::Host;
use crate::machine::event::{Change, Event};
use crate::run::lease::{Evidence, LEASE_MARGIN, Lease, LeaseSeat};
use crate::run::{HostNumber, RunState};
use crate::value::id::{Attempt, ExperimentId, LeaseEpoch, RunIndex};
use crate::value::time::{Span, Timestamp};

impl Machine {
    /// The next event that follows from the state alone, if any.
    pub(super) fn follow_up(&self, now: Timestamp) -> Option<(Event, Vec<Effect>)> {
        let (change, effects) =
            self.housekeeping().map(|change| (change, Vec::new())).or_else(|| self.assign(now))?;
        Some((Event { at: now, change }, effects))
    }

    fn housekeeping(&self) -> Option<Change> {
        self.touched.iter().find_map(|id| self.experiments.get(id)?.next_step(*id))
    }

    fn assign(&self, now: Timestamp) -> Option<(Change, Vec<Effect>)> {
        let number = *self.asking.first()?;
        let host = self.host_at(number);
        let id = host.facts.host.clone();
        Some(match self.match_for(now, number) {
            // A class is pinned by an event of its own, before anything is granted on it.
            Match::Run(experiment, ..) | Match::Gang(experiment, ..) | Match::Reboot(experiment)
                if self.pins(experiment, host.class) =>
            {
                (Change::ClassPinned { experiment, class: host.class }, Vec::new())
            }
            Match::Run(experiment, active, run) => {
                let lease = Box::new(self.lease(now, host, experiment, active, run));
                let effect = Effect::Grant { lease: lease.clone(), plan: active.kept.plan.clone() };
                (Change::LeaseGranted(lease), vec![effect])
            }
            Match::Gang(experiment, active, run, numbers) => {
                let leases = self.gang_leases(now, &numbers, experiment, active, run);
                let grant = |lease: &Lease| Effect::Grant {
                    lease: Box::new(lease.clone()),
                    plan: active.kept.plan.clone(),
                };
                let grants = leases.iter().map(grant).collect();
                (Change::GangGranted(leases), grants)
            }
            Match::Hold(experiment, run) => (Change::HostHeld { host: id, experiment, run }, Vec::new()),
            Match::Reboot(experiment) => {
                let give_up = now + self.settings.reboot_limit;
                let effect = reboot(host, experiment);
                (Change::RebootAsked { host: id, experiment, give_up }, vec![effect])
            }
            Match::Deferred(until) => (Change::HostPassed { host: id, until: Some(until) }, Vec::new()),
            Match::Nothing => (Change::HostPassed { host: id, until: None }, Vec::new()),
        })
    }

    /// Whether a host pins its class for an experiment that is to have it.
    fn pins(&self, experiment: ExperimentId, class: ClassId) -> bool {
        let active = &self.experiments[&experiment];
        active.independence().hosts.pins_classes() && !active.kept.classes.contains(&class)
    }

    fn lease(
        &self,
        now: Timestamp,
        host: &Host,
        experiment: ExperimentId,
        active: &Active,
        run: RunIndex,
    ) -> Lease {
        // Only waiting runs are offered; the first attempt stands for what cannot happen.
        let attempt = match active.states[run.0 as usize] {
            RunState::Waiting { attempt } => attempt,
            RunState::Leased { .. } | RunState::Running { .. } | RunState::Settled(_) => Attempt(1),
        };
        let build = used_build(active, run);
        let number = self.numbers[&host.facts.host];
        let evidence = Evidence {
            build: build.map(Box::new),
            set_served: active.set_served(run, &[number]),
            ..evidence(now, host, experiment, active, run)
        };
        Lease {
            epoch: LeaseEpoch(self.next_lease),
            experiment,
            run,
            attempt,
            host: host.facts.host.clone(),
            agent_epoch: host.epoch,
            granted: now,
            deadline: now + longest_run(active, run) + LEASE_MARGIN,
            started: None,
            evidence,
            seat: None,
        }
    }

    /// The leases of a gang. Those of hosts that do not start the program outlast the one that does.
    fn gang_leases(
        &self,
        now: Timestamp,
        numbers: &[HostNumber],
        experiment: ExperimentId,
        active: &Active,
        run: RunIndex,
    ) -> Vec<Lease> {
        // They are in ascending order.
        let set_served = active.set_served(run, numbers);
        let lease = |(seat, number): (u32, &HostNumber)| {
            let lease = self.lease(now, self.host_at(*number), experiment, active, run);
            let outlasts = if seat == 0 { Span(0) } else { LEASE_MARGIN };
            Lease {
                epoch: LeaseEpoch(self.next_lease + u64::from(seat)),
                deadline: lease.deadline + outlasts,
                seat: Some(Box::new(LeaseSeat::numbered(seat))),
                evidence: Evidence { set_served, ..lease.evidence },
                ..lease
            }
        };
        let mut leases: Vec<Lease> = (0..).zip(numbers).map(lease).collect();
        LeaseSeat::introduce(&mut leases);
        leases
    }
}

/// What makes a host boot anew for an experiment.
pub(super) fn reboot(host: &Host, experiment: ExperimentId) -> Effect {
    let reason = format!("experiment {experiment} needs a reboot of this host");
    Effect::Reboot { host: host.facts.host.clone(), reason }
}

fn evidence(
    now: Timestamp,
    host: &Host,
    experiment: ExperimentId,
    active: &Active,
    run: RunIndex,
) -> Evidence {
    let used = use_of(&active.kept.plan, run).and_then(|key| host.used(experiment, key));
    let goes_on = host.visits.get(&experiment).is_some_and(|visit| visit.next == run);
    let boot = |number: u32| host.boots.get(number as usize).cloned();
    let allocation = |number: u32| host.allocations.get(number as usize).cloned();
    Evidence {
        boot: host.facts.boot.clone(),
        allocation: host.facts.allocation.clone(),
        served_in_scope: used.map_or(0, |used| used.visits - u32::from(goes_on)),
        served_in_all: host.served,
        previous: host.previous,
        idle: host.rests_since().map(|since| now - since),
        boot_before: used.and_then(|used| boot(used.boot)),
        allocation_before: used.and_then(|used| used.allocation).and_then(allocation),
        set_served: None,
        class: Some(host.class),
        build: None,
        machine: host.facts.machine,
        host_name: host.facts.name(),
        switches: host.facts.switches.clone(),
    }
}
