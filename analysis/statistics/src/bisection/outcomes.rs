//! The commit at which a test began to fail more often: runs that pass or fail.
//!
//! The rule is that of the program git-bayesect (github.com/hauntsaninja/git_bayesect, version 1.2): the outcomes before and after the step have unknown rates with
//! Beta laws, which Bernoulli outcomes leave Beta laws, so that the rates are integrated out in closed form; the next run goes where
//! it is expected to leave the least entropy.

use super::{answer::CommitSet, answer::commit_set, commit_line::CommitLine, commit_line::CommitLineError};
use crate::inference::ConfidenceLevel;
use serde::Serialize;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// As it should.
    Passed,
    /// Not as it should.
    Failed,
}

/// A Beta law of the rate of failures, as outcomes that it is worth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FailureRate {
    pub failed: f64,
    pub passed: f64,
}

impl FailureRate {
    /// Before the step, as git-bayesect has it: one run's worth, of which 5 % fail.
    pub const USUAL_OLD: Self = Self { failed: 0.05, passed: 0.95 };
    /// From the step on, as git-bayesect has it: one run's worth, of which 90 % fail.
    pub const USUAL_NEW: Self = Self { failed: 0.9, passed: 0.1 };

    fn mean(self) -> f64 {
        self.failed / (self.failed + self.passed)
    }

    fn after(self, counts: OutcomeCounts) -> Self {
        Self { failed: self.failed + counts.failed as f64, passed: self.passed + counts.passed as f64 }
    }

    fn log_beta(self) -> f64 {
        libm::lgamma(self.failed) + libm::lgamma(self.passed) - libm::lgamma(self.failed + self.passed)
    }

    /// The logarithm of the likelihood of `counts`, the rate integrated out.
    fn log_likelihood(self, counts: OutcomeCounts) -> f64 {
        self.after(counts).log_beta() - self.log_beta()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OutcomeCounts {
    failed: u64,
    passed: u64,
}

impl OutcomeCounts {
    fn plus(self, other: Self) -> Self {
        Self { failed: self.failed + other.failed, passed: self.passed + other.passed }
    }
}

/// A search for the commit from which on runs fail more often. It takes it that there is one.
///
/// ```
/// use speedup_statistics::bisection::{CommitLine, FailureRate, OutcomeBisection, RunOutcome};
/// use speedup_statistics::inference::ConfidenceLevel;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let line = CommitLine::new(9)?;
/// let mut bisection = OutcomeBisection::new(line, [FailureRate::USUAL_OLD, FailureRate::USUAL_NEW]);
/// for _ in 0..40 {
///     let commit = bisection.next_commit();
///     // A test that always fails from commit 6 on.
///     let outcome = if commit >= 6 { RunOutcome::Failed } else { RunOutcome::Passed };
///     bisection.observe(commit, outcome)?;
/// }
/// assert_eq!(bisection.commits(ConfidenceLevel::USUAL).commits, [6]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct OutcomeBisection {
    line: CommitLine,
    /// Before the step, and from it on.
    rates: [FailureRate; 2],
    counts: Vec<OutcomeCounts>,
}

impl OutcomeBisection {
    /// The method's full name.
    pub const NAME: &'static str = "Bayesian bisection of outcomes (Beta–Bernoulli)";

    /// A search without runs, with the laws of the rates before the step and from it on.
    pub fn new(line: CommitLine, rates: [FailureRate; 2]) -> Self {
        let counts = vec![OutcomeCounts::default(); line.commits()];
        Self { line, rates, counts }
    }

    /// Takes the outcome of a run.
    ///
    /// # Errors
    /// [`CommitLineError`] for a commit that is not on the line.
    pub fn observe(&mut self, commit: usize, outcome: RunOutcome) -> Result<(), CommitLineError> {
        self.line.check(commit)?;
        match outcome {
            RunOutcome::Failed => self.counts[commit].failed += 1,
            RunOutcome::Passed => self.counts[commit].passed += 1,
        }
        Ok(())
    }

    /// The probability of each commit that it is the one; the good end has none.
    pub fn probabilities(&self) -> Vec<f64> {
        let logs: Vec<f64> = self
            .line
            .prior()
            .iter()
            .zip(self.sides())
            .map(|(prior, sides)| {
                let of_side = |side: usize| self.rates[side].log_likelihood(sides[side]);
                libm::log(*prior) + of_side(0) + of_side(1)
            })
            .collect();
        let greatest = logs.iter().fold(f64::NEG_INFINITY, |greatest, log| greatest.max(*log));
        let likelihoods: Vec<f64> = logs.iter().map(|log| libm::exp(log - greatest)).collect();
        let sum: f64 = likelihoods.iter().sum();
        likelihoods.into_iter().map(|likelihood| likelihood / sum).collect()
    }

    /// For a step at each commit, the outcomes before it and from it on.
    fn sides(&self) -> Vec<[OutcomeCounts; 2]> {
        let all = self.counts.iter().fold(OutcomeCounts::default(), |sum, counts| sum.plus(*counts));
        let mut before = OutcomeCounts::default();
        let mut sides = Vec::with_capacity(self.counts.len());
        for counts in &self.counts {
            let from =
                OutcomeCounts { failed: all.failed - before.failed, passed: all.passed - before.passed };
            sides.push([before, from]);
            before = before.plus(*counts);
        }
        sides
    }

    /// The likeliest commits at the level.
    pub fn commits(&self, level: ConfidenceLevel) -> CommitSet {
        commit_set(&self.probabilities(), level.get())
    }

    /// The commit of which a run is expected to leave the least entropy; of equal ones the newest.
    pub fn next_commit(&self) -> usize {
        let probabilities = self.probabilities();
        let rates: Vec<[f64; 2]> = self
            .sides()
            .into_iter()
            .map(|sides| [0, 1].map(|side| self.rates[side].after(sides[side]).mean()))
            .collect();
        let mut best = (f64::INFINITY, self.line.last());
        let entropies = [RunOutcome::Failed, RunOutcome::Passed]
            .map(|outcome| entropies_after(&probabilities, &rates, outcome));
        for commit in (0..self.line.commits()).rev().filter(|commit| self.line.is_buildable(*commit)) {
            let expected = entropies[0][commit] + entropies[1][commit];
            if expected < best.0 {
                best = (expected, commit);
            }
        }
        best.1
    }
}

/// For a run of each commit, the probability of `outcome` times the entropy that it leaves: with weights w of sum S that is S log S − Σ w log w.
fn entropies_after(probabilities: &[f64], rates: &[[f64; 2]], outcome: RunOutcome) -> Vec<f64> {
    let weight = |step: usize, side: usize| {
        let failed = rates[step][side];
        probabilities[step] * if outcome == RunOutcome::Failed { failed } else { 1.0 - failed }
    };
    let own = |weight: f64| if weight > 0.0 { weight * libm::log(weight) } else { 0.0 };
    // The commit is new if the step is at it or before, else old.
    let steps = 0..probabilities.len();
    let mut sums = steps
        .clone()
        .fold((0.0, 0.0), |sums, step| (sums.0 + weight(step, 0), sums.1 + own(weight(step, 0))));
    steps
        .map(|commit| {
            let old = weight(commit, 0);
            let new = weight(commit, 1);
            sums = (sums.0 - old + new, sums.1 - own(old) + own(new));
            own(sums.0) - sums.1
        })
        .collect()
}
