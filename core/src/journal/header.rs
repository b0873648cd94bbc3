//! The first bytes of a segment: what it is, whose it is, and where it begins.

use super::record::Position;
use std::fmt;

/// The format that this code writes, and the newest it reads.
pub const FORMAT_VERSION: u32 = 1;

/// Length of a segment header. It keeps this length and layout in every format version, so that an older program can
/// tell a newer segment from a damaged one.
pub const HEADER_BYTES: u64 = 40;

const MAGIC: [u8; 8] = *b"SPEEDUPJ";
const CHECKED_BYTES: usize = 36;

/// Which journal a segment belongs to; drawn once, when the journal is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JournalId(pub [u8; 16]);

impl fmt::Display for JournalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The header of a segment in format [`FORMAT_VERSION`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    pub journal: JournalId,
    /// Position of its first record, also when it has none yet.
    pub first: Position,
}

/// Why bytes are not the header of a segment that we can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    #[error("it is shorter than a segment header")]
    Short,
    /// The checksum does not fit, so nothing in the header can be believed.
    #[error("its header does not match its checksum")]
    Checksum,
    #[error("it does not begin as a journal segment does")]
    NotASegment,
    #[error("it has format version {version}, and this program reads up to {FORMAT_VERSION}")]
    Newer { version: u32 },
}

impl SegmentHeader {
    /// The bytes a segment begins with.
    pub fn encode(&self) -> [u8; HEADER_BYTES as usize] {
        let mut bytes = [0; HEADER_BYTES as usize];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes[12..28].copy_from_slice(&self.journal.0);
        bytes[28..36].copy_from_slice(&self.first.0.to_le_bytes());
        let checksum = crc32fast::hash(&bytes[..CHECKED_BYTES]);
        bytes[CHECKED_BYTES..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads a header from the first bytes of a segment.
    pub fn decode(segment: &[u8]) -> Result<SegmentHeader, HeaderError> {
        let (checked, rest) = take::<CHECKED_BYTES>(segment)?;
        let (checksum, _) = take(rest)?;
        if crc32fast::hash(checked) != u32::from_le_bytes(*checksum) {
            return Err(HeaderError::Checksum);
        }
        let (magic, rest) = take(checked)?;
        let (version, rest) = take(rest)?;
        let (journal, rest) = take(rest)?;
        let (first, _) = take(rest)?;
        match u32::from_le_bytes(*version) {
            _ if *magic != MAGIC => Err(HeaderError::NotASegment),
            0 => Err(HeaderError::NotASegment),
            version if version > FORMAT_VERSION => Err(HeaderError::Newer { version }),
            _ => Ok(SegmentHeader {
                journal: JournalId(*journal),
                first: Position(u64::from_le_bytes(*first)),
            }),
        }
    }

    /// What the checksums of the segment's frames begin with, so that they are valid in this segment only.
    ///
    /// It is the checksum of the checked bytes alone: over bytes and their checksum together a CRC is a constant.
    pub(super) fn seed(&self) -> u32 {
        crc32fast::hash(&self.encode()[..CHECKED_BYTES])
    }
}

fn take<const N: usize>(bytes: &[u8]) -> Result<(&[u8; N], &[u8]), HeaderError> {
    bytes.split_first_chunk().ok_or(HeaderError::Short)
}
