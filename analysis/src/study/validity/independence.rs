//! What the evidence says of the independence of the measured runs: counted from leases, hosts, boots and allocations, and
//! held against what the plan asked for; never taken from the plan's claim.

mod words;

use super::freshness::{self, RunFreshness, StaleRun};
use crate::{conclusion::Warnings, study::gather::evidence::Evidence, study::gather::numbers::Number};
use serde::{Deserialize, Serialize};
use speedup_core::experiment::{Policy, Scope};
use speedup_core::{independence::Violation, plan::Plan, repetition::Order, value::id::HostId};
use std::collections::{BTreeMap, BTreeSet};

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
    /// There is one run, which is independent of nothing.
    SingleRun,
    /// Every measured run was executed on a fresh host.
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
        let asked = plan.experiment.independence;
        let mut counts = HostCounts::new(evidence);
        let (fresh_runs, against) = freshness::judge(evidence, plan, |judged| counts.add(judged, plan));
        let runs = counts.runs;
        let mut report = Self {
            kind: IndependenceKind::NoRuns,
            policy: asked.policy,
            scope: asked.scope,
            sentence: String::new(),
            runs,
            hosts: counts.hosts,
            most_runs_on_one_host: counts.most,
            most_runs_of_a_benchmark_on_one_host: counts.most_of_benchmark,
            most_runs_of_a_cell_on_one_host: counts.most_of_cell,
            fresh_runs,
            fresh_share: (runs > 0).then(|| fresh_runs as f64 / runs as f64),
            evidence: EvidenceCounts::new(&counts, &against, evidence),
        };
        report.kind = report.judge(plan);
        report.sentence = report.say(u64::from(plan.runs() - plan.builds()));
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
        } else if self.runs == 1 {
            IndependenceKind::SingleRun
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
    fn new(counts: &HostCounts, against: &[StaleRun], evidence: &Evidence) -> Self {
        let names: Vec<&str> = evidence.hosts.names().map(HostId::as_str).collect();
        let places = evidence.hosts.places();
        let mut violations = BTreeMap::new();
        against.iter().for_each(|one| *violations.entry(one.violation).or_default() += 1);
        let named = |one: &StaleRun| {
            let host = names[places[one.host as usize] as usize];
            ViolatingRun {
                run: one.run.0,
                attempt: one.attempt.0,
                host: host.to_owned(),
                host_name: evidence.name_of(host),
                violation: one.violation,
            }
        };
        Self {
            machines: counts.of_machines.iter().filter(|hosts| **hosts > 0).count() as u64,
            most_hosts_on_one_machine: counts.of_machines.iter().copied().max().unwrap_or(0),
            visits: counts.visits,
            boots: counts.boots,
            allocations: counts.allocations.len() as u64,
            classes: counts.classes.len() as u64,
            hosts_of_several_versions: counts.of_several_versions,
            violations,
            violating_runs: against.iter().take(MOST_VIOLATIONS_NAMED).map(named).collect(),
        }
    }
}

/// What hosts did in measured runs, counted one host after another.
struct HostCounts {
    /// The machine of each host.
    machines: Vec<u32>,
    /// The number of hosts of each machine.
    of_machines: Vec<u64>,
    runs: u64,
    hosts: u64,
    most: u64,
    most_of_benchmark: u64,
    most_of_cell: u64,
    visits: u64,
    boots: u64,
    of_several_versions: u64,
    allocations: BTreeSet<Number>,
    classes: BTreeSet<Number>,
    /// What is counted of a host, by number; kept for its room.
    numbers: Vec<u32>,
}

impl HostCounts {
    fn new(evidence: &Evidence) -> Self {
        let machines = evidence.machines();
        Self {
            of_machines: vec![0; machines.len()],
            machines,
            runs: 0,
            hosts: 0,
            most: 0,
            most_of_benchmark: 0,
            most_of_cell: 0,
            visits: 0,
            boots: 0,
            of_several_versions: 0,
            allocations: BTreeSet::new(),
            classes: BTreeSet::new(),
            numbers: Vec::new(),
        }
    }

    fn add(&mut self, judged: &[RunFreshness<'_>], plan: &Plan) {
        let Some(host) = judged.first().map(|one| one.stay.host) else { return };
        let versions = plan.experiment.versions.len().max(1) as u32;
        let own = || judged.iter().filter(|one| !one.served.is_part);
        self.hosts += 1;
        self.of_machines[self.machines[host as usize] as usize] += 1;
        self.runs += own().count() as u64;
        self.most = self.most.max(judged.len() as u64);
        self.allocations.extend(judged.iter().filter_map(|one| one.stay.allocation));
        self.classes.extend(judged.iter().filter_map(|one| one.stay.class));
        let numbers = &mut self.numbers;
        self.visits += sorted(numbers, own().map(|one| one.visit.0)).chunk_by(u32::eq).count() as u64;
        self.boots +=
            sorted(numbers, judged.iter().map(|one| one.stay.boot)).chunk_by(u32::eq).count() as u64;
        let cells = sorted(numbers, judged.iter().map(|one| plan.cell_number(one.served.location.run)));
        let most = |of_one: &[u32]| of_one.len() as u64;
        self.most_of_cell = cells.chunk_by(u32::eq).map(most).fold(self.most_of_cell, u64::max);
        let of_benchmarks = || cells.chunk_by(|one, other| one / versions == other / versions);
        self.most_of_benchmark = of_benchmarks().map(most).fold(self.most_of_benchmark, u64::max);
        let of_several = of_benchmarks().any(|cells| cells.first() != cells.last());
        self.of_several_versions += u64::from(of_several);
    }
}

/// All of them, ascending.
fn sorted(numbers: &mut Vec<u32>, of: impl Iterator<Item = u32>) -> &[u32] {
    numbers.clear();
    numbers.extend(of);
    numbers.sort_unstable();
    numbers
}
