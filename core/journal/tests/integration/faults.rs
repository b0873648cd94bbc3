//! A disk that fills up, fails, or writes in small pieces: clear errors, and nothing recorded is lost.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use crate::disk::{Disk, Faults};
use speedup_core::value::hint::Hinted;
use speedup_journal::*;
use std::error::Error;

const V1: PayloadVersion = PayloadVersion(1);

fn open(disk: &Disk) -> Journal {
    open_with(disk, 0)
}

fn open_with(disk: &Disk, bytes_ahead: usize) -> Journal {
    let options = Options { segment_bytes: 2_000, bytes_ahead, ..Options::new(JournalId([5; 16])) };
    Journal::open_on(disk.shared(), &options).unwrap().0
}

/// Appends and syncs single records until it fails.
fn append_until_failure(journal: &mut Journal) -> WriteError {
    loop {
        let result = journal.append(V1, &[7; 100]).and_then(|_| journal.sync());
        if let Err(error) = result {
            return error;
        }
    }
}

fn chain(error: &dyn Error) -> Vec<String> {
    let mut said = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(error) = cause {
        said.push(error.to_string());
        cause = error.source();
    }
    said
}

#[test]
fn a_full_disk_stops_the_journal_and_it_goes_on_when_there_is_space() {
    // Each amount of space ends at another place: in a record, in a mark, in a new segment's header.
    for (space, bytes_ahead) in (0..2_500).flat_map(|space| [(space, 0), (space, 1_500)]) {
        let disk = Disk::new();
        let mut journal = open_with(&disk, bytes_ahead);
        journal.append(V1, b"first").unwrap();
        journal.sync().unwrap();
        disk.set_faults(Faults { space_left: Some(space), ..Faults::default() });
        let error = append_until_failure(&mut journal);
        let said = chain(&error);
        assert_eq!(said[0], "the journal has stopped");
        assert!(said[1].starts_with("cannot write /simulated/"), "{said:?}");
        assert!(said[2].contains("No space left"), "{said:?}");
        assert!(error.hint().unwrap().contains("free space"));

        let durable_end = journal.durable_end();
        for _ in 0..2 {
            assert!(matches!(journal.append(V1, b"more"), Err(WriteError::Failed(_))));
            assert!(matches!(journal.sync(), Err(WriteError::Failed(_))));
        }
        assert_eq!(journal.durable_end(), durable_end);
        assert_eq!(journal.replay(Position(0)).unwrap().filter_map(Result::ok).count() as u64, durable_end.0);
        drop(journal);

        disk.set_faults(Faults::default());
        let mut journal = open(&disk);
        assert!(journal.next() >= durable_end);
        let next = journal.append(V1, b"again").unwrap();
        assert_eq!(journal.sync().unwrap(), next.next());
        assert_eq!(journal.replay(Position(0)).unwrap().filter_map(Result::ok).count() as u64, next.0 + 1);
    }
}

#[test]
fn a_failed_sync_is_final_and_nothing_more_is_acknowledged() {
    let disk = Disk::new();
    let mut journal = open(&disk);
    journal.append(V1, b"first").unwrap();
    assert_eq!(journal.sync().unwrap(), Position(1));
    disk.set_faults(Faults { syncs_left: Some(0), ..Faults::default() });
    journal.append(V1, b"second").unwrap();
    let error = journal.sync().unwrap_err();
    assert!(error.hint().unwrap().contains("disk reports an error"), "{error}");
    assert!(journal.sync().is_err(), "the disk works again, but what it holds is unknown");
    assert!(journal.append(V1, b"third").is_err() && journal.reset().is_err() && journal.seal().is_err());
    assert_eq!(journal.durable_end(), Position(1));

    // The second record reads well from the page cache, and still no reader may take it for durable.
    let reader = Reader::open_on(disk.shared()).unwrap();
    assert_eq!(reader.durable_end(), Position(1));
    assert_eq!(reader.replay(Position(0)).unwrap().count(), 1);
    assert_eq!(journal.replay(Position(0)).unwrap().count(), 1);
}

#[test]
fn a_group_may_take_many_writes() {
    let disk = Disk::new();
    disk.set_faults(Faults { longest_write: Some(7), ..Faults::default() });
    let mut journal = open(&disk);
    for number in 0..100 {
        journal.append(V1, &[number; 50]).unwrap();
    }
    journal.close().unwrap();
    let journal = open(&disk);
    assert_eq!(journal.next(), Position(100));
    let payloads = journal.replay(Position(0)).unwrap().map(|record| record.unwrap().payload);
    assert!(payloads.eq((0..100).map(|number| vec![number; 50])));
}

#[test]
fn an_unfinished_segment_is_removed() {
    let disk = Disk::new();
    drop(open(&disk));
    disk.shared().create("0000000000000001.seg.new").unwrap();
    drop(open(&disk));
    assert_eq!(disk.contents().into_keys().collect::<Vec<_>>(), ["0000000000000000.seg"]);
}
