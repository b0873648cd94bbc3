//! What executions make: records that tell whose they are, and products.

use speedup_core::experiment::build::Product;
use speedup_core::experiment::files::{Content, ContentHash};
use speedup_core::run::record::{Outcome, Record};
use speedup_core::value::id::LeaseEpoch;

pub(super) fn record(outcome: Outcome, marker: u64) -> Record {
    Record { started_unix_ns: marker, ..Record::bare(outcome) }
}

/// What an attempt made: another content for each, as a compiler may.
pub(super) fn product(name: &str, lease: LeaseEpoch) -> Product {
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&lease.0.to_le_bytes());
    let content = Content { blake3: ContentHash(hash), bytes: name.len() as u64, executable: true };
    Product { name: name.to_owned(), content }
}
