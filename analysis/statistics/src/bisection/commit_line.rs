//! The commits between two ends, and what is known of them before the first run.

use thiserror::Error;

/// The most commits of a line: more than a large project makes in ten years.
const MOST_COMMITS: usize = 100_000;

/// Commits in the order of their history. Commit 0 is the good end, and the last one the bad end.
///
/// The step is at commit k if commits from k on have the new time, and those before it the old one. So the candidates are
/// commits 1 to the last, and neither end has to be believed: that there is no step is a hypothesis, too.
#[derive(Clone, Debug, PartialEq)]
pub struct CommitLine {
    is_buildable: Vec<bool>,
    /// The prior probability of a step at each commit; of commit 0 it is zero.
    prior: Vec<f64>,
}

/// Why a line, or what was observed on it, was refused.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum CommitLineError {
    #[error("a bisection needs 2 to {MOST_COMMITS} commits, both ends included, not {0}")]
    Length(usize),
    /// A commit that is not on the line.
    #[error("commit {commit} is not among the {commits} commits of the line, which are counted from 0")]
    Unknown { commit: usize, commits: usize },
    #[error("commit {0} is an end of the line, and an end must build")]
    EndUnbuildable(usize),
    #[error(
        "a prior has one weight for each of the {candidates} commits after the good end, each finite and at least 0, and not all of them 0"
    )]
    Prior {
        /// The commits after the good end.
        candidates: usize,
    },
    #[error("a run of commit {commit} has the value {value}; a bisection takes positive, finite values")]
    NotPositive { commit: usize, value: f64 },
}

speedup_core::hints! { CommitLineError:
    Self::Length(_) => "give a range whose ends differ, or a shorter one",
    Self::EndUnbuildable(_) => "choose a neighbouring commit that builds",
    Self::NotPositive { .. } => "take a metric that is never zero, such as a time",
}

impl CommitLine {
    /// `commits` commits, both ends included, of which all build and none is more likely than another.
    ///
    /// # Errors
    /// [`CommitLineError::Length`].
    pub fn new(commits: usize) -> Result<Self, CommitLineError> {
        if !(2..=MOST_COMMITS).contains(&commits) {
            return Err(CommitLineError::Length(commits));
        }
        let mut prior = vec![1.0 / (commits - 1) as f64; commits];
        prior[0] = 0.0;
        Ok(Self { is_buildable: vec![true; commits], prior })
    }

    /// The same commits with the prior of the user, as by the files that a commit changes: the weight of a step at each commit
    /// after the good end.
    ///
    /// # Errors
    /// [`CommitLineError::Prior`].
    pub fn with_prior(mut self, weights: &[f64]) -> Result<Self, CommitLineError> {
        let candidates = self.last();
        let sum: f64 = weights.iter().sum();
        let is_prior = weights.len() == candidates && weights.iter().all(|w| *w >= 0.0);
        if !(is_prior && sum.is_finite() && sum > 0.0) {
            return Err(CommitLineError::Prior { candidates });
        }
        self.prior[1..].iter_mut().zip(weights).for_each(|(prior, weight)| *prior = weight / sum);
        Ok(self)
    }

    /// Marks a commit as one that cannot be probed.
    ///
    /// # Errors
    /// [`CommitLineError`] for an end, or a commit that is not on the line.
    pub fn mark_unbuildable(&mut self, commit: usize) -> Result<(), CommitLineError> {
        self.check(commit)?;
        if commit == 0 || commit == self.last() {
            return Err(CommitLineError::EndUnbuildable(commit));
        }
        self.is_buildable[commit] = false;
        Ok(())
    }

    /// The commits, both ends included.
    pub fn commits(&self) -> usize {
        self.prior.len()
    }

    /// The bad end.
    pub fn last(&self) -> usize {
        self.prior.len() - 1
    }

    /// Whether a commit can be probed.
    pub fn is_buildable(&self, commit: usize) -> bool {
        self.is_buildable.get(commit).copied().unwrap_or(false)
    }

    pub(super) fn check(&self, commit: usize) -> Result<(), CommitLineError> {
        let commits = self.commits();
        if commit < commits { Ok(()) } else { Err(CommitLineError::Unknown { commit, commits }) }
    }

    /// The probability of a step at each commit before the first run; of commit 0 it is zero.
    pub fn prior(&self) -> &[f64] {
        &self.prior
    }

    /// The commits between the ends that can be probed.
    pub(super) fn probes(&self) -> impl Iterator<Item = usize> + '_ {
        (1..self.last()).filter(|commit| self.is_buildable[*commit])
    }
}
