//! Which engine a queue asks, and how: what is kept of it, and the engine that is made of it. One more engine is one more
//! variant here.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use speedup_core::value::id::QueueName;
use thiserror::Error;

use super::agent::AgentStart;
use super::engine::Engine;
use super::local::Local;
use super::slurm::{OptionsError, Slurm, SlurmOptions};

/// Which engine is asked, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Spec {
    /// Slurm, with these options of `sbatch`.
    Slurm {
        /// As the user gave them.
        options: Vec<String>,
    },
    /// Processes of this machine.
    Local,
}

/// Why there is no such engine.
#[derive(Debug, Error)]
pub(crate) enum SpecError {
    /// No other host reaches this coordinator.
    #[error("the coordinator listens on {0}, where no other host can reach it")]
    Unreachable(SocketAddr),
    /// Its options are none.
    #[error(transparent)]
    Options(#[from] OptionsError),
}

impl Spec {
    /// The engine's word in commands and answers.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Slurm { .. } => "slurm",
            Self::Local => "local",
        }
    }

    /// What a queue is called whose user does not name it; a number, where nothing tells it from others.
    pub(crate) fn usual_name(&self) -> Option<QueueName> {
        match self {
            Self::Slurm { options } => SlurmOptions::parse(options.clone()).ok()?.partition()?.parse().ok(),
            Self::Local => "local".parse().ok(),
        }
    }

    /// The engine of a queue, whose jobs have this name.
    pub(crate) fn engine(
        &self,
        queue: &QueueName,
        job_name: &str,
        agent: &AgentStart,
    ) -> Result<Box<dyn Engine>, SpecError> {
        match self {
            Self::Slurm { options } => {
                reachable(agent)?;
                let options = SlurmOptions::parse(options.clone())?;
                Ok(Box::new(Slurm::new(job_name.to_owned(), options, agent.clone())))
            }
            Self::Local => Ok(Box::new(Local::new(queue, agent.clone()))),
        }
    }
}

/// For engines whose hosts are other machines.
fn reachable(agent: &AgentStart) -> Result<(), SpecError> {
    if agent.is_reached_from_elsewhere() { Ok(()) } else { Err(SpecError::Unreachable(agent.address)) }
}
