//! At which commit of many a program became slower.
//!
//! * [`CommitLine`]: the commits between a good and a bad end, with those that do not build, and the user's prior;
//! * [`StepBisection`]: takes values of runs in blocks, says which commits the next block runs, and what is known;
//! * [`StepAnswer`]: the set of commits at a confidence level, the size of the step, no step, or several;
//! * [`OutcomeBisection`]: the same for runs that pass or fail.
//!
//! The method is Bayes' rule on the place of one step, so neither looking at every block nor stopping early changes what its probabilities
//! mean. Each block runs both ends beside the probed commits: what a host adds to all of them cancels.

mod answer;
mod block_likelihood;
mod commit_line;
mod law_grid;
mod outcomes;
mod several;
mod step_posterior;

use crate::inference::{ConfidenceLevel, Threshold};
pub(crate) use answer::commit_set;
pub use answer::{CommitSet, SeveralSteps, StepAnswer, StepCaveat, StepSize, StepVerdict};
use block_likelihood::{BlockRuns, Place};
pub use commit_line::{CommitLine, CommitLineError};
use law_grid::{EndContrast, Fineness};
pub use outcomes::{FailureRate, OutcomeBisection, RunOutcome};
use std::collections::BTreeMap;
use step_posterior::{LikelihoodMemo, StepPosterior};

/// Both ends, and one commit between them.
pub const FEWEST_BLOCK_RUNS: usize = 3;

/// A commit is probed if p(1 − p), with p the probability that it has the step, is at least this share of the greatest.
const INFORMATIVE: f64 = 0.5;

/// A search for one step among the commits of a line.
///
/// ```
/// use speedup_statistics::bisection::{CommitLine, StepBisection, StepRule, StepVerdict};
/// use speedup_statistics::inference::{ConfidenceLevel, Threshold};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let rule = StepRule { confidence: ConfidenceLevel::USUAL, margin: Threshold::NONE };
/// let mut bisection = StepBisection::new(CommitLine::new(33)?, rule);
/// for host in 0..12_u64 {
///     for (run, commit) in bisection.next_block(4).into_iter().enumerate() {
///         // From commit 20 on the program takes a tenth longer. Each host has its own speed, and no two runs are equal.
///         let noise = 1.0 + 0.002 * ((host * 7 + run as u64 * 3) % 5) as f64;
///         let time = (1.0 + 0.1 * host as f64) * noise * if commit >= 20 { 1.1 } else { 1.0 };
///         bisection.observe(host, commit, time)?;
///     }
/// }
/// let answer = bisection.answer();
/// assert_eq!((answer.verdict, answer.commits.commits), (StepVerdict::Step, vec![20]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct StepBisection {
    line: CommitLine,
    rule: StepRule,
    blocks: BTreeMap<u64, BlockRuns>,
    memo: LikelihoodMemo,
}

/// What a search is to find.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepRule {
    /// Of the set of commits, and of *no step*.
    pub confidence: ConfidenceLevel,
    /// Steps up to this share of the value do not matter.
    pub margin: Threshold,
}

impl StepBisection {
    /// The method's full name.
    pub const NAME: &'static str = "Bayesian bisection in blocks (Student noise)";

    /// A search without runs.
    pub fn new(line: CommitLine, rule: StepRule) -> Self {
        Self { line, rule, blocks: BTreeMap::new(), memo: LikelihoodMemo::default() }
    }

    /// The commits that are searched.
    pub fn line(&self) -> &CommitLine {
        &self.line
    }

    /// Takes the value of a run of `commit` in `block`: what shares a host, or a visit. Where every run has a host of its own, all are of one
    /// block. The order in which runs arrive changes no answer.
    ///
    /// # Errors
    /// [`CommitLineError`] for a commit that is not on the line, and a value that is not positive and finite.
    pub fn observe(&mut self, block: u64, commit: usize, value: f64) -> Result<(), CommitLineError> {
        self.line.check(commit)?;
        if !(value > 0.0 && value.is_finite()) {
            return Err(CommitLineError::NotPositive { commit, value });
        }
        let place = match commit {
            0 => Place::Good,
            _ if commit == self.line.last() => Place::Bad,
            _ => Place::Between(commit),
        };
        self.blocks.entry(block).or_default().insert(place, libm::log(value));
        Ok(())
    }

    /// Takes it that `commit` does not build: it is not probed any more, and the answer does not tell it from the next one.
    ///
    /// # Errors
    /// [`CommitLineError`] for an end, and a commit that is not on the line.
    pub fn cannot_build(&mut self, commit: usize) -> Result<(), CommitLineError> {
        self.line.mark_unbuildable(commit)
    }

    /// The probability of each commit that it has the step, if there is one; the good end has none.
    pub fn probabilities(&self) -> Vec<f64> {
        self.posterior().commit_probabilities(&self.line)
    }

    /// Of all runs, on the coarse grid for the first `blocks` blocks, for the choice of probes.
    fn coarse_posterior(&mut self, blocks: usize) -> StepPosterior {
        let contrast = EndContrast::new(self.blocks.values().take(blocks));
        let margin = self.margin();
        StepPosterior::new(&self.line, &self.blocks, contrast, margin, Fineness::Coarse, &mut self.memo)
    }

    /// Of all runs, for what is said of them.
    fn posterior(&self) -> StepPosterior {
        let contrast = EndContrast::new(self.blocks.values());
        let memo = &mut LikelihoodMemo::default();
        StepPosterior::new(&self.line, &self.blocks, contrast, self.margin(), Fineness::Fine, memo)
    }

    /// As a logarithm.
    fn margin(&self) -> f64 {
        libm::log1p(self.rule.margin.get())
    }

    /// The commits of the next block of `runs` runs, at least [`FEWEST_BLOCK_RUNS`]: both ends, and for m probes the commits that divide the
    /// posterior probability of the place most nearly into m + 1 equal parts.
    ///
    /// The information that a probe is expected to give depends on the probability that its commit has the step, and is greatest at ½;
    /// so one probe is the median (M. Horstein, Sequential transmission using noiseless feedback, 1963; R. Waeber, P. Frazier and
    /// S. Henderson, Bisection search with noisy responses, 2013). Where two commits are left, both sides of the boundary are run.
    pub fn next_block(&mut self, runs: usize) -> Vec<usize> {
        let probes = runs.max(FEWEST_BLOCK_RUNS) - 2;
        let probabilities =
            self.coarse_posterior(grid_blocks(self.blocks.len())).commit_probabilities(&self.line);
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
