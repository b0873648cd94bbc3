//! Events with an environment and conditions, every kind of both.

use std::sync::Arc;

use speedup_core::{
    experiment::CommandLine, experiment::Setup, experiment::environment::*, experiment::software::Software,
    machine::event::Change, machine::event::Event, plan::Plan, run::conditions::*,
    run::disturbance::Disturbance, run::disturbance::Resource, run::reading::*, run::record::Outcome,
    run::record::Record, run::record::RestReading, value::id::LeaseEpoch, value::time::Span,
    value::time::Timestamp,
};

use super::{EXPERIMENT, plan, record};

const FIRST_SETTINGS: usize = 11;

pub(super) fn events() -> Vec<Event> {
    let submitted = environments().into_iter().map(|environment| {
        let plan = Arc::new(with(&plan(), environment));
        Change::Submitted { experiment: EXPERIMENT, plan, by: "ada@laptop".to_owned(), request: None }
    });
    let mut record = record(Outcome::Measured);
    record.conditions = Some(Box::new(conditions()));
    let reported = Change::RunReported {
        host: "machine-1".parse().unwrap(),
        lease: LeaseEpoch(7),
        record: Arc::new(record),
    };
    let changes = submitted.chain([reported]);
    (1_000..).zip(changes).map(|(at, change)| Event { at: Timestamp(at), change }).collect()
}

/// What was added since: the length of the working directory, a host that rested, and the canary.
pub(super) fn later_events() -> Vec<Event> {
    let conditions = Conditions {
        directory_bytes: Some(200),
        applied: vec![Setting::DirectoryLength],
        ..Conditions::default()
    };
    let rest = RestReading {
        waited: Span(1_500_000_000),
        load_percent: Some(12),
        temperature_mc: Some(-5_000),
        frequency_percent: Some(98),
    };
    let rested = Record {
        conditions: Some(Box::new(conditions)),
        rest: Some(rest),
        canary: Some(Span(20_000_000)),
        ..record(Outcome::Measured)
    };
    let canary_failed = Some("the canary ended with exit code 1".to_owned());
    let failed = Record { canary_failed, ..record(Outcome::Measured) };
    let reported = [rested, failed].map(|record| Change::RunReported {
        host: "machine-1".parse().unwrap(),
        lease: LeaseEpoch(7),
        record: Arc::new(record),
    });
    (1_000..).zip(reported).map(|(at, change)| Event { at: Timestamp(at), change }).collect()
}

fn with(plan: &Plan, environment: Environment) -> Plan {
    let mut experiment = plan.experiment.clone();
    let shell = |line: &str| Some(Setup { command: CommandLine::Shell(line.to_owned()), timeout: Span(9) });
    (experiment.prepare, experiment.cleanup) = (shell("cp {input}/words ."), shell("rm words"));
    experiment.environment = environment;
    Plan::restore(experiment, plan.benchmarks.clone(), plan.order().to_vec(), &[]).unwrap()
}

fn environments() -> [Environment; 4] {
    let full = Environment {
        cpus: CpuChoice::List("2-5,8".parse().unwrap()),
        housekeeping: 2,
        nice: Some(-20),
        scheduler: Some(Scheduler::Fifo(50)),
        aslr: Some(false),
        env_size: SizeChoice::Total(4096),
        directory_length: SizeChoice::AsIs,
        page_cache: PageCache::Drop,
        huge_pages: Some(HugePages::Always),
        governor: Some("performance".to_owned()),
        turbo: Some(false),
        settle: Span(500),
        limits: ResourceLimits {
            open_files: Some(64),
            memory: Some(1 << 30),
            stack: Some(8 << 20),
            core: Some(0),
            processes: Some(100),
        },
        strict: true,
        software: Software::default(),
    };
    let other = |cpus, scheduler, env_size, huge_pages| Environment {
        cpus,
        scheduler: Some(scheduler),
        env_size,
        huge_pages: Some(huge_pages),
        ..Environment::default()
    };
    [
        full,
        other(CpuChoice::Cores(2), Scheduler::RoundRobin(1), SizeChoice::Random(4096), HugePages::Madvise),
        other(CpuChoice::NumaNode(1), Scheduler::Batch, SizeChoice::AsIs, HugePages::Never),
        other(CpuChoice::All, Scheduler::Other, SizeChoice::Total(0), HugePages::Never),
    ]
}

fn conditions() -> Conditions {
    let unmet = |setting| Unmet { setting, reason: "not permitted".to_owned() };
    let pressure = |resource| Disturbance::Pressure { resource, ns: 5 };
    Conditions {
        before: reading(100),
        after: Reading { temperature_mc: Some(-40_000), ..Reading::default() },
        cpus: Some("2-5,8".parse().unwrap()),
        env_bytes: Some(4_096),
        env_padding: Some(17),
        directory_bytes: None,
        file_system: None,
        software: None,
        applied: Setting::ALL[..5].to_vec(),
        unmet: Setting::ALL[5..FIRST_SETTINGS].iter().copied().map(unmet).collect(),
        disturbances: vec![
            Disturbance::Stolen { ns: 1 },
            Disturbance::Throttled { count: 2 },
            pressure(Resource::Cpu),
            pressure(Resource::Memory),
            pressure(Resource::Io),
            Disturbance::OtherLoad { ns: 3 },
            Disturbance::FrequencyChanged { before_khz: 4, after_khz: 5 },
            Disturbance::CleanupFailed { reason: "exit code 1".to_owned() },
        ],
    }
}

fn reading(from: u32) -> Reading {
    let wide = u64::from(from);
    let pressure = |more: u32| Some(Pressure { recent: from + more, total_us: wide + u64::from(more) });
    Reading {
        load: Some(Load { one_percent: from, five_percent: from + 1, fifteen_percent: from + 2 }),
        runnable: Some(from + 3),
        pressure_cpu: pressure(4),
        pressure_memory: pressure(5),
        pressure_io: pressure(6),
        cpu_time: Some(CpuTime { busy_ns: wide + 7, iowait_ns: wide + 8, stolen_ns: wide + 9 }),
        frequency: Some(Frequency { min_khz: wide + 10, mean_khz: wide + 11, max_khz: wide + 12 }),
        temperature_mc: Some(45_000),
        throttled: Some(Throttled { core: wide + 13, package: wide + 14 }),
        available_bytes: Some(wide + 15),
        cached_bytes: Some(wide + 16),
    }
}
