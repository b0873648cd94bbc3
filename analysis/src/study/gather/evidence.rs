//! What is kept of each attempt as evidence of independence: where it was executed, in which boot and allocation, after what.
//!
//! Lease epochs are given in order, and a host holds one lease at a time; so the attempts of a host, by their epochs, are what
//! it did in this experiment, whatever the plan claims.

use crate::study::validity::host_effect::HostLabel;
use speedup_core::host::fingerprint::{ClassId, HardwareId};
use speedup_core::independence::{Readings, Rest};
use speedup_core::machine::event::{AttemptEnd, EndedAttempt};
use speedup_core::run::record::{Outcome, Record};
use speedup_core::value::id::{
    AllocationId, Attempt, BootId, HostId, HostName, LeaseEpoch, RunIndex, SwitchPath,
};
use speedup_core::value::time::{Span, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// Small numbers for names, as they first came: never part of a report, which must not depend on that order.
#[derive(Debug)]
pub(crate) struct Numbers<T>(BTreeMap<T, u32>);

/// Where a measured run was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) run: RunIndex,
    /// Its number in the study.
    pub(crate) host: u32,
    /// The host's boot, likewise.
    pub(crate) boot: u32,
    /// The host's class, likewise, where it is known.
    pub(crate) class: Option<u32>,
}

/// An attempt that ended, however.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    pub(crate) epoch: LeaseEpoch,
    pub(crate) attempt: Attempt,
    pub(crate) cell: u32,
    pub(crate) seat: Seat,
    pub(crate) allocation: Option<u32>,
    /// The leaf switch above the host, where it is known.
    switch: Option<u32>,
    /// What the lease says of the last run in the policy's scope.
    pub(crate) boot_before: Option<u32>,
    pub(crate) allocation_before: Option<u32>,
    /// How long before the lease the host's last run of any experiment ended.
    pub(crate) idle: Option<Span>,
    /// What the lease says of attempts before, in the policy's scope.
    pub(crate) served_in_scope: u32,
    /// Whether the lease says that the hosts of the run had served in the policy's scope together.
    pub(crate) set_served: bool,
    pub(crate) is_measured: bool,
    /// Whether another host started the program; it is measured there.
    pub(crate) is_part: bool,
    is_lost: bool,
    /// Whether its host read as rested; of a policy that does not ask nothing is kept.
    pub(crate) readings: Readings,
    /// When it was given its host.
    pub(crate) granted: Timestamp,
    /// When the agent said that it began, or when it was given its host.
    pub(crate) began: Timestamp,
    pub(crate) ended: Timestamp,
}

/// All that is kept.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    pub(crate) hosts: Numbers<HostId>,
    /// What people called them, the latest of each.
    names: BTreeMap<HostId, HostName>,
    /// Which hosts were called so.
    called: BTreeMap<HostName, BTreeSet<HostId>>,
    machines: Machines,
    boots: Numbers<BootId>,
    allocations: Numbers<AllocationId>,
    /// By the whole path from the top: a leaf switch has one.
    switches: Numbers<SwitchPath>,
    classes: Numbers<ClassId>,
    pub(crate) served: Vec<Served>,
}

/// Which hosts are one machine: those that were in one boot, or are one hardware.
#[derive(Debug, Default)]
struct Machines {
    /// The first host of each boot and of each hardware.
    of_boot: BTreeMap<u32, u32>,
    of_hardware: BTreeMap<HardwareId, u32>,
    /// Hosts of which that tells that they are one.
    same: BTreeSet<(u32, u32)>,
}

impl Machines {
    fn keep(&mut self, host: u32, boot: u32, hardware: Option<HardwareId>) {
        let in_boot = *self.of_boot.entry(boot).or_insert(host);
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

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Ord + Clone> Numbers<T> {
    fn of(&mut self, name: &T) -> u32 {
        let next = self.0.len() as u32;
        match self.0.get(name) {
            Some(number) => *number,
            None => *self.0.entry(name.clone()).or_insert(next),
        }
    }

    /// The names with their numbers.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (&T, u32)> {
        self.0.iter().map(|(name, number)| (name, *number))
    }

    /// The names, sorted.
    pub(crate) fn names(&self) -> impl Iterator<Item = &T> {
        self.0.keys()
    }

    /// The place of each among the sorted names, by its number.
    pub(crate) fn places(&self) -> Vec<u32> {
        let mut places = vec![0; self.0.len()];
        for (place, number) in (0..).zip(self.0.values()) {
            places[*number as usize] = place;
        }
        places
    }
}

impl Evidence {
    /// Keeps an attempt, or the part of a further host in one, and says where it was executed.
    pub(crate) fn keep(&mut self, ended: &EndedAttempt, rest: Option<&Rest>) -> Seat {
        let lease = &ended.lease;
        let evidence = &lease.evidence;
        let host = self.hosts.of(&lease.host);
        if let Some(name) = &evidence.host_name
            && self.names.get(&lease.host) != Some(name)
        {
            self.names.insert(lease.host.clone(), name.clone());
            self.called.entry(name.clone()).or_default().insert(lease.host.clone());
        }
        let class = evidence.class.as_ref().map(|class| self.classes.of(class));
        let boot = self.boots.of(&evidence.boot);
        self.machines.keep(host, boot, evidence.machine);
        let seat = Seat { run: lease.run, host, boot, class };
        let record = match &ended.end {
            AttemptEnd::Reported(record) => Some(record.as_ref()),
            AttemptEnd::Lost { .. } => None,
        };
        let is_part = lease.is_of_member() && record.is_some();
        self.served.push(Served {
            epoch: lease.epoch,
            attempt: lease.attempt,
            cell: ended.cell,
            seat,
            allocation: evidence.allocation.as_ref().map(|allocation| self.allocations.of(allocation)),
            switch: evidence.switches.as_ref().map(|path| self.switches.of(path)),
            boot_before: evidence.boot_before.as_ref().map(|boot| self.boots.of(boot)),
            allocation_before: evidence.allocation_before.as_ref().map(|one| self.allocations.of(one)),
            idle: evidence.idle,
            served_in_scope: evidence.served_in_scope,
            set_served: evidence.set_served == Some(true),
            is_lost: record.is_none(),
            is_measured: !is_part && record.is_some_and(|record| record.outcome == Outcome::Measured),
            is_part,
            readings: rest.map_or(Readings::Within, |rest| readings(rest, record)),
            granted: lease.granted,
            began: lease.started.unwrap_or(lease.granted),
            ended: ended.ended,
        });
        seat
    }

