//! Where the step is, how large it is, and whether there is one: the posterior probabilities.

use super::law_grid::{EndContrast, Fineness, LawGrid, SizeNode};
use super::{block_likelihood::BlockRuns, block_likelihood::StepLaw, commit_line::CommitLine};
use std::{collections::BTreeMap, f64::consts::PI};

/// That there is no step is as likely beforehand as that there is one.
const PRIOR_OF_NO_STEP: f64 = 0.5;

/// Commits between two neighbouring probed ones: their likelihoods are equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gap {
    /// The first commit of the gap that may have the step.
    pub(super) first: usize,
    /// The last one.
    pub(super) last: usize,
    /// The probability of a step in the gap, if there is one.
    pub(super) probability: f64,
}

/// The posterior of one step, given the runs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StepPosterior {
    pub(super) gaps: Vec<Gap>,
    /// That there is none beyond the margin.
    pub(super) no_step: f64,
    /// Sizes in ascending order with their probabilities: of a step beyond the margin, then of whatever there is.
    pub(super) sizes: Vec<SizeProbability>,
    pub(super) scale: f64,
    /// What the ends say; none before there are runs enough.
    pub(super) contrast: Option<EndContrast>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SizeProbability {
    pub(super) size: f64,
    /// Of the sizes beyond the margin.
    pub(super) beyond: f64,
    /// Of all sizes, by the likelihood and a flat law.
    pub(super) flat: f64,
}

impl StepPosterior {
    /// By the grid for `contrast`, with what `memo` knows of it.
    pub(super) fn new(
        line: &CommitLine,
        blocks: &BTreeMap<u64, BlockRuns>,
        contrast: Option<EndContrast>,
        margin: f64,
        fineness: Fineness,
        memo: &mut LikelihoodMemo,
    ) -> Self {
        let Some(contrast) = contrast else { return Self::before_runs(line) };
        let grid = contrast.grid(margin, fineness);
        memo.renew(&grid, blocks);
        let gaps = gaps(line, blocks);
        let table = LikelihoodTable::new(&gaps, blocks, memo, grid.scales.len() * grid.sizes.len());
        table.posterior(line, gaps, &grid, margin, contrast)
    }

    fn before_runs(line: &CommitLine) -> Self {
        let gaps = vec![Gap { first: 1, last: line.last(), probability: 1.0 }];
        Self { gaps, no_step: PRIOR_OF_NO_STEP, sizes: Vec::new(), scale: f64::NAN, contrast: None }
    }

    /// The probability that each commit is the one, if there is one.
    pub(super) fn commit_probabilities(&self, line: &CommitLine) -> Vec<f64> {
        commit_probabilities(line, &self.gaps)
    }
}

/// The probabilities of gaps, divided among their commits as the prior divides them.
pub(super) fn commit_probabilities(line: &CommitLine, gaps: &[Gap]) -> Vec<f64> {
    let mut probabilities = vec![0.0; line.commits()];
    for gap in gaps {
        let prior = gap.prior(line);
        let commits = gap.first..=gap.last;
        for (probability, own) in probabilities[commits.clone()].iter_mut().zip(&line.prior()[commits]) {
            *probability = if prior > 0.0 { gap.probability * own / prior } else { 0.0 };
        }
    }
    probabilities
}

impl Gap {
    pub(super) fn prior(&self, line: &CommitLine) -> f64 {
        line.prior()[self.first..=self.last].iter().sum()
    }
}

fn gaps(line: &CommitLine, blocks: &BTreeMap<u64, BlockRuns>) -> Vec<Gap> {
    let mut probed: Vec<usize> =
        blocks.values().flat_map(|block| block.between().iter().map(|(commit, _)| *commit)).collect();
    probed.sort_unstable();
    probed.dedup();
    let firsts = std::iter::once(1).chain(probed.iter().map(|commit| commit + 1));
    let lasts = probed.iter().copied().chain(std::iter::once(line.last()));
    firsts.zip(lasts).map(|(first, last)| Gap { first, last, probability: 0.0 }).collect()
}

/// What the blocks say on one grid. It changes no answer: it only saves computing it again when a block is added.
#[derive(Clone, Debug, Default)]
pub(super) struct LikelihoodMemo {
    grid: Option<LawGrid>,
    blocks: BTreeMap<u64, BlockTable>,
}

/// The logarithms of a block's likelihoods: of each scale, of each size, of each number of old runs between the ends.
#[derive(Clone, Debug)]
struct BlockTable {
    runs: usize,
    logarithms: Vec<f64>,
}

