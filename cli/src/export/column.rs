//! The columns of an export, in their order. Names are stable; a unit is the last word of its name.

use speedup_core::conditions::{Conditions, Reading};
use speedup_core::disturbance::Disturbance;
use speedup_core::event::{AttemptEnd, EndedAttempt};
use speedup_core::id::ExperimentId;
use speedup_core::lease::Lease;
use speedup_core::metric::Metric;
use speedup_core::record::{Failure, Outcome, Output, Record, RestReading};
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
    Signed(i64),
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
pub(super) const COLUMNS: [Column; 69] = columns! {
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
    timer_bias_ns: timer_bias,
    timer_spread_ns: |row| row.record().and_then(|record| Some(record.timer?.spread_ns)).into(),
    stdout_bytes: |row| row.record().map(|record| record.stdout.bytes).into(),
    stdout_blake3: |row| hash(row.record().map(|record| &record.stdout)),
    stderr_bytes: |row| row.record().map(|record| record.stderr.bytes).into(),
    stderr_blake3: |row| hash(row.record().map(|record| &record.stderr)),
    disturbed: |row| conditions(row).map_or(Value::Absent, |is| Value::Truth(!is.disturbances.is_empty())),
    disturbances: |row| conditions(row).map_or(Value::Absent, disturbances),
    unmet: |row| conditions(row).map_or(Value::Absent, unmet),
    cpus: |row| conditions(row).and_then(|is| Some(is.cpus.as_ref()?.to_string())).into(),
    env_bytes: |row| conditions(row).and_then(|is| is.env_bytes).into(),
    directory_bytes: |row| conditions(row).and_then(|is| is.directory_bytes).map(u64::from).into(),
    steal_ns: |row| growth(row, |reading| Some(reading.cpu_time?.stolen_ns)),
    throttled: |row| growth(row, throttled),
    pressure_cpu_us: |row| growth(row, |reading| Some(reading.pressure_cpu?.total_us)),
    load_before_percent: |row| before(row, |reading| Some(reading.load?.one_percent.into())),
    load_after_percent: |row| after(row, |reading| Some(reading.load?.one_percent.into())),
    frequency_before_khz: |row| before(row, |reading| Some(reading.frequency?.mean_khz)),
    frequency_after_khz: |row| after(row, |reading| Some(reading.frequency?.mean_khz)),
    temperature_before_mc: |row| temperature(conditions(row).map(|is| &is.before)),
    temperature_after_mc: |row| temperature(conditions(row).map(|is| &is.after)),
    rest_waited_ns: |row| rest(row).map(|rest| rest.waited.0).into(),
    rest_load_percent: |row| rest(row).and_then(|rest| rest.load_percent).map(u64::from).into(),
    rest_temperature_mc: |row| millicelsius(rest(row).and_then(|rest| rest.temperature_mc)),
    rest_frequency_percent: |row| rest(row).and_then(|rest| rest.frequency_percent).map(u64::from).into(),
    canary_ns: |row| row.record().and_then(|record| Some(record.canary?.0)).into(),
    canary_failed: |row| row.record().and_then(|record| record.canary_failed.as_deref()).into(),
    absent: |row| row.record().and_then(absent).into(),
    user_only: |row| row.record().and_then(user_only).into(),
    group: |row| Value::Number(row.planned.place.group.0.into()),
    group_boot: |row| Value::Number(row.planned.place.boot.into()),
    idle_ns: |row| lease(row).and_then(|lease| lease.evidence.idle).map(|idle| idle.0).into(),
    boot_before: |row| lease(row).and_then(|lease| Some(lease.evidence.boot_before.as_ref()?.as_str())).into(),
    allocation_before: |row| {
        lease(row).and_then(|lease| Some(lease.evidence.allocation_before.as_ref()?.as_str())).into()
    },
    class: |row| lease(row).and_then(|lease| lease.evidence.class).map(|class| class.to_string()).into(),
    build: |row| lease(row).and_then(|lease| Some(u64::from(lease.evidence.build.as_ref()?.run.0))).into(),
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

fn conditions<'a>(row: &Row<'a>) -> Option<&'a Conditions> {
    row.record()?.conditions.as_deref()
}

fn before(row: &Row<'_>, value: fn(&Reading) -> Option<u64>) -> Value {
    conditions(row).and_then(|is| value(&is.before)).into()
}

fn after(row: &Row<'_>, value: fn(&Reading) -> Option<u64>) -> Value {
    conditions(row).and_then(|is| value(&is.after)).into()
}

/// How far a count went up from before the run to after it.
fn growth(row: &Row<'_>, count: fn(&Reading) -> Option<u64>) -> Value {
    let grown = |is: &Conditions| Some(count(&is.after)?.saturating_sub(count(&is.before)?));
    conditions(row).and_then(grown).into()
}

fn throttled(reading: &Reading) -> Option<u64> {
    reading.throttled.map(|throttled| throttled.core.saturating_add(throttled.package))
}

fn rest(row: &Row<'_>) -> Option<RestReading> {
    row.record()?.rest
}

fn temperature(reading: Option<&Reading>) -> Value {
    millicelsius(reading.and_then(|reading| reading.temperature_mc))
}

/// Below zero it is still a number: text, for a column of numbers has none below zero elsewhere.
fn millicelsius(temperature: Option<i32>) -> Value {
    match temperature {
        Some(celsius) => {
            u64::try_from(celsius).map_or_else(|_| Value::Text(celsius.to_string()), Value::Number)
        }
        None => Value::Absent,
    }
}

/// The codes of what disturbed the run, separated by spaces; empty when nothing did.
fn disturbances(conditions: &Conditions) -> Value {
    let codes: Vec<&str> = conditions.disturbances.iter().map(Disturbance::code).collect();
    Value::Text(codes.join(" "))
}

/// The settings that the plan wanted and the host had not, separated by spaces; empty when it had all.
fn unmet(conditions: &Conditions) -> Value {
    let names: Vec<&str> = conditions.unmet.iter().map(|unmet| unmet.setting.name()).collect();
    Value::Text(names.join(" "))
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

fn timer_bias(row: &Row<'_>) -> Value {
    let timer = row.record().and_then(|record| record.timer);
    timer.map_or(Value::Absent, |timer| Value::Signed(timer.bias_ns))
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
