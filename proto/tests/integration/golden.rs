//! The stored format cannot change silently: one file a version, written once, with one entry of each kind.
//!
//! A line is the kind and the bytes in hex. When a test here fails, stored data of earlier releases can no longer be
//! read, or a later release writes it otherwise: write a new version instead of changing the file.

mod bisection;
mod builds;
mod commits;
mod environment;
mod gangs;
mod software;

use std::{collections::BTreeMap, sync::Arc};

use speedup_core::{
    agent::message::AttemptReport, experiment::environment::Environment, experiment::metric::Absence,
    experiment::metric::Better, experiment::metric::OwnMetric, experiment::metric::Pattern,
    experiment::metric::Stream, experiment::*, fingerprint::Fact, fingerprint::Fingerprint,
    fingerprint::HardwareId, host::HostFacts, host::Sharing, machine::event::Change, machine::event::Event,
    machine::event::RequestKey, machine::event::Superseded, machine::event::Tally,
    machine::provision::EngineNote, machine::provision::EngineNoteKind, plan::Extension, plan::Plan,
    plan::Shape, run::AfterLoss, run::LossReason, run::Obstacle, run::lease::Evidence, run::lease::Lease,
    run::record::Failure, run::record::Outcome, run::record::Output, run::record::Record, value::id::*,
    value::seed::Seed, value::time::Span, value::time::Timestamp,
};
use speedup_proto::{convert::OutboxEntry, journal_payload, outbox_payload};
use uuid::Uuid;

const JOURNAL_V1: &str = include_str!("../golden/journal_v1.txt");
const JOURNAL_V1_ENVIRONMENT: &str = include_str!("../golden/journal_v1_environment.txt");
/// What the metrics of hardware, of trees of processes and of a plan's own added to version 1.
const JOURNAL_V1_METRICS: &str = include_str!("../golden/journal_v1_metrics.txt");
/// What facts that are absent or cannot be read, the hardware and the owner's word added to version 1.
const JOURNAL_V1_IDENTITY: &str = include_str!("../golden/journal_v1_identity.txt");
/// What lengths of directories, hosts that rest and canaries added to version 1.
const JOURNAL_V1_REST: &str = include_str!("../golden/journal_v1_rest.txt");
/// What standing, classes, reboots, visits and rules added to version 1.
const JOURNAL_V1_POOL: &str = include_str!("../golden/journal_v1_pool.txt");
/// What builds of versions added to version 1.
const JOURNAL_V1_BUILDS: &str = include_str!("../golden/journal_v1_builds.txt");
/// What is told of who stood in the way of an attempt.
const JOURNAL_V1_OWNERS: &str = include_str!("../golden/journal_v1_owners.txt");
const JOURNAL_V1_PLANS: &str = include_str!("../golden/journal_v1_plans.txt");
/// The first of them, as written before there was a field for it.
const BEFORE_OWNERS: &str = include_str!("../golden/journal_v1_before_owners.txt");
/// What machines under several names, hardware as evidence and hosts that are reset added to version 1.
const JOURNAL_V1_MACHINES: &str = include_str!("../golden/journal_v1_machines.txt");
/// What names of hosts, jobs that an engine ended and notes about engines added to version 1.
const JOURNAL_V1_ENGINES: &str = include_str!("../golden/journal_v1_engines.txt");
/// What the software of runs and the file systems that they stand on added to version 1.
const JOURNAL_V1_SOFTWARE: &str = include_str!("../golden/journal_v1_software.txt");
/// What versions from Git added to version 1.
const JOURNAL_V1_COMMITS: &str = include_str!("../golden/journal_v1_commits.txt");
/// What bisections added to version 1.
const JOURNAL_V1_BISECTION: &str = include_str!("../golden/journal_v1_bisection.txt");
/// What priors of bisections added to version 1.
const JOURNAL_V1_PRIOR: &str = include_str!("../golden/journal_v1_prior.txt");
/// What submissions that may be repeated added to version 1.
const JOURNAL_V1_REQUESTS: &str = include_str!("../golden/journal_v1_requests.txt");
/// What notes about hosts by ssh added to version 1.
const JOURNAL_V1_SSH: &str = include_str!("../golden/journal_v1_ssh.txt");
/// What runs on several hosts added to version 1.
const JOURNAL_V1_GANGS: &str = include_str!("../golden/journal_v1_gangs.txt");
const OUTBOX_V1: &str = include_str!("../golden/outbox_v1.txt");

