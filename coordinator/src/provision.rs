//! Provisioning: engines that give out hosts are asked for as many as the running plans need, and get them back. Each is asked
//! through a queue, with options and limits of its own. What to ask for is decided in `speedup_core::machine::provision`; here it is carried out.
//!
//! In reading order: `agent` (how an agent is started there), `engine` (what an engine can do), `command` (programs, within
//! bounds), `shell` (words as one reads them), `script` (what a job executes), `slurm`, `batch` and `local` (the engines), `spec` (which one, and
//! how), `record` (what is kept over a restart), `shares` (what the queues know of each other), `unjoined` (what agents that do not join leave on
//! the disk), `job_logs`, `look` (one round of one queue), `service` (what starts and stops), and beside the queues `ssh` (hosts that are there anyway).

mod agent;
mod batch;
mod command;
mod engine;
mod job_logs;
mod local;
mod look;
mod record;
mod script;
mod service;
mod shares;
mod shell;
mod slurm;
mod spec;
mod ssh;
mod unjoined;

pub(crate) use agent::AgentStart;
pub use agent::{AgentPlace, nearby};
pub(crate) use engine::Request;
pub(crate) use look::Seen;
pub(crate) use record::NAME as RECORD;
#[cfg(test)]
pub(crate) use record::Queue;
pub use record::RecordError;
pub(crate) use script::Surroundings;
pub use service::ResumeError;
pub(crate) use service::{
    AddError, Added, HostsToCome, Provisioning, RemoveError, Selected, Shown, TooShort, Wanted,
};
pub(crate) use spec::{Spec, SpecError};
pub(crate) use ssh::{
    Destination, DestinationError, SSH_RECORD, ShownSshHost, SshHost, SshHosts, SshHostsError, SshRemoval,
    SshState, Unreachable,
};
