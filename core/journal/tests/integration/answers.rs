//! What the journal answers: where it lies, which files it has, how much fits into a group, and what a user can do about a
//! refusal.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use speedup_core::value::hint::Hinted;
use std::{
    collections::BTreeMap, fs, io::Error, io::ErrorKind, os::unix::fs::MetadataExt as _,
    os::unix::fs::symlink, path::Path, path::PathBuf, sync::Arc,
};

use speedup_journal::{private, private::Closed, private::NotPrivate, private::Others, *};

const ID: JournalId = JournalId([9; 16]);
const V1: PayloadVersion = PayloadVersion(1);
/// Before each record in a segment.
const FRAME_HEADER: usize = 26;

fn open(directory: &Path) -> Journal {
    let options = Options { segment_bytes: 300, ..Options::new(ID) };
    Journal::open(directory, &options).unwrap().0
}

/// Records in several segments.
fn filled(directory: &Path) -> Journal {
    let mut journal = open(directory);
    for _ in 0..20 {
        journal.append(V1, b"a record").unwrap();
        journal.sync().unwrap();
    }
    journal
}

fn failure(cause: Error) -> JournalFailure {
    JournalFailure { doing: "sync", path: PathBuf::from("file"), cause: Arc::new(cause) }
}

#[test]
fn each_refusal_says_what_to_do() {
    let damaged = || Damaged {
        file: PathBuf::from("file"),
        at_byte: 1,
        position: Position(2),
        why: DamagedBy::Misnamed(Position(3)),
    };
    let missing = || Missing { directory: PathBuf::from("journal"), from: Position(0), next: Position(4) };
    let held = LockError::Held { directory: PathBuf::from("journal"), holder: Holder(Some(7)) };
    let range = ReplayError::OutOfRange {
        directory: PathBuf::from("journal"),
        from: Position(1),
        first: Position(2),
        end: Position(3),
    };
    let full = || failure(ErrorKind::StorageFull.into());
    let hints = [
        (full().hint(), "free space"),
        (failure(ErrorKind::QuotaExceeded.into()).hint(), "free space"),
        (failure(ErrorKind::PermissionDenied.into()).hint(), "run as the user"),
        (failure(ErrorKind::ReadOnlyFilesystem.into()).hint(), "mounted for writing"),
        (failure(ErrorKind::NotFound.into()).hint(), "check the path"),
        (failure(Error::from_raw_os_error(5)).hint(), "the disk reports an error"),
        (held.hint(), "stop that process"),
        (LockError::Link(PathBuf::from("lock")).hint(), "then remove it"),
        (LockError::Failed(full()).hint(), "free space"),
        (NotPrivate::Writable { path: PathBuf::from("data"), mode: 0o777 }.hint(), "close it"),
        (
            NotPrivate::Foreign { path: PathBuf::from("data"), owner: 1, user: 2 }.hint(),
            "the user who owns it",
        ),
        (NotPrivate::Failed(full()).hint(), "free space"),
        (ReplayError::Absent { directory: PathBuf::from("journal") }.hint(), "at its first start"),
        (range.hint(), "begin at the first position"),
        (ReplayError::Segment(SegmentError::Failed(full())).hint(), "free space"),
        (SegmentError::Damaged(damaged()).hint(), "restore"),
        (SegmentError::Missing(missing()).hint(), "restore"),
        (OpenError::Lock(LockError::Failed(full())).hint(), "free space"),
        (OpenError::from(SegmentError::Damaged(damaged())).hint(), "restore"),
        (OpenError::from(SegmentError::Missing(missing())).hint(), "restore"),
        (OpenError::from(SegmentError::Failed(full())).hint(), "free space"),
    ];
    for (hint, words) in hints {
        let hint = hint.unwrap();
        assert!(hint.contains(words), "{words}: {hint}");
    }
    let newer = SegmentError::Newer { file: PathBuf::from("file"), version: 9 }.hint().unwrap();
    assert!(newer.len() > 20 && newer.contains("program"), "{newer}");
    assert_eq!(failure(ErrorKind::BrokenPipe.into()).hint(), None, "nothing is known to help");
}

