//! Sums of members drawn with replacement, several members at one draw.
//!
//! Drawing k of n members is drawing one of n^k tuples, all equally likely. With the sums of all tuples in a
//! table, k draws cost one index and one addition, and the distribution is the same.

use super::index_block::{Streams, fill};

/// The longest table of tuples: one that stays in the cache nearest to the processor but one. A power of two, so that a mask
/// keeps every index inside.
const LARGEST_TABLE: usize = 8192;
/// Sums that are drawn at a time: their indices stay in the nearest cache.
pub(super) const TOGETHER: usize = 256;

/// The sums of all tuples of one unit's members, less their first.
#[derive(Clone, Debug, Default)]
pub(super) struct TupleSums {
    /// At least [`LARGEST_TABLE`], of which the first are in use.
    sums: Vec<f64>,
}

/// How the members of a unit are drawn: as many as there are.
#[derive(Clone, Copy, Debug)]
pub(super) struct TuplePlan {
    members: usize,
    tuple: usize,
    entries: usize,
    /// How many are drawn.
    draws: usize,
    /// How many shorter tuples there are, of which one is drawn to make up as many members.
    last_entries: usize,
}

/// Where the entries of a block stand; no vector of them lies across two lines of the cache.
#[repr(C, align(64))]
struct Indices([u32; TOGETHER]);

impl TuplePlan {
    /// The cheapest way to draw as many as there are of `members`, `times` over.
    pub(super) fn new(members: usize, times: usize) -> Self {
        let mut best = (usize::MAX, 1);
        let mut entries = members;
        for tuple in 1..=members {
            if tuple > 1 && entries > LARGEST_TABLE {
                break;
            }
            // An entry costs an addition, a draw about twice that.
            let cost =
                times.saturating_mul(members.div_ceil(tuple)).saturating_mul(2).saturating_add(entries);
            best = best.min((cost, tuple));
            entries = entries.saturating_mul(members);
        }
        let tuple = best.1;
        Self {
            members,
            tuple,
            entries: members.pow(tuple as u32),
            draws: members / tuple,
            // Those whose first members are the first, which add nothing.
            last_entries: members.pow((members % tuple) as u32),
        }
    }
}

impl TupleSums {
    /// The table of `members` for `plan`, in the memory of the last one.
    pub(super) fn refill(&mut self, members: &[f64], plan: &TuplePlan) {
        debug_assert_eq!(members.len(), plan.members);
        let first = members[0];
        self.sums.resize(plan.entries.max(LARGEST_TABLE), 0.0);
        self.sums[0] = 0.0;
        let mut shorter = 1;
        for _ in 0..plan.tuple {
            // Every sum of shorter tuples, which stand first, with each further member.
            let (known, longer) = self.sums.split_at_mut(shorter);
            for (sums, member) in longer.chunks_exact_mut(shorter).zip(&members[1..]) {
                let added = member - first;
                for (sum, known) in sums.iter_mut().zip(known.iter()) {
                    *sum = known + added;
                }
            }
            shorter *= members.len();
        }
    }

    /// Of each of `drawn`, at most [`TOGETHER`], Σ(x − first) over as many members as there are, drawn with replacement.
    pub(super) fn draw(&self, plan: &TuplePlan, streams: &mut Streams, drawn: &mut [f64]) {
        let mut indices = Indices([0; TOGETHER]);
        let indices = &mut indices.0[..drawn.len()];
        drawn.fill(0.0);
        for _ in 0..plan.draws {
            fill(streams, plan.entries as u32, indices);
            self.add(plan, indices, drawn);
        }
        if plan.last_entries > 1 {
            fill(streams, plan.last_entries as u32, indices);
            self.add(plan, indices, drawn);
        }
    }

    fn add(&self, plan: &TuplePlan, indices: &[u32], drawn: &mut [f64]) {
        match self.sums.first_chunk() {
            Some(table) if plan.entries <= LARGEST_TABLE => add_from(table, indices, drawn),
            _ => {
                for (sum, &at) in drawn.iter_mut().zip(indices) {
                    *sum += self.sums[at as usize];
                }
            }
        }
    }
}

/// Adds the entries at `indices`, all of them below the table's length.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx512bw", "x86_64+avx2"))]
fn add_from(table: &[f64; LARGEST_TABLE], indices: &[u32], drawn: &mut [f64]) {
    for (sum, &at) in drawn.iter_mut().zip(indices) {
        *sum += table[at as usize % LARGEST_TABLE];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use speedup_core::value::seed::Seed;

    #[test]
    fn sums_have_the_moments_of_draws_with_replacement() {
        for (members, times) in [(1, 10), (2, 1000), (7, 5000), (20, 10_000), (30, 50), (5000, 2)] {
            let values: Vec<f64> = (0..members).map(|at| ((at * at) % 17) as f64).collect();
            let plan = TuplePlan::new(members, times);
            let mut table = TupleSums::default();
            table.refill(&values, &plan);
            let mut streams = Streams::new(Seed(11), "test", members);
            let n = members as f64;
            let mean = values.iter().sum::<f64>() / n;
            let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
            let mut sum = 0.0;
            let mut squares = 0.0;
            let mut rounds = 0.0;
            let mut drawn = [0.0; 250];
            for _ in 0..12 {
                table.draw(&plan, &mut streams, &mut drawn);
                for drawn in drawn {
                    let deviation = drawn + n * (values[0] - mean);
                    sum += deviation;
                    squares += deviation * deviation;
                    rounds += 1.0;
                }
            }
            let error = (n * variance / rounds).sqrt();
            assert!((sum / rounds).abs() <= 4.5 * error, "{members}: mean {}", sum / rounds);
            let off = (squares / rounds - n * variance).abs();
            assert!(off <= 0.2 * n * variance, "{members}: variance off by {off}");
        }
    }
}
