//! The conditions of a run: how its host was before and after it, what of the plan's environment
//! was in place, and what disturbed it. They are kept with the record, whatever they say: a
//! disturbed run is marked and stays.

use serde::{Deserialize, Serialize};

use crate::run::{disturbance::Disturbance, reading::Reading, software::UsedSoftware};
use crate::{experiment::environment::Setting, value::cpu_set::CpuSet};

/// Most settings that can be unmet, and most kinds of disturbance: each is told once.
pub const MAX_NOTES: usize = 32;

/// Longest name of a kind of file system that is kept, in bytes: the kernel's own have at most some dozens.
pub const MAX_KIND_BYTES: usize = 64;

/// The conditions of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// The host before the run, when all was prepared.
    pub before: Reading,
    /// The host right after the run.
    pub after: Reading,
    /// The CPUs that the program was confined to; absent where it could use all that the agent may.
    pub cpus: Option<CpuSet>,
    /// The size of its environment variables in bytes, as `execve` counts them.
    pub env_bytes: Option<u64>,
    /// The padding that was drawn for the run.
    pub env_padding: Option<u32>,
    /// The length in bytes of the path of the directory that it stood in.
    pub directory_bytes: Option<u32>,
    /// The file system of that directory; absent in records of earlier releases, and where the kernel does not tell.
    #[serde(default)]
    pub file_system: Option<FileSystem>,
    /// What the software of the plan came to; absent where it has none, and in records of earlier releases.
    #[serde(default)]
    pub software: Option<UsedSoftware>,
    /// The settings that were in place, in their order.
    pub applied: Vec<Setting>,
    /// The settings that were not, in their order.
    pub unmet: Vec<Unmet>,
    pub disturbances: Vec<Disturbance>,
}

/// A setting that the plan wants and the host did not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmet {
    pub setting: Setting,
    /// What was tried and why it failed, or what was found instead.
    pub reason: String,
}

/// The file system of the directory in which a run stood. What a program reads and writes on a network file system is timed with
/// the server, the network, and whatever other hosts do to both.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileSystem {
    /// Its kind, as `/proc/mounts` names it: `ext4`, `nfs4`, `fuse.sshfs`.
    pub kind: String,
    pub location: Location,
}

/// Where the files of a file system are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Location {
    /// On this host: its disks, or its memory.
    Local,
    /// On others, behind a network.
    Network,
    /// Wherever a program of the host says (FUSE), and each access goes through that program.
    Program,
}

impl FileSystem {
    /// Whether what happens there depends on this host's kernel and devices alone.
    pub fn is_local(&self) -> bool {
        match self.location {
            Location::Local => true,
            Location::Network | Location::Program => false,
        }
    }
}
