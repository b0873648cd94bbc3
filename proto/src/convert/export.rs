//! The parts of an export: its head with the exclusions of hosts, the plan's order in pieces, then every attempt that ended.

use speedup_core::experiment::Experiment;
use speedup_core::host::{Exclusion, ExclusionCause};
use speedup_core::machine::event::EndedAttempt;
use speedup_core::plan::Stage;
use speedup_core::value::id::BenchmarkIndex;

use super::experiment::plan;
use super::status::ExperimentStatus;
use super::wire::malformed::{Malformed, Within};
use super::wire::{Each, Wire, oneof, structure};
use super::{encoded_attempt, read_attempt};
use crate::{encoded::ExportAttempts, limits::MAX_EXCLUSIONS, v1};
use v1::{exclusion::Cause, exclusion::Drained, exclusion::Quarantined, export_chunk::Part};

/// One part of an export.
#[derive(Clone, Debug, PartialEq)]
pub enum ExportPart {
    /// First.
    Head {
        status: Box<ExperimentStatus>,
        experiment: Box<Experiment>,
        benchmarks: Vec<BenchmarkIndex>,
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
        Self { part: part.to_wire(), cursor: String::new() }
    }
}

impl TryFrom<v1::ExportChunk> for ExportPart {
    type Error = Malformed;

    fn try_from(wire: v1::ExportChunk) -> Result<Self, Malformed> {
        Self::from_wire(wire.part, "part")
    }
}

oneof!(ExportPart, Part, [
    Head { status, experiment, benchmarks, stages, exclusions => Each(MAX_EXCLUSIONS) }
        = Head(v1::ExportHead { status, experiment, benchmarks, stages, exclusions }) in "head",
    Order(order => (Vec::clone, plan::order)) = Order(v1::ExportOrder { order }) in "order",
    Attempts(attempts) = Attempts(attempts),
]);

impl ExportAttempts {
    /// Decodes the attempts one after the other, so that those of a large export are never all in memory.
    ///
    /// An item is [`Malformed`] if its bytes are not an attempt.
    pub fn read(self) -> impl Iterator<Item = Result<EndedAttempt, Malformed>> {
        self.attempts
            .into_iter()
            .enumerate()
            .map(|(index, bytes)| read_attempt(&bytes).within_nth("attempts", index).within("attempts"))
    }
}

impl<'a> FromIterator<&'a EndedAttempt> for ExportAttempts {
    fn from_iter<T: IntoIterator<Item = &'a EndedAttempt>>(attempts: T) -> Self {
        Self { attempts: attempts.into_iter().map(|attempt| encoded_attempt(attempt).into()).collect() }
    }
}

structure!(Exclusion, v1::Exclusion, [cause, host, at = at_ns, resumed = resumed_ns]);
oneof! {
    ExclusionCause, Cause, [
        Drained { by } = Drained(Drained { by }),
        Quarantined { by, reason } = Quarantined(Quarantined { by, reason }),
    ]
}
