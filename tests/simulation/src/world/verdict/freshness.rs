//! Whether every host was fresh for what it was given, from the journal alone and with the rules written anew: not with
//! the machine's own lanes, visits or counts.

use std::collections::{BTreeMap, BTreeSet};

use speedup_core::{
    experiment::Order, experiment::Policy, experiment::Sameness, experiment::Scope,
    experiment::gang::GangLauncher, fingerprint::ClassId, fingerprint::HardwareId, host::HostFacts,
    host::Sharing, machine::MAX_EXCUSED, machine::event::Change, machine::provision::PROVISIONER, plan::Plan,
    run::LossReason, run::lease::Lease, value::id::AllocationId, value::id::BootId, value::id::ExperimentId,
    value::id::HostId, value::id::RunIndex, value::time::Timestamp,
};

use crate::world::World;

/// How many visits there were, and boot and allocation of the latest run.
type Used = (u32, BootId, Option<AllocationId>);

/// Attempts lost in a row on a host after which an experiment gives it up.
const GIVEN_UP: u32 = 3;

/// What the journal said of the pool so far.
#[derive(Default)]
struct Said {
    plans: BTreeMap<ExperimentId, Plan>,
    classes: BTreeMap<ExperimentId, BTreeSet<ClassId>>,
    hosts: BTreeMap<HostId, HostFacts>,
    here: BTreeSet<HostId>,
    /// Hosts that are drained or quarantined, and those that boot, with the boot they were to leave.
    out: BTreeSet<HostId>,
    rebooting: BTreeMap<HostId, BootId>,
    /// Since when hosts that served are known to be idle: an attempt ended, or they connected or reported late after it.
    rests: BTreeMap<HostId, Timestamp>,
    started: Timestamp,
    /// The latest lease of each host in each experiment, while its visit may go on.
    visiting: BTreeMap<(ExperimentId, HostId), RunIndex>,
    /// The use of a host for a unit of the scope.
    used: BTreeMap<(ExperimentId, HostId, u32), Used>,
    /// Who began a group, and whether something excuses that it does not go on with it.
    begun: BTreeMap<(ExperimentId, RunIndex), (HostId, bool)>,
    leases: BTreeMap<HostId, Lease>,
    /// Experiments of which a run was executed.
    measured: BTreeSet<ExperimentId>,
    tried: BTreeSet<(ExperimentId, RunIndex, HostId)>,
    attempts: BTreeMap<ExperimentId, u64>,
    /// Attempts of an experiment lost on a host, with none executed there since and nobody who resumed either.
    lost: BTreeMap<(ExperimentId, HostId), u32>,
    /// Attempts that an engine ended, which do not count.
    excused: BTreeMap<(ExperimentId, RunIndex), u32>,
    /// Which host served an experiment from a boot, and from a machine that its makers marked.
    booted: BTreeMap<(ExperimentId, BootId), HostId>,
    marked: BTreeMap<(ExperimentId, HardwareId), HostId>,
    /// The group that a host began of a unit whose visits want different hosts.
    visited: BTreeMap<(ExperimentId, HostId, u32), RunIndex>,
    /// The sets of hosts that have served a unit together.
    sets: BTreeSet<(ExperimentId, u32, BTreeSet<HostId>)>,
}

impl World {
    pub(super) fn freshness_held(&self) {
        let mut said = Said::default();
        for event in &self.durable {
            said.hear(event.at, &event.change);
        }
    }
}

