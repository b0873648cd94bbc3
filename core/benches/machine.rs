//! Scheduling decisions a second in the pure machine, and its memory a run: 10, 1 000 and 10 000 hosts in turn, so that
//! a shared machine disturbs all alike. A decision is one command handled: a request for work, a start, a report.
//!
//! `cargo bench -p speedup-core --bench machine`; `SPEEDUP_BENCH_RUNS` sets the runs of each experiment.
//! `SPEEDUP_BENCH_MANY=n` serves two experiments of n runs on 10 000 hosts instead.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program that prints figures of the clock"
)]

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use speedup_core::{
    agent::message::AttemptReport, experiment::AcceptedExits, experiment::AnalysisChoice,
    experiment::Benchmark, experiment::CommandLine, experiment::Expectation, experiment::Experiment,
    experiment::Independence, experiment::KeepOutput, experiment::Levels, experiment::Limits,
    experiment::Metric, experiment::Order, experiment::OutputChoice, experiment::Policy, experiment::Rule,
    experiment::Scope, experiment::Version, experiment::Weights, experiment::environment::Environment,
    host::HostFacts, machine::Command, machine::Effect, machine::Machine, machine::Settings,
    machine::Speaker, plan::Plan, run::record::Outcome, run::record::Output, run::record::Record,
    value::id::AgentEpoch, value::id::AgentId, value::id::ExperimentId, value::id::HostId,
    value::id::LeaseEpoch, value::seed::Seed, value::time::Span, value::time::Timestamp,
};
use uuid::Uuid;

const ROUNDS: usize = 3;

