//! The journal on a real disk: what it keeps, what it removes, and what it says of files that others have touched.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use proptest::prelude::*;
use speedup_core::value::hint::Hinted;
use speedup_journal::*;
use std::{error::Error, fs, os::unix::fs::PermissionsExt as _, path::Path, path::PathBuf};
use tempfile::TempDir;

const ID: JournalId = JournalId([9; 16]);
const V3: PayloadVersion = PayloadVersion(3);
const FIRST: &str = "0000000000000000.seg";
const SEGMENT_HEADER: u64 = 40;
const FRAME_HEADER: u64 = 26;

fn options() -> Options {
    Options::new(ID)
}

fn small_segments() -> Options {
    Options { segment_bytes: 300, ..options() }
}

/// Those of an outbox, which removes what it does not need any more.
fn outbox() -> Options {
    Options { beginning: Beginning::WhereItWasReset, ..small_segments() }
}

fn open(directory: &TempDir, options: &Options) -> (Journal, Recovery) {
    Journal::open(directory.path(), options).unwrap()
}

fn payload(position: u64) -> Vec<u8> {
    format!("record {position}").into_bytes()
}

/// Appends records up to `end` in groups of three.
fn append_up_to(journal: &mut Journal, end: u64) {
    for position in journal.next().0..end {
        assert_eq!(journal.append(V3, &payload(position)).unwrap(), Position(position));
        if position % 3 == 2 {
            journal.sync().unwrap();
        }
    }
    assert_eq!(journal.sync().unwrap(), Position(end));
}

fn assert_holds(replay: Replay, from: u64, end: u64) {
    let records: Vec<OwnedRecord> = replay.map(Result::unwrap).collect();
    let expected: Vec<OwnedRecord> = (from..end)
        .map(|number| OwnedRecord { position: Position(number), version: V3, payload: payload(number) })
        .collect();
    assert_eq!(records, expected);
}

fn segment_files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "seg")).collect();
    files.sort();
    files
}

/// A directory with the records 0 to 20 in several segments, closed.
fn closed_journal() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, _) = open(&directory, &small_segments());
    append_up_to(&mut journal, 20);
    journal.close().unwrap();
    directory
}

#[test]
fn records_are_there_again_and_positions_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, recovery) = open(&directory, &options());
    let first = Position::START;
    assert_eq!(recovery, Recovery { id: ID, segments: 1, first, next: first, cut: None });
    append_up_to(&mut journal, 10);
    assert_holds(journal.replay(Position(0)).unwrap(), 0, 10);
    drop(journal);

    let other_id = Options::new(JournalId([1; 16]));
    let (mut journal, recovery) = open(&directory, &other_id);
    assert_eq!(recovery, Recovery { id: ID, segments: 1, first, next: Position(10), cut: None });
    append_up_to(&mut journal, 12);
    assert_holds(journal.replay(Position(7)).unwrap(), 7, 12);
}

#[test]
fn zeros_ahead_are_room_while_it_is_written_and_leave_no_trace() {
    const AHEAD: usize = 4_000;
    let with = |bytes_ahead| Options { bytes_ahead, ..small_segments() };
    let written = [0, AHEAD].map(|bytes_ahead| {
        let directory = tempfile::tempdir().unwrap();
        let (mut journal, _) = open(&directory, &with(bytes_ahead));
        append_up_to(&mut journal, 20);
        // Killed: the last segment keeps its zeros, which are no group.
        drop(journal);
        let files = segment_files(directory.path());
        let bytes: Vec<Vec<u8>> = files.iter().map(|path| fs::read(path).unwrap()).collect();
        let zeros = bytes.last().unwrap().iter().rev().take_while(|byte| **byte == 0).count();
        assert_eq!(zeros > AHEAD / 2, bytes_ahead > 0, "{zeros} zeros");
        let reader = Reader::open(directory.path()).unwrap();
        assert_eq!(reader.durable_end(), Position(20));
        let (mut journal, recovery) = open(&directory, &with(bytes_ahead));
        assert_eq!((recovery.next, recovery.cut), (Position(20), None));
        append_up_to(&mut journal, 40);
        assert_holds(journal.replay(Position(0)).unwrap(), 0, 40);
        journal.close().unwrap();
        let files = segment_files(directory.path());
        files
            .iter()
            .map(|path| (path.file_name().unwrap().to_owned(), fs::read(path).unwrap()))
            .collect::<Vec<_>>()
    });
    assert!(written[0].len() > 4);
    assert_eq!(written[0], written[1]);
}

