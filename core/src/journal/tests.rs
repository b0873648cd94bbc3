//! Round trips, and every way we could think of to hurt a segment.

use super::*;
use proptest::prelude::*;

const HEADER: SegmentHeader = SegmentHeader { journal: JournalId([7; 16]), first: Position(40) };
const V1: PayloadVersion = PayloadVersion(1);

type Owned = (Position, PayloadVersion, Vec<u8>);

/// A segment as a disk holds it: each group synced and marked, the last one as `last_mark` says.
struct Written {
    bytes: Vec<u8>,
    records: Vec<Owned>,
    /// Where each frame begins, records and marks.
    frames: Vec<u64>,
    /// Where each group of records begins.
    groups: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq)]
enum LastMark {
    Written,
    Lost,
}

fn write(groups: &[Vec<Vec<u8>>], last_mark: LastMark) -> Written {
    let mut encoder = Encoder::new(&HEADER);
    let mut written = Written {
        bytes: HEADER.encode().to_vec(),
        records: Vec::new(),
        frames: Vec::new(),
        groups: Vec::new(),
    };
    for (number, group) in groups.iter().enumerate() {
        written.groups.push(encoder.offset());
        for payload in group {
            written.frames.push(encoder.offset());
            let position = encoder.record(V1, payload, &mut written.bytes).unwrap();
            written.records.push((position, V1, payload.clone()));
        }
        if number + 1 < groups.len() || last_mark == LastMark::Written {
            written.frames.push(encoder.offset());
            encoder.mark(&mut written.bytes);
        }
    }
    written
}

/// Reads with windows no larger than the scanner asks for.
fn scan(bytes: &[u8], tail: Tail) -> Result<(Vec<Owned>, SegmentEnd, Extent), HeaderError> {
    let header = SegmentHeader::decode(bytes)?;
    let mut scanner = Scanner::new(&header, bytes.len() as u64, tail);
    let mut records = Vec::new();
    let mut window = 0;
    loop {
        let start = scanner.offset() as usize;
        match scanner.step(&bytes[start..(start + window).min(bytes.len())]) {
            ScanStep::Record(record) => {
                records.push((record.position, record.version, record.payload.to_vec()));
                window = 0;
            }
            ScanStep::Lacks(bytes_needed) => {
                let moved = scanner.offset() as usize > start;
                assert!(moved || bytes_needed > window, "asks for more, or has used what it got");
                assert!(scanner.offset() as usize + bytes_needed <= bytes.len(), "asks for what is there");
                window = bytes_needed;
            }
            ScanStep::End(verdict) => return Ok((records, verdict, scanner.extent())),
        }
    }
}

fn small() -> Vec<Vec<Vec<u8>>> {
    let payload = |byte: u8, length: usize| vec![byte; length];
    vec![
        vec![payload(1, 5), payload(2, 0), payload(3, 40)],
        vec![payload(4, 1)],
        vec![payload(5, 30), payload(6, 9)],
    ]
}

#[test]
fn a_segment_reads_back_as_it_was_written() {
    let written = write(&small(), LastMark::Written);
    let (records, verdict, extent) = scan(&written.bytes, Tail::MayBeTorn).unwrap();
    assert_eq!((&records, verdict), (&written.records, SegmentEnd::Clean));
    assert_eq!((extent.next, extent.durable_next, extent.marked), (Position(46), Position(46), true));
    for end in 40..=46 {
        let (records, verdict, _) = scan(&written.bytes, Tail::Complete { next: Position(end) }).unwrap();
        assert_eq!((&records[..], verdict), (&written.records[..end as usize - 40], SegmentEnd::Clean));
    }
}

#[test]
fn a_complete_segment_that_lacks_a_record_is_damaged() {
    let written = write(&small(), LastMark::Written);
    let (_, verdict, extent) = scan(&written.bytes, Tail::Complete { next: Position(47) }).unwrap();
    let damage = Damage { at: extent.end, position: Position(46), kind: DamageKind::EndsEarly };
    assert_eq!(verdict, SegmentEnd::Damaged(damage));
}

