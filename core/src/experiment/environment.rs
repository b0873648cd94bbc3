//! The environment of a timed run: where it may execute, with which priority, in which address space, and in which state
//! the host is meant to be. It is part of the plan, so that an agent chooses nothing; what an agent could not bring
//! about is recorded with the run ([`crate::run::conditions`]).
//!
//! Every part has a value that means "as the host is", and that is its default.

mod check;

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::experiment::software::Software;
use crate::value::cpu_set::{CpuSet, CpuSetError, MAX_CPUS};
use crate::value::time::Span;

/// The variable that fills the environment up to its size.
pub const PADDING: &str = "SPEEDUP_PADDING";
/// Largest environment, and largest padding, that a plan may ask for: Linux takes no single variable of 128 KiB, name
/// included. Mytkowicz et al. (ASPLOS 2009) varied 4 KiB.
pub(crate) const MAX_ENV_SIZE: u32 = (128 << 10) - 1 - PADDING.len() as u32;
/// Longest path of a working directory that a plan may ask for: Linux takes none longer, its final zero included.
pub(crate) const MAX_DIRECTORY_LENGTH: u32 = 4_095;
/// The name of a working directory where the plan asks for no length; a longer one begins with it.
pub const DIRECTORY_NAME: &str = "work";
/// Longest random part of a working directory's name: Linux takes no name of more than 255 bytes.
pub(crate) const MAX_DIRECTORY_PADDING: u32 = 255 - DIRECTORY_NAME.len() as u32;
/// Longest time that a host may be left alone before a run; it is added to the run's lease.
pub(crate) const MAX_SETTLE: Span = Span::from_secs(600);
/// Longest name of a governor: the kernel's `CPUFREQ_NAME_LEN` with its final zero.
pub(crate) const MAX_GOVERNOR_BYTES: usize = 15;
/// The priorities of Linux's real-time scheduling classes.
pub(crate) const PRIORITIES: (u8, u8) = (1, 99);
/// The nice values of Linux.
pub(crate) const NICES: (i8, i8) = (-20, 19);

/// The environment of the timed runs of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// The CPUs that the program may use.
    pub cpus: CpuChoice,
    /// CPUs that are kept free of it, for the agent and the system.
    pub housekeeping: u32,
    pub nice: Option<i8>,
    pub scheduler: Option<Scheduler>,
    /// Whether its address space is randomised.
    pub aslr: Option<bool>,
    /// The size of the environment variables, which shifts the stack and can bias a measurement (Mytkowicz et al., ASPLOS
    /// 2009, §4): bytes of all names and values with their `=` and final zero, as `execve` counts them.
    pub env_size: SizeChoice,
    /// The length of the path of its working directory. It shifts the stack as well: it stands in variables and in what
    /// programs make of it.
    pub directory_length: SizeChoice,
    /// What becomes of the page cache before it.
    pub page_cache: PageCache,
    pub huge_pages: Option<HugePages>,
    pub governor: Option<String>,
    /// Whether CPUs may exceed their nominal frequency.
    pub turbo: Option<bool>,
    /// How long the host is left alone before the clock starts.
    pub settle: Span,
    pub limits: ResourceLimits,
    /// Whether a run is not executed where a setting cannot be applied.
    pub strict: bool,
    #[serde(default)]
    pub software: Software,
}

/// The CPUs that a program may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CpuChoice {
    /// All that the agent may use.
    #[default]
    All,
    /// So many whole cores, with all their hardware threads: nothing else shall share a core's units and caches.
    Cores(u32),
    NumaNode(u32),
    List(CpuSet),
}

/// A scheduling class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scheduler {
    Other,
    /// The same, without preference for what wakes often.
    Batch,
    /// Real time, first in first out, by priority.
    Fifo(u8),
    /// Real time, in turn with others of the priority.
    RoundRobin(u8),
}

/// A size in bytes that shifts a program's stack and so its speed: left as it is, fixed, or drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SizeChoice {
    /// Whatever size it comes to on the host.
    #[default]
    AsIs,
    /// This size: the same on all hosts and in all versions.
    Total(u32),
    /// Larger by 0 to this many bytes, drawn for each run.
    Random(u32),
}

/// What becomes of the page cache before a timed run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PageCache {
    /// It stays as it is; warm-ups make it warm.
    #[default]
    Keep,
    /// It is written back and dropped.
    Drop,
}

crate::words! {
    /// Transparent huge pages.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum HugePages {
        /// For all memory.
        Always = "always",
        /// For memory whose program asks for them.
        Madvise = "madvise",
        /// For none.
        Never = "never",
    }
    /// The kernel's word.
    fn name;
}

/// Resource limits of a program (`setrlimit`), soft and hard; those not given stay as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Open files (`RLIMIT_NOFILE`).
    pub open_files: Option<u64>,
    /// Bytes of address space (`RLIMIT_AS`).
    pub memory: Option<u64>,
    /// Bytes of the main thread's stack (`RLIMIT_STACK`).
    pub stack: Option<u64>,
    /// Bytes of a core file (`RLIMIT_CORE`).
    pub core: Option<u64>,
    /// Processes and threads of the user (`RLIMIT_NPROC`), which does not bind root.
    pub processes: Option<u64>,
}

impl ResourceLimits {
    /// Whether none is given.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Environment {
    /// The settings that differ from "as the host is", in their order.
    pub fn asked(&self) -> Vec<Setting> {
        Setting::ALL.into_iter().filter(|setting| self.asks_for(*setting)).collect()
    }

