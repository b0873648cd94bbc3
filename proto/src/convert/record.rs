//! The record of an attempt with its outcome, output and conditions; the loss of an attempt; and an ended attempt, as the store
//! and the export hold it.

use speedup_core::machine::event::{AttemptEnd, EndedAttempt};
use speedup_core::run::conditions::{Conditions, MAX_NOTES, Unmet};
use speedup_core::run::conditions::{FileSystem, Location, MAX_KIND_BYTES};
use speedup_core::run::disturbance::{Disturbance, Resource};
use speedup_core::run::reading::{CpuTime, Frequency, Load, Pressure, Reading, Throttled};
use speedup_core::run::{AfterLoss, LossReason};
use speedup_core::{
    experiment::MAX_NAME_BYTES, experiment::MAX_OUTPUT_KEPT, run::Obstacle, run::program::MAX_PATH_BYTES,
    run::program::Program, run::program::ProgramContent, run::record::Failure, run::record::MAX_RANKS,
    run::record::Outcome, run::record::Output, run::record::RankEnd, run::record::RankTime,
    run::record::Record, run::record::RestReading, value::time::Span,
};

use super::experiment::build::{products_in, products_out};
use super::experiment::metric;
use super::wire::field::{enumerated, optional, reason, required, small};
use super::wire::malformed::{Malformed, Why, Within};
use super::wire::{Choices, Cut, Each, NoLonger, REASON, Wire, enumeration, message, oneof, structure, wire};
use crate::v1;
use v1::after_loss::{Abandoned, After, Cancelled};
use v1::disturbance::{AgentStopped, Disturbance as WireDisturbance, FrequencyChanged, Stalled};
use v1::ended_attempt::{End, Lost};
use v1::executed_program::Content as WireContent;
use v1::failure::{Exit, Failure as WireFailure, NoProduct, NoValue, Warmup, WrongOutput};
use v1::loss_reason::{AgentRestarted, Expired, HostLost, JobEnded, Reason};
use v1::rank_time::End as WireEnd;
use v1::reading;
use v1::record::Outcome as WireOutcome;

impl From<&Record> for v1::Record {
    fn from(record: &Record) -> Self {
        Self {
            outcome: record.outcome.to_wire(),
            started_unix_ns: record.started_unix_ns,
            metrics: metric::values_out(&record.metrics, &record.user_only),
            stdout: record.stdout.to_wire(),
            stderr: record.stderr.to_wire(),
            survivors: record.survivors,
            agent_switches: record.agent_switches,
            timer: record.timer.to_wire(),
            conditions: record.conditions.to_wire(),
            absent: metric::absent_out(&record.absent),
            series: metric::series_out(&record.series),
            rest: record.rest.to_wire(),
            canary_ns: record.canary.to_wire(),
            canary_failed: record.canary_failed.clone(),
            products: products_out(&record.products),
            program: record.program.to_wire(),
            ranks: record.ranks.iter().map(Into::into).collect(),
        }
    }
}

impl TryFrom<v1::Record> for Record {
    type Error = Malformed;

    fn try_from(wire: v1::Record) -> Result<Self, Malformed> {
        let (metrics, user_only) = metric::values_in(&wire.metrics)?;
        if wire.canary_ns.is_some() && wire.canary_failed.is_some() {
            return Err(Malformed::new("canary_failed", Why::Twice));
        }
        Ok(Self {
            outcome: Wire::from_wire(wire.outcome, "outcome")?,
            started_unix_ns: wire.started_unix_ns,
            absent: metric::absent_in(wire.absent, &metrics)?,
            series: metric::series_in(wire.series)?,
            metrics,
            user_only,
            stdout: required(wire.stdout, "stdout")?,
            stderr: required(wire.stderr, "stderr")?,
            survivors: wire.survivors,
            agent_switches: wire.agent_switches,
            timer: optional(wire.timer, "timer")?,
            conditions: optional(wire.conditions, "conditions")?.map(Box::new),
            rest: optional(wire.rest, "rest")?,
            canary: wire.canary_ns.map(Span),
            canary_failed: wire.canary_failed.map(reason),
            products: products_in(wire.products, "products")?,
            program: optional(wire.program, "program")?.map(Box::new),
            ranks: ranks_in(wire.ranks)?,
        })
    }
}

