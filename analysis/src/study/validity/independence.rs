//! What the evidence says of the independence of the measured runs: counted from leases, hosts, boots and allocations, and
//! held against what the plan asked for; never taken from the plan's claim.

mod words;

use super::freshness::{self, Judged};
use crate::conclusion::Warnings;
use crate::study::gather::evidence::Evidence;
use serde::{Deserialize, Serialize};
use speedup_core::experiment::{Policy, Scope};
use speedup_core::independence::Violation;
use speedup_core::plan::Plan;
use speedup_core::repetition::Order;
use speedup_core::value::id::{HostId, RunIndex};
use std::collections::BTreeMap;

/// Violations that are named; the others are counted.
const MOST_VIOLATIONS_NAMED: usize = 20;

/// The independence of the measured runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndependenceReport {
    /// Whether it was provided.
    pub kind: IndependenceKind,
    /// The plan's policy.
    pub policy: Policy,
    /// The plan's scope.
    pub scope: Scope,
    /// All of this in a sentence.
    pub sentence: String,
    /// The measured runs.
    pub runs: u64,
    /// The hosts that executed them.
    pub hosts: u64,
    /// The most runs on one host.
    pub most_runs_on_one_host: u64,
    /// The most runs of one benchmark on one host, in whatever version.
    pub most_runs_of_a_benchmark_on_one_host: u64,
    /// The most runs of one cell on one host.
    pub most_runs_of_a_cell_on_one_host: u64,
    /// The runs that found a fresh host by the policy; under `any` those whose host had served nothing in the scope. The
    /// runs of a visit are as fresh as its first.
    pub fresh_runs: u64,
    /// Their share.
    pub fresh_share: Option<f64>,
    /// What further evidence says; nothing in reports from before it was told.
    #[serde(default)]
    pub evidence: EvidenceCounts,
}

/// What took part, and what is against independence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceCounts {
    /// The machines that the hosts were, by boot and hardware ids; 0 in reports from before it was told.
    #[serde(default)]
    pub machines: u64,
    /// The most hosts that were one machine.
    #[serde(default)]
    pub most_hosts_on_one_machine: u64,
    /// The visits of the runs: what one host does in one go, a single run where the plan neither nests nor blocks.
    pub visits: u64,
    /// The boots in which they were executed.
    pub boots: u64,
    /// The allocations, of hosts that have any.
    pub allocations: u64,
    /// The fingerprint classes of the hosts, of those whose class is known.
    pub classes: u64,
    /// The hosts on which several versions of a benchmark were executed.
    pub hosts_of_several_versions: u64,
    /// Runs by what is against their having found a fresh host.
    pub violations: BTreeMap<Violation, u64>,
    /// The first of them, in run order.
    pub violating_runs: Vec<ViolatingRun>,
}

/// A measured run that found no fresh host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViolatingRun {
    /// Which run.
    pub run: u32,
    /// Which attempt of it was measured.
    pub attempt: u32,
    /// On which host; of a run on several the first of them that was not fresh, in the order of their seats.
    pub host: String,
    /// What people call that host, where that is known and no other host of the experiment has the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_name: Option<String>,
    /// What is against it.
    pub violation: Violation,
}

/// Whether independence was provided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IndependenceKind {
    /// There are no runs yet.
    NoRuns,
    /// Every run was executed on a fresh host.
    Provided,
    /// Every run was executed on a host that was fresh by the policy, and hosts served several runs: what is of the
    /// machine itself they share.
    Renewed,
    /// Every run was executed on a set of hosts of its own, and hosts served in several sets: what is of a host the runs share in
    /// which it served.
    Sets,
    /// By design every version of a benchmark was executed on each host, and the versions are compared in pairs.
    Pairs,
    /// By design several runs were executed on each host, and the hosts or boots are what is independent.
    Levels,
    /// Every sample is independent within, but the two samples of a benchmark share hosts.
    WithinCells,
    /// Several hosts were one machine, which is no more independent of itself under another name.
    SharedMachine,
    /// The policy did not ask for it, and hosts served repeatedly.
    NotProvided,
    /// The policy asked for it, and the evidence is against it.
    Broken,
}

impl IndependenceReport {
    /// Of all attempts, by the plan's policy.
    pub(crate) fn new(evidence: &Evidence, plan: &Plan) -> Self {
        let judged = freshness::judge(evidence, plan);
        let asked = plan.experiment.independence;
        let versions = plan.experiment.versions.len().max(1) as u32;
        let measured = || judged.iter().filter(|one| !one.is_part);
        let runs = measured().count() as u64;
        let fresh_runs = measured().filter(|one| one.is_fresh).count() as u64;
        let mut report = Self {
            kind: IndependenceKind::NoRuns,
            policy: asked.policy,
            scope: asked.scope,
            sentence: String::new(),
            runs,
            hosts: distinct(judged.iter().map(|one| one.seat.host)),
            most_runs_on_one_host: most(&judged, |one| one.seat.host),
            most_runs_of_a_benchmark_on_one_host: most(&judged, |one| (one.cell / versions, one.seat.host)),
            most_runs_of_a_cell_on_one_host: most(&judged, |one| (one.cell, one.seat.host)),
            fresh_runs,
            fresh_share: (runs > 0).then(|| fresh_runs as f64 / runs as f64),
            evidence: EvidenceCounts::new(&judged, evidence, versions),
        };
        report.kind = report.judge(plan);
        report.sentence = report.say();
        report
    }

