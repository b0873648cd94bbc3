//! Who is let in: tokens and certificates, and the journal that keeps what became of them. Only certificates that stand
//! here are let in, so that nothing which was made without a record of it is worth anything.
//!
//! It is apart from the machine: who may speak changes nothing of what is decided about runs.
//!
//! In reading order: `event` (what is kept), `registry` (decides and evolves, pure), `keeper` (makes it durable),
//! `log` (as people read it).

mod event;
mod keeper;
mod log;
mod registry;

pub(crate) use event::Uses;
pub(crate) use keeper::AdmissionRequestError;
pub use keeper::{Admission, AdmissionError, OwnError};
pub(crate) use registry::{Holder, NewToken, Refusal, Registry, Target, TokenState};
