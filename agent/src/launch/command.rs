//! What to run: decided entirely by the caller, nothing is inherited from the agent.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use speedup_core::experiment::metric::Metric;

use super::preparation::Preparation;

/// One command with everything that it sees of its surroundings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchCommand {
    /// The argument vector. The first is the program: with a slash it is a path as seen from `directory`,
    /// without one it is looked up in the `PATH` of `env`. There is no shell unless it is named here.
    pub argv: Vec<OsString>,
    /// The complete environment, in this order.
    pub env: Vec<(OsString, OsString)>,
    pub directory: PathBuf,
    /// After this long the process group is asked to end (SIGTERM).
    pub timeout: Duration,
    /// This long after being asked, it is killed.
    pub kill_grace: Duration,
    /// Where standard output goes. Standard input is always `/dev/null`.
    pub stdout: Sink,
    /// Where standard error goes.
    pub stderr: Sink,
    pub preparation: Preparation,
    /// What else is to be measured; the clock's and `wait4`'s are measured anyway.
    pub metrics: Vec<Metric>,
}

/// Where an output stream goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sink {
    /// To `/dev/null`.
    Null,
    /// Into memory; see [`super::CapturedOutput`] for what comes of it.
    Capture {
        /// The most bytes that the stream may hold. Past it the program's writes fail as on a full disk, or,
        /// on hosts where that cannot be arranged, it is killed.
        limit: u64,
        /// The most bytes from the start of the stream that are handed back.
        keep: usize,
    },
}
