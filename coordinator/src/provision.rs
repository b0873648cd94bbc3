//! Provisioning: engines that give out hosts are asked for as many as the running plans need, and get them back. Each is asked
//! through a queue, with options and limits of its own. What to ask for is decided in `speedup_core::machine::provision`; here it is carried out.
//!
//! In reading order: `agent` (how an agent is started there), `engine` (what an engine can do), `command` (programs, within
//! bounds) and `shell` (words as one reads them), `slurm` and `local` (the engines), `spec` (which one, and how), `record` (what is kept over
//! a restart), `shares` (what the queues know of each other), `look` (one round of one queue), `service` (what starts and stops), and beside
//! the queues `ssh` (hosts that are there anyway).

mod agent;
mod command;
mod engine;
mod local;
mod look;
mod record;
mod service;
mod shares;
mod shell;
mod slurm;
mod spec;
mod ssh;

pub use agent::AgentPlace;
pub(crate) use agent::AgentStart;
pub(crate) use engine::Request;
pub(crate) use look::{Seen, wall_clock};
pub(crate) use record::NAME as RECORD;
pub use record::RecordError;
pub use service::ResumeError;
pub(crate) use service::{AddError, Added, Provisioning, RemoveError, Selected, Shown, Wanted};
pub(crate) use spec::{Spec, SpecError};
pub(crate) use ssh::{
    Destination, DestinationError, SSH_RECORD, ShownSshHost, SshHost, SshHosts, SshHostsError, SshRemoval,
    SshState, Unreachable,
};
