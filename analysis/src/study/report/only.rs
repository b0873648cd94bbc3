//! A report of some of its benchmarks.

use super::Report;
use crate::conclusion::{Warning, WarningCode};
use crate::study::ScalingReport;

impl Report {
    /// The rows of the benchmarks that `takes` takes, which are those that match `words`. What is said over all benchmarks, and of how
    /// many comparisons there were, stays as it was planned.
    #[must_use]
    pub fn only(mut self, words: &str, takes: impl Fn(&str) -> bool) -> Self {
        let all = self.benchmarks.len();
        self.benchmarks.retain(|benchmark| takes(&benchmark.name));
        self.metrics.iter_mut().for_each(|metric| metric.rows.retain(|row| takes(&row.benchmark)));
        self.endpoints.iter_mut().for_each(|endpoint| endpoint.rows.retain(|row| takes(&row.benchmark)));
        let is_taken = |of: &ScalingReport| {
            of.versions.iter().flat_map(|one| &one.rows).any(|row| takes(&row.benchmark))
        };
        self.scaling.retain(is_taken);
        if let Some(controls) = &mut self.controls {
            controls.rows.retain(|row| takes(&row.benchmark));
        }
        if let Some(rule) = &mut self.rule {
            rule.rows.retain(|row| takes(&row.benchmark));
        }
        if let Some(figures) = &mut self.figures {
            figures.benchmarks.retain(|benchmark| takes(&benchmark.benchmark));
        }
        // A caveat of others alone is none of what is shown.
        self.warnings.retain_mut(|warning| {
            let is_of_all = warning.concerns.is_empty();
            warning.concerns.retain(|name| takes(name));
            is_of_all || !warning.concerns.is_empty()
        });
        let sentence = format!(
            "Only {} of {all} benchmarks are shown, those that match {words}: the verdicts over all benchmarks and the adjustment \
             for the number of comparisons are of all that were planned; leave --only out to see them.",
            self.benchmarks.len()
        );
        self.warnings.insert(0, Warning::new(WarningCode::Only, sentence));
        self
    }
}
