//! What attempts took of the hosts, by the coordinator's time line: from the grant of the lease to its end.

use speedup_core::value::{id::HostId, id::RunIndex, time::Span, time::Timestamp};
use speedup_core::{experiment::Rule, machine::event::EndedAttempt, plan::Plan};
use std::collections::BTreeMap;

/// What attempts took of the hosts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Costs {
    attempts: u64,
    spent: Span,
    /// The lease of each run's last attempt; only where the rule asks for it.
    leases: BTreeMap<RunIndex, LeaseInterval>,
}

/// The time of one attempt on its host.
#[derive(Clone, Debug)]
struct LeaseInterval {
    host: HostId,
    granted: Timestamp,
    ended: Timestamp,
}

/// What units of an experiment cost, in nanoseconds of host time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct UnitCosts {
    /// A run that follows another on the same boot.
    pub(super) run: f64,
    /// What one more boot adds.
    pub(super) boot: f64,
    /// What one more visit adds.
    pub(super) visit: f64,
}

impl Costs {
    /// Counts an attempt, under the plan's rule.
    pub(in crate::study) fn add(&mut self, attempt: &EndedAttempt, rule: Rule) {
        let (granted, ended) = (attempt.lease.granted, attempt.ended);
        self.attempts += 1;
        self.spent = self.spent + between(granted, ended);
        if matches!(rule, Rule::Budget { .. }) {
            let lease = LeaseInterval { host: attempt.lease.host.clone(), granted, ended };
            let kept = self.leases.entry(attempt.lease.run).or_insert_with(|| lease.clone());
            if kept.granted < granted {
                *kept = lease;
            }
        }
    }

    pub(super) fn attempts(&self) -> u64 {
        self.attempts
    }

    /// What all attempts took, lost ones included.
    pub(super) fn spent(&self) -> Span {
        self.spent
    }

    /// What units cost, by the mean of what they took so far: a run by those that are not the first of their boot, a boot
    /// by what its first run takes more and by the pause before it, a visit by what its first boot takes more still.
    /// `fallback` is the time of a run where each is the first of its boot.
    pub(super) fn of_units(&self, plan: &Plan, fallback: f64) -> UnitCosts {
        let (mut later, mut boots, mut visits) = (Mean::default(), Mean::default(), Mean::default());
        let mut before: Option<(RunIndex, u32, &LeaseInterval)> = None;
        for (run, lease) in &self.leases {
            let place = plan.place(*run);
            let took = between(lease.granted, lease.ended).0 as f64;
            let previous = before.filter(|(group, _, last)| *group == place.group && last.host == lease.host);
            match previous {
                None => visits.add(took),
                Some((_, boot, _)) if boot == place.boot => later.add(took),
                Some((_, _, last)) => boots.add(took + between(last.ended, lease.granted).0 as f64),
            }
            before = Some((place.group, place.boot, lease));
        }
        let run = later.value().unwrap_or(fallback).max(1.0);
        let boot = boots.value().map_or(0.0, |first| (first - run).max(0.0));
        let visit = visits.value().map_or(0.0, |first| (first - run - boot).max(0.0));
        UnitCosts { run, boot, visit }
    }
}

fn between(from: Timestamp, to: Timestamp) -> Span {
    Span(to.0.saturating_sub(from.0))
}

#[derive(Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}
