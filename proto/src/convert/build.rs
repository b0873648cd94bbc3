//! How versions are built, and what builds make.

use std::collections::BTreeMap;

use speedup_core::experiment::MAX_NAME_BYTES;
use speedup_core::experiment::build::{Build, MAX_PRODUCT_PATH_BYTES, MAX_PRODUCTS, Product, UsedBuild};
use speedup_core::experiment::files::Content;
use speedup_core::value::id::RunIndex;

use super::field::{at_most, each, no_longer};
use super::malformed::{Malformed, Why};
use super::wire::{NoLonger, structure};
use crate::v1;

structure!(Build, v1::Build, [command, builds, products, timeout = timeout_ns]);
structure!(
    Product { name, content: Content { blake3, bytes, executable } },
    v1::Product,
    [name => NoLonger(MAX_NAME_BYTES), blake3, bytes, executable]
);

pub(super) fn products_out(products: &[Product]) -> Vec<v1::Product> {
    products.iter().map(Into::into).collect()
}

pub(super) fn products_in(wire: Vec<v1::Product>, field: &str) -> Result<Vec<Product>, Malformed> {
    each(wire, MAX_PRODUCTS, field)
}

pub(super) fn used_build(
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

/// From where products are collected: as many as a build makes, with paths as long as they may be.
pub(super) fn collect_in(
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
