//! The columns of an export, in their order. Names are stable; a unit is the last word of its name.

use speedup_core::event::{AttemptEnd, EndedAttempt};
use speedup_core::id::ExperimentId;
use speedup_core::lease::Lease;
use speedup_core::metric::Metric;
use speedup_core::record::{Failure, Outcome, Output, Record};
use speedup_core::run::{AfterLoss, LossReason};
use speedup_core::time::Timestamp;

use super::row::{Row, RunEnd};
use crate::moment;

/// What stands in a column of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Absent,
    Truth(bool),
    Number(u64),
    Text(String),
    Series(Vec<f64>),
}

impl From<Option<String>> for Value {
    fn from(text: Option<String>) -> Self {
        text.map_or(Self::Absent, Self::Text)
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        text.map(str::to_owned).into()
    }
}

impl From<Option<u64>> for Value {
    fn from(number: Option<u64>) -> Self {
        number.map_or(Self::Absent, Self::Number)
    }
}

/// A column: its name, and what stands in it.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) value: fn(&Row<'_>) -> Value,
}

macro_rules! columns {
    ($($name:ident: $value:expr,)*) => {
        [$(Column { name: stringify!($name), value: $value }),*]
    };
}

/// The columns before the metrics.
pub(super) const COLUMNS: [Column; 39] = columns! {
    experiment: |row| Value::Text(row.planned.experiment.to_string()),
    name: |row| Value::Text(row.planned.name.to_owned()),
    benchmark: |row| Value::Text(row.planned.benchmark.to_owned()),
    version: |row| Value::Text(row.planned.version.to_owned()),
    run: |row| Value::Number(row.run().0.into()),
    repetition: |row| Value::Number(row.planned.repetition.into()),
    run_state: |row| row.run_end().map(RunEnd::name).into(),
    counts: |row| Value::Truth(row.counts()),
    why_not: |row| row.why_not().into(),
    attempt: |row| lease(row).map(|lease| u64::from(lease.attempt.0)).into(),
    outcome: |row| row.outcome().into(),
    failure: |row| failure(row).map(Failure::code).into(),
    failure_words: |row| failure(row).map(Failure::words).into(),
    loss: |row| loss(row).map(|(reason, _)| reason.code()).into(),
    loss_words: loss_words,
    after: |row| loss(row).map(|(_, after)| after_name(after)).into(),
    host: |row| lease(row).map(|lease| lease.host.as_str()).into(),
    boot: |row| lease(row).map(|lease| lease.evidence.boot.as_str()).into(),
    allocation: |row| lease(row).and_then(|lease| Some(lease.evidence.allocation.as_ref()?.as_str())).into(),
    agent_epoch: |row| lease(row).map(|lease| lease.agent_epoch.0).into(),
    lease_epoch: |row| lease(row).map(|lease| lease.epoch.0).into(),
    granted: |row| calendar(granted(row)),
    granted_ns: |row| granted(row).map(|at| at.0).into(),
    started: |row| calendar(started(row)),
    started_ns: |row| started(row).map(|at| at.0).into(),
    ended: |row| calendar(ended(row)),
    ended_ns: |row| ended(row).map(|at| at.0).into(),
    served_in_scope: |row| lease(row).map(|lease| u64::from(lease.evidence.served_in_scope)).into(),
    served_in_all: |row| lease(row).map(|lease| lease.evidence.served_in_all).into(),
    previous_experiment: |row| previous(row).map(|(experiment, _)| experiment.to_string()).into(),
    previous_run: |row| previous(row).map(|(_, run)| run).into(),
    survivors: |row| row.record().map(|record| u64::from(record.survivors)).into(),
    agent_switches: |row| row.record().map(|record| record.agent_switches).into(),
    stdout_bytes: |row| row.record().map(|record| record.stdout.bytes).into(),
    stdout_blake3: |row| hash(row.record().map(|record| &record.stdout)),
    stderr_bytes: |row| row.record().map(|record| record.stderr.bytes).into(),
    stderr_blake3: |row| hash(row.record().map(|record| &record.stderr)),
    absent: |row| row.record().and_then(absent).into(),
    user_only: |row| row.record().and_then(user_only).into(),
};

