//! Sums of members drawn with replacement, several members at one draw.
//!
//! Drawing k of n members is drawing one of n^k tuples, all equally likely. With the sums of all tuples in a
//! table, k draws cost one index and one addition, and the distribution is the same.

use super::generator::Generator;
use super::index_draw::IndexDraw;

/// The longest table: one that stays in the cache nearest to the processor but one.
const LARGEST_TABLE: usize = 8192;

/// The sums of all tuples of one unit's members, less their first.
#[derive(Clone, Debug, Default)]
pub(super) struct TupleSums {
    sums: Vec<f64>,
}

/// How the members of a unit are drawn: as many as there are.
#[derive(Clone, Copy, Debug)]
pub(super) struct TuplePlan {
    members: usize,
    tuple: usize,
    indices: IndexDraw,
}

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
        let bound = members.pow(tuple as u32);
        // The tuples left over are those whose first members are the first, which add nothing.
        let last_bound = members.pow((members % tuple) as u32);
        Self { members, tuple, indices: IndexDraw::new(bound, members / tuple, last_bound) }
    }
}

impl TupleSums {
    /// The table of `members` for `plan`, in the memory of the last one.
    pub(super) fn refill(&mut self, members: &[f64], plan: &TuplePlan) {
        debug_assert_eq!(members.len(), plan.members);
        let first = members[0];
        self.sums.clear();
        self.sums.resize(members.len().pow(plan.tuple as u32), 0.0);
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

    /// Σ(x − first) over as many members as there are, drawn with replacement.
    #[inline]
    pub(super) fn draw(&self, plan: &TuplePlan, generator: &mut Generator) -> f64 {
        let sums = self.sums.as_slice();
        plan.indices.fold(generator, 0.0, |total, at| total + sums[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use speedup_core::seed::Seed;

    #[test]
    fn sums_have_the_moments_of_draws_with_replacement() {
        for (members, times) in [(1, 10), (2, 1000), (7, 5000), (20, 10_000), (30, 50), (5000, 2)] {
            let values: Vec<f64> = (0..members).map(|at| ((at * at) % 17) as f64).collect();
            let plan = TuplePlan::new(members, times);
            let mut table = TupleSums::default();
            table.refill(&values, &plan);
            let mut generator = Generator::new(Seed(11), "test", members);
            let n = members as f64;
            let mean = values.iter().sum::<f64>() / n;
            let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
            let rounds = 3000;
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..rounds {
                let deviation = table.draw(&plan, &mut generator) + n * (values[0] - mean);
                sum += deviation;
                squares += deviation * deviation;
            }
            let rounds = f64::from(rounds);
            let error = (n * variance / rounds).sqrt();
            assert!((sum / rounds).abs() <= 4.5 * error, "{members}: mean {}", sum / rounds);
            let off = (squares / rounds - n * variance).abs();
            assert!(off <= 0.2 * n * variance, "{members}: variance off by {off}");
        }
    }
}
