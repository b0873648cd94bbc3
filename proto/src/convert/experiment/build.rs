//! Staged files and their contents, builds and their products.

use std::collections::BTreeMap;

use speedup_core::experiment::MAX_NAME_BYTES;
use speedup_core::experiment::build::{Build, MAX_PRODUCT_PATH_BYTES, MAX_PRODUCTS, Product, UsedBuild};
use speedup_core::experiment::files::{Content, ContentHash, FileSource, StagedFile};
use speedup_core::value::id::RunIndex;

use crate::convert::wire::field::{at_most, chosen, each, exactly, no_longer};
use crate::convert::wire::malformed::{Malformed, Why};
use crate::convert::wire::{NoLonger, structure};
use crate::v1;
use v1::staged_file::Source;

structure!(Build, v1::Build, [command, builds, products, timeout = timeout_ns]);
structure!(
    Product { name, content: Content { blake3, bytes, executable } },
    v1::Product,
    [name => NoLonger(MAX_NAME_BYTES), blake3, bytes, executable]
);

pub(in crate::convert) fn products_out(products: &[Product]) -> Vec<v1::Product> {
    products.iter().map(Into::into).collect()
}

pub(in crate::convert) fn products_in(
    wire: Vec<v1::Product>,
    field: &str,
) -> Result<Vec<Product>, Malformed> {
    each(wire, MAX_PRODUCTS, field)
}

pub(in crate::convert) fn used_build(
    (run, products): (Option<u32>, Vec<v1::Product>),
    _: &str,
) -> Result<Option<Box<UsedBuild>>, Malformed> {
    let products = products_in(products, "products")?;
    match run {
        Some(run) => Ok(Some(Box::new(UsedBuild { run: RunIndex(run), products }))),
        None if products.is_empty() => Ok(None),
        None => Err(Malformed::new("build_run", Why::Missing)),
    }
}

/// Reads the paths from which products are collected, within the limits of their number and length.
pub(in crate::convert) fn collect_in(
    wire: BTreeMap<String, String>,
    field: &str,
) -> Result<BTreeMap<String, String>, Malformed> {
    at_most(wire.len(), MAX_PRODUCTS, field)?;
    for (name, path) in &wire {
        no_longer(name.len(), MAX_NAME_BYTES, field)?;
        no_longer(path.len(), MAX_PRODUCT_PATH_BYTES, field)?;
    }
    Ok(wire)
}

/// The content of a file, by hash and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Blob {
    pub blake3: [u8; 32],
    pub bytes: u64,
}

impl From<Content> for Blob {
    fn from(content: Content) -> Self {
        Self { blake3: content.blake3.0, bytes: content.bytes }
    }
}

structure!(Blob, v1::Blob, [blake3, bytes]);

impl From<&StagedFile> for v1::StagedFile {
    fn from(file: &StagedFile) -> Self {
        let (blake3, source) = match &file.source {
            FileSource::Content(Content { blake3, bytes, executable }) => {
                let content = v1::staged_file::Content { bytes: *bytes, executable: *executable };
                (blake3, Source::Content(content))
            }
            FileSource::Shared { path, blake3, bytes } => {
                (blake3, Source::Shared(v1::staged_file::Shared { path: path.clone(), bytes: *bytes }))
            }
        };
        Self { name: file.name.clone(), blake3: blake3.0.to_vec(), source: Some(source) }
    }
}

impl TryFrom<v1::StagedFile> for StagedFile {
    type Error = Malformed;

    fn try_from(wire: v1::StagedFile) -> Result<Self, Malformed> {
        let blake3 = ContentHash(exactly(&wire.blake3, "blake3")?);
        let source = match chosen(wire.source, "source")? {
            Source::Content(v1::staged_file::Content { bytes, executable }) => {
                FileSource::Content(Content { blake3, bytes, executable })
            }
            Source::Shared(v1::staged_file::Shared { path, bytes }) => {
                FileSource::Shared { path, blake3, bytes }
            }
        };
        Ok(Self { name: wire.name, source })
    }
}
