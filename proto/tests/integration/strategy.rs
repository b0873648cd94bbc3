//! Any value of the heart's types, sensible or not, within the limits that the wire keeps.

use std::collections::BTreeMap;
use std::{fmt::Debug, sync::Arc};

use proptest::collection::{btree_map, btree_set, vec};
use proptest::{option, prelude::*, sample::select, sample::subsequence, strategy::Union};
use speedup_core::{
    agent::message::*, experiment::build::*, experiment::commit::*, experiment::environment::*,
    experiment::files::*, experiment::gang::*, experiment::metric::*, experiment::prior::*,
    experiment::software::*, experiment::*, fingerprint::*, host::*, machine::event::*,
    machine::provision::*, machine::*, plan::*, run::conditions::*, run::disturbance::*, run::lease::*,
    run::program::*, run::reading::*, run::record::*, run::software::*, run::timer::*, run::work::*, run::*,
    value::cpu_set::*, value::id::*, value::seed::*, value::time::*,
};
use speedup_proto::convert::{ExperimentStatus, ExportPart, OutboxEntry, Proposal, StatusPhase, Submission};
use uuid::Uuid;

/// A type of which any value can be drawn. Each strategy is boxed: a value tree of everything in everything does not fit a test
/// thread's stack.
pub(crate) trait AnyValue: Sized + Debug + 'static {
    fn any_value() -> BoxedStrategy<Self>;
}

pub(crate) fn any_value<T: AnyValue>() -> BoxedStrategy<T> {
    T::any_value()
}

/// The strategy of a struct or of a variant: of each field by its type, or `field = strategy`.
macro_rules! draw {
    // Nested pairs, because proptest has strategies only for tuples of up to twelve elements.
    (strategies) => { Just(()) };
    (strategies $field:ident $(, $($rest:tt)*)?) => { (any_value(), draw!(strategies $($($rest)*)?)) };
    (strategies $field:ident = $by:expr $(, $($rest:tt)*)?) => { ($by, draw!(strategies $($($rest)*)?)) };
    (names) => { () };
    (names $field:ident $(= $by:expr)? $(, $($rest:tt)*)?) => { ($field, draw!(names $($($rest)*)?)) };
    (made [$($name:tt)+]) => { $($name)+ };
    (made $name:tt { [$($done:ident)*] $field:ident $(= $by:expr)? $(, $($rest:tt)*)? }) => {
        draw!(made $name { [$($done)* $field] $($($rest)*)? })
    };
    (made $name:tt ([$($done:ident)*] $field:ident $(= $by:expr)? $(, $($rest:tt)*)?)) => {
        draw!(made $name ([$($done)* $field] $($($rest)*)?))
    };
    (made [$($name:tt)+] { [$($done:ident)*] }) => { $($name)+ { $($done),* } };
    (made [$($name:tt)+] ([$($done:ident)*])) => { $($name)+($($done),*) };
    ($($name:ident)::+ $({ $($field:tt)* })? $(($($value:tt)*))?) => {
        draw!(strategies $($($field)*)? $($($value)*)?).prop_map(|draw!(names $($($field)*)? $($($value)*)?)| {
            draw!(made [$($name)::+] $({ [] $($field)* })? $(([] $($value)*))?)
        })
    };
}

/// Structs by their fields and enums by their variants, as in `draw!`.
macro_rules! any_value {
    ($($type:ident { $($field:tt)+ })+) => {$(
        impl AnyValue for $type {
            fn any_value() -> BoxedStrategy<Self> {
                draw!($type { $($field)+ }).boxed()
            }
        }
    )+};
    ($($type:ident [$($variant:ident $({ $($field:tt)+ })? $(($($value:tt)+))?),+ $(,)?])+) => {$(
        impl AnyValue for $type {
            fn any_value() -> BoxedStrategy<Self> {
                Union::new([$(draw!($type::$variant $({ $($field)+ })? $(($($value)+))?).boxed()),+]).boxed()
            }
        }
    )+};
}

/// Types by a strategy.
macro_rules! drawn_by {
    ($($type:ty: $strategy:expr;)+) => {$(
        impl AnyValue for $type {
            fn any_value() -> BoxedStrategy<Self> {
                $strategy.boxed()
            }
        }
    )+};
}

/// Types that proptest draws.
macro_rules! plain {
    ($($type:ty),+) => { drawn_by!($($type: any::<$type>();)+); };
}

/// Types that hold another.
macro_rules! holding {
    ($($type:ident($inner:ty)),+) => { drawn_by!($($type: any_value::<$inner>().prop_map($type);)+); };
}

