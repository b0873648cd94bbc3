//! The mixtures of a bootstrap's resamples, and of the sample that they are compared with.

use super::abreast::{Abreast, MOST_OBSERVATIONS, Samples, StartOf};
use super::{FitMethod, Mixture, search::Search, search::Starts};
use crate::distribution::normal;
use serde::Serialize;
use std::ops::RangeInclusive;

/// Resamples that are refitted together: some 64 starts for each number of components keep sixteen lanes in use, twice as many
/// take a tenth less. None depends on another.
pub(crate) const TOGETHER: RangeInclusive<usize> = 32..=64;

/// How the refits of a bootstrap look for the model with the largest criterion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Refits {
    /// mclust's steps in single precision, the chosen model ended in double.
    #[default]
    Drafted,
    /// mclust's steps in double precision.
    Exhaustive,
}

/// Fits whose mixture alone is of interest.
#[derive(Clone, Debug)]
pub(crate) struct Refit {
    search: Search,
    method: FitMethod,
    refits: Refits,
    samples: Samples,
    abreast: Abreast,
}

impl Refit {
    pub(crate) fn new(method: FitMethod, refits: Refits) -> Self {
        let (search, samples, abreast) = <(Search, Samples, Abreast)>::default();
        Self { search, method, refits, samples, abreast }
    }

    /// The mixture with the largest criterion for `sorted`, which are not all equal.
    pub(crate) fn mixture(&mut self, sorted: &[f64]) -> Option<Mixture> {
        self.search.load(sorted);
        let state = match (self.method, self.refits) {
            (FitMethod::Converged, _) => self.search.converged(sorted).1?.state,
            (FitMethod::Drafted, _) => self.search.drafted(sorted).1?.state,
            (FitMethod::Mclust, Refits::Exhaustive) => self.search.as_mclust(sorted).1?.state,
            (FitMethod::Mclust, Refits::Drafted) => self.search.drafted_choice(sorted)?,
        };
        Some(self.search.mixture(&state))
    }

    /// The same for each of many samples of one size; none for one whose values are all equal.
    pub(crate) fn mixtures(&mut self, samples: &[Vec<f64>]) -> Vec<Option<Mixture>> {
        let size = samples.first().map_or(0, Vec::len);
        if (self.method, self.refits) != (FitMethod::Mclust, Refits::Drafted) || size > MOST_OBSERVATIONS {
            let has_spread = |sorted: &&Vec<f64>| sorted[0] < sorted[sorted.len() - 1];
            return samples.iter().map(|sorted| self.mixture(Some(sorted).filter(has_spread)?)).collect();
        }
        self.samples.clear(size);
        let (mut starts, mut of_samples) = (Vec::new(), Vec::new());
        for sorted in samples {
            of_samples.push(self.add_starts(sorted, &mut starts));
        }
        let endings = self.abreast.run(&self.samples, &starts);
        let mut from = 0;
        let mut chosen = Vec::with_capacity(samples.len());
        for (sorted, of_sample) in samples.iter().zip(of_samples) {
            let Some(of_sample) = of_sample else {
                let has_spread = sorted[0] < sorted[size - 1];
                chosen.push(if has_spread { self.mixture(sorted) } else { None });
                continue;
            };
            let end = from + of_sample.starts.len();
            self.search.load(sorted);
            let state = self.search.choice(&of_sample, &endings[from..end]);
            chosen.push(state.map(|state| self.search.mixture(&state)));
            from = end;
        }
        chosen
    }

    /// Adds a sample and its starts; does not where observations are equal, which have weights.
    fn add_starts(&mut self, sorted: &[f64], starts: &mut Vec<StartOf>) -> Option<Starts> {
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return None;
        }
        self.search.load(sorted);
        let of_sample = self.search.starts(sorted);
        let sample = self.samples.push(self.search.standard_values(), self.search.log_parity_unit());
        let places = of_sample.starts.iter().enumerate();
        starts.extend(places.map(|(place, start)| StartOf { sample, place, start: *start }));
        Some(of_sample)
    }
}

/// sup |F̃ − F| without the distribution function at every observation: F rises, so between two observations the distance
/// is bounded by their values, and most stretches cannot hold the largest.
pub(crate) fn distance(mixture: &Mixture, sorted: &[f64]) -> f64 {
    let components = mixture.components();
    let cdf =
        |x: f64| -> f64 { components.iter().map(|c| c.weight * normal::lower((x - c.mean) / c.sd)).sum() };
    let n = sorted.len() as f64;
    let at = |i: usize, f: f64, largest: f64| largest.max(f - i as f64 / n).max((i + 1) as f64 / n - f);
    let last = sorted.len() - 1;
    let (first_value, last_value) = (cdf(sorted[0]), cdf(sorted[last]));
    let mut largest = at(last, last_value, at(0, first_value, 0.0));
    let mut stretches = vec![(0, first_value, last, last_value)];
    while let Some((i, low, j, high)) = stretches.pop() {
        // Positions strictly between i and j have F in [low, high] and empirical steps from (i + 1)/n to j/n.
        let bound = (high - (i + 1) as f64 / n).max(j as f64 / n - low);
        if j - i < 2 || bound <= largest {
            continue;
        }
        let middle = i + (j - i) / 2;
        let value = cdf(sorted[middle]);
        largest = at(middle, value, largest);
        stretches.push((i, low, middle, value));
        stretches.push((middle, value, j, high));
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mixture::Component;
    use speedup_core::value::seed::Seed;

    #[test]
    fn no_refit_depends_on_those_beside_it() {
        let components = [(0.3, 30.0, 1.5), (0.5, 42.0, 2.0), (0.2, 55.0, 4.0)];
        let component = |(weight, mean, sd)| Component { weight, mean, sd };
        let law = Mixture::new(components.map(component).to_vec()).unwrap();
        let mut random = Seed(3).child("refits");
        let sample = |_| {
            let mut values = Vec::new();
            law.draw(30, &mut random, &mut values);
            values.sort_unstable_by(f64::total_cmp);
            values
        };
        let samples: Vec<Vec<f64>> = (0..40).map(sample).collect();
        let mut refit = Refit::new(FitMethod::Mclust, Refits::Drafted);
        let together = refit.mixtures(&samples);
        let alone: Vec<_> = samples.chunks(1).flat_map(|one| refit.mixtures(one)).collect();
        assert_eq!(together, alone);
    }
}
