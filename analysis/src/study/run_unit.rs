//! What runs are counted by: themselves, or what they stand in.

use crate::conclusion::Spelled;
use serde::{Deserialize, Serialize};

/// What is independent in a comparison, or a level of the spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunUnit {
    /// A run.
    Run,
    /// A visit of a host.
    Visit,
    /// A host.
    Host,
    /// A boot of a host.
    Boot,
    /// A build of a version.
    Build,
    /// A block of a table of samples.
    Block,
}

impl Spelled for RunUnit {
    fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Visit => "visit",
            Self::Host => "host",
            Self::Boot => "boot",
            Self::Build => "build",
            Self::Block => "block",
        }
    }
}