#[test]
fn what_was_not_synced_is_not_replayed_and_its_positions_are_given_again() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, _) = open(&directory, &options());
    append_up_to(&mut journal, 4);
    journal.append(V3, b"never synced").unwrap();
    assert_eq!((journal.durable_end(), journal.next()), (Position(4), Position(5)));
    assert_holds(journal.replay(Position(0)).unwrap(), 0, 4);
    drop(journal);
    let (journal, _) = open(&directory, &options());
    assert_eq!(journal.next(), Position(4));
}

#[test]
fn replay_begins_at_any_position_of_many_segments() {
    let directory = closed_journal();
    assert!(segment_files(directory.path()).len() >= 3);
    let (journal, recovery) = open(&directory, &small_segments());
    assert_eq!(recovery.cut, None);
    for from in 0..=20 {
        assert_holds(journal.replay(Position(from)).unwrap(), from, 20);
    }
    let refused = journal.replay(Position(21)).unwrap_err();
    assert!(matches!(refused, ReplayError::OutOfRange { end: Position(20), .. }), "{refused}");
}

#[test]
fn records_longer_than_the_read_buffer_are_replayed() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, _) = open(&directory, &options());
    let payloads = [vec![1; 300_000], vec![], vec![2; 5_000_000], vec![3; 10]];
    for payload in &payloads {
        journal.append(V3, payload).unwrap();
    }
    journal.sync().unwrap();
    let replayed = journal.replay(Position(0)).unwrap().map(|record| record.unwrap().payload);
    assert!(replayed.eq(payloads));
}

#[test]
fn limits_are_refused_and_the_journal_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, _) = open(&directory, &options());
    let largest = vec![0; MAX_RECORD_BYTES];
    let refused = journal.append(V3, &vec![0; MAX_RECORD_BYTES + 1]);
    assert!(matches!(refused, Err(WriteError::TooLarge(_))));
    for _ in 0..3 {
        journal.append(V3, &largest).unwrap();
    }
    assert!(matches!(journal.append(V3, &largest), Err(WriteError::GroupFull)));
    assert_eq!(journal.sync().unwrap(), Position(3));
    journal.append(V3, &largest).unwrap();
}

#[test]
fn a_reader_beside_the_service_sees_what_is_durable() {
    let directory = tempfile::tempdir().unwrap();
    let absent = Reader::open(directory.path()).unwrap_err();
    assert!(matches!(absent, ReplayError::Absent { .. }));
    let (mut journal, _) = open(&directory, &small_segments());
    for end in [0, 1, 5, 6, 14] {
        append_up_to(&mut journal, end);
        journal.append(V3, &payload(end)).unwrap();
        let reader = Reader::open(directory.path()).unwrap();
        assert_eq!((reader.id(), reader.first(), reader.durable_end()), (ID, Position(0), Position(end)));
        assert_holds(reader.replay(Position(0)).unwrap(), 0, end);
    }
}

#[test]
fn old_segments_are_removed_as_a_whole() {
    let directory = closed_journal();
    let (mut journal, _) = open(&directory, &outbox());
    let files = segment_files(directory.path()).len();
    assert_eq!(journal.remove_before(Position(1)).unwrap(), 0, "the first segment has later records too");
    let removed = journal.remove_before(Position(15)).unwrap();
    assert!(removed > 0);
    assert_eq!(segment_files(directory.path()).len(), files - removed);
    let first = journal.first();
    assert!(first > Position(0) && first <= Position(15));
    assert_holds(journal.replay(first).unwrap(), first.0, 20);
    let refused = journal.replay(Position(0)).unwrap_err();
    assert!(refused.hint().is_some(), "{refused}");
    drop(journal);
    let (_, recovery) = open(&directory, &outbox());
    assert_eq!((recovery.first, recovery.next), (first, Position(20)));
}

