//! The verdict on a finished world, from its journal alone: every run settled exactly once, no policy violated, every
//! acknowledged report kept, every record that of its own lease, nothing executed twice under one lease, and any checkpoint
//! as good as what it stands for.

use std::collections::{BTreeMap, BTreeSet};

use speedup_core::{
    experiment::Order, experiment::Policy, experiment::Rule, experiment::gang::Gang, machine::Machine,
    machine::Settings, machine::event::AttemptEnd, machine::event::Change, machine::event::EndedAttempt,
    machine::event::Event, machine::provision::PROVISIONER, run::AfterLoss, run::LossReason,
    run::lease::Lease, run::record::Failure, run::record::Outcome, value::id::ExperimentId,
    value::id::HostId, value::id::LeaseEpoch, value::id::RunIndex, value::time::Span, value::time::Timestamp,
};

mod builds;
mod freshness;

use super::World;

/// At how many places the journal of a finished world is cut.
const CUTS: usize = 12;

impl World {
    /// Asserts all of the above.
    ///
    /// # Panics
    /// When something does not hold.
    pub fn verify(&self) {
        let mut machine = Machine::new(self.settings);
        let ended = self.durable.iter().filter_map(|event| {
            let ended = machine.ended_by(event);
            machine.replay(event);
            ended
        });
        let ended: Vec<EndedAttempt> = ended.collect();
        self.settled_exactly_once(&ended);
        self.freshness_held();
        self.hosts_rested();
        self.builds_held();
        self.nothing_acknowledged_is_lost(&ended);
        self.the_journal_is_in_order();
        self.executed_once();
        for cut in (0..=self.durable.len()).step_by((self.durable.len() / CUTS).max(1)) {
            recovered(self.settings, &self.durable, cut);
        }
    }

    /// What the worlds of a whole simulation have to have seen.
    pub const EVERYTHING: [&str; 70] = [
        "a gang",
        "a gang of one job",
        "a gang lost through one of its hosts",
        "a part ended",
        "a part that nobody ended",
        "a bisection that builds further",
        "a bisection without a build",
        "a build",
        "a build another time",
        "a build lost",
        "a build that failed",
        "a build used",
        "a build without its products",
        "no build",
        "a boot that was left behind",
        "a clock set forward between two starts",
        "a class approved",
        "a class pinned",
        "a class pinned anew",
        "a further stage",
        "a host drained",
        "a host drifted",
        "a host quarantined by a user",
        "a host reset",
        "a host that two users gave up",
        "a host with the same boot id",
        "a host that did not come back",
        "a reboot",
        "a report that waited for a standing coordinator",
        "a rule that had enough",
        "a visit broken",
        "a visit that goes on",
        "a visit that goes on in another boot",
        "abandoned",
        "agent restarted",
        "all attempts spent",
        "all host time spent",
        "another machine of the same id",
        "any",
        "awaiting a decision",
        "blocked",
        "cancelled",
        "cut off before the end of its part was heard",
        "cut off while the program of a gang was executed",
        "cut off while it prepared its part",
        "cut off while it waited for the others",
        "lost a word about a gang",
        "coordinator restarted",
        "distinct",
        "distinct_sets",
        "expired",
        "extended",
        "failed",
        "given back",
        "given out anew",
        "host lost",
        "interleaved",
        "late report",
        "not executed",
        "paused by the coordinator",
        "randomized",
        "reallocated",
        "rebooted",
        "rested",
        "served again after a reallocation",
        "served again after a reboot",
        "served again after a rest",
        "served again among others",
        "the same machine twice",
        "tried again where it was lost",
    ];