    /// Raises what the reader must know of independence.
    pub(crate) fn warn(&self, warnings: &mut Warnings) {
        if let Some((code, sentence)) = self.caveat() {
            warnings.raise(code, sentence);
        }
    }

    fn judge(&self, plan: &Plan) -> IndependenceKind {
        let is_fresh = self.fresh_runs == self.runs;
        let versions_met = self.evidence.hosts_of_several_versions > 0;
        let renews = self.policy.renewed().is_some();
        if self.runs == 0 {
            IndependenceKind::NoRuns
        } else if self.evidence.most_hosts_on_one_machine > 1 {
            IndependenceKind::SharedMachine
        } else if !is_fresh && self.policy.asks_for_freshness() {
            IndependenceKind::Broken
        } else if !is_fresh {
            IndependenceKind::NotProvided
        } else if self.policy.is_of_sets() && self.most_runs_of_a_benchmark_on_one_host > 1 {
            IndependenceKind::Sets
        } else if plan.experiment.order == Order::Blocked {
            IndependenceKind::Pairs
        } else if versions_met && !renews {
            IndependenceKind::WithinCells
        } else if versions_met {
            IndependenceKind::Renewed
        } else if self.visits_repeat() {
            IndependenceKind::Levels
        } else if self.most_runs_of_a_cell_on_one_host > 1 {
            IndependenceKind::Renewed
        } else {
            IndependenceKind::Provided
        }
    }

    /// Whether visits have several runs.
    fn visits_repeat(&self) -> bool {
        self.evidence.visits < self.runs
    }
}

impl EvidenceCounts {
    fn new(judged: &[Judged], evidence: &Evidence, versions: u32) -> Self {
        let names: Vec<&str> = evidence.hosts.names().map(HostId::as_str).collect();
        let places = evidence.hosts.places();
        let (mut violations, mut violating_runs) = (BTreeMap::new(), Vec::new());
        for one in judged.iter().filter(|one| !one.is_part) {
            let Some(violation) = one.violation else { continue };
            *violations.entry(violation).or_default() += 1;
            if violating_runs.len() < MOST_VIOLATIONS_NAMED {
                let host = names[places[one.violating as usize] as usize];
                violating_runs.push(ViolatingRun {
                    run: one.seat.run.0,
                    attempt: one.attempt.0,
                    host: host.to_owned(),
                    host_name: evidence.name_of(host),
                    violation,
                });
            }
        }
        let machines = evidence.machines();
        let seats = sorted(judged.iter().map(|one| (machines[one.seat.host as usize], one.seat.host)));
        let mut of_machines: BTreeMap<u32, u64> = BTreeMap::new();
        seats.iter().for_each(|(machine, _)| *of_machines.entry(*machine).or_default() += 1);
        // By host and benchmark, with the versions that the host ran of it.
        let met =
            sorted(judged.iter().map(|one| ((one.seat.host, one.cell / versions), one.cell % versions)));
        let several = met.chunk_by(|(one, _), (other, _)| one == other).filter(|met| met.len() > 1);
        let several = several.map(|met| met[0].0.0);
        let visit = |one: &Judged| -> (RunIndex, u32) { (one.visit, one.seat.host) };
        Self {
            machines: of_machines.len() as u64,
            most_hosts_on_one_machine: of_machines.into_values().max().unwrap_or(0),
            visits: distinct(judged.iter().filter(|one| !one.is_part).map(visit)),
            boots: distinct(judged.iter().map(|one| (one.seat.host, one.seat.boot))),
            allocations: distinct(judged.iter().filter_map(|one| one.allocation)),
            classes: distinct(judged.iter().filter_map(|one| one.seat.class)),
            hosts_of_several_versions: distinct(several),
            violations,
            violating_runs,
        }
    }
}

fn distinct<T: Ord>(of: impl Iterator<Item = T>) -> u64 {
    sorted(of).len() as u64
}

/// Each once; a list, because there may be as many as runs.
fn sorted<T: Ord>(of: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = of.collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The most runs with one key.
fn most<T: Ord>(judged: &[Judged], key: impl Fn(&Judged) -> T) -> u64 {
    let mut keys: Vec<T> = judged.iter().map(key).collect();
    keys.sort_unstable();
    keys.chunk_by(|one, other| one == other).map(|same| same.len() as u64).max().unwrap_or(0)
}
