//! Draws from a unit of level 2: of its members as many as there are, and from each of them as many observations as it has.
//!
//! The tables of tuples of all members together stay in the nearest cache if their tuples are short, and then nothing has to
//! be sorted by members: a use has a lane, draws a member, and looks up the sums of tuples of that member.
//!
//! Sums are of whole numbers, observations in steps of at most 2⁻²² of the largest distance within the unit: so they do not
//! depend on the order of the lanes, and an entry is half as long as a double.

use super::index_block::{LANES, Quads, Streams};

/// The longest table: the sums of all tuples of all members are 32 KiB. A power of two, so that a mask keeps every index inside.
const LARGEST_TABLE: usize = 8192;
/// The largest sum of a member's draws, in steps: twice as much has a place in 32 bits.
const LARGEST_SUM: f64 = 1_073_741_824.0;

/// Uses that are drawn at a time.
pub(super) const TOGETHER: usize = LANES;

/// How the members of a unit and their observations are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct JointPlan {
    members: usize,
    /// How many observations each member has.
    observations: usize,
    tuple: usize,
    /// How many tuples of one member there are.
    entries: usize,
}

impl JointPlan {
    /// For `members` of so many `observations` each; none unless a table holds the pairs of all of them.
    pub(super) fn new(members: usize, observations: usize) -> Option<Self> {
        let fits = |entries: &usize| entries.saturating_mul(members) <= LARGEST_TABLE;
        let entries = |tuple: usize| observations.checked_pow(tuple as u32).filter(fits);
        let tuple = (2..=observations).take_while(|tuple| entries(*tuple).is_some()).last()?;
        Some(Self { members, observations, tuple, entries: entries(tuple)? })
    }

    /// Entries of the tuples of so many observations that make up what whole tuples leave.
    fn last_entries(&self) -> usize {
        self.observations.pow((self.observations % self.tuple) as u32)
    }
}

/// The sums of the tuples of every member of a unit.
#[derive(Clone, Debug)]
pub(super) struct JointSums {
    /// One member's after the other's, less the unit's first observation, in steps.
    sums: Box<[i32; LARGEST_TABLE]>,
    step: f64,
    /// The least and the largest sum of a use, which rounded observations must not leave.
    bounds: [f64; 2],
}

impl Default for JointSums {
    fn default() -> Self {
        Self { sums: Box::new([0; LARGEST_TABLE]), step: 1.0, bounds: [0.0; 2] }
    }
}

impl JointSums {
    /// The tables of a unit with these observations.
    pub(super) fn refill(&mut self, observations: &[f64], plan: &JointPlan) {
        let first = observations[0];
        let distances = || observations.iter().map(|x| x - first);
        let least = distances().fold(0.0, f64::min);
        let largest = distances().fold(0.0, f64::max);
        let furthest = f64::max(-least, largest);
        self.bounds = [least, largest].map(|distance| distance * observations.len() as f64);
        let steps = if furthest > 0.0 {
            (LARGEST_SUM / (furthest * plan.observations as f64)).log2().floor().exp2()
        } else {
            1.0
        };
        self.step = 1.0 / steps;
        let tables = self.sums.chunks_exact_mut(plan.entries);
        for (table, of_member) in tables.zip(observations.chunks_exact(plan.observations)) {
            let in_steps = |x: &f64| ((x - first) * steps).round() as i32;
            // Sums of longer tuples are written from the last, since those of shorter ones stand first.
            table[0] = 0;
            let mut shorter = 1;
            for _ in 0..plan.tuple {
                for (at, x) in of_member.iter().enumerate().rev() {
                    let added = in_steps(x);
                    let (known, longer) = table.split_at_mut(shorter);
                    if at == 0 {
                        known.iter_mut().for_each(|sum| *sum += added);
                    } else {
                        let longer = &mut longer[(at - 1) * shorter..at * shorter];
                        longer.iter_mut().zip(known).for_each(|(sum, known)| *sum = *known + added);
                    }
                }
                shorter *= of_member.len();
            }
        }
    }

