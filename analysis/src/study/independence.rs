//! What the evidence says of the independence of the measured runs. Counted from the hosts themselves, and
//! held against what the plan asked for.

use super::cell::CellRecords;
use super::count::{counted, grouped, percent};
use super::warning::Warnings;
use serde::{Deserialize, Serialize};
use speedup_core::experiment::{Independence, Policy, Scope};

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
    /// The runs whose host had served nothing before in the policy's scope, by the evidence of their leases.
    pub fresh_runs: u64,
    /// Their share.
    pub fresh_share: Option<f64>,
}

/// Whether independence was provided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IndependenceKind {
    /// There are no runs yet.
    NoRuns,
    /// Every run was executed on a fresh host.
    Provided,
    /// Every sample is independent within, but the two samples of a benchmark share hosts.
    WithinCells,
    /// The policy did not ask for it, and hosts served repeatedly.
    NotProvided,
    /// The policy asked for it, and the evidence is against it.
    Broken,
}

impl IndependenceReport {
    /// Of the records of all cells, `versions` of them a benchmark.
    pub(super) fn new(asked: Independence, cells: &[CellRecords], versions: usize) -> Self {
        let most_in = |cells: &[CellRecords]| most_on_one_host(cells);
        let mut hosts: Vec<u32> = cells.iter().flat_map(|cell| cell.hosts.iter().copied()).collect();
        let runs = hosts.len() as u64;
        hosts.sort_unstable();
        hosts.dedup();
        let fresh_runs = cells.iter().map(|cell| cell.fresh).sum();
        let mut report = Self {
            kind: IndependenceKind::NoRuns,
            policy: asked.policy,
            scope: asked.scope,
            sentence: String::new(),
            runs,
            hosts: hosts.len() as u64,
            most_runs_on_one_host: most_in(cells),
            most_runs_of_a_benchmark_on_one_host: cells.chunks(versions).map(most_in).max().unwrap_or(0),
            most_runs_of_a_cell_on_one_host: cells.chunks(1).map(most_in).max().unwrap_or(0),
            fresh_runs,
            fresh_share: (runs > 0).then(|| fresh_runs as f64 / runs as f64),
        };
        report.kind = report.judge();
        report.sentence = report.say();
        report
    }

    /// Raises what the reader must know of independence.
    pub(super) fn warn(&self, warnings: &mut Warnings) {
        let (code, sentence) = match self.kind {
            IndependenceKind::NoRuns | IndependenceKind::Provided => return,
            IndependenceKind::WithinCells => (
                "dependent_through_host",
                "The versions of a benchmark met on the same hosts, so their samples are not independent of each other: \
                 take scope = \"benchmark\", or a blocked design, which uses the pairs.",
            ),
            IndependenceKind::NotProvided => (
                "independence_not_provided",
                "Runs shared hosts, so the confidence levels hold for these machines in these states only: take policy = \
                 \"distinct\" and a pool of enough identical hosts to claim more.",
            ),
            IndependenceKind::Broken => (
                "independence_broken",
                "The policy asked for fresh hosts and the evidence is against it: do not quote the confidence levels \
                 before it is known why.",
            ),
        };
        warnings.raise(code, sentence.to_owned());
    }

    fn judge(&self) -> IndependenceKind {
        let most_in_scope = match self.scope {
            Scope::Experiment => self.most_runs_on_one_host,
            Scope::Benchmark => self.most_runs_of_a_benchmark_on_one_host,
            Scope::Cell => self.most_runs_of_a_cell_on_one_host,
        };
        let fresh = self.fresh_runs == self.runs && most_in_scope <= 1;
        match (self.policy, fresh) {
            (_, _) if self.runs == 0 => IndependenceKind::NoRuns,
            (_, true) if self.most_runs_of_a_benchmark_on_one_host > 1 => IndependenceKind::WithinCells,
            (_, true) => IndependenceKind::Provided,
            (Policy::Any, false) => IndependenceKind::NotProvided,
            (Policy::Distinct | Policy::Rebooted | Policy::Reallocated | Policy::Rested, false) => {
                IndependenceKind::Broken
            }
        }
    }

    fn say(&self) -> String {
        let hosts = counted(self.hosts, "host");
        match self.kind {
            IndependenceKind::NoRuns => {
                "No run is measured yet, so there is no evidence of independence.".to_owned()
            }
            IndependenceKind::Provided => {
                let once = match self.scope {
                    Scope::Experiment => "served one run each",
                    Scope::Benchmark => "served each benchmark at most once",
                    Scope::Cell => "served each benchmark at most once, though the scope `cell` allows twice",
                };
                format!("Every run was executed on a fresh host: {hosts} {once}.")
            }
            IndependenceKind::WithinCells => format!(
                "Every sample is independent within, but not from the other: {hosts} served each cell at most \
                 once, and both versions of a benchmark met on a host, through which the samples depend on each \
                 other. Take scope = \"benchmark\", or a blocked design, which uses the pairs."
            ),
            IndependenceKind::NotProvided => self.say_not_provided(),
            IndependenceKind::Broken => format!(
                "Independence was asked for and not kept: only {} of {} found a fresh host (policy `distinct`, \
                 scope `{}`). Take the p-values as describing these {hosts} only, and look into the hosts.",
                grouped(self.fresh_runs),
                counted(self.runs, "run"),
                scope_name(self.scope)
            ),
        }
    }

    fn say_not_provided(&self) -> String {
        let runs = counted(self.runs, "run");
        match self.hosts {
            1 => format!(
                "Independence was not provided: all {runs} were executed on one host under policy `any`; p-values \
                 describe this machine only."
            ),
            hosts => format!(
                "Independence was not provided: {runs} were executed on {} under policy `any`, up to {} on one \
                 host and {} of one benchmark; {} found a fresh host. P-values describe these machines only.",
                counted(hosts, "host"),
                grouped(self.most_runs_on_one_host),
                grouped(self.most_runs_of_a_benchmark_on_one_host),
                percent(self.fresh_share.unwrap_or(0.0))
            ),
        }
    }
}

/// The scope's name in plans.
pub fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Benchmark => "benchmark",
        Scope::Experiment => "experiment",
        Scope::Cell => "cell",
    }
}

/// The most measured runs of these cells that one host executed.
fn most_on_one_host(cells: &[CellRecords]) -> u64 {
    let mut hosts: Vec<u32> = cells.iter().flat_map(|cell| cell.hosts.iter().copied()).collect();
    hosts.sort_unstable();
    hosts.chunk_by(u32::eq).map(|same| same.len() as u64).max().unwrap_or(0)
}
