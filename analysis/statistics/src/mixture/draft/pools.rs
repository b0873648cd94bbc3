//! Neighbouring observations of a large sample taken together.
//!
//! A step costs as much as there are distinct values. Observations that are much closer than any component is wide have nearly
//! one posterior, so their mean with their number leads the same way (compare J. Verbeek, J. Nunnink and N. Vlassis,
//! "Accelerated EM-based clustering of large data sets", Data Mining and Knowledge Discovery 13, 2006).

use crate::mixture::points::Points;

/// The least number of distinct values that is pooled: the steps of fewer are hardly cheaper.
const FEWEST_VALUES: usize = 400;
/// The width of a pool is such a share of the range of the middle three quarters, 2.3 standard deviations of a normal law: the
/// variance within a pool is 3e-5 of the sample's.
const SHARE: f64 = 1.0 / 128.0;
/// Pools are of use if there are at most 1/so many as there are values.
const LEAST_GAIN: usize = 3;

/// The means of the pools in ascending order and how many observations they hold; none where pools are of no use.
#[derive(Clone, Debug, Default)]
pub(super) struct Pools {
    means: Vec<f64>,
    weights: Vec<f64>,
}

impl Pools {
    pub(super) fn refill(&mut self, points: &Points) {
        self.means.clear();
        self.weights.clear();
        let distinct = points.weights().partition_point(|weight| *weight > 0.0);
        let (values, weights) = (&points.values()[..distinct], &points.weights()[..distinct]);
        if distinct < FEWEST_VALUES {
            return;
        }
        let width = SHARE * (values[distinct - distinct / 8] - values[distinct / 8]);
        let mut begin = 0;
        while begin < distinct {
            let end = begin + values[begin..].partition_point(|x| *x <= values[begin] + width);
            let weight: f64 = weights[begin..end].iter().sum();
            let sum: f64 = (begin..end).map(|at| weights[at] * (values[at] - values[begin])).sum();
            self.means.push(values[begin] + sum / weight);
            self.weights.push(weight);
            begin = end;
        }
        if self.means.len() * LEAST_GAIN > distinct {
            self.means.clear();
            self.weights.clear();
        }
    }

    /// The means of the pools.
    pub(super) fn values(&self) -> &[f64] {
        &self.means
    }

    /// How many observations each holds.
    pub(super) fn weights(&self) -> &[f64] {
        &self.weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_keep_every_observation_and_the_mean() {
        let mut points = Points::default();
        let sorted: Vec<f64> = (0..3000).map(|i| f64::from(i / 2).powi(2)).collect();
        points.refill(&sorted, 0.0, 1.0);
        let mut pools = Pools::default();
        pools.refill(&points);
        let count: f64 = pools.weights().iter().sum();
        let sum: f64 = pools.values().iter().zip(pools.weights()).map(|(x, w)| x * w).sum();
        let expected: f64 = sorted.iter().sum();
        assert_eq!(count, 3000.0);
        assert!((sum / expected - 1.0).abs() < 1e-12, "{sum} {expected}");
        assert!(pools.values().is_sorted() && pools.values().len() < 500, "{}", pools.values().len());
    }

    #[test]
    fn samples_without_close_neighbours_are_not_pooled() {
        let mut points = Points::default();
        for n in [300, 400] {
            let sorted: Vec<f64> = (0..n).map(f64::from).collect();
            points.refill(&sorted, 0.0, 1.0);
            let mut pools = Pools::default();
            pools.refill(&points);
            assert_eq!(pools.values().len(), 0, "{n}");
        }
    }
}
