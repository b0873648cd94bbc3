//! The sizes of a step and the scales of the noise over which likelihoods are summed.
//!
//! Both are centred where the ends of the line put them, since what the ends say does not depend on the place of the step.

use super::block_likelihood::{BlockRuns, StepLaw};
use crate::sample::median_of_sorted;

/// How finely sizes and scales lie. Sizes are at distances from the size between the ends, in its standard errors: dense where normal noise
/// leaves it, and with the tails that few runs have. Scales are at distances from the likeliest, in standard errors of its logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fineness {
    /// For where to probe next.
    Coarse,
    /// For what is said: of 30 histories of 4 to 9 blocks, all probabilities but one are within a hundredth of those of finer grids.
    Fine,
}

const COARSE_SIZES: [f64; 13] = [-11.0, -7.0, -4.5, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.5, 7.0, 11.0];
const COARSE_SCALES: [f64; 5] = [-2.4, -1.2, 0.0, 1.2, 2.4];
/// A quarter of a standard error apart up to 24 of them, and then these.
const FINE_QUARTERS: i32 = 24;
const FINE_TAIL: [f64; 9] = [7.0, 8.0, 9.0, 10.0, 12.0, 15.0, 18.0, 25.0, 40.0];
/// Six tenths of a standard error apart, up to so many on either side.
const FINE_SCALES: i32 = 6;
const FINE_SCALE_STEP: f64 = 0.6;

impl Fineness {
    fn sizes(self) -> Vec<f64> {
        match self {
            Self::Coarse => COARSE_SIZES.to_vec(),
            Self::Fine => {
                let dense = (-FINE_QUARTERS..=FINE_QUARTERS).map(|quarters| f64::from(quarters) / 4.0);
                dense.chain(FINE_TAIL.into_iter().flat_map(|tail| [-tail, tail])).collect()
            }
        }
    }

    fn scales(self) -> Vec<f64> {
        match self {
            Self::Coarse => COARSE_SCALES.to_vec(),
            Self::Fine => {
                (-FINE_SCALES..=FINE_SCALES).map(|step| FINE_SCALE_STEP * f64::from(step)).collect()
            }
        }
    }
}

/// The information on its place of one run with Student's noise of 3 degrees of freedom and scale 1: (ν + 1)/(ν + 3).
const PLACE_INFORMATION: f64 = 4.0 / 6.0;
/// The same on the logarithm of its scale: 2ν/(ν + 3).
const SCALE_INFORMATION: f64 = 1.0;
/// A scale below a billionth of the value is rounding.
const LEAST_SCALE: f64 = 1e-9;
/// The scale of a normal law for a median absolute deviation of 1.
const OF_DEVIATION: f64 = 1.482_602_218_505_602;
/// The factor between scales that are tried for the likeliest, and how many at most.
const SCALE_STEP: f64 = 1.25;
const MOST_SCALE_STEPS: usize = 120;

/// Where a size belongs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SizeNode {
    pub(super) size: f64,
    /// What it weighs in an integral over the sizes beyond the margin.
    pub(super) beyond: f64,
    /// What it weighs in an average over the sizes within it; without a margin that is a size of zero alone.
    pub(super) within: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct LawGrid {
    pub(super) sizes: Vec<SizeNode>,
    /// Equally spaced in the logarithm, and alike in weight.
    pub(super) scales: Vec<f64>,
}

/// What the ends of the line say, block by block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EndContrast {
    pub(super) law: StepLaw,
    /// The standard error of the size.
    pub(super) size_error: f64,
    /// That of the scale's logarithm.
    scale_error: f64,
}