    /// Seats whose numbers are places among the sorted names, which may reach a report.
    pub(crate) fn by_name(&self) -> impl Fn(Seat) -> Seat + use<> {
        let (hosts, boots, classes) = (self.hosts.places(), self.boots.places(), self.classes.places());
        move |seat| Seat {
            run: seat.run,
            host: hosts[seat.host as usize],
            boot: boots[seat.boot as usize],
            class: seat.class.map(|class| classes[class as usize]),
        }
    }

    /// What people call a host, where that tells which of the experiment's hosts it is.
    pub(crate) fn name_of(&self, host: &str) -> Option<String> {
        let name = self.names.get(&host.parse::<HostId>().ok()?)?;
        let is_unique = self.called.get(name).is_some_and(|hosts| hosts.len() == 1);
        is_unique.then(|| name.to_string())
    }

    /// The hosts in the order of their names, each with what people call it, where that tells which of them it is.
    pub(crate) fn labels(&self) -> Vec<HostLabel> {
        let label = |host: &HostId| (host.to_string(), self.name_of(host.as_str()));
        self.hosts.names().map(label).collect()
    }

    /// All hosts of each measured run that several served, ascending in the order of their names; nothing where none
    /// was.
    pub(crate) fn gangs(&self) -> BTreeMap<RunIndex, Vec<u32>> {
        if !self.served.iter().any(|one| one.is_part) {
            return BTreeMap::new();
        }
        let places = self.hosts.places();
        let mut gangs: BTreeMap<RunIndex, Vec<u32>> = BTreeMap::new();
        for one in self.took_part() {
            gangs.entry(one.seat.run).or_default().push(places[one.seat.host as usize]);
        }
        gangs.retain(|_, hosts| hosts.len() > 1);
        gangs.values_mut().for_each(|hosts| hosts.sort_unstable());
        gangs
    }

    /// Over how many leaf switches each measured run was spread; `None` where that of some host is not known.
    /// Nothing where none is known.
    pub(crate) fn spans(&self) -> BTreeMap<RunIndex, Option<u32>> {
        if self.switches.0.is_empty() {
            return BTreeMap::new();
        }
        let mut switches: BTreeMap<RunIndex, Option<BTreeSet<u32>>> = BTreeMap::new();
        for one in self.took_part() {
            let all = switches.entry(one.seat.run).or_insert_with(|| Some(BTreeSet::new()));
            *all = all.take().zip(one.switch).map(|(mut all, switch)| {
                all.insert(switch);
                all
            });
        }
        switches.into_iter().map(|(run, all)| (run, all.map(|all| all.len() as u32))).collect()
    }

    /// The measured runs in which any of these hosts took part.
    pub(crate) fn runs_on(&self, hosts: &BTreeSet<u32>) -> BTreeSet<RunIndex> {
        let on = self.took_part().into_iter().filter(|one| hosts.contains(&one.seat.host));
        on.map(|one| one.seat.run).collect()
    }

    /// What the hosts of measured attempts did, those that did not start the program among them.
    fn took_part(&self) -> Vec<&Served> {
        let measured = self.served.iter().filter(|one| one.is_measured);
        let attempts: BTreeMap<RunIndex, Attempt> = measured.map(|one| (one.seat.run, one.attempt)).collect();
        let took_part = |one: &&Served| {
            (one.is_measured || one.is_part) && attempts.get(&one.seat.run) == Some(&one.attempt)
        };
        self.served.iter().filter(took_part).collect()
    }

    /// The machine of each host, by the hosts' numbers; how machines are numbered tells nothing.
    pub(crate) fn machines(&self) -> Vec<u32> {
        self.machines.of_hosts(self.hosts.0.len())
    }

    /// How many classes its hosts are of.
    pub(crate) fn classes(&self) -> usize {
        self.classes.0.len()
    }

    /// How many runs of a host were measured, and how many of its attempts were lost.
    pub(crate) fn attempts_of(&self, host: &HostId) -> (u64, u64) {
        let Some(number) = self.hosts.0.get(host) else { return (0, 0) };
        let of_host = || self.served.iter().filter(|one| one.seat.host == *number);
        let measured = of_host().filter(|one| one.is_measured).count() as u64;
        (measured, of_host().filter(|one| one.is_lost).count() as u64)
    }

    /// The attempts of each host in the order in which it made them.
    pub(crate) fn by_host(&self) -> Vec<&Served> {
        let mut served: Vec<&Served> = self.served.iter().collect();
        served.sort_unstable_by_key(|one| (one.seat.host, one.epoch, one.attempt));
        served
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
