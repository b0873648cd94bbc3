//! What someone may do.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use thiserror::Error;

/// What someone may do. Each of the first three may do what the one before may; an agent may only be an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads experiments, reports and the pool.
    Viewer,
    /// Submits experiments too, and changes those that it submitted.
    Submitter,
    /// Changes everything, and says who may do what.
    Admin,
    /// Executes runs on the one host that it stands for.
    Agent,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Submitter, Self::Admin, Self::Agent];

    /// Its word, in certificates and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Submitter => "submitter",
            Self::Admin => "admin",
            Self::Agent => "agent",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The word names no role.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is no role; the roles are viewer, submitter, admin and agent")]
pub struct RoleError(String);

impl FromStr for Role {
    type Err = RoleError;

    fn from_str(text: &str) -> Result<Self, RoleError> {
        let named = Self::ALL.into_iter().find(|role| role.name() == text);
        named.ok_or_else(|| RoleError(text.chars().take(40).collect()))
    }
}