const EXPERIMENT: ExperimentId = ExperimentId(Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0001));
const AGENT: AgentId = AgentId(Uuid::from_u128(0xA9E7_0000_0000_4000_8000_0000_0000_0002));

/// The metrics of the first files.
const FIRST: usize = 10;
/// The kinds of notes before those about hosts by ssh.
const FIRST_NOTES: usize = 7;

#[test]
fn journal_version_1() {
    is_kept(JOURNAL_V1, &events());
}

#[test]
fn journal_version_1_with_builds() {
    is_kept(JOURNAL_V1_BUILDS, &builds::events());
}

#[test]
fn journal_version_1_with_bisections() {
    is_kept(JOURNAL_V1_BISECTION, &bisection::events());
}

/// Without a prior the bytes are those of the file above.
#[test]
fn journal_version_1_with_priors() {
    is_kept(JOURNAL_V1_PRIOR, &bisection::with_prior());
}

#[test]
fn journal_version_1_with_commits() {
    is_kept(JOURNAL_V1_COMMITS, &commits::events());
}

#[test]
fn journal_version_1_with_software() {
    is_kept(JOURNAL_V1_SOFTWARE, &software::events());
}

#[test]
fn journal_version_1_with_metrics() {
    is_kept(JOURNAL_V1_METRICS, &events_of_metrics());
}

#[test]
fn journal_version_1_with_pool() {
    let (experiment, by, host) = (EXPERIMENT, "ada".to_owned(), facts().host);
    let class = facts().fingerprint.class();
    let evidence = Evidence {
        idle: Some(Span(9)),
        boot_before: Some("boot-0".parse().unwrap()),
        allocation_before: Some("slurm:76".parse().unwrap()),
        class: Some(class),
        ..leased().evidence
    };
    let changes = [
        Change::Cancelled { experiment, by: by.clone(), reason: "its 9 attempts are spent".to_owned() },
        Change::AwaitingDecision { experiment },
        Change::Decided { experiment, by: by.clone(), enough: true, words: "narrow".to_owned() },
        Change::ClassPinned { experiment, class },
        Change::ClassApproved { experiment, host: host.clone(), class, by: by.clone() },
        Change::HostDrifted { host: host.clone(), facts: vec!["cpu".to_owned()] },
        Change::HostDrained { host: host.clone(), by: by.clone() },
        Change::HostQuarantined { host: host.clone(), by: by.clone(), reason: "hot".to_owned() },
        Change::HostResumed { host: host.clone(), by },
        Change::RebootAsked { host: host.clone(), experiment, give_up: Timestamp(7_000) },
        Change::VisitBroken { host, experiment },
        Change::LeaseGranted(Box::new(Lease { evidence, ..leased() })),
    ];
    let events = changes.into_iter().map(|change| Event { at: Timestamp(5_000), change });
    is_kept(JOURNAL_V1_POOL, &events.collect::<Vec<_>>());
}

#[test]
fn journal_version_1_with_identity() {
    let fact = |name: &str, fact| (name.to_owned(), fact);
    let facts = [
        fact("cpu", Fact::Value("fast".to_owned())),
        fact("boost", Fact::Absent),
        fact("turbo", Fact::Absent),
        fact("board", Fact::Unreadable("Permission denied".to_owned())),
    ];
    let facts = HostFacts {
        fingerprint: Fingerprint::new(facts.into()).unwrap(),
        hardware: HardwareId::from_marks([("serial", "1")]),
        named_by_owner: true,
        can_reboot: true,
        ..self::facts()
    };
    let change = Change::HostJoined { facts: Box::new(facts), agent: AGENT, epoch: AgentEpoch(3) };
    is_kept(JOURNAL_V1_IDENTITY, &[Event { at: Timestamp(1_000), change }]);
}