pub(super) fn ranks_in(wire: Vec<v1::RankTime>) -> Result<Vec<RankTime>, Malformed> {
    if wire.len() > MAX_RANKS {
        return Err(Malformed::new("ranks", Why::TooMany { items: wire.len(), most: MAX_RANKS }));
    }
    let ranks: Vec<RankTime> =
        wire.into_iter().map(TryInto::try_into).collect::<Result<_, _>>().within("ranks")?;
    if !ranks.is_sorted_by(|a, b| a.rank < b.rank) {
        return Err(Malformed::new("ranks", Why::Unordered));
    }
    Ok(ranks)
}

structure!(
    RankTime,
    v1::RankTime,
    [end, rank, started_unix_ns, wall = wall_ns, user = user_ns, system = system_ns, max_rss_bytes]
);
oneof!(RankEnd, WireEnd, [Exited(exit) = Exit(exit), Signalled(signal) = Signal(signal)]);

structure!(Program, v1::ExecutedProgram, [content, path => Cut(MAX_PATH_BYTES)]);
oneof!(ProgramContent, WireContent, [
    Blake3(blake3) = Blake3(blake3),
    Unknown { reason => REASON } = Unknown(reason),
]);

structure!(
    RestReading,
    v1::RestReading,
    [waited = waited_ns, load_percent, temperature_mc, frequency_percent]
);

oneof!(Outcome, WireOutcome, [
    Measured = Measured(v1::Measured {}),
    Failed(failed) = Failed(failed),
], by hand [NotExecuted { reason, obstacle } = NotExecuted(not_executed, not_executed_in)]);

fn not_executed_in(wire: v1::NotExecuted) -> Result<Outcome, Malformed> {
    let (reason, obstacle) = reason_and_obstacle(wire).within("not_executed")?;
    Ok(Outcome::NotExecuted { reason, obstacle })
}

message!(Record, v1::Record);
message!(Failure, v1::Failure);

impl From<&Failure> for v1::Failure {
    fn from(failure: &Failure) -> Self {
        let core_dumped = matches!(failure, Failure::Signal { core_dumped: true, .. });
        Self { failure: failure.to_wire(), core_dumped }
    }
}

impl TryFrom<v1::Failure> for Failure {
    type Error = Malformed;

    fn try_from(wire: v1::Failure) -> Result<Self, Malformed> {
        let mut failure = Self::from_wire(wire.failure, "failure")?;
        if let Self::Signal { core_dumped, .. } = &mut failure {
            *core_dumped = wire.core_dumped;
        }
        Ok(failure)
    }
}

oneof!(Failure, WireFailure, [
    Exit { code, expected } = Exit(Exit { code, expected }) in "exit",
    TimedOut { limit } = TimedOutLimitNs(limit),
    WrongOutput { blake3, expected } = WrongOutput(WrongOutput { blake3, expected }) in "wrong_output",
    TooMuchOutput { limit } = TooMuchOutputLimit(limit),
    NoValue { metric => Cut(MAX_NAME_BYTES), reason => REASON } = NoValue(NoValue { metric, reason }),
    NoProduct { name => Cut(MAX_NAME_BYTES), reason => REASON } = NoProduct(NoProduct { name, reason }),
    Warmup { number, failure => REASON } = Warmup(Warmup { number, failure }),
], by hand [Signal { signal, core_dumped } = Signal(signal_out, signal_in)]);

/// The flag for a core dump is a field beside the oneof.
fn signal_out(signal: &u8, _core_dumped: &bool) -> u32 {
    (*signal).into()
}

fn signal_in(wire: u32) -> Result<Failure, Malformed> {
    Ok(Failure::Signal { signal: small(wire, "signal")?, core_dumped: false })
}

structure!(Output, v1::StreamOutput, [kept => NoLonger(MAX_OUTPUT_KEPT as usize), blake3, bytes]);

/// How a reason begins if the owner's limits stood in the way. Releases that had no field for the obstacle are told apart by it:
/// their journals have to be replayed forever.
const OWNERS_WORDS: &str = "the owner of this host does not allow it: ";

enumeration!(Obstacle, v1::Obstacle, [Host, Owner, Plan]);

/// Encodes why an attempt was not executed. The obstacle `Host` is written only if the reason alone would imply another one, so
/// that the bytes stay those of releases without the field.
pub(super) fn not_executed(reason: &str, obstacle: &Obstacle) -> v1::NotExecuted {
    let told = if by_words(reason) == *obstacle && *obstacle == Obstacle::Host {
        v1::Obstacle::Unspecified
    } else {
        (*obstacle).into()
    };
    v1::NotExecuted { reason: reason.to_owned(), obstacle: told.into() }
}

