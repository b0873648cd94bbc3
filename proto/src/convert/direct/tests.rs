//! What is usual is read at once. That nothing is read otherwise than by its messages is shown in `tests/integration`, for
//! attempts and events of all kinds.

use prost::Message as _;
use speedup_core::{
    experiment::environment::Setting, experiment::metric::Metric, machine::event::AttemptEnd,
    machine::event::Change, machine::event::EndedAttempt, machine::event::Event, run::AfterLoss,
    run::LossReason, run::conditions::Conditions, run::conditions::FileSystem, run::conditions::Location,
    run::conditions::Unmet, run::disturbance::Disturbance, run::lease::Evidence, run::lease::Lease,
    run::program::Program, run::program::ProgramContent, run::reading::CpuTime, run::reading::Frequency,
    run::reading::Load, run::reading::Pressure, run::reading::Reading, run::reading::Throttled,
    run::record::Outcome, run::record::Output, run::record::Record, value::id::AgentEpoch,
    value::id::Attempt, value::id::ExperimentId, value::id::LeaseEpoch, value::id::RunIndex,
    value::time::Span, value::time::Timestamp,
};
use uuid::Uuid;

use super::{Unusual, read_event, usual_attempt};
use crate::{journal_payload, v1};

fn lease() -> Lease {
    let experiment = ExperimentId(Uuid::from_u128(7));
    Lease {
        epoch: LeaseEpoch(12),
        experiment,
        run: RunIndex(3),
        attempt: Attempt(1),
        host: "node-7".parse().unwrap(),
        agent_epoch: AgentEpoch(u64::MAX),
        granted: Timestamp(1),
        deadline: Timestamp(u64::MAX),
        started: Some(Timestamp(2)),
        evidence: Evidence {
            boot: "8b6e1a52-3f5f-4b53-9c0e-000000000001".parse().unwrap(),
            allocation: Some("4711".parse().unwrap()),
            served_in_scope: 3,
            served_in_all: 300,
            previous: Some((experiment, RunIndex(2))),
            idle: Some(Span(22_092)),
            boot_before: None,
            allocation_before: None,
            class: Some("bcc4470c542ba5e387e01248409ce582".parse().unwrap()),
            build: None,
            machine: None,
            host_name: Some("vm".parse().unwrap()),
            switches: None,
            set_served: Some(true),
        },
        seat: None,
    }
}

fn record() -> Record {
    let output = Output { bytes: 3, blake3: [9; 32], kept: b"abc".to_vec() };
    Record {
        started_unix_ns: 5,
        metrics: [(Metric::Wall, 480_052), (Metric::User, 497_000), (Metric::System, 0)].into(),
        user_only: [Metric::User].into(),
        stdout: output.clone(),
        stderr: output,
        conditions: Some(Box::new(conditions())),
        program: Some(Box::new(Program {
            path: "/bin/true".to_owned(),
            content: ProgramContent::Unknown { reason: "it was not read".to_owned() },
        })),
        ..Record::bare(Outcome::Measured)
    }
}

fn conditions() -> Conditions {
    let pressure = |recent| Some(Pressure { recent, total_us: u64::MAX });
    let reading = Reading {
        load: Some(Load { one_percent: 76, five_percent: 0, fifteen_percent: 33 }),
        runnable: Some(2),
        pressure_cpu: pressure(1),
        pressure_memory: pressure(2),
        pressure_io: pressure(3),
        cpu_time: Some(CpuTime { busy_ns: 1, iowait_ns: 2, stolen_ns: 3 }),
        frequency: Some(Frequency { min_khz: 800, mean_khz: 900, max_khz: 5_000 }),
        temperature_mc: Some(-1_500),
        throttled: Some(Throttled { core: 0, package: 7 }),
        available_bytes: Some(0),
        cached_bytes: Some(1 << 40),
    };
    Conditions {
        before: reading.clone(),
        after: reading,
        cpus: Some("0-3,8".parse().unwrap()),
        env_bytes: Some(242),
        env_padding: Some(0),
        directory_bytes: Some(81),
        file_system: Some(FileSystem { kind: "ext4".to_owned(), location: Location::Local }),
        software: None,
        applied: vec![Setting::Cpus, Setting::Aslr],
        unmet: vec![Unmet { setting: Setting::Turbo, reason: "it may not".to_owned() }],
        disturbances: vec![Disturbance::Stolen { ns: 4 }, Disturbance::AgentStopped],
    }
}

fn attempt(end: AttemptEnd) -> EndedAttempt {
    EndedAttempt { lease: lease(), cell: 4, ended: Timestamp(9), end }
}

#[test]
fn what_was_measured_is_read_at_once() {
    let known = ProgramContent::Blake3(speedup_core::experiment::files::ContentHash([4; 32]));
    let program = Some(Box::new(Program { path: "/bin/true".to_owned(), content: known }));
    let measured = Record { program, ..record() };
    let attempt = attempt(AttemptEnd::reported(measured.clone()));
    assert_eq!(usual_attempt(&v1::EndedAttempt::from(&attempt).encode_to_vec()), Ok(attempt));
    let (host, lease) = ("node-7".parse().unwrap(), Box::new(lease()));
    let changes = [
        Change::RunStarted { host: lease.host.clone(), lease: lease.epoch },
        Change::RunReported { host, lease: lease.epoch, record: measured.into() },
        Change::LeaseGranted(lease),
    ];
    for change in changes {
        let (mut bytes, happened) = (Vec::new(), Event { at: Timestamp(8), change });
        journal_payload::encode(&happened, &mut bytes).unwrap();
        assert_eq!(read_event(&bytes), Some(happened));
    }
}

#[test]
fn what_is_rare_goes_the_messages_way() {
    let lost = AttemptEnd::Lost { reason: LossReason::Expired, after: AfterLoss::Abandoned, late: None };
    let failed = AttemptEnd::reported(Record::bare(Outcome::NotExecuted {
        reason: "no such file".to_owned(),
        obstacle: speedup_core::run::Obstacle::Plan,
    }));
    for end in [lost, failed, AttemptEnd::reported(record())] {
        let bytes = v1::EndedAttempt::from(&attempt(end)).encode_to_vec();
        assert_eq!(usual_attempt(&bytes), Err(Unusual));
    }
    let bytes = v1::EndedAttempt::from(&attempt(AttemptEnd::reported(Record::bare(Outcome::Measured))));
    let bytes = bytes.encode_to_vec();
    let of_a_later_release = [bytes.as_slice(), &[0xf8, 0x01, 0x01]].concat();
    assert_eq!(usual_attempt(&of_a_later_release), Err(Unusual));
    let twice = [bytes.as_slice(), bytes.as_slice()].concat();
    assert_eq!(usual_attempt(&twice), Err(Unusual));
    assert_eq!(usual_attempt(&bytes[..bytes.len() - 1]), Err(Unusual));
}