#[test]
fn journal_version_1_with_machines() {
    let joined = [Sharing::Alone, Sharing::Shared].map(|sharing| Change::HostJoined {
        facts: Box::new(HostFacts { sharing, machine: HardwareId::from_marks([("serial", "1")]), ..facts() }),
        agent: AGENT,
        epoch: AgentEpoch(3),
    });
    let machine = HardwareId::from_marks([("serial", "1")]);
    let evidence = Evidence { machine, ..leased().evidence };
    let changes = [
        Change::HostReset { host: facts().host, by: "ada".to_owned() },
        Change::LeaseGranted(Box::new(Lease { evidence, ..leased() })),
    ];
    let events = joined.into_iter().chain(changes).map(|change| Event { at: Timestamp(1_000), change });
    is_kept(JOURNAL_V1_MACHINES, &events.collect::<Vec<_>>());
}

/// The owner's word was known by how the reason begins; then by a field.
#[test]
fn journal_version_1_with_owners() {
    let words =
        "the owner of this host does not allow it: `forbid` of limits.toml takes the setting nice from plans";
    let lost = |reason: &str, obstacle| Change::AttemptLost {
        host: facts().host,
        lease: LeaseEpoch(7),
        reason: LossReason::NotExecuted { reason: reason.to_owned(), obstacle },
        after: AfterLoss::Again(Attempt(2)),
    };
    let changes =
        [lost(words, Obstacle::Owner), lost(words, Obstacle::Host), lost("not now", Obstacle::Owner)];
    let events = changes.map(|change| Event { at: Timestamp(5_000), change });
    is_kept(JOURNAL_V1_OWNERS, &events);
    let earlier = journal_payload::decode(1, &bytes_of(BEFORE_OWNERS.trim_end()));
    assert_eq!(earlier.as_ref(), Ok(&events[0]), "what was written before there was a field is read alike");
}

#[test]
fn journal_version_1_with_plans() {
    let change = Change::AttemptLost {
        host: facts().host,
        lease: LeaseEpoch(7),
        reason: LossReason::NotExecuted { reason: "not now".to_owned(), obstacle: Obstacle::Plan },
        after: AfterLoss::Again(Attempt(2)),
    };
    is_kept(JOURNAL_V1_PLANS, &[Event { at: Timestamp(5_000), change }]);
}

#[test]
fn journal_version_1_with_requests() {
    let id = Uuid::from_u128(0x5E9E_0000_0000_4000_8000_0000_0000_0003);
    let (experiment, plan, by) = (EXPERIMENT, Arc::new(plan()), "ada@laptop".to_owned());
    let request = Some(RequestKey { id, content: [0xC7; 32] });
    let change = Change::Submitted { experiment, plan, by, request };
    is_kept(JOURNAL_V1_REQUESTS, &[Event { at: Timestamp(1_000), change }]);
}

fn is_kept(golden: &str, events: &[Event]) {
    let lines = events.iter().map(|event| {
        let mut bytes = Vec::new();
        journal_payload::encode(event, &mut bytes).unwrap();
        assert_eq!(journal_payload::decode(1, &bytes).as_ref(), Ok(event));
        line(kind(&event.change), &bytes)
    });
    same(golden, lines);
    let read = golden.lines().map(|line| journal_payload::decode(1, &bytes_of(line)).unwrap());
    assert_eq!(read.collect::<Vec<_>>(), events);
}

