//! Whether two steps explain the runs better than one.
//!
//! With two steps the commits between them have a level of their own, like neither end. Each probed run is judged by its distance from what
//! the ends of its own block say, so that any stretch of commits can be given any level at once. Runs of one block share the error
//! of that, and count for less in return: the likelihood of m of them is raised to the power that the variance of their mean asks for (a
//! composite likelihood: C. Varin, N. Reid, D. Firth, An overview of composite likelihood methods, 2011).

use super::block_likelihood::{BlockRuns, StepLaw, noise_density};
use super::{commit_line::CommitLine, step_posterior::Gap, step_posterior::StepPosterior};
use crate::sample::median_of_sorted;
use std::{collections::BTreeMap, f64::consts::PI};

/// Two steps are rarer than one.
const PRIOR_OF_TWO: f64 = 0.1;
/// Levels lie at these distances from the level of each commit, in its standard errors.
const LEVEL_OFFSETS: [f64; 7] = [-4.5, -3.0, -1.5, 0.0, 1.5, 3.0, 4.5];

/// What two steps have for themselves.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TwoSteps {
    /// That it is two and not one.
    pub(super) probability: f64,
    pub(super) first: Vec<Gap>,
    pub(super) second: Vec<Gap>,
}

/// The logarithms of the likelihoods of runs, added up from the first probed commit on, at each level.
struct LevelSums {
    levels: Vec<f64>,
    /// For each level what it weighs in an integral.
    widths: Vec<f64>,
    /// Of the first so many probed commits, at each level.
    sums: Vec<Vec<f64>>,
}

/// The logarithms of the densities of levels beforehand.
struct LevelPriors {
    old: Vec<f64>,
    between: Vec<f64>,
    new: Vec<f64>,
}

impl TwoSteps {
    /// None where no commit between the ends was run beside them.
    pub(super) fn new(
        line: &CommitLine,
        blocks: &BTreeMap<u64, BlockRuns>,
        posterior: &StepPosterior,
        margin: f64,
    ) -> Option<Self> {
        let contrast = posterior.contrast?;
        let law = StepLaw { size: contrast.law.size, scale: posterior.scale };
        let sums = LevelSums::new(blocks, law)?;
        let priors = LevelPriors::new(&sums.levels, law, contrast.size_error, margin);
        let gaps = &posterior.gaps;
        let beforehand: Vec<f64> = gaps.iter().map(|gap| gap.prior(line)).collect();
        let last = gaps.len() - 1;
        let old: Vec<f64> = (0..=last).map(|gap| sums.integral(0, gap, &priors.old)).collect();
        let new: Vec<f64> = (0..=last).map(|gap| sums.integral(gap, last, &priors.new)).collect();
        let greatest = (0..=last).map(|gap| old[gap] + new[gap]).fold(f64::NEG_INFINITY, f64::max);
        let one: f64 =
            (0..=last).map(|gap| beforehand[gap] * libm::exp(old[gap] + new[gap] - greatest)).sum();
        let mut first: Vec<Gap> = gaps.iter().map(|gap| Gap { probability: 0.0, ..*gap }).collect();
        let mut second = first.clone();
        let mut two = 0.0;
        for start in 0..last {
            for end in start + 1..=last {
                let log = old[start] + sums.integral(start, end, &priors.between) + new[end] - greatest;
                let of_pair = 2.0 * beforehand[start] * beforehand[end] * libm::exp(log);
                first[start].probability += of_pair;
                second[end].probability += of_pair;
                two += of_pair;
            }
        }
        for gap in first.iter_mut().chain(&mut second) {
            gap.probability /= two;
        }
        let two = PRIOR_OF_TWO * two;
        let one = (1.0 - PRIOR_OF_TWO) * one;
        if two > 0.0 { Some(Self { probability: two / (two + one), first, second }) } else { None }
    }
}