/// Reads the reason and the obstacle.
pub(super) fn reason_and_obstacle(wire: v1::NotExecuted) -> Result<(String, Obstacle), Malformed> {
    let v1::NotExecuted { reason: text, obstacle } = wire;
    let obstacle = if obstacle == v1::Obstacle::Unspecified as i32 {
        by_words(&text)
    } else {
        enumerated::<v1::Obstacle, _>(obstacle, "obstacle")?
    };
    Ok((reason(text), obstacle))
}

fn by_words(reason: &str) -> Obstacle {
    if reason.starts_with(OWNERS_WORDS) { Obstacle::Owner } else { Obstacle::Host }
}

// The loss of an attempt: why, and what becomes of its run.
oneof!(LossReason, v1::LossReason { reason: Reason }, [
    Expired = Expired(Expired {}),
    HostLost = HostLost(HostLost {}),
    AgentRestarted = AgentRestarted(AgentRestarted {}),
    JobEnded { words, is_excused } = JobEnded(JobEnded { words, is_excused }),
], by hand [NotExecuted { reason, obstacle } = NotExecuted(not_executed, loss_not_executed_in)]);

fn loss_not_executed_in(wire: v1::NotExecuted) -> Result<LossReason, Malformed> {
    let (reason, obstacle) = reason_and_obstacle(wire).within("not_executed")?;
    Ok(LossReason::NotExecuted { reason, obstacle })
}

oneof! {
    AfterLoss, v1::AfterLoss { after: After }, [
        Again(attempt) = AgainAttempt(attempt),
        Abandoned = Abandoned(Abandoned {}),
        Cancelled = Cancelled(Cancelled {}),
    ]
}

// An attempt that ended: a row of the index and of the export.
structure!(EndedAttempt, v1::EndedAttempt, [lease, cell, ended = ended_ns, end]);

oneof!(AttemptEnd, End, [
    Reported(reported) = Reported(reported),
    Lost { reason, after, late } = Lost(Lost { reason, after, late }) in "lost",
]);

wire!(Record as Box<v1::Record>: |record| Box::new(record.into()), |wire, field| Self::from_wire(*wire, field););

// The conditions of a run. Lists are short: each setting and each kind of disturbance is told once.
enumeration!(Resource, v1::Resource, [Cpu, Memory, Io]);
enumeration!(Location, v1::Location, [Local, Network, Program]);
structure!(Load, reading::Load, [one_percent, five_percent, fifteen_percent]);
structure!(Pressure, reading::Pressure, [recent, total_us]);
structure!(CpuTime, reading::CpuTime, [busy_ns, iowait_ns, stolen_ns]);
structure!(Frequency, reading::Frequency, [min_khz, mean_khz, max_khz]);
structure!(Throttled, reading::Throttled, [core, package]);

structure!(FileSystem, v1::FileSystem, [location, kind => Cut(MAX_KIND_BYTES)]);
structure!(Unmet, v1::Unmet, [setting, reason => REASON]);
structure! {
    Reading,
    v1::Reading,
    [
        load, runnable, pressure_cpu, pressure_memory, pressure_io, cpu_time, frequency, temperature_mc,
        throttled, available_bytes, cached_bytes
    ]
}
structure!(
    Conditions,
    v1::Conditions,
    [
        before, after, cpus, env_bytes, env_padding, directory_bytes, file_system, software,
        applied => Choices("setting", MAX_NOTES),
        unmet => Each(MAX_NOTES),
        disturbances => Each(MAX_NOTES),
    ]
);

oneof!(Disturbance, v1::Disturbance { disturbance: WireDisturbance }, [
    Stolen { ns } = StolenNs(ns),
    Throttled { count } = ThrottledCount(count),
    Pressure { resource, ns } = Pressure(Stalled { resource, ns }) in "pressure",
    OtherLoad { ns } = OtherLoadNs(ns),
    FrequencyChanged { before_khz, after_khz } = FrequencyChanged(FrequencyChanged { before_khz, after_khz }),
    ProgramStopped { signal } = ProgramStopped(signal) in "program_stopped",
    AgentStopped = AgentStopped(AgentStopped {}),
    CleanupFailed { reason => REASON } = CleanupFailed(reason),
]);