/// What was added to version 1: an environment, commands around an execution, the conditions of a run. Without them the
/// bytes are those of the file above.
#[test]
fn journal_version_1_with_environments() {
    let lines = environment::events().into_iter().map(|event| {
        let mut bytes = Vec::new();
        journal_payload::encode(&event, &mut bytes).unwrap();
        line(kind(&event.change), &bytes)
    });
    same(JOURNAL_V1_ENVIRONMENT, lines);
    let read =
        JOURNAL_V1_ENVIRONMENT.lines().map(|line| journal_payload::decode(1, &bytes_of(line)).unwrap());
    assert_eq!(read.collect::<Vec<_>>(), environment::events());
}

#[test]
fn journal_version_1_with_engines() {
    let named = HostFacts {
        node: Some("node17".parse().unwrap()),
        hostname: Some("node17.cluster".parse().unwrap()),
        ..facts()
    };
    let host_name = named.name();
    let (host, lease, after) = (named.host.clone(), LeaseEpoch(7), AfterLoss::Again(Attempt(2)));
    let reason = LossReason::JobEnded { words: "job 17: NODE_FAIL".to_owned(), is_excused: false };
    let notes = EngineNoteKind::ALL.into_iter().take(FIRST_NOTES).map(|kind| {
        let by = if kind == EngineNoteKind::Added { "ada" } else { "" };
        Change::EngineNoted(EngineNote::by(by, kind, "slurm"))
    });
    let changes = [
        Change::HostJoined { facts: Box::new(named), agent: AGENT, epoch: AgentEpoch(3) },
        Change::LeaseGranted(Box::new(Lease {
            evidence: Evidence { host_name, ..leased().evidence },
            ..leased()
        })),
        Change::AttemptLost { host, lease, reason, after },
    ];
    let events = changes.into_iter().chain(notes).map(|change| Event { at: Timestamp(1_000), change });
    is_kept(JOURNAL_V1_ENGINES, &events.collect::<Vec<_>>());
}

#[test]
fn journal_version_1_with_hosts_by_ssh() {
    let notes = EngineNoteKind::ALL.into_iter().skip(FIRST_NOTES).map(|kind| {
        let by = if kind == EngineNoteKind::SshStarted { "" } else { "ada" };
        Change::EngineNoted(EngineNote::by(by, kind, "ada@node17").of(&facts().host))
    });
    let events = notes.map(|change| Event { at: Timestamp(1_000), change });
    is_kept(JOURNAL_V1_SSH, &events.collect::<Vec<_>>());
}

#[test]
fn journal_version_1_with_rest_and_canaries() {
    is_kept(JOURNAL_V1_REST, &environment::later_events());
}

#[test]
fn journal_version_1_with_gangs() {
    is_kept(JOURNAL_V1_GANGS, &gangs::events());
}

#[test]
fn outbox_version_1() {
    let lines = entries().into_iter().map(|(name, entry)| {
        let mut bytes = Vec::new();
        outbox_payload::encode(&entry, &mut bytes);
        line(name, &bytes)
    });
    same(OUTBOX_V1, lines);
    let read = OUTBOX_V1.lines().map(|line| outbox_payload::decode(1, &bytes_of(line)).unwrap());
    assert!(read.eq(entries().into_iter().map(|(_, entry)| entry)));
}

fn same(golden: &str, lines: impl Iterator<Item = String>) {
    let written: String = lines.collect();
    assert!(golden == written, "this release writes otherwise:\n{written}");
}

fn line(name: &str, bytes: &[u8]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{name} {hex}\n")
}

