//! Provisioning: an engine that gives out hosts is asked for as many as the running plans need, and gets them back. What to
//! ask for is decided in `speedup_core::machine::provision`; here it is carried out.
//!
//! In reading order: `agent` (how an agent is started there), `engine` (what an engine can do), `command` (programs, within
//! bounds), `slurm` and `local` (the engines), `record` (what is kept over a restart), `unjoined` (what agents that do not
//! join leave on the disk), `look` (one round), `service` (what starts and stops).

mod agent;
mod command;
mod engine;
mod local;
mod look;
mod record;
mod service;
mod slurm;
mod unjoined;

pub(crate) use agent::AgentStart;
pub use agent::{AgentPlace, nearby};
pub(crate) use look::{Seen, wall_clock};
#[cfg(test)]
pub(crate) use record::Record;
pub(crate) use record::{NAME as RECORD, Spec};
pub use service::ResumeError;
pub(crate) use service::{AddError, HostsToCome, Provisioning, Shown, TooShort, Wanted};
