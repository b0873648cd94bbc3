//! A row of an export, as far as the rules need it.

use std::{collections::BTreeSet, fmt::Display, fmt::Formatter};

use serde::Deserialize;

/// A row of an export. Names and meanings are the export's.
#[derive(Clone, Debug, Deserialize)]
pub struct Row {
    pub experiment: String,
    pub benchmark: String,
    pub version: String,
    pub run: u32,
    pub repetition: u32,
    pub run_state: Option<String>,
    pub counts: bool,
    pub why_not: Option<String>,
    pub attempt: Option<u32>,
    pub outcome: Option<String>,
    pub loss: Option<String>,
    pub after: Option<String>,
    pub host: Option<String>,
    pub boot: Option<String>,
    pub allocation: Option<String>,
    pub agent_epoch: Option<u64>,
    pub lease_epoch: Option<u64>,
    pub granted_ns: Option<u64>,
    pub started_ns: Option<u64>,
    pub ended_ns: Option<u64>,
    pub served_in_scope: Option<u32>,
    pub served_in_all: Option<u64>,
    pub idle_ns: Option<u64>,
    pub boot_before: Option<String>,
    pub allocation_before: Option<String>,
    pub previous_experiment: Option<String>,
    pub previous_run: Option<u32>,
    pub wall_ns: Option<u64>,
    pub host_clock_ns: Option<u64>,
    #[serde(default)]
    pub gang: Option<String>,
    #[serde(default)]
    pub set_served: Option<bool>,
}

impl Row {
    /// Whether it is an attempt, not a late report of one and not a run without any.
    pub fn is_attempt(&self) -> bool {
        self.attempt.is_some() && !self.is_late()
    }

    /// Whether it is a report that came after its attempt was given up.
    pub fn is_late(&self) -> bool {
        self.why_not.as_deref() == Some("superseded")
    }

    /// The host, of an attempt.
    pub fn host(&self) -> &str {
        self.host.as_deref().unwrap_or_default()
    }

    /// The hosts of an attempt, as far as its row knows them.
    pub fn set(&self) -> BTreeSet<&str> {
        self.gang.as_deref().unwrap_or(self.host()).split(' ').collect()
    }

    /// The boot of the host, of an attempt.
    pub fn boot(&self) -> &str {
        self.boot.as_deref().unwrap_or_default()
    }
}

impl Display for Row {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { run, benchmark, version, .. } = self;
        write!(to, "run {run} ({benchmark}, {version})")?;
        if let Some(attempt) = self.attempt {
            write!(to, " attempt {attempt} on {}", self.host())?;
        }
        Ok(())
    }
}