fn bytes_of(line: &str) -> Vec<u8> {
    let (_, hex) = line.split_once(' ').unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// A change that is new here needs an event below, and a line in a file of its version.
fn kind(change: &Change) -> &'static str {
    match change {
        Change::CoordinatorStarted => "coordinator_started",
        Change::Submitted { .. } => "submitted",
        Change::Paused { .. } => "paused",
        Change::Resumed { .. } => "resumed",
        Change::Cancelled { .. } => "cancelled",
        Change::Extended { .. } => "extended",
        Change::Finished { .. } => "finished",
        Change::HostJoined { .. } => "host_joined",
        Change::HostLeft { .. } => "host_left",
        Change::AwaitingDecision { .. } => "awaiting_decision",
        Change::Decided { .. } => "decided",
        Change::ClassPinned { .. } => "class_pinned",
        Change::ClassApproved { .. } => "class_approved",
        Change::HostDrifted { .. } => "host_drifted",
        Change::HostDrained { .. } => "host_drained",
        Change::HostQuarantined { .. } => "host_quarantined",
        Change::HostResumed { .. } => "host_resumed",
        Change::HostReset { .. } => "host_reset",
        Change::EngineNoted(_) => "engine_noted",
        Change::RebootAsked { .. } => "reboot_asked",
        Change::VisitBroken { .. } => "visit_broken",
        Change::HostAsked { .. } => "host_asked",
        Change::HostPassed { .. } => "host_passed",
        Change::HostHeld { .. } => "host_held",
        Change::HostReady { .. } => "host_ready",
        Change::GangGranted(_) => "gang_granted",
        Change::PartEnded { .. } => "part_ended",
        Change::LeaseGranted(_) => "lease_granted",
        Change::RunStarted { .. } => "run_started",
        Change::RunReported { .. } => "run_reported",
        Change::AttemptLost { .. } => "attempt_lost",
        Change::LateReport { .. } => "late_report",
    }
}

fn events() -> Vec<Event> {
    let (experiment, by) = (EXPERIMENT, "ada@laptop".to_owned());
    let (host, lease): (HostId, _) = ("machine-1".parse().unwrap(), LeaseEpoch(7));
    let of_experiment = vec![
        Change::CoordinatorStarted,
        Change::Submitted { experiment, plan: Arc::new(plan()), by: by.clone(), request: None },
        Change::Paused { experiment, by: by.clone(), reason: "lunch".to_owned() },
        Change::Resumed { experiment, by: by.clone() },
        Change::Cancelled { experiment, by: by.clone(), reason: String::new() },
        Change::Extended {
            experiment,
            from: 40,
            appended: Extension { order: vec![3, 0, 1, 2], shape: Shape::SINGLE },
            by,
        },
        Change::Finished { experiment, tally: tally(), cancelled: true },
        Change::HostJoined { facts: Box::new(facts()), agent: AGENT, epoch: AgentEpoch(3) },
        Change::HostLeft { host: host.clone(), give_up: Timestamp(9_000) },
        Change::LeaseGranted(Box::new(leased())),
        Change::RunStarted { host: host.clone(), lease },
    ];
    let reported = outcomes().into_iter().map(|outcome| Change::RunReported {
        host: host.clone(),
        lease,
        record: Arc::new(record(outcome)),
    });
    let lost = losses().into_iter().map(|(reason, after)| Change::AttemptLost {
        host: host.clone(),
        lease,
        reason,
        after,
    });
    let late = Change::LateReport {
        superseded: Superseded::from(&leased()),
        record: Arc::new(record(Outcome::Measured)),
    };
    let changes = of_experiment.into_iter().chain(reported).chain(lost).chain([late]);
    (1_000..).zip(changes).map(|(at, change)| Event { at: Timestamp(at), change }).collect()
}

