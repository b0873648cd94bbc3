//! Everything that a report is from, in one archive: who has it computes the report again.
//!
//! In reading order: `manifest` (what an archive says of itself), `contents` (its files, made of an export), `archive`
//! (files into bytes and back, within bounds), `difference` (in what two reports differ).

pub(crate) mod archive;
pub(crate) mod contents;
pub(crate) mod difference;
pub(crate) mod manifest;
