//! A lease, and the evidence it was given on.

use speedup_core::run::lease::{Evidence, Lease};
use speedup_core::value::id::{AgentEpoch, Attempt, ExperimentId, LeaseEpoch, RunIndex};
use speedup_core::value::time::{Span, Timestamp};
use uuid::Uuid;

use super::fields::{Fields, Unusual, Value, once};
use crate::convert::build::used_build;
use crate::v1;

/// Reads an encoded `speedup.v1.Lease`.
pub(super) fn lease(bytes: &[u8]) -> Result<Lease, Unusual> {
    let (mut epoch, mut experiment, mut run, mut attempt, mut host) = (0, None, 0, 0, None);
    let (mut agent_epoch, mut granted, mut deadline, mut started) = (0, 0, 0, None);
    let (mut grounds, mut seat) = (None, None);
    let mut fields = Fields::of(bytes);
    while let Some((number, value)) = fields.next()? {
        match number {
            1 => epoch = value.number()?,
            2 => experiment = Some(experiment_id(value)?),
            3 => run = value.number()?,
            4 => attempt = value.number()?,
            5 => host = Some(value.text()?.parse()?),
            6 => agent_epoch = value.number()?,
            7 => granted = value.fixed()?,
            8 => deadline = value.fixed()?,
            9 => started = Some(Timestamp(value.fixed()?)),
            10 => once(&mut grounds, evidence(value.bytes()?)?)?,
            20 => once(&mut seat, Box::new(value.message::<v1::LeaseSeat>()?.try_into()?))?,
            _ => return Err(Unusual),
        }
    }
    Ok(Lease {
        epoch: LeaseEpoch(epoch),
        experiment: experiment.ok_or(Unusual)?,
        run: RunIndex(run),
        attempt: Attempt(attempt),
        host: host.ok_or(Unusual)?,
        agent_epoch: AgentEpoch(agent_epoch),
        granted: Timestamp(granted),
        deadline: Timestamp(deadline),
        started,
        evidence: grounds.ok_or(Unusual)?,
        seat,
    })
}

/// Reads an encoded `speedup.v1.Evidence`.
fn evidence(bytes: &[u8]) -> Result<Evidence, Unusual> {
    let (mut boot, mut allocation, mut switches) = (None, None, None);
    let (mut served_in_scope, mut served_in_all, mut set_served) = (0, 0, None);
    let (mut previous, mut idle, mut boot_before, mut allocation_before) = (None, None, None, None);
    let (mut class, mut machine, mut host_name) = (None, None, None);
    let (mut build_run, mut products) = (None, Vec::new());
    let mut fields = Fields::of(bytes);
    while let Some((number, value)) = fields.next()? {
        match number {
            1 => boot = Some(value.text()?.parse()?),
            2 => allocation = Some(value.text()?.parse()?),
            3 => served_in_scope = value.number()?,
            4 => served_in_all = value.number()?,
            5 => once(&mut previous, previous_run(value.bytes()?)?)?,
            6 => idle = Some(Span(value.number()?)),
            7 => boot_before = Some(value.text()?.parse()?),
            8 => allocation_before = Some(value.text()?.parse()?),
            9 => class = Some(value.text()?.parse()?),
            10 => build_run = Some(value.number()?),
            11 => products.push(value.message::<v1::Product>()?),
            12 => machine = Some(value.text()?.parse()?),
            13 => switches = Some(value.text()?.parse()?),
            14 => set_served = Some(value.truth()?),
            20 => host_name = Some(value.text()?.parse()?),
            _ => return Err(Unusual),
        }
    }
    Ok(Evidence {
        boot: boot.ok_or(Unusual)?,
        allocation,
        served_in_scope,
        served_in_all,
        previous,
        idle,
        boot_before,
        allocation_before,
        class,
        build: used_build(build_run, products)?,
        machine,
        host_name,
        switches,
        set_served,
    })
}

/// Reads an encoded `speedup.v1.PreviousRun`.
fn previous_run(bytes: &[u8]) -> Result<(ExperimentId, RunIndex), Unusual> {
    let (mut experiment, mut run) = (None, 0);
    let mut fields = Fields::of(bytes);
    while let Some((number, value)) = fields.next()? {
        match number {
            1 => experiment = Some(experiment_id(value)?),
            2 => run = value.number()?,
            _ => return Err(Unusual),
        }
    }
    Ok((experiment.ok_or(Unusual)?, RunIndex(run)))
}

fn experiment_id(value: Value<'_>) -> Result<ExperimentId, Unusual> {
    value.exactly().map(|bytes| ExperimentId(Uuid::from_bytes(bytes)))
}
