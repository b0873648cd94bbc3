//! The runs of a benchmark in two versions by the blocks in which a design ran both.

use super::suite::Observed;
use crate::study::design::{Arranged, BLOCK};
use speedup_statistics::test::block_pairs::Block;
use std::collections::BTreeMap;

/// The samples of a benchmark in two versions by their blocks.
pub(super) struct Blocked {
    /// The pairs; none where no block has runs of both versions.
    pub(super) pairs: Option<Arranged>,
    /// The blocks that have runs of one version only, by name; of runs that are of no block nothing is known to be in common.
    pub(super) left_out: Vec<Option<String>>,
}

impl Blocked {
    /// Blocks in the order of the first sample's runs; none where a sample has no blocks.
    pub(super) fn new(first: &Observed<'_>, second: &Observed<'_>) -> Option<Self> {
        let [of_first, of_second] = [first, second].map(|observed| &observed.named.blocks);
        if of_first.is_empty() || of_second.is_empty() {
            return None;
        }
        let values = |observed: &Observed<'_>| observed.sample.in_run_order().to_vec();
        let mut seconds: Vec<(&Option<String>, Option<f64>)> =
            of_second.iter().zip(values(second).into_iter().map(Some)).collect();
        let named = of_second.iter().enumerate().filter_map(|(at, block)| Some((block.as_ref()?, at)));
        let places: BTreeMap<&String, usize> = named.collect();
        let mut blocks: Vec<(&Option<String>, Block)> = Vec::new();
        for (name, value) in of_first.iter().zip(values(first)) {
            let place = name.as_ref().and_then(|name| places.get(name));
            let candidate = place.and_then(|place| seconds[*place].1.take());
            blocks.push((name, Block { baseline: Some(value), candidate }));
        }
        let alone = seconds.into_iter().filter(|(_, value)| value.is_some());
        blocks.extend(alone.map(|(name, candidate)| (name, Block { baseline: None, candidate })));
        let is_pair = |block: &Block| block.baseline.is_some() && block.candidate.is_some();
        let left_out =
            blocks.iter().filter(|(_, block)| !is_pair(block)).map(|(name, _)| (*name).clone()).collect();
        let blocks: Vec<Block> = blocks.into_iter().map(|(_, block)| block).collect();
        Some(Self { pairs: Arranged::of_pairs(&blocks, BLOCK).ok(), left_out })
    }
}
