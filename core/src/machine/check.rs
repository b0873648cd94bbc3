//! Every invariant of the machine, re-derived from scratch. Tests and the simulation call it after each step.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::eligibility::{boots_before, boots_in_visits};
use super::lane::{lane_of, nested_lane, use_of};
use super::matching::Match;
use super::time_limit::longest_run;
use super::{Active, BuildResult, Machine};
use crate::fingerprint::ClassId;
use crate::host::{ALLOCATION_MARGIN, Host, Presence, Sharing, Standing, WorkRequest};
use crate::independence::{Readings, Since, Traces};
use crate::machine::event::Tally;
use crate::run::lease::Lease;
use crate::run::{HostNumber, RunState, Settlement};
use crate::value::id::{ExperimentId, HostId, RunIndex};

impl Machine {
    /// Asserts all invariants: at most one live lease per run and host, both ends of a lease agree, no host serves what
    /// the policy forbids, every lease rests on evidence that holds, tallies add up to the plan, queues and visits hold
    /// exactly what waits, and every index (deadlines, asking hosts, turns, numbers, counts) is what the states say.
    ///
    /// # Panics
    /// When one does not hold: that is a bug.
    pub fn check(&self) {
        for (id, active) in &self.experiments {
            self.check_states(*id, active);
            self.check_queue(*id, active);
            check_builds(active);
        }
        self.check_leases();
        self.check_policies();
        self.check_asking();
        self.check_indices();
        self.check_counts();
    }

    fn check_states(&self, id: ExperimentId, active: &Active) {
        assert_eq!(active.states.len(), active.kept.plan.runs() as usize, "a state for each run");
        let mut tally = Tally { lost_attempts: active.tally.lost_attempts, ..Tally::default() };
        for (run, state) in (0..).map(RunIndex).zip(&active.states) {
            match *state {
                RunState::Waiting { attempt } => {
                    tally.waiting += 1;
                    let excused = active.kept.excused.get(&run.0).copied().unwrap_or(0);
                    assert!(
                        attempt.0 <= active.kept.plan.experiment.limits.attempts + excused,
                        "attempts stay within the limit"
                    );
                }
                RunState::Leased { lease, host } | RunState::Running { lease, host } => {
                    let running = matches!(state, RunState::Running { .. });
                    *(if running { &mut tally.running } else { &mut tally.leased }) += 1;
                    let held =
                        self.host_at(host).lease.as_ref().expect("the host of a leased run holds a lease");
                    assert_eq!((held.epoch, held.experiment, held.run), (lease, id, run), "both ends agree");
                    assert_eq!(held.started.is_some(), running, "begun on both ends");
                }
                RunState::Settled(settlement) => *tally.counter(settlement) += 1,
            }
        }
        assert_eq!(tally, active.tally, "the tally is the count of the states");
        for trouble in active.kept.troubles.values() {
            let told = trouble.by_host + trouble.turned_down;
            assert!(
                (1..).contains(&trouble.lost) && told <= trouble.lost,
                "a trouble is a loss: {trouble:?}"
            );
        }
    }

    /// What waits is a visit in the queue, or the rest of one that a host has begun.
    fn check_queue(&self, id: ExperimentId, active: &Active) {
        let plan = &active.kept.plan;
        let visits = self.hosts.iter().filter_map(|host| host.visits.get(&id));
        let mut begun: Vec<(RunIndex, RunIndex)> = visits.map(|visit| (visit.next, visit.end)).collect();
        begun.sort_unstable();
        let mut rests = Vec::with_capacity(begun.len());
        // The lane in which the visit that begins with a run waits.
        let mut waiting: Vec<Option<u32>> = vec![None; active.states.len()];
        let mut visits = 0;
        let waits = |run: u32| matches!(active.states[run as usize], RunState::Waiting { .. });
        let mut next = 0;
        while next < plan.runs() {
            let place = plan.place(RunIndex(next));
            let end = next + place.size;
            if let Some(run) = (next..end).find(|run| waits(*run)) {
                assert!((run..end).all(waits), "what waits of a group is its rest");
                if begun.binary_search_by_key(&RunIndex(run), |(next, _)| *next).is_ok() {
                    rests.push((RunIndex(run), RunIndex(end)));
                } else {
                    waiting[run as usize] = Some(lane_of(plan, RunIndex(run)));
                    visits += 1;
                }
            }
            next = end;
        }
        assert_eq!(rests, begun, "a host that has begun a visit has its rest");
        assert_eq!(active.queue.visits(), visits, "the queue counts what waits");
        for (lane, run) in active.queue.waiting() {
            assert_eq!(waiting[run as usize].take(), Some(lane), "it holds what waits, each once");
            visits -= 1;
        }
        assert_eq!(visits, 0, "and all of it");
    }