impl Said {
    fn hear(&mut self, at: Timestamp, change: &Change) {
        match change {
            Change::Submitted { experiment, plan, .. } => {
                self.plans.insert(*experiment, Plan::clone(plan));
            }
            Change::Extended { experiment, appended, .. } => {
                let plan = self.plans.remove(experiment).expect("submitted before");
                let extended = plan.extended(appended.clone()).expect("it fits");
                self.plans.insert(*experiment, extended);
            }
            Change::ClassPinned { experiment, class } => {
                let measured = self.measured.contains(experiment);
                let leased = self.leases.values().any(|lease| lease.experiment == *experiment);
                let before = self.classes.insert(*experiment, [*class].into());
                let moved = before.is_some_and(|before| !before.is_empty());
                assert!(!moved || !measured && !leased, "a class that was measured on stays pinned");
                for (_, (_, excused)) in self.begun.iter_mut().filter(|((id, _), _)| id == experiment) {
                    *excused |= moved;
                }
            }
            Change::ClassApproved { experiment, class, .. } => {
                self.classes.entry(*experiment).or_default().insert(*class);
            }
            Change::CoordinatorStarted => {
                self.here.clear();
                self.started = at;
            }
            Change::HostLeft { host, .. } => {
                self.here.remove(host);
            }
            Change::HostJoined { facts, .. } => {
                self.rests.entry(facts.host.clone()).and_modify(|since| *since = at);
                self.joined(facts);
            }
            Change::HostDrained { host, .. } | Change::HostQuarantined { host, .. } => {
                self.out.insert(host.clone());
                self.rebooting.remove(host);
                self.excuse(host, None);
            }
            // By the owner's word the id may be another machine's from now on, and the machine may have another id.
            Change::HostReset { host, .. } => {
                self.here.remove(host);
                self.rebooting.remove(host);
                self.lost.retain(|(_, other), _| other != host);
                self.booted.retain(|_, other| other != host);
                self.marked.retain(|_, other| other != host);
            }
            Change::HostResumed { host, by } => {
                self.out.remove(host);
                if by != PROVISIONER {
                    self.lost.retain(|(_, other), _| other != host);
                }
            }
            Change::Resumed { experiment, .. } => self.lost.retain(|(id, _), _| id != experiment),
            Change::RebootAsked { host, .. } => {
                self.rebooting.insert(host.clone(), self.hosts[host].boot.clone());
            }
            Change::VisitBroken { host, experiment } => self.excuse(host, Some(*experiment)),
            Change::LeaseGranted(lease) => self.granted(lease),
            Change::GangGranted(leases) => self.granted_together(leases),
            Change::PartEnded { host, .. } => {
                self.rests.insert(host.clone(), at);
                self.leases.remove(host);
            }
            Change::RunReported { host, .. } => {
                self.rests.insert(host.clone(), at);
                if let Some(lease) = self.leases.remove(host) {
                    self.lost.remove(&(lease.experiment, host.clone()));
                    self.measured.insert(lease.experiment);
                    self.served_as_one_host(&lease);
                }
            }
            Change::AttemptLost { host, reason, .. } => {
                self.rests.insert(host.clone(), at);
                if let Some(lease) = self.leases.remove(host) {
                    if matches!(reason, LossReason::JobEnded { is_excused: true, .. }) {
                        *self.excused.entry((lease.experiment, lease.run)).or_default() += 1;
                    } else {
                        *self.lost.entry((lease.experiment, host.clone())).or_default() += 1;
                    }
                    self.excuse(host, Some(lease.experiment));
                    let is_of_gang = |other: &Lease| other.is_of_gang() && other.leader() == lease.leader();
                    let others = self.leases.values().filter(|other| is_of_gang(other));
                    let others: Vec<HostId> = others.map(|other| other.host.clone()).collect();
                    for other in others {
                        self.rests.insert(other.clone(), at);
                        self.leases.remove(&other);
                    }
                }
            }
            Change::LateReport { superseded, .. } => {
                self.rests.insert(superseded.host.clone(), at);
            }
            _ => {}
        }
    }

    fn joined(&mut self, facts: &HostFacts) {
        let host = &facts.host;
        self.here.insert(host.clone());
        if self.rebooting.get(host).is_some_and(|left| *left != facts.boot) {
            self.rebooting.remove(host);
        }
        // One of another class, or one that cannot boot any more, may not go on.
        let changed = |before: &HostFacts| {
            before.fingerprint != facts.fingerprint || before.can_reboot != facts.can_reboot
        };
        if self.hosts.get(host).is_some_and(changed) {
            self.excuse(host, None);
        }
        self.hosts.insert(host.clone(), facts.clone());
    }

