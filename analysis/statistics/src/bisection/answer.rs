//! What a bisection found.

use super::step_posterior::{SizeProbability, StepPosterior, commit_probabilities};
use super::{CommitLine, StepBisection, several::TwoSteps};
use serde::Serialize;

/// Probabilities that differ by less are equal: commits between the same probed ones are not told apart.
const EQUAL: f64 = 1e-9;

/// What is known of the step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepAnswer {
    /// Whether there is one, and where.
    pub verdict: StepVerdict,
    /// The commits that may have it, if there is one.
    pub commits: CommitSet,
    /// How large it is; none before there are runs enough.
    pub size: Option<StepSize>,
    /// The probability that there is none beyond the margin; beforehand it is ½.
    pub no_step: f64,
    /// Whether there may be two steps; none before there are runs enough, or where no commit between the ends was run.
    pub several: Option<SeveralSteps>,
    /// What must be known besides.
    pub caveats: Vec<StepCaveat>,
}

/// Whether there is a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepVerdict {
    /// At the level there is, and it is in the set.
    Step,
    /// At the level there is none beyond the margin.
    NoStep,
    /// At the level there is more than one, since some commits are like neither end.
    Several,
    /// None of these.
    Undecided,
}

/// That two commits have a step, and which.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeveralSteps {
    /// The probability that it is two and not one; beforehand it is a tenth.
    pub probability: f64,
    /// The commits that may have the first one, if it is two.
    pub first: CommitSet,
    /// The commits that may have the second one.
    pub second: CommitSet,
}

/// Commits, of which one has the step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommitSet {
    /// In the order of the line.
    pub commits: Vec<usize>,
    /// The probability that it is one of them, if there is a step.
    pub probability: f64,
    /// The likeliest one, the first of those that are equal.
    pub likeliest: usize,
}

/// The new value divided by the old one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepSize {
    /// The median.
    pub ratio: f64,
    /// The lower end of the equal-tailed interval at the level.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

/// What weakens an answer without forbidding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum StepCaveat {
    /// Two steps are likelier than one, though not at the level: the set is of one step.
    PerhapsSeveral,
    /// Commits of the set that do not build: they cannot be told from their neighbours.
    Unbuildable { commits: usize },
}

impl StepBisection {
    /// What is known now.
    pub fn answer(&self) -> StepAnswer {
        let posterior = self.posterior();
        let level = self.rule.confidence.get();
        let several = self.several(&posterior);
        let verdict = verdict(&posterior, several.as_ref(), level);
        // A step that is claimed is in the set with the level in all, not only if there is one.
        let needed = if verdict == StepVerdict::Step { level / (1.0 - posterior.no_step) } else { level };
        let commits = commit_set(&posterior.commit_probabilities(&self.line), needed);
        let caveats = caveats(&self.line, &commits, verdict, several.as_ref());
        let size = size(&posterior, verdict, level);
        StepAnswer { verdict, commits, size, no_step: posterior.no_step, several, caveats }
    }

    fn several(&self, posterior: &StepPosterior) -> Option<SeveralSteps> {
        let steps = TwoSteps::new(&self.line, &self.blocks, posterior, self.margin())?;
        let set = |gaps| commit_set(&commit_probabilities(&self.line, gaps), self.rule.confidence.get());
        let first = set(&steps.first);
        let second = set(&steps.second);
        Some(SeveralSteps { probability: steps.probability, first, second })
    }
}

fn verdict(posterior: &StepPosterior, several: Option<&SeveralSteps>, level: f64) -> StepVerdict {
    if posterior.contrast.is_none() {
        StepVerdict::Undecided
    } else if several.is_some_and(|several| several.probability >= level) {
        StepVerdict::Several
    } else if posterior.no_step >= level {
        StepVerdict::NoStep
    } else if 1.0 - posterior.no_step > level {
        StepVerdict::Step
    } else {
        StepVerdict::Undecided
    }
}

fn caveats(
    line: &CommitLine,
    set: &CommitSet,
    verdict: StepVerdict,
    several: Option<&SeveralSteps>,
) -> Vec<StepCaveat> {
    let mut caveats = Vec::new();
    if verdict != StepVerdict::Several && several.is_some_and(|several| several.probability > 0.5) {
        caveats.push(StepCaveat::PerhapsSeveral);
    }
    let commits = set.commits.iter().filter(|commit| !line.is_buildable(**commit)).count();
    if commits > 0 {
        caveats.push(StepCaveat::Unbuildable { commits });
    }
    caveats
}

/// The likeliest commits whose probabilities make `needed`, with all that are equal to the last of them.
pub(crate) fn commit_set(probabilities: &[f64], needed: f64) -> CommitSet {
    let mut ranked: Vec<usize> = (1..probabilities.len()).collect();
    ranked.sort_by(|one, other| f64::total_cmp(&probabilities[*other], &probabilities[*one]));
    let likeliest = ranked[0];
    let mut commits = Vec::new();
    let mut probability = 0.0;
    let mut least = f64::INFINITY;
    for commit in ranked {
        let of_commit = probabilities[commit];
        if probability >= needed && of_commit < least * (1.0 - EQUAL) {
            break;
        }
        (probability, least) = (probability + of_commit, of_commit);
        commits.push(commit);
    }
    commits.sort_unstable();
    CommitSet { commits, probability, likeliest }
}

fn size(posterior: &StepPosterior, verdict: StepVerdict, level: f64) -> Option<StepSize> {
    let probability =
        |size: &SizeProbability| if verdict == StepVerdict::Step { size.beyond } else { size.flat };
    let tail = (1.0 - level) / 2.0;
    let quantile = |part: f64| Some(libm::exp(quantile(&posterior.sizes, probability, part)?));
    Some(StepSize { ratio: quantile(0.5)?, lower: quantile(tail)?, upper: quantile(1.0 - tail)? })
}

/// The size below which lies `part` of the probability, each node's being spread evenly to half way to its neighbours.
fn quantile(
    sizes: &[SizeProbability],
    probability: impl Fn(&SizeProbability) -> f64,
    part: f64,
) -> Option<f64> {
    let mut sum = 0.0;
    for (position, node) in sizes.iter().enumerate() {
        let of_node = probability(node);
        if sum + of_node >= part && of_node > 0.0 {
            let before = sizes[position.saturating_sub(1)].size;
            let after = sizes.get(position + 1).map_or(node.size, |next| next.size);
            let from = (before + node.size) / 2.0;
            let to = (node.size + after) / 2.0;
            return Some(from + (to - from) * (part - sum) / of_node);
        }
        sum += of_node;
    }
    sizes.last().map(|node| node.size)
}
