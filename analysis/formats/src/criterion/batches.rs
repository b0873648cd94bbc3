//! Batches of unequal iterations as values of equal weight.
//!
//! criterion measures batches of d, 2d, 3d, … iterations and estimates the time of one by the slope of their totals through
//! the origin, Σ(iterations · total) / Σ iterations²: a batch of one iteration, which is mostly the clock's error, counts
//! ten thousand times less than one of a hundred. A mean of the batches' own ratios would weigh them alike. Tests take values of
//! equal weight, so batches are put together in groups with nearly the same Σ iterations², and the value of a group is its slope. The
//! mean of the values is then criterion's slope, but for the few percent by which the groups' weights differ.
//!
//! The groups are made of quarters of the batches by their iterations: the first and the last quarter forwards, the others
//! backwards (the order of Thue and Morse), which makes the sums of iterations equal and those of their squares nearly so. Every group
//! has batches of the whole run, so what drifts in it is in all values. With too few batches they are paired, small with large.

use crate::FileProblem;

/// Fewer groups of four than this, and pairs are made instead: an interval of a median at 95 % takes six values.
const FEWEST_GROUPS: usize = 6;

/// Some iterations that were timed together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch {
    iterations: f64,
    total: f64,
}

impl Batch {
    pub(crate) fn new(iterations: f64, total: f64) -> Result<Self, FileProblem> {
        if iterations >= 1.0 {
            Ok(Self { iterations, total })
        } else {
            Err(FileProblem::Expected { expected: "at least one iteration" })
        }
    }
}

/// Values of one iteration, of nearly equal weight: those of the batches in their order, where all have as many iterations, else
/// those of groups.
pub(crate) fn values_of(batches: &[Batch]) -> Vec<f64> {
    let is_flat = batches.windows(2).all(|pair| pair[0].iterations == pair[1].iterations);
    if is_flat {
        return batches.iter().map(|batch| batch.total / batch.iterations).collect();
    }
    groups_of(batches).iter().map(|group| slope(group)).collect()
}

fn groups_of(batches: &[Batch]) -> Vec<Vec<Batch>> {
    let mut by_size: Vec<Batch> = batches.to_vec();
    by_size.sort_by(|a, b| b.iterations.total_cmp(&a.iterations));
    let rows = if by_size.len() / 4 >= FEWEST_GROUPS { 4 } else { 2 };
    let groups = (by_size.len() / rows).max(1);
    let mut members: Vec<Vec<Batch>> = vec![Vec::with_capacity(rows + 1); groups];
    for (at, batch) in by_size.into_iter().enumerate() {
        let row = at / groups;
        let place = at % groups;
        // What is left over are the smallest batches, which weigh next to nothing.
        let backwards = matches!(row, 1 | 2);
        members[if backwards { groups - 1 - place } else { place }].push(batch);
    }
    members
}

/// The slope of totals over iterations through the origin.
fn slope(batches: &[Batch]) -> f64 {
    let products: f64 = batches.iter().map(|batch| batch.iterations * batch.total).sum();
    let squares: f64 = batches.iter().map(|batch| batch.iterations * batch.iterations).sum();
    products / squares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growing(batches: u32, total: impl Fn(f64) -> f64) -> Vec<Batch> {
        let of = |at| Batch { iterations: f64::from(at) * 7.0, total: total(f64::from(at) * 7.0) };
        (1..=batches).map(of).collect()
    }

    #[test]
    fn what_takes_its_time_is_that_time_in_every_group() {
        for count in 1..130 {
            for value in values_of(&growing(count, |iterations| iterations * 3e-6)) {
                assert!((value - 3e-6).abs() < 1e-18, "{count}: {value}");
            }
        }
    }

    #[test]
    fn the_mean_is_the_slope_where_batches_have_a_cost_of_their_own() {
        // Each batch costs 5 µs besides: the ratios of small ones are far off, the slope is not.
        for count in [24, 31, 50, 99, 100, 101, 300] {
            let batches = growing(count, |iterations| iterations * 3e-6 + 5e-6);
            let values = values_of(&batches);
            assert!(values.len() >= FEWEST_GROUPS);
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let whole = slope(&batches);
            assert!((mean / whole - 1.0).abs() < 5e-3, "{count}: {mean} beside {whole}");
        }
    }

    #[test]
    fn groups_weigh_nearly_the_same() {
        let weights = |count| -> Vec<f64> {
            let groups = groups_of(&growing(count, |iterations| iterations));
            groups.iter().map(|group| group.iter().map(|batch| batch.iterations.powi(2)).sum()).collect()
        };
        for (count, groups, factor) in [(100, 25, 1.05), (50, 12, 1.05), (24, 6, 1.05), (10, 5, 2.0)] {
            let weights = weights(count);
            let (least, most) = weights.iter().fold((f64::MAX, f64::MIN), |(a, b), w| (a.min(*w), b.max(*w)));
            assert_eq!(weights.len(), groups);
            assert!(most / least < factor, "{count}: {least} to {most}");
        }
    }

    #[test]
    fn batches_of_as_many_iterations_stay_as_they_are() {
        let batches = [4.0, 2.0, 8.0].map(|total| Batch { iterations: 2.0, total });
        assert_eq!(values_of(&batches), [2.0, 1.0, 4.0]);
    }
}
