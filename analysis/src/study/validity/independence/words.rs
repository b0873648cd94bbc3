//! The statement on independence in words.

use super::{IndependenceKind, IndependenceReport};
use crate::{conclusion::WarningCode, count::counted, count::grouped, count::percent};
use speedup_core::experiment::Scope;

impl IndependenceReport {
    /// The caveat's code and sentence, where one is due.
    pub(super) fn caveat(&self) -> Option<(WarningCode, &'static str)> {
        match self.kind {
            IndependenceKind::NoRuns
            | IndependenceKind::SingleRun
            | IndependenceKind::Provided
            | IndependenceKind::Pairs
            | IndependenceKind::Levels => None,
            IndependenceKind::Renewed => Some((
                WarningCode::HostsRepeat,
                "Runs shared hosts that were made fresh between them, so what is specific to the machine is in \
                    several runs: the confidence levels hold for these machines; use policy = \"distinct\" to \
                    claim more.",
            )),
            IndependenceKind::Sets => Some((
                WarningCode::HostsRepeat,
                "Hosts served in several runs of a benchmark, each time among others, so what is specific to a host is in \
                    several runs: the confidence levels hold for these hosts; use policy = \"distinct\" to claim more.",
            )),
            IndependenceKind::WithinCells => Some((
                WarningCode::DependentThroughHost,
                "The versions of a benchmark met on the same hosts, so their samples are not independent of each \
                    other: use scope = \"benchmark\", or order = \"blocked\", which uses the pairs.",
            )),
            IndependenceKind::SharedMachine => Some((
                WarningCode::IndependenceNotProvided,
                "Several hosts were one machine, so runs shared it whatever the policy: the confidence levels \
                    hold for this pool only; start one agent per machine, without --share-machine, to claim \
                    more.",
            )),
            IndependenceKind::NotProvided => Some((
                WarningCode::IndependenceNotProvided,
                "Runs shared hosts, so the confidence levels hold for these machines in these states only: use \
                    policy = \"distinct\" and a pool of enough identical hosts to claim more.",
            )),
            IndependenceKind::Broken => Some((
                WarningCode::IndependenceBroken,
                "The policy asked for fresh hosts and the evidence is against it: do not quote the confidence \
                    levels until you know why.",
            )),
        }
    }

    /// The statement; *every* is said only where all `planned` runs are measured.
    pub(super) fn say(&self, planned: u64) -> String {
        let hosts = counted(self.hosts, "host");
        let some = format!("the {} measured of {} planned runs", grouped(self.runs), grouped(planned));
        let [every_run, every_visit] = match self.runs >= planned {
            true => ["Every run".to_owned(), "Every visit".to_owned()],
            false => [format!("Each of {some}"), format!("Each visit of {some}")],
        };
        match self.kind {
            IndependenceKind::NoRuns => {
                "No run is measured yet, so there is no evidence of independence.".to_owned()
            }
            IndependenceKind::SingleRun => {
                "One run is measured, so there is no other of which it could be independent.".to_owned()
            }
            IndependenceKind::Provided => self.say_provided(&every_run),
            IndependenceKind::Renewed => format!(
                "{every_run} was executed on a host that had {} since its last one: {} on {hosts}, up to {} on \
                    one, in {}. The runs of a host share what is specific to the machine.",
                self.policy.renewed().unwrap_or("served nothing"),
                counted(self.runs, "run"),
                grouped(self.most_runs_on_one_host),
                counted(self.evidence.boots, "boot")
            ),
            IndependenceKind::Sets => format!(
                "{every_run} was executed on a set of hosts that had not served the scope together: {} on {hosts}, up to {} of \
                 one benchmark on one. The runs of a host share what is specific to the machine.",
                counted(self.runs, "run"),
                grouped(self.most_runs_of_a_benchmark_on_one_host)
            ),
            IndependenceKind::Pairs => format!(
                "{every_visit} found a fresh host{}: {} on {hosts}, in each of which all versions of a benchmark were \
                 executed; they are compared in pairs.",
                self.by_policy(),
                counted(self.evidence.visits, "visit")
            ),
            IndependenceKind::Levels => format!(
                "{every_visit} found a fresh host{}: {} on {hosts} in {}, {} in all. What is independent are hosts, or \
                 boots of a single host, not runs; the analysis is by levels.",
                self.by_policy(),
                counted(self.evidence.visits, "visit"),
                counted(self.evidence.boots, "boot"),
                counted(self.runs, "run")
            ),
            IndependenceKind::WithinCells => format!(
                "Every sample is independent within, but not from the other: {hosts} served each cell at most \
                    once, and both versions of a benchmark met on a host, through which the samples depend on \
                    each other. Use scope = \"benchmark\", or a blocked design, which uses the pairs."
            ),
            IndependenceKind::SharedMachine => self.say_shared_machine(&hosts),
            IndependenceKind::NotProvided => self.say_not_provided(),
            IndependenceKind::Broken => self.say_broken(&hosts),
        }
    }

    fn say_provided(&self, every_run: &str) -> String {
        let hosts = counted(self.hosts, "host");
        if let Some(had) = self.policy.renewed().filter(|_| self.most_runs_on_one_host > 1) {
            return format!(
                "{every_run} was executed on a fresh host: {hosts} had {had} before each run, and none served a benchmark twice."
            );
        }
        let once = match self.scope {
            _ if self.most_runs_on_one_host <= 1 => "served one run each",
            Scope::Experiment => "served one run each",
            Scope::Benchmark => "served each benchmark at most once",
            Scope::Cell => "served each benchmark at most once, though the scope `cell` allows twice",
        };
        format!("{every_run} was executed on a fresh host: {hosts} {once}.")
    }

    fn by_policy(&self) -> String {
        let renewed = self.policy.renewed();
        renewed.map_or_else(String::new, |had| format!(", one that had {had} since its last"))
    }

    fn say_broken(&self, hosts: &str) -> String {
        let first = self.evidence.violating_runs.first().map_or_else(String::new, |first| {
            format!(" The host of run {}, {}, {}.", first.run, first.host, first.violation.words())
        });
        format!(
            "Independence was asked for and not kept: only {} of {} found a fresh host (policy `{}`, scope \
                `{}`).{first} The results hold for these {hosts} only; look into the hosts.",
            grouped(self.fresh_runs),
            counted(self.runs, "run"),
            self.policy.name(),
            self.scope.name()
        )
    }

    fn say_shared_machine(&self, hosts: &str) -> String {
        let runs = counted(self.runs, "run");
        match self.evidence.machines {
            1 => format!(
                "Independence was not provided: {hosts} were one machine, by boot and hardware ids, and all {runs} were \
                 executed on it; the results hold for this machine only."
            ),
            machines => format!(
                "Independence was not provided: {hosts} were {}, by boot and hardware ids, up to {} on one; the \
                 results hold for these machines only.",
                counted(machines, "machine"),
                grouped(self.evidence.most_hosts_on_one_machine),
            ),
        }
    }

    fn say_not_provided(&self) -> String {
        let runs = counted(self.runs, "run");
        match self.hosts {
            1 => format!(
                "Independence was not provided: all {runs} were executed on one host under policy `any`; the \
                 results hold for this machine only."
            ),
            hosts => format!(
                "Independence was not provided: {runs} were executed on {} under policy `any`, up to {} on one \
                 host and {} of one benchmark; {} found a fresh host. The results hold for these machines only.",
                counted(hosts, "host"),
                grouped(self.most_runs_on_one_host),
                grouped(self.most_runs_of_a_benchmark_on_one_host),
                percent(self.fresh_share.unwrap_or(0.0))
            ),
        }
    }
}