impl EndContrast {
    /// None where the ends have too few runs to say how much they vary.
    pub(super) fn new<'a>(blocks: impl Iterator<Item = &'a BlockRuns>) -> Option<Self> {
        let ends: Vec<BlockRuns> = blocks.map(BlockRuns::ends).collect();
        let pairs: f64 = ends.iter().map(pairs).sum();
        let freedom = ends.iter().map(|block| block.runs().saturating_sub(1)).sum::<usize>();
        if pairs == 0.0 || freedom < 2 {
            return None;
        }
        let size = contrast(&ends)?;
        let scale = likeliest_scale(&ends, size);
        Some(Self {
            law: StepLaw { size, scale },
            size_error: scale / (PLACE_INFORMATION * pairs).sqrt(),
            scale_error: 1.0 / (SCALE_INFORMATION * (freedom - 1) as f64).sqrt(),
        })
    }

    /// The grid for a margin, which is a logarithm, too.
    pub(super) fn grid(&self, margin: f64, fineness: Fineness) -> LawGrid {
        let sizes = fineness.sizes().into_iter();
        let mut sizes: Vec<f64> = sizes.map(|offset| self.law.size + offset * self.size_error).collect();
        sizes.extend([-margin, 0.0, margin]);
        sizes.sort_unstable_by(f64::total_cmp);
        sizes.dedup();
        let nodes = (0..sizes.len()).map(|position| node(&sizes, position, margin)).collect();
        let scale = |offset: &f64| (self.law.scale * libm::exp(offset * self.scale_error)).max(LEAST_SCALE);
        LawGrid { sizes: nodes, scales: fineness.scales().iter().map(scale).collect() }
    }
}

/// The trapezoid rule, on either side of the margin by itself.
fn node(sizes: &[f64], position: usize, margin: f64) -> SizeNode {
    let size = sizes[position];
    let mut node =
        SizeNode { size, beyond: 0.0, within: if size == 0.0 && margin == 0.0 { 1.0 } else { 0.0 } };
    let mut add = |one: f64, other: f64| {
        let half = (other - one).abs() / 2.0;
        if one.abs().max(other.abs()) > margin {
            node.beyond += half;
        } else {
            node.within += half / (2.0 * margin);
        }
    };
    if position > 0 {
        add(sizes[position - 1], size);
    }
    if position + 1 < sizes.len() {
        add(size, sizes[position + 1]);
    }
    node
}

/// As many independent comparisons of the ends a block makes, in runs of each.
fn pairs(block: &BlockRuns) -> f64 {
    let good = block.good().len() as f64;
    let bad = block.bad().len() as f64;
    if good * bad > 0.0 { good * bad / (good + bad) } else { 0.0 }
}

/// The median over the blocks of the difference of the ends' medians.
fn contrast(ends: &[BlockRuns]) -> Option<f64> {
    let mut differences = Vec::new();
    for block in ends {
        if pairs(block) > 0.0 {
            differences.push(median_of_sorted(block.bad()) - median_of_sorted(block.good()));
        }
    }
    differences.sort_unstable_by(f64::total_cmp);
    if differences.is_empty() { None } else { Some(median_of_sorted(&differences)) }
}

/// By hill climbing from the median absolute deviation.
fn likeliest_scale(ends: &[BlockRuns], size: f64) -> f64 {
    let likelihood = |scale: f64| -> f64 {
        let of_block = |block: &BlockRuns| block.log_likelihoods(StepLaw { size, scale })[0];
        ends.iter().filter(|block| block.runs() > 1).map(of_block).sum()
    };
    let mut scale = deviation(ends, size).max(LEAST_SCALE);
    let mut best = likelihood(scale);
    for factor in [SCALE_STEP, 1.0 / SCALE_STEP] {
        for _ in 0..MOST_SCALE_STEPS {
            let next = scale * factor;
            let of_next = likelihood(next);
            if next < LEAST_SCALE || of_next <= best {
                break;
            }
            (scale, best) = (next, of_next);
        }
    }
    scale
}

fn deviation(ends: &[BlockRuns], size: f64) -> f64 {
    let mut deviations = Vec::new();
    for block in ends.iter().filter(|block| block.runs() > 1) {
        let mut levels: Vec<f64> = block.good().to_vec();
        levels.extend(block.bad().iter().map(|value| value - size));
        levels.sort_unstable_by(f64::total_cmp);
        let centre = median_of_sorted(&levels);
        let n = levels.len() as f64;
        deviations.extend(levels.iter().map(|level| (level - centre).abs() / (1.0 - 1.0 / n).sqrt()));
    }
    deviations.sort_unstable_by(f64::total_cmp);
    if deviations.is_empty() { 0.0 } else { OF_DEVIATION * median_of_sorted(&deviations) }
}
