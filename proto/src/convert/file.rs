//! Staged files, and the content that travels.

use speedup_core::experiment::files::{Content, ContentHash, FileSource, StagedFile};

use super::{field::chosen, field::exactly, malformed::Malformed, wire::structure};
use crate::v1;
use v1::staged_file::Source;

/// A content by its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Blob {
    pub blake3: [u8; 32],
    pub bytes: u64,
}

impl From<Content> for Blob {
    fn from(content: Content) -> Self {
        Self { blake3: content.blake3.0, bytes: content.bytes }
    }
}

structure!(Blob, v1::Blob, [blake3, bytes]);

impl From<&StagedFile> for v1::StagedFile {
    fn from(file: &StagedFile) -> Self {
        let (blake3, source) = match &file.source {
            FileSource::Content(Content { blake3, bytes, executable }) => {
                let content = v1::staged_file::Content { bytes: *bytes, executable: *executable };
                (blake3, Source::Content(content))
            }
            FileSource::Shared { path, blake3, bytes } => {
                (blake3, Source::Shared(v1::staged_file::Shared { path: path.clone(), bytes: *bytes }))
            }
        };
        Self { name: file.name.clone(), blake3: blake3.0.to_vec(), source: Some(source) }
    }
}

impl TryFrom<v1::StagedFile> for StagedFile {
    type Error = Malformed;

    fn try_from(wire: v1::StagedFile) -> Result<Self, Malformed> {
        let blake3 = ContentHash(exactly(&wire.blake3, "blake3")?);
        let source = match chosen(wire.source, "source")? {
            Source::Content(v1::staged_file::Content { bytes, executable }) => {
                FileSource::Content(Content { blake3, bytes, executable })
            }
            Source::Shared(v1::staged_file::Shared { path, bytes }) => {
                FileSource::Shared { path, blake3, bytes }
            }
        };
        Ok(Self { name: wire.name, source })
    }
}
