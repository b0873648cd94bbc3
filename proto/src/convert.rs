//! Conversions between the generated types and those of `core`. Writing is `From`, reading is `TryFrom` with [`Malformed`],
//! which names the field; nothing panics, whatever was received.
//!
//! Reading checks the shape: required fields are there, numbers fit, lists and texts keep the limits of `core`. Whether a
//! message makes sense (an experiment without versions, a lease that was never granted) is checked elsewhere.
//!
//! In reading order: `wire` has the tools; then one file for each noun: `experiment` with its parts and its plan, `host`,
//! `lease`, `record`; `message` between agent and coordinator, and in the outbox; `request`, `status`, `explanation`, `export`
//! between user and coordinator; `event` for the journal; `direct` for what is read and written most often.

mod direct;
mod event;
mod experiment;
mod explanation;
mod export;
mod host;
mod lease;
mod message;
mod record;
mod request;
mod status;
mod wire;

pub use direct::encoded_attempt;
pub(crate) use direct::{append_event, read_event};
use direct::{encoded_record, read_attempt, read_record};
pub use event::NotKept;
pub use experiment::build::Blob;
pub use export::ExportPart;
pub use host::held_lease;
pub use message::OutboxEntry;
pub use request::{Proposal, Submission};
pub use speedup_core::machine::StatusPhase;
pub use status::ExperimentStatus;
pub use wire::field::{optional, required};
pub use wire::id::{experiment_named, hex_bytes, hex_text, id_bytes, id_text, uuid};
pub(crate) use wire::malformed::Within;
pub use wire::malformed::{Malformed, Why};
pub use wire::moment::{
    duration, known_moment, known_span, moment, required_moment, span, span_in_seconds, timestamp,
    timestamp_of_seconds,
};
