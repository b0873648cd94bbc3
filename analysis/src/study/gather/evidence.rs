//! What is kept of each attempt as evidence of independence: where it was executed, in which boot and allocation, after what.
//!
//! Lease epochs are given in order, and a host holds one lease at a time; so the attempts of a host, by their epochs, are what
//! it did in this experiment, whatever the plan claims.

use super::{numbers::Number, numbers::Numbers};
use speedup_core::{
    fingerprint::ClassId, fingerprint::HardwareId, independence::Independence, independence::Readings,
    independence::Rest, machine::event::AttemptEnd, machine::event::EndedAttempt, run::lease::Lease,
    run::record::Outcome, run::record::Record, value::id::AllocationId, value::id::Attempt,
    value::id::BootId, value::id::HostId, value::id::HostName, value::id::LeaseEpoch, value::id::RunIndex,
    value::id::SwitchPath, value::time::Span, value::time::Timestamp,
};
use std::{borrow::Cow, collections::BTreeMap, collections::BTreeSet, sync::Arc};

/// A run, and the stay in which it was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunLocation {
    pub(crate) run: RunIndex,
    stay: u32,
}

/// Where a host was for some attempts in a row, by numbers in the study.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostStay {
    pub(crate) host: u32,
    pub(crate) boot: u32,
    /// Where it is known, as what follows.
    pub(crate) class: Option<Number>,
    pub(crate) allocation: Option<Number>,
    /// The leaf switch above the host.
    switch: Option<Number>,
}

/// Where a measured run was executed, by numbers that may reach a report: places among the sorted names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedLocation {
    pub(crate) run: RunIndex,
    pub(crate) host: u32,
    pub(crate) boot: u32,
    /// The host's class, where it is known.
    pub(crate) class: Option<Number>,
}

/// What tells where the runs of a study were executed.
#[derive(Debug)]
pub(crate) struct ByName {
    /// Host, boot and class of each stay, by its number.
    stays: Vec<(u32, u32, Option<Number>)>,
}

/// Where the runs of a sample were executed, in run order.
pub(crate) struct RunLocations<'a> {
    locations: Cow<'a, [RunLocation]>,
    by_name: Arc<ByName>,
}

/// An attempt that ended, however. There may be millions: what few need is kept apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostAttempt {
    pub(crate) epoch: LeaseEpoch,
    pub(crate) attempt: Attempt,
    pub(crate) location: RunLocation,
    /// Whether the lease says that the host had served in the policy's scope before.
    pub(crate) had_served: bool,
    pub(crate) is_measured: bool,
    /// Whether another host started the program; it is measured there.
    pub(crate) is_part: bool,
    is_lost: bool,
}

/// What else a policy that asks for fresh hosts wants to know of an attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PriorUse {
    /// What the lease says of the last run in the policy's scope.
    pub(crate) boot: Option<Number>,
    pub(crate) allocation: Option<Number>,
    /// How long the host's last run of any experiment had ended when this one began.
    pub(crate) idle: Option<Span>,
    /// Whether the lease says that the hosts of the run had served in the policy's scope together.
    pub(crate) set_served: bool,
    /// Whether its host read as rested; of a policy that does not ask nothing is kept.
    pub(crate) readings: Readings,
    /// When the agent said that it began, or when it was given its host.
    pub(crate) began: Timestamp,
    pub(crate) ended: Timestamp,
}

/// All that is kept.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    pub(crate) hosts: Numbers<HostId>,
    /// What people called them, the latest of each, by their numbers.
    names: Vec<Option<HostName>>,
    /// Which hosts were called so.
    called: BTreeMap<HostName, BTreeSet<u32>>,
    /// Of each host, by its number.
    latest: Vec<Latest>,
    machines: Machines,
    boots: Numbers<BootId>,
    allocations: Numbers<AllocationId>,
    /// By the whole path from the top: a leaf switch has one.
    switches: Numbers<SwitchPath>,
    classes: Numbers<ClassId>,
    stays: Vec<HostStay>,
    pub(crate) served: Vec<HostAttempt>,
    /// Of each attempt in the same place; nothing where the policy does not ask for fresh hosts.
    before: Vec<PriorUse>,
    /// How long all attempts held their hosts.
    pub(crate) held: Span,
}

/// Where a host was at its latest attempt. At the next it mostly still is, so that nothing needs to be looked up.
#[derive(Debug)]
struct Latest {
    boot: BootId,
    machine: Option<HardwareId>,
    class: Option<ClassId>,
    allocation: Option<AllocationId>,
    switches: Option<SwitchPath>,
    stay: u32,
}

