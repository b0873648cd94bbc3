//! A lease, and the evidence of freshness on which it was granted.

use speedup_core::experiment::build::UsedBuild;
use speedup_core::experiment::gang::MAX_GANG;
use speedup_core::run::lease::{Evidence, Lease, LeaseSeat, Member};
use speedup_core::value::id::{ExperimentId, RunIndex};

use super::experiment::build::{products_out, used_build};
use super::wire::malformed::Within;
use super::wire::{Each, structure, wire};
use crate::v1;

structure!(
    Lease,
    v1::Lease,
    [
        epoch,
        experiment,
        run,
        attempt,
        host,
        agent_epoch,
        granted = granted_ns,
        deadline = deadline_ns,
        started = started_ns,
        evidence,
        seat,
    ]
);
structure!(LeaseSeat, v1::LeaseSeat, [number, members => Each(MAX_GANG as usize), leaf_switches]);
structure!(Member, v1::GangMember, [host, name]);
structure!(
    Evidence,
    v1::Evidence,
    [
        boot, allocation, served_in_scope, served_in_all, previous,
        idle = idle_ns,
        boot_before, allocation_before, class,
        build = (build_run, products) => (wire_build, used_build),
        machine, host_name, switches, set_served,
    ]
);

wire! {
    (ExperimentId, RunIndex) as v1::PreviousRun:
        |previous| v1::PreviousRun { experiment: previous.0.to_wire(), run: previous.1.0 },
        |wire, field| {
            let experiment = ExperimentId::from_wire(wire.experiment, "experiment").within(field)?;
            Ok((experiment, RunIndex(wire.run)))
        };
}

/// The run that made the build which a run uses, and its products.
type WireBuild = (Option<u32>, Vec<v1::Product>);

fn wire_build(build: &Option<Box<UsedBuild>>) -> WireBuild {
    match build {
        Some(build) => (Some(build.run.0), products_out(&build.products)),
        None => (None, Vec::new()),
    }
}
