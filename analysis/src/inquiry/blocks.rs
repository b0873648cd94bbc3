//! Blocks in which a design ran both versions of a benchmark: the runs of two versions in one are a pair.

use super::suite::ObservedSample;
use crate::study::design::{BLOCK, IndependentUnits};
use crate::{conclusion::Warning, conclusion::WarningCode, count::counted, count::grouped};
use speedup_statistics::test::block_pairs::Block;
use std::collections::BTreeMap;

/// Blocks that are named in a sentence.
const MOST_NAMED: usize = 6;

/// The samples of a benchmark in two versions by the blocks in which a design ran both.
pub(super) struct BlockedSamples {
    /// The pairs; none where no block has runs of both versions.
    pub(super) pairs: Option<IndependentUnits>,
    /// The blocks that have runs of one version only, by name; of runs that are of no block nothing is known to be in common.
    pub(super) left_out: Vec<Option<String>>,
}

impl BlockedSamples {
    /// Blocks in the order of the first sample's runs; none where a sample has no blocks.
    pub(super) fn new(first: &ObservedSample<'_>, second: &ObservedSample<'_>) -> Option<Self> {
        let first_blocks = &first.named.blocks;
        let second_blocks = &second.named.blocks;
        if first_blocks.is_empty() || second_blocks.is_empty() {
            return None;
        }
        let mut unpaired = BTreeMap::new();
        for (name, value) in second_blocks.iter().zip(second.sample.in_run_order()) {
            if let Some(name) = name {
                unpaired.insert(name, *value);
            }
        }
        let mut blocks = Vec::with_capacity(first_blocks.len());
        let mut left_out = Vec::new();
        for (name, value) in first_blocks.iter().zip(first.sample.in_run_order()) {
            let candidate = name.as_ref().and_then(|name| unpaired.remove(name));
            if candidate.is_none() {
                left_out.push(name.clone());
            }
            blocks.push(Block { baseline: Some(*value), candidate });
        }
        for (name, value) in second_blocks.iter().zip(second.sample.in_run_order()) {
            // A block's name stands once, so one that is gone was paired.
            if name.as_ref().is_none_or(|name| unpaired.contains_key(name)) {
                left_out.push(name.clone());
                blocks.push(Block { baseline: None, candidate: Some(*value) });
            }
        }
        Some(Self { pairs: IndependentUnits::of_pairs(&blocks, BLOCK).ok(), left_out })
    }
}

/// A candidate's benchmark, and the blocks of its runs.
pub(super) struct BenchmarkBlocks {
    /// The benchmark, with the candidate's name where there are several.
    pub(super) about: String,
    pub(super) pairs: usize,
    pub(super) left_out: Vec<Option<String>>,
}

/// Warns of pairs that a method does not take, or of what it makes of the blocks.
pub(super) fn warnings(benchmarks: Vec<BenchmarkBlocks>, takes_pairs: bool) -> Vec<Warning> {
    let (paired, disjoint): (Vec<_>, Vec<_>) = benchmarks.into_iter().partition(|one| one.pairs > 0);
    if takes_pairs {
        return [pairs_by_block(&paired), broken_pairs(&paired), no_pairs(&disjoint)]
            .into_iter()
            .flatten()
            .collect();
    }
    if paired.is_empty() { Vec::new() } else { vec![pairs_not_used()] }
}

fn pairs_not_used() -> Warning {
    Warning::new(
        WarningCode::PairsNotUsed,
        "Runs of both versions in one block are a pair by design, and this method knows no pairs: it compares \
            blocks as if they were independent, which mostly has less power. Use the methods ratio, \
            speedup-test or signed-rank.",
    )
}

fn pairs_by_block(paired: &[BenchmarkBlocks]) -> Option<Warning> {
    let least = paired.iter().map(|one| one.pairs as u64).min()?;
    let most = paired.iter().map(|one| one.pairs as u64).max()?;
    let pairs = if least == most {
        counted(most, "pair")
    } else {
        format!("{} to {} pairs", grouped(least), grouped(most))
    };
    let sentence = format!(
        "Runs of both versions in one block are a pair by design, so versions are compared within blocks: {pairs} on each benchmark."
    );
    Some(Warning::new(WarningCode::PairsByBlock, sentence))
}

fn broken_pairs(paired: &[BenchmarkBlocks]) -> Option<Warning> {
    let broken = paired.iter().filter(|one| !one.left_out.is_empty());
    let names: Vec<String> =
        broken.map(|one| format!("{} of {}", named_blocks(&one.left_out), one.about)).collect();
    if names.is_empty() {
        return None;
    }
    let sentence = format!(
        "Blocks that lack a run of one version are no pairs and are left out: {}. Which are missing may \
            depend on the times: fix what loses runs.",
        listed(&names)
    );
    Some(Warning::new(WarningCode::BrokenPairs, sentence))
}

fn no_pairs(disjoint: &[BenchmarkBlocks]) -> Option<Warning> {
    if disjoint.is_empty() {
        return None;
    }
    let names: Vec<String> = disjoint.iter().map(|one| one.about.clone()).collect();
    let sentence = format!(
        "No block has runs of both versions of {}, so there each block is an observation of its own, and none is a pair.",
        listed(&names)
    );
    Some(Warning::new(WarningCode::NoPairs, sentence))
}

/// Blocks by name, and how many runs are of none.
fn named_blocks(blocks: &[Option<String>]) -> String {
    let mut names: Vec<String> = blocks.iter().flatten().map(|name| format!("{name:?}")).collect();
    let nameless = (blocks.len() - names.len()) as u64;
    if nameless > 0 {
        names.push(format!("{} without a block", counted(nameless, "run")));
    }
    listed(&names)
}

/// The first few of many.
fn listed(names: &[String]) -> String {
    let first = names.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
    match names.len() {
        number if number > MOST_NAMED => format!("{first} and {} more", number - MOST_NAMED),
        _ => first,
    }
}