macro_rules! ids {
    ($($type:ty),+) => { drawn_by!($($type: "[a-zA-Z0-9._:-]{1,40}".prop_map(|id| id.parse::<$type>().unwrap());)+); };
}

/// Enumerations with a list of their values.
macro_rules! listed {
    ($($type:ty),+) => { drawn_by!($($type: select(<$type>::ALL.to_vec());)+); };
}

plain!(bool, u8, i8, u32, i32, u64, i64, [u8; 32]);
holding!(Attempt(u32), RunIndex(u32), AgentEpoch(u64), LeaseEpoch(u64), Seed(u64), Span(u64), Timestamp(u64));
holding!(ContentHash([u8; 32]), ExperimentId(Uuid), AgentId(Uuid));
ids!(HostId, HostName, BootId, AllocationId, NodeName, JobId, SwitchPath);
listed!(Metric, Policy, Hindrance, EngineNoteKind, Setting);
drawn_by! {
    f64: prop_oneof![Just(0.0), Just(0.95), Just(f64::INFINITY), any::<f64>()];
    String: prop_oneof![Just(String::new()), "[a-zé \u{0}\u{1F600}]{0,12}", any::<String>()];
    Uuid: any::<u128>().prop_map(Uuid::from_u128);
    CpuSet: vec(0..MAX_CPUS, 0..20).prop_map(|cpus| cpus.into_iter().collect::<CpuSet>());
    Fingerprint: any_value().prop_map(|facts| Fingerprint::new(facts).expect("few and short facts"));
    ClassId: any_value::<Fingerprint>().prop_map(|fingerprint| fingerprint.class());
    HardwareId: any_value::<String>().prop_filter_map("a serial number", |text| HardwareId::from_marks([("serial", text.as_str())]));
}

impl<T: AnyValue> AnyValue for Option<T> {
    fn any_value() -> BoxedStrategy<Self> {
        option::of(any_value::<T>()).boxed()
    }
}

impl<T: AnyValue> AnyValue for Vec<T> {
    fn any_value() -> BoxedStrategy<Self> {
        vec(any_value::<T>(), 0..4).boxed()
    }
}

impl<K: AnyValue + Ord, V: AnyValue> AnyValue for BTreeMap<K, V> {
    fn any_value() -> BoxedStrategy<Self> {
        btree_map(any_value::<K>(), any_value::<V>(), 0..4).boxed()
    }
}

impl<T: AnyValue> AnyValue for Box<T> {
    fn any_value() -> BoxedStrategy<Self> {
        any_value::<T>().prop_map(Self::new).boxed()
    }
}

impl<T: AnyValue> AnyValue for Arc<T> {
    fn any_value() -> BoxedStrategy<Self> {
        any_value::<T>().prop_map(Self::new).boxed()
    }
}

impl AnyValue for (ExperimentId, RunIndex) {
    fn any_value() -> BoxedStrategy<Self> {
        (any_value(), any_value()).boxed()
    }
}

