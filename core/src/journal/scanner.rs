//! Reads a segment from front to back and ends with a verdict.

use super::frame::{FRAME_HEADER_BYTES, FrameHeader, FrameKind, ParsedFrame, parse};
use super::header::{HEADER_BYTES, SegmentHeader};
use super::record::{JournalRecord, PayloadVersion, Position};
use super::search::{Damage, DamageKind, Search, SearchStep, SegmentEnd};

/// Reads the frames of one segment, a window of its bytes at a time.
#[derive(Debug)]
pub struct Scanner {
    seed: u32,
    end: u64,
    tail: Tail,
    extent: Extent,
    state: State,
}

/// What the end of a segment may look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// All records before `next` were synced: an earlier segment, or the last one up to its durable end. What stands
    /// behind them was never acknowledged, and is not read.
    Complete {
        /// Position of the next segment's first record, or the durable end.
        next: Position,
    },
    /// The last segment: what was written after its last sync may be there in part.
    MayBeTorn,
}

/// What one step found.
#[derive(Debug, PartialEq, Eq)]
pub enum ScanStep<'a> {
    Record(JournalRecord<'a>),
    /// Call again with a window of at least this many bytes, from [`Scanner::offset`] on. The segment has them.
    Lacks(usize),
    /// There are no more records.
    End(SegmentEnd),
}

/// Bytes of a mark, which stands at the end of a closed segment.
pub const MARK_BYTES: usize = FRAME_HEADER_BYTES;

/// The position after the last record of a segment of `end` bytes, as told by the mark that `last` is: its last
/// [`MARK_BYTES`]. Nothing if they are no mark; then only reading the segment tells.
pub fn marked_end(header: &SegmentHeader, last: &[u8], end: u64) -> Option<Position> {
    let offset = end.checked_sub(MARK_BYTES as u64)?;
    match parse(last, header.seed(), offset, end) {
        ParsedFrame::Frame(FrameHeader { kind: FrameKind::Mark, position, .. }, _) => Some(position),
        ParsedFrame::Frame(..) | ParsedFrame::Lacks(_) | ParsedFrame::EndsEarly | ParsedFrame::Invalid => {
            None
        }
    }
}

/// How far a segment is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Byte after the last valid frame.
    pub end: u64,
    /// Position of the record after the last valid one.
    pub next: Position,
    /// The segment itself proves that its bytes before this one were synced.
    pub durable_end: u64,
    /// Position of the first record that is not proven to be synced.
    pub durable_next: Position,
    /// Whether the last valid frame is a mark.
    pub marked: bool,
}

#[derive(Debug)]
enum State {
    Reading,
    Searching(Search),
    Ended(SegmentEnd),
}

impl Scanner {
    /// For a segment of `end` bytes, or for the first `end` bytes of one.
    pub fn new(header: &SegmentHeader, end: u64, tail: Tail) -> Scanner {
        let extent = Extent {
            end: HEADER_BYTES,
            next: header.first,
            durable_end: HEADER_BYTES,
            durable_next: header.first,
            marked: false,
        };
        Scanner { seed: header.seed(), end, tail, extent, state: State::Reading }
    }

    /// Takes the segment to have only so many bytes, which are no fewer than were in a window.
    pub fn shorten(&mut self, end: u64) {
        self.end = end;
    }

    /// Byte of the segment with which the next window begins.
    pub fn offset(&self) -> u64 {
        match &self.state {
            State::Reading | State::Ended(_) => self.extent.end,
            State::Searching(search) => search.offset(),
        }
    }

    /// How far the segment is valid, as far as it was read.
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// Reads on. `window` holds the segment's bytes from [`Scanner::offset`] on, as many as the caller has.
    pub fn step<'a>(&mut self, window: &'a [u8]) -> ScanStep<'a> {
        let start = self.offset();
        let rest = |offset: u64| window.get((offset - start) as usize..).unwrap_or_default();
        loop {
            let step = match &mut self.state {
                State::Reading => self.read(rest(self.extent.end)),
                State::Searching(search) => match search.step(rest(search.offset()), self.seed, self.end) {
                    SearchStep::Lacks(bytes) => Some(ScanStep::Lacks(bytes)),
                    SearchStep::Verdict(verdict) => {
                        self.state = State::Ended(verdict);
                        None
                    }
                },
                State::Ended(verdict) => Some(ScanStep::End(*verdict)),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }

    /// Reads one frame; `None` for a mark and when the state has changed.
    fn read<'a>(&mut self, rest: &'a [u8]) -> Option<ScanStep<'a>> {
        let offset = self.extent.end;
        let is_done = match self.tail {
            Tail::Complete { next } => self.extent.next >= next,
            Tail::MayBeTorn => offset == self.end,
        };
        if is_done {
            self.state = State::Ended(SegmentEnd::Clean);
            return None;
        }
        let kind = match parse(rest, self.seed, offset, self.end) {
            ParsedFrame::Frame(header, payload) if self.belongs(&header) => {
                return self.accept(&header, payload);
            }
            ParsedFrame::Frame(..) => DamageKind::OutOfOrder,
            ParsedFrame::Lacks(bytes) => return Some(ScanStep::Lacks(bytes)),
            ParsedFrame::EndsEarly => DamageKind::EndsEarly,
            ParsedFrame::Invalid => DamageKind::Checksum,
        };
        let damage = Damage { at: offset, position: self.extent.next, kind };
        self.state = match self.tail {
            Tail::Complete { .. } => State::Ended(SegmentEnd::Damaged(damage)),
            Tail::MayBeTorn => State::Searching(Search::new(damage)),
        };
        None
    }

    /// A valid frame that the writer would not have put here is left over from a group that was cut before.
    fn belongs(&self, header: &FrameHeader) -> bool {
        let first_after_a_sync = header.durable == self.extent.end;
        let like_the_one_before = header.durable == self.extent.durable_end;
        header.position == self.extent.next && (first_after_a_sync || like_the_one_before)
    }

    fn accept<'a>(&mut self, header: &FrameHeader, payload: &'a [u8]) -> Option<ScanStep<'a>> {
        if header.durable == self.extent.end {
            self.extent.durable_end = self.extent.end;
            self.extent.durable_next = self.extent.next;
        }
        self.extent.end += header.frame_bytes() as u64;
        match header.kind {
            FrameKind::Mark => {
                self.extent.marked = true;
                None
            }
            FrameKind::Record => {
                self.extent.marked = false;
                self.extent.next = header.position.next();
                let version = PayloadVersion(header.version);
                Some(ScanStep::Record(JournalRecord { position: header.position, version, payload }))
            }
        }
    }
}
