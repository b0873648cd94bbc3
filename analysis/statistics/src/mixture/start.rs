//! Where a fit starts: classes of neighbouring observations.

use super::{points::Points, state::MOST_COMPONENTS, state::State, state::Sums, state::VarianceModel};

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
    if distinct.len() < count || !has_numbers(sorted, count + 1) {
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

/// Whether there are as many as `count` floating-point numbers from the first of `sorted` to the last: of fewer, no
/// probabilities make as many quantiles.
fn has_numbers(sorted: &[f64], count: usize) -> bool {
    let mut number = sorted[0];
    for _ in 1..count {
        number = number.next_up();
    }
    number <= sorted[sorted.len() - 1]
}

fn distinct_quantiles(sorted: &[f64], probabilities: usize, quantiles: &mut Vec<f64>) {
    quantiles.clear();
    let step = 1.0 / (probabilities - 1) as f64;
    let position_of = |i: usize| {
        let probability = if i + 1 == probabilities { 1.0 } else { i as f64 * step };
        1.0 + (sorted.len() - 1) as f64 * probability
    };
    let mut i = 0;
    while i < probabilities {
        let position = position_of(i);
        let below = position.floor();
        let low = sorted[below as usize - 1];
        let high = sorted[(position.ceil() as usize).min(sorted.len()) - 1];
        let share = position - below;
        let value = if share > 0.0 && high != low { (1.0 - share) * low + share * high } else { low };
        i += 1;
        if quantiles.last() != Some(&value) {
            quantiles.push(value);
        } else if low == high {
            // All that lie between equal observations add nothing.
            let equal = sorted.partition_point(|x| *x <= value) as f64;
            i = first_where(i, probabilities, |i| position_of(i) > equal);
        }
    }
}

/// The first number from `start` to `end` at which `is_past`, which stays so; `end` if it is none.
fn first_where(start: usize, end: usize, is_past: impl Fn(usize) -> bool) -> usize {
    let mut low = start;
    let mut high = end;
    while low < high {
        let middle = low.midpoint(high);
        if is_past(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
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

    /// The means of the classes, and the sums about them.
    fn sums(&self, points: &Points) -> (State, Sums) {
        let mut state = State { components: self.count, ..State::default() };
        let mut sums = Sums::default();
        for k in 0..self.count {
            let range = self.cuts[k]..self.cuts[k + 1];
            let values = &points.values()[range.clone()];
            let weights = &points.weights()[range];
            let pairs = || values.iter().zip(weights);
            sums.weight[k] = weights.iter().sum();
            state.mean[k] = pairs().map(|(x, w)| x * w).sum::<f64>() / sums.weight[k];
            sums.second[k] = pairs().map(|(x, w)| w * (x - state.mean[k]) * (x - state.mean[k])).sum();
        }
        (state, sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_of_equal_values_change_no_quantile() {
        let mut sorted: Vec<f64> = (0..200).map(|i| f64::from(i * i % 7).powi(2) + 0.1).collect();
        sorted.extend([60.0, 60.5, 61.25]);
        sorted.sort_by(f64::total_cmp);
        for probabilities in 2..900 {
            let mut found = Vec::new();
            distinct_quantiles(&sorted, probabilities, &mut found);
            let step = 1.0 / (probabilities - 1) as f64;
            let mut expected: Vec<f64> = (0..probabilities)
                .map(|i| {
                    let p = if i + 1 == probabilities { 1.0 } else { i as f64 * step };
                    let position = 1.0 + 202.0 * p;
                    let share = position - position.floor();
                    let low = sorted[position.floor() as usize - 1];
                    let high = sorted[(position.ceil() as usize).min(203) - 1];
                    if share > 0.0 && high != low { (1.0 - share) * low + share * high } else { low }
                })
                .collect();
            expected.dedup();
            assert_eq!(found, expected, "{probabilities} probabilities");
        }
    }

    #[test]
    fn adjacent_numbers_have_no_classes() {
        let sorted = [vec![1.0; 20], vec![1.0_f64.next_up(); 20]].concat();
        let distinct = [1.0, 1.0_f64.next_up()];
        assert_eq!(quantile_classes(&sorted, &distinct, 2), None);
        assert!(quantile_classes(&sorted, &distinct, 1).is_some());
        assert!(!has_numbers(&sorted, 3) && has_numbers(&sorted, 2));
    }
}
