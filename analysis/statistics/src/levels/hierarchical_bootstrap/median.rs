//! Replicates of the median, each by counting how often it has each observation.

use super::{generator::Generator, index_draw::IndexDraw};
use crate::levels::{HierarchicalBootstrap, LevelTree};
use rayon::prelude::*;

/// Replicates of one stream: enough that setting it up costs nothing.
const OF_A_STREAM: usize = 256;

/// The median of all observations.
pub(super) fn observed(levels: &LevelTree) -> f64 {
    let (sorted, _) = ranked(levels.values());
    middle(&sorted, &vec![1; sorted.len()])
}

/// As many replicates as `bootstrap` says, in the order of their drawing.
pub(super) fn replicates(levels: &LevelTree, bootstrap: &HierarchicalBootstrap, purpose: &str) -> Vec<f64> {
    let (sorted, ranks) = ranked(levels.values());
    let draw_of = |level: usize| {
        let counts = levels.boundaries(level).windows(2).map(|bounds| bounds[1] - bounds[0]);
        counts.map(|count| IndexDraw::new(count, count)).collect()
    };
    let draws = (1..=levels.depth()).map(draw_of).collect();
    let counting = Counting { levels, bootstrap, draws, ranks };
    let total = bootstrap.draws as usize;
    let of_a_stream = |stream: usize| -> Vec<f64> {
        let mut generator = Generator::new(bootstrap.seed, purpose, stream);
        let mut counts = vec![0; sorted.len()];
        let replicate = |_| {
            counts.fill(0);
            counting.unit(levels.depth(), 0, &mut generator, &mut counts);
            middle(&sorted, &counts)
        };
        (stream * OF_A_STREAM..total.min((stream + 1) * OF_A_STREAM)).map(replicate).collect()
    };
    let streams: Vec<Vec<f64>> = (0..total.div_ceil(OF_A_STREAM)).into_par_iter().map(of_a_stream).collect();
    streams.concat()
}

/// The values in ascending order, and the place of each in that order.
fn ranked(values: &[f64]) -> (Vec<f64>, Vec<u32>) {
    let mut order: Vec<u32> = (0..values.len() as u32).collect();
    order.sort_unstable_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]).then(a.cmp(&b)));
    let mut ranks = vec![0; values.len()];
    for (rank, &at) in order.iter().enumerate() {
        ranks[at as usize] = rank as u32;
    }
    (order.iter().map(|&at| values[at as usize]).collect(), ranks)
}

/// The median of values that occur `counts` times.
fn middle(sorted: &[f64], counts: &[u32]) -> f64 {
    let total: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    let lower = (total - 1) / 2;
    let upper = total / 2;
    let mut passed = 0;
    let mut below = None;
    for (value, &count) in sorted.iter().zip(counts) {
        passed += u64::from(count);
        if below.is_none() && passed > lower {
            below = Some(*value);
        }
        if let Some(below) = below
            && passed > upper
        {
            return if lower == upper { below } else { (below + value) / 2.0 };
        }
    }
    f64::NAN
}

struct Counting<'a> {
    levels: &'a LevelTree,
    bootstrap: &'a HierarchicalBootstrap,
    /// Of each level and unit, how its members are drawn.
    draws: Vec<Vec<IndexDraw>>,
    ranks: Vec<u32>,
}

impl Counting<'_> {
    /// Counts one use of `unit`, whose members are of `level`.
    fn unit(&self, level: usize, unit: usize, generator: &mut Generator<1>, counts: &mut [u32]) {
        let members = self.levels.members_of(level, unit);
        if !self.bootstrap.resampling.draws_level(level, self.levels.depth()) {
            for &rank in &self.ranks[self.observations(level, unit)] {
                counts[rank as usize] += 1;
            }
            return;
        }
        let mut drawn = vec![0; members.len()];
        self.draws[level - 1][unit].write(generator, &mut drawn);
        for &at in &drawn {
            let member = members.start + at as usize;
            if level == 1 {
                counts[self.ranks[member] as usize] += 1;
            } else {
                self.unit(level - 1, member, generator, counts);
            }
        }
    }

    /// The observations under `unit`.
    fn observations(&self, level: usize, unit: usize) -> std::ops::Range<usize> {
        let mut range = self.levels.members_of(level, unit);
        for below in (1..level).rev() {
            let starts = self.levels.boundaries(below);
            range = starts[range.start]..starts[range.end];
        }
        range
    }
}
