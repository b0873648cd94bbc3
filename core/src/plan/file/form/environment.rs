//! `[environment]` as its author writes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::environment::{HugePages, PageCache};

/// Where and how the timed program executes; everything left out stays as the host is.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::plan::file) struct EnvironmentForm {
    /// The CPUs that the program may use: "all", "cores:N" for N whole cores with all their hardware threads, "numa:K" for
    /// the CPUs of a NUMA node, or a list such as "2-5,8". Never more than the agent itself may use.
    pub(in crate::plan::file) cpus: String,
    /// CPUs that are kept free of the program, for the agent and the system: the lowest numbers, whole cores.
    pub(in crate::plan::file) housekeeping: u32,
    /// The program's nice value, -20 to 19; below that of the agent only where the host allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) nice: Option<i8>,
    /// The program's scheduling class: "other", "batch", or in real time "fifo:PRIORITY" or "rr:PRIORITY" with a priority
    /// of 1 to 99.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) scheduler: Option<String>,
    /// Whether the program's address space is randomised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) aslr: Option<bool>,
    /// Fills the environment variables up to this many bytes in all, the same on every host and in every version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) env_bytes: Option<u32>,
    /// Pads the environment variables with 0 to this many bytes, drawn for each run from the seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) env_bytes_random: Option<u32>,
    /// Gives the path of each run's working directory this many bytes, the same on every host and in every version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) directory_bytes: Option<u32>,
    /// Lengthens the path of each run's working directory by 0 to this many bytes, drawn for each run from the seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) directory_bytes_random: Option<u32>,
    /// The page cache before each timed run: "keep", so that warm-ups make it warm, or "drop".
    pub(in crate::plan::file) page_cache: PageCache,
    /// Transparent huge pages: "always", "madvise" or "never"; the first two are the host's, the last the program's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) transparent_huge_pages: Option<HugePages>,
    /// The frequency governor of the program's CPUs, e.g. "performance"; put back afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) governor: Option<String>,
    /// Whether CPUs may exceed their nominal frequency; put back afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) turbo: Option<bool>,
    /// How long the host is left alone before the clock starts, e.g. "500ms".
    pub(in crate::plan::file) settle: String,
    /// Resource limits of the program.
    pub(in crate::plan::file) limits: ResourceLimitsForm,
    /// Whether a run is not executed where a setting cannot be applied; else it is, and what is unmet is recorded with it.
    pub(in crate::plan::file) strict: bool,
}

/// Resource limits of the program; those left out stay as they are.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::plan::file) struct ResourceLimitsForm {
    /// Open files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) open_files: Option<u64>,
    /// Address space, e.g. "8GiB".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) memory: Option<String>,
    /// The main thread's stack, e.g. "64MiB".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) stack: Option<String>,
    /// Core files, e.g. "0B".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) core: Option<String>,
    /// Processes and threads of the program's user; root is not bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) processes: Option<u64>,
}

impl Default for EnvironmentForm {
    fn default() -> Self {
        Self {
            cpus: "all".to_owned(),
            housekeeping: 0,
            nice: None,
            scheduler: None,
            aslr: None,
            env_bytes: None,
            env_bytes_random: None,
            directory_bytes: None,
            directory_bytes_random: None,
            page_cache: PageCache::Keep,
            transparent_huge_pages: None,
            governor: None,
            turbo: None,
            settle: "0s".to_owned(),
            limits: ResourceLimitsForm::default(),
            strict: false,
        }
    }
}