    /// Which of them this world has seen, from its journal.
    pub fn happened(&self) -> BTreeSet<&'static str> {
        let starts = self.durable.iter().filter(|event| event.change == Change::CoordinatorStarted).count();
        let seen = self.durable.iter().flat_map(|event| self.seen_in(&event.change));
        let restarted = (starts > 1).then_some("coordinator restarted");
        let pinned = self.durable.iter().filter_map(|event| match &event.change {
            Change::ClassPinned { experiment, .. } => Some(*experiment),
            _ => None,
        });
        let mut pinned: Vec<ExperimentId> = pinned.collect();
        pinned.sort_unstable();
        let anew = pinned.windows(2).any(|two| two[0] == two[1]).then_some("a class pinned anew");
        seen.chain(restarted)
            .chain(anew)
            .chain(self.tried_again())
            .chain(self.lost_builds())
            .chain(self.bisected())
            .chain(self.turned_away.iter().copied())
            .chain(self.cuts.iter().copied())
            .chain(self.stepped.then_some("a clock set forward between two starts"))
            .chain(self.heard_late.then_some("a report that waited for a standing coordinator"))
            .collect()
    }

    /// Whether a host was given a run that it had lost.
    fn tried_again(&self) -> Option<&'static str> {
        let mut tried = BTreeSet::new();
        let leases = self.durable.iter().flat_map(|event| event.change.granted());
        let mut leases = leases.map(|lease| (lease.experiment, lease.run, &lease.host));
        leases.any(|lease| !tried.insert(lease)).then_some("tried again where it was lost")
    }

    /// What became of builds that have no product.
    fn lost_builds(&self) -> impl Iterator<Item = &'static str> {
        let builds = self.build_runs();
        let is_build = |lease: &Lease| builds.contains(&(lease.experiment, lease.run));
        let leases = self.durable.iter().filter_map(|event| match &event.change {
            Change::LeaseGranted(lease) if is_build(lease) => Some(lease.epoch),
            _ => None,
        });
        let builds: BTreeSet<LeaseEpoch> = leases.collect();
        let lost = |change: &Change| match change {
            Change::AttemptLost { lease, .. } if builds.contains(lease) => Some("a build lost"),
            Change::RunReported { lease, record, .. }
                if builds.contains(lease) && record.outcome != Outcome::Measured =>
            {
                Some("a build that failed")
            }
            _ => None,
        };
        self.durable.iter().filter_map(|event| lost(&event.change)).collect::<BTreeSet<_>>().into_iter()
    }

    /// Whether a bisection built later than its ends, and whether it did without a version.
    fn bisected(&self) -> impl Iterator<Item = &'static str> {
        let plan = |id: &ExperimentId| &self.plans[self.submitted[id]];
        let bisects = |id: &ExperimentId| matches!(plan(id).experiment.rule, Rule::Bisection(_));
        let builds = |id: &ExperimentId, order: &[u32]| order.iter().any(|cell| *cell >= plan(id).cells());
        let (mut failed, mut seen) = (BTreeSet::new(), BTreeSet::new());
        let mut leases: BTreeMap<LeaseEpoch, &Lease> = BTreeMap::new();
        let build_runs = self.build_runs();
        let of_build =
            |lease: &Lease| build_runs.contains(&(lease.experiment, lease.run)).then_some(lease.experiment);
        for event in &self.durable {
            match &event.change {
                change if !change.granted().is_empty() => {
                    leases.extend(change.granted().iter().map(|lease| (lease.epoch, lease)));
                }
                Change::RunReported { lease, record, .. } if record.outcome != Outcome::Measured => {
                    failed.extend(of_build(leases[lease]));
                }
                Change::AttemptLost { lease, after: AfterLoss::Abandoned, .. } => {
                    failed.extend(of_build(leases[lease]));
                }
                Change::Extended { experiment, appended, .. } if bisects(experiment) => {
                    let is_building = builds(experiment, &appended.order);
                    seen.extend(is_building.then_some("a bisection that builds further"));
                }
                Change::Finished { experiment, cancelled: false, .. } if bisects(experiment) => {
                    let did_without = failed.contains(experiment);
                    seen.extend(did_without.then_some("a bisection without a build"));
                }
                _ => {}
            }
        }
        seen.into_iter()
    }

    fn build_runs(&self) -> BTreeSet<(ExperimentId, RunIndex)> {
        let mut builds = BTreeSet::new();
        for event in &self.durable {
            let (experiment, from, order) = match &event.change {
                Change::Submitted { experiment, plan, .. } => (experiment, 0, plan.order()),
                Change::Extended { experiment, from, appended, .. } => {
                    (experiment, *from, &appended.order[..])
                }
                _ => continue,
            };
            let cells = self.plans[self.submitted[experiment]].cells();
            let runs = (from..).zip(order).filter(|(_, cell)| **cell >= cells);
            builds.extend(runs.map(|(run, _)| (*experiment, RunIndex(run))));
        }
        builds
    }

    fn seen_in(&self, change: &Change) -> Vec<&'static str> {
        let one = match change {
            Change::LeaseGranted(lease) => return self.seen_of(lease),
            Change::GangGranted(leases) => {
                let experiment = &self.plans[self.submitted[&leases[0].experiment]].experiment;
                let mut gangs = experiment.benchmarks.iter().filter_map(|benchmark| benchmark.gang.as_ref());
                let is_of_job = leases.len() > 1 && gangs.any(Gang::is_in_one_job);
                let of_job = is_of_job.then_some("a gang of one job");
                let seen = leases.iter().flat_map(|lease| self.seen_of(lease));
                return seen.chain(["a gang"]).chain(of_job).collect();
            }
            Change::PartEnded { record, .. } if record.outcome != Outcome::Measured => {
                Some("a part that nobody ended")
            }
            Change::PartEnded { .. } => Some("a part ended"),
            Change::AttemptLost { lease, .. }
                if self.gangs.get(lease).is_some_and(|gang| gang[0] != *lease) =>
            {
                Some("a gang lost through one of its hosts")
            }
            Change::HostQuarantined { by, .. } if by == "user" => Some("a host quarantined by a user"),
            Change::HostQuarantined { reason, .. } if reason.contains("without a reboot") => {
                Some("a host with the same boot id")
            }
            Change::HostQuarantined { reason, .. } if reason.contains("come back") => {
                Some("a host that did not come back")
            }
            Change::HostQuarantined { .. } => Some("a host that two users gave up"),
            Change::HostDrained { by, .. } if by == PROVISIONER => Some("given back"),
            Change::HostDrained { .. } => Some("a host drained"),
            Change::HostResumed { by, .. } if by == PROVISIONER => Some("given out anew"),
            Change::HostDrifted { .. } => Some("a host drifted"),
            Change::HostReset { .. } => Some("a host reset"),
            Change::ClassPinned { .. } => Some("a class pinned"),
            Change::ClassApproved { .. } => Some("a class approved"),
            Change::RebootAsked { .. } => Some("a reboot"),
            Change::VisitBroken { .. } => Some("a visit broken"),
            Change::AwaitingDecision { .. } => Some("awaiting a decision"),
            Change::Decided { enough: true, .. } => Some("a rule that had enough"),
            Change::Decided { .. } => Some("a further stage"),
            Change::Cancelled { reason, .. } if reason.starts_with("build ") => Some("no build"),
            Change::Cancelled { reason, .. } if reason.contains("attempts") => Some("all attempts spent"),
            Change::Cancelled { reason, .. } if reason.contains("time") => Some("all host time spent"),
            Change::AttemptLost { after: AfterLoss::Abandoned, .. } => Some("abandoned"),
            Change::AttemptLost { reason, .. } => Some(match reason {
                LossReason::Expired => "expired",
                LossReason::HostLost => "host lost",
                LossReason::AgentRestarted => "agent restarted",
                LossReason::JobEnded { .. } => "job ended",
                LossReason::NotExecuted { .. } => "not executed",
            }),
            Change::Cancelled { .. } => Some("cancelled"),
            Change::Extended { .. } => Some("extended"),
            Change::LateReport { .. } => Some("late report"),
            Change::Paused { by, .. } if by == "coordinator" => Some("paused by the coordinator"),
            Change::RunReported { record, .. }
                if matches!(record.outcome, Outcome::Failed(Failure::NoProduct { .. })) =>
            {
                Some("a build without its products")
            }
            Change::RunReported { record, .. } if record.outcome != Outcome::Measured => Some("failed"),
            _ => None,
        };
        one.into_iter().collect()
    }

    fn seen_of(&self, lease: &Lease) -> Vec<&'static str> {
        let plan = &self.plans[self.submitted[&lease.experiment]];
        let independence = plan.experiment.independence;
        let order = match plan.experiment.order {
            Order::Randomized => "randomized",
            Order::Interleaved => "interleaved",
            Order::Blocked => "blocked",
        };
        let evidence = &lease.evidence;
        let goes_on = evidence.previous.is_some_and(|previous| {
            previous == (lease.experiment, RunIndex(lease.run.0.wrapping_sub(1)))
                && lease.run.0 < plan.runs()
                && plan.builds() == 0
                && plan.place(lease.run).group != lease.run
        });
        let is_new_boot = evidence.boot_before.as_ref().is_some_and(|boot| *boot != evidence.boot);
        let again = match independence.policy {
            _ if goes_on && is_new_boot => Some("a visit that goes on in another boot"),
            _ if goes_on => Some("a visit that goes on"),
            _ if evidence.served_in_scope == 0 => None,
            Policy::Rebooted => Some("served again after a reboot"),
            Policy::Reallocated => Some("served again after a reallocation"),
            Policy::Rested => Some("served again after a rest"),
            Policy::DistinctSets => Some("served again among others"),
            Policy::Distinct | Policy::Any => None,
        };
        let is_build = lease.run.0 < plan.builds() && evidence.build.is_none();
        let build = match &evidence.build {
            _ if is_build && lease.attempt.0 > 1 => Some("a build another time"),
            _ if is_build => Some("a build"),
            Some(_) => Some("a build used"),
            None => None,
        };
        [independence.policy.name(), order].into_iter().chain(again).chain(build).collect()
    }

    fn settled_exactly_once(&self, ended: &[EndedAttempt]) {
        let mut settled: BTreeMap<(ExperimentId, RunIndex), u32> = BTreeMap::new();
        for attempt in ended.iter().filter(|attempt| !is_part(attempt)) {
            let settles = match &attempt.end {
                AttemptEnd::Reported(record) => {
                    assert_eq!(
                        record.started_unix_ns, attempt.lease.epoch.0,
                        "a record is that of its lease"
                    );
                    true
                }
                AttemptEnd::Lost { after, .. } => !matches!(after, AfterLoss::Again(_)),
            };
            *settled.entry((attempt.lease.experiment, attempt.lease.run)).or_default() += u32::from(settles);
        }
        for event in &self.durable {
            let Change::Finished { experiment, tally, cancelled } = &event.change else { continue };
            let runs = (*experiment, RunIndex(0))..=(*experiment, RunIndex(u32::MAX));
            let counts: Vec<u32> = settled.range(runs).map(|(_, count)| *count).collect();
            assert!(counts.iter().all(|count| *count <= 1), "no run is settled twice");
            // A run that waited when its experiment was cancelled has no attempt that settled it.
            let by_attempt = counts.iter().sum::<u32>();
            let by_cancellation = tally.runs() - by_attempt;
            assert!(by_cancellation == 0 || *cancelled, "only a cancelled experiment leaves runs out");
            assert!(by_cancellation <= tally.cancelled, "and counts them");
            assert_eq!(tally.open(), 0, "a finished experiment has no open run");
        }
        let finished: BTreeSet<ExperimentId> = self.finished().collect();
        assert_eq!(finished, self.submitted.keys().copied().collect(), "every submitted experiment finished");
        assert_eq!(self.finished().count(), finished.len(), "and once");
    }

    /// What the machine says of leases, derived anew: attempts are counted, evidence is true, nothing is given out of an
    /// experiment that is paused or cancelled, losses are counted, time does not go back.
    fn the_journal_is_in_order(&self) {
        let mut latest = Timestamp(0);
        let mut closed: BTreeSet<ExperimentId> = BTreeSet::new();
        let mut deciding: BTreeSet<ExperimentId> = BTreeSet::new();
        let mut attempts: BTreeMap<(ExperimentId, RunIndex), u32> = BTreeMap::new();
        let mut served: BTreeMap<HostId, (u64, Option<(ExperimentId, RunIndex)>)> = BTreeMap::new();
        let mut leases: BTreeMap<LeaseEpoch, ExperimentId> = BTreeMap::new();
        let mut lost: BTreeMap<ExperimentId, u32> = BTreeMap::new();
        for event in &self.durable {
            assert!(event.at >= latest, "time does not go back");
            latest = event.at;
            match &event.change {
                Change::Paused { experiment, .. } | Change::Cancelled { experiment, .. } => {
                    closed.insert(*experiment);
                }
                Change::AwaitingDecision { experiment } => {
                    deciding.insert(*experiment);
                }
                Change::Extended { experiment, .. } => {
                    deciding.remove(experiment);
                }
                Change::Resumed { experiment, .. } => {
                    closed.remove(experiment);
                }
                Change::LeaseGranted(_) | Change::GangGranted(_) => {
                    for lease in event.change.granted() {
                        assert!(
                            !closed.contains(&lease.experiment),
                            "nothing is given out of what is closed"
                        );
                        assert!(!deciding.contains(&lease.experiment), "nor of what is decided");
                        let attempt = attempts.entry((lease.experiment, lease.run)).or_default();
                        *attempt += u32::from(!lease.is_of_member());
                        assert_eq!(lease.attempt.0, *attempt, "attempts are counted");
                        let before = served.entry(lease.host.clone()).or_default();
                        assert_eq!(
                            (lease.evidence.served_in_all, lease.evidence.previous),
                            *before,
                            "true evidence"
                        );
                        *before = (before.0 + 1, Some((lease.experiment, lease.run)));
                        leases.insert(lease.epoch, lease.experiment);
                    }
                }
                Change::AttemptLost { lease, .. } => *lost.entry(leases[lease]).or_default() += 1,
                Change::Finished { experiment, tally, .. } => {
                    assert_eq!(tally.lost_attempts, lost.get(experiment).copied().unwrap_or(0), "losses");
                }
                _ => {}
            }
        }
    }

    fn finished(&self) -> impl Iterator<Item = ExperimentId> + '_ {
        self.durable.iter().filter_map(|event| match &event.change {
            Change::Finished { experiment, .. } => Some(*experiment),
            _ => None,
        })
    }

    fn nothing_acknowledged_is_lost(&self, ended: &[EndedAttempt]) {
        let mut kept: BTreeMap<LeaseEpoch, u32> = BTreeMap::new();
        for attempt in ended {
            let by_report = match &attempt.end {
                AttemptEnd::Reported(_) => true,
                AttemptEnd::Lost { reason, .. } => matches!(reason, LossReason::NotExecuted { .. }),
            };
            *kept.entry(attempt.lease.epoch).or_default() += u32::from(by_report);
        }
        for event in &self.durable {
            if let Change::LateReport { superseded, .. } = &event.change {
                *kept.entry(superseded.lease).or_default() += 1;
            }
        }
        assert!(kept.values().all(|count| *count <= 1), "no report is kept twice");
        for lease in self.acknowledged.union(&self.reported) {
            // Of what was given up before it began nobody wants to know more.
            let is_kept = kept.get(lease) == Some(&1);
            assert!(is_kept || self.parts.contains(lease), "the report of lease {lease} is kept");
        }
    }

    /// Under `rested`, a host was idle for as long as the plan says between two attempts, on a clock that nobody sets.
    fn hosts_rested(&self) {
        let mut latest: BTreeMap<&HostId, LeaseEpoch> = BTreeMap::new();
        let builds = self.build_runs();
        for event in &self.durable {
            for lease in event.change.granted() {
                let plan = &self.plans[self.submitted[&lease.experiment]];
                let independence = plan.experiment.independence;
                let rests =
                    independence.policy == Policy::Rested && !builds.contains(&(lease.experiment, lease.run));
                let before = latest.insert(&lease.host, lease.epoch);
                if let Some(before) = before.filter(|_| rests) {
                    let ended = self.held[&before].1.expect("a host has one attempt at a time");
                    let idle = Span(self.held[&lease.epoch].0.0 - ended.0);
                    assert!(idle >= independence.rest.idle, "it rested for {idle} in truth: {lease:?}");
                }
            }
        }
    }

    fn executed_once(&self) {
        let leases: BTreeSet<LeaseEpoch> = self.executions.iter().map(|execution| execution.lease).collect();
        assert_eq!(leases.len(), self.executions.len(), "nothing is executed twice under one lease");
    }
}

/// Whether it is the part of a host in a run that another has started.
fn is_part(attempt: &EndedAttempt) -> bool {
    attempt.lease.is_of_member() && matches!(attempt.end, AttemptEnd::Reported(_))
}

/// The machine of a journal, by a checkpoint of its first `cut` events: whatever prefix that is, it is the machine of the whole replay.
pub(super) fn recovered(settings: Settings, journal: &[Event], cut: usize) -> Machine {
    let replayed = |mut machine: Machine, events: &[Event]| {
        events.iter().for_each(|event| machine.replay(event));
        machine
    };
    let (before, after) = journal.split_at(cut);
    let before = replayed(Machine::new(settings), before);
    let restored = Machine::assemble(settings, before.pieces()).expect("pieces that fit");
    restored.check();
    assert_eq!(restored, before, "the checkpoint is the machine");
    let whole = replayed(before, after);
    let recovered = replayed(restored, after);
    assert_eq!(recovered, whole, "and so it is after the events that follow");
    recovered
}
