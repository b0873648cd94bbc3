//! The file system of the directory in which a run stood. What a program reads and writes there on a network file system is
//! timed with the server, the network, and whatever other hosts do to both.

use serde::{Deserialize, Serialize};

/// Longest name of a kind of file system that is kept, in bytes: the kernel's own have at most some dozens.
pub const MAX_KIND_BYTES: usize = 64;

/// A file system.
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