#[test]
fn an_outbox_starts_anew_and_positions_go_on() {
    let directory = closed_journal();
    let (mut journal, _) = open(&directory, &outbox());
    for _ in 0..2 {
        journal.reset().unwrap();
        assert_eq!(segment_files(directory.path()).len(), 1);
        assert_eq!((journal.first(), journal.next()), (Position(20), Position(20)));
    }
    drop(journal);
    let (mut journal, recovery) = open(&directory, &outbox());
    assert_eq!((recovery.id, recovery.first, recovery.next), (ID, Position(20), Position(20)));
    append_up_to(&mut journal, 22);
    assert_holds(journal.replay(Position(20)).unwrap(), 20, 22);
}

#[test]
fn a_second_open_is_refused_and_names_the_holder() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("made/on/the/way");
    let (journal, _) = Journal::open(&directory, &options()).unwrap();
    let error = Journal::open(&directory, &options()).unwrap_err();
    let text = error.to_string();
    for part in [directory.display().to_string(), std::process::id().to_string()] {
        assert!(text.contains(&part), "{part}: {text}");
    }
    assert!(error.hint().is_some());
    drop(journal);
    Journal::open(&directory, &options()).unwrap();
}

#[test]
fn truncation_at_any_byte_opens_with_every_whole_record() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, _) = open(&directory, &options());
    let mut lengths = Vec::new();
    for end in 1..=4 {
        append_up_to(&mut journal, end);
        lengths.push(fs::metadata(directory.path().join(FIRST)).unwrap().len() - FRAME_HEADER);
    }
    drop(journal);
    let whole = fs::read(directory.path().join(FIRST)).unwrap();
    for cut in SEGMENT_HEADER..whole.len() as u64 {
        fs::write(directory.path().join(FIRST), &whole[..cut as usize]).unwrap();
        let kept = lengths.iter().filter(|length| **length <= cut).count() as u64;
        let (mut journal, recovery) = open(&directory, &options());
        assert_eq!(recovery.next, Position(kept), "cut at {cut}");
        assert_holds(journal.replay(Position(0)).unwrap(), 0, kept);
        append_up_to(&mut journal, kept + 2);
        drop(journal);
        let (journal, recovery) = open(&directory, &options());
        assert_eq!(recovery.cut, None, "it was cut before");
        assert_holds(journal.replay(Position(0)).unwrap(), 0, kept + 2);
    }
}

#[test]
fn a_torn_tail_is_cut_and_reported() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, _) = open(&directory, &options());
    append_up_to(&mut journal, 3);
    journal.close().unwrap();
    let file = directory.path().join(FIRST);
    let mut bytes = fs::read(&file).unwrap();
    let length = bytes.len() as u64;
    bytes.extend_from_slice(&[1; 1000]);
    fs::write(&file, bytes).unwrap();
    let (_, recovery) = open(&directory, &options());
    let cut =
        Cut { file: file.clone(), at_byte: length, bytes: 1000, position: Position(3), intact_beyond: 0 };
    assert_eq!(recovery.cut, Some(cut));
    assert_eq!(fs::metadata(file).unwrap().len(), length);
}

/// Changes the named segment, and expects that opening refuses it and leaves all files as they are.
fn expect_damage(directory: &TempDir, file: &Path, change: impl FnOnce(&mut Vec<u8>)) -> Damaged {
    let mut bytes = fs::read(file).unwrap();
    change(&mut bytes);
    fs::write(file, &bytes).unwrap();
    let before: Vec<_> = segment_files(directory.path()).iter().map(|file| fs::read(file).unwrap()).collect();
    let error = Journal::open(directory.path(), &small_segments()).unwrap_err();
    assert!(error.hint().is_some() && error.source().is_some());
    let after: Vec<_> = segment_files(directory.path()).iter().map(|file| fs::read(file).unwrap()).collect();
    assert_eq!(before, after, "damage is never written over");
    match error {
        OpenError::Damaged(damaged) => damaged,
        other => panic!("{other:?}"),
    }
}

