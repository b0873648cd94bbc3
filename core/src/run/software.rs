//! What the software of a run came to on its host: the variables that a shell made, by their hash, and the image of the
//! container. Two hosts with different hashes executed the same cell in different environments.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{experiment::files::ContentHash, value::time::Span};

/// Most bytes of all variables that a preparation may make, as `execve` counts them: much less than Linux takes, and more than
/// the largest module trees make. They travel with a record.
pub const MAX_VARIABLES_BYTES: usize = 256 << 10;
/// Most variables, for the same reason.
pub const MAX_VARIABLES: usize = 4_096;
/// Longest digest that a launcher tells, in bytes; what is longer is cut.
pub const MAX_DIGEST_BYTES: usize = 256;

/// The software of a run, as it was prepared on its host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedSoftware {
    /// The variables, where the plan has any made.
    pub variables: Option<UsedVariables>,
    /// The container, where the plan has one.
    pub container: Option<UsedContainer>,
}

/// The variables that a shell made before the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedVariables {
    /// The hash of [`text_of`] them.
    pub blake3: ContentHash,
    /// How they were made, in the first run that had them on the host.
    pub made: Option<MadeVariables>,
}

/// How variables were made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeVariables {
    /// All of them. Directories of the run and the host have placeholders: `{work}`, `{input}`, `{scratch}`.
    pub variables: BTreeMap<String, String>,
    /// When the shell had ended, by the host's wall clock (nanoseconds since the Unix epoch): before any clock of a run started.
    pub ended_unix_ns: u64,
    pub took: Span,
}

/// The container of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedContainer {
    /// The image, as the launcher was given it.
    pub image: String,
    pub identity: ImageIdentity,
    /// How long the launcher and the container took for a program that does nothing, by the same clock, before the first run on
    /// the host: so much of each run is theirs. Absent where the plan has none tried.
    pub start: Option<Span>,
}

/// What identifies the content of an image.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ImageIdentity {
    /// The hash of its file.
    Blake3(ContentHash),
    /// What the plan's command told.
    Told(String),
    Unknown {
        reason: String,
    },
}

/// The text whose hash stands for variables: `NAME=VALUE`, sorted, each with a final zero.
pub fn text_of(variables: &BTreeMap<String, String>) -> Vec<u8> {
    let mut text = Vec::new();
    for (name, value) in variables {
        text.extend([name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat());
    }
    text
}

/// The hash that stands for variables.
pub fn hash_of(variables: &BTreeMap<String, String>) -> ContentHash {
    ContentHash(blake3::hash(&text_of(variables)).into())
}