impl LevelSums {
    fn new(blocks: &BTreeMap<u64, BlockRuns>, law: StepLaw) -> Option<Self> {
        let with_ends = || blocks.values().filter(|block| block.ends().runs() > 0);
        let mut commits: BTreeMap<usize, Vec<f64>> =
            blocks.values().flat_map(BlockRuns::between).map(|run| (run.0, Vec::new())).collect();
        for block in with_ends() {
            let centre = centre(block, law);
            for (commit, value) in block.between() {
                commits.entry(*commit).or_default().push(value - centre);
            }
        }
        let levels = levels(&mut commits, law)?;
        let positions: BTreeMap<usize, usize> = commits.keys().copied().zip(0..).collect();
        let mut of_commits = vec![vec![0.0; levels.len()]; commits.len()];
        for block in with_ends() {
            let of_block = block.levels(law);
            let power = power(block);
            for (commit, value) in block.between() {
                for (sum, level) in of_commits[positions[commit]].iter_mut().zip(&levels) {
                    let density = |(h, probability): &(f64, f64)| {
                        probability * noise_density((value - h - level) / law.scale)
                    };
                    *sum += power * libm::log(of_block.iter().map(density).sum());
                }
            }
        }
        let mut sums = vec![vec![0.0; levels.len()]];
        for of_commit in of_commits {
            let before = &sums[sums.len() - 1];
            sums.push(before.iter().zip(of_commit).map(|(sum, more)| sum + more).collect());
        }
        let widths = (0..levels.len()).map(|position| width(&levels, position)).collect();
        Some(Self { levels, widths, sums })
    }

    /// The logarithm of the likelihood of the probed commits from the `from`th to before the `to`th, over all levels.
    fn integral(&self, from: usize, to: usize, prior: &[f64]) -> f64 {
        let logs = || {
            self.sums[from].iter().zip(&self.sums[to]).zip(prior).map(|((from, to), prior)| to - from + prior)
        };
        let greatest = logs().fold(f64::NEG_INFINITY, f64::max);
        if greatest == f64::NEG_INFINITY {
            return greatest;
        }
        let sum: f64 = logs().zip(&self.widths).map(|(log, width)| width * libm::exp(log - greatest)).sum();
        greatest + libm::log(sum)
    }
}

impl LevelPriors {
    /// Old and new are what the ends are, as well as these are known; what lies between is by Cauchy's law, beyond the margin from both.
    fn new(levels: &[f64], law: StepLaw, size_error: f64, margin: f64) -> Self {
        let mut between = vec![f64::NEG_INFINITY; levels.len()];
        for (log, level) in between.iter_mut().zip(levels) {
            if level.abs() > margin && (level - law.size).abs() > margin {
                let ratio = level / law.scale;
                *log = -libm::log(PI * law.scale * (1.0 + ratio * ratio));
            }
        }
        Self {
            old: log_normal_densities(levels, 0.0, size_error / 2.0),
            between,
            new: log_normal_densities(levels, law.size, size_error),
        }
    }
}

fn log_normal_densities(levels: &[f64], centre: f64, sd: f64) -> Vec<f64> {
    let log_factor = libm::log(sd * (2.0 * PI).sqrt());
    levels.iter().map(|level| -((level - centre) / sd).powi(2) / 2.0 - log_factor).collect()
}

/// The level of a block by its ends.
fn centre(block: &BlockRuns, law: StepLaw) -> f64 {
    let mut levels: Vec<f64> = block.good().to_vec();
    levels.extend(block.bad().iter().map(|value| value - law.size));
    levels.sort_unstable_by(f64::total_cmp);
    median_of_sorted(&levels)
}

/// Near the levels of all probed commits, and of the ends.
fn levels(commits: &mut BTreeMap<usize, Vec<f64>>, law: StepLaw) -> Option<Vec<f64>> {
    let mut levels = Vec::new();
    let mut most = 1;
    for values in commits.values_mut().filter(|values| !values.is_empty()) {
        values.sort_unstable_by(f64::total_cmp);
        let error = law.scale * (1.5 / values.len() as f64).sqrt();
        most = most.max(values.len());
        let centre = median_of_sorted(values);
        levels.extend(LEVEL_OFFSETS.iter().map(|offset| centre + offset * error));
    }
    if levels.is_empty() {
        return None;
    }
    let error = law.scale * (1.5 / most as f64).sqrt();
    for end in [0.0, law.size] {
        levels.extend(
            LEVEL_OFFSETS.iter().flat_map(|offset| [end + offset * error, end + offset * error / 4.0]),
        );
    }
    levels.sort_unstable_by(f64::total_cmp);
    levels.dedup();
    Some(levels)
}

/// By the trapezoid rule.
fn width(levels: &[f64], position: usize) -> f64 {
    let before = levels[position.saturating_sub(1)];
    let after = levels[(position + 1).min(levels.len() - 1)];
    (after - before) / 2.0
}

/// The level of a block of e runs of ends has the variance 1/e of one run's. So the mean of m runs has 1/m + 1/e instead of the (1 + 1/e)/m of
/// independent ones.
fn power(block: &BlockRuns) -> f64 {
    let ends = block.ends().runs() as f64;
    let between = block.between().len() as f64;
    (1.0 + 1.0 / ends) / (1.0 + between / ends)
}