#[test]
fn damage_in_the_middle_of_the_last_segment_is_refused_with_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, _) = open(&directory, &options());
    append_up_to(&mut journal, 6);
    journal.close().unwrap();
    let file = directory.path().join(FIRST);
    let damaged = expect_damage(&directory, &file, |bytes| bytes[SEGMENT_HEADER as usize + 40] ^= 1);
    assert_eq!((damaged.file, damaged.at_byte, damaged.position), (file, 74, Position(1)));
}

#[test]
fn an_earlier_segment_must_hold_all_its_records() {
    for cut in [FRAME_HEADER + 1, FRAME_HEADER + 100] {
        let directory = closed_journal();
        let file = segment_files(directory.path())[1].clone();
        let damaged = expect_damage(&directory, &file, |bytes| bytes.truncate(bytes.len() - cut as usize));
        assert_eq!((damaged.file, damaged.why), (file, DamagedBy::Frame(DamageKind::EndsEarly)));
    }
}

#[test]
fn a_journal_that_lacks_a_segment_is_refused_with_what_is_missing_and_left_as_it_is() {
    for (options, beginning) in [(small_segments(), 0), (outbox(), 1)] {
        for check in [OpenCheck::EverySegment, OpenCheck::LastSegment] {
            let options = Options { check, ..options.clone() };
            let segments = segment_files(closed_journal().path()).len();
            for lost in beginning..segments - 1 {
                let directory = closed_journal();
                let files = segment_files(directory.path());
                let firsts = Reader::open(directory.path()).unwrap().segments().to_vec();
                fs::remove_file(&files[lost]).unwrap();
                let error = Journal::open(directory.path(), &options).unwrap_err();
                let OpenError::Missing(missing) = &error else { panic!("{error:?}") };
                assert_eq!((missing.from, missing.next), (firsts[lost], firsts[lost + 1]));
                let name = files[lost].file_name().unwrap().to_string_lossy().into_owned();
                assert!(error.to_string().contains(&name) && error.hint().is_some(), "{error}");
                assert_eq!(segment_files(directory.path()).len(), files.len() - 1);
                let refused = Reader::open(directory.path()).unwrap().require_whole().unwrap_err();
                assert!(matches!(refused, ReplayError::Segment(SegmentError::Missing(_))), "{refused}");
            }
        }
    }
    let directory = closed_journal();
    Reader::open(directory.path()).unwrap().require_whole().unwrap();
    // An outbox may begin anywhere.
    fs::remove_file(&segment_files(directory.path())[0]).unwrap();
    let (journal, recovery) = open(&directory, &outbox());
    assert!(recovery.first > Position::START);
    assert_holds(journal.replay(recovery.first).unwrap(), recovery.first.0, 20);
}

#[test]
fn a_segment_without_its_mark_is_read_to_tell_whether_the_next_one_is_missing() {
    let options = Options { check: OpenCheck::LastSegment, ..small_segments() };
    let directory = closed_journal();
    let files = segment_files(directory.path());
    let bytes = fs::read(&files[0]).unwrap();
    fs::write(&files[0], &bytes[..bytes.len() - FRAME_HEADER as usize]).unwrap();
    let (journal, _) = open(&directory, &options);
    assert_holds(journal.replay(Position(0)).unwrap(), 0, 20);
    drop(journal);
    fs::remove_file(&files[1]).unwrap();
    let error = Journal::open(directory.path(), &options).unwrap_err();
    assert!(matches!(&error, OpenError::Damaged(damaged) if damaged.file == files[0]), "{error:?}");
}

#[test]
fn without_its_lock_file_a_journal_lets_nobody_in() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, _) = open(&directory, &small_segments());
    for end in 1..=20 {
        append_up_to(&mut journal, end);
        fs::remove_file(directory.path().join("lock")).unwrap();
        let before = fs::read(segment_files(directory.path()).last().unwrap()).unwrap();
        for options in [small_segments(), outbox()] {
            let error = Journal::open(directory.path(), &options).unwrap_err();
            assert!(matches!(error, OpenError::Lock(LockError::Held { .. })), "{error:?}");
        }
        assert_eq!(fs::read(segment_files(directory.path()).last().unwrap()).unwrap(), before);
    }
    assert!(segment_files(directory.path()).len() > 2, "it has gone on to other segments");
    journal.close().unwrap();
    let (journal, _) = open(&directory, &small_segments());
    assert_holds(journal.replay(Position(0)).unwrap(), 0, 20);
}

