//! Names of things. Each id is a type of its own, so that one never stands where another is meant.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use uuid::Uuid;

/// Longest accepted host, boot or allocation id: machine ids have 32 characters, Kubernetes names up to 253.
pub const MAX_ID_BYTES: usize = 253;

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number_id!(
    /// A benchmark, by its place in the experiment's list.
    BenchmarkIndex(u32)
);
number_id!(
    /// A version, by its place in the experiment's list; the baseline is 0.
    VersionIndex(u32)
);
number_id!(
    /// A run of an experiment, by its place in the plan's order.
    RunIndex(u32)
);
number_id!(
    /// The how-manieth try at a run, from 1.
    Attempt(u32)
);
number_id!(
    /// The process start of an agent, strictly growing per host: the first of the two epochs that fence a result.
    AgentEpoch(u64)
);
number_id!(
    /// The issue of a lease, strictly growing per coordinator: the second of the two epochs that fence a result.
    LeaseEpoch(u64)
);

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                Uuid::parse_str(text).map(Self)
            }
        }
    };
}

uuid_id!(
    /// One submitted experiment.
    ExperimentId
);
uuid_id!(
    /// One agent's state directory: whoever holds it is the successor of whoever held it before.
    AgentId
);

/// Why a text is no id.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IdError {
    #[error("an id may not be empty")]
    Empty,
    #[error("an id of {0} bytes is longer than the {MAX_ID_BYTES} allowed")]
    TooLong(usize),
    /// A character that would not survive in file names, logs or tables.
    #[error("an id may hold letters, digits and . _ : - only, not {0:?}")]
    Character(char),
}

fn checked(text: &str) -> Result<Arc<str>, IdError> {
    if text.is_empty() {
        return Err(IdError::Empty);
    }
    if text.len() > MAX_ID_BYTES {
        return Err(IdError::TooLong(text.len()));
    }
    // All bytes, rather than to the first that is not allowed: many are compared at once.
    if text.bytes().fold(true, |all, byte| all & is_allowed(byte)) {
        return Ok(text.into());
    }
    let first = text.chars().find(|c| !u8::try_from(*c).is_ok_and(is_allowed));
    Err(IdError::Character(first.unwrap_or_default()))
}

fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':' | b'-')
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                checked(text).map(Self)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                checked(&text).map(Self)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0.as_ref().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

text_id!(
    /// One machine. Its own identity (machine id), never its address or name.
    HostId
);
text_id!(
    /// One boot of a host's kernel.
    BootId
);
text_id!(
    /// One allocation of a host by a cluster's engine (Slurm job, container, instance).
    AllocationId
);
text_id!(
    /// A job of a cluster's engine, as the engine numbers it. One that is put back into the queue keeps its id.
    JobId
);
text_id!(
    /// A host, as a cluster's engine calls it.
    NodeName
);
text_id!(
    /// The switches of a network above a host, from the top to its own, with dots between, as Slurm tells them.
    SwitchPath
);
text_id!(
    /// A host, as people call it: its node's name, or its own. It may change, and others may have it.
    HostName
);
text_id!(
    /// A queue: an engine that is asked for hosts, with its options, as its user calls it.
    QueueName
);

impl JobId {
    /// The system that gave the id, which is before a colon: ids and nodes of two systems have nothing to do with each other.
    /// Slurm gives bare numbers.
    pub fn system(&self) -> &str {
        self.as_str().split_once(':').map_or("", |(system, _)| system)
    }

    /// The part of a job of Slurm on one of its nodes, which are counted from 0: such a job is as many for the coordinator as
    /// it has nodes.
    ///
    /// # Errors
    /// [`IdError`] when the id is too long for that.
    pub fn on_node(&self, number: u32) -> Result<Self, IdError> {
        format!("{self}.{number}").parse()
    }

    /// The number of the node, of a part of a job.
    pub(crate) fn node_number(&self) -> Option<u32> {
        let (job, number) = self.as_str().rsplit_once('.')?;
        let is_slurm = job.bytes().all(|byte| byte.is_ascii_digit());
        if is_slurm { number.parse().ok() } else { None }
    }

    /// The id by which the engine knows the job.
    pub fn whole(&self) -> &str {
        let text = self.as_str();
        self.node_number().and_then(|_| text.rsplit_once('.')).map_or(text, |(job, _)| job)
    }
}