fn events_of_metrics() -> Vec<Event> {
    let own = |name: &str, pattern, from, better| OwnMetric {
        name: name.to_owned(),
        pattern,
        from,
        unit: "MB/s".to_owned(),
        better,
    };
    let mut experiment = plan().experiment;
    experiment.metrics = Metric::ALL.to_vec();
    experiment.own_metrics = vec![
        own("rate", Pattern::Regex("(x)".to_owned()), Stream::Stdout, Better::Higher),
        own("mean", Pattern::Pointer("/mean".to_owned()), Stream::Stderr, Better::Lower),
        own("bm", Pattern::GoogleBenchmark("BM_x".to_owned()), Stream::Stdout, Better::Lower),
        own("go", Pattern::Go("BenchmarkX".to_owned()), Stream::Stdout, Better::Lower),
    ];
    let plan = Plan::restore(experiment, plan().benchmarks, vec![0], &[]).unwrap();
    let (host, lease): (HostId, _) = ("machine-1".parse().unwrap(), LeaseEpoch(7));
    let reasons = [
        Absence::Unsupported,
        Absence::NotPermitted,
        Absence::BelowFloor,
        Absence::Multiplexed,
        Absence::NotCounted,
        Absence::Wrapped,
        Absence::Unreadable { reason: "Input/output error".to_owned() },
    ];
    let measured = Record {
        user_only: [Metric::Wall].into(),
        absent: Metric::ALL[FIRST..].iter().copied().zip(reasons).collect(),
        series: [("rate".to_owned(), vec![1.5, -2.0]), ("mean".to_owned(), vec![0.1])].into(),
        ..record(Outcome::Measured)
    };
    let no_value = Failure::NoValue { metric: "rate".to_owned(), reason: "nothing matches".to_owned() };
    let all = (1_000..).zip(Metric::ALL).map(|(value, metric)| (metric, value)).collect();
    let failed = Record { metrics: all, ..record(Outcome::Failed(no_value)) };
    let changes = [
        Change::Submitted {
            experiment: EXPERIMENT,
            plan: Arc::new(plan),
            by: "ada@laptop".to_owned(),
            request: None,
        },
        Change::RunReported { host: host.clone(), lease, record: Arc::new(measured) },
        Change::RunReported { host, lease, record: Arc::new(failed) },
    ];
    (1_000..).zip(changes).map(|(at, change)| Event { at: Timestamp(at), change }).collect()
}

fn entries() -> Vec<(&'static str, OutboxEntry)> {
    let (lease, executed_by) = (LeaseEpoch(7), AgentEpoch(3));
    let report = AttemptReport { lease, executed_by, record: record(Outcome::Measured) };
    vec![
        ("report", OutboxEntry::Report(Box::new(report))),
        ("acknowledged", OutboxEntry::Acknowledged(lease)),
        ("epoch", OutboxEntry::Epoch(executed_by)),
    ]
}

fn plan() -> Plan {
    let benchmarks = vec![
        benchmark("words", CommandLine::Exact(vec!["{sort}".to_owned(), "{input}/words".to_owned()])),
        benchmark("not-drawn", CommandLine::Exact(Vec::new())),
        benchmark("pipe", CommandLine::Shell("cat a | {sort}".to_owned())),
    ];
    let experiment = Experiment {
        name: "sort".to_owned(),
        description: "Größe zählt".to_owned(),
        tags: Vec::new(),
        selection: String::new(),
        priority: 0,
        seed: Seed(42),
        versions: vec![version("old"), version("new")],
        benchmarks,
        baseline_again: false,
        drawn: Some(2),
        levels: Levels::default(),
        order: Order::Randomized,
        rule: Rule::Fixed,
        runs: 1,
        metrics: Metric::ALL[..FIRST].to_vec(),
        own_metrics: Vec::new(),
        files: Vec::new(),
        independence: Independence::unchecked(Policy::Distinct, Scope::Experiment),
        analysis: AnalysisChoice {
            confidence: 0.95,
            center: None,
            trim: None,
            margin: None,
            quantiles: Vec::new(),
            verdicts: Vec::new(),
            weights: Weights::Custom,
            precision: 0.01,
            prior: None,
        },
        setup: Some(Setup { command: CommandLine::Shell("make".to_owned()), timeout: Span(60_000) }),
        prepare: None,
        cleanup: None,
        canary: None,
        environment: Environment::default(),
        limits: Limits::of_attempts(3),
        output: OutputChoice { limit: 1 << 20, keep: 64, keep_of: KeepOutput::All },
    };
    Plan::restore(experiment, vec![BenchmarkIndex(0), BenchmarkIndex(2)], vec![1, 3, 0, 2], &[]).unwrap()
}

