//! Writes frames: the one place that knows what each frame must say of those before it.

use super::frame::{FRAME_HEADER_BYTES, FrameHeader, FrameKind, MAX_RECORD_BYTES};
use super::header::{HEADER_BYTES, SegmentHeader};
use super::record::{PayloadVersion, Position};
use super::scanner::Extent;

/// Appends the frames of one segment, in order, to buffers of the caller.
///
/// The caller writes the bytes at the offset at which they were made, syncs them, and then calls [`Encoder::mark`].
#[derive(Debug, Clone)]
pub struct Encoder {
    seed: u32,
    offset: u64,
    next: Position,
    durable: u64,
}

/// Refused: a payload longer than [`MAX_RECORD_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a record of {bytes} bytes is longer than a journal takes ({MAX_RECORD_BYTES} bytes)")]
pub struct RecordTooLarge {
    pub bytes: usize,
}

impl Encoder {
    /// For a new segment: only its header is written, and synced.
    pub fn new(header: &SegmentHeader) -> Encoder {
        Encoder { seed: header.seed(), offset: HEADER_BYTES, next: header.first, durable: HEADER_BYTES }
    }

    /// Goes on after the last valid frame of a segment that was read.
    pub fn resume(header: &SegmentHeader, extent: &Extent) -> Encoder {
        Encoder { seed: header.seed(), offset: extent.end, next: extent.next, durable: extent.durable_end }
    }

    /// Appends a record to `out` and says which position it got.
    pub fn record(
        &mut self,
        version: PayloadVersion,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Position, RecordTooLarge> {
        if payload.len() > MAX_RECORD_BYTES {
            return Err(RecordTooLarge { bytes: payload.len() });
        }
        let position = self.next;
        self.frame(FrameKind::Record, version, payload, out);
        self.next = position.next();
        Ok(position)
    }

    /// Appends a mark to `out`: all frames before it are synced. Call it only when that is true.
    pub fn mark(&mut self, out: &mut Vec<u8>) {
        self.durable = self.offset;
        self.frame(FrameKind::Mark, PayloadVersion(0), &[], out);
    }

    /// Byte of the segment at which the next frame will stand.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Position that the next record will get.
    pub fn next(&self) -> Position {
        self.next
    }

    fn frame(&mut self, kind: FrameKind, version: PayloadVersion, payload: &[u8], out: &mut Vec<u8>) {
        let header = FrameHeader {
            length: payload.len() as u32,
            kind,
            version: version.0,
            position: self.next,
            durable: self.durable,
        };
        out.extend_from_slice(&header.encode(payload, self.seed, self.offset));
        out.extend_from_slice(payload);
        self.offset += (FRAME_HEADER_BYTES + payload.len()) as u64;
    }
}
