//! The record of an attempt.

use std::collections::{BTreeMap, BTreeSet};

use speedup_core::experiment::MAX_OUTPUT_KEPT;
use speedup_core::experiment::files::ContentHash;
use speedup_core::experiment::metric::Metric;
use speedup_core::run::program::{MAX_PATH_BYTES, Program, ProgramContent};
use speedup_core::run::record::{Outcome, Output, Record};
use speedup_core::value::time::Span;

use super::conditions::conditions;
use super::fields::{Fields, Unusual, Value, Writer, once};
use crate::convert::experiment::build::products_in;
use crate::convert::experiment::metric::{absent_in, absent_out, series_in, series_out};
use crate::convert::record::{not_executed, ranks_in};
use crate::convert::wire::field::{enumerated, reason};
use crate::v1;

/// Reads an encoded `speedup.v1.Record` with the outcome `Measured`; other outcomes are rare.
pub(super) fn record(bytes: &[u8]) -> Result<Record, Unusual> {
    let mut record = Record::bare(Outcome::Measured);
    let mut outcome = None;
    let mut stdout = None;
    let mut stderr = None;
    let mut absent = Vec::new();
    let mut series = Vec::new();
    let mut products = Vec::new();
    let mut ranks = Vec::new();
    let mut fields = Fields::of(bytes);
    while let Some((number, value)) = fields.next()? {
        match number {
            1 => once(&mut outcome, measured(value)?)?,
            4 => record.started_unix_ns = value.fixed()?,
            5 => metric(value.bytes()?, &mut record.metrics, &mut record.user_only)?,
            6 => once(&mut stdout, output(value.bytes()?)?)?,
            7 => once(&mut stderr, output(value.bytes()?)?)?,
            8 => record.survivors = value.number()?,
            9 => record.agent_switches = value.number()?,
            10 => absent.push(value.message()?),
            11 => series.push(value.message()?),
            12 => once(&mut record.conditions, Box::new(conditions(value.bytes()?)?))?,
            16 => once(&mut record.timer, value.message::<v1::TimerError>()?.try_into()?)?,
            17 => once(&mut record.rest, value.message::<v1::RestReading>()?.try_into()?)?,
            18 => record.canary = Some(Span(value.number()?)),
            19 => record.canary_failed = Some(reason(value.text()?.to_owned())),
            25 => products.push(value.message()?),
            26 => once(&mut record.program, Box::new(program(value.bytes()?)?))?,
            27 => ranks.push(value.message()?),
            _ => return Err(Unusual),
        }
    }
    if record.canary.is_some() && record.canary_failed.is_some() {
        return Err(Unusual);
    }
    Ok(Record {
        outcome: outcome.ok_or(Unusual)?,
        stdout: stdout.ok_or(Unusual)?,
        stderr: stderr.ok_or(Unusual)?,
        absent: absent_in(absent, &record.metrics)?,
        series: series_in(series)?,
        products: products_in(products, "products")?,
        ranks: ranks_in(ranks)?,
        ..record
    })
}

/// Writes the fields of a `speedup.v1.Record`.
pub(super) fn write_record(record: &Record, to: &mut Writer<'_>) {
    // Each field by its name, so that none is added and not written.
    let Record {
        outcome,
        started_unix_ns,
        metrics,
        stdout,
        stderr,
        survivors,
        agent_switches,
        timer,
        conditions,
        user_only,
        absent,
        series,
        rest,
        canary,
        canary_failed,
        products,
        program,
        ranks,
    } = record;
    match outcome {
        Outcome::Measured => to.message(1, &v1::Measured {}),
        Outcome::Failed(failure) => to.message(2, &v1::Failure::from(failure)),
        Outcome::NotExecuted { reason, obstacle } => to.message(3, &not_executed(reason, obstacle)),
    }
    to.fixed(4, *started_unix_ns);
    for (metric, value) in metrics {
        to.fields(5, |to| {
            to.number(1, v1::Metric::from(*metric) as u32);
            to.number(2, *value);
            to.number(3, user_only.contains(metric));
        });
    }
    to.fields(6, |to| write_output(stdout, to));
    to.fields(7, |to| write_output(stderr, to));
    to.number(8, *survivors);
    to.number(9, *agent_switches);
    absent_out(absent).iter().for_each(|absent| to.message(10, absent));
    series_out(series).iter().for_each(|series| to.message(11, series));
    to.message_if(12, conditions.as_deref().map(v1::Conditions::from));
    to.message_if(16, timer.map(v1::TimerError::from));
    to.message_if(17, rest.map(v1::RestReading::from));
    to.number_if(18, canary.map(|time| time.0));
    to.bytes_if(19, canary_failed.as_ref());
    products.iter().for_each(|product| to.message(25, &v1::Product::from(product)));
    if let Some(program) = program {
        to.fields(26, |to| write_program(program, to));
    }
    ranks.iter().for_each(|rank| to.message(27, &v1::RankTime::from(rank)));
}