#[test]
fn ids_positions_and_closed_directories_are_told_as_they_are() {
    assert_eq!(ID.to_string(), "09".repeat(16));
    assert_eq!(Position(12).to_string(), "12");
    let closed = Closed { path: PathBuf::from("/data"), mode: 0o755 }.to_string();
    assert!(closed.contains("/data") && closed.ends_with("0755"), "{closed}");
}

#[test]
fn a_journal_lies_where_a_segment_does() {
    let folder = tempfile::tempdir().unwrap();
    let lies_in = |path: &Path| Journal::lies_in(path).unwrap();
    assert!(!lies_in(&folder.path().join("absent")) && !lies_in(folder.path()));
    drop(open(folder.path()));
    assert!(lies_in(folder.path()));
    let file = folder.path().join("lock");
    assert!(matches!(Journal::lies_in(&file), Err(OpenError::Failed(_))), "a file is no directory");
}

#[test]
fn a_file_that_is_shortened_while_it_is_read_is_no_end_of_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let (mut journal, _) = Journal::open(folder.path(), &Options::new(ID)).unwrap();
    // More than is read at once.
    for _ in 0..10 {
        journal.append(V1, &[7; 100_000]).unwrap();
    }
    journal.sync().unwrap();
    let mut replay = journal.replay(Position(0)).unwrap();
    assert!(replay.next_record().unwrap().is_some());
    let segment = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let segment = segment.into_iter().find(|path| path.extension().is_some_and(|is| is == "seg")).unwrap();
    fs::File::options().write(true).open(&segment).unwrap().set_len(500_000).unwrap();
    let end = loop {
        match replay.next_record() {
            Ok(record) => assert!(record.is_some(), "records are gone"),
            Err(error) => break error,
        }
    };
    let ReplayError::Segment(SegmentError::Damaged(damaged)) = end else { panic!("{end:?}") };
    assert_eq!((damaged.why, damaged.file), (DamagedBy::Frame(DamageKind::EndsEarly), segment));
}

#[test]
fn who_reads_beside_the_writer_is_not_disturbed_when_zeros_ahead_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    let (mut journal, _) =
        Journal::open(folder.path(), &Options { bytes_ahead: 1 << 20, ..Options::new(ID) }).unwrap();
    // More than is read at once; the last group is small, so that it has zeros ahead of it.
    for _ in 0..10 {
        journal.append(V1, &[7; 100_000]).unwrap();
    }
    journal.sync().unwrap();
    journal.append(V1, b"small").unwrap();
    journal.sync().unwrap();
    let length = || fs::metadata(folder.path().join("0000000000000000.seg")).unwrap().len();
    let ahead = length();
    let mut replay = Reader::open(folder.path()).unwrap().replay(Position(0)).unwrap();
    assert!(replay.next_record().unwrap().is_some());
    journal.close().unwrap();
    assert!(length() < ahead, "no zeros were cut");
    assert_eq!(replay.map(Result::unwrap).count(), 10, "of eleven records");
}

#[test]
fn a_journal_that_nothing_was_written_to_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let lengths = || {
        let files = fs::read_dir(folder.path()).unwrap().map(Result::unwrap);
        files.map(|file| (file.file_name(), file.metadata().unwrap().len())).collect::<BTreeMap<_, _>>()
    };
    drop(open(folder.path()));
    let first = lengths();
    drop(open(folder.path()));
    assert_eq!(lengths(), first);
}

#[test]
fn a_checkpoint_lies_where_it_was_written_until_it_is_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoints = open(folder.path()).checkpoints();
    assert!(!Checkpoints::lies_in(folder.path()));
    let aside = checkpoints.set_aside().unwrap();
    assert!(!aside.exists(), "there was none");
    let write = || checkpoints.write(Position(0), V1, |writer| writer.append(b"machine")).unwrap();
    write();
    assert!(Checkpoints::lies_in(folder.path()));
    assert_eq!(checkpoints.set_aside().unwrap(), aside);
    assert!(aside.exists() && !Checkpoints::lies_in(folder.path()));
    write();
    fs::remove_file(&aside).unwrap();
    fs::create_dir(&aside).unwrap();
    let refused = checkpoints.set_aside().unwrap_err();
    assert_eq!(refused.path, aside, "its place is taken");
    assert!(Checkpoints::lies_in(folder.path()));
}