impl Latest {
    fn lasts(&self, lease: &Lease) -> bool {
        let evidence = &lease.evidence;
        (&self.boot, self.machine, self.class) == (&evidence.boot, evidence.machine, evidence.class)
            && (&self.allocation, &self.switches) == (&evidence.allocation, &evidence.switches)
    }
}

/// Which hosts are one machine: those that were in one boot, or are one hardware.
#[derive(Debug, Default)]
struct Machines {
    /// The first host of each boot, by its number; of one that is only known from before, none.
    of_boot: Vec<Option<Number>>,
    of_hardware: BTreeMap<HardwareId, u32>,
    /// Hosts of which that tells that they are one.
    same: BTreeSet<(u32, u32)>,
}

impl ByName {
    pub(crate) fn location(&self, location: RunLocation) -> NamedLocation {
        let (host, boot, class) = self.stays[location.stay as usize];
        NamedLocation { run: location.run, host, boot, class }
    }
}

impl<'a> RunLocations<'a> {
    pub(crate) fn new(locations: Cow<'a, [RunLocation]>, by_name: &Arc<ByName>) -> Self {
        Self { locations, by_name: Arc::clone(by_name) }
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = NamedLocation> + '_ {
        self.locations.iter().map(|location| self.by_name.location(*location))
    }
}

#[cfg(test)]
impl RunLocations<'static> {
    /// Of so many runs on so many hosts in turn.
    pub(crate) fn in_turn(runs: u32, hosts: u32) -> Self {
        let locations = (0..runs).map(|run| RunLocation { run: RunIndex(run), stay: run % hosts }).collect();
        let stays = (0..hosts).map(|host| (host, host, None)).collect();
        Self::new(Cow::Owned(locations), &Arc::new(ByName { stays }))
    }
}

impl Machines {
    fn keep(&mut self, host: u32, boot: u32, hardware: Option<HardwareId>) {
        let boots = self.of_boot.len().max(boot as usize + 1);
        self.of_boot.resize(boots, None);
        let in_boot = self.of_boot[boot as usize].get_or_insert(Number::from(host)).get();
        let of_hardware = hardware.map(|hardware| *self.of_hardware.entry(hardware).or_insert(host));
        let others = [Some(in_boot), of_hardware].into_iter().flatten().filter(|other| *other != host);
        self.same.extend(others.map(|other| (other, host)));
    }

    /// The machine of each host, by the hosts' numbers: that of the first host that is known to be on it.
    fn of_hosts(&self, hosts: usize) -> Vec<u32> {
        let mut machines: Vec<u32> = (0..hosts as u32).collect();
        for (one, other) in &self.same {
            let (one, other) = (machines[*one as usize], machines[*other as usize]);
            let (first, joined) = (one.min(other), one.max(other));
            machines.iter_mut().filter(|machine| **machine == joined).for_each(|machine| *machine = first);
        }
        machines
    }
}

/// The id of a host, and what people call it where that tells it from others.
pub(crate) type HostLabel = (String, Option<String>);

impl Evidence {
    /// None yet, with room for the attempts of so many runs.
    pub(crate) fn with_room(runs: usize) -> Self {
        Self { served: Vec::with_capacity(runs), ..Self::default() }
    }

    /// Keeps an attempt, or the part of a further host in one.
    pub(crate) fn keep(&mut self, ended: &EndedAttempt, asked: &Independence) -> RunLocation {
        let lease = &ended.lease;
        let evidence = &lease.evidence;
        let location = self.location(lease);
        self.keep_name(self.stay(location).host, evidence.host_name.as_ref());
        let record = match &ended.end {
            AttemptEnd::Reported(record) => Some(record.as_ref()),
            AttemptEnd::Lost { .. } => None,
        };
        let is_part = lease.is_of_member() && record.is_some();
        self.served.push(HostAttempt {
            epoch: lease.epoch,
            attempt: lease.attempt,
            location,
            had_served: evidence.served_in_scope > 0,
            is_lost: record.is_none(),
            is_measured: !is_part && record.is_some_and(|record| record.outcome == Outcome::Measured),
            is_part,
        });
        self.held = self.held + (ended.ended - lease.granted);
        if asked.policy.asks_for_freshness() {
            let began = lease.started.unwrap_or(lease.granted);
            self.before.push(PriorUse {
                boot: evidence.boot_before.as_ref().map(|boot| self.boots.of(boot).into()),
                allocation: evidence.allocation_before.as_ref().map(|one| self.allocations.of(one).into()),
                idle: evidence.idle.map(|idle| idle + (began - lease.granted)),
                set_served: evidence.set_served == Some(true),
                readings: asked.wanted_rest().map_or(Readings::Within, |rest| readings(rest, record)),
                began,
                ended: ended.ended,
            });
        }
        location
    }

