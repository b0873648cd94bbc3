//! Provisioning: engines that give out hosts are asked for as many as the running plans need, and get them back. Each is asked
//! through a queue, with options and limits of its own. What to ask for is decided in `speedup_core::machine::provision`; here it is carried out.
//!
//! In reading order: `agent` (how an agent is started there), `engine` (what an engine can do), `command` (programs, within
//! bounds), `script` (what a job executes), `slurm`, `batch` and `local` (the engines), `spec` (which one, and
//! how), `record` (what is stored over a restart), `allocations` (what the queues know of each other), `unjoined` (what agents that do not
//! join leave on the disk), `job_logs`, `reconciler` (one round of one queue), `service` (starts and stops queues), and beside the queues `ssh`
//! (hosts that are there anyway).

mod agent;
mod allocations;
mod batch;
mod command;
mod engine;
mod job_logs;
mod local;
mod reconciler;
mod record;
mod script;
mod service;
mod slurm;
mod spec;
mod ssh;
mod unjoined;

pub(crate) use agent::AgentStart;
pub use agent::{AgentPlace, nearby};
pub(crate) use engine::JobSubmission;
pub(crate) use reconciler::QueueSnapshot;
pub(crate) use record::NAME as RECORD;
#[cfg(test)]
pub(crate) use record::Queue;
pub(crate) use record::QueueConfig;
pub use record::RecordError;
pub(crate) use script::Surroundings;
pub use service::ResumeError;
pub(crate) use service::{
    AddError, AddedQueue, HostsToCome, Provisioning, QueueRequest, QueueSelector, QueueStatus, RemoveError,
    TooShort,
};
pub(crate) use spec::{Spec, SpecError};
pub(crate) use ssh::{
    Destination, DestinationError, SSH_RECORD, ShownSshHost, SshHost, SshHosts, SshHostsError, SshRemoval,
    Unreachable,
};
