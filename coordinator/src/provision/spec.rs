//! Which engine a queue asks, and how: what is kept of it, and the engine that is made of it. One more engine is one more
//! variant here.

use std::{fmt, net::SocketAddr};

use serde::{Deserialize, Serialize};
use speedup_core::machine::provision::batch::{self, BatchFileError};
use speedup_core::value::id::QueueName;
use thiserror::Error;
use uuid::Uuid;

use super::{
    agent::AgentStart, batch::Batch, engine::Engine, local::Local, script::Surroundings,
    script::SurroundingsError, slurm::OptionsError, slurm::Slurm, slurm::SlurmOptions, slurm::checked,
};
use crate::metrics::EngineKind;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Spec {
    /// Slurm, with these options of `sbatch`.
    Slurm {
        /// As the user gave them.
        options: Vec<String>,
        /// What surrounds the agent in its job.
        #[serde(default, skip_serializing_if = "Surroundings::is_empty")]
        around: Surroundings,
    },
    /// A batch system that a file describes.
    Batch {
        file: String,
        /// What the user adds to the command that submits a job.
        options: Vec<String>,
        /// What surrounds the agent in its job.
        #[serde(default, skip_serializing_if = "Surroundings::is_empty")]
        around: Surroundings,
    },
    Local,
}

/// Why there is no such engine.
#[derive(Debug, Error)]
pub(crate) enum SpecError {
    #[error("the coordinator listens on {0}, where no other host can reach it")]
    Unreachable(SocketAddr),
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The file describes no batch system.
    #[error(transparent)]
    File(#[from] BatchFileError),
    /// Nothing of the kind can surround an agent.
    #[error(transparent)]
    Surroundings(#[from] SurroundingsError),
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind().word())?;
        match self {
            Self::Slurm { options, .. } | Self::Batch { options, .. } if !options.is_empty() => {
                write!(f, " {}", options.join(" "))
            }
            Self::Slurm { .. } | Self::Batch { .. } | Self::Local => Ok(()),
        }
    }
}

impl Spec {
    pub(crate) const fn kind(&self) -> EngineKind {
        match self {
            Self::Slurm { .. } => EngineKind::Slurm,
            Self::Batch { .. } => EngineKind::Batch,
            Self::Local => EngineKind::Local,
        }
    }

    /// Whether programs are executed as another user than agents are.
    pub(crate) fn has_user_of_programs(&self) -> bool {
        match self {
            Self::Slurm { around, .. } | Self::Batch { around, .. } => !around.run_as.is_empty(),
            Self::Local => false,
        }
    }

    /// What a queue is called whose user does not name it; a number, where nothing tells it from others.
    pub(crate) fn usual_name(&self) -> Option<QueueName> {
        match self {
            Self::Slurm { options, .. } => {
                SlurmOptions::parse(options.clone()).ok()?.partition()?.parse().ok()
            }
            Self::Batch { file, .. } => batch::parse(file).ok()?.name.parse().ok(),
            Self::Local => "local".parse().ok(),
        }
    }

    /// A new name for the jobs of a queue: what tells apart the queues of all coordinators of one user.
    pub(crate) fn new_job_name(&self) -> String {
        match self {
            // Tables of other systems cut longer names.
            Self::Batch { .. } => format!("sp{}", &digits()[..8]),
            Self::Slurm { .. } | Self::Local => new_name(),
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
            Self::Slurm { options, around } => {
                reachable(agent)?;
                around.check()?;
                let options = SlurmOptions::parse(options.clone())?;
                Ok(Box::new(Slurm::new(job_name.to_owned(), options, around.clone(), agent.clone())))
            }
            Self::Batch { file, options, around } => {
                reachable(agent)?;
                around.check()?;
                checked(options)?;
                Ok(Box::new(Batch {
                    job_name: job_name.to_owned(),
                    system: batch::parse(file)?,
                    options: options.clone(),
                    around: around.clone(),
                    agent: agent.clone(),
                }))
            }
            Self::Local => Ok(Box::new(Local::new(queue, agent.clone()))),
        }
    }
}

/// A new name, which tells apart what the coordinators of one user have elsewhere.
pub(super) fn new_name() -> String {
    format!("speedup-{}", &digits()[..12])
}

/// Digits that nobody else draws.
fn digits() -> String {
    Uuid::new_v4().simple().to_string()
}

/// For engines whose hosts are other machines.
fn reachable(agent: &AgentStart) -> Result<(), SpecError> {
    if agent.is_reached_from_elsewhere() { Ok(()) } else { Err(SpecError::Unreachable(agent.address)) }
}
