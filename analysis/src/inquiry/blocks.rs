//! What follows from blocks: the runs of two versions in one are a pair.

use super::{Method, Preference, pairing::Pair, pairing::Pairing};
use crate::{conclusion::Warning, conclusion::WarningCode, count::counted, count::grouped};
use speedup_statistics::sample::Sample;

/// Blocks that are named in a sentence.
const MOST_NAMED: usize = 6;

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
