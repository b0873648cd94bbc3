//! `[environment]` as its author writes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ContainerForm;
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
    /// A script for bash, executed before the modules are loaded, e.g. "module use /opt/modules" or ".
    /// /opt/intel/setvars.sh"; {input}, {version}, the version's vars and {file.NAME} are filled in. It fails if its
    /// last command does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) prologue: Option<String>,
    /// Environment modules to load, in this order, e.g. ["gcc/12", "openmpi"], by the command module of a login shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) modules: Option<Vec<String>>,
    /// An environment of Spack to activate: a name or a directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) spack_environment: Option<String>,
    /// Specs of Spack to load, in this order, e.g. ["gcc@12"], by the command spack of a login shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) spack: Option<Vec<String>>,
    /// The container in which the program is executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) container: Option<ContainerForm>,
    /// A preparation of modules, Spack, prologue or container that lasts longer has failed, e.g. "5m"; 2 minutes when
    /// absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) software_timeout: Option<String>,
    /// The BLAKE3 hash that the prepared variables must have, 64 hexadecimal digits; a host where they have another
    /// does not execute the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::plan::file) blake3: Option<String>,
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
            prologue: None,
            modules: None,
            spack_environment: None,
            spack: None,
            container: None,
            software_timeout: None,
            blake3: None,
        }
    }
}
