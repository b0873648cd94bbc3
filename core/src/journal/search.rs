//! The search behind damage: was it synced?

use super::ending::{Damage, DamageKind, SegmentEnd, TornTail};
use super::frame::{FRAME_HEADER_BYTES, FrameHeader, Parsed, parse};

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
}

/// Where a search stands.
pub(super) enum Found {
    /// It needs this many bytes from its offset on.
    Lacks(usize),
    /// It has ended.
    Verdict(SegmentEnd),
}

impl Search {
    pub(super) fn new(damage: Damage) -> Search {
        Search { damage, offset: damage.at + 1, budget: BUDGET_BYTES, intact_beyond: 0 }
    }

    /// Byte of the segment with which the next window begins.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Searches `window`, and says what it needs to go on.
    pub(super) fn step(&mut self, window: &[u8], seed: u32, end: u64) -> Found {
        let start = self.offset;
        while end.saturating_sub(self.offset) >= FRAME_HEADER_BYTES as u64 {
            let rest = window.get((self.offset - start) as usize..).unwrap_or_default();
            if rest.len() < FRAME_HEADER_BYTES {
                return Found::Lacks(FRAME_HEADER_BYTES);
            }
            let Some(candidate) = self.candidate(rest) else {
                self.offset += 1;
                continue;
            };
            match parse(rest, seed, self.offset, end) {
                Parsed::Lacks(bytes) => return Found::Lacks(bytes),
                Parsed::Frame(header, _) if header.durable > self.damage.at => {
                    return Found::Verdict(SegmentEnd::Damaged(self.damage));
                }
                Parsed::Frame(header, _) => {
                    self.intact_beyond += 1;
                    self.offset += header.frame_bytes() as u64;
                }
                Parsed::EndsEarly => self.offset += 1,
                Parsed::Invalid => match self.budget.checked_sub(candidate.frame_bytes() as u64) {
                    Some(left) => {
                        self.budget = left;
                        self.offset += 1;
                    }
                    None => return Found::Verdict(self.unclear()),
                },
            }
        }
        Found::Verdict(self.torn())
    }

    /// A header that a frame behind the damage could have. Nearly all other bytes stop here.
    fn candidate(&self, rest: &[u8]) -> Option<FrameHeader> {
        let (header, _) = FrameHeader::decode(rest, self.offset)?;
        let records_between = (self.offset - self.damage.at) / FRAME_HEADER_BYTES as u64;
        let lowest = self.damage.position.0;
        let highest = lowest.saturating_add(records_between);
        (lowest..=highest).contains(&header.position.0).then_some(header)
    }

    fn unclear(&self) -> SegmentEnd {
        SegmentEnd::Damaged(Damage { kind: DamageKind::Unclear, ..self.damage })
    }

    fn torn(&self) -> SegmentEnd {
        let Damage { at, position, .. } = self.damage;
        SegmentEnd::TornTail(TornTail { at, position, intact_beyond: self.intact_beyond })
    }
}
