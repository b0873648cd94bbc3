//! The runs of two versions that a design made pairs: those in one block.

use super::pairing::{Pair, Pairing};
use super::suite::Observed;
use super::{Method, Preference};
use crate::conclusion::{Warning, WarningCode};
use crate::count::{counted, grouped};
use crate::study::design::{Arranged, BLOCK};
use speedup_statistics::sample::Sample;
use speedup_statistics::test::block_pairs::Block;
use std::collections::BTreeMap;

/// Blocks that are named in a sentence.
const MOST_NAMED: usize = 6;

/// The samples of a benchmark in two versions by their blocks.
pub(super) struct Blocked {
    /// The pairs; none where no block has runs of both versions.
    pub(super) pairs: Option<Arranged>,
    /// The blocks that have runs of one version only, by name; of runs that are of no block nothing is known to be in common.
    left_out: Vec<Option<String>>,
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

/// The ratios within the pairs of a benchmark, whose order is looked at in the place of either version's.
pub(super) fn ratios(pair: &Pair<'_>) -> Option<Sample> {
    let (first, second) = pair.arranged()?.samples();
    let both = first.in_run_order().iter().zip(second.in_run_order());
    Sample::new(both.map(|(x, y)| x / y).collect()).ok()
}

/// What the blocks of a candidate's benchmark are taken for.
struct Found {
    about: String,
    pairs: usize,
    left_out: Vec<Option<String>>,
}

/// What must be known of the blocks.
pub(super) fn warnings(pairing: &Pairing<'_>, method: &Method) -> Vec<Warning> {
    let several = pairing.versions.len() > 2;
    let found = |candidate: &str, pair: &Pair<'_>| {
        let blocked = pair.blocked.as_ref()?;
        let about = match several {
            true => format!("{} ({candidate})", pair.benchmark),
            false => pair.benchmark.to_owned(),
        };
        let pairs = blocked.pairs.as_ref().map_or(0, |pairs| pairs.samples().0.len());
        Some(Found { about, pairs, left_out: blocked.left_out.clone() })
    };
    if !method.compares() {
        return Vec::new();
    }
    let all: Vec<Found> = pairing.each(Preference::Lower, found).into_iter().flatten().collect();
    let (paired, disjoint): (Vec<Found>, Vec<Found>) = all.into_iter().partition(|one| one.pairs > 0);
    if !method.asked().takes_pairs() {
        return (!paired.is_empty()).then(pairs_not_used).into_iter().collect();
    }
    [pairs_by_block(&paired), broken_pairs(&paired), no_pairs(&disjoint)].into_iter().flatten().collect()
}

fn pairs_not_used() -> Warning {
    Warning::new(
        WarningCode::PairsNotUsed,
        "Runs of both versions in one block are a pair by design, and this method knows no pairs: it compares \
            blocks as if they were independent, which mostly has less power. Use the methods ratio, \
            speedup-test or signed-rank.",
    )
}

fn pairs_by_block(paired: &[Found]) -> Option<Warning> {
    let numbers = || paired.iter().map(|one| one.pairs as u64);
    let (least, most) = (numbers().min()?, numbers().max()?);
    let of = if least == most {
        counted(most, "pair")
    } else {
        format!("{} to {} pairs", grouped(least), grouped(most))
    };
    let sentence = format!(
        "Runs of both versions in one block are a pair by design, so versions are compared within blocks: {of} on each benchmark."
    );
    Some(Warning::new(WarningCode::PairsByBlock, sentence))
}

fn broken_pairs(paired: &[Found]) -> Option<Warning> {
    let broken = paired.iter().filter(|one| !one.left_out.is_empty());
    let named: Vec<String> = broken.map(|one| format!("{} of {}", named(&one.left_out), one.about)).collect();
    (!named.is_empty()).then(|| {
        let sentence = format!(
            "Blocks that lack a run of one version are no pairs and are left out: {}. Which are missing may \
                depend on the times: fix what loses runs.",
            listed(&named)
        );
        Warning::new(WarningCode::BrokenPairs, sentence)
    })
}

fn no_pairs(disjoint: &[Found]) -> Option<Warning> {
    let named: Vec<String> = disjoint.iter().map(|one| one.about.clone()).collect();
    (!named.is_empty()).then(|| {
        let sentence = format!(
            "No block has runs of both versions of {}, so there each block is an observation of its own, and none is a pair.",
            listed(&named)
        );
        Warning::new(WarningCode::NoPairs, sentence)
    })
}

/// Blocks by name, and how many runs are of none.
fn named(blocks: &[Option<String>]) -> String {
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
