//! Halving by midpoints with the same runs: what everyone does by hand.

use super::{BisectionStudy, search::History};
use crate::law::draws::Draws;

/// The commit that is left when the runs are used up. Each midpoint gets an equal part of the blocks, in each of which all but the ends'
/// runs are its own; it is new if in most blocks its mean is nearer to the bad end's. That a commit may not build it does not know.
pub(super) fn midpoint(study: &BisectionStudy, history: &History, draws: &mut Draws) -> usize {
    let last = history.commits;
    let mut old = 0;
    let mut new = last;
    let mut blocks = history.blocks(study.block_runs);
    while new - old > 1 {
        let middle = usize::midpoint(old, new);
        let rounds = u64::from(usize::BITS - (new - old - 1).leading_zeros());
        let now = (blocks / rounds).max(1).min(blocks);
        blocks -= now;
        let mut sum = Vec::new();
        for _ in 0..now {
            let host = study.history.host(draws);
            let mut run = |commit: usize| {
                libm::log(study.history.value(history.shape, host, history.level(commit), draws))
            };
            let ends = (run(0) + run(last)) / 2.0;
            let probes = study.block_runs - 2;
            let of_probe = (0..probes).map(|_| run(middle)).sum::<f64>() / probes as f64;
            sum.push(of_probe - ends);
        }
        sum.sort_unstable_by(f64::total_cmp);
        let above = sum.get(sum.len() / 2).copied().unwrap_or(0.0);
        if above > 0.0 { new = middle } else { old = middle }
    }
    new
}