    /// The visits of a host, in one experiment or all, may end before their groups do.
    fn excuse(&mut self, host: &HostId, experiment: Option<ExperimentId>) {
        let ends = |id: ExperimentId| experiment.is_none_or(|only| only == id);
        for ((id, _), (by, excused)) in &mut self.begun {
            *excused |= ends(*id) && by == host;
        }
    }

    /// A run goes again to a host that lost it only where all others that are there and could take it have tried it too, and
    /// the policy lets hosts come again. Hosts that the experiment has given up could not. Where the plan repeats over hosts
    /// this is not asked: other visits of the cell may need those that have not tried it.
    fn tried(&mut self, lease: &Lease) {
        let (id, run) = (lease.experiment, lease.run);
        let is_first = self.tried.insert((id, run, lease.host.clone()));
        if is_first {
            return;
        }
        let plan = &self.plans[&id];
        let is_build = plan.cell_number(run) >= plan.cells();
        let independence = plan.experiment.independence;
        assert!(is_build || independence.policy != Policy::Distinct, "tried twice on a host: {lease:?}");
        if plan.experiment.levels.are_nested() && !is_build {
            return;
        }
        let is_taken = |host: &HostId| {
            let class = self.hosts[host].fingerprint.class();
            independence.hosts != Sameness::Identical || self.classes[&id].contains(&class)
        };
        let is_given_up =
            |host: &HostId| self.lost.get(&(id, host.clone())).is_some_and(|lost| *lost >= GIVEN_UP);
        let could = |host: &&HostId| {
            !is_given_up(host)
                && !self.out.contains(*host)
                && !self.rebooting.contains_key(*host)
                && is_taken(host)
        };
        let untried = |host: &&HostId| !self.tried.contains(&(id, run, HostId::clone(host)));
        let other = self.here.iter().filter(could).find(untried);
        assert_eq!(other, None, "it could have tried what another lost: {lease:?}");
    }

    /// A gang is as large as its plan says, of different hosts of one class, and of those of its first lease.
    fn granted_together(&mut self, leases: &[Lease]) {
        let (id, run) = (leases[0].experiment, leases[0].run);
        let plan = &self.plans[&id];
        let gang =
            plan.experiment.benchmarks[plan.cell(run).expect("no build").benchmark.0 as usize].gang.clone();
        let gang = gang.expect("a benchmark of gangs");
        assert_eq!(gang.hosts as usize, leases.len(), "of the size that is wanted");
        let jobs: BTreeSet<_> = leases.iter().map(|lease| self.job_of(&lease.host)).collect();
        assert!(gang.launcher != GangLauncher::Srun || jobs.len() == 1, "of one job: {leases:?}");
        let hosts: BTreeSet<&HostId> = leases.iter().map(|lease| &lease.host).collect();
        assert_eq!(hosts.len(), leases.len(), "of different hosts: {leases:?}");
        let classes: BTreeSet<_> = leases.iter().map(|lease| lease.evidence.class).collect();
        assert_eq!(classes.len(), 1, "of one class: {leases:?}");
        let members = leases[0].seat.iter().flat_map(|seat| &seat.members).map(|member| &member.host);
        assert!(members.eq(leases.iter().map(|lease| &lease.host)), "the first knows them all: {leases:?}");
        self.served_together(&leases[0], hosts.into_iter().cloned().collect());
        for (seat, lease) in (0..).zip(leases) {
            assert_eq!((lease.experiment, lease.run, lease.epoch.0), (id, run, leases[0].epoch.0 + seat));
            self.granted(lease);
        }
    }

    /// The job of a host without the number of its node.
    fn job_of(&self, host: &HostId) -> Option<&str> {
        let job = self.hosts[host].job.as_ref()?.as_str();
        Some(job.split_once('.').map_or(job, |(job, _)| job))
    }

    /// Where sets are to be fresh, none serves twice.
    fn served_together(&mut self, lease: &Lease, hosts: BTreeSet<HostId>) {
        let experiment = &self.plans[&lease.experiment].experiment;
        let is_of_sets = experiment.independence.policy == Policy::DistinctSets;
        assert_eq!(lease.evidence.set_served, is_of_sets.then_some(false), "of the set: {lease:?}");
        let cell = self.plans[&lease.experiment].cell_number(lease.run);
        let unit = match experiment.independence.scope {
            Scope::Experiment => 0,
            Scope::Cell => cell,
            Scope::Benchmark => cell / experiment.versions.len() as u32,
        };
        if is_of_sets {
            let is_new = self.sets.insert((lease.experiment, unit, hosts));
            assert!(is_new, "hosts served together twice: {lease:?}");
        }
    }

