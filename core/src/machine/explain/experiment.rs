//! What all the waiting runs of an experiment wait for: those together of which the same hosts are kept by the same.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::Hindrance;
use crate::machine::lane::lane_in_words;
use crate::machine::{Active, Machine};
use crate::value::id::{ExperimentId, HostId, HostName, RunIndex};

/// Most kinds of runs that are looked at: each is held against every host of the pool.
pub const MAX_EXPLAINED: usize = 100;
/// Most hosts that are named of those which the same keeps.
pub const NAMED_HOSTS: usize = 5;

/// What the waiting runs of an experiment wait for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outlook {
    /// The runs, those together for which the hosts stand alike.
    pub waits: Vec<Waits>,
    /// Kinds of runs that were not looked at.
    pub left_out: u32,
}

/// Runs that wait for the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waits {
    /// Which: benchmarks, cells, builds, or all.
    pub of: Vec<String>,
    pub runs: u32,
    /// The hosts of the pool, by what keeps them.
    pub hosts: Vec<KeptHosts>,
    /// The facts in which hosts of other classes differ, of the first such host.
    pub differing: Vec<String>,
}

/// Hosts that the same keeps from a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeptHosts {
    pub hindrance: Hindrance,
    pub hosts: u32,
    pub first: Vec<NamedHost>,
}

/// A host with the name that people know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamedHost {
    pub host: HostId,
    /// What people call it, where they call no other host of the pool so.
    pub host_name: Option<HostName>,
}

impl Outlook {
    /// The hosts that are named of those which the experiment has given up, each once.
    pub fn given_up(&self) -> Vec<String> {
        let mut hosts = BTreeSet::new();
        for kept in self.waits.iter().flat_map(|waits| &waits.hosts) {
            if kept.hindrance == Hindrance::GivenUp {
                hosts.extend(kept.first.iter().map(|named| named.host.to_string()));
            }
        }
        hosts.into_iter().collect()
    }
}

impl Machine {
    /// What the waiting runs of an active experiment wait for.
    pub fn outlook(&self, experiment: ExperimentId) -> Option<Outlook> {
        let active = self.experiments.get(&experiment)?;
        let mut lanes: BTreeMap<u32, (RunIndex, u32)> = BTreeMap::new();
        for (lane, visit) in active.queue.waiting() {
            let place = active.kept.plan.place(RunIndex(visit));
            let (first, runs) = lanes.entry(lane).or_insert((RunIndex(visit), 0));
            *first = RunIndex(visit.min(first.0));
            *runs += place.group.0 + place.size - visit;
        }
        let left_out = lanes.len().saturating_sub(MAX_EXPLAINED) as u32;
        let shared = self.shared_names();
        let mut waits: Vec<Waits> = Vec::new();
        for (lane, (first, runs)) in lanes.into_iter().take(MAX_EXPLAINED) {
            let of = lane_in_words(&active.kept.plan, lane);
            let hosts = self.kept_hosts(experiment, active, first, &shared);
            // Lanes from which the same hosts are kept are told together.
            match waits.iter_mut().find(|waits| waits.hosts == hosts) {
                Some(waits) => {
                    waits.of.push(of);
                    waits.runs += runs;
                }
                None => {
                    let differing = self.first_differing(experiment, active);
                    waits.push(Waits { of: vec![of], runs, hosts, differing });
                }
            }
        }
        Some(Outlook { waits, left_out })
    }

    /// Names that several hosts have, as agents of one machine do.
    fn shared_names(&self) -> BTreeSet<HostName> {
        let mut known = BTreeSet::new();
        let names = self.hosts.iter().filter_map(|host| host.facts.name());
        names.filter(|name| !known.insert(name.clone())).collect()
    }

    fn kept_hosts(
        &self,
        experiment: ExperimentId,
        active: &Active,
        run: RunIndex,
        shared: &BTreeSet<HostName>,
    ) -> Vec<KeptHosts> {
        let mut kept: BTreeMap<Hindrance, KeptHosts> = BTreeMap::new();
        // By their ids, as lists of hosts have them.
        for number in self.numbers.values().copied() {
            let host = self.host_at(number);
            let hindrance = self.hindrance(number, experiment, active, run);
            let none = KeptHosts { hindrance, hosts: 0, first: Vec::new() };
            let of = kept.entry(hindrance).or_insert(none);
            of.hosts += 1;
            if of.first.len() < NAMED_HOSTS {
                let host_name = host.facts.name().filter(|name| !shared.contains(name));
                of.first.push(NamedHost { host: host.facts.host.clone(), host_name });
            }
        }
        kept.into_values().collect()
    }

    fn first_differing(&self, experiment: ExperimentId, active: &Active) -> Vec<String> {
        let other = self.hosts.iter().find(|host| !active.admits(host.class));
        other.map(|host| self.differing(host, experiment)).unwrap_or_default()
    }
}