#[test]
fn without_its_mark_the_last_group_is_there_but_not_proven() {
    let written = write(&small(), LastMark::Lost);
    let (records, verdict, extent) = scan(&written.bytes, Tail::MayBeTorn).unwrap();
    assert_eq!((records, verdict), (written.records, SegmentEnd::Clean));
    assert_eq!(extent.durable_next, Position(44), "the mark of the group before the last");
    assert!(!extent.marked);
}

#[test]
fn an_encoder_goes_on_where_a_scan_ended() {
    let mut written = write(&small(), LastMark::Lost);
    let (_, _, extent) = scan(&written.bytes, Tail::MayBeTorn).unwrap();
    let mut encoder = Encoder::resume(&HEADER, &extent);
    encoder.mark(&mut written.bytes);
    assert_eq!(encoder.record(V1, b"more", &mut written.bytes), Ok(Position(46)));
    let (records, verdict, _) = scan(&written.bytes, Tail::MayBeTorn).unwrap();
    assert_eq!((records.len(), verdict), (7, SegmentEnd::Clean));
}

#[test]
fn truncation_at_any_byte_keeps_every_whole_record() {
    let written = write(&small(), LastMark::Written);
    for cut in HEADER_BYTES as usize..written.bytes.len() {
        let (records, verdict, extent) = scan(&written.bytes[..cut], Tail::MayBeTorn).unwrap();
        let expected =
            written.records.iter().zip(record_ends(&written)).filter(|(_, end)| *end <= cut as u64);
        assert!(records.iter().eq(expected.map(|(record, _)| record)), "cut at {cut}");
        match verdict {
            SegmentEnd::Clean => assert_eq!(extent.end, cut as u64),
            SegmentEnd::TornTail(torn) => assert_eq!(torn.at, extent.end),
            SegmentEnd::Damaged(damage) => panic!("cut at {cut}: {damage}"),
        }
    }
    for cut in 0..HEADER_BYTES as usize {
        assert_eq!(scan(&written.bytes[..cut], Tail::MayBeTorn), Err(HeaderError::Short));
    }
}

fn record_ends(written: &Written) -> Vec<u64> {
    let starts = written.frames.iter().copied();
    let ends = written.frames.iter().skip(1).copied().chain([written.bytes.len() as u64]);
    let header = FRAME_HEADER_BYTES as u64;
    let mut lengths = written.records.iter().map(|record| record.2.len() as u64);
    let mut expected = lengths.next();
    let mut result = Vec::new();
    for (start, end) in starts.zip(ends) {
        // A mark has no payload and there is an empty record; the order of the records tells them apart.
        let is_mark = written.bytes[start as usize + 8] == 2;
        if !is_mark {
            assert_eq!(Some(end - start - header), expected);
            expected = lengths.next();
            result.push(end);
        }
    }
    result
}

#[test]
fn any_flipped_byte_before_the_last_mark_is_damage_at_its_frame() {
    let written = write(&small(), LastMark::Written);
    let last_mark = *written.frames.last().unwrap();
    for at in HEADER_BYTES..last_mark {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = written.bytes.clone();
            bytes[at as usize] ^= flip;
            let (records, verdict, _) = scan(&bytes, Tail::MayBeTorn).unwrap();
            let frame = *written.frames.iter().rfind(|frame| **frame <= at).unwrap();
            let SegmentEnd::Damaged(damage) = verdict else { panic!("flip {flip} at {at}: {verdict:?}") };
            assert_eq!(damage.at, frame);
            assert_eq!(damage.position, Position(HEADER.first.0 + records.len() as u64));
            assert_eq!(records, written.records[..records.len()]);
        }
    }
}