    /// Of [`TOGETHER`] uses Σ(x − first) over what each draws.
    pub(super) fn draw(&self, plan: &JointPlan, streams: &mut Streams) -> [f64; TOGETHER] {
        let [least, largest] = self.bounds;
        draw_steps(plan, &self.sums, streams).map(|steps| (steps * self.step).clamp(least, largest))
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx512bw", "x86_64+avx2"))]
fn draw_steps(plan: &JointPlan, table: &[i32; LARGEST_TABLE], streams: &mut Streams) -> [f64; TOGETHER] {
    let mut members = Quads::new(plan.members as u32);
    let mut tuples = Quads::new(plan.entries as u32);
    let mut lasts = Quads::new(plan.last_entries() as u32);
    // A shorter tuple stands where the longer one with the first observation in its other places does, which is not zero.
    let missing = plan.tuple - plan.observations % plan.tuple;
    let mut total = [0.0; TOGETHER];
    for _ in 0..plan.members {
        let mut start = members.next(streams, 1)[0];
        for start in &mut start {
            *start *= plan.entries as u32;
        }
        let mut sum = [0; TOGETHER];
        let mut left = plan.observations / plan.tuple;
        while left > 0 {
            let rows = tuples.next(streams, left);
            add_from(table, &start, rows, &mut sum);
            left -= rows.len();
        }
        if missing < plan.tuple {
            add_from(table, &start, lasts.next(streams, 1), &mut sum);
            for lane in 0..TOGETHER {
                // The first observation, as often as it is in the shortest place: the tuple of nothing but it, by their number.
                let of_first = table[start[lane] as usize % LARGEST_TABLE] / plan.tuple as i32;
                sum[lane] -= of_first * missing as i32;
            }
        }
        for lane in 0..TOGETHER {
            total[lane] += f64::from(sum[lane]);
        }
    }
    total
}

/// Adds to each lane the entries at the indices of `rows` after its `start`.
#[inline(always)]
fn add_from(
    table: &[i32; LARGEST_TABLE],
    start: &[u32; TOGETHER],
    rows: &[[u32; TOGETHER]],
    sum: &mut [i32; TOGETHER],
) {
    let entry =
        |lane: usize, row: &[u32; TOGETHER]| table[(start[lane] + row[lane]) as usize % LARGEST_TABLE];
    if let [a, b, c, d] = rows {
        // All at once, since a sum goes to memory and comes back for each loop.
        for (lane, sum) in sum.iter_mut().enumerate() {
            *sum += (entry(lane, a) + entry(lane, b)) + (entry(lane, c) + entry(lane, d));
        }
        return;
    }
    for row in rows {
        for (lane, sum) in sum.iter_mut().enumerate() {
            *sum += entry(lane, row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use speedup_core::value::seed::Seed;

    #[test]
    fn only_tables_that_stay_near_are_planned() {
        let planned = |members, observations| JointPlan::new(members, observations).map(|plan| plan.tuple);
        assert_eq!((planned(20, 20), planned(20, 21), planned(3, 7)), (Some(2), None, Some(4)));
        assert_eq!(
            (planned(1, 90), planned(1, 91), planned(5, 1), planned(4, 2)),
            (Some(2), None, None, Some(2))
        );
    }

    #[test]
    fn a_table_holds_the_sum_of_every_tuple() {
        let plan = JointPlan::new(2, 3).unwrap();
        let observations = [5.0, 6.0, 9.0, 2.0, 5.0, 4.0];
        let mut sums = JointSums::default();
        sums.refill(&observations, &plan);
        for (member, of_member) in observations.chunks(3).enumerate() {
            for at in 0..plan.entries {
                let places = (0..plan.tuple).map(|place| of_member[at / 3_usize.pow(place as u32) % 3] - 5.0);
                let found = f64::from(sums.sums[member * plan.entries + at]) * sums.step;
                assert_eq!(found, places.sum::<f64>(), "{member} {at}");
            }
        }
    }

    #[test]
    fn sums_have_the_moments_of_draws_with_replacement() {
        for (members, observations) in [(1, 2), (2, 7), (5, 9), (20, 20), (2, 60)] {
            let values: Vec<f64> = (0..members * observations)
                .map(|at| (at * at % 17) as f64 + (10 * (at / observations)) as f64)
                .collect();
            let plan = JointPlan::new(members, observations).unwrap();
            let mut sums = JointSums::default();
            sums.refill(&values, &plan);
            let mut streams = Streams::new(Seed(11), "test", members);
            let m = members as f64;
            let n = observations as f64;
            let mean = values.iter().sum::<f64>() / (m * n);
            // A member's sum varies by its mean and by what is drawn from it.
            let mut variance = 0.0;
            for of_member in values.chunks(observations) {
                let own = of_member.iter().sum::<f64>() / n;
                let within = of_member.iter().map(|x| (x - own) * (x - own)).sum::<f64>() / n;
                variance += n * within + n * n * (own - mean) * (own - mean);
            }
            let rounds = 100;
            let mut sum = 0.0;
            let mut squares = 0.0;
            for _ in 0..rounds {
                for drawn in sums.draw(&plan, &mut streams) {
                    let deviation = drawn + m * n * (values[0] - mean);
                    sum += deviation;
                    squares += deviation * deviation;
                }
            }
            let count = (rounds * TOGETHER) as f64;
            let error = (variance / count).sqrt();
            assert!((sum / count).abs() <= 4.5 * error, "{members}: mean {} {error}", sum / count);
            let off = (squares / count - variance).abs();
            assert!(off <= 0.1 * variance, "{members}: variance off by {off} of {variance}");
        }
    }
}