// Experiments.
any_value! {
    Version { name, env, vars, command, build, software, commit }
    Commit { id, revision, subject }
    Build { command, builds = 0..4_u32, products, timeout }
    Product { name, content }
    Content { blake3, bytes, executable }
    UsedBuild { run, products }
    Benchmark { name, command, env, expect, timeout, warmup, directory, weight, gang }
    Expectation { exit, accept, stdout_blake3 }
    Setup { command, timeout }
    OutputChoice { limit, keep, keep_of }
    Gang { hosts, ranks_per_host, launcher, times_ranks, series }
    ScalingSeries { name, law }
    OwnMetric { name, pattern, from, unit, better }
    Rest { idle, load_percent, temperature_mc, frequency_percent, patience }
    StagedFile { name, source }
    Independence { policy, scope, hosts, rest }
    Bisection { maximum, block, blocks }
    Levels { hosts, boots }
    Limits { attempts, all_attempts, host_time }
    AnalysisChoice { confidence, center, trim, margin, quantiles, verdicts, weights, precision, prior }
    MetricVerdict { metric, margin, family }
    LinePrior { paths, weights }
    PathWeight { path, weight }
    Experiment {
        name, description, tags, selection, seed, priority, versions, baseline_again,
        benchmarks = vec(any_value(), 0..5),
        files, drawn, runs, levels, order, rule,
        metrics = vec(any_value(), 0..=Metric::ALL.len()),
        own_metrics, independence, analysis, setup, prepare, cleanup, canary, environment, limits, output,
    }
    Shape { boots, runs }
    Extension { order = vec(any::<u32>(), 0..9), shape }
    Environment {
        cpus, housekeeping, nice, scheduler, aslr, env_size, directory_length, page_cache, huge_pages, governor, turbo, settle,
        limits, strict,
        software = prop_oneof![Just(Software::default()), any_value::<Software>()],
    }
    ResourceLimits { open_files, memory, stack, core, processes }
    Software {
        prologue, modules, spack_environment, spack, container,
        timeout = (1..=u64::MAX).prop_map(Span),
        blake3,
    }
    Container { image, launcher, digest, probe }
}
any_value! {
    CommandLine [Exact(words), Shell(line)]
    AcceptedExits [None, These(codes = btree_set(any::<u8>(), 1..4)), All]
    KeepOutput [Failed, All]
    GangLauncher [None, OpenMpi, Mpich, Srun, Own(words = vec(any_value(), 1..4))]
    ScalingLaw [Strong, Weak]
    Pattern [Regex(text), Pointer(text), GoogleBenchmark(text), Go(text)]
    Stream [Stdout, Stderr]
    Better [Lower, Higher]
    FileSource [Content(content), Shared { path, blake3, bytes }]
    Scope [Benchmark, Experiment, Cell]
    Sameness [Identical, Classes, Unchecked]
    Rule [
        Fixed,
        Pilot { precision, maximum },
        Budget { time, maximum },
        Bisection(bisection),
        Sequential { looks, maximum, spending },
    ]
    Spending [ObrienFleming, Pocock]
    Order [Randomized, Interleaved, Blocked]
    Weights [Equal, Custom, Fraction]
    Center [Median, Mean]
    Family [Common, Own]
    CpuChoice [All, Cores(cores), NumaNode(node), List(cpus)]
    Scheduler [Other, Batch, Fifo(priority), RoundRobin(priority)]
    SizeChoice [AsIs, Total(size), Random(most)]
    PageCache [Keep, Drop]
    HugePages [Always, Madvise, Never]
    ContainerLauncher [Apptainer, Words(words)]
}

impl AnyValue for Plan {
    fn any_value() -> BoxedStrategy<Self> {
        (any_value::<Experiment>(), any::<u8>(), vec(any::<u32>(), 0..20))
            .prop_map(|(experiment, mask, order)| {
                let taken = |index: &u32| mask & (1 << index) != 0;
                let benchmarks: Vec<_> =
                    (0..experiment.benchmarks.len() as u32).filter(taken).map(BenchmarkIndex).collect();
                let cells = (benchmarks.len() * experiment.versions.len()) as u32;
                let builds =
                    |version: &Version| version.build.as_ref().map_or(0, |build| build.builds as usize);
                let versions = (cells..).zip(&experiment.versions);
                let built = versions.flat_map(|(number, of)| std::iter::repeat_n(number, builds(of)));
                let built: Vec<u32> = built.collect();
                let mut measured = if cells > 0 { order } else { Vec::new() };
                measured.iter_mut().for_each(|cell| *cell %= cells);
                let mut stages = Vec::new();
                if experiment.bisection().is_some() {
                    // What is planned together builds or is measured, in blocks.
                    measured.truncate(measured.len() / 2 * 2);
                    let builds = Stage { from: 0, shape: Shape::SINGLE };
                    let blocks = Stage { from: built.len() as u32, shape: Shape { boots: 1, runs: 2 } };
                    stages.extend((!built.is_empty()).then_some(builds));
                    stages.extend((!measured.is_empty()).then_some(blocks));
                }
                Plan::restore(experiment, benchmarks, [built, measured].concat(), &stages).unwrap()
            })
            .boxed()
    }
}

// Hosts and leases.
any_value! {
    HostFacts {
        host, boot, allocation, fingerprint, timer, hardware, machine, named_by_owner, can_reboot, allocation_ends, node, job,
        sharing, hostname, switches
    }
    TimerError { bias_ns, spread_ns }
    TimerTest { tested_unix_ns, error, floor_ns, step_ns }
    Evidence {
        boot, allocation, served_in_scope, served_in_all, previous, idle, boot_before, allocation_before, class, build, machine,
        host_name, switches, set_served
    }
    Lease {
        epoch, experiment, run, attempt, host, agent_epoch, granted, deadline, started, evidence, seat
    }
    LeaseSeat { number, members, leaf_switches }
    Member { host, name }
    Superseded { lease, experiment, run, attempt, host, agent_epoch }
    EngineNote { kind, host, by, words }
    Exclusion { host, at, cause, resumed }
    WorkOrder {
        command, env, vars, expect, timeout, warmup, directory, setup, prepare, cleanup, canary, environment, common_software,
        env_padding, directory_padding,
        metrics = vec(any_value(), 0..=Metric::ALL.len()),
        own_metrics, output, rest, files, built, collect, seat,
    }
    WorkSeat { number, size, hostfile, hosts }
}
any_value! {
    Fact [Value(value), Absent, Unreadable(why)]
    Sharing [Unsaid, Alone, Shared]
    ExclusionCause [Drained { by }, Quarantined { by, reason }]
    Obstacle [Host, Owner, Plan]
    LossReason [Expired, HostLost, AgentRestarted, JobEnded { words, is_excused }, NotExecuted { reason, obstacle }]
    AfterLoss [Again(attempt), Abandoned, Cancelled]
}