#[test]
fn a_flipped_byte_in_the_last_mark_loses_no_record() {
    let written = write(&small(), LastMark::Written);
    let last_mark = *written.frames.last().unwrap();
    for at in last_mark as usize..written.bytes.len() {
        let mut bytes = written.bytes.clone();
        bytes[at] ^= 0x10;
        let (records, verdict, _) = scan(&bytes, Tail::MayBeTorn).unwrap();
        assert_eq!(records, written.records);
        let end = content_end(&bytes);
        let torn = TornTail { at: last_mark, end, position: Position(46), intact_beyond: 0 };
        assert_eq!(verdict, SegmentEnd::TornTail(torn));
        let (records, verdict, _) = scan(&bytes, Tail::Complete { next: Position(46) }).unwrap();
        assert_eq!((records, verdict), (written.records.clone(), SegmentEnd::Clean));
    }
}

/// Byte after the last that is not zero.
fn content_end(bytes: &[u8]) -> u64 {
    bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1)
}

#[test]
fn zeros_behind_the_last_frame_are_room_and_anything_else_is_a_torn_tail() {
    for last_mark in [LastMark::Written, LastMark::Lost] {
        let written = write(&small(), last_mark);
        for room in [1, FRAME_HEADER_BYTES - 1, FRAME_HEADER_BYTES, 5_000] {
            let mut bytes = written.bytes.clone();
            bytes.resize(written.bytes.len() + room, 0);
            let (records, verdict, extent) = scan(&bytes, Tail::MayBeTorn).unwrap();
            assert_eq!((records, verdict), (written.records.clone(), SegmentEnd::Clean));
            assert_eq!(extent.end, written.bytes.len() as u64);
            for at in [0, room / 2, room - 1] {
                let mut bytes = bytes.clone();
                bytes[written.bytes.len() + at] = 1;
                let (records, verdict, extent) = scan(&bytes, Tail::MayBeTorn).unwrap();
                assert_eq!(records, written.records);
                let (position, end) = (extent.next, content_end(&bytes));
                let torn = TornTail { at: extent.end, end, position, intact_beyond: 0 };
                assert_eq!(verdict, SegmentEnd::TornTail(torn));
            }
        }
    }
}

#[test]
fn a_hole_in_a_group_that_was_never_synced_is_cut_although_records_follow() {
    let written = write(&small(), LastMark::Lost);
    let hole = *written.groups.last().unwrap();
    let mut bytes = written.bytes.clone();
    bytes[hole as usize..hole as usize + 30].fill(0);
    let (records, verdict, _) = scan(&bytes, Tail::MayBeTorn).unwrap();
    assert_eq!(records, written.records[..4]);
    let torn = TornTail { at: hole, end: content_end(&bytes), position: Position(44), intact_beyond: 1 };
    assert_eq!(verdict, SegmentEnd::TornTail(torn));
}

#[test]
fn any_flipped_byte_of_the_header_is_noticed() {
    let written = write(&small(), LastMark::Written);
    for at in 0..HEADER_BYTES as usize {
        let mut bytes = written.bytes.clone();
        bytes[at] ^= 4;
        assert_eq!(scan(&bytes, Tail::MayBeTorn), Err(HeaderError::Checksum));
    }
}

#[test]
fn a_newer_format_is_refused_and_older_than_the_first_is_none() {
    let with_version = |version: u32| {
        let mut bytes = HEADER.encode();
        bytes[8..12].copy_from_slice(&version.to_le_bytes());
        let checksum = crc32fast::hash(&bytes[..36]).to_le_bytes();
        bytes[36..].copy_from_slice(&checksum);
        SegmentHeader::decode(&bytes)
    };
    assert_eq!(with_version(1), Ok(HEADER));
    assert_eq!(with_version(2), Err(HeaderError::Newer { version: 2 }));
    assert_eq!(with_version(0), Err(HeaderError::NotASegment));
}

