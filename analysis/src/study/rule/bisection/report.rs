//! What a bisection found, with stable names.

use crate::conclusion::{ReportWord, Verdict, Word};
use serde::{Deserialize, Serialize};
use speedup_core::{plan::Extension, plan::Plan, value::id::VersionIndex};

/// What a bisection found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BisectionReport {
    /// Whether there is a step, at the confidence level.
    pub verdict: Word<BisectionVerdict>,
    /// All of it in a sentence or two.
    pub sentence: String,
    /// The benchmark.
    pub benchmark: String,
    /// The metric in which a step is looked for: `wall`, or one with a verdict in the plan.
    pub metric: String,
    /// Steps up to this share of the value do not matter; any does where there is none.
    pub margin: Option<f64>,
    /// Which commits were held to be likelier than others beforehand, where some were; left out where none was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prior: Vec<PathWeightReport>,
    /// The commits of which one has the step, if there is one.
    pub set: CommitSetReport,
    /// The value at the bad end divided by that at the good end; none before there are runs enough.
    pub size: Option<StepSizeReport>,
    /// The probability that there is no step beyond the margin; beforehand it is ½.
    pub no_step: f64,
    /// Whether there are two steps, and where; none before commits between the ends were run.
    pub several: Option<SeveralStepsReport>,
    /// The commits in their order, both ends included.
    pub commits: Vec<LineCommit>,
    /// Measured runs.
    pub runs: u64,
    /// The most runs that the plan allows.
    pub maximum: u32,
    /// What is built or run next; nothing when it ended, and while runs are outstanding.
    pub next: Option<NextProbes>,
    /// What must be known besides, in sentences.
    pub caveats: Vec<String>,
}

speedup_core::words! {
    /// Whether there is a step.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum BisectionVerdict {
        /// At the level there is, and it is in the set.
        Step = "step",
        /// At the level there is none beyond the margin.
        NoStep = "no_step",
        /// At the level there is more than one.
        Several = "several",
        /// None of these.
        Undecided = "undecided",
        /// An end cannot be measured: all its runs failed.
        NoEnd = "no_end",
    }
    impl ReportWord::name;
}

/// Commits of which one has a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommitSetReport {
    /// The versions, in the order of the line.
    pub versions: Vec<String>,
    /// The probability that it is one of them, if there is a step.
    pub probability: f64,
    /// The likeliest, the first of those that are equal.
    pub likeliest: String,
}

/// The new value divided by the old one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepSizeReport {
    /// The median of its probability.
    pub ratio: f64,
    /// Both ends of its interval at the confidence level.
    pub interval: [f64; 2],
}

/// Two steps instead of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeveralStepsReport {
    /// The probability that it is two and not one; beforehand it is a tenth.
    pub probability: f64,
    /// The commits that may have the first one.
    pub first: CommitSetReport,
    /// The commits that may have the second one.
    pub second: CommitSetReport,
}

/// How likely the commits that change files under a path were held to be beforehand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathWeightReport {
    /// From the top of the repository.
    pub path: String,
    /// What a file under it weighs; others weigh 1, and a commit as much as the heaviest file that it changes.
    pub weight: f64,
}

/// A commit of the line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineCommit {
    /// The version.
    pub version: String,
    /// The full id of the commit, where it is one of Git.
    pub id: Option<String>,
    /// The first line of its message; may be empty.
    pub subject: String,
    /// What became of it.
    pub state: Word<LineCommitState>,
    /// Measured runs.
    pub runs: u64,
    /// The median of its values, in the unit of the metric.
    pub median: Option<f64>,
    /// The probability that it has the step, if there is one.
    pub probability: f64,
    /// The same beforehand; left out where all commits were held to be equally likely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beforehand: Option<f64>,
}

speedup_core::words! {
    /// What became of a commit.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum LineCommitState {
        /// It was measured.
        Measured = "measured",
        /// Nobody asked for it.
        NotProbed = "not_probed",
        /// It could not be built.
        NotBuilt = "not_built",
        /// All its runs failed.
        Failing = "failing",
    }
    impl ReportWord::name;
}

/// What is built or run next, by the places of the versions on the line, from 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextProbes {
    /// These are built.
    pub builds: Vec<u32>,
    /// Else these are run, each block on one host.
    pub blocks: Vec<Vec<u32>>,
}

impl NextProbes {
    /// What is appended to the plan.
    pub(in crate::study::rule) fn extension(&self, plan: &Plan) -> Extension {
        let versions =
            |numbers: &Vec<u32>| -> Vec<VersionIndex> { numbers.iter().copied().map(VersionIndex).collect() };
        if self.builds.is_empty() {
            plan.draw_blocks(&self.blocks.iter().map(versions).collect::<Vec<_>>())
        } else {
            plan.builds_for(&versions(&self.builds))
        }
    }
}

impl BisectionReport {
    /// What it says of the bad end against the good one, as a gate reads verdicts; of a metric of which more is better, too.
    pub fn gated(&self) -> Verdict {
        let by_size = match self.size {
            Some(StepSizeReport { interval: [lower, _], .. }) if lower > 1.0 => Verdict::Slower,
            Some(StepSizeReport { interval: [_, upper], .. }) if upper < 1.0 => Verdict::Faster,
            Some(_) | None => Verdict::Undecided,
        };
        match self.verdict.known() {
            Some(BisectionVerdict::Step | BisectionVerdict::Several) => by_size,
            Some(BisectionVerdict::NoStep) => Verdict::Same,
            Some(BisectionVerdict::Undecided) | None => Verdict::Undecided,
            Some(BisectionVerdict::NoEnd) => Verdict::NotEnoughData,
        }
    }

    /// A commit of the line by its version.
    pub fn commit(&self, version: &str) -> Option<&LineCommit> {
        self.commits.iter().find(|commit| commit.version == version)
    }
}