    /// A build goes to any host of a class that is taken, to none twice while there may be others, and is no visit.
    fn granted_build(&mut self, lease: &Lease) {
        let independence = self.plans[&lease.experiment].experiment.independence;
        let facts = &self.hosts[&lease.host];
        let evidence = &lease.evidence;
        assert_eq!((&evidence.boot, &evidence.allocation), (&facts.boot, &facts.allocation), "true evidence");
        assert_eq!((&evidence.boot_before, &evidence.allocation_before), (&None, &None), "no use before");
        let idle = self.rests.get(&lease.host).map(|since| lease.granted - *since);
        assert_eq!(evidence.idle, idle, "of the time without work");
        let class = facts.fingerprint.class();
        assert_eq!(evidence.class, Some(class), "of the class");
        let is_taken = || self.classes[&lease.experiment].contains(&class);
        assert!(
            independence.hosts != Sameness::Identical || is_taken(),
            "a host of another class: {lease:?}"
        );
        let experiment = &self.plans[&lease.experiment].experiment;
        assert!(self.counted(lease) <= experiment.limits.attempts, "no attempt beyond the limit");
        *self.attempts.entry(lease.experiment).or_default() += 1;
        self.leases.insert(lease.host.clone(), lease.clone());
    }

    /// The number of an attempt, without those that an engine ended.
    fn counted(&self, lease: &Lease) -> u32 {
        let excused = self.excused.get(&(lease.experiment, lease.run)).copied().unwrap_or_default();
        lease.attempt.0 - excused.min(MAX_EXCUSED)
    }

    /// What is one boot or one machine executes an experiment under one id, unless its owner says that hosts share it. A
    /// lease may go to an id whose boot has ended unnoticed; nothing executes it then.
    fn served_as_one_host(&mut self, lease: &Lease) {
        let (id, host) = (lease.experiment, &lease.host);
        let facts = &self.hosts[host];
        let is_build = self.plans[&id].cell_number(lease.run) >= self.plans[&id].cells();
        if is_build || facts.sharing == Sharing::Shared {
            return;
        }
        let boot = lease.evidence.boot.clone();
        let by_boot = self.booted.entry((id, boot)).or_insert_with(|| host.clone());
        assert_eq!(by_boot, host, "one boot served as two hosts: {lease:?}");
        if let Some(machine) = facts.machine {
            let by_machine = self.marked.entry((id, machine)).or_insert_with(|| host.clone());
            assert_eq!(by_machine, host, "one machine served as two hosts: {lease:?}");
        }
    }