#[test]
fn a_lock_file_that_is_a_link_is_refused_and_its_target_is_left_as_it_is() {
    let directory = closed_journal();
    let target = tempfile::NamedTempFile::new().unwrap();
    fs::write(target.path(), "somebody's thesis").unwrap();
    let lock = directory.path().join("lock");
    fs::remove_file(&lock).unwrap();
    std::os::unix::fs::symlink(target.path(), &lock).unwrap();
    let error = Journal::open(directory.path(), &options()).unwrap_err();
    assert!(matches!(&error, OpenError::Lock(LockError::Link(path)) if *path == lock), "{error:?}");
    assert!(error.hint().is_some());
    assert_eq!(fs::read_to_string(target.path()).unwrap(), "somebody's thesis");
}

#[test]
fn nothing_is_changed_before_a_journal_that_was_checked_is_opened() {
    let directory = closed_journal();
    let last = segment_files(directory.path()).pop().unwrap();
    let mut bytes = fs::read(&last).unwrap();
    bytes.extend_from_slice(&[1; 100]);
    fs::write(&last, &bytes).unwrap();
    let opening = Journal::begin(directory.path(), &small_segments()).unwrap();
    assert_eq!(opening.recovery().cut.as_ref().map(|cut| cut.bytes), Some(100));
    assert_eq!(fs::read(&last).unwrap(), bytes);
    let other = Journal::open(directory.path(), &small_segments()).unwrap_err();
    assert!(matches!(other, OpenError::Lock(_)), "{other:?}");
    drop(opening);
    assert_eq!(fs::read(&last).unwrap(), bytes, "whoever goes away without opening it leaves it as it was");
    let opening = Journal::begin(directory.path(), &small_segments()).unwrap();
    let journal = opening.open().unwrap();
    assert_holds(journal.replay(Position(0)).unwrap(), 0, 20);
    assert_eq!(fs::metadata(&last).unwrap().len(), bytes.len() as u64 - 100);
}

#[test]
fn a_journal_is_its_owners_alone() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("journal");
    drop(Journal::open(&directory, &options()).unwrap());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    assert_eq!(mode(&directory.join(FIRST)), 0o600);
    assert_eq!(mode(&directory.join("lock")), 0o600);
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
    let error = Journal::open(&directory, &options()).unwrap_err();
    assert!(matches!(error, OpenError::NotPrivate(_)) && error.hint().is_some(), "{error:?}");
}

#[test]
fn what_stands_behind_the_records_of_an_earlier_segment_does_no_harm() {
    let directory = closed_journal();
    let file = segment_files(directory.path())[1].clone();
    let mut bytes = fs::read(&file).unwrap();
    bytes.truncate(bytes.len() - 1);
    bytes.extend_from_slice(&[7; 1000]);
    fs::write(&file, &bytes).unwrap();
    let (journal, recovery) = open(&directory, &small_segments());
    assert_eq!(recovery.cut, None);
    assert_holds(journal.replay(Position(0)).unwrap(), 0, 20);
}

#[test]
fn damage_in_an_earlier_segment_ends_a_replay_that_meets_it_first() {
    let directory = closed_journal();
    let file = segment_files(directory.path())[1].clone();
    let mut bytes = fs::read(&file).unwrap();
    bytes[SEGMENT_HEADER as usize + 30] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let options = Options { check: OpenCheck::LastSegment, ..small_segments() };
    let (journal, _) = open(&directory, &options);
    let mut replay = journal.replay(Position(0)).unwrap();
    let read = replay.by_ref().take_while(Result::is_ok).count() as u64;
    assert!(replay.next().is_none(), "it has ended");
    let error = journal.replay(Position(0)).unwrap().find_map(Result::err).unwrap();
    let ReplayError::Segment(SegmentError::Damaged(damaged)) = error else { panic!("{error:?}") };
    assert_eq!((damaged.position, damaged.file), (Position(read), file));
}

