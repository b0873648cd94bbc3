//! How a segment ends, and the search behind damage: was it synced? And is there anything at all?

use super::{
    frame::FRAME_HEADER_BYTES, frame::FrameHeader, frame::ParsedFrame, frame::parse, record::Position,
};

/// How a segment ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentEnd {
    /// With its last frame, and zeros behind it, if anything.
    Clean,
    /// With the remains of a group that was never acknowledged; they are to be cut.
    TornTail(TornTail),
    /// With damage to what was synced; the segment is not to be written to.
    Damaged(Damage),
}

/// The remains of an unacknowledged group, to be cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TornTail {
    /// Byte of the segment to cut at.
    pub at: u64,
    /// Byte after the last of them: behind it are zeros, if anything.
    pub end: u64,
    /// The position that the first lost record would have had.
    pub position: Position,
    /// Intact frames behind the tear: unacknowledged like the rest, and cut with it.
    pub intact_beyond: u64,
}

/// Where acknowledged bytes are no longer what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {at}, where the record at position {position} is expected")]
pub struct Damage {
    /// Byte of the segment.
    pub at: u64,
    /// Position of the first record that cannot be read.
    pub position: Position,
    pub kind: DamageKind,
}

/// What is wrong with a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DamageKind {
    /// The bytes are not those that were written.
    #[error("a checksum does not match")]
    Checksum,
    /// The file is shorter than what was synced, or the next segment is missing.
    #[error("the segment ends too early")]
    EndsEarly,
    /// An intact record, but not the one that belongs there.
    #[error("a record is out of order")]
    OutOfOrder,
    /// A search for valid frames met too many that nearly were; to be safe, nothing is cut.
    #[error("unreadable bytes that may hide synced records")]
    Unclear,
}

/// How many bytes of payload a search may check. Only bytes that look like a frame header cost a check, which by chance
/// they never do; hostile ones could ask for 16 MiB at every byte. A gibibyte takes about a second.
const BUDGET_BYTES: u64 = 1 << 30;

/// Tries every byte behind damage for a valid frame, until one proves that the damaged place was synced.
#[derive(Debug)]
pub(super) struct Search {
    damage: Damage,
    offset: u64,
    budget: u64,
    intact_beyond: u64,
    /// Byte after the last one so far that is not zero.
    content_end: u64,
}

pub(super) enum SearchStep {
    /// It needs this many bytes from its offset on.
    Lacks(usize),
    Verdict(SegmentEnd),
}

impl Search {
    pub(super) fn new(damage: Damage) -> Search {
        let at = damage.at;
        Search { damage, offset: at, budget: BUDGET_BYTES, intact_beyond: 0, content_end: at }
    }

    /// Byte of the segment with which the next window begins.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Searches `window`, and says what it needs to go on.
    pub(super) fn step(&mut self, window: &[u8], seed: u32, end: u64) -> SearchStep {
        let start = self.offset;
        while end.saturating_sub(self.offset) >= FRAME_HEADER_BYTES as u64 {
            let rest = window.get((self.offset - start) as usize..).unwrap_or_default();
            if rest.len() < FRAME_HEADER_BYTES {
                return SearchStep::Lacks(FRAME_HEADER_BYTES);
            }
            let Some(candidate) = self.candidate(rest) else {
                self.pass(&rest[..1]);
                continue;
            };
            match parse(rest, seed, self.offset, end) {
                ParsedFrame::Lacks(bytes) => return SearchStep::Lacks(bytes),
                ParsedFrame::Frame(header, _) if header.durable > self.damage.at => {
                    return SearchStep::Verdict(SegmentEnd::Damaged(self.damage));
                }
                ParsedFrame::Frame(header, _) => {
                    self.intact_beyond += 1;
                    self.pass(&rest[..header.frame_bytes()]);
                }
                ParsedFrame::EndsEarly => self.pass(&rest[..1]),
                ParsedFrame::Invalid => match self.budget.checked_sub(candidate.frame_bytes() as u64) {
                    Some(left) => {
                        self.budget = left;
                        self.pass(&rest[..1]);
                    }
                    None => return SearchStep::Verdict(self.unclear()),
                },
            }
        }
        // No frame fits any more.
        let left = end.saturating_sub(self.offset) as usize;
        match window.get((self.offset - start) as usize..).and_then(|rest| rest.get(..left)) {
            Some(rest) => {
                self.pass(rest);
                SearchStep::Verdict(self.end())
            }
            None => SearchStep::Lacks(left),
        }
    }

    /// Goes on behind these bytes.
    fn pass(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.iter().rposition(|byte| *byte != 0) {
            self.content_end = self.offset + last as u64 + 1;
        }
        self.offset += bytes.len() as u64;
    }

    /// A header that a frame behind the damage could have. Nearly all other bytes stop here.
    fn candidate(&self, rest: &[u8]) -> Option<FrameHeader> {
        if self.offset == self.damage.at {
            return None;
        }
        let (header, _) = FrameHeader::decode(rest, self.offset)?;
        let records_between = (self.offset - self.damage.at) / FRAME_HEADER_BYTES as u64;
        let lowest = self.damage.position.0;
        let highest = lowest.saturating_add(records_between);
        (lowest..=highest).contains(&header.position.0).then_some(header)
    }

    fn unclear(&self) -> SegmentEnd {
        SegmentEnd::Damaged(Damage { kind: DamageKind::Unclear, ..self.damage })
    }

    fn end(&self) -> SegmentEnd {
        let (Damage { at, position, .. }, end) = (self.damage, self.content_end);
        if end == at {
            return SegmentEnd::Clean;
        }
        SegmentEnd::TornTail(TornTail { at, end, position, intact_beyond: self.intact_beyond })
    }
}
