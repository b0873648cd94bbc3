//! The columns of an export, in their order. Names are stable; a unit is the last word of its name.

use std::borrow::Cow;

use speedup_core::conditions::{Conditions, Reading};
use speedup_core::disturbance::Disturbance;
use speedup_core::event::{AttemptEnd, EndedAttempt};
use speedup_core::id::{ExperimentId, RunIndex};
use speedup_core::lease::Lease;
use speedup_core::metric::Metric;
use speedup_core::record::{Failure, Outcome, Output, Record, RestReading};
use speedup_core::run::{AfterLoss, LossReason};
use speedup_core::time::Timestamp;

use super::row::{Row, RunEnd};

/// What stands in a column of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Truth(bool),
    Count(u64),
    Signed(i64),
    Moment(Timestamp),
    Text(Cow<'a, str>),
    Series(&'a [f64]),
}

/// How a column is read off a row: all that stands in it is of one type.
#[derive(Clone, Copy)]
pub(super) enum Read {
    Truth(fn(&Row<'_>) -> Option<bool>),
    Count(fn(&Row<'_>) -> Option<u64>),
    Signed(fn(&Row<'_>) -> Option<i64>),
    Moment(fn(&Row<'_>) -> Option<Timestamp>),
    Text(for<'a> fn(&Row<'a>) -> Option<Cow<'a, str>>),
}

impl Read {
    /// What stands there; nothing where it is not known or does not apply.
    pub(super) fn of<'a>(self, row: &Row<'a>) -> Option<Value<'a>> {
        match self {
            Self::Truth(read) => read(row).map(Value::Truth),
            Self::Count(read) => read(row).map(Value::Count),
            Self::Signed(read) => read(row).map(Value::Signed),
            Self::Moment(read) => read(row).map(Value::Moment),
            Self::Text(read) => read(row).map(Value::Text),
        }
    }
}

/// A column: its name, and what stands in it.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) read: Read,
}

macro_rules! columns {
    ($($name:ident: $kind:ident, $row:ident => $value:expr;)*) => {
        [$(Column { name: stringify!($name), read: Read::$kind(|$row| $value.map(Into::into)) }),*]
    };
}

/// The columns before the metrics.
pub(super) const COLUMNS: [Column; 69] = columns! {
    experiment: Text, row => Some(row.planned.experiment.to_string());
    name: Text, row => Some(row.planned.name);
    benchmark: Text, row => Some(row.planned.benchmark);
    version: Text, row => Some(row.planned.version);
    run: Count, row => Some(row.run().0);
    repetition: Count, row => Some(row.planned.repetition);
    run_state: Text, row => row.run_end().map(RunEnd::name);
    counts: Truth, row => Some(row.counts());
    why_not: Text, row => row.why_not();
    attempt: Count, row => lease(row).map(|lease| lease.attempt.0);
    outcome: Text, row => row.outcome();
    failure: Text, row => failure(row).map(Failure::code);
    failure_words: Text, row => failure(row).map(Failure::words);
    loss: Text, row => loss(row).map(|(reason, _)| reason.code());
    loss_words: Text, row => loss(row).and_then(|(reason, _)| loss_words(reason));
    after: Text, row => loss(row).map(|(_, after)| after_name(after));
    host: Text, row => lease(row).map(|lease| lease.host.as_str());
    boot: Text, row => lease(row).map(|lease| lease.evidence.boot.as_str());
    allocation: Text, row => lease(row).and_then(|lease| Some(lease.evidence.allocation.as_ref()?.as_str()));
    agent_epoch: Count, row => lease(row).map(|lease| lease.agent_epoch.0);
    lease_epoch: Count, row => lease(row).map(|lease| lease.epoch.0);
    granted: Moment, row => granted(row);
    granted_ns: Count, row => granted(row).map(|at| at.0);
    started: Moment, row => started(row);
    started_ns: Count, row => started(row).map(|at| at.0);
    ended: Moment, row => ended(row);
    ended_ns: Count, row => ended(row).map(|at| at.0);
    served_in_scope: Count, row => lease(row).map(|lease| lease.evidence.served_in_scope);
    served_in_all: Count, row => lease(row).map(|lease| lease.evidence.served_in_all);
    previous_experiment: Text, row => previous(row).map(|(experiment, _)| experiment.to_string());
    previous_run: Count, row => previous(row).map(|(_, run)| run.0);
    survivors: Count, row => row.record().map(|record| record.survivors);
    agent_switches: Count, row => row.record().map(|record| record.agent_switches);
    timer_bias_ns: Signed, row => row.record().and_then(|record| Some(record.timer?.bias_ns));
    timer_spread_ns: Count, row => row.record().and_then(|record| Some(record.timer?.spread_ns));
    stdout_bytes: Count, row => row.record().map(|record| record.stdout.bytes);
    stdout_blake3: Text, row => row.record().map(|record| hash(&record.stdout));
    stderr_bytes: Count, row => row.record().map(|record| record.stderr.bytes);
    stderr_blake3: Text, row => row.record().map(|record| hash(&record.stderr));
    disturbed: Truth, row => conditions(row).map(|is| !is.disturbances.is_empty());
    disturbances: Text, row => conditions(row).map(disturbances);
    unmet: Text, row => conditions(row).map(unmet);
    cpus: Text, row => conditions(row).and_then(|is| Some(is.cpus.as_ref()?.to_string()));
    env_bytes: Count, row => conditions(row).and_then(|is| is.env_bytes);
    directory_bytes: Count, row => conditions(row).and_then(|is| is.directory_bytes);
    steal_ns: Count, row => growth(row, |reading| Some(reading.cpu_time?.stolen_ns));
    throttled: Count, row => growth(row, throttled);
    pressure_cpu_us: Count, row => growth(row, |reading| Some(reading.pressure_cpu?.total_us));
    load_before_percent: Count, row => before(row).and_then(|reading| Some(reading.load?.one_percent));
    load_after_percent: Count, row => after(row).and_then(|reading| Some(reading.load?.one_percent));
    frequency_before_khz: Count, row => before(row).and_then(|reading| Some(reading.frequency?.mean_khz));
    frequency_after_khz: Count, row => after(row).and_then(|reading| Some(reading.frequency?.mean_khz));
    temperature_before_mc: Signed, row => before(row).and_then(|reading| reading.temperature_mc);
    temperature_after_mc: Signed, row => after(row).and_then(|reading| reading.temperature_mc);
    rest_waited_ns: Count, row => rest(row).map(|rest| rest.waited.0);
    rest_load_percent: Count, row => rest(row).and_then(|rest| rest.load_percent);
    rest_temperature_mc: Signed, row => rest(row).and_then(|rest| rest.temperature_mc);
    rest_frequency_percent: Count, row => rest(row).and_then(|rest| rest.frequency_percent);
    canary_ns: Count, row => row.record().and_then(|record| Some(record.canary?.0));
    canary_failed: Text, row => row.record().and_then(|record| record.canary_failed.as_deref());
    absent: Text, row => row.record().and_then(absent);
    user_only: Text, row => row.record().and_then(user_only);
    group: Count, row => Some(row.planned.place.group.0);
    group_boot: Count, row => Some(row.planned.place.boot);
    idle_ns: Count, row => lease(row).and_then(|lease| Some(lease.evidence.idle?.0));
    boot_before: Text, row => lease(row).and_then(|lease| Some(lease.evidence.boot_before.as_ref()?.as_str()));
    allocation_before: Text, row => {
        lease(row).and_then(|lease| Some(lease.evidence.allocation_before.as_ref()?.as_str()))
    };
    class: Text, row => lease(row).and_then(|lease| Some(lease.evidence.class?.to_string()));
    build: Count, row => lease(row).and_then(|lease| Some(lease.evidence.build.as_ref()?.run.0));
};

/// The output that was kept, not in CSV: it may be anything, of any length. What is not UTF-8 is replaced; the hash is that
/// of the bytes.
pub(super) const KEPT: [Column; 2] = columns! {
    stdout_kept: Text, row => row.record().and_then(|record| kept(&record.stdout));
    stderr_kept: Text, row => row.record().and_then(|record| kept(&record.stderr));
};

/// What a metric's column holds.
pub(super) fn metric<'a>(row: &Row<'a>, metric: Metric) -> Option<Value<'a>> {
    row.record().and_then(|record| record.metrics.get(&metric).copied()).map(Value::Count)
}

/// What an own metric's column holds: the values of the iterations.
pub(super) fn own<'a>(row: &Row<'a>, metric: &str) -> Option<Value<'a>> {
    row.record().and_then(|record| record.series.get(metric)).map(|values| Value::Series(values))
}

fn conditions<'a>(row: &Row<'a>) -> Option<&'a Conditions> {
    row.record()?.conditions.as_deref()
}

