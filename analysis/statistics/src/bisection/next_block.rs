//! Which commits the next block runs.

use super::{CommitLine, StepBisection};

/// Both ends, and one commit between them.
pub const FEWEST_BLOCK_RUNS: usize = 3;

/// A commit is probed if p(1 − p), with p the probability that it has the step, is at least this share of the greatest.
const INFORMATIVE: f64 = 0.5;

impl StepBisection {
    /// The commits of the next block of `runs` runs, at least [`FEWEST_BLOCK_RUNS`]: both ends, and for m probes the commits that divide the
    /// posterior probability of the place most nearly into m + 1 equal parts.
    ///
    /// The information that a probe is expected to give depends on the probability that its commit has the step, and is greatest at ½;
    /// so one probe is the median (M. Horstein, Sequential transmission using noiseless feedback, 1963; R. Waeber, P. Frazier and
    /// S. Henderson, Bisection search with noisy responses, 2013). Where two commits are left, both sides of the boundary are run.
    pub fn next_block(&mut self, runs: usize) -> Vec<usize> {
        let probes = runs.max(FEWEST_BLOCK_RUNS) - 2;
        let probabilities = self.coarse_posterior(grid_blocks(self.blocks.len())).of_commits(&self.line);
        let candidates = informative(&self.line, &probabilities);
        let mut block = vec![0, self.line.last()];
        block.extend((1..=probes).filter_map(|probe| {
            let part = probe as f64 / (probes + 1) as f64;
            let distance = |candidate: &(usize, f64)| (candidate.1 - part).abs();
            let nearest =
                candidates.iter().min_by(|one, other| f64::total_cmp(&distance(one), &distance(other)));
            nearest.map(|(commit, _)| *commit)
        }));
        block.sort_unstable();
        block
    }
}

/// The grid is that of so many blocks out of `blocks`: it follows in steps of a third, so that most blocks are computed once on each of few grids.
fn grid_blocks(blocks: usize) -> usize {
    let mut of = 2;
    while of + of / 3 < blocks {
        of += of / 8 + 1;
    }
    of
}

/// The buildable commits between the ends with the probability that each has the step: those of which a run says at least half as much
/// as of the best one.
fn informative(line: &CommitLine, probabilities: &[f64]) -> Vec<(usize, f64)> {
    let sums = probabilities.iter().scan(0.0, |sum, probability| {
        *sum += probability;
        Some(*sum)
    });
    let has_step: Vec<f64> = sums.collect();
    let variance = |commit: usize| has_step[commit] * (1.0 - has_step[commit]);
    let most = line.probes().map(variance).fold(0.0, f64::max);
    let candidates = line.probes().filter(|commit| variance(*commit) >= INFORMATIVE * most);
    candidates.map(|commit| (commit, has_step[commit])).collect()
}