    fn location(&mut self, lease: &Lease) -> RunLocation {
        let (host, evidence) = (self.hosts.of(&lease.host), &lease.evidence);
        if let Some(latest) = self.latest.get(host as usize).filter(|latest| latest.lasts(lease)) {
            return RunLocation { run: lease.run, stay: latest.stay };
        }
        let (boot, machine) = (self.boots.of(&evidence.boot), evidence.machine);
        self.machines.keep(host, boot, machine);
        let stay = self.stays.len() as u32;
        self.stays.push(HostStay {
            host,
            boot,
            class: evidence.class.as_ref().map(|class| self.classes.of(class).into()),
            allocation: evidence.allocation.as_ref().map(|one| self.allocations.of(one).into()),
            switch: evidence.switches.as_ref().map(|path| self.switches.of(path).into()),
        });
        let latest = Latest {
            boot: evidence.boot.clone(),
            machine,
            class: evidence.class,
            allocation: evidence.allocation.clone(),
            switches: evidence.switches.clone(),
            stay,
        };
        match self.latest.get_mut(host as usize) {
            Some(before) => *before = latest,
            None => self.latest.push(latest),
        }
        RunLocation { run: lease.run, stay }
    }

    fn keep_name(&mut self, host: u32, name: Option<&HostName>) {
        self.names.resize(self.hosts.len(), None);
        let kept = &mut self.names[host as usize];
        if let Some(name) = name
            && kept.as_ref() != Some(name)
        {
            *kept = Some(name.clone());
            self.called.entry(name.clone()).or_default().insert(host);
        }
    }

    /// Where an attempt was executed.
    pub(crate) fn stay(&self, location: RunLocation) -> &HostStay {
        &self.stays[location.stay as usize]
    }

    /// What tells where runs were executed, by names.
    pub(crate) fn by_name(&self) -> ByName {
        let (hosts, boots, classes) = (self.hosts.places(), self.boots.places(), self.classes.places());
        let of_stay = |stay: &HostStay| {
            let class = stay.class.map(|class| classes[class.get() as usize].into());
            (hosts[stay.host as usize], boots[stay.boot as usize], class)
        };
        ByName { stays: self.stays.iter().map(of_stay).collect() }
    }

    /// What people call a host, where that tells which of the experiment's hosts it is.
    pub(crate) fn name_of(&self, host: &str) -> Option<String> {
        self.name_of_number(self.hosts.get(&host.parse().ok()?)?)
    }

    fn name_of_number(&self, host: u32) -> Option<String> {
        let name = self.names[host as usize].as_ref()?;
        let is_unique = self.called.get(name).is_some_and(|hosts| hosts.len() == 1);
        is_unique.then(|| name.to_string())
    }

    /// Returns the display names of these hosts, in the order of their ids. A host whose name is missing or not unique is shown by its id.
    pub(crate) fn called(&self, hosts: &BTreeSet<u32>) -> Vec<(u32, String)> {
        let mut called = Vec::new();
        for (host, number) in self.hosts.numbered() {
            if hosts.contains(&number) {
                called.push((number, self.name_of_number(number).unwrap_or_else(|| host.to_string())));
            }
        }
        called
    }

    /// The hosts in the order of their names, each with what people call it, where that tells which of them it is.
    pub(crate) fn labels(&self) -> Vec<HostLabel> {
        let label = |(host, number): (&HostId, u32)| (host.to_string(), self.name_of_number(number));
        self.hosts.numbered().into_iter().map(label).collect()
    }

    /// All hosts of each measured run that several served, ascending in the order of their names; nothing where none
    /// was.
    pub(crate) fn gangs(&self) -> BTreeMap<RunIndex, Vec<u32>> {
        if !self.has_parts() {
            return BTreeMap::new();
        }
        let places = self.hosts.places();
        let mut gangs: BTreeMap<RunIndex, Vec<u32>> = BTreeMap::new();
        for one in self.took_part() {
            gangs.entry(one.location.run).or_default().push(places[self.stay(one.location).host as usize]);
        }
        gangs.retain(|_, hosts| hosts.len() > 1);
        gangs.values_mut().for_each(|hosts| hosts.sort_unstable());
        gangs
    }

