//! A work order. It is made to be sent, so it is moved.

use speedup_core::experiment::files::MAX_FILES;
use speedup_core::experiment::gang::MAX_GANG;
use speedup_core::experiment::metric::MAX_OWN_METRICS;
use speedup_core::run::work::{WorkOrder, WorkSeat};
use speedup_core::value::time::Span;

use super::build::{collect_in, products_in, products_out};
use super::environment::wire_environment;
use super::experiment::metrics;
use super::field::{at_most, each, optional, required};
use super::malformed::Malformed;
use crate::v1;

impl From<WorkOrder> for v1::WorkOrder {
    fn from(order: WorkOrder) -> Self {
        Self {
            command: Some(order.command.into()),
            env: order.env,
            vars: order.vars,
            expect: Some((&order.expect).into()),
            timeout_ns: order.timeout.0,
            warmup: order.warmup,
            directory: order.directory,
            setup: order.setup.map(Into::into),
            output: Some(order.output.into()),
            environment: wire_environment(&order.environment),
            common_software: order.common_software.as_ref().map(Into::into),
            env_padding: order.env_padding,
            prepare: order.prepare.map(Into::into),
            cleanup: order.cleanup.map(Into::into),
            collect: order.collect,
            built: products_out(&order.built),
            rest: order.rest.map(Into::into),
            canary: order.canary.map(Into::into),
            directory_padding: order.directory_padding,
            files: order.files.iter().map(Into::into).collect(),
            own_metrics: order.own_metrics.iter().map(Into::into).collect(),
            seat: order.seat.map(Into::into),
            metrics: order.metrics.iter().map(|metric| v1::Metric::from(*metric).into()).collect(),
        }
    }
}

impl TryFrom<v1::WorkOrder> for WorkOrder {
    type Error = Malformed;

    fn try_from(wire: v1::WorkOrder) -> Result<Self, Malformed> {
        Ok(Self {
            command: required(wire.command, "command")?,
            env: wire.env,
            vars: wire.vars,
            expect: required(wire.expect, "expect")?,
            timeout: Span(wire.timeout_ns),
            warmup: wire.warmup,
            directory: wire.directory,
            setup: optional(wire.setup, "setup")?,
            prepare: optional(wire.prepare, "prepare")?,
            cleanup: optional(wire.cleanup, "cleanup")?,
            rest: optional(wire.rest, "rest")?,
            canary: optional(wire.canary, "canary")?,
            directory_padding: wire.directory_padding,
            environment: optional(wire.environment, "environment")?.unwrap_or_default(),
            common_software: optional(wire.common_software, "common_software")?,
            env_padding: wire.env_padding,
            output: required(wire.output, "output")?,
            metrics: metrics(&wire.metrics)?,
            files: each(wire.files, MAX_FILES, "files")?,
            seat: optional(wire.seat, "seat")?,
            collect: collect_in(wire.collect)?,
            built: products_in(wire.built, "built")?,
            own_metrics: each(wire.own_metrics, MAX_OWN_METRICS, "own_metrics")?,
        })
    }
}

impl From<WorkSeat> for v1::WorkSeat {
    fn from(WorkSeat { number, size, hostfile, hosts }: WorkSeat) -> Self {
        Self { number, size, hostfile, hosts }
    }
}

impl TryFrom<v1::WorkSeat> for WorkSeat {
    type Error = Malformed;

    fn try_from(wire: v1::WorkSeat) -> Result<Self, Malformed> {
        let v1::WorkSeat { number, size, hostfile, hosts } = wire;
        at_most(hosts.len(), MAX_GANG as usize, "hosts")?;
        Ok(Self { number, size, hostfile, hosts })
    }
}