    fn asks_for(&self, setting: Setting) -> bool {
        match setting {
            Setting::Cpus => self.cpus != CpuChoice::All,
            Setting::Housekeeping => self.housekeeping > 0,
            Setting::Nice => self.nice.is_some(),
            Setting::Scheduler => self.scheduler.is_some(),
            Setting::Aslr => self.aslr.is_some(),
            Setting::EnvSize => self.env_size != SizeChoice::AsIs,
            Setting::PageCache => self.page_cache != PageCache::Keep,
            Setting::HugePages => self.huge_pages.is_some(),
            Setting::Governor => self.governor.is_some(),
            Setting::Turbo => self.turbo.is_some(),
            Setting::Limits => !self.limits.is_empty(),
            Setting::DirectoryLength => self.directory_length != SizeChoice::AsIs,
            Setting::Software => !self.software.is_empty(),
        }
    }
}

crate::words! {
    /// A part of the environment, as records name it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Setting {
        Cpus = "cpus",
        Housekeeping = "housekeeping",
        Nice = "nice",
        Scheduler = "scheduler",
        Aslr = "aslr",
        EnvSize = "env_bytes",
        PageCache = "page_cache",
        HugePages = "transparent_huge_pages",
        Governor = "governor",
        Turbo = "turbo",
        Limits = "limits",
        DirectoryLength = "directory_bytes",
        Software = "software",
    }
    /// Its name, which is its key in `[environment]`.
    fn name;
    const ALL;
}

/// Why a text names no CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CpuChoiceError {
    /// The number after `cores:` or `numa:` is none.
    #[error("{0:?} is not a number of {1}")]
    Number(String, &'static str),
    #[error(transparent)]
    List(#[from] CpuSetError),
    #[error("it names no CPU")]
    Empty,
}

impl FromStr for CpuChoice {
    type Err = CpuChoiceError;

    fn from_str(text: &str) -> Result<Self, CpuChoiceError> {
        match text.trim().split_once(':') {
            Some(("cores", cores)) => Ok(Self::Cores(cpu_number(cores, "cores")?)),
            Some(("numa", node)) => Ok(Self::NumaNode(cpu_number(node, "a NUMA node")?)),
            None if text.trim() == "all" => Ok(Self::All),
            Some(_) | None => {
                let set: CpuSet = text.parse()?;
                if set.is_empty() { Err(CpuChoiceError::Empty) } else { Ok(Self::List(set)) }
            }
        }
    }
}

/// Reads a number of `what`: no host has more cores or nodes than CPUs.
fn cpu_number(text: &str, what: &'static str) -> Result<u32, CpuChoiceError> {
    let number = text.trim().parse().ok().filter(|number| *number <= MAX_CPUS);
    number.ok_or_else(|| CpuChoiceError::Number(text.to_owned(), what))
}

impl fmt::Display for CpuChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Cores(cores) => write!(f, "cores:{cores}"),
            Self::NumaNode(node) => write!(f, "numa:{node}"),
            Self::List(cpus) => cpus.fmt(f),
        }
    }
}

/// A text that names no scheduling class.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no such scheduling class")]
pub struct SchedulerError;

impl FromStr for Scheduler {
    type Err = SchedulerError;

    fn from_str(text: &str) -> Result<Self, SchedulerError> {
        let (class, priority) = match text.trim() {
            "other" => return Ok(Self::Other),
            "batch" => return Ok(Self::Batch),
            text => text.split_once(':').ok_or(SchedulerError)?,
        };
        let priority = priority.trim().parse().map_err(|_| SchedulerError)?;
        match class {
            _ if !(PRIORITIES.0..=PRIORITIES.1).contains(&priority) => Err(SchedulerError),
            "fifo" => Ok(Self::Fifo(priority)),
            "rr" => Ok(Self::RoundRobin(priority)),
            _ => Err(SchedulerError),
        }
    }
}

impl fmt::Display for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other => f.write_str("other"),
            Self::Batch => f.write_str("batch"),
            Self::Fifo(priority) => write!(f, "fifo:{priority}"),
            Self::RoundRobin(priority) => write!(f, "rr:{priority}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_chosen_by_topology_or_by_number() {
        for text in ["all", "cores:4", "numa:1", "2-5,8"] {
            let choice: CpuChoice = text.parse().unwrap();
            assert_eq!(choice.to_string(), text);
        }
        for bad in ["", "cores", "cores:", "cores:-1", "cores:9999999", "node:1", "5-2", "ALL"] {
            assert!(bad.parse::<CpuChoice>().is_err(), "{bad}");
        }
    }

    #[test]
    fn scheduling_classes_have_their_priorities() {
        for text in ["other", "batch", "fifo:1", "rr:99"] {
            let scheduler: Scheduler = text.parse().unwrap();
            assert_eq!(scheduler.to_string(), text);
        }
        for bad in ["", "idle", "fifo", "fifo:0", "fifo:100", "rr:x", "other:1"] {
            assert!(bad.parse::<Scheduler>().is_err(), "{bad}");
        }
    }

    #[test]
    fn by_default_everything_stays_as_the_host_is() {
        let untouched = Environment::default();
        assert_eq!((untouched.cpus, untouched.page_cache), (CpuChoice::All, PageCache::Keep));
        assert!(untouched.limits.is_empty() && !untouched.strict);
    }

    #[test]
    fn each_setting_is_listed_once_in_order() {
        assert!(Setting::ALL.is_sorted_by(|earlier, later| earlier < later));
    }
}