    /// Over how many leaf switches each measured run was spread; `None` where that of some host is not known.
    /// Nothing where none is known.
    pub(crate) fn spans(&self) -> BTreeMap<RunIndex, Option<u32>> {
        if self.switches.len() == 0 {
            return BTreeMap::new();
        }
        let mut switches: BTreeMap<RunIndex, Option<BTreeSet<Number>>> = BTreeMap::new();
        for one in self.took_part() {
            let all = switches.entry(one.location.run).or_insert_with(|| Some(BTreeSet::new()));
            *all = all.take().zip(self.stay(one.location).switch).map(|(mut all, switch)| {
                all.insert(switch);
                all
            });
        }
        switches.into_iter().map(|(run, all)| (run, all.map(|all| all.len() as u32))).collect()
    }

    /// The measured runs in which any of these hosts took part.
    pub(crate) fn runs_on(&self, hosts: &BTreeSet<u32>) -> BTreeSet<RunIndex> {
        let on = self.took_part().filter(|one| hosts.contains(&self.stay(one.location).host));
        on.map(|one| one.location.run).collect()
    }

    /// What the hosts of measured attempts did, those that did not start the program among them.
    fn took_part(&self) -> impl Iterator<Item = &HostAttempt> {
        let counts = self.counted();
        self.served.iter().filter(move |one| counts(one))
    }

    /// Whether an attempt on a host is of a run that was measured: the parts of a run that failed are of none.
    pub(crate) fn counted(&self) -> impl Fn(&HostAttempt) -> bool + use<> {
        let mut attempts: BTreeMap<RunIndex, Attempt> = BTreeMap::new();
        if self.has_parts() {
            let measured = self.served.iter().filter(|one| one.is_measured);
            attempts.extend(measured.map(|one| (one.location.run, one.attempt)));
        }
        move |one| one.is_measured || (one.is_part && attempts.get(&one.location.run) == Some(&one.attempt))
    }

    /// Whether several hosts served a run together.
    fn has_parts(&self) -> bool {
        self.served.iter().any(|one| one.is_part)
    }

    /// The machine of each host, by the hosts' numbers; how machines are numbered tells nothing.
    pub(crate) fn machines(&self) -> Vec<u32> {
        self.machines.of_hosts(self.hosts.len())
    }

    /// How many classes its hosts are of.
    pub(crate) fn classes(&self) -> usize {
        self.classes.len()
    }

    /// How many runs of a host were measured, and how many of its attempts were lost.
    pub(crate) fn attempts_of(&self, host: &HostId) -> (u64, u64) {
        let Some(number) = self.hosts.get(host) else { return (0, 0) };
        let of_host = || self.served.iter().filter(|one| self.stay(one.location).host == number);
        let measured = of_host().filter(|one| one.is_measured).count() as u64;
        (measured, of_host().filter(|one| one.is_lost).count() as u64)
    }

    /// The attempt at a place, with what a policy that asks for fresh hosts wants to know of it.
    pub(crate) fn attempt(&self, place: u32) -> (&HostAttempt, Option<&PriorUse>) {
        (&self.served[place as usize], self.before.get(place as usize))
    }

    /// The places of the attempts of each host, by its number, in the order in which it made them.
    pub(crate) fn by_host(&self) -> Vec<Vec<u32>> {
        let mut attempts = vec![0; self.hosts.len()];
        let host = |one: &HostAttempt| self.stay(one.location).host as usize;
        self.served.iter().for_each(|one| attempts[host(one)] += 1);
        let mut of_hosts: Vec<Vec<u32>> = attempts.into_iter().map(Vec::with_capacity).collect();
        for (place, one) in (0..).zip(&self.served) {
            of_hosts[host(one)].push(place);
        }
        let order = |place: &u32| {
            let one = &self.served[*place as usize];
            (one.epoch, one.attempt)
        };
        of_hosts.iter_mut().for_each(|places| places.sort_unstable_by_key(order));
        of_hosts
    }
}

/// What the agent read before it began, held against the bounds.
fn readings(rest: &Rest, record: Option<&Record>) -> Readings {
    let reading = record.and_then(|record| record.rest);
    let load = |most: u32| Some(reading?.load_percent? <= most);
    let temperature = |most: i32| Some(reading?.temperature_mc? <= most);
    let frequency = |least: u32| Some(reading?.frequency_percent? >= least);
    let asked = [
        rest.load_percent.map(load),
        rest.temperature_mc.map(temperature),
        rest.frequency_percent.map(frequency),
    ];
    let found: Vec<Option<bool>> = asked.into_iter().flatten().collect();
    if found.contains(&Some(false)) {
        Readings::Beyond
    } else if found.contains(&None) {
        Readings::Absent
    } else {
        Readings::Within
    }
}
