//! The protocol `speedup.v1`, the journal's payloads, and the conversions between them and the types of `core`.
//!
//! Only this crate defines generated types. Conversions to them are `From`, from them `TryFrom`, and none panics, whatever was
//! received.
//!
//! In reading order: [`v1`] and [`journal`] are generated; [`convert`] holds the conversions, one file for each noun;
//! [`journal_payload`], [`checkpoint_payload`] and [`outbox_payload`] the bytes that are stored, [`payload`] why they may be
//! refused; [`limits`] the bounds of messages, [`codec`] how servers read them, [`pieces`] the upload of a file, and
//! [`encoded`] the messages of the API that are not generated.

#![warn(clippy::wildcard_enum_match_arm)]

pub mod checkpoint_payload;
pub mod codec;
pub mod convert;
pub mod encoded;
pub mod journal_payload;
pub mod limits;
pub mod outbox_payload;
pub mod payload;
pub mod pieces;

/// The API: services and messages of package `speedup.v1`.
#[allow(
    missing_docs,
    clippy::all,
    clippy::pedantic,
    unreachable_pub,
    reason = "generated; documented in the .proto files"
)]
pub mod v1 {
    tonic::include_proto!("speedup.v1");
    include!(concat!(env!("OUT_DIR"), "/clients/speedup.v1.rs"));

    /// The compiled .proto files, for the reflection service.
    pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/speedup_descriptors.bin"));
}

/// What journal and outbox store: package `speedup.journal.v1`.
#[allow(
    missing_docs,
    clippy::all,
    clippy::pedantic,
    unreachable_pub,
    reason = "generated; documented in the .proto files"
)]
pub mod journal {
    pub mod v1 {
        tonic::include_proto!("speedup.journal.v1");
    }
}
