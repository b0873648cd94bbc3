//! The journal's format: bytes in, records out. No files and no clocks; the crate `speedup-journal` gives it a disk.
//!
//! A journal is a row of **segments**. A segment is a [`SegmentHeader`] and then **frames**; a frame is a record or a
//! *mark*. Records are numbered by [`Position`] without a gap, over all segments. All integers are little-endian.
//!
//! ```text
//! segment header, 40 bytes               frame header, 26 bytes, then the payload
//!  0  magic            8 "SPEEDUPJ"       0  checksum   u32
//!  8  format version   u32                4  length     u32  of the payload
//! 12  journal id       16                 8  kind       u8   1 record, 2 mark
//! 28  first position   u64                9  version    u8   of the payload, the caller's
//! 36  checksum         u32               10  position   u64
//!                                        18  durable    u64  byte of this segment
//! ```
//!
//! A frame's checksum covers its segment's header (hence the journal), its byte offset, all that follows it in the frame
//! header, and the payload: a frame copied to another place, another segment or another journal is not a frame there.
//!
//! # What a power cut leaves, and how it is told from damage
//!
//! Records are written in groups, one sync a group, and acknowledged when the sync has returned. Between two syncs the
//! disk may write the pages of a group in any order, so after a power cut the last group can be missing, cut short,
//! zeroed, or have a hole with intact records behind it. None of it was acknowledged: it must be cut off, so that the
//! service starts by itself. The same hole in a record that *was* acknowledged is a damaged disk: it must be reported
//! and never written over. The bytes of the hole cannot tell the two apart, but what follows them can:
//!
//! > Every frame says through which byte its segment was known to be synced when the frame was written (`durable`).
//! > Damage at byte `b` is a **damaged middle** if a valid frame behind it has `durable > b`, because `b` had then been
//! > synced; if there is none, it is a **torn tail**.
//!
//! At once after each sync the writer adds a mark, a frame without payload whose `durable` is its own offset. It is not
//! synced itself (the next group does that, or a seal), costs one small write, and has two uses: the group just
//! acknowledged is guarded as soon as the mark reaches the disk, and a reader beside the running service sees the durable
//! end. What remains is inherent to one sync a group: bytes of the very last group that rot on the disk before its
//! mark has reached it look like a torn tail; they are cut, and the cut is reported. So a cut alone never shows that nothing
//! of it was acknowledged: it shows that nothing was if the disk kept all that it said it had synced.
//!
//! Behind its last frame the last segment may have zeros: room that the writer made for records to come. A group of which a
//! power cut left nothing but zeros looks the same, and leaves nothing to be cut.
//!
//! Only the last segment may have a torn tail: a segment is complete and synced before the next one gets its name. All
//! records before the next segment's first position must be there; what stands behind them is not read.
//!
//! In reading order: [`Position`] and [`JournalRecord`]; [`SegmentHeader`]; frames; [`Encoder`]; [`Scanner`] and its search; [`SegmentEnd`].

mod encoder;
mod frame;
mod header;
mod record;
mod scanner;
mod search;

pub use encoder::{Encoder, RecordTooLarge};
pub use frame::{FRAME_HEADER_BYTES, MAX_RECORD_BYTES};
pub use header::{FORMAT_VERSION, HEADER_BYTES, HeaderError, JournalId, SegmentHeader};
pub use record::{JournalRecord, PayloadVersion, Position};
pub use scanner::{Extent, MARK_BYTES, ScanStep, Scanner, Tail, marked_end};
pub use search::{Damage, DamageKind, SegmentEnd, TornTail};

#[cfg(test)]
mod tests;