#[test]
fn a_checkpoint_that_lacks_its_last_frame_is_not_whole() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoints = open(folder.path()).checkpoints();
    checkpoints.write(Position(0), V1, |writer| writer.append(b"machine")).unwrap();
    let path = folder.path().join("checkpoint");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - FRAME_HEADER]).unwrap();
    let mut reader = checkpoints.read().unwrap().unwrap();
    assert_eq!(reader.next_record().unwrap().unwrap().payload, b"machine");
    let refused = reader.next_record().unwrap_err();
    assert!(matches!(refused, CheckpointReadError::NotWhole) && !refused.is_foreign(), "{refused}");
}

#[test]
fn a_checkpoint_of_another_journal_is_told_from_a_damaged_one() {
    let (mine, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let checkpoints = open(mine.path()).checkpoints();
    let foreign = Journal::open(other.path(), &Options::new(JournalId([1; 16]))).unwrap().0.checkpoints();
    foreign.write(Position(0), V1, |_| Ok(())).unwrap();
    let path = mine.path().join("checkpoint");
    fs::copy(other.path().join("checkpoint"), &path).unwrap();
    assert!(checkpoints.read().unwrap_err().is_foreign());
    let mut bytes = fs::read(&path).unwrap();
    bytes[0] ^= 1;
    fs::write(&path, &bytes).unwrap();
    assert!(!checkpoints.read().unwrap_err().is_foreign());
}

#[test]
fn a_group_takes_what_it_may_hold_to_the_byte() {
    let folder = tempfile::tempdir().unwrap();
    let longest = vec![0; MAX_RECORD_BYTES];
    let left = MAX_GROUP_BYTES - 3 * (FRAME_HEADER + longest.len()) - FRAME_HEADER;
    for (length, fits) in [(left + 1, false), (left, true)] {
        let mut journal = Journal::open(folder.path(), &Options::new(ID)).unwrap().0;
        (0..3).for_each(|_| _ = journal.append(V1, &longest).unwrap());
        let appended = journal.append(V1, &longest[..length]);
        assert_eq!(appended.is_ok(), fits, "{appended:?}");
        assert!(matches!(journal.append(V1, b""), Err(WriteError::GroupFull)) == fits);
    }
}

#[test]
fn segments_are_known_by_where_they_begin() {
    let folder = tempfile::tempdir().unwrap();
    let journal = filled(folder.path());
    let reader = Reader::open(folder.path()).unwrap();
    let segments = reader.segments().to_vec();
    assert!(segments.len() > 2);
    assert_eq!(journal.closed_end(), *segments.last().unwrap());
    for position in (0..25).map(Position) {
        assert_eq!(journal.is_boundary(position), segments.contains(&position), "{position}");
    }
}

#[test]
fn a_reader_begins_at_the_oldest_record_and_names_all_files() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { segment_bytes: 300, beginning: Beginning::WhereItWasReset, ..Options::new(ID) };
    let mut journal = Journal::open(folder.path(), &options).unwrap().0;
    for _ in 0..20 {
        journal.append(V1, b"a record").unwrap();
        journal.sync().unwrap();
    }
    assert!(journal.remove_before(journal.closed_end()).unwrap() > 0);
    (0..20).for_each(|_| _ = journal.append(V1, b"a record").and_then(|_| journal.sync()).unwrap());
    journal.seal().unwrap();
    let reader = Reader::open(folder.path()).unwrap();
    assert!(reader.first() > Position::START);
    assert_eq!(reader.first(), journal.first());
    let files = reader.files().unwrap();
    let names = reader.segments().iter().map(|first| format!("{:016x}.seg", first.0));
    let on_disk = names.map(|name| {
        let bytes = fs::metadata(folder.path().join(&name)).unwrap().len();
        (name, bytes)
    });
    assert_eq!(files, on_disk.collect::<Vec<_>>(), "a sealed journal is copied as it is");
    assert!(files.len() > 1);
    // Bytes that come later are not of the copy, wherever they come from.
    let last = folder.path().join(&files.last().unwrap().0);
    let mut longer = fs::read(&last).unwrap();
    longer.extend([0; 100]);
    fs::write(&last, longer).unwrap();
    assert_eq!(reader.files().unwrap(), files);
}