    fn check_leases(&self) {
        let mut holders = BTreeMap::new();
        for (number, host) in (0..).map(HostNumber).zip(&self.hosts) {
            let Some(lease) = &host.lease else { continue };
            assert_eq!(holders.insert(lease.epoch, number), None, "one host a lease");
            assert!(lease.epoch.0 < self.next_lease, "epochs grow");
            assert_eq!(lease.host, host.facts.host, "a lease lies with its host");
            assert!(lease.agent_epoch <= host.epoch, "agent starts grow");
            let active = &self.experiments[&lease.experiment];
            assert!(host.is_ready <= lease.is_of_gang(), "who serves alone waits for nobody");
            match active.states[lease.run.0 as usize] {
                _ if lease.is_of_member() => self.check_member(lease),
                RunState::Leased { host, .. } | RunState::Running { host, .. } => assert_eq!(host, number),
                RunState::Waiting { .. } | RunState::Settled(_) => {
                    panic!("a live lease on a run that has none")
                }
            }
            check_evidence(host, lease, active);
            check_nesting(number, lease, active);
            let ends = host.facts.allocation_ends.filter(|_| host.epoch == lease.agent_epoch);
            let last = lease.granted + longest_run(active, lease.run) + ALLOCATION_MARGIN;
            assert!(ends.is_none_or(|ends| last <= ends), "an allocation outlasts what it was given");
        }
        assert_eq!(self.holders, holders, "every live lease has its holder");
        assert!(
            self.superseded.keys().all(|epoch| !holders.contains_key(epoch)),
            "a superseded lease is not live"
        );
    }

    /// A gang is whole while its run is under way, of one class, and as large as its plan says.
    fn check_member(&self, lease: &Lease) {
        if !self.is_under_way(lease) {
            return;
        }
        let gang = self.gang(lease.leader());
        let size = self.experiments[&lease.experiment].kept.plan.hosts_of(lease.run);
        let seats: Vec<u64> = gang.iter().map(|(epoch, _)| epoch.0 - lease.leader().0).collect();
        assert!(seats.first() == Some(&0) && seats.iter().all(|seat| *seat < size.into()), "its own seats");
        let first = self.host_at(gang[0].1).lease.as_ref().expect("a holder holds");
        // Parts end before the run does where it has failed.
        let is_whole = seats.len() == size as usize || first.started.is_some();
        assert!(is_whole, "a gang is given as a whole and lost as one");
        let mut hosts: Vec<HostNumber> = gang.iter().map(|(_, number)| *number).collect();
        hosts.sort_unstable();
        let active = &self.experiments[&lease.experiment];
        let is_noted = seats.len() < size as usize || active.set_served(lease.run, &hosts) != Some(false);
        assert!(is_noted, "a set has served once it is given a run");
    }

    fn check_policies(&self) {
        for host in &self.hosts {
            for (id, lanes) in &host.used {
                let active = &self.experiments[id];
                if !active.independence().policy.reuses_hosts() {
                    let once = lanes.values().all(|used| used.visits == 1);
                    assert!(once, "a fresh host serves one visit in the scope");
                }
            }
            for id in host.visits.keys() {
                let active = &self.experiments[id];
                let is_under_way = host.lease.as_ref().is_some_and(|lease| lease.experiment == *id);
                let may_go_on = host.standing == Standing::Serving && active.admits(host.class);
                let can = host.facts.can_reboot || !boots_in_visits(active);
                assert!(
                    is_under_way || may_go_on && can,
                    "a visit is kept for a host that may go on with it"
                );
            }
        }
    }

    fn check_asking(&self) {
        let mut asking = 0;
        let mut in_vain = 0;
        for (number, host) in (0..).map(HostNumber).zip(&self.hosts) {
            match host.presence {
                Presence::Here { asking: WorkRequest::Yes } => {
                    asking += 1;
                    assert!(self.asking.contains(&number), "a host that asks is an asking host");
                }
                Presence::Here { asking: WorkRequest::InVain { .. } } => {
                    in_vain += 1;
                    assert!(self.ineligible.contains(&number), "and one that asked in vain is known");
                }
                Presence::Here { asking: WorkRequest::No } | Presence::Away { .. } => {}
            }
        }
        assert_eq!(self.asking.len(), asking, "asking hosts are those that ask");
        assert_eq!(self.ineligible.len(), in_vain, "and those that asked in vain");
        for number in self.ineligible.iter().filter(|number| !self.is_held(**number)) {
            let found = self.match_for(self.latest, *number);
            let due = self.host_at(*number).rested_at();
            let is_suited = match found {
                // One of them has rested, and will be looked at for that.
                Match::Gang(_, _, _, ref hosts)
                    if hosts.iter().any(|host| self.host_at(*host).rested_at().is_some()) =>
                {
                    false
                }
                Match::Run(..) | Match::Gang(..) | Match::Reboot(_) => {
                    due.is_none_or(|due| due > self.latest)
                }
                Match::Deferred(until) => due.is_none_or(|due| due > until),
                Match::Hold(..) | Match::Nothing => false,
            };
            assert!(!is_suited, "a host waits in vain only for what does not suit it: {found:?}");
        }
    }

