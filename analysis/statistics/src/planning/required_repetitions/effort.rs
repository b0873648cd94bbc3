//! What planned runs cost.

use serde::Serialize;
use thiserror::Error;

/// Runs, hosts and hours of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effort {
    /// All runs, of all versions.
    pub runs: u64,
    /// Hosts that work at once.
    pub hosts: u64,
    /// Hours from the first run to the last.
    pub hours: f64,
}

/// Why an effort cannot be given.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum EffortError {
    #[error("no run is made without a host")]
    NoHosts,
    /// A duration that is not one.
    #[error("a run must take a positive number of seconds, not {0}")]
    Seconds(f64),
    /// More runs than can be counted.
    #[error("{runs_each} runs of each of {versions} versions are too many to count")]
    TooMany {
        /// Runs of each version.
        runs_each: u64,
        versions: u64,
    },
}

speedup_core::hints! { EffortError: Self::NoHosts => "start an agent" }

impl Effort {
    /// `runs_each` runs of each of `versions` versions, each taking a host for `run_seconds`, on `hosts` hosts at once.
    ///
    /// # Errors
    /// [`EffortError`] for no hosts, durations that are not positive, or absurd numbers.
    pub fn new(runs_each: u64, versions: u64, run_seconds: f64, hosts: u64) -> Result<Self, EffortError> {
        if hosts == 0 {
            return Err(EffortError::NoHosts);
        }
        if !(run_seconds > 0.0 && run_seconds.is_finite()) {
            return Err(EffortError::Seconds(run_seconds));
        }
        let runs = runs_each.checked_mul(versions).ok_or(EffortError::TooMany { runs_each, versions })?;
        let hours = runs.div_ceil(hosts) as f64 * (run_seconds / 3600.0);
        Ok(Self { runs, hosts: hosts.min(runs), hours })
    }
}