/// The output that was kept, in JSON lines only: it may be anything, of any length. What is not UTF-8 is replaced; the
/// hash is that of the bytes.
pub(super) const KEPT: [Column; 2] = columns! {
    stdout_kept: |row| kept(row.record().map(|record| &record.stdout)),
    stderr_kept: |row| kept(row.record().map(|record| &record.stderr)),
};

/// What a metric's column holds.
pub(super) fn metric(row: &Row<'_>, metric: Metric) -> Value {
    row.record().and_then(|record| record.metrics.get(&metric).copied()).into()
}

/// What an own metric's column holds: the values of the iterations.
pub(super) fn own(row: &Row<'_>, metric: &str) -> Value {
    row.record()
        .and_then(|record| record.series.get(metric))
        .map_or(Value::Absent, |values| Value::Series(values.clone()))
}

/// Pairs `metric:code` of the metrics that have no value.
fn absent(record: &Record) -> Option<String> {
    let pairs = record.absent.iter().map(|(metric, absence)| format!("{}:{}", metric.name(), absence.code()));
    joined(pairs)
}

/// The metrics whose values lack what happened in the kernel.
fn user_only(record: &Record) -> Option<String> {
    joined(record.user_only.iter().map(|metric| metric.name().to_owned()))
}

fn joined(words: impl Iterator<Item = String>) -> Option<String> {
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn lease<'a>(row: &Row<'a>) -> Option<&'a Lease> {
    row.ended().map(|ended| &ended.lease)
}

fn granted(row: &Row<'_>) -> Option<Timestamp> {
    lease(row).map(|lease| lease.granted)
}

fn started(row: &Row<'_>) -> Option<Timestamp> {
    lease(row).and_then(|lease| lease.started)
}

fn ended(row: &Row<'_>) -> Option<Timestamp> {
    row.ended().map(|ended| ended.ended)
}

fn previous(row: &Row<'_>) -> Option<(ExperimentId, u64)> {
    let (experiment, run) = lease(row)?.evidence.previous?;
    Some((experiment, run.0.into()))
}

fn failure<'a>(row: &Row<'a>) -> Option<&'a Failure> {
    match row.record() {
        Some(Record { outcome: Outcome::Failed(failure), .. }) => Some(failure),
        Some(Record { outcome: Outcome::Measured | Outcome::NotExecuted { .. }, .. }) | None => None,
    }
}

/// Of a late report too: it says what its attempt was given up for.
fn loss<'a>(row: &Row<'a>) -> Option<(&'a LossReason, AfterLoss)> {
    match row.ended() {
        Some(EndedAttempt { end: AttemptEnd::Lost { reason, after, .. }, .. }) => Some((reason, *after)),
        Some(EndedAttempt { end: AttemptEnd::Reported(_), .. }) | None => None,
    }
}

fn loss_words(row: &Row<'_>) -> Value {
    match loss(row) {
        Some((LossReason::NotExecuted { reason }, _)) => Value::Text(reason.clone()),
        Some((LossReason::Expired | LossReason::HostLost | LossReason::AgentRestarted, _)) | None => {
            Value::Absent
        }
    }
}

fn after_name(after: AfterLoss) -> &'static str {
    match after {
        AfterLoss::Again(_) => "again",
        AfterLoss::Abandoned => "abandoned",
        AfterLoss::Cancelled => "cancelled",
    }
}

fn calendar(at: Option<Timestamp>) -> Value {
    at.map(moment::rfc3339).into()
}

fn hash(output: Option<&Output>) -> Value {
    let hex = |output: &Output| output.blake3.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    output.map(hex).into()
}

/// Nothing was kept of most runs, which is another thing than an empty output.
fn kept(output: Option<&Output>) -> Value {
    let kept = output.filter(|output| !output.kept.is_empty() || output.bytes == 0);
    kept.map(|output| String::from_utf8_lossy(&output.kept).into_owned()).into()
}