fn write_output(Output { bytes, blake3, kept }: &Output, to: &mut Writer<'_>) {
    to.number(1, *bytes);
    to.bytes(2, blake3);
    to.bytes(3, kept);
}

fn measured(value: Value<'_>) -> Result<Outcome, Unusual> {
    if value.bytes()?.is_empty() { Ok(Outcome::Measured) } else { Err(Unusual) }
}

/// Reads an encoded `speedup.v1.MetricValue` of a metric that has no value yet.
fn metric(
    bytes: &[u8],
    metrics: &mut BTreeMap<Metric, u64>,
    user_only: &mut BTreeSet<Metric>,
) -> Result<(), Unusual> {
    let mut metric = 0;
    let mut measured = 0;
    let mut is_user_only = false;
    let mut fields = Fields::of(bytes);
    while let Some((number, value)) = fields.next()? {
        match number {
            1 => metric = value.number()?,
            2 => measured = value.number()?,
            3 => is_user_only = value.truth()?,
            _ => return Err(Unusual),
        }
    }
    let metric: Metric = enumerated::<v1::Metric, _>(metric, "metric")?;
    if is_user_only {
        user_only.insert(metric);
    }
    match metrics.insert(metric, measured) {
        Some(_) => Err(Unusual),
        None => Ok(()),
    }
}

/// Reads an encoded `speedup.v1.StreamOutput`.
fn output(bytes: &[u8]) -> Result<Output, Unusual> {
    let mut written = 0;
    let mut blake3 = None;
    let mut kept = [].as_slice();
    let mut fields = Fields::of(bytes);
    while let Some((number, value)) = fields.next()? {
        match number {
            1 => written = value.number()?,
            2 => blake3 = Some(value.exactly()?),
            3 => kept = value.bytes()?,
            _ => return Err(Unusual),
        }
    }
    if kept.len() as u64 > MAX_OUTPUT_KEPT {
        return Err(Unusual);
    }
    Ok(Output { bytes: written, blake3: blake3.ok_or(Unusual)?, kept: kept.to_owned() })
}

fn write_program(Program { path, content }: &Program, to: &mut Writer<'_>) {
    to.bytes(1, path);
    match content {
        ProgramContent::Blake3(hash) => to.bytes(2, hash.0),
        ProgramContent::Unknown { reason } => to.bytes_if(3, Some(reason)),
    }
}

/// Reads an encoded `speedup.v1.ExecutedProgram` of which the content is known.
fn program(bytes: &[u8]) -> Result<Program, Unusual> {
    let mut path = "";
    let mut blake3 = None;
    let mut fields = Fields::of(bytes);
    while let Some((number, value)) = fields.next()? {
        match number {
            1 => path = value.text()?,
            2 => blake3 = Some(value.exactly()?),
            _ => return Err(Unusual),
        }
    }
    if path.len() > MAX_PATH_BYTES {
        return Err(Unusual);
    }
    let content = ProgramContent::Blake3(ContentHash(blake3.ok_or(Unusual)?));
    Ok(Program { path: path.to_owned(), content })
}