/// Leases as those of a gang: the first knows the hosts of all.
fn gang(mut leases: Vec<Lease>) -> Vec<Lease> {
    for (number, lease) in (0..).zip(&mut leases) {
        lease.seat = Some(Box::new(LeaseSeat::numbered(number)));
    }
    LeaseSeat::introduce(&mut leases);
    leases
}

// Records.
any_value! {
    Output { bytes, blake3, kept = vec(any::<u8>(), 0..20) }
    RankTime { rank, started_unix_ns, wall, user, system, max_rss_bytes, end }
    RestReading { waited, load_percent, temperature_mc, frequency_percent }
    Program { path, content }
    FileSystem { kind = "[a-z0-9.]{0,64}", location }
    UsedSoftware { variables, container }
    UsedVariables { blake3, made }
    MadeVariables { variables, ended_unix_ns, took }
    UsedContainer { image, identity, start }
    Load { one_percent, five_percent, fifteen_percent }
    Pressure { recent, total_us }
    CpuTime { busy_ns, iowait_ns, stolen_ns }
    Frequency { min_khz, mean_khz, max_khz }
    Throttled { core, package }
    Reading {
        load, runnable, pressure_cpu, pressure_memory, pressure_io, cpu_time, frequency, temperature_mc, throttled,
        available_bytes, cached_bytes
    }
    Unmet { setting, reason }
    Conditions {
        before, after, cpus, env_bytes, env_padding, directory_bytes, file_system, software,
        applied = subsequence(Setting::ALL.to_vec(), 0..=Setting::ALL.len()),
        unmet, disturbances,
    }
    EndedAttempt { lease, cell, ended, end }
}
any_value! {
    Outcome [Measured, Failed(failure), NotExecuted { reason, obstacle }]
    Failure [
        Exit { code, expected },
        Signal { signal, core_dumped },
        TimedOut { limit },
        WrongOutput { blake3, expected },
        TooMuchOutput { limit },
        NoValue { metric, reason },
        NoProduct { name, reason },
        Warmup { number, failure },
    ]
    Absence [
        Unsupported, NotPermitted, BelowFloor, Multiplexed, NotCounted, Wrapped, Unreadable { reason }
    ]
    RankEnd [Exited(code), Signalled(signal)]
    ProgramContent [Blake3(hash), Unknown { reason }]
    Location [Local, Network, Program]
    ImageIdentity [Blake3(hash), Told(digest = "[a-z0-9:]{0,80}"), Unknown { reason }]
    Resource [Cpu, Memory, Io]
    Disturbance [
        Stolen { ns },
        Throttled { count },
        Pressure { resource, ns },
        OtherLoad { ns },
        FrequencyChanged { before_khz, after_khz },
        ProgramStopped { signal },
        AgentStopped,
        CleanupFailed { reason },
    ]
    AttemptEnd [Reported(record), Lost { reason, after, late }]
}

impl AnyValue for Record {
    fn any_value() -> BoxedStrategy<Self> {
        let finite = any::<f64>().prop_filter("finite", |value| value.is_finite());
        let strategy = draw!(Record {
            outcome, started_unix_ns,
            metrics = btree_map(any_value(), any_value(), 0..=Metric::ALL.len()),
            user_only = btree_set(any_value(), 0..=Metric::ALL.len()),
            absent = btree_map(any_value(), any_value(), 0..=Metric::ALL.len()),
            series = btree_map(any_value(), vec(finite, 0..5), 0..4),
            stdout, stderr, survivors, agent_switches, timer, conditions, rest, canary, canary_failed, products, program, ranks,
        });
        strategy.prop_map(within_reason).boxed()
    }
}