    /// Each index has what the states say, and as many entries as they say: nothing else then.
    fn check_indices(&self) {
        let numbered = (0..).map(HostNumber).zip(&self.hosts);
        let losses = numbered.clone().filter_map(|(number, host)| Some((host.loss_deadline()?, number)));
        assert_eq!(self.losses, losses.collect(), "deadlines are those of the hosts");
        let rests = numbered.clone().filter_map(|(number, host)| Some((host.rested_at()?, number)));
        assert_eq!(self.rests, rests.collect(), "hosts rest as long as they say");
        let turns = self.experiments.iter().filter_map(|(id, active)| Some((active.turn()?, *id)));
        assert_eq!(self.turns.len(), turns.clone().count(), "as many turns as experiments have");
        assert!(turns.clone().all(|turn| self.turns.contains(&turn)), "turns are those of the experiments");
        assert_eq!(self.numbers.len(), self.hosts.len(), "every host has its number");
        let is_numbered = |(id, number): (&HostId, &HostNumber)| self.host_at(*number).facts.host == *id;
        assert!(self.numbers.iter().all(is_numbered), "and no other's");
        self.check_machines();
    }

    /// Marks are those of the hosts, and hosts on one machine are there by their owner's word alone: else one of them at
    /// most is connected, and one at most serves an experiment.
    fn check_machines(&self) {
        let numbered = (0..).map(HostNumber).zip(&self.hosts);
        let marks = numbered
            .filter(|(_, host)| !host.is_released)
            .flat_map(|(number, host)| host.facts.marks().map(move |mark| (mark, number)));
        assert_eq!(self.marks, marks.collect(), "marks are those of the hosts");
        let mut here = BTreeMap::new();
        let mut serving = BTreeMap::new();
        for (mark, number) in &self.marks {
            let host = self.host_at(*number);
            let is_one_of = |others: Option<&mut Vec<&Host>>| {
                others.into_iter().flatten().all(|other| may_share(host, other))
            };
            if host.is_here() {
                assert!(is_one_of(here.get_mut(mark)), "one host of a machine is connected: {mark:?}");
                here.entry(mark).or_insert_with(Vec::new).push(host);
            }
            for id in host.used.keys() {
                let key = (mark, *id);
                assert!(is_one_of(serving.get_mut(&key)), "a machine serves as one host: {mark:?}");
                serving.entry(key).or_insert_with(Vec::new).push(host);
            }
        }
    }

    fn check_counts(&self) {
        let mut here = 0;
        let mut available = 0;
        let mut of_classes: BTreeMap<ClassId, u32> = self.classes.keys().map(|class| (*class, 0)).collect();
        let mut reserved: BTreeMap<ExperimentId, u32> = self.experiments.keys().map(|id| (*id, 0)).collect();
        for host in &self.hosts {
            here += u32::from(host.is_here());
            if host.is_available() {
                available += 1;
                *of_classes.entry(host.class).or_default() += 1;
            }
            if let Some(count) = host.reserves.and_then(|id| reserved.get_mut(&id)) {
                *count += 1;
            }
        }
        assert_eq!(self.connected, here, "hosts that are here");
        assert_eq!(self.available, available, "hosts that may be given runs");
        let counted = self.classes.iter().map(|(id, class)| (*id, class.available)).collect();
        assert_eq!(of_classes, counted, "and those of each class");
        for (id, active) in &self.experiments {
            assert_eq!(active.reserved, reserved[id], "hosts that boot for it");
            let leases = self.hosts.iter().filter_map(|host| host.lease.as_ref());
            let members = leases.filter(|lease| lease.experiment == *id && lease.is_of_member()).count();
            assert_eq!(active.members as usize, members, "hosts that serve runs which others started");
        }
    }
}

