//! What is read of a store, and how much of it.

use speedup_core::machine::event::{Change, Event};
use speedup_core::value::time::Timestamp;
use tempfile::TempDir;

use super::*;

fn with_drained(hosts: &[(&str, u64)]) -> (TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&directory.path().join("store"), JournalId([1; 16])).unwrap().store;
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