#[test]
fn what_stands_in_the_way_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(durable::create_directories(&file.join("below")).is_err());
    assert!(durable::create_directories(&file.join("below/deep")).is_err());
    let made = folder.path().join("made/deep");
    durable::create_directories(&made).unwrap();
    assert!(made.is_dir());
    assert!(durable::create_directories(&file).is_ok(), "a name that is there is used, and fails then");

    let said =
        |path: &Path, below: &[&str]| private::claim(path, Others::Nothing, below).unwrap_err().to_string();
    assert!(said(&file.join("data"), &[]).starts_with("cannot make "), "a file is above it");
    let dangling = folder.path().join("dangling");
    symlink(folder.path().join("nowhere"), &dangling).unwrap();
    assert!(said(&dangling, &[]).starts_with("cannot look at "), "a link that leads nowhere is there");
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("file"), "").unwrap();
    assert!(said(&data, &["file/below"]).starts_with("cannot look at "), "what is not there is no directory");

    let made = folder.path().join("private/deep");
    private::create_directories(&made).unwrap();
    assert_eq!(fs::metadata(&made).unwrap().mode() & 0o777, private::DIRECTORY_MODE);
    let taken = private::create_file_anew(&data).unwrap_err();
    assert_ne!(taken.kind(), ErrorKind::AlreadyExists, "a directory is not replaced: {taken}");

    let journal = folder.path().join("journal");
    fs::create_dir_all(journal.join("lock")).unwrap();
    let refused = Journal::open(&journal, &Options::new(ID)).unwrap_err();
    assert!(matches!(refused, OpenError::Lock(LockError::Failed(_))), "a directory is no link: {refused}");
}

/// As after files of two copies were mixed: what the first segment has behind the begin of the second was acknowledged.
#[test]
fn a_segment_that_goes_on_behind_the_next_is_refused_by_name() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    drop(filled(folder.path()));
    let options = Options { segment_bytes: 100, ..Options::new(ID) };
    let mut journal = Journal::open(other.path(), &options).unwrap().0;
    for _ in 0..20 {
        journal.append(V1, b"a record").unwrap();
        journal.sync().unwrap();
    }
    drop(journal);
    let files = |directory: &Path| -> Vec<String> {
        Reader::open(directory).unwrap().files().unwrap().into_iter().map(|(name, _)| name).collect()
    };
    let (kept, shorter) = (files(folder.path()), files(other.path()));
    assert!(shorter[1] < kept[1], "its second segment begins within the other's first");
    for name in &kept[1..] {
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    fs::copy(other.path().join(&shorter[1]), folder.path().join(&shorter[1])).unwrap();
    for check in [OpenCheck::EverySegment, OpenCheck::LastSegment] {
        let options = Options { check, ..Options::new(ID) };
        let refused = Journal::open(folder.path(), &options).unwrap_err();
        let OpenError::Damaged(damaged) = &refused else { panic!("{refused:?}") };
        assert_eq!(damaged.file, folder.path().join(&kept[0]));
        assert!(
            matches!(damaged.why, DamagedBy::Overlaps { next, .. } if next == damaged.position),
            "{damaged:?}"
        );
        assert!(refused.hint().is_some());
    }
    let refused = Reader::open(folder.path()).unwrap().require_whole().unwrap_err();
    assert!(
        matches!(refused, ReplayError::Segment(SegmentError::Damaged(_))),
        "by who copies it as well: {refused}"
    );
    assert_eq!(files(folder.path()), [kept[0].as_str(), shorter[1].as_str()], "and left as it is");
}