impl LikelihoodMemo {
    fn renew(&mut self, grid: &LawGrid, blocks: &BTreeMap<u64, BlockRuns>) {
        if self.grid.as_ref() != Some(grid) {
            *self = Self { grid: Some(grid.clone()), blocks: BTreeMap::new() };
        }
        for (id, block) in blocks {
            if self.blocks.get(id).is_none_or(|table| table.runs != block.runs()) {
                self.blocks.insert(*id, BlockTable::new(block, grid));
            }
        }
    }
}

impl BlockTable {
    fn new(block: &BlockRuns, grid: &LawGrid) -> Self {
        let laws = grid
            .scales
            .iter()
            .flat_map(|scale| grid.sizes.iter().map(|node| StepLaw { size: node.size, scale: *scale }));
        Self { runs: block.runs(), logarithms: laws.flat_map(|law| block.log_likelihoods(law)).collect() }
    }
}

/// The logarithms of the likelihoods of all runs: of each scale, of each size, of each gap.
struct LikelihoodTable {
    gaps: usize,
    logarithms: Vec<f64>,
}

impl LikelihoodTable {
    fn new(gaps: &[Gap], blocks: &BTreeMap<u64, BlockRuns>, memo: &LikelihoodMemo, cells: usize) -> Self {
        let mut logarithms = vec![0.0; cells * gaps.len()];
        for (block, table) in blocks.values().zip(memo.blocks.values()) {
            // How many of the block's probed runs are old if the step is in the gap.
            let old: Vec<usize> =
                gaps.iter().map(|gap| block.between().partition_point(|run| run.0 < gap.first)).collect();
            let of_block = table.logarithms.chunks(block.between().len() + 1);
            for (sums, of_block) in logarithms.chunks_mut(gaps.len()).zip(of_block) {
                sums.iter_mut().zip(&old).for_each(|(sum, old)| *sum += of_block[*old]);
            }
        }
        Self { gaps: gaps.len(), logarithms }
    }

    fn posterior(
        &self,
        line: &CommitLine,
        mut gaps: Vec<Gap>,
        grid: &LawGrid,
        margin: f64,
        contrast: EndContrast,
    ) -> StepPosterior {
        let priors: Vec<f64> = gaps.iter().map(|gap| gap.prior(line)).collect();
        let greatest = self.logarithms.iter().fold(f64::NEG_INFINITY, |greatest, log| greatest.max(*log));
        let cells = grid
            .scales
            .iter()
            .flat_map(|scale| grid.sizes.iter().enumerate().map(move |(i, node)| (*scale, i, node)));
        let mut none = 0.0;
        let mut sizes: Vec<SizeProbability> = grid
            .sizes
            .iter()
            .map(|node| SizeProbability { size: node.size, beyond: 0.0, flat: 0.0 })
            .collect();
        let mut of_scale = BTreeMap::new();
        for ((scale, index, node), logs) in cells.zip(self.logarithms.chunks(self.gaps)) {
            let density = prior_density(node, scale, margin);
            let mut likelihood = 0.0;
            for ((gap, prior), log) in gaps.iter_mut().zip(&priors).zip(logs) {
                let of_gap = prior * libm::exp(log - greatest);
                likelihood += of_gap;
                gap.probability += of_gap * node.beyond * density;
            }
            none += likelihood * node.within;
            sizes[index].beyond += likelihood * node.beyond * density;
            sizes[index].flat += likelihood * (node.beyond + node.within * 2.0 * margin);
            *of_scale.entry(scale.to_bits()).or_insert(0.0) += likelihood * node.beyond * density;
        }
        let one: f64 = gaps.iter().map(|gap| gap.probability).sum();
        gaps.iter_mut().for_each(|gap| gap.probability /= one);
        let flat: f64 = sizes.iter().map(|size| size.flat).sum();
        sizes.iter_mut().for_each(|size| {
            size.beyond /= one;
            size.flat /= flat;
        });
        let likeliest = of_scale.iter().max_by(|one, other| f64::total_cmp(one.1, other.1));
        StepPosterior {
            gaps,
            no_step: PRIOR_OF_NO_STEP * none / (PRIOR_OF_NO_STEP * none + (1.0 - PRIOR_OF_NO_STEP) * one),
            sizes,
            scale: likeliest.map_or(contrast.law.scale, |(scale, _)| f64::from_bits(*scale)),
            contrast: Some(contrast),
        }
    }
}

/// Of a step's size beyond the margin: Cauchy's law with the scale of the noise (J. N. Rouder et al., Bayesian t tests for accepting and
/// rejecting the null hypothesis, 2009, with scale 1), cut at the margin.
fn prior_density(node: &SizeNode, scale: f64, margin: f64) -> f64 {
    let ratio = node.size / scale;
    let beyond = 1.0 - 2.0 / PI * libm::atan(margin / scale);
    1.0 / (PI * scale * (1.0 + ratio * ratio) * beyond)
}
