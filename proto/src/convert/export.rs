//! The parts of an export: its head with the exclusions of hosts, the plan's order in pieces, then every attempt that ended.

use speedup_core::experiment::Experiment;
use speedup_core::host::{Exclusion, ExclusionCause};
use speedup_core::plan::Stage;
use speedup_core::value::id::BenchmarkIndex;
use speedup_core::value::time::Timestamp;

use super::field::{chosen, each, id, required};
use super::malformed::{Malformed, Within};
use super::plan::{benchmarks, order, stages, wire_stages};
use super::status::ExperimentStatus;
use crate::{limits::MAX_EXCLUSIONS, stored::ExportAttempts, v1};
use v1::{exclusion::Cause, exclusion::Drained, exclusion::Quarantined, export_chunk::Part};

/// One part of an export.
#[derive(Clone, Debug, PartialEq)]
pub enum ExportPart {
    /// First.
    Head {
        /// How the experiment stands.
        status: Box<ExperimentStatus>,
        experiment: Box<Experiment>,
        /// The benchmarks that take part.
        benchmarks: Vec<BenchmarkIndex>,
        /// The stages of its plan.
        stages: Vec<Stage>,
        /// Hosts that were given no more runs while it ran, oldest first.
        exclusions: Vec<Exclusion>,
    },
    /// A piece of the plan's order; all come before any attempt.
    Order(Vec<u32>),
    /// Attempts that ended, as they are stored.
    Attempts(ExportAttempts),
}

/// Without a cursor, which only the coordinator knows.
impl From<&ExportPart> for v1::ExportChunk {
    fn from(part: &ExportPart) -> Self {
        let part = match part {
            ExportPart::Head { status, experiment, benchmarks, stages, exclusions } => {
                Part::Head(v1::ExportHead {
                    status: Some(status.as_ref().into()),
                    experiment: Some(experiment.as_ref().into()),
                    benchmarks: benchmarks.iter().map(|benchmark| benchmark.0).collect(),
                    stages: wire_stages(stages),
                    exclusions: exclusions.iter().map(Into::into).collect(),
                })
            }
            ExportPart::Order(order) => Part::Order(v1::ExportOrder { order: order.clone() }),
            ExportPart::Attempts(attempts) => Part::Attempts(attempts.clone()),
        };
        Self { part: Some(part), cursor: String::new() }
    }
}

impl TryFrom<v1::ExportChunk> for ExportPart {
    type Error = Malformed;

    fn try_from(wire: v1::ExportChunk) -> Result<Self, Malformed> {
        match chosen(wire.part, "part")? {
            Part::Head(head) => head.try_into().within("head"),
            Part::Order(v1::ExportOrder { order: piece }) => {
                order(piece, "order").map(Self::Order).within("order")
            }
            Part::Attempts(attempts) => Ok(Self::Attempts(attempts)),
        }
    }
}

impl TryFrom<v1::ExportHead> for ExportPart {
    type Error = Malformed;

    fn try_from(wire: v1::ExportHead) -> Result<Self, Malformed> {
        Ok(Self::Head {
            status: Box::new(required(wire.status, "status")?),
            experiment: Box::new(required(wire.experiment, "experiment")?),
            benchmarks: benchmarks(wire.benchmarks)?,
            stages: stages(wire.stages)?,
            exclusions: each(wire.exclusions, MAX_EXCLUSIONS, "exclusions")?,
        })
    }
}

impl From<&Exclusion> for v1::Exclusion {
    fn from(exclusion: &Exclusion) -> Self {
        let Exclusion { host, at, cause, resumed } = exclusion;
        let cause = match cause {
            ExclusionCause::Drained { by } => Cause::Drained(Drained { by: by.clone() }),
            ExclusionCause::Quarantined { by, reason } => {
                Cause::Quarantined(Quarantined { by: by.clone(), reason: reason.clone() })
            }
        };
        Self {
            host: host.as_str().to_owned(),
            at_ns: at.0,
            cause: Some(cause),
            resumed_ns: resumed.map(|at| at.0),
        }
    }
}

impl TryFrom<v1::Exclusion> for Exclusion {
    type Error = Malformed;

    fn try_from(wire: v1::Exclusion) -> Result<Self, Malformed> {
        let cause = match chosen(wire.cause, "cause")? {
            Cause::Drained(Drained { by }) => ExclusionCause::Drained { by },
            Cause::Quarantined(Quarantined { by, reason }) => ExclusionCause::Quarantined { by, reason },
        };
        Ok(Self {
            host: id(wire.host, "host")?,
            at: Timestamp(wire.at_ns),
            cause,
            resumed: wire.resumed_ns.map(Timestamp),
        })
    }
}