fn before<'a>(row: &Row<'a>) -> Option<&'a Reading> {
    conditions(row).map(|is| &is.before)
}

fn after<'a>(row: &Row<'a>) -> Option<&'a Reading> {
    conditions(row).map(|is| &is.after)
}

/// How far a count went up from before the run to after it.
fn growth(row: &Row<'_>, count: fn(&Reading) -> Option<u64>) -> Option<u64> {
    Some(count(after(row)?)?.saturating_sub(count(before(row)?)?))
}

fn throttled(reading: &Reading) -> Option<u64> {
    reading.throttled.map(|throttled| throttled.core.saturating_add(throttled.package))
}

fn rest(row: &Row<'_>) -> Option<RestReading> {
    row.record()?.rest
}

/// The codes of what disturbed the run, separated by spaces; empty when nothing did.
fn disturbances(conditions: &Conditions) -> String {
    let codes: Vec<&str> = conditions.disturbances.iter().map(Disturbance::code).collect();
    codes.join(" ")
}

/// The settings that the plan wanted and the host had not, separated by spaces; empty when it had all.
fn unmet(conditions: &Conditions) -> String {
    let names: Vec<&str> = conditions.unmet.iter().map(|unmet| unmet.setting.name()).collect();
    names.join(" ")
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

fn previous(row: &Row<'_>) -> Option<(ExperimentId, RunIndex)> {
    lease(row)?.evidence.previous
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

fn loss_words(reason: &LossReason) -> Option<&str> {
    match reason {
        LossReason::NotExecuted { reason } => Some(reason),
        LossReason::Expired | LossReason::HostLost | LossReason::AgentRestarted => None,
    }
}

fn after_name(after: AfterLoss) -> &'static str {
    match after {
        AfterLoss::Again(_) => "again",
        AfterLoss::Abandoned => "abandoned",
        AfterLoss::Cancelled => "cancelled",
    }
}

fn hash(output: &Output) -> String {
    blake3::Hash::from_bytes(output.blake3).to_hex().to_string()
}

/// Nothing was kept of most runs, which is another thing than an empty output.
fn kept(output: &Output) -> Option<Cow<'_, str>> {
    (!output.kept.is_empty() || output.bytes == 0).then(|| String::from_utf8_lossy(&output.kept))
}
