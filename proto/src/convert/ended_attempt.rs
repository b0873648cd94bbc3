//! An attempt that ended: a row of the index and of the export.

use speedup_core::machine::event::{AttemptEnd, EndedAttempt};
use speedup_core::run::record::Record;

use super::wire::{oneof, structure, wire};
use crate::v1;
use v1::ended_attempt::{End, Lost};

structure!(EndedAttempt, v1::EndedAttempt, [lease, cell, ended = ended_ns, end]);

oneof!(AttemptEnd, End, [
    Reported(reported) = Reported(reported),
    Lost { reason, after, late } = Lost(Lost { reason, after, late }) in "lost",
]);

wire!(Record as Box<v1::Record>: |record| Box::new(record.into()), |wire, field| Self::from_wire(*wire, field););