#[test]
fn a_frame_is_valid_at_its_own_place_only() {
    let written = write(&small(), LastMark::Written);
    let (first, second) = (written.frames[0] as usize, written.frames[1] as usize);
    let frame = written.bytes[first..second].to_vec();

    // The same frame again behind the last one, in another segment, and in another journal.
    let mut repeated = written.bytes.clone();
    repeated.extend_from_slice(&frame);
    let (records, verdict, _) = scan(&repeated, Tail::MayBeTorn).unwrap();
    assert_eq!(records, written.records);
    assert!(matches!(verdict, SegmentEnd::TornTail(torn) if torn.intact_beyond == 0));
    let others = [
        SegmentHeader { first: Position(41), ..HEADER },
        SegmentHeader { journal: JournalId([8; 16]), ..HEADER },
    ];
    for other in others {
        let mut bytes = other.encode().to_vec();
        bytes.extend_from_slice(&frame);
        let (records, verdict, _) = scan(&bytes, Tail::MayBeTorn).unwrap();
        assert!(records.is_empty() && matches!(verdict, SegmentEnd::TornTail(_)));
    }
}

#[test]
fn a_frame_left_over_from_a_group_that_was_cut_is_no_part_of_a_later_one() {
    let torn_group = write(&[vec![vec![1; 4], vec![1; 60], vec![1; 4]]], LastMark::Lost);
    let (cut, left_over) = (torn_group.frames[1] as usize, torn_group.frames[2] as usize);
    // The group is cut before its second record; a mark and another record take exactly that one's place.
    let mut bytes = torn_group.bytes[..cut].to_vec();
    let (_, _, extent) = scan(&bytes, Tail::MayBeTorn).unwrap();
    let mut encoder = Encoder::resume(&HEADER, &extent);
    encoder.mark(&mut bytes);
    encoder.record(V1, &[2; 60 - FRAME_HEADER_BYTES], &mut bytes).unwrap();
    assert_eq!(bytes.len(), left_over);
    bytes.extend_from_slice(&torn_group.bytes[left_over..]);
    let (records, verdict, _) = scan(&bytes, Tail::MayBeTorn).unwrap();
    assert_eq!(records.len(), 2);
    let (at, end) = (left_over as u64, content_end(&bytes));
    let torn = TornTail { at, end, position: Position(42), intact_beyond: 0 };
    assert_eq!(verdict, SegmentEnd::TornTail(torn));
}

#[test]
fn a_payload_that_holds_a_segment_does_not_confuse_the_search() {
    let inner = write(&small(), LastMark::Written).bytes;
    let mut written = write(&[vec![vec![0; 3], inner]], LastMark::Lost);
    written.bytes[HEADER_BYTES as usize] ^= 1;
    let (records, verdict, _) = scan(&written.bytes, Tail::MayBeTorn).unwrap();
    assert!(records.is_empty());
    let (at, end) = (HEADER_BYTES, content_end(&written.bytes));
    let torn = TornTail { at, end, position: HEADER.first, intact_beyond: 1 };
    assert_eq!(verdict, SegmentEnd::TornTail(torn));
}

#[test]
fn a_search_among_hostile_bytes_ends_and_cuts_nothing() {
    // Every 26 bytes claim the header of a 16 MiB record.
    let mut hostile = Vec::new();
    hostile.extend_from_slice(&[0; 4]);
    hostile.extend_from_slice(&(MAX_RECORD_BYTES as u32).to_le_bytes());
    hostile.extend_from_slice(&[1, 1]);
    hostile.extend_from_slice(&HEADER.first.0.to_le_bytes());
    hostile.extend_from_slice(&HEADER_BYTES.to_le_bytes());
    let mut bytes = HEADER.encode().to_vec();
    while bytes.len() < MAX_RECORD_BYTES + 10_000 {
        bytes.extend_from_slice(&hostile);
    }
    let (_, verdict, _) = scan(&bytes, Tail::MayBeTorn).unwrap();
    assert!(matches!(verdict, SegmentEnd::Damaged(Damage { kind: DamageKind::Unclear, .. })), "{verdict:?}");
}

