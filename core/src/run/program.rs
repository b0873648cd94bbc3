//! The program that a run executed: the file, and what was in it. That the name is the same on two hosts does not make the
//! program the same.
//!
//! It is the file that the kernel was given: of a script the script, not its interpreter, and of a program without the
//! libraries that it loads. Those are facts of the host.

use serde::{Deserialize, Serialize};

use crate::experiment::files::ContentHash;

/// Longest path that is kept, in bytes: the kernel's limit of one that it executes.
pub const MAX_PATH_BYTES: usize = 4_096;
/// Largest program of which the content is told, in bytes. It is read once a host and after the run,
/// mostly from the page cache, in seconds.
pub const MAX_HASHED_BYTES: u64 = 1 << 30;

/// The file that a run executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Its path on the host; what is not UTF-8 is replaced.
    pub path: String,
    pub content: ProgramContent,
}

/// What was in a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProgramContent {
    Blake3(ContentHash),
    /// It is not known.
    Unknown {
        /// What was tried, and what the host said.
        reason: String,
    },
}

impl Program {
    /// The BLAKE3 hash of its content, where that is known.
    pub fn blake3(&self) -> Option<ContentHash> {
        match &self.content {
            ProgramContent::Blake3(hash) => Some(*hash),
            ProgramContent::Unknown { .. } => None,
        }
    }

    /// Why its content is not known, if it is not.
    pub fn unknown(&self) -> Option<&str> {
        match &self.content {
            ProgramContent::Blake3(_) => None,
            ProgramContent::Unknown { reason } => Some(reason),
        }
    }
}