/// Whether two hosts may be on one machine: by their owner's word, or because earlier releases took both.
fn may_share(one: &Host, other: &Host) -> bool {
    one.facts.sharing != Sharing::Alone && other.facts.sharing != Sharing::Alone
}

/// That each settled build is known, with what it made, and that no run is there before all builds are.
fn check_builds(active: &Active) {
    let plan = &active.kept.plan;
    for run in plan.build_runs() {
        let state = active.states[run.0 as usize];
        let is_as_settled = match (state, active.kept.built.get(&run)) {
            (RunState::Settled(Settlement::Measured), Some(BuildResult::Made(products))) => {
                let version = &plan.experiment.versions[plan.task(run).version().0 as usize];
                let made: Vec<&String> = products.iter().map(|product| &product.name).collect();
                made == version.build.iter().flat_map(|build| build.products.keys()).collect::<Vec<_>>()
            }
            (RunState::Settled(Settlement::Failed | Settlement::Abandoned), Some(BuildResult::Not(_))) => {
                true
            }
            (RunState::Settled(Settlement::Cancelled), built) => built.is_none(),
            (RunState::Waiting { .. } | RunState::Leased { .. } | RunState::Running { .. }, built) => {
                built.is_none()
            }
            (RunState::Settled(_), _) => false,
        };
        assert!(is_as_settled, "a settled build is kept with what it made: {run}");
    }
    let is_made = |run: &RunIndex| matches!(active.kept.built.get(run), Some(BuildResult::Made(_)));
    if plan.experiment.bisection().is_some() {
        let mut used = (0..plan.runs()).filter_map(|run| plan.build_of(RunIndex(run)));
        assert!(used.all(|build| is_made(&build)), "no run is planned before its build is there");
    } else {
        let is_complete = plan.is_building() || active.kept.built.keys().all(is_made);
        assert!(is_complete, "no run is planned while a build is lacking");
    }
    assert!(active.kept.built.keys().all(|run| plan.is_build(*run)), "only builds are built");
}

/// That a host which visits a cell does so in one visit alone, where the plan has these on different hosts.
fn check_nesting(number: HostNumber, lease: &Lease, active: &Active) {
    if nested_lane(&active.kept.plan, lease.run).is_some() {
        let visit = active.visit_of(number, lease.run);
        assert_eq!(visit, Some(active.kept.plan.place(lease.run).group), "one visit of a cell a host");
    }
}

/// That the evidence of a live lease is what makes its host fresh, whatever chose it.
fn check_evidence(host: &Host, lease: &Lease, active: &Active) {
    let evidence = &lease.evidence;
    let independence = active.independence();
    assert_eq!(evidence.idle.is_none(), evidence.served_in_all == 0, "idle time follows an attempt");
    if host.heard < lease.granted {
        let known = evidence.idle.is_none_or(|idle| idle <= lease.granted - host.heard);
        assert!(known, "idle time counts from when the host was last heard of");
    }
    let used_build = active.kept.plan.build_of(lease.run);
    assert_eq!(evidence.build.as_ref().map(|build| build.run), used_build, "the build that the plan says");
    if let Some(build) = &evidence.build {
        assert_eq!(
            active.kept.built.get(&build.run),
            Some(&BuildResult::Made(build.products.clone())),
            "and what it made"
        );
    }
    if active.kept.plan.cell(lease.run).is_none() {
        assert!(active.admits(evidence.class.expect("a host has a class")), "of an admitted class");
        return;
    }
    let key = use_of(&active.kept.plan, lease.run).expect("a run is a use");
    let used = host.used(lease.experiment, key).expect("a lease is a use");
    assert_eq!(evidence.served_in_scope + 1, used.visits, "visits before this one");
    assert!(active.admits(evidence.class.expect("a host has a class")), "of an admitted class");
    if boots_before(active, lease.run) && used.from != lease.run {
        assert_ne!(evidence.boot_before.as_ref(), Some(&evidence.boot), "this run needs a new boot");
    }
    assert_eq!(
        evidence.set_served.is_some(),
        independence.policy.is_of_sets(),
        "it says so where it is asked"
    );
    let begins = used.from == lease.run;
    let boot = Since::compare(&[evidence.boot_before.as_ref()], Some(&evidence.boot));
    let traces = Traces {
        was_used: evidence.served_in_scope > 0,
        was_set_used: evidence.set_served == Some(true),
        boot: if begins { boot } else { Since::Unknown },
        allocation: Since::compare(&[evidence.allocation_before.as_ref()], evidence.allocation.as_ref()),
        idle: evidence.idle,
        readings: Readings::Within,
    };
    assert_eq!(independence.violation(&traces), None, "fresh by the policy: {lease:?}");
}