#[test]
fn a_record_over_the_limit_is_refused_and_one_at_it_is_taken() {
    let mut encoder = Encoder::new(&HEADER);
    let mut bytes = HEADER.encode().to_vec();
    let payload = vec![1; MAX_RECORD_BYTES + 1];
    let refused = encoder.record(V1, &payload, &mut bytes);
    assert_eq!(refused, Err(RecordTooLarge { bytes: MAX_RECORD_BYTES + 1 }));
    assert_eq!(encoder.record(V1, &payload[1..], &mut bytes), Ok(HEADER.first));
    let (records, verdict, _) = scan(&bytes, Tail::MayBeTorn).unwrap();
    assert_eq!((records[0].2.len(), verdict), (MAX_RECORD_BYTES, SegmentEnd::Clean));
}

fn groups() -> impl Strategy<Value = Vec<Vec<Vec<u8>>>> {
    let payload = prop::collection::vec(any::<u8>(), 0..80);
    prop::collection::vec(prop::collection::vec(payload, 1..5), 0..6)
}

proptest! {
    #[test]
    fn any_groups_round_trip(groups in groups()) {
        let written = write(&groups, LastMark::Written);
        let next = Position(HEADER.first.0 + written.records.len() as u64);
        let (records, verdict, _) = scan(&written.bytes, Tail::Complete { next }).unwrap();
        prop_assert_eq!(records, written.records);
        prop_assert_eq!(verdict, SegmentEnd::Clean);
    }

    #[test]
    fn any_bytes_end_in_a_verdict(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = scan(&bytes, Tail::MayBeTorn);
        let mut segment = HEADER.encode().to_vec();
        segment.extend_from_slice(&bytes);
        let (records, ..) = scan(&segment, Tail::MayBeTorn).unwrap();
        prop_assert!(records.is_empty());
    }

    /// Any piece overwritten by anything: what is read is a prefix, and what was proven synced is never cut.
    #[test]
    fn any_damage_is_cut_or_reported(
        groups in groups(), at in any::<prop::sample::Index>(), junk in prop::collection::vec(any::<u8>(), 1..90)
    ) {
        let written = write(&groups, LastMark::Lost);
        let proven = written.groups.last().copied().unwrap_or(HEADER_BYTES);
        let body = written.bytes.len() - HEADER_BYTES as usize;
        prop_assume!(body > 0);
        let start = HEADER_BYTES as usize + at.index(body);
        let mut bytes = written.bytes.clone();
        for (byte, junk) in bytes[start..].iter_mut().zip(&junk) {
            *byte = *junk;
        }
        let (records, verdict, _) = scan(&bytes, Tail::MayBeTorn).unwrap();
        prop_assert_eq!(&records[..], &written.records[..records.len()]);
        // The proof of all but the last group stands in the last group; junk that reaches into it may destroy it.
        let proof_survives = start + junk.len() <= proven as usize;
        // Junk may begin with what was there.
        let changed = bytes.iter().zip(&written.bytes).position(|(after, before)| after != before);
        if let Some(changed) = changed.filter(|_| proof_survives) {
            let on_last_mark = groups.len() > 1 && changed >= proven as usize - FRAME_HEADER_BYTES;
            let reported = matches!(verdict, SegmentEnd::Damaged(_));
            prop_assert!(reported || on_last_mark, "{:?}", verdict);
        }
    }
}

#[test]
fn an_intact_header_of_something_else_is_no_segment() {
    let mut bytes = HEADER.encode();
    bytes[0] ^= 1;
    let checked = bytes.len() - 4;
    let checksum = crc32fast::hash(&bytes[..checked]).to_le_bytes();
    bytes[checked..].copy_from_slice(&checksum);
    assert_eq!(SegmentHeader::decode(&bytes), Err(HeaderError::NotASegment));
}
