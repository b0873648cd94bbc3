//! How versions are built, and what builds make.

use std::collections::BTreeMap;

use speedup_core::experiment::MAX_NAME_BYTES;
use speedup_core::experiment::build::{Build, MAX_PRODUCT_PATH_BYTES, MAX_PRODUCTS, Product, UsedBuild};
use speedup_core::experiment::files::{Content, ContentHash};
use speedup_core::value::id::RunIndex;
use speedup_core::value::time::Span;

use super::field::{at_most, each, exactly, no_longer, required};
use super::malformed::{Malformed, Why};
use crate::v1;

impl From<Build> for v1::Build {
    fn from(build: Build) -> Self {
        let Build { command, builds, products, timeout } = build;
        Self { command: Some(command.into()), builds, products, timeout_ns: timeout.0 }
    }
}

impl TryFrom<v1::Build> for Build {
    type Error = Malformed;

    fn try_from(wire: v1::Build) -> Result<Self, Malformed> {
        let v1::Build { command, builds, products, timeout_ns } = wire;
        Ok(Self { command: required(command, "command")?, builds, products, timeout: Span(timeout_ns) })
    }
}

impl From<&Product> for v1::Product {
    fn from(product: &Product) -> Self {
        let Content { blake3, bytes, executable } = product.content;
        Self { name: product.name.clone(), blake3: blake3.0.to_vec(), bytes, executable }
    }
}

impl TryFrom<v1::Product> for Product {
    type Error = Malformed;

    fn try_from(wire: v1::Product) -> Result<Self, Malformed> {
        let v1::Product { name, blake3, bytes, executable } = wire;
        no_longer(name.len(), MAX_NAME_BYTES, "name")?;
        let blake3 = ContentHash(exactly(&blake3, "blake3")?);
        Ok(Self { name, content: Content { blake3, bytes, executable } })
    }
}

pub(super) fn products_out(products: &[Product]) -> Vec<v1::Product> {
    products.iter().map(Into::into).collect()
}

/// Products of one build.
pub(super) fn products_in(wire: Vec<v1::Product>, field: &str) -> Result<Vec<Product>, Malformed> {
    each(wire, MAX_PRODUCTS, field)
}

/// The build that a run uses.
pub(super) fn used_build(
    run: Option<u32>,
    products: Vec<v1::Product>,
) -> Result<Option<Box<UsedBuild>>, Malformed> {
    let products = products_in(products, "products")?;
    match run {
        Some(run) => Ok(Some(Box::new(UsedBuild { run: RunIndex(run), products }))),
        None if products.is_empty() => Ok(None),
        None => Err(Malformed::new("build_run", Why::Missing)),
    }
}

/// From where products are collected: as many as a build makes, with paths as long as they may be.
pub(super) fn collect_in(wire: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Malformed> {
    at_most(wire.len(), MAX_PRODUCTS, "collect")?;
    for (name, path) in &wire {
        no_longer(name.len(), MAX_NAME_BYTES, "collect")?;
        no_longer(path.len(), MAX_PRODUCT_PATH_BYTES, "collect")?;
    }
    Ok(wire)
}