fn version(name: &str) -> Version {
    let vars = [("sort".to_owned(), format!("/opt/{name}/sort"))].into();
    Version {
        name: name.to_owned(),
        env: pairs("LC_ALL", "C"),
        vars,
        command: None,
        build: None,
        software: None,
        commit: None,
    }
}

fn benchmark(name: &str, command: CommandLine) -> Benchmark {
    Benchmark {
        name: name.to_owned(),
        command,
        env: pairs("SIZE", "10"),
        expect: Expectation { exit: 1, accept: AcceptedExits::None, stdout_blake3: Some([0xB3; 32]) },
        timeout: Span(1_000_000_000),
        warmup: 2,
        directory: None,
        weight: Some(0.5),
        gang: None,
    }
}

fn pairs(name: &str, value: &str) -> BTreeMap<String, String> {
    [(name.to_owned(), value.to_owned())].into()
}

fn facts() -> HostFacts {
    HostFacts {
        allocation: Some("slurm:77".parse().unwrap()),
        fingerprint: Fingerprint::new([("cpu".to_owned(), Fact::Value("fast".to_owned()))].into()).unwrap(),
        // As before it was told.
        sharing: Sharing::Unsaid,
        ..HostFacts::bare("machine-1".parse().unwrap(), "boot-1".parse().unwrap())
    }
}

fn leased() -> Lease {
    let HostFacts { host, boot, allocation, .. } = facts();
    let previous = Some((EXPERIMENT, RunIndex(0)));
    Lease {
        epoch: LeaseEpoch(7),
        experiment: EXPERIMENT,
        run: RunIndex(1),
        attempt: Attempt(2),
        host,
        agent_epoch: AgentEpoch(3),
        granted: Timestamp(5_000),
        deadline: Timestamp(6_000),
        started: Some(Timestamp(5_500)),
        evidence: Evidence {
            allocation,
            served_in_scope: 4,
            served_in_all: 5,
            previous,
            ..Evidence::first(boot)
        },
        seat: None,
    }
}

fn record(outcome: Outcome) -> Record {
    let metrics = (100..).zip(&Metric::ALL[..FIRST]).map(|(value, metric)| (*metric, value)).collect();
    Record {
        started_unix_ns: 1_700_000_000_000_000_000,
        metrics,
        stdout: Output { bytes: 3, blake3: [0x0A; 32], kept: b"out".to_vec() },
        stderr: Output { bytes: 0, blake3: [0x0E; 32], kept: Vec::new() },
        survivors: 1,
        agent_switches: 2,
        timer: None,
        conditions: None,
        ..Record::bare(outcome)
    }
}

fn outcomes() -> Vec<Outcome> {
    let failures = [
        Failure::Exit { code: 2, expected: 1 },
        Failure::Signal { signal: 9, core_dumped: false },
        Failure::TimedOut { limit: Span(1_000_000_000) },
        Failure::WrongOutput { blake3: [0xBA; 32], expected: [0xB3; 32] },
        Failure::TooMuchOutput { limit: 1 << 20 },
        Failure::Warmup { number: 1, failure: "exit code 3".to_owned() },
    ];
    [Outcome::Measured].into_iter().chain(failures.map(Outcome::Failed)).collect()
}

fn losses() -> Vec<(LossReason, AfterLoss)> {
    let reason = "no such file".to_owned();
    vec![
        (LossReason::Expired, AfterLoss::Again(Attempt(3))),
        (LossReason::HostLost, AfterLoss::Abandoned),
        (LossReason::AgentRestarted, AfterLoss::Cancelled),
        (LossReason::NotExecuted { reason, obstacle: Obstacle::Host }, AfterLoss::Again(Attempt(2))),
    ]
}

fn tally() -> Tally {
    Tally {
        waiting: 1,
        leased: 2,
        running: 3,
        measured: 4,
        failed: 5,
        abandoned: 6,
        cancelled: 7,
        lost_attempts: 8,
    }
}
