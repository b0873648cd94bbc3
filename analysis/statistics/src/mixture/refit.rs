//! The mixtures of a bootstrap's resamples, and of the sample that they are compared with.

use super::{FitMethod, Mixture, search::Pruning, search::Search};
use crate::distribution::normal;
use serde::Serialize;

/// How the refits of a bootstrap look for the model with the largest criterion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Refits {
    /// mclust's steps, but models far below the best are given up.
    #[default]
    Drafted,
    /// mclust's steps of every model.
    Exhaustive,
}

/// Fits whose mixture alone is of interest; the memory of one serves the next.
#[derive(Clone, Debug)]
pub(crate) struct Refit {
    search: Search,
    method: FitMethod,
    refits: Refits,
}

impl Refit {
    pub(crate) fn new(method: FitMethod, refits: Refits) -> Self {
        Self { search: Search::default(), method, refits }
    }

    /// The mixture with the largest criterion for `sorted`; `None` if all values are equal or no model has a fit.
    pub(crate) fn mixture(&mut self, sorted: &[f64]) -> Option<Mixture> {
        if sorted[0] == sorted[sorted.len() - 1] {
            return None;
        }
        self.search.load(sorted);
        let (_, best) = match (self.method, self.refits) {
            (FitMethod::Converged, _) => self.search.converged(sorted),
            (FitMethod::Drafted, _) => self.search.as_mclust(sorted, Pruning::OF_SAMPLE),
            (FitMethod::Mclust, Refits::Exhaustive) => self.search.as_mclust(sorted, Pruning::Nothing),
            (FitMethod::Mclust, Refits::Drafted) => self.search.as_mclust(sorted, Pruning::OF_RESAMPLE),
        };
        Some(self.search.mixture(&best?.state))
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
    let first_value = cdf(sorted[0]);
    let last_value = cdf(sorted[last]);
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
    fn no_refit_depends_on_those_before_it() {
        let components = [(0.3, 30.0, 1.5), (0.5, 42.0, 2.0), (0.2, 55.0, 4.0)];
        let component = |(weight, mean, sd)| Component { weight, mean, sd };
        let law = Mixture::new(components.map(component).to_vec()).unwrap();
        let mut random = Seed(3).child("refits");
        let mut samples = vec![vec![7.0; 5]];
        for size in [200, 30, 12, 90, 2] {
            let mut values = Vec::new();
            law.draw(size, &mut random, &mut values);
            values.sort_unstable_by(f64::total_cmp);
            // Rounded, they have ties: distinct values and their multiplicities differ from one sample to the next.
            samples.push(values.iter().map(|value| value.round()).collect());
            samples.push(values);
        }
        for (method, refits) in [
            (FitMethod::Mclust, Refits::Drafted),
            (FitMethod::Mclust, Refits::Exhaustive),
            (FitMethod::Drafted, Refits::Drafted),
            (FitMethod::Converged, Refits::Drafted),
        ] {
            let mut reused = Refit::new(method, refits);
            for sample in &samples {
                let fresh = Refit::new(method, refits).mixture(sample);
                assert_eq!(reused.mixture(sample), fresh, "{method:?}, {refits:?}, {} values", sample.len());
            }
        }
    }
}
