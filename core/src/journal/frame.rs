//! One frame: what stands before each payload, and the checksum over both.

use super::{header::HEADER_BYTES, record::Position};

/// Length of what stands before each payload.
pub const FRAME_HEADER_BYTES: usize = 26;

/// The largest payload. A record holds at most a run's observations or a plan; larger things are kept as blobs and
/// named by their hash. The limit bounds the reader's buffer, also when a damaged length is read.
pub const MAX_RECORD_BYTES: usize = 16 << 20;

const CHECKSUM_BYTES: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// It has a payload and its own position.
    Record = 1,
    /// It has no payload; its position is that of the next record.
    Mark = 2,
}

/// All of a frame but its payload and checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) length: u32,
    pub(super) kind: FrameKind,
    pub(super) version: u8,
    pub(super) position: Position,
    /// The segment's bytes before this one were synced when the frame was written.
    pub(super) durable: u64,
}

/// What the bytes at an offset are.
pub(super) enum ParsedFrame<'a> {
    /// A frame whose checksum fits there.
    Frame(FrameHeader, &'a [u8]),
    /// Not known with fewer than this many bytes.
    Lacks(usize),
    /// The segment ends before the frame does.
    EndsEarly,
    Invalid,
}

impl FrameHeader {
    /// Header and checksum of a frame that will stand at `offset` of the segment with this seed.
    pub(super) fn encode(&self, payload: &[u8], seed: u32, offset: u64) -> [u8; FRAME_HEADER_BYTES] {
        let mut bytes = [0; FRAME_HEADER_BYTES];
        bytes[4..8].copy_from_slice(&self.length.to_le_bytes());
        bytes[8] = self.kind as u8;
        bytes[9] = self.version;
        bytes[10..18].copy_from_slice(&self.position.0.to_le_bytes());
        bytes[18..26].copy_from_slice(&self.durable.to_le_bytes());
        let checksum = checksum(seed, offset, &bytes[CHECKSUM_BYTES..], payload);
        bytes[..CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// A header that a frame at `offset` could have, and the checksum it claims. Cheap, and false for nearly all other
    /// bytes, so that the search for valid frames seldom needs a payload.
    pub(super) fn decode(bytes: &[u8], offset: u64) -> Option<(FrameHeader, u32)> {
        let (checksum, rest) = bytes.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (kind_and_version, rest) = rest.split_first_chunk()?;
        let (position, rest) = rest.split_first_chunk()?;
        let (durable, _) = rest.split_first_chunk()?;
        let [kind, version] = *kind_and_version;
        let header = FrameHeader {
            length: u32::from_le_bytes(*length),
            kind: match kind {
                1 => FrameKind::Record,
                2 => FrameKind::Mark,
                _ => return None,
            },
            version,
            position: Position(u64::from_le_bytes(*position)),
            durable: u64::from_le_bytes(*durable),
        };
        header.is_possible(offset).then_some((header, u32::from_le_bytes(*checksum)))
    }

    fn is_possible(&self, offset: u64) -> bool {
        let longest = match self.kind {
            FrameKind::Record => MAX_RECORD_BYTES,
            FrameKind::Mark => 0,
        };
        self.length as usize <= longest && (HEADER_BYTES..=offset).contains(&self.durable)
    }

    /// Length of the whole frame.
    pub(super) fn frame_bytes(&self) -> usize {
        FRAME_HEADER_BYTES + self.length as usize
    }
}

/// Reads the frame at `offset`, where `bytes` begins, of a segment that ends at `end`.
pub(super) fn parse(bytes: &[u8], seed: u32, offset: u64, end: u64) -> ParsedFrame<'_> {
    let left = end.saturating_sub(offset);
    if left < FRAME_HEADER_BYTES as u64 {
        return ParsedFrame::EndsEarly;
    }
    if bytes.len() < FRAME_HEADER_BYTES {
        return ParsedFrame::Lacks(FRAME_HEADER_BYTES);
    }
    let Some((header, claimed)) = FrameHeader::decode(bytes, offset) else { return ParsedFrame::Invalid };
    let frame_bytes = header.frame_bytes();
    if left < frame_bytes as u64 {
        return ParsedFrame::EndsEarly;
    }
    let Some(frame) = bytes.get(..frame_bytes) else { return ParsedFrame::Lacks(frame_bytes) };
    let (head, payload) = frame.split_at(FRAME_HEADER_BYTES);
    if checksum(seed, offset, &head[CHECKSUM_BYTES..], payload) != claimed {
        return ParsedFrame::Invalid;
    }
    ParsedFrame::Frame(header, payload)
}

fn checksum(seed: u32, offset: u64, head: &[u8], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(seed);
    hasher.update(&offset.to_le_bytes());
    hasher.update(head);
    hasher.update(payload);
    hasher.finalize()
}