fn main() {
    let runs: u32 =
        std::env::var("SPEEDUP_BENCH_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(200_000);
    if let Some(each) = std::env::var("SPEEDUP_BENCH_MANY").ok().and_then(|text| text.parse().ok()) {
        two_experiments(each);
        return;
    }
    let hosts = [10, 1_000, 10_000];
    for policy in [Policy::Any, Policy::Distinct, Policy::Reallocated] {
        let name = policy.name();
        let mut rates: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for _ in 0..ROUNDS {
            for count in hosts {
                rates.entry(count).or_default().push(decisions_per_second(policy, count, runs));
            }
        }
        for (count, mut rates) in rates {
            rates.sort_by(f64::total_cmp);
            println!(
                "policy {name:<11} {count:>6} hosts: {:>10.0} decisions/s (median of {ROUNDS}; {:.0} to {:.0})",
                rates[ROUNDS / 2],
                rates[0],
                rates[ROUNDS - 1]
            );
        }
    }
}

fn decisions_per_second(policy: Policy, hosts: u32, runs: u32) -> f64 {
    let mut bench = Bench::new(hosts);
    // Under `distinct` a host serves each benchmark once: as many benchmarks as it takes for that many runs.
    // Hosts of the benchmark neither boot nor are allocated anew, so under the other policies too.
    let benchmarks = if policy.asks_for_freshness() { runs.div_ceil(hosts) } else { 30 };
    bench.submit(1, experiment(policy, benchmarks, (runs / benchmarks / 2).max(1)));
    bench.serve()
}

/// Two experiments of as many runs, on 10 000 hosts that serve them by turns: decisions a second, and the memory.
fn two_experiments(runs_of_each: u32) {
    for policy in [Policy::Any, Policy::Distinct] {
        let mut bench = Bench::new(10_000);
        let benchmarks = if policy.asks_for_freshness() { runs_of_each.div_ceil(10_000) } else { 30 };
        for number in 1..=2 {
            bench.submit(number, experiment(policy, benchmarks, runs_of_each / benchmarks / 2));
        }
        let (total, rate) = (bench.total, bench.serve());
        let memory = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak = memory.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: unknown");
        println!("policy {:<9} 2 experiments, {total} runs: {rate:>10.0} decisions/s; {peak}", policy.name());
    }
}

struct Bench {
    machine: Machine,
    clock: u64,
    speakers: Vec<Speaker>,
    total: u64,
}

impl Bench {
    fn new(hosts: u32) -> Self {
        let (machine, speakers) = (Machine::new(Settings::default()), Vec::new());
        let mut bench = Self { machine, clock: 0, speakers, total: 0 };
        for number in 0..hosts {
            let now = bench.now();
            bench.speakers.push(join(&mut bench.machine, now, number));
        }
        bench
    }

    fn now(&mut self) -> Timestamp {
        self.clock += 1_000;
        Timestamp(self.clock)
    }

    fn submit(&mut self, number: u128, experiment: Experiment) {
        let plan = Arc::new(Plan::draw(experiment));
        self.total += u64::from(plan.runs());
        let experiment = ExperimentId(Uuid::from_u128(number));
        let submit =
            Command::Submit { experiment, plan, by: "bench".to_owned(), wait_for_hosts: true, request: None };
        let now = self.now();
        self.machine.handle(now, submit).expect("the pool is large enough");
    }

    /// Serves all runs, host after host; gives the decisions a second.
    fn serve(&mut self) -> f64 {
        let (mut decisions, mut done) = (0_u64, 0_u64);
        let begin = Instant::now();
        let speakers = std::mem::take(&mut self.speakers);
        loop {
            let before = done;
            for speaker in &speakers {
                let asked = self.handle(Command::Ask(speaker.clone()));
                decisions += 1;
                let Some(lease) = asked.effects.iter().find_map(granted_lease) else { continue };
                self.handle(Command::Started { speaker: speaker.clone(), lease });
                let report = Box::new(AttemptReport { lease, executed_by: speaker.epoch, record: record() });
                self.handle(Command::Report { speaker: speaker.clone(), report });
                decisions += 2;
                done += 1;
            }
            if done == self.total || done == before {
                break;
            }
        }
        assert_eq!(done, self.total, "all runs are served");
        decisions as f64 / begin.elapsed().as_secs_f64()
    }

    fn handle(&mut self, command: Command) -> speedup_core::machine::HandleOutcome {
        let now = self.now();
        self.machine.handle(now, command).expect("an agent that obeys")
    }
}

fn granted_lease(effect: &Effect) -> Option<LeaseEpoch> {
    if let Effect::Grant { lease, .. } = effect { Some(lease.epoch) } else { None }
}

fn join(machine: &mut Machine, now: Timestamp, number: u32) -> Speaker {
    let host: HostId = format!("4d2c7c1e5f0b4f0c9d3e{number:012}").parse().expect("a host id");
    let boot = format!("8b6e1a52-3f5f-4b53-9c0e-{number:012}").parse().expect("a boot id");
    let facts = HostFacts::bare(host.clone(), boot);
    let (agent, epoch) = (AgentId(Uuid::from_u128(u128::from(number))), AgentEpoch(1));
    machine.handle(now, Command::Join { facts, agent, epoch }).expect("a new host");
    Speaker { host, epoch }
}

fn record() -> Record {
    let stream = Output { bytes: 1_024, blake3: [7; 32], kept: Vec::new() };
    Record {
        started_unix_ns: 1,
        metrics: [Metric::Wall, Metric::User, Metric::System, Metric::MaxRss]
            .map(|metric| (metric, 1))
            .into(),
        stdout: stream.clone(),
        stderr: stream,
        agent_switches: 1,
        ..Record::bare(Outcome::Measured)
    }
}

fn experiment(policy: Policy, benchmarks: u32, runs: u32) -> Experiment {
    let version = |name: &str| Version {
        name: name.to_owned(),
        env: [].into(),
        vars: [].into(),
        command: None,
        build: None,
        software: None,
        commit: None,
    };
    let benchmark = |number: u32| Benchmark {
        name: format!("b{number}"),
        command: CommandLine::Exact(vec!["true".to_owned()]),
        env: [].into(),
        expect: Expectation { exit: 0, accept: AcceptedExits::None, stdout_blake3: None },
        timeout: Span::from_secs(60),
        warmup: 0,
        directory: None,
        weight: None,
        gang: None,
    };
    Experiment {
        name: "bench".to_owned(),
        description: String::new(),
        tags: Vec::new(),
        selection: String::new(),
        priority: 0,
        seed: Seed(1),
        versions: vec![version("old"), version("new")],
        benchmarks: (0..benchmarks).map(benchmark).collect(),
        baseline_again: false,
        drawn: None,
        levels: Levels::default(),
        order: Order::Randomized,
        rule: Rule::Fixed,
        runs,
        metrics: vec![Metric::Wall],
        own_metrics: Vec::new(),
        files: Vec::new(),
        independence: Independence::unchecked(policy, Scope::Benchmark),
        analysis: AnalysisChoice {
            confidence: 0.95,
            center: None,
            trim: None,
            margin: None,
            quantiles: Vec::new(),
            verdicts: Vec::new(),
            weights: Weights::Equal,
            precision: 0.05,
            prior: None,
        },
        setup: None,
        prepare: None,
        cleanup: None,
        canary: None,
        environment: Environment::default(),
        limits: Limits::of_attempts(3),
        output: OutputChoice { limit: 1 << 20, keep: 1 << 10, keep_of: KeepOutput::Failed },
    }
}