    fn granted(&mut self, lease: &Lease) {
        // Of a gang one host alone has lost the run.
        if !lease.is_of_gang() {
            self.tried(lease);
        }
        let is_run = self.plans[&lease.experiment].cell(lease.run).is_some();
        if is_run && !lease.is_of_gang() {
            self.served_together(lease, [lease.host.clone()].into());
        }
        let (id, host, run) = (lease.experiment, lease.host.clone(), lease.run);
        let plan = &self.plans[&id];
        let experiment = &plan.experiment;
        let (independence, place) = (experiment.independence, plan.place(run));
        let facts = &self.hosts[&host];
        assert!(!self.out.contains(&host), "a host that is out of the pool is given nothing");
        assert!(!self.rebooting.contains_key(&host), "nor one that boots");

        if plan.cell_number(run) >= plan.cells() {
            self.granted_build(lease);
            return;
        }
        let cell = plan.cell_number(place.group);
        let versions = experiment.versions.len() as u32;
        let unit = match independence.scope {
            _ if independence.policy == Policy::Any => 0,
            Scope::Experiment => 0,
            Scope::Cell if experiment.order != Order::Blocked => cell,
            Scope::Cell | Scope::Benchmark => cell / versions,
        };
        if experiment.levels.are_nested() {
            let unit = if experiment.order == Order::Blocked { cell / versions } else { cell };
            let group = self.visited.entry((id, host.clone(), unit)).or_insert(place.group);
            assert_eq!(*group, place.group, "a host visits a cell once: {lease:?}");
        }
        let before = self.visiting.get(&(id, host.clone())).copied();
        let used = self.used.get(&(id, host.clone(), unit)).cloned();
        let visits = used.as_ref().map_or(0, |used| used.0);
        let evidence = &lease.evidence;
        let begun = self.begun.get(&(id, place.group));
        let could_go_on = run != place.group
            && before.is_some_and(|before| before.0 + 1 == run.0)
            && begun.is_some_and(|(by, _)| *by == host);
        // Where its visit may have ended, the same host may go on or come again, if it is fresh.
        let may_have_ended = begun.is_some_and(|(_, excused)| *excused);
        let goes_on = could_go_on && (!may_have_ended || evidence.served_in_scope + 1 == visits);

        assert_eq!((&evidence.boot, &evidence.allocation), (&facts.boot, &facts.allocation), "true evidence");
        assert_eq!(evidence.class, Some(facts.fingerprint.class()), "of the class");
        assert_eq!(evidence.boot_before.as_ref(), used.as_ref().map(|used| &used.1), "of the boot before");
        let allocation_before = used.as_ref().and_then(|used| used.2.clone());
        assert_eq!(evidence.allocation_before, allocation_before, "of the allocation before");
        let idle = self.rests.get(&host).map(|since| lease.granted - *since);
        assert_eq!(evidence.idle, idle, "of the time without work");
        assert_eq!(evidence.served_in_scope, visits - u32::from(goes_on), "of the visits before");

        let is_new_boot = used.as_ref().is_none_or(|used| used.1 != facts.boot);
        if !goes_on {
            let is_free = begun.is_none() || may_have_ended || lease.is_of_gang();
            assert!(is_free, "a group is one host's: run {run} of {id} was begun by {begun:?}");
            match independence.policy {
                Policy::Distinct => assert_eq!(visits, 0, "a host served twice: {lease:?}"),
                Policy::Rebooted => assert!(is_new_boot, "it has not booted since: {lease:?}"),
                Policy::Reallocated => {
                    let differs = allocation_before.is_some()
                        && facts.allocation.is_some()
                        && allocation_before != facts.allocation;
                    assert!(visits == 0 || differs, "it was not allocated anew: {lease:?}");
                }
                Policy::DistinctSets | Policy::Rested | Policy::Any => {}
            }
        } else {
            let shares = experiment.order == Order::Blocked && independence.policy == Policy::Rebooted;
            let further = plan.place(RunIndex(run.0 - 1)).boot < place.boot;
            assert!(!(shares || further) || is_new_boot, "the visit goes on without a boot: {lease:?}");
        }
        let since_start = lease.granted - self.started;
        assert!(idle.is_none_or(|idle| idle <= since_start), "idle over a restart: {lease:?}");
        if independence.policy == Policy::Rested {
            assert!(idle.is_none_or(|idle| idle >= independence.rest.idle), "it has not rested: {lease:?}");
        }
        if independence.hosts == Sameness::Identical {
            let classes = &self.classes[&id];
            assert!(classes.contains(&facts.fingerprint.class()), "a host of another class: {lease:?}");
        }
        assert!(self.counted(lease) <= experiment.limits.attempts, "no attempt beyond the limit");
        let attempts = self.attempts.entry(id).or_default();
        *attempts += u64::from(!lease.is_of_member());
        assert!(
            experiment.limits.all_attempts.is_none_or(|most| *attempts <= most),
            "nor beyond that of all"
        );

        let use_now = (visits + u32::from(!goes_on), facts.boot.clone(), facts.allocation.clone());
        self.used.insert((id, host.clone(), unit), use_now);
        self.visiting.insert((id, host.clone()), run);
        self.begun.insert((id, place.group), (host.clone(), false));
        self.leases.insert(host, lease.clone());
    }
}
