//! Where a fit starts: classes of neighbouring observations.

use super::kernel::Sums;
use super::points::Points;
use super::state::{MOST_COMPONENTS, State, VarianceModel};

/// Probabilities to try before a sample has too many equal values for quantile classes. More than enough for a sample
/// of 1000 with 99 % equal; without a limit a sample of a million equal values and another one would take hours.
const MOST_PROBABILITIES: usize = 20_000;

/// Cuts between classes: class i holds the positions `cuts[i]..cuts[i + 1]` of the distinct values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Classes {
    count: usize,
    cuts: [usize; MOST_COMPONENTS + 1],
}

/// The classes between `count` + 1 sample quantiles (mclust's `qclass`).
///
/// Quantiles of type 7 at equally spaced probabilities; where ties make some of them equal more probabilities are
/// tried until enough differ, and the lower ends of the smallest gaps are dropped. The products are rounded as R
/// rounds them, since an observation may lie on a cut. `None` when there are too few distinct values, or a class is
/// empty.
pub(super) fn quantile_classes(sorted: &[f64], distinct: &[f64], count: usize) -> Option<Classes> {
    if distinct.len() < count {
        return None;
    }
    let mut quantiles = Vec::with_capacity(count + 1);
    let mut probabilities = count + 1;
    distinct_quantiles(sorted, probabilities, &mut quantiles);
    while quantiles.len() < count + 1 {
        probabilities += 1;
        if probabilities > MOST_PROBABILITIES {
            return None;
        }
        distinct_quantiles(sorted, probabilities, &mut quantiles);
    }
    drop_smallest_gaps(&mut quantiles, count);
    let mut cuts = [distinct.len(); MOST_COMPONENTS + 1];
    cuts[0] = 0;
    for i in 1..count {
        cuts[i] = distinct.partition_point(|x| *x < quantiles[i]);
    }
    Classes { count, cuts }.without_empty_ones()
}

/// The classes between the `count` − 1 largest gaps of the distinct values.
pub(super) fn gap_classes(distinct: &[f64], count: usize) -> Option<Classes> {
    if distinct.len() < count {
        return None;
    }
    let mut places: Vec<usize> = (1..distinct.len()).collect();
    places.sort_by(|a, b| {
        let gap = |i: usize| distinct[i] - distinct[i - 1];
        gap(*b).total_cmp(&gap(*a)).then(a.cmp(b))
    });
    places.truncate(count - 1);
    places.sort_unstable();
    let mut cuts = [distinct.len(); MOST_COMPONENTS + 1];
    cuts[0] = 0;
    cuts[1..count].copy_from_slice(&places);
    Classes { count, cuts }.without_empty_ones()
}

fn distinct_quantiles(sorted: &[f64], probabilities: usize, quantiles: &mut Vec<f64>) {
    quantiles.clear();
    let step = 1.0 / (probabilities - 1) as f64;
    for i in 0..probabilities {
        let probability = if i + 1 == probabilities { 1.0 } else { i as f64 * step };
        let position = 1.0 + (sorted.len() - 1) as f64 * probability;
        let below = position.floor();
        let (low, high) =
            (sorted[below as usize - 1], sorted[(position.ceil() as usize).min(sorted.len()) - 1]);
        let share = position - below;
        let value = if share > 0.0 && high != low { (1.0 - share) * low + share * high } else { low };
        if quantiles.last() != Some(&value) {
            quantiles.push(value);
        }
    }
}

/// Leaves `count` + 1 of the ascending `quantiles`.
fn drop_smallest_gaps(quantiles: &mut Vec<f64>, count: usize) {
    let surplus = quantiles.len() - (count + 1);
    if surplus == 0 {
        return;
    }
    let gap = |i: usize| quantiles[i + 1] - quantiles[i];
    let mut order: Vec<usize> = (0..quantiles.len() - 1).collect();
    order.sort_by(|a, b| gap(*a).total_cmp(&gap(*b)));
    order.truncate(surplus);
    let mut place = 0;
    quantiles.retain(|_| {
        place += 1;
        !order.contains(&(place - 1))
    });
}

impl Classes {
    fn without_empty_ones(self) -> Option<Self> {
        self.cuts[..=self.count].windows(2).all(|cut| cut[0] < cut[1]).then_some(self)
    }

    /// The M-step when each observation belongs to its class alone.
    pub(super) fn state(&self, points: &Points, model: VarianceModel) -> State {
        let (means, sums) = self.sums(points);
        means.after(&sums, points.total(), model).0
    }

    /// The same for every model.
    pub(super) fn states(&self, points: &Points) -> [State; VarianceModel::ALL.len()] {
        let (means, sums) = self.sums(points);
        VarianceModel::ALL.map(|model| means.after(&sums, points.total(), model).0)
    }

    /// The means of the classes, and the sums about them.
    fn sums(&self, points: &Points) -> (State, Sums) {
        let mut state = State { components: self.count, ..State::default() };
        let mut sums = Sums::default();
        for k in 0..self.count {
            let range = self.cuts[k]..self.cuts[k + 1];
            let (values, weights) = (&points.values()[range.clone()], &points.weights()[range]);
            let pairs = || values.iter().zip(weights);
            sums.weight[k] = weights.iter().sum();
            state.mean[k] = pairs().map(|(x, w)| x * w).sum::<f64>() / sums.weight[k];
            sums.second[k] = pairs().map(|(x, w)| w * (x - state.mean[k]) * (x - state.mean[k])).sum();
        }
        (state, sums)
    }
}
