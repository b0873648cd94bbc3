//! Conversions between the generated types and the heart's. Out is `From`, in is `TryFrom` with [`Malformed`], which
//! names the field; nothing here panics, whatever came in.
//!
//! What comes in is checked for its shape: what has to be there is there, numbers fit, lists and texts keep the heart's
//! limits. Whether it makes sense (an experiment without versions, a lease nobody gave) is asked elsewhere.
//!
//! In reading order: `malformed`, `field` and `wire` are the tools; then one file a noun: `id`, `moment`, `metric`,
//! `experiment`, `build`, `plan`, `environment`, `host`, `lease`, `record`; `message` between agent and coordinator, and in the
//! outbox; `request`, `status`, `explanation`, `export` between user and coordinator; `event` for the disk;
//! `direct` is for what is read and written most often, without messages.

mod build;
mod direct;
mod environment;
mod event;
mod experiment;
mod explanation;
mod export;
mod field;
mod host;
mod id;
mod lease;
mod malformed;
mod message;
mod metric;
mod moment;
mod plan;
mod record;
mod request;
mod status;
mod wire;

pub use build::Blob;
pub use direct::encoded_attempt;
pub(crate) use direct::{append_event, read_event};
use direct::{encoded_record, read_attempt, read_record};
pub use event::NotKept;
pub use export::ExportPart;
pub use field::{optional, required};
pub use host::held_lease;
pub use id::{experiment_named, hex_bytes, hex_text, id_bytes, id_text, uuid};
pub(crate) use malformed::Within;
pub use malformed::{Malformed, Why};
pub use message::OutboxEntry;
pub use moment::{
    duration, known_moment, known_span, moment, required_moment, span, span_in_seconds, timestamp,
    timestamp_of_seconds,
};
pub use request::{Proposal, Submission};
pub use speedup_core::machine::StatusPhase;
pub use status::ExperimentStatus;
