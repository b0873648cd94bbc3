//! A lease, and the evidence of freshness on which it was granted.

use std::str::FromStr;

use speedup_core::run::lease::{Evidence, Lease};
use speedup_core::value::id::{
    AgentEpoch, AllocationId, Attempt, BootId, ExperimentId, HostName, IdError, LeaseEpoch, RunIndex,
    SwitchPath,
};
use speedup_core::value::time::{Span, Timestamp};
use uuid::Uuid;

use super::fields::{Fields, Unusual, Value, Writer, once};
use crate::{convert::experiment::build::used_build, v1};

/// Reads an encoded `speedup.v1.Lease`.
pub(super) fn lease(bytes: &[u8]) -> Result<Lease, Unusual> {
    let mut epoch = 0;
    let mut experiment = None;
    let mut run = 0;
    let mut attempt = 0;
    let mut host = None;
    let mut agent_epoch = 0;
    let mut granted = 0;
    let mut deadline = 0;
    let mut started = None;
    let mut grounds = None;
    let mut seat = None;
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
            10 => once(&mut grounds, value.bytes()?)?,
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
        evidence: evidence(grounds.ok_or(Unusual)?)?,
        seat,
    })
}

/// Writes the fields of a `speedup.v1.Lease`.
pub(super) fn write_lease(lease: &Lease, to: &mut Writer<'_>) {
    // Each field by its name, so that none is added and not written.
    let Lease {
        epoch,
        experiment,
        run,
        attempt,
        host,
        agent_epoch,
        granted,
        deadline,
        started,
        evidence,
        seat,
    } = lease;
    to.number(1, epoch.0);
    to.bytes(2, experiment.0);
    to.number(3, run.0);
    to.number(4, attempt.0);
    to.bytes(5, host.as_str());
    to.number(6, agent_epoch.0);
    to.fixed(7, granted.0);
    to.fixed(8, deadline.0);
    to.fixed_if(9, started.map(|started| started.0));
    to.fields(10, |to| write_evidence(evidence, to));
    to.message_if(20, seat.as_deref().map(v1::LeaseSeat::from));
}

fn write_evidence(evidence: &Evidence, to: &mut Writer<'_>) {
    let Evidence {
        boot,
        allocation,
        served_in_scope,
        served_in_all,
        previous,
        idle,
        boot_before,
        allocation_before,
        class,
        build,
        machine,
        host_name,
        switches,
        set_served,
    } = evidence;
    to.bytes(1, boot.as_str());
    to.bytes_if(2, allocation.as_ref().map(AllocationId::as_str));
    to.number(3, *served_in_scope);
    to.number(4, *served_in_all);
    if let Some((experiment, run)) = previous {
        to.fields(5, |to| {
            to.bytes(1, experiment.0);
            to.number(2, run.0);
        });
    }
    to.number_if(6, idle.map(|idle| idle.0));
    to.bytes_if(7, boot_before.as_ref().map(BootId::as_str));
    to.bytes_if(8, allocation_before.as_ref().map(AllocationId::as_str));
    to.bytes_if(9, class.map(|class| class.to_string()));
    if let Some(build) = build {
        to.number_if(10, Some(build.run.0));
        build.products.iter().for_each(|product| to.message(11, &v1::Product::from(product)));
    }
    to.bytes_if(12, machine.map(|machine| machine.to_string()));
    to.bytes_if(13, switches.as_ref().map(SwitchPath::as_str));
    to.number_if(14, *set_served);
    to.bytes_if(20, host_name.as_ref().map(HostName::as_str));
}

/// Reads an encoded `speedup.v1.Evidence`.
fn evidence(bytes: &[u8]) -> Result<Evidence, Unusual> {
    let mut boot = None::<BootId>;
    let mut allocation = None::<AllocationId>;
    let mut switches = None;
    let mut served_in_scope = 0;
    let mut served_in_all = 0;
    let mut set_served = None;
    let mut previous = None;
    let mut idle = None;
    let mut boot_before = None;
    let mut allocation_before = None;
    let mut class = None;
    let mut machine = None;
    let mut host_name = None;
    let mut build_run = None;
    let mut products = Vec::new();
    let mut fields = Fields::of(bytes);
    while let Some((number, value)) = fields.next()? {
        match number {
            1 => boot = Some(value.text()?.parse()?),
            2 => allocation = Some(value.text()?.parse()?),
            3 => served_in_scope = value.number()?,
            4 => served_in_all = value.number()?,
            5 => once(&mut previous, previous_run(value.bytes()?)?)?,
            6 => idle = Some(Span(value.number()?)),
            7 => boot_before = Some(again(value.text()?, boot.as_ref(), BootId::as_str)?),
            8 => allocation_before = Some(again(value.text()?, allocation.as_ref(), AllocationId::as_str)?),
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
        build: used_build((build_run, products), "build")?,
        machine,
        host_name,
        switches,
        set_served,
    })
}

/// Reads an id that is usually the same as one read before, and then shares its text.
fn again<I: Clone + FromStr<Err = IdError>>(
    text: &str,
    before: Option<&I>,
    as_str: impl Fn(&I) -> &str,
) -> Result<I, Unusual> {
    match before.filter(|before| as_str(before) == text) {
        Some(before) => Ok(before.clone()),
        None => Ok(text.parse()?),
    }
}

/// Reads an encoded `speedup.v1.PreviousRun`.
fn previous_run(bytes: &[u8]) -> Result<(ExperimentId, RunIndex), Unusual> {
    let mut experiment = None;
    let mut run = 0;
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
