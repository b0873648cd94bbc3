//! The Bayesian information criterion of every model that was tried.

use super::schedule::NoFit;
use super::state::{MOST_COMPONENTS, VarianceModel};
use serde::Serialize;

/// One model of the table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// What the variances may be.
    pub model: VarianceModel,
    /// How many components.
    pub components: usize,
    /// BIC = 2L − p ln n, larger is better, in the unit of the observations; or why there is no fit. (The text of Worms 2016 §4.2
    /// has another sign and count; its numbers are these.)
    pub outcome: Result<f64, NoFit>,
}

/// The table of Worms 2016 §4.2: both variance models, 1 to 9 components.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Criterion {
    entries: Vec<Entry>,
}

impl Criterion {
    pub(super) fn add(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// The entries, fewer components first and equal variances first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// BIC of a model, if it has a fit.
    pub fn bic(&self, model: VarianceModel, components: usize) -> Option<f64> {
        debug_assert!(components <= MOST_COMPONENTS);
        let is_it = |entry: &&Entry| entry.model == model && entry.components == components;
        self.entries.iter().find(is_it).and_then(|entry| entry.outcome.ok())
    }

    /// The largest BIC less the largest of another mixture: how clear the choice is. `None` if only one could be fitted.
    pub fn lead(&self) -> Option<f64> {
        // With one component both models are the same law.
        let is_new = |entry: &&Entry| entry.components > 1 || entry.model == VarianceModel::Equal;
        let mut values: Vec<f64> =
            self.entries.iter().filter(is_new).filter_map(|entry| entry.outcome.ok()).collect();
        values.sort_by(|a, b| b.total_cmp(a));
        Some(values.first()? - values.get(1)?)
    }
}