/// Removes the fields that contradict other fields of the record.
fn within_reason(mut record: Record) -> Record {
    let values = &record.metrics;
    record.user_only.retain(|metric| values.contains_key(metric));
    record.absent.retain(|metric, _| !values.contains_key(metric));
    if record.canary.is_some() {
        record.canary_failed = None;
    }
    record.ranks.sort_by_key(|time| time.rank);
    record.ranks.dedup_by_key(|time| time.rank);
    record
}

// Messages and events.
any_value! {
    AttemptReport { lease, executed_by, record }
    Tally {
        waiting = 0..700_000_u32,
        leased = 0..700_000_u32,
        running = 0..700_000_u32,
        measured = 0..700_000_u32,
        failed = 0..700_000_u32,
        abandoned = 0..700_000_u32,
        cancelled = 0..700_000_u32,
        lost_attempts,
    }
    RequestKey { id, content }
    Event { at, change }
    Submission { plan, wait_for_hosts, by, request }
    ExperimentStatus {
        experiment, name, submitted, submitted_by, tags, phase, tally, cells, hosts_here, words, bisects
    }
    Hindrances {
        rebooting, away, out_of_service, other_class, not_fresh, no_allocation, cannot_reboot, tried, busy, resting, ending,
        given_up, held_back, visited, able, differing, together, in_one_job, sets_spent
    }
    NamedHost { host, host_name }
    KeptHosts { hindrance, hosts, first }
    Waits { of, runs, hosts, differing }
    Outlook { waits, left_out }
}
any_value! {
    AgentMessage [Join { facts, agent, epoch }, Ask, Ready { lease }, Started { lease }, Report(report)]
    CoordinatorMessage [
        Welcome { next_lease },
        TurnedAway { reason, known_epoch, is_lasting },
        Grant(grant),
        Acknowledged { lease },
        Begin { lease },
        End { lease },
        Reboot { reason },
        Dismissed { reason },
        Refused { lease, reason },
    ]
    OutboxEntry [Report(report), Acknowledged(lease), Epoch(epoch)]
    Proposal [Experiment(experiment), Toml(text), Json(text)]
    StatusPhase [
        Running, WaitingForHosts, Paused { reason }, Cancelling, Deciding, Finished { at, cancelled }
    ]
    Settlement [Measured, Failed, Abandoned, Cancelled]
    WaitingFor [Resume { reason }, Builds { made, builds }, Hosts(counts)]
    Explanation [
        Waiting { attempt, waiting_for },
        Held { host, host_name, lease, begun, connected, deadline },
        Settled(settlement),
    ]
    Change [
        CoordinatorStarted,
        Submitted { experiment, plan, by, request },
        Paused { experiment, by, reason },
        Resumed { experiment, by },
        Cancelled { experiment, by, reason },
        AwaitingDecision { experiment },
        Decided { experiment, by, enough, words },
        ClassPinned { experiment, class },
        ClassApproved { experiment, host, class, by },
        Extended { experiment, from, appended, by },
        Finished { experiment, tally, cancelled },
        HostJoined { facts, agent, epoch },
        HostLeft { host, give_up },
        HostDrifted { host, facts },
        HostDrained { host, by },
        HostResumed { host, by },
        HostReset { host, by },
        HostQuarantined { host, by, reason },
        EngineNoted(note),
        RebootAsked { host, experiment, give_up },
        VisitBroken { host, experiment },
        LeaseGranted(lease),
        GangGranted(leases = any_value::<Vec<Lease>>().prop_map(gang)),
        RunStarted { host, lease },
        RunReported { host, lease, record },
        PartEnded { host, lease, record },
        AttemptLost { host, lease, reason, after },
        LateReport { superseded, record },
    ]
}

impl AnyValue for Grant {
    fn any_value() -> BoxedStrategy<Self> {
        (any_value::<Lease>(), any_value()).prop_map(|(lease, order)| Self::new(&lease, order)).boxed()
    }
}

impl AnyValue for ExportPart {
    fn any_value() -> BoxedStrategy<Self> {
        let head = (any_value(), any_value::<Plan>(), any_value()).prop_map(|(status, plan, exclusions)| {
            let (stages, benchmarks) = (plan.stages().to_vec(), plan.benchmarks);
            Self::Head { status, exclusions, stages, benchmarks, experiment: Box::new(plan.experiment) }
        });
        let attempts = vec(any_value::<EndedAttempt>(), 0..3);
        prop_oneof![
            head,
            vec(any::<u32>(), 0..9).prop_map(Self::Order),
            attempts.prop_map(|attempts| Self::Attempts(attempts.iter().collect())),
        ]
        .boxed()
    }
}