#[test]
fn a_segment_of_another_journal_or_name_is_refused() {
    let directory = closed_journal();
    let other = tempfile::tempdir().unwrap();
    let (journal, _) = open(&other, &Options::new(JournalId([4; 16])));
    drop(journal);
    let foreign = fs::read(other.path().join(FIRST)).unwrap();
    let files = segment_files(directory.path());
    let damaged = expect_damage(&directory, &files[0], |bytes| *bytes = foreign);
    assert_eq!(damaged.why, DamagedBy::Foreign(JournalId([4; 16])));

    let directory = closed_journal();
    let files = segment_files(directory.path());
    let second = fs::read(&files[1]).unwrap();
    let damaged = expect_damage(&directory, &files[0], |bytes| *bytes = second);
    assert!(matches!(damaged.why, DamagedBy::Misnamed(_)));
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(FIRST);
    let newer = fs::read(golden("format-2.seg")).unwrap();
    fs::write(&file, &newer).unwrap();
    let error = Journal::open(directory.path(), &options()).unwrap_err();
    assert!(matches!(error, OpenError::Newer { version: 2, .. }), "{error:?}");
    assert!(error.hint().is_some());
    assert_eq!(fs::read(file).unwrap(), newer);
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// The file of format version 1 that stays in the repository. `SPEEDUP_UPDATE_GOLDEN=1` writes it anew.
#[test]
fn format_version_1_is_read_and_written_as_ever() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, _) = open(&directory, &options());
    append_up_to(&mut journal, 5);
    journal.append(PayloadVersion(255), &[]).unwrap();
    journal.append(PayloadVersion(0), &(0..=255).collect::<Vec<u8>>()).unwrap();
    journal.close().unwrap();
    let written = fs::read(directory.path().join(FIRST)).unwrap();
    if std::env::var_os("SPEEDUP_UPDATE_GOLDEN").is_some() {
        fs::write(golden("format-1.seg"), &written).unwrap();
    }
    let kept = fs::read(golden("format-1.seg")).unwrap();
    assert_eq!(written, kept);

    let reader = Reader::open(directory.path()).unwrap();
    let records: Vec<OwnedRecord> = reader.replay(Position(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(records.len(), 7);
    assert_eq!(records[4].payload, payload(4));
    assert_eq!((records[5].version, records[5].payload.len()), (PayloadVersion(255), 0));
    assert_eq!((records[6].position, records[6].payload[200]), (Position(6), 200));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whichever segments but the last are lost: the start is refused, and with it every backup.
    #[test]
    fn no_lost_segment_goes_unnoticed(lost in prop::collection::vec(any::<prop::sample::Index>(), 1..4), sparse: bool) {
        let directory = closed_journal();
        let files = segment_files(directory.path());
        for index in lost {
            // Some are lost twice.
            let _ = fs::remove_file(&files[index.index(files.len() - 1)]);
        }
        let check = if sparse { OpenCheck::LastSegment } else { OpenCheck::EverySegment };
        let refused = Journal::open(directory.path(), &Options { check, ..small_segments() });
        prop_assert!(matches!(refused, Err(OpenError::Missing(_))));
        prop_assert!(Reader::open(directory.path()).unwrap().require_whole().is_err());
    }

    /// Whatever happens to one byte of what was synced: damage at the right place, or it was in a segment's last mark.
    #[test]
    fn a_flipped_byte_is_never_silently_wrong(at in any::<prop::sample::Index>(), flip in 1u8..=255) {
        let directory = closed_journal();
        let files = segment_files(directory.path());
        let file = &files[at.index(files.len())];
        let mut bytes = fs::read(file).unwrap();
        let byte = at.index(bytes.len());
        bytes[byte] ^= flip;
        fs::write(file, &bytes).unwrap();
        match Journal::open(directory.path(), &small_segments()) {
            Ok((journal, recovery)) => {
                prop_assert!(recovery.cut.is_none_or(|cut| cut.bytes <= FRAME_HEADER));
                assert_holds(journal.replay(Position(0)).unwrap(), 0, 20);
            }
            Err(OpenError::Damaged(damaged)) => {
                prop_assert_eq!(&damaged.file, file);
                prop_assert!(damaged.at_byte <= byte as u64);
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}
