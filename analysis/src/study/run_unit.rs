//! What runs are counted by: themselves, or what they stand in.

use crate::conclusion::Spelled;
use serde::{Deserialize, Serialize};

speedup_core::words! {
    /// What is independent in a comparison, or a level of the spread.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RunUnit {
        /// A run.
        Run = "run",
        /// A visit of a host.
        Visit = "visit",
        /// A host.
        Host = "host",
        /// A boot of a host.
        Boot = "boot",
        /// A build of a version.
        Build = "build",
        /// A block of a table of samples.
        Block = "block",
    }
    impl Spelled::name;
}
