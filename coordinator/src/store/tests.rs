//! What is read of a store, and how much of it.

use std::{collections::BTreeMap, sync::Arc};

use rand_chacha::{ChaCha8Rng, rand_core::Rng as _, rand_core::SeedableRng as _};
use speedup_core::machine::event::{Change, Event};
use speedup_core::run::record::{Outcome, Output, Record};
use speedup_core::value::time::Timestamp;
use tempfile::TempDir;
use v1::ended_attempt::{End, Lost};

use super::*;

fn opened() -> (TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store =
        Store::open(&directory.path().join("store"), JournalId([1; 16]), StoreCache::Command).unwrap().store;
    (directory, store)
}

fn with_drained(hosts: &[(&str, u64)]) -> (TempDir, Store) {
    let (directory, store) = opened();
    let mut writes = Writes::default();
    for (host, at) in hosts {
        let change = Change::HostDrained { host: host.parse().unwrap(), by: "alice".to_owned() };
        writes.event(&Event { at: Timestamp(*at), change });
    }
    store.apply(writes, Position(1)).unwrap();
    (directory, store)
}

#[test]
fn of_many_exclusions_the_oldest_are_given_and_the_others_counted() {
    let (_directory, store) = with_drained(&[("a", 5), ("a", 2), ("b", 2), ("c", 1), ("d", 4), ("e", 9)]);
    let found = |most| {
        let (found, left_out) = store.exclusions(2..=8, most).unwrap();
        let found: Vec<_> = found.into_iter().map(|one| format!("{}{}", one.host, one.at_ns)).collect();
        (found.join(" "), left_out)
    };
    assert_eq!(found(9), ("a2 b2 d4 a5".to_owned(), 0));
    assert_eq!(found(2), ("a2 b2".to_owned(), 2));
}

fn experiment(byte: u8) -> ExperimentId {
    ExperimentId(Uuid::from_bytes([byte; 16]))
}

/// An attempt that was lost, and of which something is known for so many bytes.
fn lost((run, attempt): (u32, u32), bytes: usize) -> v1::EndedAttempt {
    let lease = v1::Lease { run, attempt, host: "h".repeat(bytes), ..v1::Lease::default() };
    v1::EndedAttempt { lease: Some(lease), end: Some(End::Lost(Lost::default())), ..Default::default() }
}

fn put(store: &Store, attempts: &[(ExperimentId, v1::EndedAttempt)]) {
    let mut writes = Writes::default();
    for (experiment, attempt) in attempts {
        let lease = attempt.lease.as_ref().unwrap();
        writes.put_attempt((*experiment, (lease.run, lease.attempt)), attempt.encode_to_vec());
    }
    store.apply(writes, Position(1)).unwrap();
}

#[test]
fn attempts_are_read_in_their_order_from_anywhere_wherever_they_lie() {
    const RUNS: u32 = 150;
    let (_directory, store) = opened();
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut kept = BTreeMap::new();
    for _ in 0..100 {
        let mut attempts = Vec::new();
        for _ in 0..1 + random.next_u32() % 20 {
            let at = (random.next_u32() % RUNS, random.next_u32() % 3);
            // A few are too large for a pack, and one that was may be small the next time, and the other way round.
            let bytes = if random.next_u32().is_multiple_of(8) { 5_000 } else { 50 };
            attempts.push((experiment(2), lost(at, bytes)));
            kept.insert(at, lost(at, bytes));
        }
        put(&store, &attempts);
        put(&store, &attempts);
    }
    // What belongs to others is before and after.
    put(&store, &[1, 3].map(|byte| (experiment(byte), lost((7, 0), 50))));

    for limit in [1, 7, 1_000] {
        let (mut read, mut after) = (Vec::new(), None);
        loop {
            let page = store.attempts(experiment(2), after, limit).unwrap();
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            after = last.lease.as_ref().map(|lease| (lease.run, lease.attempt));
            read.extend(page);
        }
        assert!(read.iter().eq(kept.values()), "in pages of {limit}");
    }
    for run in 0..RUNS {
        let of_run = kept.range((run, 0)..=(run, u32::MAX));
        let last = of_run.clone().next_back().map(|(_, attempt)| attempt.clone());
        assert_eq!(store.last_attempt(experiment(2), run).unwrap(), last);
        let until = kept.range(..=(run, 1)).count() as u64;
        assert_eq!(store.count_attempts(experiment(2), (run, 1)).unwrap(), until);
    }
    assert_eq!(store.attempts(experiment(1), None, 9).unwrap(), [lost((7, 0), 50)]);
    assert_eq!(store.attempts(experiment(4), None, 9).unwrap(), []);
}

#[test]
fn a_late_report_is_kept_beside_its_attempt_whatever_its_size() {
    let (_directory, store) = opened();
    put(&store, &[0, 1, 2].map(|run| (experiment(1), lost((run, 0), 50))));
    for bytes in [10, 100_000] {
        let stdout = Output { bytes: 1, blake3: [7; 32], kept: vec![b'o'; bytes] };
        let record = Arc::new(Record { stdout, ..Record::bare(Outcome::Measured) });
        let mut writes = Writes::default();
        writes.late.push(((experiment(1), (1, 0)), record.clone()));
        // One that nobody knows.
        writes.late.push(((experiment(1), (1, 1)), record.clone()));
        store.apply(writes, Position(1)).unwrap();
        let read = store.attempts(experiment(1), None, 9).unwrap();
        let late = Lost { late: Some(record.as_ref().into()), ..Lost::default() };
        let with_late = v1::EndedAttempt { end: Some(End::Lost(late)), ..lost((1, 0), 50) };
        assert_eq!(read, [lost((0, 0), 50), with_late, lost((2, 0), 50)]);
    }
}

#[test]
fn a_page_of_large_attempts_is_a_few() {
    let (_directory, store) = opened();
    put(&store, &[0, 1, 2, 3, 4].map(|run| (experiment(1), lost((run, 0), 400_000))));
    assert_eq!(store.attempts(experiment(1), None, 100).unwrap().len(), 3);
    assert_eq!(store.attempts(experiment(1), Some((2, 0)), 100).unwrap().len(), 2);
}
