//! Staged files: what a run needs beside the system, named in the plan. A file either travels by its content, kept by the
//! coordinator and fetched by the agents, or lies on a file system that all hosts share and is used in place. Either way
//! its BLAKE3 hash is part of the experiment, and no run begins on a host where the file has another.

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};

use crate::value::time::Span;

/// Most files of one experiment: each is looked at before each run that uses it.
pub const MAX_FILES: usize = 1_000;
/// Most bytes of one file: what a host of a cluster can be expected to hold, and to read before a run.
pub const MAX_FILE_BYTES: u64 = 64 << 30;
/// Most bytes of all files of one experiment together.
pub(crate) const MAX_ALL_FILES_BYTES: u64 = 256 << 30;
/// Longest path of a shared file: Linux takes no longer one.
pub(crate) const MAX_SHARED_PATH_BYTES: usize = 4_095;
/// Assumed length of the path at which a host keeps a file that travelled, when the length of a command is checked.
pub(crate) const ASSUMED_FILE_PATH_BYTES: usize = 256 + 2 * HASH_BYTES;
/// What the placeholder of a file begins with: `{file.NAME}`.
pub const PREFIX: &str = "file.";

const HASH_BYTES: usize = 32;
/// What a file of unknown length is taken for when time is allowed for it.
const ASSUMED_BYTES: u64 = 8 << 30;
/// How slowly a file may come to a host, or be read there, until the lease does not wait any longer: a tenth of what a
/// slow network of a cluster carries, as many hosts fetch at once.
const SLOWEST_BYTES_PER_SECOND: u64 = 1 << 20;

/// A file that runs need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedFile {
    /// What commands call it: `{file.NAME}`.
    pub name: String,
    pub source: FileSource,
}

/// Where a staged file comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileSource {
    Content(Content),
    /// It lies at the same path on every host and is used in place.
    Shared {
        /// The path, absolute.
        path: String,
        blake3: ContentHash,
        /// How long it is, where that is known.
        bytes: Option<u64>,
    },
}

/// A file that travels by content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Content {
    pub blake3: ContentHash,
    pub bytes: u64,
    /// Whether it may be executed.
    pub executable: bool,
}

/// The BLAKE3 hash of a file's content; written as 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContentHash(pub [u8; HASH_BYTES]);

impl ContentHash {
    /// The hash that 64 hexadecimal digits say, as `b3sum` prints them.
    pub fn from_hex(text: &str) -> Option<Self> {
        blake3::Hash::from_hex(text).ok().map(|hash| Self(hash.into()))
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl Serialize for ContentHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_hex(&text)
            .ok_or_else(|| serde::de::Error::custom("a BLAKE3 hash has 64 hexadecimal digits"))
    }
}

impl StagedFile {
    /// The name between the braces of its placeholder.
    pub fn placeholder(&self) -> String {
        format!("{PREFIX}{}", self.name)
    }

    /// Its content, where it travels by content.
    pub fn content(&self) -> Option<Content> {
        match self.source {
            FileSource::Content(content) => Some(content),
            FileSource::Shared { .. } => None,
        }
    }

    /// How long it is, where that is known.
    pub fn bytes(&self) -> Option<u64> {
        match self.source {
            FileSource::Content(Content { bytes, .. }) => Some(bytes),
            FileSource::Shared { bytes, .. } => bytes,
        }
    }

    /// The most bytes that its path on a host may have.
    pub(crate) fn longest_path(&self) -> usize {
        match &self.source {
            FileSource::Content(_) => ASSUMED_FILE_PATH_BYTES,
            FileSource::Shared { path, .. } => path.len(),
        }
    }
}

/// The contents that travel, each once.
pub fn contents(files: &[StagedFile]) -> BTreeSet<Content> {
    files.iter().filter_map(StagedFile::content).collect()
}

/// How long a host may take, before a run, to have all these files and to know that they are the right ones.
pub fn staging_time<'f>(files: impl IntoIterator<Item = &'f StagedFile>) -> Span {
    time_for(files.into_iter().map(StagedFile::bytes))
}

/// How long contents of these sizes may take to come to a host or from it, or to be read there.
pub fn time_for(bytes: impl IntoIterator<Item = Option<u64>>) -> Span {
    let bytes = bytes.into_iter().map(|bytes| bytes.unwrap_or(ASSUMED_BYTES)).fold(0, u64::saturating_add);
    Span::from_secs(1).times(bytes.div_ceil(SLOWEST_BYTES_PER_SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(bytes: Option<u64>) -> StagedFile {
        let source = FileSource::Shared { path: "/s".to_owned(), blake3: ContentHash([0xab; 32]), bytes };
        StagedFile { name: "s".to_owned(), source }
    }

    #[test]
    fn a_hash_is_written_and_read_as_b3sum_does() {
        let hash = ContentHash(blake3::hash(b"").into());
        assert_eq!(hash.to_string(), "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
        assert_eq!(ContentHash::from_hex(&hash.to_string()), Some(hash));
        let json = serde_json::to_string(&hash).unwrap();
        assert_eq!(serde_json::from_str::<ContentHash>(&json).unwrap(), hash);
        assert!(ContentHash::from_hex("af13").is_none());
        assert!(serde_json::from_str::<ContentHash>("\"af13\"").is_err());
    }

    #[test]
    fn large_files_are_given_time_and_so_are_unknown_ones() {
        assert_eq!(staging_time(&[]), Span(0));
        assert_eq!(staging_time(&[shared(Some(1)), shared(Some(1 << 20))]), Span::from_secs(2));
        assert_eq!(staging_time(&[shared(None)]), Span::from_secs(8 << 10));
        assert!(staging_time(&[shared(Some(u64::MAX)), shared(None)]) > Span::from_secs(8 << 10));
    }
}
